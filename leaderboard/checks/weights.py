"""The weighting that nobody states: one weight that explains the averages of two parts of a whole table."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from leaderboard.checks.numbers import Interval

FEWEST = 5
"""Averages of one table below which any weight would fit by chance."""
MOST = Fraction(9, 10)
"""Share of the averages that one weight must explain."""

Row = tuple[Interval, Interval, Interval]
"""First part, second part and their printed average."""


def common_weight(rows: Sequence[Row]) -> tuple[Fraction, int] | None:
    """A weight w of the first part for which w a + (1 − w) b prints as the average, and how many rows it explains.

    None where the rows are too few, no weight explains nine in ten of them, or equal weights explain half.
    """
    spans = [span for a, b, whole in rows if (span := weights_of(a, b, whole)) is not None]
    plain = sum(span.lo <= Fraction(1, 2) <= span.hi for span in spans)
    if len(rows) < FEWEST or 2 * plain >= len(rows) or not spans:
        return None
    low, high, count = deepest(spans)
    return ((low + high) / 2, count) if count >= MOST * len(rows) else None


def weights_of(a: Interval, b: Interval, whole: Interval) -> Interval | None:
    """All w in [0, 1] with w a + (1 − w) b in `whole` for some values of the parts; None when there are none."""
    up = reaching(b.hi, a.hi - b.hi, whole.lo)
    down = reaching(-b.lo, b.lo - a.lo, -whole.hi)
    if up is None or down is None or not up.meets(down):
        return None
    return Interval(max(up.lo, down.lo), min(up.hi, down.hi))


def reaching(start: Fraction, slope: Fraction, goal: Fraction) -> Interval | None:
    """All w in [0, 1] with start + slope w ≥ goal."""
    if max(start, start + slope) < goal:
        return None
    if min(start, start + slope) >= goal:
        return Interval(Fraction(0), Fraction(1))
    edge = (goal - start) / slope
    return Interval(edge, Fraction(1)) if slope > 0 else Interval(Fraction(0), edge)


def deepest(spans: Sequence[Interval]) -> tuple[Fraction, Fraction, int]:
    """Where most intervals overlap: the first such stretch and how many they are."""
    ends = sorted([(span.lo, 0) for span in spans] + [(span.hi, 1) for span in spans])
    best, depth = (Fraction(0), Fraction(1), 0), 0
    for position, (place, closes) in enumerate(ends):
        depth += -1 if closes else 1
        if depth > best[2]:
            best = (place, ends[position + 1][0], depth)
    return best
