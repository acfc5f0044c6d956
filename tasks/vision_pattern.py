"""Which patch each head looks at: one fixed offset in a square window ("impulse"); no torch here."""

from __future__ import annotations

import random
from typing import Literal

from pydantic import Field

from benchmark.parameters import Parameters

RELEASED_ORDER = (4, 1, 5, 3, 7, 0, 2, 6, 8)
"""Cells of the 3×3 window, row by row from the top left, in the order heads take them: centre, above, right, left,
below, then the corners (osiriszjq/structured_initialization@7cd02f1:timm/models/vision_transformer.py)."""


class ImpulsePattern(Parameters):
    """Head h of every layer: patch (r, c) attends to patch (r + m, c + n) alone, (m, n) the head's offset.

    Rows whose patch would lie off the image are closed everywhere, as in arXiv 2505.19985.
    """

    window: int = Field(default=3, gt=0)
    """Side of the window of offsets, odd."""
    order: Literal["released", "random"] = "released"
    """`released`: a fixed order of offsets, the same in each layer, repeated where there are more heads than offsets;
    windows other than 3 count their cells from the centre outwards. `random`: each layer and head draws its own, as in
    arXiv 2404.01139."""
    seed: int = 0
    """Seed of the random order; the pattern is part of the task, so all cells share it."""

    def offset(self, layer: int, head: int) -> tuple[int, int]:
        """Rows down and columns to the right, (m, n)."""
        half, cells = self.window // 2, self.window**2
        if self.order == "random":
            cell = random.Random(f"{self.seed}:{layer}:{head}").randrange(cells)
        else:
            cell = self._order()[head % cells]
        return cell // self.window - half, cell % self.window - half

    def _order(self) -> tuple[int, ...]:
        if self.window == 3:
            return RELEASED_ORDER
        half = self.window // 2
        distance = {c: (c // self.window - half) ** 2 + (c % self.window - half) ** 2 for c in range(self.window**2)}
        return tuple(sorted(distance, key=lambda cell: (distance[cell], cell)))

    def open_entries(self, grid: tuple[int, int], layer: int, head: int) -> list[tuple[int, int]]:
        """(query, key) pairs of patches numbered row by row."""
        rows, columns = grid
        down, right = self.offset(layer, head)
        return [
            (row * columns + column, (row + down) * columns + column + right)
            for row in range(rows)
            for column in range(columns)
            if 0 <= row + down < rows and 0 <= column + right < columns
        ]
