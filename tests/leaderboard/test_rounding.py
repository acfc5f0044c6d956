"""The PDG rule: published examples, and what must hold for every number."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard import rounding

EXAMPLES = [
    (85.9234, 0.1234, "85.92", "0.12"),
    (85.9234, 0.354, "85.92", "0.35"),
    (85.9234, 0.355, "85.9", "0.4"),
    (85.9234, 0.0951, "85.92", "0.10"),
    (10.4847, 0.0069, "10.485", "0.007"),
    (12345.0, 250.0, "12340", "250"),
    (12345.0, 960.0, "12300", "1000"),
]


@pytest.mark.parametrize(("mean", "std", "value", "spread"), EXAMPLES)
def test_published_examples(mean, std, value, spread):
    places = rounding.pdg_decimals(std)
    assert (rounding.text(mean, places), rounding.text(std, places)) == (value, spread)


def test_a_tie_goes_to_even_unless_asked_otherwise():
    assert rounding.text(0.125, 2) == "0.12"
    assert rounding.text(0.125, 2, "half-up") == "0.13"
    assert rounding.text(2.675, 2, "half-up") == "2.68"  # the decimal as written, not the binary float below it


def test_there_is_no_negative_zero():
    assert rounding.text(-0.0004, 2) == "0.00"
    assert rounding.text(-0.0, 1) == "0.0"


@pytest.mark.parametrize("bad", [0.0, float("nan"), float("inf")])
def test_the_rule_needs_an_error(bad):
    with pytest.raises(ValueError, match="finite error"):
        rounding.pdg_decimals(bad)


def test_a_number_that_is_not_finite_is_never_printed():
    with pytest.raises(ValueError, match="finite"):
        rounding.text(float("nan"), 2)


def test_a_column_takes_its_coarsest_decimal():
    assert rounding.column_decimals([(87.451, 0.0312), (87.9, 0.4)], "percent") == 1


def test_entries_without_spread_do_not_decide_where_others_have_one():
    assert rounding.column_decimals([(75.0, 0.0), (99.98, 0.0123), (50.0, None)], "percent") == 3


def test_a_column_without_any_spread_uses_the_unit():
    assert rounding.column_decimals([(75.0, 0.0), (100.0, None)], "percent") == 2
    assert rounding.column_decimals([(0.0029, None)]) == 6
    assert rounding.column_decimals([]) == 2


def test_a_number_is_never_printed_as_zero_that_is_not():
    assert rounding.mean_and_std(0.0029, 0.0004, 1) == ("0.0029", "0.0004")
    assert rounding.mean_and_std(75.0, 0.002, 0, "percent") == ("75.0000", "0.0020")
    assert rounding.mean_and_std(0.0, 0.0, 2) == ("0.00", "0.00")


finite = st.floats(min_value=-1e12, max_value=1e12, allow_nan=False, allow_subnormal=False)
errors = st.floats(min_value=1e-12, max_value=1e12, allow_nan=False)


@given(finite, st.integers(-6, 12))
def test_rounding_moves_a_number_by_at_most_half_a_unit(value, places):
    moved = abs(rounding.round_to(value, places) - rounding.exact(value))
    assert moved <= Decimal(1).scaleb(-places) / 2


@given(finite, st.integers(-6, 12))
def test_rounding_twice_to_the_same_place_changes_nothing(value, places):
    once = rounding.round_to(value, places)
    assert rounding.round_to(once, places) == once


@given(finite, finite, st.integers(-6, 12))
def test_rounding_keeps_the_order(a, b, places):
    low, high = sorted((a, b))
    assert rounding.round_to(low, places) <= rounding.round_to(high, places)


@given(errors)
def test_an_error_is_shown_with_one_or_two_digits(error):
    places = rounding.pdg_decimals(error)
    units = rounding.round_to(error, places).scaleb(places)
    assert 3 <= units <= 36  # 35 is the last with two digits, 4 the first with one; 10 stands for 950 to 999
    relative = abs(rounding.round_to(error, places) - rounding.exact(error)) / rounding.exact(error)
    assert relative <= Decimal("0.15")


@given(errors)
def test_the_rule_is_the_same_at_every_scale(error):
    shifted = rounding.exact(error).scaleb(-3)
    assert rounding.pdg_decimals(shifted) == rounding.pdg_decimals(error) + 3
