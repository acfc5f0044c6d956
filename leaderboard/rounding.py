"""Rounding for display only, by the rule of the Particle Data Group, in decimal arithmetic.

If the three leading digits of the error lie between 100 and 354, it is shown with two digits; between 355 and
949 with one; from 950 to 999 it is rounded up to 1000 and shown with two. The value is shown to the same
decimal (Review of Particle Physics, introduction, "Rounding").

A float is taken as the shortest decimal that reads back as the same float, and rounded once, half to even.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from typing import Literal

from leaderboard.stats import RESOLUTION

Ties = Literal["half-even", "half-up"]
"""Where an exact tie goes; tables use `half-even`, which has no drift. Papers and printf-like tools differ."""

_MODES = {"half-even": ROUND_HALF_EVEN, "half-up": ROUND_HALF_UP}

PERCENT_DECIMALS = 2
"""Decimals of a percentage whose seeds do not vary, or of which there is one."""

SIGNIFICANT = 4
"""Significant digits of any other value without a spread."""


def exact(value: float) -> Decimal:
    """The shortest decimal that reads back as this float."""
    return Decimal(repr(float(value)))


def round_to(value: float | Decimal, decimals: int, ties: Ties = "half-even") -> Decimal:
    """Round once to that many decimals (negative: tens, hundreds ...)."""
    number = value if isinstance(value, Decimal) else exact(value)
    if not number.is_finite():
        raise ValueError(f"only finite numbers can be rounded, found {number}")
    with localcontext() as context:
        context.prec = 400
        rounded = number.quantize(Decimal(1).scaleb(-decimals), rounding=_MODES[ties])
        return rounded if rounded else abs(rounded)  # no "-0.00"


def text(value: float | Decimal, decimals: int, ties: Ties = "half-even") -> str:
    """The rounded value in plain notation, for example `85.92` or `12350`."""
    return f"{round_to(value, decimals, ties):f}"


def pdg_decimals(error: float | Decimal) -> int:
    """Decimals to which a value with this error, and the error itself, are shown."""
    number = abs(error if isinstance(error, Decimal) else exact(error))
    if not number.is_finite() or not number:
        raise ValueError(f"the rule needs a finite error above 0, found {error}")
    digits = "".join(map(str, number.as_tuple().digits[:3])).ljust(3, "0")
    return -number.adjusted() + (1 if int(digits) <= 354 else 0)


def entry_decimals(mean: float, std: float | None, unit: str = "raw") -> int:
    """Decimals one entry would get alone: the PDG rule, or the unit's default where no spread is known."""
    if std is not None and std > RESOLUTION * abs(mean):
        return pdg_decimals(std)
    if unit == "percent":
        return PERCENT_DECIMALS
    return PERCENT_DECIMALS if mean == 0 else max(0, SIGNIFICANT - 1 - math.floor(math.log10(abs(mean))))


def column_decimals(entries: Iterable[tuple[float, float | None]], unit: str = "raw") -> int:
    """The one decimal of a column of (mean, std): the coarsest among entries with a spread, else the finest default."""
    pairs = list(entries)
    spread = [pdg_decimals(s) for m, s in pairs if s is not None and s > RESOLUTION * abs(m)]
    if spread:
        return min(spread)
    return max((entry_decimals(m, s, unit) for m, s in pairs), default=PERCENT_DECIMALS)


def mean_and_std(mean: float, std: float | None, decimals: int, unit: str = "raw") -> tuple[str, str | None]:
    """Both as text with the column's decimals; an entry that would print a non-zero number as 0 keeps its own."""
    own = entry_decimals(mean, std, unit)
    visible = [abs(mean)] + ([std] if std is not None and std > RESOLUTION * abs(mean) else [])
    vanishes = any(number and not round_to(number, decimals) for number in visible)
    used = max(decimals, own) if vanishes else decimals
    return text(mean, used), None if std is None else text(std, used)
