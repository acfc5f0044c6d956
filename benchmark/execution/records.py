"""Rows for the store: of cells that were trained, and of cells that ended without numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchmark.execution.provenance import provenance
from benchmark.records import CellRecord

if TYPE_CHECKING:
    from benchmark.cell import Cell
    from benchmark.execution.job import Job
    from benchmark.records import Status


def record_of(
    cell: Cell, request: Mapping[str, Any], data: Mapping[str, str] | None = None, **values: Any
) -> CellRecord:
    """A record of one attempt at `cell` within `request`; `values` are the other fields of `CellRecord`.

    `data`: data set → digest of its content when training began.
    """
    from benchmark.execution.changes import families_of
    from benchmark.identity import resolved_cell

    origin = provenance(request["threads"], request["device"])
    origin["families"] = {kind: family.as_json() for kind, family in families_of(cell).items()}
    if data:
        origin["data"] = dict(data)
    if request["purpose"] != "run":
        origin["purpose"] = request["purpose"]
    return CellRecord(
        cell_id=cell.id,
        attempt_id=request["attempt_id"],
        run_id=request["run_id"],
        task=cell.task_name,
        initializer=cell.initializer_name,
        seed=cell.seed,
        profile=cell.profile,
        resolved=resolved_cell(cell.task, cell.initializer, cell.profile, cell.seed),
        provenance=origin,
        **values,
    )


def failure(job: Job, status: Status, reason: str) -> CellRecord:
    """The record of a job's single cell that ended without numbers."""
    from benchmark.plan import cell_from_json
    from benchmark.registry import Registry
    from benchmark.store import new_attempt_id
    from benchmark.store.layout import now

    cell = cell_from_json(job.cells[0][1], Registry.from_plugins(job.plugins))
    request = {**vars(job), "attempt_id": new_attempt_id()}
    return record_of(
        cell, request, status=status, error=reason, started_at=now(), execution=job.mode, device=job.device
    )
