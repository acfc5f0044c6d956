"""Which cells are trained together, and that a resumed run forms the same stacks."""

from __future__ import annotations

import pytest

from benchmark.execution.execute import Settings, longest_first, mode_key
from benchmark.execution.stacks import Stack, form_stacks
from benchmark.train.grouping import shape_key
from benchmark.train.mode import Mode


def ids(cells):
    return {cell.id for cell in cells}


def sizes(stacks):
    return [len(stack.cells) for stack in stacks]


def stacks_of(cells, todo, mode, workers=2):
    modes = {shape_key(cell): Mode.parse(mode) for cell in cells}
    return form_stacks(cells, todo, modes, workers)


@pytest.mark.parametrize(
    ("count", "mode", "workers", "expected"),
    [
        (20, "stack:8", 2, [6, 7, 7]),  # evenly, no stack of 4 at the end
        (6, "stack:8", 2, [3, 3]),  # enough stacks for both workers
        (1, "stack:8", 2, [1]),
        (3, "alone", 2, [1, 1, 1]),
        (20, "compiled-stack:8", 2, [8, 8, 4]),  # one compiled program, one size
        (6, "compiled-stack:8", 2, [6]),
        (6, "stack:4", None, [4, 2]),  # pinned by the user: as it is
    ],
)
def test_groups_are_cut_to_about_the_decided_size(toy_cells, count, mode, workers, expected):
    cells = toy_cells(count)
    assert sizes(stacks_of(cells, ids(cells), mode, workers)) == expected


def test_cells_that_one_program_cannot_run_are_kept_apart(toy_cells):
    cells = [*toy_cells(4), *toy_cells(4, slope=2.0)]
    stacks = stacks_of(cells, ids(cells), "stack:8")
    assert [{cell.task.slope for cell in stack.cells} for stack in stacks] == [{1.0}, {2.0}]


def test_initialisers_of_one_task_share_a_stack(toy_cells):
    cells = [*toy_cells(2), *toy_cells(2, "toy_raising")]
    (stack,) = stacks_of(cells, ids(cells), "stack:8", workers=1)
    assert {cell.initializer_name for cell in stack.cells} == {"toy_plain", "toy_raising"}


def test_a_resumed_run_has_the_stacks_the_first_would_have_had(toy_cells):
    cells = toy_cells(20)
    first = stacks_of(cells, ids(cells), "stack:8")
    left = ids(cells) - ids(first[1].cells)
    assert stacks_of(cells, left, "stack:8") == [first[0], first[2]]


def test_a_group_with_holes_is_cut_anew(toy_cells):
    cells = toy_cells(20)
    odd = {cell.id for cell in cells if cell.seed % 2}
    stacks = stacks_of(cells, odd, "stack:8")
    assert sizes(stacks) == [5, 5]
    assert ids(cell for stack in stacks for cell in stack.cells) == odd


def test_every_cell_is_in_exactly_one_stack(toy_cells):
    cells = [*toy_cells(17), *toy_cells(5, slope=3.0)]
    for mode in ("alone", "stack:3", "compiled-stack:4"):
        trained = [cell.id for stack in stacks_of(cells, ids(cells), mode, 3) for cell in stack.cells]
        assert sorted(trained) == sorted(ids(cells))


def test_nothing_to_do_makes_no_stack(toy_cells):
    assert stacks_of(toy_cells(3), set(), "stack:8") == []


def test_the_longest_stack_goes_first_where_times_are_known(toy_cells):
    settings = Settings("run")
    short, long = toy_cells(2), toy_cells(2, budget={"batch_size": 8, "steps": 600})
    mode = Mode.parse("stack:2")
    stacks = [Stack(tuple(short), mode), Stack(tuple(long), mode)]
    timing = {"timings": {"stack:2": {"seconds_per_cell_step": 0.001}}}
    decisions = {mode_key(shape_key(cell), settings): timing for cell in (short[0], long[0])}
    assert longest_first(stacks, decisions, settings) == [stacks[1], stacks[0]]
    assert longest_first(stacks, {}, settings) == stacks
