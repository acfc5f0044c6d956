"""Execution modes of several runs at once: the first decision holds for all."""

from __future__ import annotations

from benchmark.execution import execute
from benchmark.execution.execute import Listener, Settings, decide_modes, mode_key
from benchmark.store import Store
from benchmark.train.grouping import shape_key


class Told(Listener):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def test_the_decision_of_a_run_that_was_faster_holds_here_too(toy_cells, tmp_path, monkeypatch):
    store, told = Store(tmp_path), Told()
    settings = Settings("r")
    cells = toy_cells(2)
    key = shape_key(cells[0])

    def measured(_, __, jobs, ___):
        """The other run decides while this one measures."""
        store.decide_execution(mode_key(key, settings), {"mode": "stack:4", "reason": "the other was faster"})
        yield jobs[0], {"mode": "alone", "reason": "measured here"}

    monkeypatch.setattr(execute, "dispatched", measured)
    assert decide_modes(cells, store, settings, told)[key].name == "stack:4"
    assert [note.split(": ")[1] for note in told.notes] == ["the other was faster"]
