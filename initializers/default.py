"""The model as it is built: PyTorch's own initialisation, no prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmark.initializer import Context, Initializer
from benchmark.registry import initializer

if TYPE_CHECKING:
    import torch


@initializer("default")
class Default(Initializer):
    """Leave every weight as drawn, every prior slot at zero (neutral) and untrained.

    This is the baseline of arXiv 2608.00418 Table 1: `nn.Linear` uniform on ±1/√fan_in, embeddings N(0, 1).
    """

    def apply(self, model: torch.nn.Module, context: Context) -> None:
        """Do nothing."""
