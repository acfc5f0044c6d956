"""One job from start to end: a claim, a training process, and what to do when that process does not come back.

Whatever happens to a stack costs the guilty cell alone. A stack whose process died is tried once more as it was (a
kill from outside is nobody's fault; nor are several, between which a checkpoint was made), then in halves, until
single cells remain; a stack that is too slow or raises goes into halves at once. A single cell that still does not come
back is recorded as `killed`, `timeout` or `failed`.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.errors import BenchError, ExitCode
from benchmark.execution import fit
from benchmark.execution.devices import gpu_slot
from benchmark.execution.job import Ended, Job, Outcome, Reply, Request
from benchmark.execution.process import POOL, DeathError, Place, StoppedError, TimeLimitError
from benchmark.execution.stopping import STOPPING
from benchmark.store import Heartbeat, Layout, Store
from benchmark.store.claims import Arrivals
from benchmark.wording import placed_reason

if TYPE_CHECKING:
    from benchmark.records import Status

DEATHS = 2
"""How often a process may die over the same cells before they are parted or given up."""


@dataclass(frozen=True)
class Part:
    """Cells to be trained in one go, and how many processes have died over them since they got any further."""

    job: Job
    deaths: int = 0
    reached: tuple[int, int] = (0, 0)
    """How far it was kept half trained at the last death, see `Store.reached`."""

    def halves(self) -> list[Part]:
        """Two parts; a death of either one parts it again."""
        middle = (len(self.job.cells) + 1) // 2
        pieces = self.job.cells[:middle], self.job.cells[middle:]
        return [Part(replace(self.job, cells=cells), self.deaths and DEATHS - 1) for cells in pieces]


def supervise(job: Job, stopped: Callable[[], bool] = STOPPING.is_set) -> Outcome:
    """Train a job's cells, whatever it takes; called by a backend's worker.

    Raises:
        StoreError: the store cannot be written to.
        RefusedError: no cell can be trained or stored.
    """
    store = Store(job.store)
    job, already, elsewhere, mine = claim(store, job)
    ended: list[Ended] = []
    notes: list[str] = []
    try:
        for reply in train_parts(store, job, mine, stopped) if job.cells else ():
            ended += reply.ended
            notes += [reply.note] if reply.note else []
    finally:
        store.release(job.run_id, job.stack_id, job.cell_ids)
        store.end_beat(job.run_id, job.stack_id)
    return Outcome(job.stack_id, tuple(ended), elsewhere, already, stopped(), tuple(dict.fromkeys(notes)))


def train_parts(store: Store, job: Job, mine: Heartbeat, stopped: Callable[[], bool]) -> Iterator[Reply]:
    """Train a claimed job, parting it as often as needed."""
    waiting = [Part(job)]
    while waiting and not stopped():
        part = waiting.pop(0)
        if len(pieces := fit.fitting(part.job)) > 1:
            waiting = [replace(part, job=piece) for piece in pieces] + waiting
            continue
        store.beat(replace(mine, beaten_at=time.time()))  # a process that died has left its own behind
        try:
            yield train_once(part.job, mine.started_at, stopped)
        except StoppedError:
            break
        except (DeathError, TimeLimitError, TrainingError) as error:
            fit.learn(part.job, str(error))
            after = what_next(part, error, store.reached(part.job.cell_ids))
            waiting = after + waiting
            if not after:
                yield Reply(ended=(give_up(store, part.job, *verdict(part.job, error)),))


class TrainingError(Exception):
    """Training of the whole stack raised; the message is the traceback."""


class RefusedError(BenchError):
    """The training process could not start on the cells, or could not store them; that concerns the whole run."""

    exit_code = ExitCode.INTERNAL


def train_once(job: Job, claimed_at: float, stopped: Callable[[], bool]) -> Reply:
    """Send the cells to a training process and wait for the end."""
    limit = None if job.cell_seconds is None else job.cell_seconds * len(job.cells)
    return ask(Request(job, claimed_at=claimed_at), limit, stopped)


def ask(request: Request, seconds: float | None, stopped: Callable[[], bool]) -> Reply:
    """The answer of a training process on a free device of the job's kind; on a GPU it sees only its own."""
    job = request.job
    with gpu_slot(job.device, stopped) as gpu:
        place = Place(gpu.id if gpu else None, job.threads, job.plugins)
        with POOL.process(place) as process:
            seen = replace(job, device="cuda" if job.device.startswith("cuda") else job.device)
            reply = process.ask(replace(request, job=seen), seconds=seconds, stopped=stopped)
            if reply.refused:
                raise RefusedError(f"the training process gave up: {reply.refused}")
            if reply.raised:
                raise TrainingError(reply.raised)  # inside the block: a process that raised is not used again
    return reply


def what_next(part: Part, error: Exception, reached: tuple[int, int] = (0, 0)) -> list[Part]:
    """The parts to try after a failed try; none when the single guilty cell is found."""
    deaths = 1 if reached > part.reached else part.deaths + 1
    if isinstance(error, DeathError) and deaths < DEATHS:
        return [replace(part, deaths=deaths, reached=reached)]
    return part.halves() if len(part.job.cells) > 1 else []


def give_up(store: Store, job: Job, status: Status, reason: str) -> Ended:
    """Record a single cell that ended without numbers, with the reason."""
    from benchmark.execution.records import failure

    record = failure(job, status, reason)
    store.write_shard([record])
    return Ended(record.cell_id, status, error=placed_reason(reason))


def verdict(job: Job, error: Exception) -> tuple[Status, str]:
    """Status and reason of a cell that ended with `error`."""
    if isinstance(error, TimeLimitError):
        return "timeout", f"The time limit of {job.cell_seconds:g} s per cell passed{error.place}."
    if isinstance(error, DeathError):
        return "killed", str(error)
    return "failed", str(error)


def decide_shape(job: Job, stopped: Callable[[], bool] = STOPPING.is_set) -> dict[str, Any] | None:
    """Have a training process measure the execution mode of the shape of `job`'s cells; None when that fails, or takes
    longer than a cell may."""
    try:
        return ask(Request(job, "decide"), job.cell_seconds, stopped).decision
    except (DeathError, StoppedError, TimeLimitError, TrainingError):
        return None


def claim(store: Store, job: Job) -> tuple[Job, tuple[str, ...], tuple[str, ...], Heartbeat]:
    """Take the cells nobody else has: `(job of those, finished meanwhile, being trained elsewhere, the heartbeat)`."""
    mine = Heartbeat(job.run_id, job.stack_id, job.task, job.cell_ids, execution=job.mode, device=job.device)
    store.beat(mine)
    taken = store.claim(job.run_id, job.stack_id, job.cell_ids)
    done = arrivals(job.store, job.run_id).look() & set(job.cell_ids) if job.purpose == "run" else set()
    if taken or done:
        job = replace(job, cells=tuple(cell for cell in job.cells if cell[0] not in taken | done))
        store.release(job.run_id, job.stack_id, done - taken)
        mine = replace(mine, cell_ids=job.cell_ids)
        store.beat(mine)
    return job, tuple(sorted(done)), tuple(sorted(taken - done)), mine


@functools.lru_cache(maxsize=8)
def arrivals(store: str, run_id: str) -> Arrivals:
    """What this process knows of what other runs finish."""
    return Arrivals(Layout(Path(store)), run_id)
