"""Jobs out and back: what the dispatcher makes of lost workers, with a backend whose workers die to order."""

from __future__ import annotations

from functools import partial

import pytest
from safetensors.torch import save_file

from benchmark.backends.contract import Backend, BackendError, Lost
from benchmark.backends.work import Marks, perform, take_back
from benchmark.execution.dispatch import dispatched, train_again
from benchmark.execution.job import Ended, Outcome
from benchmark.execution.stopping import STOPPING
from benchmark.execution.supervise import supervise
from benchmark.store import Heartbeat, Store, checkpoints
from benchmark.store.checkpoints import Stage
from benchmark.wording import LAST_WORDS


class Frail(Backend):
    """Answers at once; loses jobs that hold a guilty cell as often as told."""

    def __init__(self, guilty=(), why="died", times=99):
        self.guilty, self.why, self.times = set(guilty), why, times
        self.waiting, self.sizes, self.cancelled = [], [], False

    def submit(self, function, jobs):
        self.waiting += jobs.items()

    def collect(self, seconds):
        number, job = self.waiting.pop(0)
        self.sizes.append(len(job.cells))
        if self.guilty & set(job.cell_ids) and self.times:
            self.times -= 1
            store = Store(job.store)  # as a worker on another machine leaves it
            store.beat(Heartbeat(job.run_id, job.stack_id, job.task, job.cell_ids, host="elsewhere"))
            store.claim(job.run_id, job.stack_id, job.cell_ids)
            return [(number, Lost(self.why, f"it went\n{LAST_WORDS}\nthe log\nits last line"))]
        return [(number, Outcome(job.stack_id, tuple(Ended(id, "finished") for id in job.cell_ids)))]

    def cancel(self):
        self.cancelled = True


@pytest.fixture
def train(toy_job):
    def run(backend, cells, retries=2):
        job, notes = toy_job(cells), []
        again = partial(train_again, retries=retries, note=notes.append)
        outcomes = [outcome for _, outcome in dispatched(backend, supervise, [job], again)]
        return {e.cell_id: e.status for outcome in outcomes for e in outcome.ended}, Store(job.store), notes

    return run


class Advancing(Frail):
    """Each lost worker has made a checkpoint, further on than the one before."""

    def collect(self, seconds):
        job = self.waiting[0][1]
        stage = Stage(job.task, job.cell_ids, job.mode, job.purpose, step=10 * len(self.sizes) + 10, steps_planned=90)
        checkpoints.keep(Store(job.store).layout, "0" * 32, stage, lambda path, header: save_file({}, path, header))
        return super().collect(seconds)


def test_workers_lost_over_a_stack_that_gets_on_do_not_count(train, toy_cells):
    cells, backend = toy_cells(4), Advancing(times=6)
    backend.guilty = {cells[0].id}
    found, _, notes = train(backend, cells)
    assert set(found.values()) == {"finished"}
    assert backend.sizes == [4] * 7
    assert notes[-1].endswith("handing them out again, from step 60")
    found, _, _ = train(Frail(backend.guilty, times=6), cells)
    assert set(found.values()) == {"killed"}


def test_a_lost_stack_is_handed_out_again_whole(train, toy_cells):
    cells, backend = toy_cells(4), Frail(times=2)
    backend.guilty = {cells[0].id}
    found, store, notes = train(backend, cells)
    assert set(found.values()) == {"finished"}
    assert backend.sizes == [4, 4, 4]
    assert not store.heartbeats(), "for ten minutes it would seem to be alive"
    assert not list(store.layout.claims.iterdir())
    assert notes[0] == "A worker was lost over 4 cells (died): it went; handing them out again"
    assert not store.attempts()


def test_after_the_last_retry_the_reason_is_recorded_with_each_cell(train, toy_cells):
    cells = toy_cells(2)
    backend = Frail({cells[0].id})
    found, store, _ = train(backend, cells, retries=1)
    assert found == {cell.id: "killed" for cell in cells}
    assert backend.sizes == [2, 2]
    error = store.records()[0].error
    assert error.startswith("The worker was lost (died, 2 times): it went\n")
    assert error.endswith("its last line")


@pytest.mark.parametrize(("why", "status"), [("out of memory", "killed"), ("time limit", "timeout")])
def test_cells_at_fault_are_parted_until_the_guilty_one_is_alone(train, toy_cells, why, status):
    cells = toy_cells(8)
    backend = Frail({cells[5].id}, why)
    found, store, _ = train(backend, cells)
    assert found == {cell.id: status if cell is cells[5] else "finished" for cell in cells}
    (record,) = store.records()
    assert record.status == status


def test_a_cancelled_job_is_neither_tried_again_nor_recorded(train, toy_cells):
    cells = toy_cells(2)
    found, store, notes = train(Frail({cells[0].id}, "cancelled"), cells)
    assert not found
    assert not store.attempts()
    assert "its cells are left to another run" in notes[0]


def test_what_a_lost_worker_had_finished_is_not_trained_again(toy_cells, toy_job):
    job = toy_job(toy_cells(4))
    supervise(job, lambda: False)
    assert set(take_back(job)) == set(job.cell_ids)
    after_loss = partial(train_again, retries=2, note=print)
    _, outcome = next(dispatched(Frail(job.cell_ids, times=1), supervise, [job], after_loss))
    assert set(outcome.already) == set(job.cell_ids)
    assert len(Store(job.store).attempts()) == 4


def test_a_job_begun_before_trains_only_what_is_not_finished(toy_cells, toy_job):
    cells = toy_cells(4)
    half = toy_job(cells[:2])
    perform(supervise, half)
    again = perform(supervise, toy_job(cells, store=half.store))
    assert set(again.already) == set(half.cell_ids)
    assert {ended.cell_id for ended in again.ended} == {cell.id for cell in cells[2:]}


def test_workers_elsewhere_are_told_to_stop_by_a_mark_in_the_store(toy_cells, toy_job):
    job = toy_job(toy_cells(2))
    marks = Marks(Store(job.store).root, job.run_id)
    marks.stop()
    assert perform(supervise, job) == Lost("cancelled")
    marks.clear()
    assert not list(Store(job.store).root.glob("running/*"))


def test_a_worker_that_does_not_see_what_it_needs_says_so(toy_cells, toy_job, tmp_path):
    job = toy_job(toy_cells(1))
    assert "The store /nowhere is not there" in str(perform(supervise, toy_job(toy_cells(1), store="/nowhere")))
    assert "The project is version" in str(perform(supervise, toy_job(toy_cells(1), version="0")))
    assert isinstance(perform(supervise, toy_job(toy_cells(1), store="/nowhere", plugins=job.plugins)), BackendError)


def test_an_error_of_a_worker_ends_the_run(toy_cells, toy_job):
    backend = Frail()
    backend.collect = lambda seconds: [(0, BackendError("no store there"))]
    with pytest.raises(BackendError, match="no store there"):
        next(dispatched(backend, supervise, [toy_job(toy_cells(1))], partial(train_again, retries=2, note=print)))


def test_a_stop_is_told_to_the_backend_and_nothing_is_handed_out_again(train, toy_cells, monkeypatch):
    cells = toy_cells(4)
    backend = Frail({cells[0].id})
    STOPPING.set()
    try:
        found, store, _ = train(backend, cells)
    finally:
        STOPPING.clear()
    assert not found
    assert not store.attempts()
    assert backend.sizes == [4]
