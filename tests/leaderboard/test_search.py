"""A search over readings: what belongs to one, how it is judged, who goes on, and what each choice does."""

from __future__ import annotations

import dataclasses
import math

import pytest

from benchmark.errors import UsageError
from benchmark.parameters import Metric
from leaderboard.aggregate import PlannedCell, SeedResult, TaskFacts, build_grid
from leaderboard.render import search as words
from leaderboard.search import (
    Answer,
    all_readings,
    effects,
    is_of,
    rungs,
    scores,
    survivors,
    targets_of,
)  # fmt: skip

ACCURACY = Metric(name="accuracy", title="Accuracy", direction="max", unit="percent")
CLAIMS = """
id: printed
title: Printed
source: a paper
shared: {n: 1}
tables:
  - table: Table 1
    columns: method
    rows: task
    shared: {unit: percent, direction: max, scope: {metric: accuracy}}
    header: [default, mask]
    cells: {t: [75.0, 100.0]}
"""
TASKS, ARMS = ("t[pool=mean]", "t[pool=cls]"), ("default", "mask[rows=same]", "mask[rows=open]")
READINGS = all_readings((*TASKS, *ARMS))
SPREAD = (-0.2, 0.0, 0.2, 0.1)


def value(task, initializer):
    """What each arm is at: mean pooling is at 75 and 100, CLS far off; open rows cost the mask 5 points."""
    return (60.0 if "cls" in task else 75.0) + (24.5 if "mask" in initializer else 0) - 5 * ("open" in initializer)


@pytest.fixture
def grid(tmp_path):
    path = tmp_path / "claims.yaml"
    path.write_text(CLAIMS)
    cells = [PlannedCell(t, i, s, f"{t}{i}{s}") for t in TASKS for i in ARMS for s in range(4)]
    stored = {
        c.cell_id: SeedResult(
            c.seed, c.cell_id, "finished", {"accuracy": value(c.task, c.initializer) + SPREAD[c.seed]}
        )
        for c in cells
    }
    facts = [TaskFacts(task, (ACCURACY,)) for task in TASKS]
    return build_grid(cells, stored, facts, experiment="e", profile="compact", claims=[str(path)])


def test_a_reading_is_one_value_for_every_axis_and_shares_the_cells_of_arms_without_it():
    assert READINGS[0] == {"pool": "mean", "rows": "same"}
    assert len(READINGS) == 4
    assert is_of(READINGS[0], "t[pool=mean]", "default")
    assert is_of(READINGS[1], "t[pool=mean]", "default")
    assert not is_of(READINGS[0], "t[pool=mean]", "mask[rows=open]")


def test_a_spec_without_choices_and_one_with_too_many_are_refused():
    with pytest.raises(UsageError, match="has no `grid:`"):
        all_readings(["default", "mask"])
    with pytest.raises(UsageError, match="10000 readings; at most 5000"):
        all_readings([f"t[{axis}={value}]" for axis in "abcd" for value in range(10)])


def test_readings_are_ranked_by_how_near_they_come_to_what_is_printed(grid):
    judged = scores(READINGS, grid, targets_of(grid), range(3))
    assert [score.label for score in judged] == [
        "pool=mean, rows=same", "pool=mean, rows=open", "pool=cls, rows=same", "pool=cls, rows=open",
    ]  # fmt: skip
    # default: two readings share each mean (ranks 1.5, 1.5, 3.5, 3.5); mask: 1, 2, 3, 4
    assert [score.rank for score in judged] == [1.25, 1.75, 3.25, 3.75]
    assert [len(score.agreeing) for score in judged] == [2, 1, 0, 0]


def test_a_reading_is_judged_on_the_seeds_of_its_round_whatever_else_is_stored(grid):
    targets = targets_of(grid)
    (one,) = scores(READINGS[:1], grid, targets, (0, 1, 2))
    assert set(one.hits[0].values) == {0, 1, 2}
    assert one.hits[0].mean == pytest.approx(75.0)
    assert scores(READINGS[:1], grid, targets, (0, 1))[0].hits[0].verdict == "cannot say"


def test_rounds_double_the_seeds_and_halve_the_readings_keeping_ties(grid):
    assert [len(r) for r in rungs(range(10), 3)] == [3, 6, 10]
    assert [len(r) for r in rungs(range(2), 3)] == [2]
    judged = scores(READINGS, grid, targets_of(grid), range(3))
    assert survivors(judged) == [READINGS[0], READINGS[1]]
    tied = [dataclasses.replace(score, rank=1.0) for score in judged]
    assert len(survivors(tied)) == 4


def test_the_effect_of_a_choice_is_the_mean_difference_over_pairs_with_an_interval_over_seeds(grid):
    targets = targets_of(grid)
    found = {
        (e.axis, e.target.initializer): e for e in effects(READINGS, scores(READINGS, grid, targets, range(3)), targets)
    }
    assert found.keys() == {
        ("pool", "default"),
        ("pool", "mask"),
        ("rows", "mask"),
    }  # rows are no choice of the default
    effect = found["rows", "mask"]
    assert (effect.value, effect.against, effect.pairs) == ("open", "same", 2)
    assert effect.comparison.difference == pytest.approx(-5.0)
    assert found["pool", "default"].comparison.difference == pytest.approx(-15.0)


def test_a_number_no_reading_gives_is_named_and_one_that_cannot_be_judged_is_not(grid):
    targets = targets_of(grid)
    wrong = [r for r in READINGS if r["pool"] == "cls"]
    judged = Answer("e", "compact", tuple(scores(wrong, grid, targets, range(3))), targets, ())
    assert [target.initializer for target in judged.unreached] == ["default", "mask"]
    few = Answer("e", "compact", tuple(scores(wrong, grid, targets, range(2))), targets, ())
    assert few.unreached == []
    assert any(sentence.startswith("Cannot be told") for sentence in words.sentences(few))


def test_the_answer_names_the_reading_that_agrees_with_everything(grid):
    targets = targets_of(grid)
    answer = Answer("e", "compact", tuple(scores(READINGS, grid, targets, range(3))), targets, ())
    said = words.markdown(answer)
    assert "All of them agree with: pool=mean, rows=same." in said
    assert "not the printed scale" in said
    assert "| mask × t, Accuracy 100.0 | 99.50 ± 0.20 ✓ | 1 of 4 | 99.50 ± 0.20 ✓ |" in said


def test_nothing_printed_of_these_tasks_is_an_error(grid):
    with pytest.raises(UsageError, match="no published number"):
        targets_of(dataclasses.replace(grid, claims=()))


def test_gaps_of_losses_are_of_their_logarithms(grid):
    (target, _) = targets_of(grid)
    loss = dataclasses.replace(target, metric=Metric(name="l", title="L", direction="min", scale="log"))
    assert loss.gap(150.0) == pytest.approx(math.log(2))
    assert loss.gap(0.0) == 75.0
    assert target.gap(70.0) == 5.0
