"""Innocent explanations: what a slip of the pen, another baseline or another precision would have done."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import pairwise

from leaderboard.checks.evidence import Number
from leaderboard.checks.finding import Explanation
from leaderboard.checks.numbers import Interval, Reported, parse, show

Fits = Callable[[Reported], bool]

LEADING_ZERO = re.compile(r"[+\-−]?0\d")
"""`02.10`: no one prints it."""


def edit(a: str, b: str) -> Explanation:
    """Whether two printed numbers are one digit, one swap of neighbours or one shift of the point apart."""
    if one_digit_apart(a, b):
        return Explanation("one digit differs", f"{a} and {b}: a slip in one place would explain it", True)
    if neighbours_swapped(a, b):
        return Explanation("two neighbouring digits are swapped", f"{a} and {b}", True)
    if point_moved(a, b):
        return Explanation("the decimal point has moved", f"{a} and {b}", True)
    return Explanation("one digit, a swap of digits or the decimal point", f"{a} and {b} differ in more", False)


def one_digit_apart(a: str, b: str) -> bool:
    """Same length and exactly one character different, a digit."""
    pairs = [(x, y) for x, y in zip(a, b, strict=False) if x != y]
    return len(a) == len(b) and len(pairs) == 1 and all(character.isdigit() for character in pairs[0])


def neighbours_swapped(a: str, b: str) -> bool:
    """Two neighbouring digits have changed places."""
    places = [i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y]
    if len(a) != len(b) or len(places) != 2:
        return False
    first, second = places
    between = a[first + 1 : second]
    return between in {"", "."} and a[first] == b[second] and a[second] == b[first]


def point_moved(a: str, b: str) -> bool:
    """The same significant digits with the point elsewhere; a lone digit says too little."""
    digits = [text.replace(".", "").strip("0+-") for text in (a, b)]
    return a != b and digits[0] == digits[1] and len(digits[0]) >= 2


def slips(number: Reported, fits: Fits) -> Iterator[str]:
    """Numbers one changed digit or one swap of neighbours away that fit."""
    text = number.text.strip()
    tried = set()
    for candidate in (*_changed(text), *_swapped(text)):
        reported = parse(candidate, number.rounding)
        padded = LEADING_ZERO.match(candidate) and not LEADING_ZERO.match(text)
        if candidate not in tried and not padded and reported is not None and fits(reported):
            yield candidate
        tried.add(candidate)


def _changed(text: str) -> Iterator[str]:
    for place, character in enumerate(text):
        if character.isdigit():
            yield from (text[:place] + digit + text[place + 1 :] for digit in "0123456789" if digit != character)


def _swapped(text: str) -> Iterator[str]:
    places = [i for i, character in enumerate(text) if character.isdigit()]
    for first, second in pairwise(places):
        if second - first <= 2 and text[first] != text[second]:
            letters = list(text)
            letters[first], letters[second] = letters[second], letters[first]
            yield "".join(letters)


def slip(role: str, number: Reported, fits: Fits, exact: Fraction | None = None) -> Explanation:
    """A slip in one number of a relation; of several that fit the nearest to `exact`, by default to the number."""
    goal = number.value if exact is None else exact
    found = sorted(slips(number, fits), key=lambda text: _distance(text, goal))
    if not found:
        return Explanation(f"a slip in the {role} {number.text}", "no change of one digit or swap of two fits", False)
    return Explanation(f"a slip in the {role}", f"{number.text} for {' or '.join(found[:3])}", True)


def _distance(text: str, goal: Fraction) -> Fraction:
    reported = parse(text)
    return abs(reported.value - goal) if reported is not None else Fraction(0)


def elsewhere(value: Reported, others: Iterable[Number]) -> Explanation | None:
    """The number stands in another cell, so a row or column may have been swapped or shifted."""
    found = [n.claim.where for n in others if n.reported.value == value.value]
    if not found:
        return None
    shown = "; ".join(str(where) for where in found[:3])
    return Explanation("a number from another cell", f"{value.text} also stands in {shown}", True)


def span(interval: Interval) -> str:
    """An interval with its ends written out."""
    return str(interval)


def difference(a: Reported, b: Reported) -> str:
    """`85.92 - 83.38 = 2.54`."""
    digits = max(a.decimals, b.decimals, 0)
    return f"{a.text} − {b.text} = {show(a.value - b.value, digits)}"


def percent(value: Fraction) -> str:
    """A fraction as a percentage with two decimals."""
    return f"{show(value * 100, 2)} %"
