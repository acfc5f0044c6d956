"""Printed differences: signs, baselines nobody names, readings tried before anything is called impossible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leaderboard.checks.finding import Finding, Severity, Verdict
from leaderboard.checks.runner import Report
from leaderboard.claims.model import Claim

BASE = {"task": "A", "metric": "accuracy", "budget": "1 epoch", "unit": "percent"}


def table(make: Callable[..., Claim], value: str, base: str, delta: dict[str, Any], **fields: Any) -> list[Claim]:
    shared = {**BASE, **fields}
    return [
        make(value, method="mine", row="mine", delta=delta, **shared),
        make(base, method="base", row="base", **shared),
    ]


@pytest.mark.parametrize(
    ("value", "base", "delta", "direction"),
    [
        ("85.82", "83.38", "+2.44", "max"),
        ("85.82", "83.38", "+2.4", "max"),
        ("85.8", "83.38", "+2.44", "max"),
        ("10.40", "10.42", "-0.02", "min"),
        ("10.40", "10.42", "+0.02", "min"),
        ("10.40", "10.42", "0.02", "min"),
        ("83.38", "85.82", "2.44", "max"),
        ("1.00", "1.00", "+0.01", "max"),
    ],
)
def test_sound_difference_passes(
    make: Callable[..., Claim], run: Callable[..., Report], value: str, base: str, delta: str, direction: str
) -> None:
    claims = table(make, value, base, {"printed": delta, "baseline": "base"}, direction=direction)
    report = run("DELTA", *claims)
    assert report.findings == []
    assert report.verdict("DELTA") is Verdict.PASS


@pytest.mark.parametrize(
    ("value", "base", "delta", "explanation"),
    [
        ("85.82", "83.38", "-2.44", "the sign is reversed"),
        ("26.22", "23.41", "+12.00", "a percentage of the baseline"),
        ("26.22", "23.41", "+10.72", "a percentage of the new value"),
        ("85.92", "83.38", "+2.44", "a slip in the value"),
        ("85.82", "83.38", "+4.24", "a slip in the difference"),
    ],
)
def test_reading_that_fits_is_named(
    make: Callable[..., Claim],
    run: Callable[..., Report],
    single: Callable[[Report], Finding],
    value: str,
    base: str,
    delta: str,
    explanation: str,
) -> None:
    claims = table(make, value, base, {"printed": delta, "baseline": "base"}, direction="max")
    finding = single(run("DELTA", *claims))
    assert finding.severity is Severity.ERROR
    assert any(e.fits and e.title.startswith(explanation) for e in finding.explanations)
    fits = [e.fits for e in finding.explanations]
    assert fits == sorted(fits, reverse=True), "those that fit come first"


def test_difference_to_another_row_is_named(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding]
) -> None:
    claims = table(make, "85.82", "83.38", {"printed": "+1.02", "baseline": "base"}, column="acc")
    third = make("84.80", method="third", row="third", column="acc", **BASE)
    finding = single(run("DELTA", *claims, third))
    assert finding.explanations[0].title == "another baseline row"
    assert "with row third" in finding.explanations[0].arithmetic


def test_difference_without_a_named_baseline_may_be_to_any_row(
    make: Callable[..., Claim], run: Callable[..., Report]
) -> None:
    assert run("DELTA", *table(make, "85.82", "83.38", {"printed": "+2.44"})).findings == []
    assert run("DELTA", *table(make, "26.22", "23.41", {"printed": "12.0"})).findings == []


def test_difference_to_no_row_at_all_is_a_warning(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding]
) -> None:
    finding = single(run("DELTA", *table(make, "85.82", "83.38", {"printed": "+7.77"})))
    assert finding.severity is Severity.WARNING


def test_missing_baseline_is_not_testable(make: Callable[..., Claim], run: Callable[..., Report]) -> None:
    report = run("DELTA", *table(make, "85.82", "83.38", {"printed": "+2.44", "baseline": "nobody"}))
    assert report.verdict("DELTA") is Verdict.NOT_TESTABLE
    assert report.tallies["DELTA"].untestable == {"no number for the baseline": 1}


def test_equal_value_and_baseline_have_no_relative_gain(make: Callable[..., Claim], run: Callable[..., Report]) -> None:
    delta = {"printed": "0.00", "baseline": "base", "relative": True}
    assert run("REL", *table(make, "23.41", "23.41", delta)).findings == []


def test_zero_baseline_is_not_testable(make: Callable[..., Claim], run: Callable[..., Report]) -> None:
    delta = {"printed": "5.00", "baseline": "base", "relative": True}
    assert run("REL", *table(make, "23.41", "0.00", delta)).tallies["REL"].untestable == {"the baseline may be zero": 1}


def test_percent_sign_on_points_is_no_fault(make: Callable[..., Claim], run: Callable[..., Report]) -> None:
    delta = {"printed": "+2.44", "baseline": "base", "relative": True}
    assert run("REL", *table(make, "85.82", "83.38", delta)).findings == []


def test_relative_gain_without_a_baseline_is_looked_for_and_never_called_wrong(
    make: Callable[..., Claim], run: Callable[..., Report]
) -> None:
    fits = run("REL", *table(make, "26.22", "23.41", {"printed": "12.00", "relative": True}))
    assert fits.verdict("REL") is Verdict.PASS
    no_row = run("REL", *table(make, "26.22", "23.41", {"printed": "55.00", "relative": True}))
    assert no_row.verdict("REL") is Verdict.NOT_TESTABLE


def test_one_table_need_not_state_its_budget_to_be_certain(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding]
) -> None:
    def gain(printed: str, **fields: Any) -> list[Claim]:
        return table(make, "26.22", "23.41", {"printed": printed, "baseline": "base", **fields}, budget=None)

    assert single(run("DELTA", *gain("+2.18"))).severity is Severity.ERROR
    assert single(run("REL", *gain("10.71", relative=True))).severity is Severity.ERROR
    assert single(run("DELTA", *gain("+12.00"))).severity is Severity.WARNING, "may be a percentage read as points"
    assert run("DELTA", *gain("+2.81")).findings == []


def test_baseline_in_another_table_of_unknown_budget_is_a_warning(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding]
) -> None:
    mine, base = table(make, "26.22", "23.41", {"printed": "+2.18", "baseline": "base"}, budget=None)
    elsewhere = base.model_copy(update={"where": base.where.model_copy(update={"table": "Table 2"})})
    assert single(run("DELTA", mine, elsewhere)).severity is Severity.WARNING


def test_difference_may_be_to_any_row_of_the_baselines_name(
    make: Callable[..., Claim], run: Callable[..., Report]
) -> None:
    mine, base = table(make, "26.22", "23.41", {"printed": "+2.20", "baseline": "base"})
    second = make("24.02", method="base", row="base again", **BASE)
    assert run("DELTA", mine, base, second).findings == []


def test_slip_is_told_once_however_often_the_value_is_printed(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding]
) -> None:
    mine, base = table(make, "26.22", "23.41", {"printed": "+2.18", "baseline": "base"})
    twins = [make("26.22", table=f"Table {i}", method="mine", **BASE) for i in (2, 3)]
    assert single(run("DELTA", mine, base, *twins)).cells[0].table == "Table 1"
    other = make("26.52", table="Table 4", method="mine", **BASE)
    assert len(run("DELTA", mine, base, *twins, other).findings) == 2


def test_slip_with_the_exact_value_comes_first(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding]
) -> None:
    finding = single(run("DELTA", *table(make, "26.22", "23.41", {"printed": "+2.71", "baseline": "base"})))
    told = next(e.arithmetic for e in finding.explanations if e.title == "a slip in the difference")
    assert told == "+2.71 for +2.81"
    finding = single(run("DELTA", *table(make, "26.22", "23.41", {"printed": "+2.87", "baseline": "base"})))
    told = next(e.arithmetic for e in finding.explanations if e.title == "a slip in the difference")
    assert told.startswith("+2.87 for +2.81 or +2.8")


def test_a_table_without_a_task_still_has_the_row_that_is_named_as_baseline(make, run):
    def rows(printed):
        return (
            make("83.38", metric="accuracy", method="Default"),
            make("85.82", metric="accuracy", method="Learned", delta={"printed": printed, "baseline": "Default"}),
        )

    assert run("DELTA", *rows("+2.44")).findings == []
    assert [finding.verdict.name for finding in run("DELTA", *rows("+2.54")).findings] == ["FAIL"]
