"""Printed numbers as what they are: intervals. Exact arithmetic throughout; no binary floating point decides a verdict.

A number printed with d decimals stands for every value that rounds to it. With u = 10^-d its half-width is

* `nearest`    0.5 u, closed on both sides, because half-even (Python) and half-away (SQL) break ties differently;
* `double`     0.55 u: rounded to d+1 decimals first, then to d;
* `truncated`  1.0 u, away from zero only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import isqrt, lcm

from leaderboard.claims.model import Rounding

PRINTED = re.compile(r"([+\-−]?)(\d{1,3}(?:,\d{3})+|\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?")
LONGEST = 40
"""Characters, and decimals either way of the point, beyond which a text is no measurement."""

HUNDREDTHS = {"nearest": (50, 50), "double": (55, 55), "truncated": (0, 100)}
"""Half-widths towards and away from zero, in hundredths of the last printed digit."""

LOOSER: dict[Rounding, tuple[Rounding, ...]] = {
    "nearest": ("double", "truncated"),
    "double": ("truncated",),
    "truncated": ("nearest", "double"),
}
"""Policies tried when a number fails under its own."""


@dataclass(frozen=True, slots=True)
class Interval:
    """All values from `lo` to `hi`, both included."""

    lo: Fraction
    hi: Fraction

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.lo + other.lo, self.hi + other.hi)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.lo - other.hi, self.hi - other.lo)

    def __mul__(self, other: Interval) -> Interval:
        ends = [a * b for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return Interval(min(ends), max(ends))

    def __truediv__(self, other: Interval) -> Interval:
        """Quotient.

        Raises:
            ZeroDivisionError: the divisor may be zero.
        """
        if other.lo <= 0 <= other.hi:
            raise ZeroDivisionError(f"the divisor [{other.lo}, {other.hi}] may be zero")
        return self * Interval(1 / other.hi, 1 / other.lo)

    def scale(self, factor: Fraction | int) -> Interval:
        """Times an exact number."""
        ends = (self.lo * factor, self.hi * factor)
        return Interval(min(ends), max(ends))

    def square(self) -> Interval:
        """Squares of the values (tighter than multiplying by itself when zero is inside)."""
        ends = (self.lo * self.lo, self.hi * self.hi)
        return Interval(Fraction(0) if self.lo <= 0 <= self.hi else min(ends), max(ends))

    def clip(self, lo: Fraction | int | None, hi: Fraction | int | None) -> Interval:
        """The part inside known bounds; the nearest bound when nothing of it is."""
        low = self.lo if lo is None else max(self.lo, Fraction(lo))
        high = self.hi if hi is None else min(self.hi, Fraction(hi))
        return Interval(min(low, high), max(low, high))

    def meets(self, other: Interval) -> bool:
        """Whether some value is in both."""
        return self.lo <= other.hi and other.lo <= self.hi

    def __contains__(self, value: Fraction | int) -> bool:
        return self.lo <= value <= self.hi

    def exp(self) -> Interval:
        """e^x, rounded outward at 30 digits."""
        return Interval(_exp(self.lo, down=True), _exp(self.hi, down=False))

    def log(self) -> Interval:
        """ln x, rounded outward at 30 digits.

        Raises:
            ValueError: not positive.
        """
        if self.lo <= 0:
            raise ValueError("logarithm of an interval that reaches zero")
        return Interval(_log(self.lo, down=True), _log(self.hi, down=False))

    def sqrt(self) -> Interval:
        """√x, rounded outward at 20 decimals; what lies below zero is cut off."""
        return Interval(_sqrt(max(self.lo, Fraction(0)), down=True), _sqrt(max(self.hi, Fraction(0)), down=False))

    def __str__(self) -> str:
        return f"[{show(self.lo)}, {show(self.hi)}]"


def exactly(value: Fraction | int | str) -> Interval:
    """The interval of one value."""
    return Interval(Fraction(value), Fraction(value))


def weighted_sum(parts: list[Interval], weights: list[Fraction]) -> Interval:
    """Σ w_i x_i for weights ≥ 0; over one denominator, which is what makes long sums fast."""
    pairs = list(zip(parts, weights, strict=True))
    bottom = lcm(*(x.denominator * w.denominator for part, w in pairs for x in (part.lo, part.hi)))

    def total(ends: list[tuple[Fraction, Fraction]]) -> Fraction:
        tops = (x.numerator * w.numerator * (bottom // (x.denominator * w.denominator)) for x, w in ends)
        return Fraction(sum(tops), bottom)

    return Interval(total([(part.lo, w) for part, w in pairs]), total([(part.hi, w) for part, w in pairs]))


@lru_cache(maxsize=256)
def power_of_ten(exponent: int) -> Fraction:
    """10^exponent, exactly."""
    return Fraction(10) ** exponent


def hundredths_of(mantissa: int, policy: Rounding) -> tuple[int, int]:
    """Bounds of a printed number in hundredths of its last digit."""
    near, far = HUNDREDTHS[policy]
    middle = mantissa * 100
    if mantissa == 0:
        return -max(near, far), max(near, far)
    return (middle - near, middle + far) if mantissa > 0 else (middle - far, middle + near)


@lru_cache(maxsize=65536)
def scaled(mantissa: int, decimals: int) -> Fraction:
    """`mantissa` × 10^-`decimals`."""
    return mantissa * power_of_ten(-decimals)


@lru_cache(maxsize=65536)
def span_of(mantissa: int, decimals: int, policy: Rounding) -> Interval:
    """Every value that prints so."""
    low, high = hundredths_of(mantissa, policy)
    return Interval(scaled(low, decimals + 2), scaled(high, decimals + 2))


@dataclass(frozen=True, slots=True)
class Reported:
    """A printed number: `mantissa` × 10^-`decimals`, and how it was rounded."""

    text: str
    mantissa: int
    decimals: int
    rounding: Rounding = "nearest"

    @property
    def value(self) -> Fraction:
        """The number as it stands."""
        return scaled(self.mantissa, self.decimals)

    @property
    def ulp(self) -> Fraction:
        """One unit of the last printed digit."""
        return power_of_ten(-self.decimals)

    @property
    def hundredths_in_one(self) -> int | Fraction:
        """How many hundredths of the last printed digit make one; whole unless digits before the point are missing."""
        power = self.decimals + 2
        return int(10**power) if power >= 0 else Fraction(10) ** power

    def hundredths(self, policy: Rounding | None = None) -> tuple[int, int]:
        """Bounds in hundredths of the last printed digit: all that the fast checks need."""
        return hundredths_of(self.mantissa, policy or self.rounding)

    def interval(self, policy: Rounding | None = None) -> Interval:
        """Every value that prints like this."""
        return span_of(self.mantissa, self.decimals, policy or self.rounding)

    def at(self, decimals: int, policy: Rounding | None = None) -> tuple[int, int]:
        """Bounds as whole numbers in units of 10^-(decimals + 2); `decimals` at least this number's own."""
        low, high = self.hundredths(policy)
        factor = 10 ** (decimals - self.decimals)
        return low * factor, high * factor

    def moved(self, ulps: int) -> str:
        """The number some last digits away, printed alike."""
        return show(Fraction(self.mantissa + ulps) / Fraction(10) ** self.decimals, self.decimals)


