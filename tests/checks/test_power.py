"""Planted single-digit edits are found as often as computed before drawing a table."""

from __future__ import annotations

import importlib.util
import math
import random
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest

from leaderboard.checks.difference import agrees
from leaderboard.checks.finding import Verdict
from leaderboard.checks.numbers import Reported
from leaderboard.checks.pairs import meet
from leaderboard.checks.published.counts import grim_power, possible
from leaderboard.checks.registry import find
from leaderboard.checks.relation import bare, judge
from leaderboard.checks.relations import identity

TRIALS = 20_000


def load_power() -> ModuleType:
    spec = importlib.util.spec_from_file_location("digit_power", Path(__file__).with_name("power.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["digit_power"] = module
    spec.loader.exec_module(module)
    return module


power = load_power()


def edited(number: Reported, digits: int, chance: random.Random) -> Reported:
    """The number with one of its digits, any place alike, changed to another digit."""
    place = chance.randrange(digits)
    old = number.mantissa // 10**place % 10
    new = chance.choice([digit for digit in range(10) if digit != old])
    mantissa = number.mantissa + (new - old) * 10**place
    return Reported(str(mantissa), mantissa, number.decimals, number.rounding)


def rounded(true: float) -> Reported:
    mantissa = round(true * 100)
    return Reported(str(mantissa), mantissa, 2)


def near(found: int, expected: Fraction) -> bool:
    """Within four standard errors of a binomial share."""
    p = float(expected)
    return abs(found / TRIALS - p) <= 4 * math.sqrt(p * (1 - p) / TRIALS)


@pytest.mark.parametrize("digits", [3, 4, 5])
def test_edit_of_a_copy_is_found_with_the_computed_power(digits: int) -> None:
    chance = random.Random(digits)
    found = 0
    for _ in range(TRIALS):
        number = rounded(chance.uniform(0, 10**digits) / 100)
        slip = edited(number, digits, chance)
        found += judge(lambda p, a=number, b=slip: meet(a, b, p), "nearest")[0] is Verdict.FAIL
    assert near(found, power.power(digits, power.EXACT, power.COPY_ALLOWED))


@pytest.mark.parametrize("digits", [3, 4, 5])
def test_edit_of_a_value_with_a_difference_is_found_with_the_computed_power(digits: int) -> None:
    chance = random.Random(digits)
    found = 0
    for _ in range(TRIALS):
        base = chance.uniform(0, 10**digits / 2) / 100
        value = base + chance.uniform(0.02, 10**digits / 2 / 100)
        difference = rounded(value - base)
        plus = Reported("+" + difference.text, difference.mantissa, 2)
        slip, other = edited(rounded(value), digits, chance), rounded(base)
        found += judge(lambda p, a=slip, b=other, d=plus: agrees(a, b, d, p), "nearest")[0] is Verdict.FAIL
    assert near(found, power.power(digits, power.DIFFERENCE, power.DIFFERENCE_ALLOWED))


@pytest.mark.parametrize("digits", [3, 4])
def test_edit_of_an_accuracy_with_its_error_is_found_with_the_computed_power(digits: int) -> None:
    chance = random.Random(digits)
    whole = 10 ** (digits - 2)
    complement = identity("error", "accuracy").on(Fraction(whole))
    found = 0
    for _ in range(TRIALS):
        true = chance.uniform(0, whole)
        slip, error = edited(rounded(true), digits, chance), rounded(whole - true)
        found += bare(complement, error, slip).judge()[0] is Verdict.FAIL
    assert near(found, power.power(digits, power.EXACT, power.SUM_ALLOWED))


@pytest.mark.parametrize(("items", "n"), [(500, 1), (1000, 3), (2500, 1), (5000, 1)])
def test_random_value_is_refused_with_the_power_that_grim_tells(items: int, n: int) -> None:
    chance = random.Random(items)
    expected = grim_power(Reported("5000", 5000, 2), True, items * n)
    refused = sum(
        not possible(Reported("x", chance.randrange(10_001), 2), True, items * n, "nearest") for _ in range(TRIALS)
    )
    assert near(refused, expected)


@pytest.mark.parametrize(
    ("id", "allowed", "miss", "quoted"),
    [
        ("XT-DUP", power.COPY_ALLOWED, power.EXACT, "95 %"),
        ("DELTA", power.DIFFERENCE_ALLOWED, power.DIFFERENCE, "92.8 %"),
        ("COMPL", power.SUM_ALLOWED, power.EXACT, "92.8 %"),
    ],
)
def test_report_states_the_computed_power(id: str, allowed: range, miss: dict[int, Fraction], quoted: str) -> None:
    computed = float(power.power(4, miss, allowed)) * 100
    assert quoted in find(id).power
    assert math.isclose(computed, float(quoted.removesuffix(" %")), abs_tol=0.05)
