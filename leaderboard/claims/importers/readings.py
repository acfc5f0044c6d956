"""Ways to read a line of printed differences, and how many of its numbers bear each out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING

from leaderboard.claims.importers.reading import Number
from leaderboard.claims.model import Rule

if TYPE_CHECKING:
    from leaderboard.claims.importers.differences import Base, Line
    from leaderboard.claims.importers.drafts import Draft

BASES = re.compile(
    r"(the )?(before|baselines?|base|default|original|vanilla|standard|w/o.{0,20}|without.{0,20}|old|reference|ref)\.?"
)
"""Headings of the number that a difference is taken to."""
RELATIVE = re.compile(r"\brel(\.|ative|atively)?\b")
ABSOLUTE = re.compile(r"\babs(\.|olute)?\b|\bp\.?p\.?\b|\bpoints\b")

_OVER = (
    r"\b(?:over|relative to|compared (?:to|with)|against|vs\.?|versus|w\.?r\.?t\.?|with respect to|from|than|to"
    r"|beats?|outperforms?) (?:the |its |their |our |a |each |every )?"
)
TO_BASELINE = (
    r"\b(?:over|relative to|compared (?:to|with)|against|vs\.?|versus|w\.?r\.?t\.?|with respect to"
    r"|(?:difference|change)s? (?:to|from)) (?:the )?"
    r"(?:(?:(?:second[- ])?best|strong(?:est)?|original|vanilla|previous|corresponding|respective) )*"
    r"(?:(?:baseline|competitor|method|model|variant|row) ?)?[(\[]?"
)
"""What stands before the name of the row that differences are taken to."""
_ROW = r"(?:row|line|step|stage|configuration|config|variant|setting|entry|model|component|version)"
_RIVAL = (
    r"(?:baselines?|competitors?|competing (?:methods?|models?)|methods?|models?|approach(?:es)?|results?|rivals?"
    r"|alternatives?|others?|ones?|scores?|performers?|numbers?|values?|prior work|state[- ]of[- ]the[- ]arts?|sota)"
)
_RULES: tuple[tuple[Rule, str], ...] = (
    ("underlined", rf"{_OVER}(?:[\w-]+ ){{0,4}}?[(\[]?underlined"),
    (
        "previous",
        rf"{_OVER}(?:immediately )?(?:previous|preceding|prior|last) {_ROW}|{_OVER}(?:row|line) (?:above|before)"
        r"|\brow by row\b"
        r"|\b(?:incremental|cumulative|stepwise|step[- ]by[- ]step) (?:gain|improvement|change|delta)",
    ),
    ("first", rf"{_OVER}(?:first|top|topmost) (?:row|line|entry|variant|configuration|system|method|model)"),
    (
        "best",
        rf"{_OVER}(?:[\w-]+ )?(?:best|strongest|second[- ]best|runner[- ]up|next[- ]best|top|sota"
        rf"|state[- ]of[- ]the[- ]art)(?:[- ]performing)?(?: (?:\w+ )?{_RIVAL}|(?= ?[.,;:)(]| in\b| is\b|$))",
    ),
    (
        "corresponding",
        rf"{_OVER}(?:(?:corresponding|respective|matching|associated|underlying|original|vanilla|plain|same|own"
        r"|base|backbone|unmodified|standard|default) )*(?:baselines?|counterparts?|base models?|backbones?"
        r"|vanilla|originals?|(?:base|vanilla|plain|original) (?:methods?|models?|networks?))\b",
    ),
)
RULES = tuple((rule, re.compile(pattern)) for rule, pattern in _RULES)
"""How a caption or a heading says that the baseline of each difference is chosen, the most definite first."""

HOPELESS = 12
"""A reading that none of the first so many differences bears out is given up."""


class Mode(Enum):
    """What the printed number is; reversed: an improvement is positive where the number falls."""

    POINTS = 0
    RELATIVE = 1
    REVERSED = 2
    REVERSED_RELATIVE = 3


@dataclass(frozen=True)
class Reading:
    """A line of numbers, where their baselines stand, and how the difference is taken."""

    value: Line
    base: Base
    mode: Mode


@dataclass(frozen=True)
class Score:
    """How many of the differences that could be tried a reading explains."""

    reading: Reading
    agreeing: int
    tried: int
    trusted: bool
    nearness: int

    @property
    def rank(self) -> tuple[int, bool, int, int, int]:
        """The more differences agree the better; then the likelier form, the nearer number, the simpler mode."""
        return self.agreeing, self.trusted, self.tried, -self.nearness, -self.reading.mode.value


def rule_in(text: str) -> Rule | None:
    """The rule by which a text says that baselines are chosen: `gain over the best competitor` → best."""
    words = " ".join(text.lower().split())
    return next((rule for rule, pattern in RULES if pattern.search(words)), None)


def is_baseline(name: str) -> bool:
    """Whether a heading can only be that of what differences are taken to."""
    return BASES.fullmatch(name.strip().lower()) is not None


def modes_of(heading: str, relative: bool) -> tuple[Mode, ...]:
    """Modes that a heading leaves open."""
    text = heading.lower()
    if relative or RELATIVE.search(text):
        return Mode.RELATIVE, Mode.REVERSED_RELATIVE
    if ABSOLUTE.search(text):
        return Mode.POINTS, Mode.REVERSED
    return tuple(Mode)


def score(
    reading: Reading, pairs: Sequence[tuple[Number, Draft | None, Draft | None]], trusted: bool, nearness: int
) -> Score:
    """Try a reading on (difference, number, baseline); a number that is its own baseline says nothing."""
    known = [(d, a.number, b.number) for d, a, b in pairs if a is not None and b is not None and a is not b]
    finite = [pair for pair in known if all(number.finite for number in pair)]
    if not any(agrees(d.printed, a.printed, b.printed, reading.mode) for d, a, b in finite[:HOPELESS]):
        return Score(reading, 0, len(finite[:HOPELESS]), trusted, nearness)
    agreeing = sum(agrees(d.printed, a.printed, b.printed, reading.mode) for d, a, b in finite)
    return Score(reading, agreeing, len(finite), trusted, nearness)


def agrees(difference: str, value: str, base: str, mode: Mode) -> bool:
    """Whether the difference can be that of the two numbers, half a unit of each last digit allowed."""
    d, a, b = Decimal(difference.replace("−", "-")), Decimal(value), Decimal(base)
    slack = (_unit(a) + _unit(b)) / 2
    if mode in (Mode.REVERSED, Mode.REVERSED_RELATIVE):
        a, b = b, a
    if mode in (Mode.POINTS, Mode.REVERSED):
        allowed, exact = slack + _unit(d) / 2, a - b
    else:
        over = a if mode is Mode.REVERSED_RELATIVE else b
        if over == 0:
            return False
        exact = (a - b) / over * 100
        allowed = abs(slack / over * 100) * (1 + abs(exact) / 100) + _unit(d) / 2
    unsigned = difference[:1] not in ("+", "-", "−")
    return abs(exact - d) <= allowed or (unsigned and abs(exact + d) <= allowed)


def _unit(number: Decimal) -> Decimal:
    exponent = number.as_tuple().exponent
    return Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)
