"""Multi-head self-attention with a prior slot: an additive (or multiplicative) bias per head over all tokens.

`softmax(QKᵀ/√d + log σ(M))` is the mask of arXiv 2608.00418 §4.1; `softmax(QKᵀ/√d + M)` is a raw additive bias, and
`σ(M) ∘ softmax(QKᵀ/√d)` the Hadamard mask of its Appendix B.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, cast, get_args

import torch
from torch import nn
from torch.nn import functional

from benchmark.initializer import PriorMode

Role = Literal["query", "key", "value", "proj"]


class Attention(nn.Module):
    """Self-attention of H heads of width d over N tokens of width D; N counts a CLS token if there is one.

    `query`, `key`, `value`: Linear(D, H·d); `proj`: Linear(H·d, D); `prior`: (H, N, N), zero (neutral) at first.
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        head_dim: int,
        tokens: int,
        *,
        qkv_bias: bool = False,
        causal: bool = False,
        renormalize: bool = False,
    ) -> None:
        super().__init__()
        inner = heads * head_dim
        self.heads, self.head_dim, self.tokens = heads, head_dim, tokens
        self.query = nn.Linear(dim, inner, bias=qkv_bias)
        self.key = nn.Linear(dim, inner, bias=qkv_bias)
        self.value = nn.Linear(dim, inner, bias=qkv_bias)
        self.proj = nn.Linear(inner, dim)
        self.prior = nn.Parameter(torch.zeros(heads, tokens, tokens))
        self.prior_mode: PriorMode = "log_sigmoid"
        self.scale = head_dim**-0.5
        """Factor on the products of queries and keys."""
        self.query_key: nn.Module | None = None
        """(query, key) → (query, key), each (B, H, N, d), before their product: rotations, norms."""
        self.relative: nn.Module | None = None
        """N → bias (H, N, N) beside the prior slot, with parameters of its own."""
        self.gate: nn.Module | None = None
        """Attention weights (B, H, N, N) → the same, mixed with others of its own."""
        self.renormalize = renormalize
        future = torch.full((tokens, tokens), -math.inf).triu(1) if causal else None
        self.register_buffer("future", future, persistent=False)
        self.future: torch.Tensor | None

    def forward(self, x: torch.Tensor, drop: Callable[[torch.Tensor], torch.Tensor] | None = None) -> torch.Tensor:
        """(B, N, D) → (B, N, D). Fewer than N tokens use the top left corner of the prior.

        `drop` is applied to the attention weights (B, H, N, N).
        """
        batch, tokens, _ = x.shape
        query, key, value = self.split_heads(x)
        attention = self.probabilities(query, key)
        if drop is not None:
            attention = drop(attention)
        mixed = (attention @ value).transpose(1, 2)  # (B, N, H, d)
        return cast("torch.Tensor", self.proj(mixed.reshape(batch, tokens, -1)))

    def split_heads(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries, keys and values of every head, each (B, H, N, d).

        From one matrix product, unless one of the three maps does more than a matrix product or less than its bias:
        replaced, hooked, or with a `forward` of its own. Then each is called.
        """
        batch, tokens, _ = x.shape
        maps = (self.query, self.key, self.value)
        if not all(map(_is_plain, maps)) or len({one.bias is None for one in maps}) > 1:
            query, key, value = (one(x).view(batch, tokens, self.heads, -1).transpose(1, 2) for one in maps)
            return query, key, value
        weight = torch.cat((self.query.weight, self.key.weight, self.value.weight))
        bias = None
        if self.query.bias is not None:
            bias = torch.cat((self.query.bias, self.key.bias, self.value.bias))
        joint = functional.linear(x, weight, bias).view(batch, tokens, 3, self.heads, self.head_dim)
        query, key, value = joint.permute(2, 0, 3, 1, 4).unbind(0)
        return query, key, value

    def probabilities(self, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        """Attention weights (B, H, N, N) from queries and keys (B, H, N, d), the prior applied."""
        tokens = query.shape[-2]
        if self.query_key is not None:
            query, key = self.query_key(query, key)
        scores = (query * self.scale) @ key.transpose(-2, -1)
        if self.relative is not None:
            scores = scores + self.relative(tokens)
        if self.future is not None:
            scores = scores + self.future[:tokens, :tokens]
        prior = self.prior[:, :tokens, :tokens]
        if self.prior_mode == "hadamard":
            return self._hadamard(scores, torch.sigmoid(prior))
        bias = functional.logsigmoid(prior) if self.prior_mode == "log_sigmoid" else prior
        weights = torch.softmax(scores + bias, dim=-1)
        return weights if self.gate is None else cast("torch.Tensor", self.gate(weights))

    def bias(self, tokens: int) -> torch.Tensor:
        """What is added to the scores of N tokens, (H, N, N), for looking at: φ(M) (log σ(M) for a Hadamard mask, whose
        rows are the same once they are normalised) and the relative bias."""
        prior = self.prior[:, :tokens, :tokens]
        bias = prior if self.prior_mode == "identity" else functional.logsigmoid(prior)
        return bias if self.relative is None else bias + cast("torch.Tensor", self.relative(tokens))

    def _hadamard(self, scores: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        gated = gate * torch.softmax(scores, dim=-1)
        return gated / gated.sum(-1, keepdim=True) if self.renormalize else gated

    def head_weight(self, role: Role) -> torch.Tensor:
        """A view of the weights by head that may be written to.

        `query`, `key`, `value`: (H, d, D), so that head h computes x @ weight[h].T; `proj`: (H, D, d).
        """
        weight = cast("nn.Linear", getattr(self, role)).weight.detach()
        if role == "proj":
            return weight.view(-1, self.heads, self.head_dim).transpose(0, 1)
        return weight.view(self.heads, self.head_dim, -1)


def _is_plain(module: nn.Module) -> bool:
    """Whether calling a linear map is nothing but its matrix product."""
    own = "forward" in vars(module) or module._forward_hooks or module._forward_pre_hooks
    return type(module) is nn.Linear and not own


def attentions(model: nn.Module) -> list[Attention]:
    """The attention modules of a model, first layer first."""
    return [module for module in model.modules() if isinstance(module, Attention)]


def set_prior_mode(model: nn.Module, mode: PriorMode) -> None:
    """Make every prior slot enter attention in this mode; raises ValueError for an unknown one."""
    if mode not in get_args(PriorMode):
        raise ValueError(f"prior mode must be one of {', '.join(get_args(PriorMode))}; found {mode!r}")
    for attention in attentions(model):
        attention.prior_mode = mode
