"""Printed numbers as intervals: parsing, half-widths, and arithmetic that never loses a possible value."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leaderboard.checks.numbers import Interval, exactly, parse, show, weighted_sum

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is no fault."""

RATIONALS = st.fractions(min_value=-1000, max_value=1000, max_denominator=1000)


@st.composite
def intervals(draw: st.DrawFn, low: int = -1000) -> Interval:
    a, b = (draw(st.fractions(min_value=low, max_value=1000, max_denominator=1000)) for _ in range(2))
    return Interval(min(a, b), max(a, b))


def inside(interval: Interval, share: Fraction) -> Fraction:
    return interval.lo + (interval.hi - interval.lo) * share


@pytest.mark.parametrize(
    ("text", "mantissa", "decimals"),
    [
        ("85.90", 8590, 2),
        ("85.9", 859, 1),
        ("+2.44", 244, 2),
        ("−0.3", -3, 1),
        ("-0.3", -3, 1),
        (".5886", 5886, 4),
        ("1,014.45", 101445, 2),
        ("1e-3", 1, 3),
        ("1.5e3", 15, -2),
        ("100", 100, 0),
        ("87.4 %", 874, 1),
    ],
)
def test_number_is_read_digit_by_digit(text: str, mantissa: int, decimals: int) -> None:
    reported = parse(text)
    assert reported is not None
    assert (reported.mantissa, reported.decimals) == (mantissa, decimals)


@pytest.mark.parametrize("text", ["", "-", "Please tell us", "nan", "1.2.3", "12,34", "1e", "--1", "0x10", "."])
def test_text_that_is_no_number_is_missing(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("policy", "text", "low", "high"),
    [
        ("nearest", "85.92", "85.915", "85.925"),
        ("double", "85.92", "85.9145", "85.9255"),
        ("truncated", "85.92", "85.92", "85.93"),
        ("truncated", "-85.92", "-85.93", "-85.92"),
        ("truncated", "0.00", "-0.01", "0.01"),
        ("nearest", "1.5e3", "1450", "1550"),
    ],
)
def test_half_width_follows_the_rounding_policy(policy: str, text: str, low: str, high: str) -> None:
    reported = parse(text, policy)  # type: ignore[arg-type]
    assert reported is not None
    assert reported.interval() == Interval(Fraction(low), Fraction(high))


def test_whole_number_bounds_are_the_interval() -> None:
    reported = parse("0.0051")
    assert reported is not None
    low, high = reported.at(6)
    assert Interval(Fraction(low, 10**8), Fraction(high, 10**8)) == reported.interval()


@UNHURRIED
@given(intervals(), intervals(), st.fractions(0, 1), st.fractions(0, 1))
def test_arithmetic_keeps_every_value(a: Interval, b: Interval, s: Fraction, t: Fraction) -> None:
    x, y = inside(a, s), inside(b, t)
    assert x + y in a + b
    assert x - y in a - b
    assert x * y in a * b
    assert x * x in a.square()
    assert x * Fraction(-3, 7) in a.scale(Fraction(-3, 7))
    if not b.lo <= 0 <= b.hi:
        assert x / y in a / b


@UNHURRIED
@given(intervals(low=0), st.fractions(0, 1))
def test_functions_are_rounded_outward(a: Interval, s: Fraction) -> None:
    x = float(inside(a, s))
    root = a.sqrt()
    assert float(root.lo) <= math.sqrt(x) * (1 + 1e-12)
    assert math.sqrt(x) <= float(root.hi) * (1 + 1e-12) + 1e-12
    small = a.scale(Fraction(1, 100))
    power = small.exp()
    assert float(power.lo) <= math.exp(x / 100) * (1 + 1e-12)
    assert math.exp(x / 100) <= float(power.hi) * (1 + 1e-12)
    assert power.log().lo <= small.lo
    assert small.hi <= power.log().hi


@UNHURRIED
@given(st.lists(intervals(low=0), min_size=1, max_size=6))
def test_weighted_sum_is_the_sum_of_its_corners(spans: list[Interval]) -> None:
    weights = [Fraction(i + 1) for i in range(len(spans))]
    total = weighted_sum(spans, weights)
    assert total.lo == sum(w * span.lo for w, span in zip(weights, spans, strict=True))
    assert total.hi == sum(w * span.hi for w, span in zip(weights, spans, strict=True))


def test_dividing_by_what_may_be_zero_is_refused() -> None:
    with pytest.raises(ZeroDivisionError, match="may be zero"):
        exactly(1) / Interval(Fraction(-1), Fraction(1))


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (Fraction(254, 100), 2, "2.54"),
        (Fraction(-1, 100), 2, "−0.01"),
        (Fraction(1, 3), None, "0.333333"),
        (Fraction(5), None, "5"),
        (Fraction(1005, 1000), None, "1.005"),
        (Fraction(1500), -2, "1500"),
    ],
)
def test_fraction_is_shown_as_it_would_be_pasted(value: Fraction, decimals: int | None, text: str) -> None:
    assert show(value, decimals) == text


@UNHURRIED
@given(st.integers(-(10**6), 10**6), st.integers(0, 6))
def test_shown_number_reads_back(mantissa: int, decimals: int) -> None:
    reported = parse(show(Fraction(mantissa, 10**decimals), decimals))
    assert reported is not None
    assert (reported.mantissa, reported.decimals) == (mantissa, decimals)
