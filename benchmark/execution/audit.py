"""The determinism audit: train finished cells again, as they were trained, and compare the numbers.

A cell is trained again within the very stack, mode, order and number of threads it had, since bit-equality is promised
for one mode and stack layout only. The new attempts are stored and marked as reruns; the first attempt keeps counting.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from benchmark.errors import PluginError, UsageError
from benchmark.execution.execute import Settings
from benchmark.execution.job import Job
from benchmark.records import CellRecord
from benchmark.train.mode import Mode
from benchmark.wording import reason_of

if TYPE_CHECKING:
    from benchmark.store import Store

Agreement = Literal["equal", "close", "differs", "failed"]
"""Bit-equal, within tolerance, beyond it, or no numbers this time."""

STACK_FORM = re.compile(r"(compiled-)?stack\[(\d+)\]")


@dataclass(frozen=True)
class Comparison:
    """One cell, stored and trained again."""

    cell_id: str
    task: str
    initializer: str
    seed: int
    agreement: Agreement
    largest: float = 0.0
    """Largest relative difference over finals and curve."""
    metric: str = ""
    """Metric and, in the curve, step at which it is."""
    error: str | None = None

    @property
    def label(self) -> str:
        """Task × initialiser, seed."""
        return f"{self.task} × {self.initializer}, seed {self.seed}"


def choose(records: Sequence[CellRecord], sample: int | None, cells: Sequence[str], seed: int) -> list[CellRecord]:
    """The records to audit: those whose id starts with one of `cells`, or `sample` at random.

    Raises:
        UsageError: an id is unknown or names several cells, or there is nothing to choose from.
    """
    if not records:
        raise UsageError("there are no finished cells to train again; `bench run` makes some")
    if cells:
        return [one_of(records, prefix) for prefix in dict.fromkeys(cells)]
    count = len(records) if sample is None else min(sample, len(records))
    return sorted(random.Random(seed).sample(list(records), count), key=lambda record: record.cell_id)


def one_of(records: Sequence[CellRecord], prefix: str) -> CellRecord:
    """The record whose cell id starts with `prefix`."""
    found = [record for record in records if record.cell_id.startswith(prefix)]
    if len(found) != 1:
        problem = "is the start of several cell ids" if found else "is the id of no finished cell"
        raise UsageError(f"'{prefix}' {problem} of this store; `bench sql \"select cell_id from cells\"` lists them")
    return found[0]


def audit_jobs(chosen: Sequence[CellRecord], store: Store, settings: Settings) -> list[Job]:
    """One job per stack that held a chosen cell, with all cells of that stack in their order.

    Raises:
        PluginError: a cell cannot be rebuilt: its family is not here, or its code has changed.
    """
    require_families(chosen, settings)
    attempts = list(dict.fromkeys(record.attempt_id for record in chosen))
    order = row_order(store, set(attempts))
    by_attempt: dict[str, list[CellRecord]] = {attempt: [] for attempt in attempts}
    for record in store.records(every_attempt=True):
        if record.attempt_id in by_attempt:
            by_attempt[record.attempt_id].append(record)
    stacks = [sorted(group, key=lambda r: order[r.cell_id, r.attempt_id]) for group in by_attempt.values()]
    return [audit_job(number, stack, store, settings) for number, stack in enumerate(stacks)]


def require_families(chosen: Sequence[CellRecord], settings: Settings) -> None:
    """Rebuild every chosen cell once, to fail before anything is trained."""
    from benchmark.plan import cell_from_json
    from benchmark.registry import Registry

    registry = Registry.from_plugins(settings.plugins)
    for record in chosen:
        try:
            cell_from_json(cell_text(record), registry)
        except PluginError as error:
            raise PluginError(f"{error}. Plugin files of the cells' run must be given again with --plugin.") from None


def row_order(store: Store, attempts: Collection[str]) -> dict[tuple[str, str], int]:
    """(cell id, attempt id) → position in its file, which is the order the cells were trained in."""
    from benchmark.store.shards import read_table

    rows: list[tuple[str, str]] = []
    for shard in store.shards().shards:
        table = read_table(shard.path, ["cell_id", "attempt_id"])
        pairs = zip(table.column("cell_id").to_pylist(), table.column("attempt_id").to_pylist(), strict=True)
        rows += [pair for pair in pairs if pair[1] in attempts]
    return {pair: position for position, pair in enumerate(rows)}


def audit_job(number: int, stack: Sequence[CellRecord], store: Store, settings: Settings) -> Job:
    """The job that trains a stored stack again."""
    first = stack[0]
    return Job(
        store=str(store.root.resolve()),
        run_id=settings.run_id,
        stack_id=f"{number:05d}",
        task=first.task,
        cells=tuple((record.cell_id, cell_text(record)) for record in stack),
        mode=stored_mode(stack).name,
        device="cpu" if first.device == "cpu" else "cuda",
        threads=int(first.provenance.get("threads", settings.backend.threads)),
        plugins=settings.plugins,
        cell_seconds=settings.cell_seconds,
        purpose="rerun",
    )


def cell_text(record: CellRecord) -> str:
    """The cell as `benchmark.plan.cell_to_json` would have written it."""
    return json.dumps(
        {
            "id": record.cell_id,
            "task": record.task,
            "initializer": record.initializer,
            "resolved": record.resolved,
            "probes": [],  # they change no number
        }
    )


def stored_mode(stack: Sequence[CellRecord]) -> Mode:
    """The mode that a stack's cells were trained with."""
    named = [record.execution for record in stack if record.execution]
    modes = [mode_of(name) for name in named] or [Mode(compiled=False, stack_size=1)]
    return max(modes, key=lambda mode: mode.stack_size)


