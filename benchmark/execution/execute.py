"""Dispatch of stacks by joblib: decide each shape's mode once, form the stacks, hand them out, pass on what ended."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from benchmark.cell import Cell, PluginFile
from benchmark.execution.devices import candidates
from benchmark.execution.dispatch import SHARED, dispatched, stopping_on_signals
from benchmark.execution.job import Job, Outcome
from benchmark.execution.process import POOL
from benchmark.execution.stacks import Stack, form_stacks
from benchmark.execution.supervise import STOPPING, decide_shape, supervise
from benchmark.train.grouping import shape_key
from benchmark.train.mode import ALONE, Mode
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.store import Store

WAIT_SECONDS = 1.0
"""Between two looks at what another run is doing."""


@dataclass(frozen=True)
class Settings:
    """How cells are executed; none of it is part of a cell's identity."""

    run_id: str
    device: str = "cpu"
    """`cpu`, `cuda` or `cuda:<k>`, as `resolve_device` returns it."""
    workers: int = 1
    """Stacks trained at once."""
    threads: int = 1
    """Torch threads per stack."""
    backend: str = "threading"
    """joblib backend that hands out the stacks."""
    execution: Mode | None = None
    """Pinned mode; None: measured once per shape and kept in the store."""
    cell_seconds: float | None = None
    fail_fast: bool = False
    plugins: tuple[PluginFile, ...] = ()
    primary: Mapping[str, str] = field(default_factory=dict)
    """Task name → its primary metric."""
    wait: bool = True
    """Whether to wait for cells that another living run is training."""
    purpose: str = "run"


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
    interrupted: bool = False
    """Stopped by Ctrl-C or SIGTERM."""
    stopped_early: bool = False
    """Stopped by `--fail-fast`."""

    def interrupt(self) -> None:
        """Note that a signal came."""
        self.interrupted = True


def default_workers(device: str) -> int:
    """One per GPU, or one per core that this process may use (cgroup and affinity limits respected)."""
    if device.startswith("cuda"):
        return max(1, len(candidates(device)))
    from joblib import cpu_count

    return int(cpu_count())


def default_threads(workers: int) -> int:
    """Cores shared out evenly, at least one each."""
    from joblib import cpu_count

    return max(1, int(cpu_count()) // workers)


def execute(
    cells: Sequence[Cell], todo: Collection[str], store: Store, settings: Settings, listener: Listener
) -> Execution:
    """Train the cells whose id is in `todo` (`cells` are all of the experiment); results go to the store only.

    Ctrl-C and SIGTERM stop it: running stacks are ended, finished ones are in the store already.

    Raises:
        StoreError: the store cannot be written to.  UsageError: the backend is not there.
    """
    summary = Execution()
    left = set(todo)
    with stopping_on_signals(settings.backend, summary.interrupt), closing(POOL):
        modes = decide_modes([cell for cell in cells if cell.id in left], store, settings, listener)
        while left and not STOPPING.is_set():
            stacks = form_stacks(cells, left, modes, None if settings.execution else settings.workers)
            stacks = longest_first(stacks, store.execution(), settings)
            listener.dispatching(stacks)
            jobs = [make_job(number, stack, store, settings) for number, stack in enumerate(stacks)]
            hand_out(jobs, settings, listener, summary)
            left = after_others(store, settings, listener, summary)
    return summary


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
        per_step = float(timings[stack.mode.name]["seconds_per_cell_step"])
        return per_step * len(stack.cells) * cell.task.budget.total_steps(cell.task.training_size())
    except Exception:  # a task whose data is not what its spec says raises when it is trained, and says so there
        return None


def after_others(store: Store, settings: Settings, listener: Listener, summary: Execution) -> set[str]:
    """Wait for cells that another run is training; those that it did not finish, because it was stopped or killed."""
    if not (summary.elsewhere and settings.wait):
        return set()
    listener.note(f"Waiting for {counted(len(summary.elsewhere), 'cell')} that another run is training")
    while not STOPPING.wait(WAIT_SECONDS):
        done = summary.elsewhere & set(store.finished())
        theirs = {id for beat in store.heartbeats() if beat.is_alive() for id in beat.cell_ids}
        listener.ended(Outcome("", already=tuple(sorted(done))))
        summary.elsewhere -= done
        if not summary.elsewhere & theirs:
            left, summary.elsewhere = summary.elsewhere, set()
            return left
    return set()


def train_jobs(jobs: Sequence[Job], settings: Settings, listener: Listener) -> Execution:
    """Train jobs that are formed already (see `execute`)."""
    summary = Execution()
    with stopping_on_signals(settings.backend, summary.interrupt), closing(POOL):
        hand_out(jobs, settings, listener, summary)
    return summary


def hand_out(jobs: Sequence[Job], settings: Settings, listener: Listener, summary: Execution) -> None:
    """Dispatch jobs and pass on what becomes of them."""
    for _, outcome in dispatched(supervise, jobs, settings.backend, settings.workers, listener.note):
        take_note(outcome, summary, settings)
        listener.ended(outcome)
        if STOPPING.is_set() and settings.backend not in SHARED:
            return  # leaving the loop has joblib end its workers, and training processes end with them


def take_note(outcome: Outcome, summary: Execution, settings: Settings) -> None:
    """Add an outcome to the summary; stop the run when it is to fail fast."""
    failed = sum(ended.status not in ("finished", "diverged") for ended in outcome.ended)
    summary.failed += failed
    summary.elsewhere |= set(outcome.elsewhere)
    if failed and settings.fail_fast and not STOPPING.is_set():
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
        device=settings.device,
        threads=settings.threads,
        plugins=settings.plugins,
        cell_seconds=settings.cell_seconds,
        workers=settings.workers,
        metric=settings.primary.get(stack.cells[0].task_name, ""),
        purpose=settings.purpose,
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
    missing = [key for key in shapes if mode_key(key, settings) not in kept]
    if missing:
        listener.deciding(len(missing))
        jobs = [make_job(k, Stack(tuple(shapes[key]), ALONE), store, settings) for k, key in enumerate(missing)]
        for number, decision in dispatched(decide_shape, jobs, settings.backend, settings.workers, listener.note):
            if STOPPING.is_set():
                continue
            if decision is not None:  # another run may have decided meanwhile: then its decision holds here too
                decision = store.decide_execution(mode_key(missing[number], settings), decision)
            listener.note(
                f"  {jobs[number].task}: " + str((decision or FAILED_DECISION).get("reason", "decided by another run"))
            )
        kept = store.execution()
    return {key: Mode.parse(kept.get(mode_key(key, settings), {}).get("mode", ALONE.name)) for key in shapes}


FAILED_DECISION = {"reason": "the measurement failed; its cells run alone"}


def mode_key(shape: str, settings: Settings) -> str:
    """Decisions hold for one kind of device and one number of threads."""
    kind = "cuda" if settings.device.startswith("cuda") else f"cpu-{settings.threads}"
    return f"{shape}-{kind}"
