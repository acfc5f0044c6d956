"""A pre-norm Transformer encoder in which every attention layer has a prior slot.

The architecture is the ViT-style encoder of aryol/GOTU@8ce173c:token_transformer.py: pre-norm blocks, GELU, learned
positions and CLS token drawn from N(0, 1), pooling before the final LayerNorm and the output layer.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import nn
from torch.nn import functional

from benchmark.nn.attention import Attention
from benchmark.nn.shape import EncoderShape


class Mlp(nn.Module):
    """Linear, GELU, Linear."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.expand = nn.Linear(dim, hidden)
        self.contract = nn.Linear(hidden, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, N, D) → (B, N, D)."""
        return cast("torch.Tensor", self.contract(functional.gelu(self.expand(x))))


class Block(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(self, shape: EncoderShape, tokens: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(shape.dim)
        self.attention = Attention(
            shape.dim,
            shape.heads,
            shape.head_dim,
            tokens,
            qkv_bias=shape.qkv_bias,
            causal=shape.causal,
            renormalize=shape.renormalize_hadamard,
        )
        self.mlp_norm = nn.LayerNorm(shape.dim)
        self.mlp = Mlp(shape.dim, shape.mlp_dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, N, D) → (B, N, D)."""
        x = x + self.attention(self.attention_norm(x))
        return x + cast("torch.Tensor", self.mlp(self.mlp_norm(x)))


class BitEmbedding(nn.Module):
    """A lookup table of two rows, written as a product so that it batches over cells; bits are 0 or 1."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, dim))

    def forward(self, bits: torch.Tensor) -> torch.Tensor:
        """(B, N) → (B, N, D)."""
        one = bits.to(self.weight.dtype).unsqueeze(-1)
        return (1 - one) * self.weight[0] + one * self.weight[1]


class Transformer(nn.Module):
    """Embedding, optional CLS token, positions, blocks, pooling, LayerNorm, output layer.

    `embedding` maps the input to (B, tokens, D). Outputs are (B, outputs), or (B, tokens, outputs) without pooling.
    """

    def __init__(self, embedding: nn.Module, shape: EncoderShape, *, tokens: int, outputs: int) -> None:
        super().__init__()
        if shape.pooling == "cls" and not shape.cls_token:
            raise ValueError("pooling `cls` needs `cls_token: true`")
        self.pooling = shape.pooling
        total = tokens + int(shape.cls_token)
        self.embedding = embedding
        self.positions = nn.Parameter(torch.randn(total, shape.dim) * shape.positions_std)  # (N_total, D)
        self.cls = nn.Parameter(torch.randn(shape.dim) * shape.positions_std) if shape.cls_token else None
        self.blocks = nn.ModuleList(Block(shape, total) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.dim)
        self.head = nn.Linear(shape.dim, outputs)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Inputs as the embedding takes them → outputs."""
        x = cast("torch.Tensor", self.embedding(inputs))
        if self.cls is not None:
            x = torch.cat((self.cls.expand(x.shape[0], 1, -1), x), dim=1)
        x = x + self.positions[: x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return cast("torch.Tensor", self.head(self.norm(self.pool(x))))

    def pool(self, x: torch.Tensor) -> torch.Tensor:
        """(B, N_total, D) → (B, D), or unchanged without pooling."""
        if self.pooling == "cls":
            return x[:, 0]
        return x.mean(dim=1) if self.pooling == "mean" else x
