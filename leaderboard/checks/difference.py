"""Whether one printed number can be the difference of two others: in points or percent, either way."""

from __future__ import annotations

from dataclasses import dataclass

from leaderboard.checks.numbers import Interval, Reported, exactly
from leaderboard.claims.model import Rounding


@dataclass(frozen=True, slots=True)
class Mode:
    """How a difference is taken; sign −1: baseline minus value, where lower is better."""

    relative: bool
    sign: int

    def __str__(self) -> str:
        turned = ", a reduction counted positive" if self.sign < 0 else ""
        return f"in {'percent of the baseline' if self.relative else 'points'}{turned}"


MODES = tuple(Mode(relative, sign) for relative in (False, True) for sign in (1, -1))
"""The simplest first."""


def taken(a: Reported, b: Reported, d: Reported, mode: Mode) -> bool:
    """Whether d can be the difference of a to b; an unsigned d may be either way round."""
    if not mode.relative:
        return agrees(a, b, d) if mode.sign > 0 else agrees(b, a, d)
    return is_percentage(a, b, d, mode.sign) or (is_unsigned(d) and is_percentage(a, b, d, -mode.sign))


def is_percentage(a: Reported, b: Reported, d: Reported, sign: int = 1) -> bool:
    """Whether d can be sign · 100 (a − b) / b; in whole numbers where a and b are positive."""
    decimals = max(a.decimals, b.decimals)
    (a_low, a_high), (b_low, b_high) = a.at(decimals), b.at(decimals)
    if a_low < 0 or b_low <= 0:
        span = quotient(a, b)
        return span is not None and span.scale(sign).meets(d.interval())
    low, high = d.hundredths()
    if sign < 0:
        low, high = -high, -low
    hundred = 100 * d.hundredths_in_one
    return hundred * a_low <= (high + hundred) * b_high and (low + hundred) * b_low <= hundred * a_high


def agrees(
    a: Reported, b: Reported, d: Reported, policy: Rounding | None = None, lower_is_better: bool = False
) -> bool:
    """Whether d can be a − b; in whole numbers."""
    decimals = max(a.decimals, b.decimals, d.decimals)
    (a_low, a_high), (b_low, b_high), (d_low, d_high) = (n.at(decimals, policy) for n in (a, b, d))
    forward = a_low - b_high <= d_high and d_low <= a_high - b_low
    if forward or not (is_unsigned(d) or lower_is_better):
        return forward
    return b_low - a_high <= d_high and d_low <= b_high - a_low


def relative(a: Interval, b: Interval, over_value: bool = False) -> Interval:
    """(a − b) / b, or (a − b) / a, in percent. Raises ZeroDivisionError where the divisor may be zero."""
    one = exactly(1)
    return (one - b / a if over_value else a / b - one).scale(100)


def quotient(a: Reported, b: Reported, over_value: bool = False) -> Interval | None:
    """`relative` of printed numbers; None where the divisor may be zero."""
    try:
        return relative(a.interval(), b.interval(), over_value)
    except ZeroDivisionError:
        return None


def is_unsigned(d: Reported) -> bool:
    """Whether a difference is printed without a sign."""
    return d.text[:1] not in {"+", "-", "−"}
