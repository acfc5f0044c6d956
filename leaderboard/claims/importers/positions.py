"""Where in a text an offset is."""

from __future__ import annotations

import re
from bisect import bisect_right


class Positions:
    """Offsets to line and column, both from 1."""

    def __init__(self, source: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", source))]

    def at(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1
