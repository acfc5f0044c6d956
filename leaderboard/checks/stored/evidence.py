"""What a store says of an experiment, read once and shared by all checks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.parameters import Metric
from benchmark.records import DONE
from benchmark.store.shards import DamagedError, read_table
from leaderboard.aggregate import Grid, Group, TaskFacts
from leaderboard.checks.finding import Cell

if TYPE_CHECKING:
    from benchmark.spec.load import LoadedExperiment
    from benchmark.store import Store

BEST = """
select cell_id, metric, if(value = highest, 'max', 'min') from curve_ends join finals using (cell_id, metric)
where value <> last_value and value in (lowest, highest)
"""
LAST_STEPS = "select cell_id, max(last_step) from curve_ends group by cell_id"


@dataclass(frozen=True, slots=True)
class Row:
    """One attempt at a cell: everything but its numbers."""

    cell_id: str
    attempt_id: str
    task: str
    initializer: str
    seed: int
    profile: str
    status: str
    counts: bool
    """Whether it is the attempt whose numbers count."""
    steps_planned: int
    steps_done: int
    parameters: int
    execution: str
    device: str
    shard: str
    """File it lies in."""
    resolved_text: str
    provenance_text: str

    @property
    def spec(self) -> str:
        """What the cell is, but for its seed: one text for all seeds (canonical JSON)."""
        around = self.resolved_text.split(f',"seed":{self.seed},"task":')
        return ',"task":'.join(around) if len(around) == 2 else self.resolved_text

    @property
    def resolved(self) -> Mapping[str, Any]:
        """What the cell is, but for its seed."""
        return _parsed(self.spec)

    @property
    def provenance(self) -> Mapping[str, Any]:
        """What it was made with."""
        return _parsed(self.provenance_text)

    @property
    def done(self) -> bool:
        """Whether it has numbers."""
        return self.status in DONE


COLUMNS = tuple(field.name.removesuffix("_text") for field in fields(Row))


@dataclass(frozen=True)
class StoreEvidence:
    """An experiment joined with the store, and every attempt in the store."""

    grid: Grid
    rows: tuple[Row, ...]
    store: Store
    experiment: LoadedExperiment | None = None
    plugins: tuple[Path, ...] = ()
    exported: tuple[Path, ...] = ()
    """Files with tables written by `bench leaderboard`."""
    threshold: float = 0.0
    """Threshold of the check that is run."""
    shared: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What is read at most once, whichever check asks first."""

    @cached_property
    def by_cell(self) -> dict[str, Row]:
        """Cell id → the attempt that counts."""
        return {row.cell_id: row for row in self.rows if row.counts}

    def columns(self) -> Iterator[tuple[TaskFacts, list[Group]]]:
        """Each task with the initialisers that were planned on it."""
        for task in self.grid.tasks:
            yield task, [group for (name, _), group in self.grid.groups.items() if name == task.name and group.seeds]

    def groups(self) -> Iterator[tuple[TaskFacts, Group]]:
        """Each planned task × initialiser."""
        for task, groups in self.columns():
            yield from ((task, group) for group in groups)

    def rows_of(self, group: Group) -> list[Row]:
        """The attempts that count of a group's cells that have numbers, in the order of seeds."""
        found = (self.by_cell.get(result.cell_id) for result in group.seeds)
        return [row for row in found if row is not None and row.done]

    def attempts(self) -> dict[str, list[Row]]:
        """Cell id → attempts with numbers, for the cells of the experiment that have several."""
        wanted = {result.cell_id for _, group in self.groups() for result in group.seeds}
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            if row.done and row.cell_id in wanted:
                found.setdefault(row.cell_id, []).append(row)
        return {cell_id: rows for cell_id, rows in found.items() if len(rows) > 1}

    def finals_of_attempts(self) -> dict[tuple[str, str], dict[str, float]]:
        """(cell id, attempt id) → metric → final value, of the attempts of `attempts`."""
        several = self.attempts()
        shards = {row.shard for rows in several.values() for row in rows}
        try:
            return read_finals(self.store, shards, several)
        except (FileNotFoundError, DamagedError):  # compacted or set aside since; the store looks again
            records = self.store.records(several, every_attempt=True)
            return {(record.cell_id, record.attempt_id): record.finals for record in records}

    def best_of_curve(self) -> dict[tuple[str, str], str]:
        """(cell id, metric) → `max` or `min`, where the final value is that of the curve and not its last point."""
        return self._once("best", lambda: {(id, metric): end for id, metric, end in self.store.ask(BEST)})

    def last_steps(self) -> dict[str, int]:
        """Cell id → last step of any of its curves."""
        return self._once("last steps", lambda: dict(self.store.ask(LAST_STEPS)))

    def _once(self, key: str, read: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
        if key not in self.shared:
            self.shared[key] = read()
        return self.shared[key]

    def without(self, patterns: Sequence[str]) -> StoreEvidence:
        """The same without the tasks, initialisers, metrics and `task × initialiser` that match; `*`, `?` allowed."""
        if not patterns:
            return self

        def kept(name: str) -> bool:
            return not any(fnmatchcase(name, pattern) for pattern in patterns)

        groups = {key: group for key, group in self.grid.groups.items() if all(map(kept, (*key, " × ".join(key))))}
        tasks = tuple(
            replace(task, metrics=tuple(metric for metric in task.metrics if kept(metric.name)))
            for task in self.grid.tasks
            if kept(task.name)
        )
        return replace(self, grid=replace(self.grid, groups=groups, tasks=tasks))


def read_evidence(
    store: Store,
    grid: Grid,
    experiment: LoadedExperiment | None = None,
    plugins: Sequence[Path] = (),
    exported: Sequence[Path] = (),
) -> StoreEvidence:
    """Read every attempt of the store. Raises StoreError."""
    found = store.ask(f"select {', '.join(COLUMNS)} from attempts order by attempt_id, cell_id")
    return StoreEvidence(grid, tuple(starmap(Row, found)), store, experiment, tuple(plugins), tuple(exported))


@lru_cache(maxsize=1 << 16)
def _parsed(text: str) -> Mapping[str, Any]:
    value: Mapping[str, Any] = json.loads(text or "{}")
    return value


def read_finals(
    store: Store, shards: Collection[str], cell_ids: Container[str]
) -> dict[tuple[str, str], dict[str, float]]:
    """Finals of every attempt at these cells in these shards, without their curves.

    Raises:
        FileNotFoundError, DamagedError: a shard is not what it was.
    """
    found = {}
    for shard in store.shards().shards:
        if shard.name in shards:
            for row in read_table(shard.path, ("cell_id", "attempt_id", "finals")).to_pylist():
                if row["cell_id"] in cell_ids:
                    values = {item["name"]: item["value"] for item in row["finals"]}
                    found[row["cell_id"], row["attempt_id"]] = values
    return found


def ranked_metrics(task: TaskFacts) -> list[Metric]:
    """Metrics that a table may rank."""
    return [metric for metric in task.metrics if metric.direction != "none"]


def cell(group: Group, printed: object, metric: str = "", seed: int | None = None) -> Cell:
    """A number (or anything else that is told) of a group, in its place."""
    row = group.initializer if seed is None else f"{group.initializer}, seed {seed}"
    label = " · ".join(part for part in (group.initializer, group.task, metric) if part)
    return Cell(str(printed), group.task, row, metric, label)


def named(group: Group) -> str:
    """`parity × mask`."""
    return f"{group.task} × {group.initializer}"


def digest(values: Iterable[object]) -> str:
    """Short hash of the numbers a finding stands on: an acknowledgement expires when one of them changes."""
    return hashlib.sha256("|".join(map(repr, values)).encode()).hexdigest()[:16]


def listed(values: Iterable[object], most: int = 5) -> str:
    """`a, b, c` with the number of those left out."""
    words = [str(value) for value in values]
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one, with dotted keys; lists are kept whole."""
    found: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, Mapping):
            found |= flat(item, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = item
    return found
