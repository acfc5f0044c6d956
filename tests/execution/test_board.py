"""Counts, the time left, and the three ways a run is shown."""

from __future__ import annotations

import io
import time

import pytest

from benchmark.execution.board import Board, shown_seconds
from benchmark.execution.job import Ended, Outcome
from benchmark.execution.progress import Events, Lines, Live, live_table
from benchmark.store import Heartbeat, Store


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def finished(cell, value=50.0):
    return Ended(cell.id, "finished", 1.5, {"accuracy": value, "loss": 0.1})


def board_of(cells, todo=None, **keywords):
    return Board(cells, {cell.id for cell in (cells if todo is None else todo)}, **keywords)


def test_cells_are_counted_by_what_became_of_them(toy_cells):
    cells = toy_cells(6)
    board = board_of(cells, cells[1:])
    board.note_ended(finished(cells[1]))
    board.note_ended(Ended(cells[2].id, "timeout", error="too slow"))
    board.note_left(Outcome("0", already=(cells[3].id,), elsewhere=(cells[4].id,)))
    (row,) = board.rows.values()
    assert (row.total, row.reused, row.done, row.failed, row.elsewhere, row.waiting) == (6, 2, 1, 1, 1, 1)
    assert (board.planned, board.over) == (5, 4)
    board.note_ended(finished(cells[4]))
    assert (row.done, row.elsewhere) == (2, 0)


def test_time_left_follows_what_is_done_and_what_cells_cost(toy_cells):
    clock = Clock()
    cheap, dear = toy_cells(1), toy_cells(1, "toy_raising")
    board = board_of([*cheap, *dear], seconds=lambda cell: 1.0 if cell is cheap[0] else 9.0, clock=clock)
    clock.now = 10.0
    assert board.seconds_left() is None
    board.note_ended(finished(cheap[0]))
    assert board.seconds_left() == pytest.approx(90.0)
    half = Heartbeat("r", "0", "toy", (dear[0].id,), step=5, steps_planned=10)
    assert board.seconds_left([half]) == pytest.approx(10 / 0.55 * 0.45)
    board.note_ended(finished(dear[0]))
    assert board.seconds_left() == 0


def test_lines_are_one_per_cell(toy_cells, tmp_path):
    cells, said = toy_cells(3), []
    screen = Lines(board_of(cells), said.append, Store(tmp_path), "r")
    screen.ended(Outcome("0", (finished(cells[0]), Ended(cells[1].id, "failed", error="ValueError: no"))))
    screen.ended(Outcome("1", (finished(cells[2]),)))
    assert said[0] == "[1/3] toy × toy_plain, seed 0: accuracy 50.00 % (finished, 1.5 s)"
    assert said[1].startswith("[2/3] toy × toy_plain, seed 1: failed: ValueError: no, about ")
    assert said[2] == "[3/3] toy × toy_plain, seed 2: accuracy 50.00 % (finished, 1.5 s)"


def test_a_log_gets_a_line_when_nothing_ended_for_a_while(toy_cells, tmp_path):
    cells, said, sent, store = toy_cells(3), [], [], Store(tmp_path)
    store.beat(Heartbeat("r", "1", "toy", (cells[1].id,), step=20, steps_planned=60))
    board = board_of(cells)
    with Lines(board, said.append, store, "r", silence=0.2), Events(board, sent.append, store, "r", silence=0.2):
        until(lambda: len(said) > 1 and sent)
    assert said[0].startswith("Starting: 0 of 3 cells; 0 s, about ")
    assert said[0].endswith("(toy at step 20/60)")
    assert sent[0]["event"] == "progress"
    assert sent[0]["stacks"] == [{"task": "toy", "step": 20, "steps_planned": 60}]
    with Lines(board, said.append, store, "r", silence=60):
        said.clear()
    assert said == []


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition never came true"
        time.sleep(0.02)


def test_events_carry_the_cell_and_the_counts(toy_cells, tmp_path):
    cells, sent = toy_cells(1), []
    Events(board_of(cells), sent.append, Store(tmp_path), "r").ended(Outcome("0", (finished(cells[0]),)))
    assert sent[0]["event"] == "cell"
    assert (sent[0]["seed"], sent[0]["status"], sent[0]["over"]) == (0, "finished", 1)


def painted(table, width=120):
    from rich.console import Console

    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()


def test_the_live_table_shows_counts_metric_step_and_time(toy_cells):
    cells = toy_cells(3)
    board = board_of(cells)
    board.note_ended(finished(cells[0]))
    beat = Heartbeat(
        "r", "1", "toy", (cells[1].id,), step=20, steps_planned=60, metrics={"accuracy@8 (toy_plain)": 62.5}
    )
    shown = painted(live_table(board, [beat], "Training", height=20))
    assert "Training: 1 of 3 cells" in shown
    assert "about" in shown
    for word in ("toy_plain", "1/3", "62.50 %", "20/60"):
        assert word in shown


@pytest.mark.parametrize(
    ("width", "gone"),
    [(120, []), (72, ["Metric"]), (60, ["Metric", "Step"]), (48, ["Metric", "Step", "Running", "Failed"])],
)
def test_a_narrow_live_table_leaves_columns_out_before_it_cuts_names_and_values(toy_cells, width, gone):
    cells = toy_cells(3)
    beat = Heartbeat(
        "r", "1", "toy", (cells[1].id,), step=20, steps_planned=60, metrics={"accuracy@8 (toy_plain)": 62.5}
    )
    shown = painted(live_table(board_of(cells), [beat], "Training", 20, width), width)
    for word in (cells[0].task_name, "toy_plain", "62.50 %", "0/3"):
        assert word in shown
    assert "…" not in shown
    assert [name for name in ("Metric", "Step", "Running", "Failed") if name not in shown] == gone
    assert max(map(len, shown.splitlines())) <= width


def test_a_live_table_that_does_not_fit_keeps_the_running_rows(toy_cells):
    cells = [cell for name in ("toy_plain", "toy_raising", "toy_killing") for cell in toy_cells(1, name)]
    beat = Heartbeat("r", "1", "toy", (cells[2].id,))
    shown = painted(live_table(board_of(cells), [beat], "Training", height=1))
    assert "toy_killing" in shown
    assert "toy_plain" not in shown
    assert "and 2 more rows" in shown


def test_the_live_screen_paints_from_the_first_moment(toy_cells, tmp_path):
    from rich.console import Console

    console = Console(file=io.StringIO(), width=120, height=30, force_terminal=True, highlight=False)
    cells = toy_cells(2)
    with Live(board_of(cells), Store(tmp_path), "r", console) as screen:
        shown = console.file.getvalue()
        screen.ended(Outcome("0", (Ended(cells[0].id, "failed", error="ValueError: no"),)))
    assert "0 of 2 cells" in shown
    assert "seed 0: failed: ValueError: no" in console.file.getvalue()


@pytest.mark.parametrize(("seconds", "shown"), [(7.6, "8 s"), (185, "3 min 05 s"), (7800, "2 h 10 min")])
def test_durations_read_well(seconds, shown):
    assert shown_seconds(seconds) == shown
