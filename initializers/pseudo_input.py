"""What the query-key initialisers share: the pattern they encode and the input they encode it for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch
    from torch import nn

    from benchmark.task import Patterned, Task

PseudoInput = Literal["layer_norm", "raw"]
"""The positions P after a LayerNorm without gain (arXiv 2505.19985 Algorithm 1, arXiv 2404.01139), or P itself."""


def patterns(task: Patterned) -> torch.Tensor:
    """The task's pattern of every layer and head, float (L, H, N, N), 0 or 1, over the input tokens without CLS."""
    import torch

    shape = task.geometry()
    empty = torch.zeros(shape.tokens, shape.tokens, dtype=torch.bool)
    found = [[task.pattern(layer, head) for head in range(shape.heads)] for layer in range(shape.layers)]
    return torch.stack([torch.stack([empty if one is None else one for one in row]) for row in found]).float()


def pseudo_input(model: nn.Module, task: Task, kind: PseudoInput) -> torch.Tensor:
    """The positions of the input tokens without CLS, (N, D), as the queries and keys will roughly see them.

    Raises:
        TypeError: the model has no learned or fixed `positions`.
    """
    import torch

    shape = task.geometry()
    tokens = positions_of(model)[shape.extra_tokens : shape.extra_tokens + shape.tokens]
    return torch.nn.functional.layer_norm(tokens, tokens.shape[-1:]) if kind == "layer_norm" else tokens


def positions_of(model: nn.Module) -> torch.Tensor:
    """The positions of all tokens, CLS first, (N_total, D); a view that may be written to.

    Raises:
        TypeError: the model has no learned or fixed `positions`.
    """
    import torch

    positions = getattr(model, "positions", None)
    if not isinstance(positions, torch.Tensor):
        raise TypeError(f"{type(model).__name__} has no tensor `positions` (N_total, D) to build queries and keys from")
    return positions.detach()
