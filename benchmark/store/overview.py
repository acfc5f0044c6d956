"""The state of a store in plain data: what `bench status` shows, made without DuckDB so that it can be watched."""

from __future__ import annotations

import time
from dataclasses import dataclass

from benchmark.store.heartbeats import Heartbeat
from benchmark.store.runs import RunRecord
from benchmark.store.selection import Attempt, Failure
from benchmark.store.store import Store


@dataclass(frozen=True)
class Experiment:
    """The last run of one experiment at one profile, and where its cells stand now."""

    name: str
    profile: str
    run_id: str
    state: str
    """`running`, `died` (its process is gone without a word), or how it ended."""
    total: int
    finished: int
    diverged: int
    failed: int
    """Tried and without numbers, whatever the reason."""
    running: int
    missing: int
    """Neither tried nor running."""


@dataclass(frozen=True)
class Stack:
    """A stack that is being trained."""

    run_id: str
    stack_id: str
    task: str
    cells: int
    step: int
    steps_planned: int
    metrics: dict[str, float]
    execution: str
    device: str
    checkpoint: str
    """Where the newest one stands, its size and what writing it took; empty without one."""
    host: str
    pid: int
    age: float
    """Seconds since it started."""
    silence: float
    """Seconds since its last sign."""
    alive: bool


@dataclass(frozen=True)
class HalfTrained:
    """A checkpoint whose cells nobody is training."""

    task: str
    cells: int
    step: int
    steps_planned: int
    size: int
    """Bytes."""
    age: float
    """Seconds."""


@dataclass(frozen=True)
class Overview:
    """Everything `bench status` shows."""

    store: str
    experiments: tuple[Experiment, ...]
    stacks: tuple[Stack, ...]
    half_trained: tuple[HalfTrained, ...]
    failures: tuple[Failure, ...]
    cells: int
    """Cells with numbers in the whole store."""
    quarantined: int
    warnings: tuple[str, ...]


def overview(store: Store) -> Overview:
    """Look at a store; never blocks a run, never blocked by one."""
    standing = store.counting()
    beats = store.heartbeats()
    return Overview(
        store=str(store.root),
        experiments=tuple(_experiment(run, standing, beats) for run in last_runs(store.runs())),
        stacks=tuple(_stack(beat) for beat in beats),
        half_trained=_half_trained(store, {id for beat in beats if beat.is_alive() for id in beat.cell_ids}),
        failures=tuple(store.failures()),
        cells=sum(attempt.done for attempt in standing.values()),
        quarantined=sum(1 for _ in store.layout.quarantine.glob("*.parquet")),
        warnings=tuple(store.warnings),
    )


def last_runs(runs: list[RunRecord]) -> list[RunRecord]:
    """The newest run of each experiment and profile, in the order they were started."""
    newest = {(run.experiment, run.profile): run for run in runs}
    return sorted(newest.values(), key=lambda run: (run.started_at, run.run_id))


def _experiment(run: RunRecord, standing: dict[str, Attempt], beats: list[Heartbeat]) -> Experiment:
    ids = set(run.cell_ids) or {attempt.cell_id for attempt in standing.values() if attempt.run_id == run.run_id}
    running = {cell for beat in beats if beat.is_alive() for cell in beat.cell_ids} & ids
    tried = [standing[cell] for cell in ids if cell in standing]
    done = {attempt.cell_id for attempt in tried if attempt.done}
    failed = {attempt.cell_id for attempt in tried} - done - running
    diverged = sum(attempt.status == "diverged" for attempt in tried)
    return Experiment(
        name=run.experiment, profile=run.profile, run_id=run.run_id, state=_state(run), total=len(ids),
        finished=len(done) - diverged, diverged=diverged, failed=len(failed), running=len(running - done),
        missing=len(ids - done - failed - running),
    )  # fmt: skip


def _half_trained(store: Store, training: set[str]) -> tuple[HalfTrained, ...]:
    left = [one for one in store.checkpoints() if training.isdisjoint(one.stage.cell_ids)]
    files = [(one.stage, one.path.stat()) for one in left if one.path.exists()]
    return tuple(
        HalfTrained(s.task, len(s.cell_ids), s.step, s.steps_planned, file.st_size, time.time() - file.st_mtime)
        for s, file in files
    )


def _state(run: RunRecord) -> str:
    return "died" if run.status == "running" and run.is_alive() is False else run.status


def _stack(beat: Heartbeat) -> Stack:
    now = time.time()
    return Stack(
        run_id=beat.run_id, stack_id=beat.stack_id, task=beat.task, cells=len(beat.cell_ids), step=beat.step,
        steps_planned=beat.steps_planned, metrics=dict(beat.metrics), execution=beat.execution, device=beat.device,
        checkpoint=beat.checkpoint,
        host=beat.host, pid=beat.pid, age=now - beat.started_at, silence=now - beat.beaten_at, alive=beat.is_alive(),
    )  # fmt: skip
