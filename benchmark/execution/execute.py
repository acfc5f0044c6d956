"""A run's stacks: decide each shape's mode once, form the stacks, hand them out, pass on what ended."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from benchmark.backends.catalog import underway
from benchmark.backends.contract import Backend, Lost
from benchmark.backends.local import Local
from benchmark.backends.work import Marks, sweep
from benchmark.cell import Cell, PluginFile
from benchmark.execution.dispatch import Try, dispatched, train_again
from benchmark.execution.job import Job, Outcome
from benchmark.execution.resume import resumable, told
from benchmark.execution.stacks import Stack, form_stacks
from benchmark.execution.stopping import STOPPING, stopping_on_signals
from benchmark.execution.supervise import decide_shape, supervise
from benchmark.records import DONE
from benchmark.train.decision import PLAIN
from benchmark.train.grouping import shape_key
from benchmark.train.mode import ALONE, Mode
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.store import Store
    from benchmark.store.checkpoints import Checkpoint

WAIT_SECONDS = 1.0
"""Between two looks at what another run is doing."""


@dataclass(frozen=True)
class Settings:
    """How cells are executed; none of it is part of a cell's identity."""

    run_id: str
    backend: Backend = field(default_factory=Local)
    """Who trains the stacks; says on which device, how many at once and with how many torch threads each."""
    execution: Mode | None = None
    """Pinned mode; None: measured once per shape and kept in the store."""
    cell_seconds: float | None = None
    retries: int = 2
    """How often a stack is handed out again because its worker was lost."""
    max_failures: int | None = None
    """Stop when so many cells have failed."""
    plugins: tuple[PluginFile, ...] = ()
    primary: Mapping[str, str] = field(default_factory=dict)
    """Task name → its primary metric."""
    wait: bool = True
    """Whether to wait for cells that another living run is training."""
    purpose: str = "run"
    checkpoint_seconds: float | None = None
    """Training time between two checkpoints of a stack; None without them."""
    keep_models: bool = False
    """Whether the weights of finished cells are kept."""
    detach: bool = False
    """Submit and leave, where the backend's jobs do without their dispatcher."""


class Listener(Protocol):
    """Who is told what happens; called in the dispatcher's main thread."""

    def deciding(self, shapes: int) -> None:
        """So many shapes have no execution mode yet; it is being measured."""

    def dispatching(self, stacks: Sequence[Stack]) -> None:
        """These stacks will be trained."""

    def ended(self, outcome: Outcome) -> None:
        """A stack has ended."""

    def note(self, text: str) -> None:
        """Something worth a line."""


@dataclass
class Execution:
    """What `execute` did."""

    failed: int = 0
    elsewhere: set[str] = field(default_factory=set)
    """Cells that another living run was training."""
    said: set[str] = field(default_factory=set)
    """Notes of outcomes that were passed on."""
    interrupted: bool = False
    """Stopped by Ctrl-C or SIGTERM."""
    stopped_early: bool = False
    """Stopped by `--max-failures` or `--fail-fast`."""
    submitted: int | None = None
    """Stacks left to a queue by `--detach`; None without it."""

    def interrupt(self) -> None:
        """Note that a signal came."""
        self.interrupted = True


def execute(
    cells: Sequence[Cell], todo: Collection[str], store: Store, settings: Settings, listener: Listener
) -> Execution:
    """Train the cells whose id is in `todo` (`cells` are all of the experiment); results go to the store only.

    Ctrl-C and SIGTERM stop it: running stacks are ended, finished ones are in the store already.

    Raises:
        StoreError: the store cannot be written to.  BackendError, WorkerError: a worker cannot be used.
    """
    summary = Execution()
    left = set(todo)
    with engaged(settings, store.root, summary):
        summary.elsewhere = left & in_queues(store)
        left -= summary.elsewhere
        settings.backend.expect(len(left), settings.plugins)
        while not STOPPING.is_set():
            jobs = prepare(cells, left, store, settings, listener) if left else []
            if settings.detach:
                leave(jobs, settings, summary)
                break
            hand_out(jobs, settings, listener, summary)
            left = after_others(store, settings, listener, summary)
            if not left:
                break
    return summary


