"""Verdicts in words, and what they rest on."""

from __future__ import annotations

import dataclasses
import json

import pytest
from scipy import stats as reference

from benchmark.errors import UsageError
from benchmark.parameters import Metric
from leaderboard.aggregate import PlannedCell, SeedResult, TaskFacts, build_grid
from leaderboard.compare import (
    Terms,
    across_questions,
    as_document,
    compare_grids,
    compare_initializers,
    compare_with_baseline,
)
from leaderboard.render import comparison

ACCURACY = Metric(name="accuracy", title="Accuracy", direction="max", unit="percent", scale="raw")
LOSS = Metric(name="loss", title="Loss", direction="min")

A = [87.1, 87.9, 88.4, 86.8, 87.7]
B = [86.0, 87.2, 87.9, 86.1, 86.5]


def grid_of(values, metric=ACCURACY, statuses=None):
    """{(task, initialiser): values} → grid; statuses: {(task, initialiser, seed): status}."""
    statuses = statuses or {}
    cells = [PlannedCell(t, i, s, f"{t}{i}{s}") for (t, i), row in values.items() for s in range(len(row))]
    stored = {
        cell.cell_id: SeedResult(
            cell.seed,
            cell.cell_id,
            statuses.get((cell.task, cell.initializer, cell.seed), "finished"),
            {metric.name: values[cell.task, cell.initializer][cell.seed]},
        )
        for cell in cells
    }
    tasks = [TaskFacts(task, (metric,)) for task in dict.fromkeys(t for t, _ in values)]
    return build_grid(cells, stored, tasks, experiment="demo", profile="compact")


def only(report):
    (line,) = report.lines
    return line


def test_a_shown_difference_is_better_or_worse_by_the_metric_direction():
    values = {("t", "a"): A, ("t", "b"): B}
    assert only(compare_initializers(grid_of(values), "a", "b")).verdict == "better"
    assert only(compare_initializers(grid_of(values), "b", "a")).verdict == "worse"
    assert only(compare_initializers(grid_of(values, LOSS), "a", "b")).verdict == "worse"
    described = Metric(name="accuracy", title="A", direction="none")
    assert only(compare_initializers(grid_of(values, described), "a", "b")).verdict == "not ranked"


def test_holm_is_over_the_tasks():
    values = {(task, name): row for task in ("t1", "t2", "t3") for name, row in (("a", A), ("b", B))}
    report = compare_initializers(grid_of(values), "a", "b")
    p = reference.ttest_rel(A, B).pvalue
    assert [line.p_holm for line in report.lines] == pytest.approx([3 * p] * 3)
    assert report.summary == "a is consistently better than b: 3 of 3."


def test_one_question_has_one_verdict_whichever_way_it_is_asked():
    values = {(t, name): row for t in ("t", "u", "v") for name, row in (("base", B), ("a", A), ("b", A[::-1]))}
    grid = grid_of(values, metric=ACCURACY.model_copy(update={"scale": None}))
    for report in compare_with_baseline(grid, ["base", "a", "b"], "base"):
        alone = compare_initializers(grid, report.first, "base")
        assert (report.lines, report.family) == (alone.lines, 3)


def test_what_cannot_be_compared_is_named_once_and_no_part_of_the_family():
    values = {(t, name): row for t in ("t", "u") for name, row in (("base", B), ("a", A))}
    failed = {("u", "a", seed): "failed" for seed in range(5)}
    report = compare_initializers(grid_of(values, statuses=failed), "a", "base")
    assert (len(report.lines), report.family, report.absent) == (1, 1, ("u / Accuracy",))
    assert only(report).p_holm == pytest.approx(reference.ttest_rel(A, B).pvalue)
    assert any("an arm has no value yet: u / Accuracy" in note for note in comparison.notes(report))


def test_false_discovery_is_over_all_questions_of_a_page():
    grid = grid_of({("t", "base"): B, ("t", "a"): A, ("t", "b"): [86.0, 87.0, 88.0, 87.5, 86.1]})
    reports = across_questions(compare_with_baseline(grid, ["a", "b"], "base"))
    p = [report.lines[0].comparison.p for report in reports]
    assert [report.lines[0].q for report in reports] == pytest.approx(list(reference.false_discovery_control(p)))


def test_the_detectable_difference_is_at_the_level_of_the_question():
    values = {(t, n): row for t in ("t", "u") for n, row in (("a", [1.0, 2.0, 3.0]), ("b", [1.5, 1.0, 3.2]))}
    two = compare_initializers(grid_of(values), "a", "b").lines[0].detectable
    one = compare_initializers(grid_of(values), "a", "b", Terms(tasks=("t",))).lines[0].detectable
    assert two > one


def test_solved_seeds_are_counted_and_compared_exactly():
    metric = ACCURACY.model_copy(update={"solved": 99.5})
    values = {("t", "a"): [75.0, 100.0, 100.0, 75.0, 100.0], ("t", "b"): [75.0] * 5}
    report = compare_initializers(grid_of(values, metric), "a", "b")
    assert any("solved on 3 of 5 [15 %, 95 %] seeds against 0 of 5 [0 %, 52 %], exact p = 0.250" in note
               for note in comparison.notes(report))  # fmt: skip


