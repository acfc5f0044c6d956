"""Borne out: whether a reading of a table explains so many of its numbers that it is no accident.

What a line means (the baseline of a difference, the parts of an average, what bold marks, a scale) is a hypothesis. It
is scored by the other numbers that it explains, and accepted at one threshold: at least three quarters of them, and so
many that one of all the hypotheses tried would explain as many by accident in less than one table in a thousand. What
breaks such a reading is an error; one that is no accident in nineteen of twenty tables is likely, and makes a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import comb
from typing import TypeVar

LIMIT = 1e-3
"""Probability of an accident below which a reading is borne out."""
LIKELY = 0.05
"""Probability of an accident below which it is likely."""
SHARE = 0.75
"""Of the other numbers that a reading is about, those that it must explain."""

T = TypeVar("T")


def is_borne_out(agreeing: int, tried: int, chance: float, hypotheses: int = 1, limit: float = LIMIT) -> bool:
    """Whether `agreeing` of `tried` numbers, each of which would agree with probability `chance`, are no accident."""
    if agreeing < 1 or agreeing < SHARE * tried:
        return False
    return hypotheses * comb(tried, agreeing) * min(chance, 1.0) ** agreeing <= limit


def support(hits: Sequence[bool], chances: Sequence[float], hypotheses: int = 1) -> list[bool]:
    """For each number whether the others bear out the reading that is held against it."""
    total, size = sum(hits), len(hits)
    if size < 2:
        return [False] * size
    mean = sum(chances) / size
    answers = {hit: is_borne_out(total - hit, size - 1, mean, hypotheses) for hit in (True, False)}
    return [answers[hit] for hit in hits]


def gathered(items: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """The items that share a key together, in order of first appearance."""
    found: dict[Hashable, list[T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return list(found.values())
