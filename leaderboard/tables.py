"""The tables of a leaderboard as data: rows are initialisers, columns tasks, every entry with its n and its troubles.

Nothing here is rounded or formatted; `leaderboard.render` does that, once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache, partial
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from benchmark.errors import UsageError
from benchmark.parameters import Metric
from benchmark.patterns import meant
from leaderboard import ranking, rounding
from leaderboard.aggregate import Grid, Group, Layout, TaskFacts
from leaderboard.digest import digest
from leaderboard.ranking import Pair
from leaderboard.stats import MIN_SEEDS, Scale, summarize, two_humps

if TYPE_CHECKING:
    from benchmark.plan import Selection as Part

PublishedVerdict = Literal["agrees", "differs", "cannot say", "other scale"]


@dataclass(frozen=True)
class Published:
    """A published number beside a measured one."""

    printed: str
    table: str
    """Table of the source it stands in, for example `Table 3`."""
    source: str = ""
    n: int | None = None
    verdict: PublishedVerdict = "cannot say"
    reason: str = ""


Judge = Callable[[str, str], tuple[ranking.Ranking, int]]
"""(task, metric) → the ranking of all chosen rows, and the decimals they are shown with."""

PublishedLookup = Callable[[str, str, str, Mapping[int, float]], tuple[Published, ...]]
"""(task, initialiser, metric, values by seed) → the published numbers of the same thing, with a verdict each."""


@dataclass(frozen=True)
class Column:
    """One metric of one task."""

    task: str
    metric: Metric
    pairs: tuple[Pair, ...] = ()
    """Every comparison behind the column's bold and ranks."""
    note: str = ""
    rows: int = 0
    """Rows that were compared for this task and metric, in whichever table they are shown."""
    decimals: int = rounding.PERCENT_DECIMALS
    """Decimals of its measured values, the same wherever the task and metric are shown."""


@dataclass(frozen=True)
class Entry:
    """One row × column."""

    values: Mapping[int, float] = field(default_factory=dict)
    """Seed → finite value."""
    planned: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    """Status → planned seeds that have no value."""
    cells: Mapping[int, str] = field(default_factory=dict)
    """Seed → id of the cell whose value it is."""
    skipped: str | None = None
    bold: bool = False
    rank: tuple[int, int] | None = None
    untested: bool = False
    """Placed by a difference that is the same on every seed, for which no t-test exists."""
    published: tuple[Published, ...] = ()
    computed: float | None = None
    """Value of a reference row, exact, without seeds."""
    solved: int | None = None
    """Seeds on which the task counts as solved; None where the metric does not say when."""

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float | None:
        return self.computed if self.computed is not None else summarize(list(self.values.values())).mean

    @property
    def std(self) -> float | None:
        """Sample standard deviation (ddof = 1); None below two seeds."""
        return summarize(list(self.values.values())).std

    @property
    def shown_std(self) -> float | None:
        """The standard deviation, from as many seeds as it means something."""
        return self.std if self.n >= MIN_SEEDS else None

    @property
    def humps(self) -> tuple[list[float], list[float]] | None:
        """The two groups the seeds fall into, where they do."""
        return two_humps(list(self.values.values()))


@dataclass(frozen=True)
class Row:
    """An initialiser, or a reference computed exactly; None where the column does not apply to the row."""

    name: str
    kind: Literal["measured", "computed"]
    entries: tuple[Entry | None, ...]


@dataclass(frozen=True)
class Table:
    """One table."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Selection:
    """Which part of the grid is shown, and how it is tested."""

    metrics: tuple[str, ...] = ()
    """Globs, one table for each metric; empty: the tables of the experiment, or all primary metrics in one."""
    tasks: tuple[str, ...] = ()
    initializers: tuple[str, ...] = ()
    published: bool = True
    scale: Scale | None = None
    """Scale of every test; each metric's own when absent."""
    alpha: float = 0.05
    axis: str | None = None
    """Axis of a grid whose values are columns; arms are rows when absent."""

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Selection:
        """The selection a stamp holds."""
        globs = {name: tuple(stored[name]) for name in ("metrics", "tasks", "initializers")}
        return cls(
            **globs,
            published=stored["published"],
            scale=stored["scale"],
            alpha=stored["alpha"],
            axis=stored.get("axis"),
        )


