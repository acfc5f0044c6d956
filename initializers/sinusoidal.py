"""Sinusoidal positions in place of a task's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from benchmark.initializer import ParameterRule

if TYPE_CHECKING:
    import torch

    from benchmark.task import Task

Positions = Literal["task", "sinusoidal", "sinusoidal_fixed"]
"""The task's own; sinusoids that are trained on; sinusoids that stay."""

BASE = 10_000.0


def sinusoids(places: torch.Tensor, width: int) -> torch.Tensor:
    """Sines, then cosines, of places (N,) at width/2 wavelengths from 2π to 2π·10⁴, (N, width); width even.

    The wavelengths of arXiv 1706.03762 §3.5, spaced so that both ends are reached (as in SimpleViT, arXiv 2205.01580).
    """
    import torch

    count = width // 2
    rate = BASE ** -(torch.arange(count) / max(1, count - 1))
    angle = places.unsqueeze(-1) * rate
    return torch.cat((angle.sin(), angle.cos()), dim=-1)


def sinusoidal_positions(task: Task) -> torch.Tensor:
    """Positions (N, D) of the input tokens: half the width for the column, half for the row of a grid."""
    import torch

    shape = task.geometry()
    if shape.grid is None:
        return sinusoids(torch.arange(shape.tokens).float(), shape.dim)
    rows, columns = shape.grid
    row, column = torch.meshgrid(torch.arange(rows).float(), torch.arange(columns).float(), indexing="ij")
    return torch.cat([sinusoids(place.flatten(), shape.dim // 2) for place in (column, row)], dim=1)


def unfit_for_sinusoids(positions: Positions, task: Task) -> str | None:
    """Why the model's width does not fit, if it does not."""
    shape = task.geometry()
    needed = 2 if shape.grid is None else 4
    if positions == "task" or shape.dim % needed == 0:
        return None
    return f"sinusoidal positions need a width that is a multiple of {needed}; the model's is {shape.dim}"


def position_rules(positions: Positions) -> tuple[ParameterRule, ...]:
    """Fixed positions are not trained."""
    return (ParameterRule(match="positions", trainable=False),) if positions == "sinusoidal_fixed" else ()


def set_positions(model: torch.nn.Module, task: Task, positions: Positions) -> None:
    """Replace the positions of the input tokens, unless they stay the task's; CLS keeps its own.

    Raises:
        TypeError: the model has no `positions`.
    """
    from initializers.pseudo_input import positions_of

    if positions != "task":
        extra = task.geometry().extra_tokens
        positions_of(model)[extra : extra + task.geometry().tokens] = sinusoidal_positions(task)
