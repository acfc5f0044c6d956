"""The same quantity in two tables: what must be told, how surely, and what must not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leaderboard.checks.finding import Finding, Severity, Verdict
from leaderboard.checks.runner import Report
from leaderboard.claims.model import Claim

SAME = {"task": "A", "metric": "accuracy", "method": "mine", "budget": "1 epoch", "unit": "percent"}


def pair(make: Callable[..., Claim], a: str, b: str, left: dict[str, Any], right: dict[str, Any]) -> list[Claim]:
    return [make(a, **{**SAME, **left}), make(b, table="Table 2", **{**SAME, **right})]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"subset": "ablation"}, {}),
        ({"aggregation": "ensemble of 2"}, {}),
        ({"split": "test"}, {}),
        ({"budget": None}, {"budget": None}),
        ({"n": 1}, {"n": 5}),
    ],
)
def test_scope_that_only_one_side_states_makes_a_warning(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding], left: Any, right: Any
) -> None:
    finding = single(run("XT-DUP", *pair(make, "85.92", "85.82", left, right)))
    assert finding.severity is Severity.WARNING
    if "n" not in left:
        assert any(e.fits and "scopes may differ" in e.title for e in finding.explanations)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"subset": "whole"}, {"subset": "ablation"}),
        ({"aggregation": "ensemble of 2"}, {"aggregation": "single model"}),
        ({"metric": "accuracy"}, {"metric": "mCE"}),
        ({"split": "validation"}, {"split": "test"}),
        ({"model": "ViT-S"}, {"model": "ViT-B"}),
    ],
)
def test_scopes_that_state_different_things_are_not_compared(
    make: Callable[..., Claim], run: Callable[..., Report], left: Any, right: Any
) -> None:
    report = run("XT-DUP", *pair(make, "85.92", "43.00", left, right))
    assert report.findings == []
    assert report.verdict("XT-DUP") is Verdict.NOT_TESTABLE


@pytest.mark.parametrize(
    ("left", "right", "severity"),
    [
        ({"column": "Acc. (%)"}, {"column": "accuracy"}, Severity.ERROR),
        ({"column": "Acc."}, {"column": "Frozen / Acc."}, Severity.WARNING),
        ({"row": "mine"}, {"row": "mine distilled"}, Severity.WARNING),
    ],
)
def test_words_of_headings_and_labels_that_nobody_understood_make_no_error(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding],
    left: Any, right: Any, severity: Severity,
) -> None:  # fmt: skip
    finding = single(run("XT-DUP", *pair(make, "85.92", "85.82", left, right)))
    assert finding.severity is severity
    quoted = [str(e) for e in finding.explanations if "may tell them apart" in e.title]
    assert (quoted == []) is (severity is Severity.ERROR)


@pytest.mark.parametrize(("fine", "coarse"), [("1.379", "1.38"), ("5.648", "5.65"), ("0.509", "0.51"),
                                              ("2.9745", "2.97"), ("0.0034", "0.00"), ("87.40", "87.4"),
                                              ("100.00", "100"), ("0.125", "0.12"), ("0.125", "0.13")])  # fmt: skip
def test_coarser_print_of_one_value_passes(
    make: Callable[..., Claim], run: Callable[..., Report], fine: str, coarse: str
) -> None:
    report = run("XT-DUP", *pair(make, fine, coarse, {}, {}))
    assert report.findings == []
    assert report.verdict("XT-DUP") is Verdict.PASS


def test_rounding_that_doubles_the_value_is_told_and_is_no_fault(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding]
) -> None:
    finding = single(run("XT-DUP", *pair(make, "0.0051", "0.01", {}, {})))
    assert (finding.severity, finding.verdict) == (Severity.INFO, Verdict.PASS)
    assert "1.96 times" in finding.arithmetic


def test_truncated_twin_passes_only_under_that_rounding(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding]
) -> None:
    finding = single(run("XT-DUP", *pair(make, "0.0297", "0.02", {}, {})))
    assert (finding.severity, finding.verdict) == (Severity.INFO, Verdict.PASS_IF_ROUNDING)
    assert finding.policy.startswith("truncated")


def test_two_cells_of_one_table_are_left_alone(make: Callable[..., Claim], run: Callable[..., Report]) -> None:
    report = run("XT-DUP", make("85.92", row="a", **SAME), make("80.11", row="b", **SAME))
    assert report.findings == []


def test_many_copies_are_told_once_by_their_extremes(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding]
) -> None:
    claims = [make(f"{80 + i}.0", table=f"Table {i}", **SAME) for i in range(12)]
    finding = single(run("XT-DUP", *claims))
    assert {cell.printed for cell in finding.cells} == {"80.0", "91.0"}


def test_printed_difference_names_the_likely_slip(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding]
) -> None:
    right = {"delta": {"printed": "+2.44", "baseline": "base"}}
    base = make("83.38", table="Table 2", **{**SAME, "method": "base"})
    finding = single(run("XT-DUP", *pair(make, "85.92", "85.82", {}, right), base))
    witness = [e for e in finding.explanations if "agrees with 85.82 only" in e.title]
    assert witness
    assert "so 85.92 in Table 1 is the likely slip" in witness[0].arithmetic


def cells(make: Callable[..., Claim], table: str, values: str, **fields: Any) -> list[Claim]:
    """Two methods on two data sets."""
    names = [(method, task) for method in ("base", "mine") for task in ("A", "B")]
    shared = {"metric": "accuracy", "unit": "percent", **fields}
    return [
        make(value, table=table, method=method, task=task, **shared)
        for (method, task), value in zip(names, values.split(), strict=True)
    ]


@pytest.mark.parametrize("fields", [{}, {"budget": "300 epochs"}])
def test_tables_that_differ_nearly_everywhere_are_one_note(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding], fields: Any
) -> None:
    first, second = (
        cells(make, "T1", "93.1 71.2 94.5 74.0", **fields),
        cells(make, "T2", "91.9 68.8 93.3 74.0", **fields),
    )
    finding = single(run("XT-DUP", *first, *second))
    assert finding.severity is Severity.INFO
    assert "T1 and T2 share 4 cells and differ in 3 of them" in finding.message


@pytest.mark.parametrize(("budget", "severity"), [(None, Severity.WARNING), ("300 epochs", Severity.ERROR)])
def test_one_cell_of_four_is_a_contradiction(
    make: Callable[..., Claim],
    run: Callable[..., Report],
    single: Callable[[Report], Finding],
    budget: str | None,
    severity: Severity,
) -> None:
    first = cells(make, "T1", "93.1 71.2 94.5 74.0", budget=budget)
    second = cells(make, "T2", "93.1 71.2 94.5 74.9", budget=budget)
    finding = single(run("XT-DUP", *first, *second))
    assert finding.severity is severity
    told = [e for e in finding.explanations if e.title == "the scopes may differ" and e.fits]
    assert [e.arithmetic for e in told] == ([] if budget else ["not read from either table: budget"])


def test_a_field_of_one_side_is_told_as_such(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding]
) -> None:
    finding = single(run("XT-DUP", *pair(make, "85.92", "85.82", {"split": "test"}, {})))
    assert "read from one of the tables only: split" in [e.arithmetic for e in finding.explanations]


def test_differences_are_not_held_against_a_table_of_another_condition(
    make: Callable[..., Claim], run: Callable[..., Report]
) -> None:
    first, second = cells(make, "T1", "93.1 71.2 94.5 74.0"), cells(make, "T2", "91.9 68.8 93.3 72.1")
    gain = {"printed": "+1.4", "baseline": "base"}
    first[2] = first[2].model_copy(update={"delta": make("1", delta=gain).delta})
    assert run("DELTA", *first, *second).findings == []


@pytest.mark.parametrize(
    ("left", "right", "count"), [("A B", "C D", 0), ("A B", "A", 0), ("A B", "A B", 1), ("", "", 1), ("A B", "", 0)]
)
def test_averages_are_compared_only_over_the_same_parts(
    make: Callable[..., Claim], run: Callable[..., Report], left: str, right: str, count: int
) -> None:
    def table(name: str, tasks: str, average: str) -> list[Claim]:
        shared = {"metric": "accuracy", "method": "mine", "table": name}
        return [*(make("60.0", task=task, **shared) for task in tasks.split()), make(average, task="Avg.", **shared)]

    assert len(run("XT-DUP", *table("T1", left, "65.1"), *table("T2", right, "85.1")).findings) == count
