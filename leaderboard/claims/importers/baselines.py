"""Words that say what printed differences are taken to: names of baselines, and rules that choose one for each."""

from __future__ import annotations

import re

from leaderboard.claims.model import Rule

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


def rule_in(text: str) -> Rule | None:
    """The rule by which a text says that baselines are chosen: `gain over the best competitor` → best."""
    words = " ".join(text.lower().split())
    return next((rule for rule, pattern in RULES if pattern.search(words)), None)


def is_baseline(name: str) -> bool:
    """Whether a heading can only be that of what differences are taken to."""
    return BASES.fullmatch(name.strip().lower()) is not None
