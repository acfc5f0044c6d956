"""Arms of a grid along their axis: columns of a table, points of a line, one set of tests."""

from __future__ import annotations

import pytest

from benchmark.errors import UsageError
from benchmark.parameters import Metric
from leaderboard.aggregate import PlannedCell, SeedResult, TaskFacts, build_grid
from leaderboard.api import tables_of
from leaderboard.axes import arm, axes, series
from leaderboard.tables import Selection, build

ACCURACY = Metric(name="accuracy", title="Accuracy", direction="max", unit="percent")
NAMES = ("default", "mask[contrast=10,frozen=true]", "mask[contrast=2,frozen=true]", "mask[contrast=2,frozen=false]")


def grid_of(names):
    cells = [PlannedCell("t", name, seed, f"{name}{seed}") for name in names for seed in range(4)]
    stored = {
        cell.cell_id: SeedResult(cell.seed, cell.cell_id, "finished", {"accuracy": 80.0 + 3 * place + cell.seed % 2})
        for cell in cells
        for place in [names.index(cell.initializer)]
    }
    return build_grid(cells, stored, [TaskFacts("t", (ACCURACY,))], experiment="e", profile="compact")


def test_names_of_arms_are_read_and_other_brackets_are_names():
    assert arm("mask[contrast=10,frozen=true]") == ("mask", {"contrast": "10", "frozen": "true"})
    assert arm("acc[top5]") == ("acc[top5]", {})
    assert axes(NAMES) == ["contrast", "frozen"]


def test_the_values_of_an_axis_are_columns_in_their_order_and_keep_rank_and_bold():
    grid = grid_of(NAMES)
    (table,) = tables_of(grid, Selection(axis="contrast")).tables
    assert [column.task for column in table.columns] == ["t, contrast = 2", "t, contrast = 10"]
    assert [row.name for row in table.rows] == ["default", "mask[frozen=true]", "mask[frozen=false]"]
    assert table.rows[0].entries[0] == table.rows[0].entries[1]
    assert table.rows[2].entries[1] is None
    plain = {row.name: row.entries[0] for row in build(grid).tables[0].rows}
    assert table.rows[1].entries == (plain[NAMES[2]], plain[NAMES[1]])


def test_an_axis_that_no_arm_has_is_refused_with_those_there_are():
    with pytest.raises(UsageError, match="axis 'contrst'; there are: contrast, frozen"):
        tables_of(grid_of(NAMES), Selection(axis="contrst"))


def test_a_line_for_each_initialiser_and_a_level_one_for_those_without_the_axis():
    grid = grid_of(NAMES)
    column = build(grid).tables[0].columns[0]
    found = {line.name: line.points for line in series(grid, column, "contrast")}
    assert [x for x, _, _ in found["mask[frozen=true]"]] == [2.0, 10.0]
    assert len({mean for _, mean, _ in found["default"]}) == 1
    assert series(grid, column, "frozen") == []