def prepare(cells: Sequence[Cell], left: set[str], store: Store, settings: Settings, listener: Listener) -> list[Job]:
    """Stacks of the cells whose id is in `left`, each shape's mode decided, ready to be handed out."""
    begun = half_trained(cells, left, store, settings)
    new = left - {cell.id for stack, _ in begun for cell in stack.cells}
    modes = decide_modes([cell for cell in cells if cell.id in new], store, settings, listener)
    stacks = form_stacks(cells, new, modes, None if settings.execution else settings.backend.workers)
    stacks = [stack for stack, _ in begun] + longest_first(stacks, store.execution(), settings)
    listener.dispatching(stacks)
    for stack, checkpoint in begun:
        listener.note(told(stack, checkpoint))
    return [make_job(number, stack, store, settings) for number, stack in enumerate(stacks)]


def half_trained(
    cells: Sequence[Cell], left: set[str], store: Store, settings: Settings
) -> list[tuple[Stack, Checkpoint]]:
    """Stacks that an earlier run left, whose cells nobody else is training."""
    if settings.checkpoint_seconds is None or not store.layout.checkpoints.is_dir():
        return []
    busy = {id for beat in store.heartbeats() if beat.is_alive() for id in beat.cell_ids}
    own = {cell.id: cell for cell in cells if cell.id in left - busy}
    place = settings.backend.device, settings.backend.threads
    return resumable(own, store, settings.execution, settings.purpose, *place)


@contextmanager
def engaged(settings: Settings, store: Path, summary: Execution) -> Iterator[None]:
    """Signals end the block in order, and at its end the backend's workers go."""
    with stopping_on_signals(summary.interrupt), closing(settings.backend):
        yield
        sweep(store)
        if summary.submitted is None:
            Marks(store, settings.run_id).clear()


def longest_first(
    stacks: Sequence[Stack], decisions: Mapping[str, Mapping[str, Any]], settings: Settings
) -> list[Stack]:
    """Stacks by falling expected time, so that no long one is left for the end; as they are where it is not known."""
    costs = [expected_seconds(stack, decisions, settings) for stack in stacks]
    if None in costs:
        return [*stacks]
    order = sorted(range(len(stacks)), key=lambda k: -(costs[k] or 0.0))
    return [stacks[k] for k in order]


def expected_seconds(stack: Stack, decisions: Mapping[str, Mapping[str, Any]], settings: Settings) -> float | None:
    """From the measurement that chose the mode; None without one, or when the task does not tell its steps."""
    cell = stack.cells[0]
    timings = decisions.get(mode_key(shape_key(cell), settings), {}).get("timings", {})
    try:
        per_step = float((timings.get(stack.mode.name) or timings[PLAIN])["seconds_per_cell_step"])
        return per_step * len(stack.cells) * cell.task.budget.total_steps(cell.task.training_size())
    except Exception:  # a task whose data is not what its spec says raises when it is trained, and says so there
        return None


def after_others(store: Store, settings: Settings, listener: Listener, summary: Execution) -> set[str]:
    """Wait for cells that another run is training; those that it did not finish, because it was stopped or killed."""
    if not (summary.elsewhere and settings.wait):
        return set()
    listener.note(f"Waiting for {counted(len(summary.elsewhere), 'cell')} that another run is training or has queued")
    while not STOPPING.wait(WAIT_SECONDS):
        done = summary.elsewhere & set(store.finished())
        theirs = {id for beat in store.heartbeats() if beat.is_alive() for id in beat.cell_ids} | in_queues(store)
        listener.ended(Outcome("", already=tuple(sorted(done))))
        summary.elsewhere -= done
        if not summary.elsewhere & theirs:
            left, summary.elsewhere = summary.elsewhere, set()
            return left
    return set()


def in_queues(store: Store) -> set[str]:
    """Cells for which a cluster holds jobs of other runs, which may have no dispatcher any more."""
    return {id for job in underway(store.root) if job.alive for id in job.cell_ids}


def leave(jobs: Sequence[Job], settings: Settings, summary: Execution) -> None:
    """Submit, and let go; not when the run is being stopped."""
    if STOPPING.is_set():
        return
    if jobs:
        settings.backend.submit(supervise, dict(enumerate(jobs)))
    settings.backend.detach()
    summary.submitted = len(jobs)
    summary.elsewhere |= {id for job in jobs for id in job.cell_ids}


