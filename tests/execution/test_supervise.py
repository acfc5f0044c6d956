"""What becomes of a stack whose process dies, hangs or raises: only the guilty cell has no numbers."""

from __future__ import annotations

import contextlib
import dataclasses
import time

import pytest

from benchmark.errors import ExitCode
from benchmark.execution import supervise as module
from benchmark.execution.job import Ended, Reply
from benchmark.execution.process import DeathError, StoppedError, TimeLimitError
from benchmark.execution.supervise import RefusedError, TrainingError, claim, supervise
from benchmark.store import Heartbeat, RunRecord, Store
from benchmark.store.layout import now


class FakeTraining:
    """Stands for `ask`: finishes every stack but those that hold a guilty cell."""

    def __init__(self, guilty, error, only_first=0):
        self.guilty, self.error, self.only_first = set(guilty), error, only_first
        self.asked = []

    def __call__(self, request, seconds, stopped):
        ids = request.job.cell_ids
        self.asked.append(len(ids))
        guilty = self.guilty & set(ids)
        if guilty and (not self.only_first or len(self.asked) <= self.only_first):
            raise self.error
        return Reply(ended=tuple(Ended(id, "finished") for id in ids))


@pytest.fixture
def fake(monkeypatch):
    def install(*arguments, **keywords):
        training = FakeTraining(*arguments, **keywords)
        monkeypatch.setattr(module, "ask", training)
        return training

    return install


def statuses(outcome):
    return {ended.cell_id: ended.status for ended in outcome.ended}


@pytest.mark.parametrize("guilty", [0, 3, 7])
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (DeathError("was killed by SIGKILL"), "killed"),
        (TimeLimitError(), "timeout"),
        (TrainingError("Traceback\nValueError: no"), "failed"),
    ],
)
def test_the_guilty_cell_alone_has_no_numbers(fake, toy_cells, toy_job, guilty, error, status):
    cells = toy_cells(8)
    fake([cells[guilty].id], error)
    job = toy_job(cells, cell_seconds=5.0)
    found = statuses(supervise(job))
    assert found == {cell.id: status if cell is cells[guilty] else "finished" for cell in cells}
    (record,) = Store(job.store).records()
    assert (record.cell_id, record.status) == (cells[guilty].id, status)
    assert record.error


def test_two_guilty_cells_are_both_found(fake, toy_cells, toy_job):
    cells = toy_cells(8)
    fake([cells[1].id, cells[6].id], DeathError("killed"))
    found = statuses(supervise(toy_job(cells)))
    assert sorted(found.values()) == ["finished"] * 6 + ["killed"] * 2


def test_one_death_from_outside_keeps_the_stack_whole(fake, toy_cells, toy_job):
    cells = toy_cells(8)
    training = fake([cells[0].id], DeathError("killed"), only_first=1)
    assert set(statuses(supervise(toy_job(cells))).values()) == {"finished"}
    assert training.asked == [8, 8]


