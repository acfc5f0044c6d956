"""Parts of the report that no table has: who solved a task from which step, and lines along an axis."""

from __future__ import annotations

from benchmark.parameters import Metric
from leaderboard.aggregate import PlannedCell, SeedResult, TaskFacts, build_grid
from leaderboard.report import axis_charts, solved
from leaderboard.tables import build

ACCURACY = Metric(name="accuracy", title="Accuracy", direction="max", unit="percent", solved=99.5)


def grid_of(values):
    cells = [PlannedCell("t", name, seed, f"{name}{seed}") for name, row in values.items() for seed in range(len(row))]
    stored = {
        cell.cell_id: SeedResult(cell.seed, cell.cell_id, "finished", {"accuracy": values[cell.initializer][cell.seed]})
        for cell in cells
    }
    return build_grid(cells, stored, [TaskFacts("t", (ACCURACY,))], experiment="e", profile="compact")


def test_seeds_that_solve_a_task_are_named_with_the_step_they_got_there():
    grid = grid_of({"mask": [75.0, 100.0, 100.0], "default": [75.0] * 3})
    points = {
        ("mask1", "accuracy@512"): ([0, 1000, 2000], [50.0, 99.6, 100.0]),
        ("mask2", "accuracy@512"): ([0], [50.0]),
    }
    assert solved(grid, build(grid), points) == (
        "t × mask: 2 of 3 seeds [9 %, 99 %] (seed 1 from step 1,000, seed 2)",
        "t × default: 0 of 3 seeds [0 %, 71 %]",
    )


def test_a_metric_that_does_not_say_when_it_is_solved_has_no_part_in_it():
    grid = grid_of({"mask": [1.0, 2.0, 3.0]})
    (facts,) = grid.tasks
    plain = ACCURACY.model_copy(update={"solved": None})
    silent = build_grid([], {}, [TaskFacts("t", (plain,))], experiment="e", profile="compact")
    assert facts.metrics[0].solved
    assert solved(silent, build(silent), {}) == ()


def test_an_axis_of_numbers_is_a_chart_with_a_line_for_each_initialiser():
    grid = grid_of({"default": [80.0] * 3, "mask[contrast=1]": [81.0] * 3, "mask[contrast=10]": [99.0] * 3})
    (chart,) = axis_charts(grid, build(grid))
    assert [line.name for line in chart.series] == ["default", "mask"]
    assert chart.across == "contrast"
    assert "contrast" in chart.svg()
