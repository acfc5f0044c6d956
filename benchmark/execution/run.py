"""One run from plan to verdict: its record in the store, the execution, and what is still missing at the end."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from benchmark.errors import ExitCode
from benchmark.execution.execute import Execution, Listener, Settings, execute, train_jobs
from benchmark.execution.provenance import environment, without_home
from benchmark.plan import Selection, lacking_recordings
from benchmark.store import RunRecord, new_run_id
from benchmark.store.layout import now
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.cell import Cell
    from benchmark.execution.job import Job
    from benchmark.plan import Plan
    from benchmark.store import Store
    from benchmark.store.runs import RunStatus


@dataclass(frozen=True)
class RunResult:
    """How a run ended."""

    code: ExitCode
    why: str
    """The last line's words."""
    trained: int = 0
    """Cells that this run gave numbers to."""
    missing: dict[str, int] = field(default_factory=dict)
    """What has no numbers, by status: `failed`, `timeout`, `killed`, `not started`, `running elsewhere`, `broken`."""
    detached: bool = False
    """Whether it has left its jobs to a cluster's queue."""


def run_plan(plan: Plan, todo: Sequence[Cell], store: Store, settings: Settings, listener: Listener) -> RunResult:
    """Train `todo`, a part of the plan's cells, and say what the experiment lacks afterwards.

    Raises:
        StoreError: the store cannot be written to.
    """
    cells = experiment_cells(plan)
    record = replace(
        start_record(plan, cells, settings.run_id),
        environment=environment(settings.backend.threads, settings.backend.device),
    )
    store.save_run(record)
    execution = Execution()
    try:
        execution = execute(cells, {cell.id for cell in todo}, store, settings, listener)
    except BaseException:
        store.save_run(replace(record, status="failed", ended_at=now()))
        raise
    result = verdict(plan, cells, todo, store, settings.run_id, execution)
    store.save_run(replace(record, status=status_of(result), ended_at=now(), counts=counts_of(result, cells, todo)))
    return result


def note_idle_run(plan: Plan, store: Store, result: RunResult) -> None:
    """Record a run that had nothing to train, unless the last record says the very same.

    What is shown without naming a spec is what was asked for last, trained anew or not.

    Raises:
        StoreError: the store cannot be written to.
    """
    cells = experiment_cells(plan)
    record = start_record(plan, cells, new_run_id())
    ended = replace(record, status=status_of(result), ended_at=now(), counts=counts_of(result, cells, ()))
    last = next((run for run in reversed(store.runs()) if run.experiment), None)
    if last is None or said_by(last) != said_by(ended):
        store.save_run(ended)


def said_by(run: RunRecord) -> tuple[Any, ...]:
    """What a record says of the experiment, whenever and however it was made."""
    return run.experiment, run.profile, run.status, run.source, run.cell_ids, Selection.from_json(run.selection)


def run_audit(jobs: Sequence[Job], store: Store, settings: Settings, listener: Listener) -> Execution:
    """Train jobs of the determinism audit, with a record of the run that belongs to no experiment.

    Raises:
        StoreError: the store cannot be written to.
    """
    record = RunRecord(
        run_id=settings.run_id,
        argv=command_line(),
        started_at=now(),
        cell_ids=tuple(id for job in jobs for id in job.cell_ids),
        environment=environment(settings.backend.threads, settings.backend.device),
    )
    store.save_run(record)
    execution = Execution()
    try:
        execution = train_jobs(jobs, settings, listener)
    finally:
        status: RunStatus = "interrupted" if execution.interrupted else "incomplete" if execution.failed else "complete"
        store.save_run(replace(record, status=status, ended_at=now()))
    return execution


def command_line() -> tuple[str, ...]:
    """How this program was called."""
    return ("bench", *(without_home(word) for word in sys.argv[1:]))


def experiment_cells(plan: Plan) -> list[Cell]:
    """Every distinct cell of a plan that can be trained, those with numbers included, in the plan's order."""
    found = {line.cell.id: line.cell for line in reversed(plan.cells) if line.cell and line.action in ("run", "reuse")}
    return [*reversed(found.values())]


def start_record(plan: Plan, cells: Sequence[Cell], run_id: str) -> RunRecord:
    """The run as it is when it starts."""
    loaded = plan.loaded
    return RunRecord(
        run_id=run_id,
        argv=command_line(),
        started_at=now(),
        experiment=loaded.name,
        profile=loaded.profile,
        spec={
            **loaded.experiment.model_dump(mode="json", by_alias=True),
            "profile": loaded.profile,
            "seeds": [*loaded.seeds],
        },
        source=loaded.text,
        selection=asdict(plan.selection),
        cell_ids=tuple(cell.id for cell in cells),
    )


def verdict(
    plan: Plan, cells: Sequence[Cell], todo: Collection[Cell], store: Store, run_id: str, execution: Execution
) -> RunResult:
    """What the store holds of the experiment now; the store is asked, nobody's memory."""
    trained = len({attempt.cell_id for attempt in store.attempts() if attempt.done and attempt.run_id == run_id})
    missing = what_is_missing(plan, cells, store, execution)
    if execution.interrupted:
        kept = f"{counted(trained, 'cell')} of this run {'is' if trained == 1 else 'are'} in the store"
        why = f"interrupted; {kept}, the same command goes on from there"
        return RunResult(ExitCode.INTERRUPTED, why, trained, missing)
    if execution.submitted is not None and not execution.interrupted:
        waiting = counted(len(execution.elsewhere), "cell")
        why = f"submitted {counted(execution.submitted, 'stack')}; {waiting} in the queue or running"
        return RunResult(ExitCode.COMPLETE, why, missing=missing, detached=True)
    if missing:
        listed = ", ".join(f"{count} {status}" for status, count in missing.items())
        early = f" (stopped at {counted(execution.failed, 'failure')})" if execution.stopped_early else ""
        return RunResult(ExitCode.INCOMPLETE, f"incomplete{early}: {listed}", trained, missing)
    skipped = f", {count} skipped" if (count := len(plan.with_action("skip"))) else ""
    why = f"complete; {counted(trained, 'cell')} trained, {len(cells) - len(todo)} reused{skipped}"
    return RunResult(ExitCode.COMPLETE, why, trained)


def what_is_missing(plan: Plan, cells: Sequence[Cell], store: Store, execution: Execution) -> dict[str, int]:
    """Status → number of cells without numbers, or without what probes should have recorded."""
    standing, recorded = store.counting(), store.recorded()
    found: Counter[str] = Counter()
    for cell in cells:
        attempt = standing.get(cell.id)
        if attempt is None:
            found["running elsewhere" if cell.id in execution.elsewhere else "not started"] += 1
        elif not attempt.done:
            found[attempt.status] += 1
        elif lacking_recordings(cell, recorded):
            found["not recorded"] += 1
    if broken := len(plan.with_action("broken")):
        found["broken"] = broken
    return dict(found)


def status_of(result: RunResult) -> RunStatus:
    """The word for the run's record."""
    if result.detached:
        return "detached"
    known: dict[ExitCode, RunStatus] = {ExitCode.COMPLETE: "complete", ExitCode.INTERRUPTED: "interrupted"}
    return known.get(result.code, "incomplete")


def counts_of(result: RunResult, cells: Sequence[Cell], todo: Collection[Cell]) -> dict[str, int]:
    """The numbers of the run's record."""
    return {"planned": len(todo), "reused": len(cells) - len(todo), "trained": result.trained, **result.missing}
