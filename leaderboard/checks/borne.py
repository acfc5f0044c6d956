"""Borne out: whether a reading of a table explains so many of its numbers that it is no accident.

What a line means (the baseline of a difference, the parts of an average, what bold marks, a scale) is a hypothesis. It
is scored by the other numbers that it explains, and accepted at one threshold: at least three quarters of them, and so
many that one of all the hypotheses tried would explain as many by accident in less than one table in a thousand. What
breaks such a reading is an error; one that is no accident in nineteen of twenty tables is likely, and makes a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Generic, TypeVar

LIMIT = 1e-3
"""Probability of an accident below which a reading is borne out."""
LIKELY = 0.05
"""Probability of an accident below which it is likely."""
SHARE = 0.75
"""Of the other numbers that a reading is about, those that it must explain."""

T = TypeVar("T")


@dataclass(frozen=True)
class Score:
    """How many of the numbers that a reading is about it explains."""

    agreeing: int
    tried: int
    chance: float
    """Probability that one of them would be explained by accident."""
    hypotheses: int = 1
    """Readings that were tried."""

    def is_borne_out(self, limit: float = LIMIT) -> bool:
        """Whether so many are no accident."""
        if self.agreeing < 1 or self.agreeing < SHARE * self.tried:
            return False
        accidents = comb(self.tried, self.agreeing) * min(self.chance, 1.0) ** self.agreeing
        return self.hypotheses * accidents <= limit

    @property
    def is_likely(self) -> bool:
        """Whether so many are hardly an accident."""
        return self.is_borne_out(LIKELY)


@dataclass(frozen=True)
class Hypothesis(Generic[T]):
    """A reading of some numbers of a table, and which of them it explains."""

    reading: T
    hits: Sequence[bool]
    chance: float
    hypotheses: int = 1

    @cached_property
    def agreeing(self) -> int:
        """Numbers explained."""
        return sum(self.hits)

    def others(self, hit: bool) -> Score:
        """What the other numbers say to one that is, or is not, explained."""
        return Score(self.agreeing - hit, len(self.hits) - 1, self.chance, self.hypotheses)

    @property
    def is_likely(self) -> bool:
        """Whether they bear it out against the odd one, if there is one."""
        tried = len(self.hits) - (self.agreeing < len(self.hits))
        return Score(self.agreeing, tried, self.chance, self.hypotheses).is_likely


def gathered(items: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """The items that share a key together, in order of first appearance."""
    found: dict[Hashable, list[T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return list(found.values())