def mode_of(execution: str) -> Mode:
    """`compiled-stack[8]`, as cells record it, or a mode's own name."""
    match = STACK_FORM.fullmatch(execution)
    return Mode(bool(match[1]), int(match[2])) if match else Mode.parse(execution)


# --- comparing -----------------------------------------------------------------------------------------------------


def compare(chosen: Iterable[CellRecord], again: Iterable[CellRecord], tolerance: float) -> list[Comparison]:
    """Each chosen record against the newest one of its cell in `again`."""
    newest = {record.cell_id: record for record in sorted(again, key=lambda record: record.attempt_id)}
    return [compare_records(record, newest.get(record.cell_id), tolerance) for record in chosen]


def compare_records(stored: CellRecord, again: CellRecord | None, tolerance: float) -> Comparison:
    """Two attempts at one cell; `tolerance` is relative to the larger of two values."""
    cell = (stored.cell_id, stored.task, stored.initializer, stored.seed)
    if again is None or again.status not in ("finished", "diverged"):
        reason = "it was not trained" if again is None else (again.error or again.status)
        return Comparison(*cell, "failed", math.inf, error=reason_of(reason))
    largest, metric = max(differences(stored, again), key=lambda pair: pair[0], default=(0.0, ""))
    agreement: Agreement = "equal" if largest == 0 else "close" if largest <= tolerance else "differs"
    return Comparison(*cell, agreement, largest, metric if largest else "")


def differences(stored: CellRecord, again: CellRecord) -> Iterable[tuple[float, str]]:
    """(relative difference, where) for every final value and every point of the curve."""
    for name in {**stored.finals, **again.finals}:
        yield difference(stored.finals.get(name), again.finals.get(name)), name
    for one, two in zip_longest(stored.curve, again.curve):
        same_place = one is not None and two is not None and (one.name, one.step) == (two.name, two.step)
        place = one or two
        where = f"{place.name} at step {place.step}" if place else ""
        yield difference(one.value, two.value) if same_place else math.inf, where


def difference(one: float | None, two: float | None) -> float:
    """|a − b| / max(|a|, |b|); 0 for equal values and for NaN twice; infinite when one is missing or not finite."""
    if one is None or two is None:
        return math.inf
    if one == two or (math.isnan(one) and math.isnan(two)):
        return 0.0
    if not (math.isfinite(one) and math.isfinite(two)):
        return math.inf
    return abs(one - two) / max(abs(one), abs(two))
