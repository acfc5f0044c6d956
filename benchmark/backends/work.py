"""What a worker does with a job, and the marks in the store by which it hears of the run without any connection."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmark import __version__
from benchmark.backends.contract import BackendError, Function, Lost
from benchmark.errors import BenchError
from benchmark.execution.job import Job, Outcome
from benchmark.execution.process import POOL
from benchmark.execution.stopping import STOPPING
from benchmark.store import Store

LOOK_SECONDS = 1.0
"""Between two looks at the mark that says the run is being stopped."""
SWEEP_SECONDS = 7 * 24 * 3600.0
"""Marks so old belong to no run any more."""


def perform(function: Function, job: Job, shares_memory: bool = False) -> Any:
    """What a worker does with a job: its answer, `Lost` when the run is being stopped, or the BenchError it raised."""
    if shares_memory:
        return Lost("cancelled") if STOPPING.is_set() else function(job, STOPPING.is_set)
    if missing := what_is_missing(job):
        return BackendError(f"{missing} on the worker {os.uname().nodename}; see docs/cluster.md.")
    marks = Marks(Path(job.store), job.run_id)
    try:
        if marks.stopped():
            return Lost("cancelled")
        if marks.begin(mark_of(function, job)):
            return function(job, marks.stopped)
        done = take_back(job)  # an engine of its own accord may start again what it has lost the answer of
        left = replace(job, cells=tuple(cell for cell in job.cells if cell[0] not in done))
        answer = function(left, marks.stopped) if left.cells else Outcome(job.stack_id)
        return replace(answer, already=(*answer.already, *done)) if done else answer
    except BenchError as error:
        return error


def mark_of(function: Function, job: Job) -> str:
    """The name of the mark that a job was begun."""
    return f"{function.__name__}-{job.stack_id}"


def let_go() -> None:
    """End this worker's idle training processes: the run is over, the worker is not."""
    POOL.close()


def what_is_missing(job: Job) -> str:
    """What a worker needs for this job and does not see, in words; empty when nothing is."""
    if not Path(job.store).is_dir():
        return f"The store {job.store} is not there"
    if job.version != __version__:
        return f"The project is version {__version__}, the dispatcher's is {job.version},"
    absent = [plugin.path for plugin in job.plugins if not Path(plugin.path).is_file()]
    return f"The plugin file {absent[0]} is not there" if absent else ""


def take_back(job: Job) -> tuple[str, ...]:
    """Take a job back from a worker that is gone, as others could not know for minutes; the cells it has finished."""
    store = Store(job.store)
    store.release(job.run_id, job.stack_id, job.cell_ids)
    store.end_beat(job.run_id, job.stack_id)
    return tuple(sorted(set(store.finished()) & set(job.cell_ids))) if job.purpose == "run" else ()


class Marks:
    """Empty files in the store: one that tells workers anywhere to stop, one for each job that was begun."""

    def __init__(self, store: Path, run_id: str) -> None:
        self._folder = store / "running" / run_id
        self._looked, self._stop = -LOOK_SECONDS, False

    def stopped(self) -> bool:
        """Whether the run is being stopped; looks at most once in `LOOK_SECONDS`."""
        if not self._stop and time.monotonic() - self._looked >= LOOK_SECONDS:
            self._looked, self._stop = time.monotonic(), (self._folder / "stop.mark").exists()
        return self._stop or STOPPING.is_set()

    def stop(self) -> None:
        """Tell the workers."""
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "stop.mark").touch()

    def begin(self, name: str) -> bool:
        """Whether this is the first start of that job."""
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            (self._folder / f"{name}.mark").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def clear(self, name: str = "*") -> None:
        """This mark is of no use any more, or none of the run's: its workers are gone, or their answers are kept."""
        for mark in self._folder.glob(f"{name}.mark"):
            mark.unlink(missing_ok=True)
        with suppress(OSError):  # heartbeats may be there
            self._folder.rmdir()


def sweep(store: Path) -> None:
    """Remove marks so old that they belong to dispatchers that were killed."""
    for mark in (store / "running").glob("*/*.mark"):
        with suppress(OSError):
            if time.time() - mark.stat().st_mtime > SWEEP_SECONDS:
                mark.unlink()
                mark.parent.rmdir()