@dataclass(frozen=True)
class Leaderboard:
    """Everything a renderer needs."""

    experiment: str
    profile: str
    title: str
    tables: tuple[Table, ...]
    digest: str
    """sha256 of the values shown and the cells they are of."""
    selection: Selection
    planned: int
    unfinished: Mapping[str, int]
    notes: tuple[str, ...] = ()
    part: Part | None = None
    """What was asked for of the experiment; None where the experiment is not at hand."""

    @property
    def complete(self) -> bool:
        return not self.unfinished


def build(grid: Grid, selection: Selection | None = None, published: PublishedLookup | None = None) -> Leaderboard:
    """The tables of a grid. Raises UsageError when a filter matches nothing."""
    selection = selection or Selection()
    tasks = chosen([task.name for task in grid.tasks], selection.tasks, "task")
    initializers = chosen(grid.initializers, selection.initializers, "initialiser")
    lookup = published if selection.published else None
    layouts = _layouts(grid, tasks, initializers, selection)
    judge = cache(partial(_judged, grid, tuple(initializers), selection))
    tables = [_table(layout, grid, tasks, initializers, judge, lookup) for layout in layouts]
    shown = tuple(table for table in tables if table.columns and table.rows)
    groups = [grid.groups[key] for key in product(tasks, initializers) if key in grid.groups]
    planned, unfinished = _progress(groups)
    return Leaderboard(
        grid.experiment, grid.profile, grid.title, shown, digest(grid.experiment, grid.profile, shown), selection,
        planned, unfinished, (*grid.notes, *_mixed_modes(groups)), grid.part,
    )  # fmt: skip


def chosen(names: Sequence[str], globs: Sequence[str], kind: str) -> list[str]:
    """Names that match a glob, in their own order; all of them without globs.

    Raises UsageError, naming what there is, when nothing matches.
    """
    found = matching(names, globs) if globs else list(names)
    if globs and not found:
        near = [guess for glob in globs for guess in get_close_matches(glob, names, n=1)]
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise UsageError(f"no {kind} matches {', '.join(globs)}; {hint}there are: {', '.join(names)}")
    return found


def matching(names: Sequence[str], globs: Sequence[str]) -> list[str]:
    """Names that match a glob, in their own order."""
    return [name for name in names if meant(name, globs)]


def _progress(groups: Sequence[Group]) -> tuple[int, dict[str, int]]:
    """Cells planned, and status → how many of them are not finished."""
    results = [result for group in groups for result in group.seeds]
    return len(results), dict(Counter(result.status for result in results if result.status != "finished"))


def _mixed_modes(groups: Sequence[Group]) -> list[str]:
    """One sentence when the cells of a task, a column here, were not all trained in one execution mode."""
    modes: dict[str, set[str]] = {}
    for group in groups:  # the size of a stack is no mode: the last of a run is often smaller
        modes.setdefault(group.task, set()).update(r.execution.partition("[")[0] for r in group.seeds if r.execution)
    mixed = {task: found for task, found in modes.items() if len(found) > 1}
    if not mixed:
        return []
    listed = ", ".join(sorted(set[str]().union(*mixed.values())))
    return [
        f"Cells of one column were trained in more than one execution mode ({listed}; {', '.join(mixed)}): long runs "
        "agree between modes only in distribution."
    ]


def _layouts(grid: Grid, tasks: Sequence[str], initializers: Sequence[str], selection: Selection) -> Sequence[Layout]:
    """The asked metrics, one table each; else the experiment's tables; else the primary metrics together."""
    if not selection.metrics:
        return _complete(grid.layouts, tasks, initializers) or (Layout("Primary metric of each task"),)
    facts = [grid.task(name) for name in tasks]
    titles = {metric.name: metric.title for task in reversed(facts) for metric in reversed(task.metrics)}
    known = list(dict.fromkeys(metric.name for task in facts for metric in task.metrics))
    return [Layout(titles[name], metrics=(name,)) for name in chosen(known, selection.metrics, "metric")]


def _complete(layouts: Sequence[Layout], tasks: Sequence[str], initializers: Sequence[str]) -> list[Layout]:
    """The experiment's tables, with a place for everything that runs.

    An initialiser that no table names, such as a plugin's, joins all of them; tasks that none names get their own.
    """
    if not layouts:
        return []
    rows = [name for name in initializers if not any(matching([name], layout.initializers) for layout in layouts)]
    columns = [name for name in tasks if not any(matching([name], layout.tasks) for layout in layouts)]
    joined = [replace(layout, initializers=(*layout.initializers, *rows)) for layout in layouts]
    return [*joined, *([Layout("Other tasks", tasks=tuple(columns))] if columns else [])]


