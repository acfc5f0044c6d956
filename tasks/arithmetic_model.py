"""The encoder that reads the digits of two operands and gives all digits of the result in one pass."""

from __future__ import annotations

import torch
from torch import nn

from benchmark.nn.shape import EncoderShape
from benchmark.nn.transformer import Transformer
from tasks.arithmetic_pairs import BASE


class DigitEmbedding(nn.Module):
    """A lookup table of ten rows, N(0, 1), written as a product so that it batches over cells."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(BASE, dim))

    def forward(self, digits: torch.Tensor) -> torch.Tensor:
        """(B, N) → (B, N, D)."""
        return one_hot(digits).to(self.weight.dtype) @ self.weight


class DigitTransformer(Transformer):
    """Digits (B, 2d) → logits (B, K, 10) of the K digits of the result.

    With `read`, output digit k comes from token read[k] through one output layer that all digits share; without, all
    digits come from the pooled tokens, each through its own ten rows of the output layer.
    """

    def __init__(self, shape: EncoderShape, *, tokens: int, outputs: int, read: tuple[int, ...] | None) -> None:
        super().__init__(DigitEmbedding(shape.dim), shape, tokens=tokens, outputs=BASE if read else BASE * outputs)
        self.read = None if read is None else tuple(place + int(shape.cls_token) for place in read)
        self.outputs = outputs

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """(B, 2d) → (B, K, 10)."""
        return super().forward(inputs).view(-1, self.outputs, BASE)

    def pool(self, x: torch.Tensor) -> torch.Tensor:
        """(B, N_total, D) → (B, K, D) from the tokens that are read, or (B, D)."""
        if self.read is None:
            return super().pool(x)
        return torch.stack([x[:, place] for place in self.read], dim=1)


def one_hot(digits: torch.Tensor) -> torch.Tensor:
    """Bool (..., 10) from digits (...)."""
    return digits.unsqueeze(-1) == torch.arange(BASE, device=digits.device, dtype=digits.dtype)