def test_a_stack_that_does_not_fit_into_a_gpu_is_halved_and_later_ones_start_so(monkeypatch, toy_cells, toy_job):
    """The training process alone is replaced: one whose GPU holds three cells."""
    asked = []

    def ask(request, seconds, stopped):
        job = request.job
        asked.append(len(job.cells))
        if len(job.cells) > 3:
            raise TrainingError("Traceback\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
        return Reply(ended=tuple(Ended(id, "finished") for id in job.cell_ids))

    monkeypatch.setattr(module, "ask", ask)
    monkeypatch.setattr(module.fit, "_limits", {})
    for _ in range(2):
        found = statuses(supervise(toy_job(toy_cells(8))))
        assert set(found.values()) == {"finished"}
        assert len(found) == 8
    assert asked == [8, 4, *8 * [2]]
    supervise(toy_job(toy_cells(3), mode="alone"))
    assert asked[-1] == 3, "another mode needs other memory"


def test_a_stopped_job_records_nothing(fake, toy_cells, toy_job):
    cells = toy_cells(2)
    fake([cells[0].id], StoppedError())
    job = toy_job(cells)
    outcome = supervise(job, stopped=lambda: True)
    assert outcome.stopped
    assert not outcome.ended
    assert not Store(job.store).attempts()
    assert not Store(job.store).heartbeats()


def test_what_concerns_every_cell_ends_the_run_at_once(monkeypatch, toy_cells, toy_job):
    class Process:
        def ask(self, request, **keywords):
            return Reply(refused="disk full")

    monkeypatch.setattr(module.POOL, "process", lambda place: contextlib.nullcontext(Process()))
    job = toy_job(toy_cells(8))
    with pytest.raises(RefusedError, match="disk full") as refused:
        supervise(job)
    assert refused.value.exit_code == ExitCode.INTERNAL
    assert not Store(job.store).attempts()


def test_the_time_limit_of_a_stack_is_that_of_its_cells_together(monkeypatch, toy_cells, toy_job):
    seen = []
    monkeypatch.setattr(module, "ask", lambda request, seconds, stopped: seen.append(seconds) or Reply())
    supervise(toy_job(toy_cells(4), cell_seconds=2.5))
    supervise(toy_job(toy_cells(4)))
    assert seen == [10.0, None]


# --- claims --------------------------------------------------------------------------------------------------------


def other_beat(cells, age):
    return Heartbeat("other-run", "7", "toy", tuple(cell.id for cell in cells), started_at=time.time() - age)


def test_cells_that_another_living_run_trains_are_left_to_it(toy_cells, toy_job):
    cells = toy_cells(4)
    job = toy_job(cells)
    claimed_by_another(job, cells[:2])
    mine, already, elsewhere, _ = claim(Store(job.store), job)
    assert set(elsewhere) == {cell.id for cell in cells[:2]}
    assert mine.cell_ids == tuple(cell.id for cell in cells[2:])
    assert not already


def claimed_by_another(job, cells, **changes):
    """Another run's claim of some cells, made before."""
    beat = dataclasses.replace(other_beat(cells, age=10), **changes)
    Store(job.store).beat(beat)
    assert not Store(job.store).claim(beat.run_id, beat.stack_id, beat.cell_ids)


def test_the_earlier_claim_wins_whatever_a_clock_says(toy_cells, toy_job):
    cells = toy_cells(2)
    job = toy_job(cells)
    claim(Store(job.store), job)
    Store(job.store).beat(other_beat(cells, age=10))
    assert Store(job.store).claim("other-run", "0", job.cell_ids) == set(job.cell_ids)


def test_a_dead_run_claims_nothing(toy_cells, toy_job):
    cells = toy_cells(2)
    job = toy_job(cells)
    claimed_by_another(job, cells, pid=2**22 + 1, process_start=1.0)
    assert claim(Store(job.store), job)[0].cell_ids == job.cell_ids


def test_cells_that_another_run_finished_meanwhile_are_not_trained_again(fake, toy_cells, toy_job):
    cells = toy_cells(2)
    job = toy_job(cells)
    store = Store(job.store)
    store.save_run(RunRecord("run-1", started_at=now()))
    store.save_run(RunRecord("other-run", started_at=now(), ended_at=now(), status="complete"))
    fake([cells[0].id], DeathError("killed"))
    supervise(dataclasses.replace(job, run_id="other-run", cells=job.cells[:1]))  # leaves a record without numbers
    assert claim(store, job)[1] == ()
    from benchmark.execution.records import failure

    record = failure(dataclasses.replace(job, run_id="other-run"), "finished", "")
    store.write_shard([dataclasses.replace(record, error=None, finals={"accuracy": 1.0})])
    mine, already, _, _ = claim(store, job)
    assert already == (cells[0].id,)
    assert mine.cell_ids == (cells[1].id,)
