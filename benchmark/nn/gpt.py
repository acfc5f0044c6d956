"""A decoder-only language model with a prior slot in every layer and head.

Architecture and initialisation are those of karpathy/nanoGPT:model.py (GPT-2, Radford et al. 2019): token and learned
position embeddings, pre-norm blocks with causal attention and a GELU MLP, LayerNorm, and an output layer that may share
the embedding's weights. Dropout draws from the engine's noise, so that each cell of a stack has its own.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmark.nn import noise
from benchmark.nn.gpt_shape import GptShape
from benchmark.nn.transformer import Block


class Dropout:
    """Sets numbers to zero with probability `rate` and divides the others by 1 − rate; each call draws anew."""

    def __init__(self, rate: float, seed: Tensor | None) -> None:
        self._rate, self._seed, self._calls = rate, seed, 0

    def __call__(self, x: Tensor) -> Tensor:
        """Any shape → the same shape; unchanged without a seed."""
        if self._seed is None:
            return x
        drawn = noise.uniform(self._seed, tuple(x.shape), stream=self._calls)
        self._calls += 1
        return x * (drawn >= self._rate) / (1 - self._rate)


class DecoderBlock(Block):
    """A block with dropout on the attention weights and on both residual branches."""

    def __init__(self, shape: GptShape) -> None:
        super().__init__(shape.block(), shape.context)

    def forward(self, x: Tensor, drop: Dropout | None = None) -> Tensor:
        """(B, N, D) → (B, N, D)."""
        drop = drop or Dropout(0.0, None)
        x = x + drop(self.attention(self.attention_norm(x), drop))
        return x + drop(self.mlp(self.mlp_norm(x)))


class GPT(nn.Module):
    """Token ids (B, N), N ≤ context → logits of the next token (B, N, vocabulary)."""

    def __init__(self, shape: GptShape, vocabulary: int) -> None:
        super().__init__()
        self.dropout = shape.dropout
        self.embedding = nn.Embedding(vocabulary, shape.dim)
        self.positions = nn.Parameter(torch.empty(shape.context, shape.dim))
        self.blocks = nn.ModuleList(DecoderBlock(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.dim)
        self.head = None if shape.tied else nn.Linear(shape.dim, vocabulary, bias=False)
        if shape.dropout > 0:
            self.register_buffer(noise.SEED, torch.zeros((), dtype=torch.int64), persistent=False)
        self._start(shape)

    def _start(self, shape: GptShape) -> None:
        nn.init.normal_(self.positions, std=shape.weight_std)
        depth = math.sqrt(2 * shape.layers) if shape.depth_scaled else 1.0
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                ends_branch = name.endswith((".proj", ".contract"))
                nn.init.normal_(module.weight, std=shape.weight_std / (depth if ends_branch else 1.0))
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, N) of any integer type → (B, N, vocabulary)."""
        drop = Dropout(self.dropout, getattr(self, noise.SEED, None) if self.training else None)
        x = drop(self.embedding(tokens.long()) + self.positions[: tokens.shape[-1]])
        for block in self.blocks:
            x = block(x, drop)
        weight = self.embedding.weight if self.head is None else self.head.weight
        return functional.linear(self.norm(x), weight)
