"""Masks that know nothing of the task: a window around each token, or entries at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from benchmark.identity import stream
from benchmark.registry import initializer
from initializers.mask import Mask

if TYPE_CHECKING:
    import torch

    from benchmark.task import Geometry, Patterned, Task


@initializer("sparse_mask")
class SparseMask(Mask):
    """The mask's slot on a pattern of the geometry alone: what sparsity does where it carries no knowledge of the task.

    `window`: keys at most `width` from the query, by rows and columns where the tokens are an image; `random`: each
    query opens itself and every other key with chance `density`, drawn for each layer and head.
    """

    kind: Literal["window", "random"] = "window"
    """Which entries are open."""
    width: int = Field(default=1, ge=0)
    """Largest distance inside a window."""
    density: float = Field(default=0.2, ge=0, le=1)
    """Chance of an open entry."""
    pattern_seed: int = Field(default=0, ge=0)
    """Seed of the entries, apart from the cell's."""

    def unsupported(self, task: Task) -> str | None:
        """Every task has a geometry; another pattern in its place has no meaning here."""
        return "a sparse mask encodes no pattern of the task" if self.pattern or self.mistakes else None

    def encoded(self, task: Task) -> Patterned:
        """The window or the random entries."""
        return Sparse(self, task.geometry())


@dataclass(frozen=True)
class Sparse:
    """A pattern made from the geometry."""

    mask: SparseMask
    shape: Geometry

    def geometry(self) -> Geometry:
        """The task's."""
        return self.shape

    def pattern(self, layer: int, head: int) -> torch.Tensor:
        """Bool (N, N), True = open."""
        import torch

        place = torch.arange(self.shape.tokens)
        if self.mask.kind == "random":
            generator = torch.Generator().manual_seed(stream(self.mask.pattern_seed, f"sparse:{layer}:{head}"))
            drawn = torch.rand(len(place), len(place), generator=generator) < self.mask.density
            return drawn | torch.eye(len(place), dtype=torch.bool)
        columns = self.shape.grid[1] if self.shape.grid else 1
        along = [place // columns, place % columns]
        return torch.stack([(at[:, None] - at).abs() <= self.mask.width for at in along]).all(dim=0)
