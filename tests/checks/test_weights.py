"""One weight for the averages of two parts of a whole table."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.checks.numbers import Interval, Reported, parse
from leaderboard.checks.wholes import Row, common_weight, share_of


def number(text: str) -> Reported:
    reported = parse(text, "nearest")
    assert reported is not None
    return reported


def span(text: str) -> Interval:
    return number(text).interval()


def rows(*texts: str) -> list[Row]:
    return [(span(a), span(b), span(whole)) for a, b, whole in (text.split() for text in texts)]


WEIGHTED = ("90.0 80.0 87.0", "60.0 80.0 66.0", "50.0 10.0 38.0", "70.0 70.0 70.0", "10.0 30.0 16.0")
"""0.7 of the first, 0.3 of the second."""


def test_common_weight_is_found_and_counted() -> None:
    found = common_weight(rows(*WEIGHTED))
    assert found is not None
    assert abs(found[0] - Fraction(7, 10)) < Fraction(1, 200)
    assert found[1] == 5


@pytest.mark.parametrize(
    "texts",
    [
        WEIGHTED[:4],
        ("90.0 80.0 85.0", "60.0 80.0 70.0", "50.0 10.0 30.0", "70.0 50.0 60.0", "10.0 30.0 16.0"),
        (*WEIGHTED[:4], "10.0 30.0 25.0"),
        ("90.0 80.0 95.0",) * 5,
        (),
    ],
    ids=["too few", "plain means with one fault", "only four in five", "out of range", "none"],
)
def test_no_weight_is_claimed_without_good_reason(texts: tuple[str, ...]) -> None:
    assert common_weight(rows(*texts)) is None


@given(
    st.decimals(0, 100, places=1).map(str),
    st.decimals(0, 100, places=1).map(str),
    st.decimals(0, 100, places=1).map(str),
    st.fractions(0, 1, max_denominator=50),
)
def test_weights_are_those_that_give_the_average(a: str, b: str, whole: str, weight: Fraction) -> None:
    first, second, average = span(a), span(b), span(whole)
    given_by = first.scale(weight) + second.scale(1 - weight)
    found = share_of(first, second, average)
    assert given_by.meets(average) == (found is not None and found.lo <= weight <= found.hi)