def _table(
    layout: Layout,
    grid: Grid,
    tasks: Sequence[str],
    initializers: Sequence[str],
    judge: Judge,
    published: PublishedLookup | None,
) -> Table:
    columns = _columns(layout, [grid.task(name) for name in _ordered(tasks, layout.tasks)])
    names = _ordered(initializers, layout.initializers)
    lookup = None if published is None else _of_tables(published, layout.claims_tables)
    built = [_column(task, metric, grid, names, judge, lookup) for task, metric in columns]
    rows = [
        Row(name, "measured", tuple(entries.get(name) for _, entries in built))
        for name in names
        if any(name in entries for _, entries in built)
    ]
    return Table(layout.title, tuple(column for column, _ in built), (*rows, *_references(columns)))


def _ordered(names: Sequence[str], globs: Sequence[str]) -> list[str]:
    """Names that match, in the order of the globs."""
    return list(dict.fromkeys(name for glob in globs for name in matching(names, [glob])))


def _columns(layout: Layout, tasks: Sequence[TaskFacts]) -> list[tuple[TaskFacts, Metric]]:
    columns = []
    for task in tasks:
        names = _ordered([metric.name for metric in task.metrics], layout.metrics)
        metrics = [task.metric(name) for name in names] if layout.metrics else [task.primary]
        columns += [(task, metric) for metric in metrics if metric is not None]
    return columns


def _of_tables(published: PublishedLookup, tables: Sequence[str]) -> PublishedLookup:
    """Only the published numbers that stand in these tables of the source; all of them when none are named."""
    if not tables:
        return published

    def lookup(task: str, initializer: str, metric: str, values: Mapping[int, float]) -> tuple[Published, ...]:
        found = published(task, initializer, metric, values)
        return tuple(item for item in found if meant(item.table, tables))

    return lookup


def _judged(
    grid: Grid, initializers: tuple[str, ...], selection: Selection, task: str, name: str
) -> tuple[ranking.Ranking, int]:
    """The one set of tests of a task and metric, over all rows chosen, and its decimals: the same in every table."""
    metric = grid.task(task).metric(name)
    assert metric is not None
    groups = [group for initializer in initializers if (group := grid.group(task, initializer))]
    values = {group.initializer: group.values(name) for group in groups}
    diverged = [group.initializer for group in groups if "diverged" in group.counts(name)]
    ranked = ranking.rank(values, metric, alpha=selection.alpha, scale=selection.scale, diverged=diverged)
    return ranked, common_decimals(list(values.values()), metric)


def common_decimals(rows: Iterable[Mapping[int, float]], metric: Metric) -> int:
    """The decimals at which all rows of a task and metric, seed → value each, are shown."""
    entries = [Entry(values=row) for row in rows]
    return rounding.column_decimals([(e.mean, e.shown_std) for e in entries if e.mean is not None], metric.unit)


def _column(
    task: TaskFacts,
    metric: Metric,
    grid: Grid,
    initializers: Sequence[str],
    judge: Judge,
    published: PublishedLookup | None,
) -> tuple[Column, dict[str, Entry]]:
    ranked, decimals = judge(task.name, metric.name)
    groups = {name: group for name in initializers if (group := grid.group(task.name, name))}
    entries = {name: _entry(group, metric, ranked, name, published) for name, group in groups.items()}
    return Column(task.name, metric, ranked.pairs, ranked.note, len(ranked.ranks or ()), decimals), entries


def _entry(
    group: Group, metric: Metric, ranked: ranking.Ranking, name: str, published: PublishedLookup | None
) -> Entry:
    values = group.values(metric.name)
    return Entry(
        values=values,
        planned=len(group.seeds),
        counts=group.counts(metric.name),
        cells={result.seed: result.cell_id for result in group.seeds if result.seed in values},
        skipped=group.skipped,
        bold=name in ranked.bold,
        rank=(ranked.ranks or {}).get(name),
        untested=name in ranked.untested,
        published=published(group.task, group.initializer, metric.name, values) if published else (),
        solved=None if metric.solved is None else sum(map(metric.solves, values.values())),
    )


def _references(columns: Sequence[tuple[TaskFacts, Metric]]) -> list[Row]:
    """One row for each named reference that has a value in some column."""
    names = dict.fromkeys(name for task, _ in columns for name in task.references)
    rows = []
    for name in names:
        values = [task.references.get(name, {}).get(metric.name) for task, metric in columns]
        if any(value is not None for value in values):
            entries = tuple(None if value is None else Entry(computed=value) for value in values)
            rows.append(Row(name, "computed", entries))
    return rows
