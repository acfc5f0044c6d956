"""When a published number may be said to agree with measured seeds."""

from __future__ import annotations

import math

import pytest
from scipy import stats as reference

from leaderboard.claims import Aliases, Claim, ClaimSet, Scope, Where
from leaderboard.published import lookup, verdict

VALUES = [87.1, 87.9, 88.4, 86.8, 87.7]
MEAN = sum(VALUES) / 5
STD = math.sqrt(sum((value - MEAN) ** 2 for value in VALUES) / 4)
HALF = reference.t.ppf(0.975, 4) * STD * math.sqrt(1 / 5 + 1)


def claim(printed, **scope):
    named = {"task": "T", "method": "M", "metric": "top-1", **scope}
    return Claim(printed=printed, where=Where(table="Table 1"), scope=Scope(**named), unit="percent", n=1)


@pytest.mark.parametrize(("offset", "said"), [(0.0, "agrees"), (HALF - 0.02, "agrees"), (HALF + 0.02, "differs")])
def test_agreement_is_the_prediction_interval_of_another_run(offset, said):
    assert verdict(claim(f"{MEAN + offset:.2f}"), "paper", VALUES)[0] == said
    assert verdict(claim(f"{MEAN - offset:.2f}"), "paper", VALUES)[0] == said


def test_without_seed_variance_the_printed_rounding_is_all_the_room_there_is():
    assert verdict(claim("75.0"), "paper", [75.04] * 5)[0] == "agrees"
    assert verdict(claim("75.00"), "paper", [75.04] * 5)[0] == "differs"


def test_another_profile_few_seeds_and_another_quantity_get_no_verdict():
    assert verdict(claim("87.5"), "compact", VALUES)[0] == "other scale"
    assert verdict(claim("87.5"), "paper", VALUES[:2])[0] == "cannot say"
    said, reason = verdict(claim("87.5", aggregation="best epoch"), "paper", VALUES)
    assert said == "cannot say"
    assert "best epoch" in reason


def test_claims_are_found_through_aliases_and_blank_ones_left_out():
    aliases = Aliases(tasks={"t": "T"}, initializers={"mask": "M"}, metrics={"accuracy": "top-1"})
    found = lookup([ClaimSet(id="a", claims=(claim("87.5"), claim("")), aliases=aliases)], "paper")
    values = dict(enumerate(VALUES))
    assert [(item.printed, item.table, item.verdict) for item in found("t", "mask", "accuracy", values)] == [
        ("87.5", "Table 1", "agrees")
    ]
    assert found("t", "default", "accuracy", values) == ()
