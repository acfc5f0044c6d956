"""From stored cells to groups of seeds: what was planned, what came of it, and nothing dropped on the way.

A group is one task × initialiser with every planned seed in it. A seed that is missing, failed or diverged stays
in the group under its status, so n can never shrink in silence.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from benchmark.parameters import Metric

if TYPE_CHECKING:
    from benchmark.plan import Selection

MISSING = "missing"
"""Status of a planned cell the store has no attempt for; the others are `benchmark.records.Status`."""


@dataclass(frozen=True)
class SeedResult:
    """What became of one cell."""

    seed: int
    cell_id: str
    status: str
    finals: Mapping[str, float] = field(default_factory=dict)
    """Metric → final value, full precision; NaN stays NaN."""
    error: str | None = None
    execution: str = ""
    """How it was trained: `alone`, `stack[4]` ...; empty where that is not known."""


@dataclass(frozen=True)
class Group:
    """All planned seeds of one task × initialiser; `skipped` says why none were planned."""

    task: str
    initializer: str
    seeds: tuple[SeedResult, ...] = ()
    skipped: str | None = None
    _values: dict[str, dict[int, float]] = field(default_factory=dict, init=False, compare=False, repr=False)

    def values(self, metric: str) -> Mapping[int, float]:
        """Seed → finite final value."""
        if metric not in self._values:
            self._values[metric] = {
                result.seed: result.finals[metric]
                for result in self.seeds
                if result.status == "finished" and math.isfinite(result.finals.get(metric, math.nan))
            }
        return self._values[metric]

    def counts(self, metric: str) -> dict[str, int]:
        """Status → number of planned seeds without a usable value; `diverged` includes non-finite values."""
        return dict(Counter(status for result in self.seeds if (status := self._status(result, metric))))

    def _status(self, result: SeedResult, metric: str) -> str | None:
        if result.status != "finished":
            return result.status
        if metric not in result.finals:
            return "not measured"
        return None if math.isfinite(result.finals[metric]) else "diverged"


@dataclass(frozen=True)
class TaskFacts:
    """What the leaderboard needs to know of a task."""

    name: str
    metrics: tuple[Metric, ...]
    references: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Rows computed exactly, not trained: name → metric → value."""
    title: str = ""
    primary_name: str | None = None
    """Metric that ranks initialisers; the first one when absent."""
    trouble: str | None = None
    """What is wrong with the task, so that something of it is not shown."""

    @property
    def primary(self) -> Metric | None:
        named = self.metric(self.primary_name) if self.primary_name else None
        return named or next(iter(self.metrics), None)

    def metric(self, name: str) -> Metric | None:
        return next((metric for metric in self.metrics if metric.name == name), None)


@dataclass(frozen=True)
class PlannedCell:
    """A cell an experiment asks for."""

    task: str
    initializer: str
    seed: int
    cell_id: str
    status: str = MISSING
    """Status while the store has no attempt at it."""
    error: str | None = None


@dataclass(frozen=True)
class Layout:
    """One table as the experiment asks for it; globs, empty `metrics` for each task's primary one."""

    title: str
    tasks: tuple[str, ...] = ("*",)
    initializers: tuple[str, ...] = ("*",)
    metrics: tuple[str, ...] = ()
    claims_tables: tuple[str, ...] = ()
    """Tables of the source whose numbers may stand beside; all of them when empty."""


@dataclass(frozen=True)
class Grid:
    """Everything a leaderboard is made from: facts of the tasks, and a group for each task × initialiser."""

    experiment: str
    profile: str
    tasks: tuple[TaskFacts, ...]
    initializers: tuple[str, ...]
    groups: Mapping[tuple[str, str], Group]
    title: str = ""
    layouts: tuple[Layout, ...] = ()
    claims: tuple[str, ...] = ()
    """Sets of published numbers to stand beside: shipped ids, or files."""
    notes: tuple[str, ...] = ()
    part: Selection | None = None
    """What was asked for of the experiment; None where the experiment is not at hand."""
    questions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Initialiser → globs of those a report compares it with; empty: all against the baseline."""

    def group(self, task: str, initializer: str) -> Group | None:
        return self.groups.get((task, initializer))

    def task(self, name: str) -> TaskFacts:
        return next(task for task in self.tasks if task.name == name)


def build_grid(
    planned: Sequence[PlannedCell],
    stored: Mapping[str, SeedResult],
    tasks: Sequence[TaskFacts],
    *,
    experiment: str,
    profile: str,
    skipped: Mapping[tuple[str, str], str] | None = None,
    title: str = "",
    layouts: Iterable[Layout] = (),
    claims: Iterable[str] = (),
    notes: Iterable[str] = (),
    part: Selection | None = None,
    questions: Mapping[str, tuple[str, ...]] | None = None,
) -> Grid:
    """Join what was planned with what is stored (cell id → result); order is that of the plan."""
    skipped = skipped or {}
    seeds: dict[tuple[str, str], list[SeedResult]] = {}
    for cell in planned:
        seeds.setdefault((cell.task, cell.initializer), []).append(_result(cell, stored.get(cell.cell_id)))
    keys = [*seeds, *(key for key in skipped if key not in seeds)]
    groups = {key: Group(*key, tuple(seeds.get(key, ())), skipped.get(key)) for key in keys}
    return Grid(
        experiment,
        profile,
        tuple(tasks),
        tuple(dict.fromkeys(initializer for _, initializer in keys)),
        groups,
        title,
        tuple(layouts),
        tuple(claims),
        (*notes, *(f"{task.name}: {task.trouble}" for task in tasks if task.trouble)),
        part,
        questions or {},
    )


def _result(cell: PlannedCell, found: SeedResult | None) -> SeedResult:
    """The stored result under the plan's seed, whatever name it was first run under."""
    if found is None:
        return SeedResult(cell.seed, cell.cell_id, cell.status, error=cell.error)
    return found if found.seed == cell.seed else replace(found, seed=cell.seed)