def test_a_bound_that_is_not_zero_does_not_print_as_zero():
    values = {("t", "a"): [150.0, 60.0, 40.0, 50.0, 100.02], ("t", "b"): [60.0, 50.0, 1.0, 20.0, 60.0]}
    (row,) = comparison.rows(compare_initializers(grid_of(values), "a", "b"))
    low = row[4].partition("[")[2].partition(",")[0]
    assert float(low.replace("−", "-")) != 0


def test_undecided_says_what_could_have_been_seen():
    values = {("t", "a"): [1.0, 2.0, 3.0], ("t", "b"): [1.5, 1.0, 3.2]}
    report = compare_initializers(grid_of(values), "a", "b")
    assert only(report).verdict == "undecided"
    assert only(report).detectable > 0
    assert any("would show a true difference of" in note for note in comparison.notes(report))
    assert report.summary == "a against b: of 1 comparison, 1 undecided."


def test_practically_equal_needs_a_margin():
    near = {("t", "a"): [90.0, 90.1, 90.2, 90.0, 90.1], ("t", "b"): [90.1, 90.0, 90.1, 90.1, 90.1]}
    assert only(compare_initializers(grid_of(near), "a", "b")).verdict == "undecided"
    assert only(compare_initializers(grid_of(near), "a", "b", Terms(margin=0.5))).verdict == "practically equal"
    assert only(compare_initializers(grid_of(near), "a", "b", Terms(margin=0.05))).verdict == "undecided"


def test_a_constant_difference_is_a_verdict_that_says_it_was_not_tested():
    line = only(compare_initializers(grid_of({("t", "a"): [100.0] * 5, ("t", "b"): [75.0] * 5}), "a", "b"))
    assert (line.verdict, line.p_holm) == ("better", None)
    assert "no seed variance: t-test undefined" in line.reason


def test_a_better_mean_of_survivors_is_no_better():
    values = {("t", "a"): [99.0, 99.1, 99.3, 99.2, 99.0], ("t", "b"): [80.0, 80.2, 80.1, 80.3, 80.1]}
    line = only(compare_initializers(grid_of(values, statuses={("t", "a", 4): "diverged"}), "a", "b"))
    assert line.verdict == "undecided"
    assert "over survivors only" in line.reason
    assert "1 seed of the first diverged" in line.reason


def test_too_few_seeds_are_undecided_and_none_are_no_comparison():
    assert only(compare_initializers(grid_of({("t", "a"): [1.0, 2.0], ("t", "b"): [5.0, 6.0]}), "a", "b")).verdict == (
        "undecided"
    )
    failed = {("t", "a", 0): "failed"}
    report = compare_initializers(grid_of({("t", "a"): [1.0], ("t", "b"): [5.0]}, statuses=failed), "a", "b")
    assert (report.lines, report.summary) == ((), "a against b: nothing to compare yet.")


def test_unknown_and_equal_names_are_refused():
    grid = grid_of({("t", "mask"): A, ("t", "default"): B})
    with pytest.raises(UsageError, match="did you mean 'mask'"):
        compare_initializers(grid, "msak", "default")
    with pytest.raises(UsageError, match="with itself"):
        compare_initializers(grid, "mask", "mask")
    with pytest.raises(UsageError, match="no task has both"):
        compare_initializers(grid_of({("t", "a"): A, ("u", "b"): B}), "a", "b")


def test_two_equal_stores_are_equal_on_every_seed():
    grid = grid_of({("t", "a"): A, ("t", "b"): B})
    report = compare_grids(grid, grid, ("one", "two"))
    assert [(line.initializer, line.verdict, line.identical) for line in report.lines] == [
        ("a", "practically equal", 5),
        ("b", "practically equal", 5),
    ]


def test_a_store_that_got_worse_is_found():
    before, after = grid_of({("t", "a"): A}), grid_of({("t", "a"): B})
    assert [line.initializer for line in compare_grids(after, before, ("new", "old")).worse] == ["a"]
    assert compare_grids(before, after, ("new", "old")).worse == ()


def test_stores_of_different_scale_are_not_compared():
    grid = grid_of({("t", "a"): A})
    with pytest.raises(UsageError, match="profiles differ"):
        compare_grids(grid, dataclasses.replace(grid, profile="paper"), ("one", "two"))


def test_the_text_shows_interval_and_counts_rounded_once():
    report = compare_initializers(grid_of({("t", "a"): A, ("t", "b"): B}), "a", "b")
    (row,) = comparison.rows(report)
    low, high = reference.ttest_rel(A, B).confidence_interval()
    assert row[:4] == ["t", "Accuracy (%) ↑", "87.6 ± 0.6 (5)", "86.7 ± 0.8 (5)"]
    assert row[4] == f"+0.8 [{low:.1f}, {high:.1f}]"  # half-width 0.37: one digit by the PDG rule
    assert "| t | Accuracy (%) ↑ |" in comparison.markdown(report)


def test_the_document_is_strict_json():
    report = compare_initializers(grid_of({("t", "a"): [1.0], ("t", "b"): [2.0]}), "a", "b")
    assert json.loads(json.dumps(as_document(report), allow_nan=False))["lines"][0]["verdict"] == "undecided"