@lru_cache(maxsize=65536)
def parse(text: str, rounding: Rounding = "nearest") -> Reported | None:
    """`85.90`, `+2.44`, `−0.3`, `1,014.45`, `1e-3`, `87.4 %`; None for text that is no number, or absurdly long."""
    text = text.strip()
    if len(text) > LONGEST:
        return None
    match = PRINTED.fullmatch(text.removesuffix("%").rstrip())
    if match is None or not (match[2] or match[3]):
        return None
    sign, whole, fraction = match[1], match[2].replace(",", ""), match[3] or ""
    mantissa = int(whole + fraction)
    decimals = len(fraction) - int(match[4] or 0)
    if abs(decimals) > LONGEST:
        return None
    return Reported(text, -mantissa if sign in {"-", "−"} else mantissa, decimals, rounding)


def show(value: Fraction, decimals: int | None = None) -> str:
    """A fraction as a decimal a reader can paste: exact where it is short, else six significant digits."""
    if decimals is not None:
        scaled = round(value * Fraction(10) ** decimals)
        return _placed(scaled, max(decimals, 0)) if decimals >= 0 else str(scaled * 10**-decimals)
    for digits in range(13):
        scaled = value * 10**digits
        if scaled.denominator == 1:
            return _placed(int(scaled), digits)
    return f"{float(value):.6g}"


def _placed(scaled: int, decimals: int) -> str:
    """`scaled` × 10^-decimals in plain notation."""
    digits = str(abs(scaled)).rjust(decimals + 1, "0")
    whole, fraction = (digits[:-decimals], "." + digits[-decimals:]) if decimals else (digits, "")
    return ("−" if scaled < 0 else "") + whole + fraction


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _outward(value: Decimal, down: bool) -> Fraction:
    """One part in 10^30 further out."""
    exact = Fraction(value)
    slack = abs(exact) / 10**30
    return exact - slack if down else exact + slack


def _contexts(down: bool) -> Context:
    return Context(prec=40, rounding=ROUND_FLOOR if down else ROUND_CEILING, Emax=10**6, Emin=-(10**6))


def _exp(value: Fraction, down: bool) -> Fraction:
    context = _contexts(down)
    return _outward(_decimal(value, context).exp(context), down)


def _log(value: Fraction, down: bool) -> Fraction:
    context = _contexts(down)
    return _outward(_decimal(value, context).ln(context), down)


def _sqrt(value: Fraction, down: bool) -> Fraction:
    scale = 10**40
    root = isqrt(value.numerator * scale // value.denominator)
    return Fraction(root if down else root + 1, 10**20)
