"""Other forms of queries and keys: rotated, normalised, orthogonal, identity-like, scaled by 1/d."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from benchmark.initializer import Context, Initializer
from benchmark.registry import initializer
from initializers.query_key_prior import Bound, bind

if TYPE_CHECKING:
    import torch

    from benchmark.task import Task


@initializer("rope")
class Rope(Initializer):
    """Rotary positions in every layer and head (Su et al., arXiv 2104.09864), beside the task's own positions."""

    base: float = Field(default=10000.0, gt=1)
    """Base of the wave lengths."""

    def unsupported(self, task: Task) -> str | None:
        """Pairs of numbers are turned."""
        return f"head width {task.geometry().head_dim} is odd" if task.geometry().head_dim % 2 else None

    def apply(self, model: torch.nn.Module, context: Context) -> None:
        """Turn queries and keys before their product."""
        from benchmark.nn.attention import attentions
        from benchmark.nn.positions import Rotary

        for attention in attentions(model):
            extra = context.task.geometry().extra_tokens
            attention.query_key = Rotary(attention.tokens, attention.head_dim, self.base, extra)


@initializer("qk_norm")
class QueryKeyNorm(Initializer):
    """Queries and keys of bounded length: does capping the norms of arXiv 2608.00418 Corollary 1 keep a prior?

    `l2`: unit length, and a learned scale per head in the place of 1/√d (arXiv 2010.04245); `layer_norm`: a LayerNorm
    each, before the product with 1/√d; `frobenius`: each head's W_Q and W_K keep the Frobenius norm they start with.
    The initialisers that write a prior into queries and keys take the same as `bound`.
    """

    kind: Bound = "l2"
    """Which norm."""
    scale: float = Field(default=10.0, gt=0)
    """The learned scale of `l2` at first."""

    def apply(self, model: torch.nn.Module, context: Context) -> None:
        """Normalise queries and keys before their product, or the weights that make them."""
        from benchmark.nn.attention import attentions

        for attention in attentions(model):
            bind(attention, self.kind, self.scale)


@initializer("conditioned")
class Conditioned(Initializer):
    """Queries and keys semi-orthogonal, or identity-like, head by head; W_V a rectangular identity where asked.

    `orthogonal`: W_Q and W_K of each head have orthonormal rows, drawn (the conditioned initialisation of openreview
    cKNOCYPo2W); `identity`: both are the same d rows of the identity, so that logits start as similarities of a part of
    the token.
    """

    kind: Literal["orthogonal", "identity"] = "orthogonal"
    """What W_Q and W_K start as."""
    gain: float = Field(default=1.0, gt=0)
    """Factor on both."""
    value_identity: bool = False
    """Whether W_V of all heads together starts as a rectangular identity."""

    def apply(self, model: torch.nn.Module, context: Context) -> None:
        """Set `query`, `key` and, where asked, `value`."""
        import torch

        from benchmark.nn.attention import attentions

        for attention in attentions(model):
            for role in ("query", "key"):
                for head, weight in enumerate(attention.head_weight(role)):
                    if self.kind == "orthogonal":
                        torch.nn.init.orthogonal_(weight, self.gain, generator=context.generator)
                    else:
                        rows = torch.eye(weight.shape[1]).roll(-head * weight.shape[0], dims=0)
                        weight.copy_(self.gain * rows[: weight.shape[0]])
            if self.value_identity:
                torch.nn.init.eye_(attention.value.weight)


@initializer("mup_logits")
class MupLogits(Initializer):
    """Logits scaled by `base`/d in the place of 1/√d, queries zero where asked (microsoft/mup, README: attention).

    Yang et al., arXiv 2203.03466; with base = √d it is the usual attention.
    """

    base: float = Field(default=8.0, gt=0)
    """Numerator of the scale."""
    zero_query: bool = True
    """Whether queries start at zero, so that attention starts uniform."""

    def apply(self, model: torch.nn.Module, context: Context) -> None:
        """Set the scale, and the queries."""
        from benchmark.nn.attention import attentions

        for attention in attentions(model):
            attention.scale = self.base / attention.head_dim
            if self.zero_query:
                attention.query.weight.zero_()
                if attention.query.bias is not None:
                    attention.query.bias.zero_()
