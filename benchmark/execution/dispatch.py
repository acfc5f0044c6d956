"""Jobs to a backend and back: what a lost worker leaves is handed out again, parted, or given up with the reason."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.backends.contract import Backend, Function, Lost
from benchmark.backends.work import Marks, take_back
from benchmark.errors import BenchError
from benchmark.execution.job import Job, Outcome
from benchmark.execution.stopping import STOPPING
from benchmark.execution.supervise import give_up
from benchmark.store import Store
from benchmark.wording import counted, reason_of

if TYPE_CHECKING:
    from benchmark.records import Status

COLLECT_SECONDS = 0.5
"""Between two looks at whether the run is being stopped."""

CELLS_FAULT: dict[str, Status] = {"out of memory": "killed", "time limit": "timeout"}
"""What a worker may be lost to that the cells themselves have caused → the status of a cell that does it alone."""


@dataclass(frozen=True)
class Try:
    """A job that is out, and how many workers were lost over it."""

    job: Job
    losses: int = 0
    """Since it got any further."""
    reached: tuple[int, int] = (0, 0)
    """How far it was kept half trained at the last loss, see `Store.reached`."""


AfterLoss = Callable[[Try, Lost], tuple[list[Try], Any]]
"""(what was lost, how) → what to hand out again, and the answer in its place when that is nothing."""


def dispatched(
    backend: Backend, function: Function, jobs: Sequence[Job], after_loss: AfterLoss
) -> Iterator[tuple[Job, Any]]:
    """`(job, function(job))` as they come; `after_loss` says what is handed out again of a job whose worker was lost.

    Raises:
        BenchError: a worker raised it.
    """
    numbers, out = itertools.count(), dict[int, Try]()

    def submit(tries: Sequence[Try]) -> None:
        batch = {next(numbers): entry for entry in tries}
        out.update(batch)
        backend.submit(function, {number: entry.job for number, entry in batch.items()})

    told = False
    submit([Try(job) for job in jobs])
    while out:
        for number, answer in backend.collect(COLLECT_SECONDS):
            entry = out.pop(number)
            if isinstance(answer, BenchError):
                raise answer
            again, answer = after_loss(entry, answer) if isinstance(answer, Lost) else ([], answer)
            if again:
                submit(again)
            else:
                yield entry.job, answer
        if STOPPING.is_set() and out and not told:
            told = True
            tell_workers(backend, next(iter(out.values())).job)


def tell_workers(backend: Backend, job: Job) -> None:
    """The run is being stopped: those who share this process's memory know it; the store tells the others."""
    if not backend.shares_memory:
        Marks(Path(job.store), job.run_id).stop()
    backend.cancel()


def train_again(entry: Try, lost: Lost, *, retries: int, note: Callable[[str], None]) -> tuple[list[Try], Outcome]:
    """What to hand out again of a lost stack, and what has become of it when that is nothing."""
    job, reached = entry.job, Store(entry.job.store).reached(entry.job.cell_ids)
    losses = 1 if reached > entry.reached else entry.losses + 1
    done = take_back(job)
    if STOPPING.is_set() or lost.why == "cancelled":
        if not STOPPING.is_set():
            note(f"A job was cancelled, its cells are left to another run: {reason_of(lost.detail)}")
        return [], Outcome(job.stack_id, stopped=True)
    left = replace(job, cells=tuple(cell for cell in job.cells if cell[0] not in done))
    again = parts(left, losses, lost, retries, reached) if left.cells else []
    whence = f", from step {reached[1]:,}" if again and again[0].reached[1] else ""
    fate = f"; handing them out again{whence}" if again else "; giving them up" if left.cells else ""
    over = counted(len(left.cells), "cell") if left.cells else "cells it had finished"
    note(f"A worker was lost over {over} ({lost.why}): {reason_of(lost.detail)}{fate}")
    reason = f"The worker was lost ({lost.why}, {counted(losses, 'time')}): {lost.detail}"
    status = CELLS_FAULT.get(lost.why, "killed")
    singles = [] if again else [replace(left, cells=(cell,)) for cell in left.cells]
    buried = tuple(give_up(Store(job.store), single, status, reason) for single in singles)
    return again, Outcome(job.stack_id, buried, already=done)


def parts(job: Job, losses: int, lost: Lost, retries: int, reached: tuple[int, int]) -> list[Try]:
    """The job again, as often as allowed; its halves, when the cells are at fault and there are several."""
    if lost.why not in CELLS_FAULT:
        return [Try(job, losses, reached)] if losses <= retries else []
    if len(job.cells) == 1:
        return []
    middle = (len(job.cells) + 1) // 2
    halves = job.cells[:middle], job.cells[middle:]
    return [
        Try(replace(job, cells=half, stack_id=f"{job.stack_id}{mark}")) for half, mark in zip(halves, "ab", strict=True)
    ]
