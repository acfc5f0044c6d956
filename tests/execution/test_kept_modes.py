"""A compiled mode that another machine decided gives way where nothing compiles; one that is asked for is refused."""

from __future__ import annotations

import pytest

from benchmark.execution.execute import Execution, Listener, Settings, hand_out
from benchmark.execution.job import Ended, Outcome
from benchmark.execution.process import POOL
from benchmark.execution.supervise import supervise
from benchmark.store import Store
from benchmark.train.mode import no_compiler


@pytest.fixture
def bare(monkeypatch):
    """A machine without a compiler, for training processes too: those of other tests found theirs as they started."""
    monkeypatch.setenv("CXX", "/nonexistent/g++")
    POOL.close()
    yield
    POOL.close()


def test_a_kept_mode_that_this_machine_cannot_execute_runs_uncompiled_and_says_so(bare, toy_cells, toy_job):
    job = toy_job(toy_cells(2), mode="compiled-stack:2", pinned=False)
    outcome = supervise(job)
    assert {ended.status for ended in outcome.ended} == {"finished"}
    assert {record.execution for record in Store(job.store).records()} == {"stack[2]"}
    (note,) = outcome.notes
    assert "there is no C++ compiler (/nonexistent/g++), so it is not compiled" in note


def test_a_note_of_several_stacks_is_passed_on_once(monkeypatch):
    told = []

    class Told(Listener):
        def note(self, text):
            told.append(text)

        def ended(self, outcome):
            told.append(outcome.stack_id)

    outcomes = [(None, Outcome(str(k), (Ended("c", "finished"),), notes=("not compiled",))) for k in range(2)]
    monkeypatch.setattr("benchmark.execution.execute.dispatched", lambda *_: iter(outcomes))
    hand_out([], Settings("r"), Told(), Execution())
    assert told == ["  not compiled", "0", "1"]


def test_without_a_compiler_the_reason_names_it(bare):
    assert no_compiler("cpu") == "there is no C++ compiler (/nonexistent/g++)"
