"""Power of the interval checks against an edit of one digit, computed before any table is drawn.

A printed relation misses by m units of the last digit; honest rounding gives m the distribution `MISS`. An edit of one
digit at place j (0 = last) moves it by ± 10^j (new − old). The edit is found when no rounding policy allows the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

HALF = Fraction(1, 2)


def edits(digits: int) -> Iterable[tuple[int, Fraction]]:
    """Size of an edit in last digits, and its probability, for a uniform place, old digit and other new digit."""
    share = Fraction(1, digits * 10 * 9)
    for place in range(digits):
        for old in range(10):
            for new in range(10):
                if new != old:
                    yield (new - old) * 10**place, share


def power(digits: int, miss: Mapping[int, Fraction], allowed: range) -> Fraction:
    """Probability that an edit of a number with that many digits is found."""
    return sum(
        (share * weight for size, share in edits(digits) for m, weight in miss.items() if m + size not in allowed),
        Fraction(0),
    )


EXACT = {0: Fraction(1)}
"""Copies of one number, or a complement computed exactly."""

DIFFERENCE = {-1: Fraction(1, 8), 0: Fraction(3, 4), 1: Fraction(1, 8)}
"""A − B − D when each was rounded on its own: the difference of two uniform errors, rounded."""

COPY_ALLOWED = range(-1, 2)
"""|x − y| ≤ 1 under nearest, double and truncation alike."""

DIFFERENCE_ALLOWED = range(-1, 3)
"""|A − B − D| ≤ 1 (1.5 rounded down); 2 as well if all three were truncated and D > 0."""

SUM_ALLOWED = range(-2, 2)
"""|A + E − 100| ≤ 1; two too little as well if both were truncated."""
