"""Positions inside attention: rotated or normalised queries and keys, and biases shared by relative position."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional


class Rotary(nn.Module):
    """Pairs (x_i, x_{i+d/2}) of queries and keys turned by p · base^(−2i/d) at position p (arXiv 2104.09864).

    The first `extra` tokens (CLS) are not turned. Products then depend on positions by their difference alone.
    """

    def __init__(self, tokens: int, head_dim: int, base: float, extra: int = 0) -> None:
        super().__init__()
        frequency = base ** (-torch.arange(0, head_dim, 2) / head_dim)  # (d/2,)
        place = (torch.arange(tokens) - extra).clamp_min(0)
        angle = place[:, None] * frequency  # (N, d/2)
        self.register_buffer("cos", angle.cos().repeat(1, 2), persistent=False)
        self.register_buffer("sin", angle.sin().repeat(1, 2), persistent=False)
        self.cos: Tensor
        self.sin: Tensor

    def forward(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """(B, H, N, d) twice → the same, turned."""
        return self.turned(query), self.turned(key)

    def turned(self, x: Tensor) -> Tensor:
        """(B, H, N, d) → (B, H, N, d)."""
        first, second = x.chunk(2, dim=-1)
        tokens = x.shape[-2]
        return x * self.cos[:tokens] + torch.cat((-second, first), dim=-1) * self.sin[:tokens]


class UnitNorm(nn.Module):
    """Queries and keys of length 1, their products times a learned scale per head (Henry et al., arXiv 2010.04245)."""

    def __init__(self, heads: int, scale: float) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.full((heads, 1, 1), scale))

    def forward(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """(B, H, N, d) twice → the same, normalised; the scale goes with the query."""
        return functional.normalize(query, dim=-1) * self.gain, functional.normalize(key, dim=-1)


class LayerNorms(nn.Module):
    """A LayerNorm each for queries and keys, shared by the heads (timm 1.0.31:timm/layers/attention.py, `qk_norm`)."""

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        self.query, self.key = nn.LayerNorm(head_dim), nn.LayerNorm(head_dim)

    def forward(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """(B, H, N, d) twice → the same, normalised."""
        return cast("Tensor", self.query(query)), cast("Tensor", self.key(key))


class FixedNorm(nn.Linear):
    """A linear map of which every head's weights (d, D) keep the Frobenius norm they had in `of`: γ W / ‖W‖.

    Weight normalisation (arXiv 1602.07868) with a gain per head that is not trained.
    """

    def __init__(self, of: nn.Linear, heads: int) -> None:
        super().__init__(of.in_features, of.out_features, bias=of.bias is not None)
        self.weight, self.bias, self.heads = of.weight, of.bias, heads
        self.register_buffer("norm", self.sizes().detach().clone())
        self.norm: Tensor

    def sizes(self) -> Tensor:
        """Frobenius norm of each head's weights, (H, 1, 1)."""
        by_head = self.weight.view(self.heads, -1, self.in_features)
        return cast("Tensor", torch.linalg.matrix_norm(by_head, keepdim=True))

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) → (..., H·d)."""
        weight = self.weight.view(self.heads, -1, self.in_features) * (self.norm / self.sizes())
        return functional.linear(x, weight.reshape(self.weight.shape), self.bias)


class RelativeTable(nn.Module):
    """A bias per head looked up by the relation of query and key: table (H, K), index (N, N) of whole numbers below K.

    Entries of index −1 have no bias.
    """

    def __init__(self, table: Tensor, index: Tensor) -> None:
        super().__init__()
        self.table = nn.Parameter(table)
        self.register_buffer("index", index.clamp_min(0), persistent=False)
        self.register_buffer("known", (index >= 0).to(table.dtype), persistent=False)
        self.index: Tensor
        self.known: Tensor

    def forward(self, tokens: int) -> Tensor:
        """(H, N, N)."""
        return self.table[:, self.index[:tokens, :tokens]] * self.known[:tokens, :tokens]


class PositionGate(nn.Module):
    """(1 − σ(g)) A + σ(g) softmax(r vᵀ): attention to contents and to positions, with a learned gate g for each head.

    v (H, 3) weighs r_ij = (δ_x, δ_y, |δ|²), (N, N, 3); d'Ascoli et al., arXiv 2103.10697 equation 7.
    """

    def __init__(self, weight: Tensor, relations: Tensor, gate: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.gate = nn.Parameter(torch.full((len(weight), 1, 1), gate))
        self.register_buffer("relations", relations, persistent=False)
        self.relations: Tensor

    def forward(self, weights: Tensor) -> Tensor:
        """(B, H, N, N) → (B, H, N, N)."""
        tokens = weights.shape[-1]
        positional = (self.relations[:tokens, :tokens] @ self.weight.T).permute(2, 0, 1).softmax(dim=-1)
        share = torch.sigmoid(self.gate)
        return (1 - share) * weights + share * positional