def train_jobs(jobs: Sequence[Job], settings: Settings, listener: Listener) -> Execution:
    """Train jobs that are formed already (see `execute`)."""
    summary = Execution()
    with engaged(settings, Path(jobs[0].store), summary):
        hand_out(jobs, settings, listener, summary)
    return summary


def hand_out(jobs: Sequence[Job], settings: Settings, listener: Listener, summary: Execution) -> None:
    """Dispatch jobs and pass on what becomes of them."""
    after_loss = partial(train_again, retries=settings.retries, note=listener.note)
    for _, outcome in dispatched(settings.backend, supervise, jobs, after_loss):
        take_note(outcome, summary, settings)
        for note in outcome.notes:
            if note not in summary.said:
                listener.note(f"  {note}")
        summary.said |= {*outcome.notes}
        listener.ended(outcome)


def take_note(outcome: Outcome, summary: Execution, settings: Settings) -> None:
    """Add an outcome to the summary; stop the run when too many cells have failed."""
    summary.failed += sum(ended.status not in DONE for ended in outcome.ended)
    summary.elsewhere |= set(outcome.elsewhere)
    if summary.failed >= (settings.max_failures or math.inf) and not STOPPING.is_set():
        summary.stopped_early = True
        STOPPING.set()


def make_job(number: int, stack: Stack, store: Store, settings: Settings) -> Job:
    """The stack as it travels."""
    from benchmark.plan import cell_to_json

    return Job(
        store=str(store.root.resolve()),
        run_id=settings.run_id,
        stack_id=f"{number:05d}",
        task=stack.cells[0].task_name,
        cells=tuple((cell.id, cell_to_json(cell)) for cell in stack.cells),
        mode=stack.mode.name,
        device=settings.backend.device,
        threads=settings.backend.threads,
        plugins=settings.plugins,
        cell_seconds=settings.cell_seconds,
        workers=settings.backend.workers,
        metric=settings.primary.get(stack.cells[0].task_name, ""),
        purpose=settings.purpose,
        pinned=settings.execution is not None,
        checkpoint_seconds=settings.checkpoint_seconds,
        keep_models=settings.keep_models,
    )


# --- modes ---------------------------------------------------------------------------------------------------------


def decide_modes(cells: Sequence[Cell], store: Store, settings: Settings, listener: Listener) -> dict[str, Mode]:
    """Shape key → mode: pinned, kept in the store from an earlier run, or measured now."""
    shapes: dict[str, list[Cell]] = {}
    for cell in cells:
        shapes.setdefault(shape_key(cell), []).append(cell)
    if settings.execution is not None:
        return dict.fromkeys(shapes, settings.execution)
    kept = store.execution()
    missing = [key for key in shapes if kept.get(mode_key(key, settings), {"provisional": True}).get("provisional")]
    if missing:
        listener.deciding(len(missing))
        jobs = [make_job(k, Stack(tuple(shapes[key]), ALONE), store, settings) for k, key in enumerate(missing)]
        for job, decision in dispatched(settings.backend, decide_shape, jobs, not_measured):
            if STOPPING.is_set():
                continue
            if decision is not None:  # another run may have decided meanwhile: then its decision holds here too
                key = mode_key(missing[int(job.stack_id)], settings)
                decision = store.decide_execution(key, decision)
            listener.note(
                f"  {job.task}: " + str((decision or FAILED_DECISION).get("reason", "decided by another run"))
            )
        kept = store.execution()
    return {key: Mode.parse(kept.get(mode_key(key, settings), {}).get("mode", ALONE.name)) for key in shapes}


def not_measured(_: Try, __: Lost) -> tuple[list[Try], None]:
    """A measurement is not worth another worker."""
    return [], None


FAILED_DECISION = {"reason": "the measurement failed; its cells run alone"}


def mode_key(shape: str, settings: Settings) -> str:
    """Decisions hold for one kind of device and one number of threads."""
    backend = settings.backend
    kind = "cuda" if backend.device.startswith("cuda") else f"cpu-{backend.threads}"
    return f"{shape}-{kind}"
