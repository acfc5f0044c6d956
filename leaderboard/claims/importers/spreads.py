"""Columns and rows that belong to the numbers beside them: their spread, or the number of runs behind them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from leaderboard.claims.model import SpreadKind

_INTERVAL = r"(?:c\.?i\.?|conf(?:idence)?\.? int(?:erval)?s?\.?)"
_KINDS: tuple[tuple[SpreadKind, str], ...] = (
    ("se", r"s\.?e\.?m\.?|s\.?e\.?|std\.? ?err(or)?s?\.?|st\.? ?err(or)?\.?|stderr|standard errors?( of the mean)?"),
    ("sd", r"std\.?( ?dev(iation)?s?\.?)?|s\.?d\.?|stdev|stddev|st\.? ?dev\.?|standard deviations?"),
    ("ci95", rf"95 ?%? ?-?{_INTERVAL}|{_INTERVAL} ?\(?95 ?%?\)?"),
    ("unknown", rf"{_INTERVAL}|±|\+/-|\+-|uncertainty|error bars?"),
)  # fmt: skip
"""What a spread is called."""
_BOUNDS = re.compile(
    r"(.{1,20}[ -])?(95 ?%? ?)?(ci|conf(idence)? int(erval)?)[ -](low(er)?|up(per)?|high|lo|hi|min|max)( bound)?"
    r"|(low(er)?|up(per)?|high)[ -](95 ?%? ?)?(ci|confidence)( (bound|limit))?"
)
_RUNS = re.compile(
    r"(#|n|no\.?|num(ber)?)[ -]?(of )?(random )?(seeds|runs|trials|repeats|repetitions|replicates|folds)"
    r"|(random )?(seeds|runs|trials|repeats|repetitions|replicates)"
)


@dataclass(frozen=True, slots=True)
class Attached:
    """What a column adds to the numbers beside it."""

    what: Literal["spread", "bound", "runs"]
    kind: SpreadKind = "unknown"
    of: str = ""
    """The heading of the numbers it belongs to, lower case; empty: those before it."""
    needs_spread: bool = False
    """`n` counts runs only where the table tells spreads."""


@lru_cache(maxsize=4096)
def attached_by(label: str) -> Attached | None:
    """What a heading such as `± std`, `acc_std`, `std of accuracy`, `95 % CI` or `#seeds` attaches to numbers."""
    text = " ".join(label.lower().replace("_", " ").split()).strip(" :")
    if not text or len(text) > 60:
        return None
    if text == "n":
        return Attached("runs", needs_spread=True)
    if _RUNS.fullmatch(text):
        return Attached("runs")
    if _BOUNDS.fullmatch(text):
        return Attached("bound")
    for kind, pattern in _KINDS:
        match = re.fullmatch(
            rf"(?:±|\+/-|\+-)? ?(?:{pattern})(?: of (?P<behind>.+)| ?[(\[](?P<inside>.+)[)\]])?"
            rf"|(?P<before>.+?)[ ,-]{{1,3}}[(\[]?(?:±|\+/-)? ?(?:{pattern})[)\]]?|(?:std|stderr|sem|sd) (?P<last>.+)",
            text,
        )
        if match is None or (match["last"] and kind != ("se" if text.startswith(("stderr", "sem")) else "sd")):
            continue
        of = next((match[name] for name in ("behind", "inside", "before", "last") if match[name]), "")
        return Attached("spread", kind, of.strip(" ()[]"))
    return None
