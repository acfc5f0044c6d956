"""One page about an experiment: tables, comparisons with the baseline, curves, findings, and what it was made with."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmark.errors import UsageError
from benchmark.wording import reason_of
from leaderboard.api import published_numbers
from leaderboard.axes import axes, series
from leaderboard.charts import Chart, mean_curve
from leaderboard.compare import Report as Comparison
from leaderboard.compare import Terms, across_questions, compare_with_baseline
from leaderboard.prior import Prior, read_prior
from leaderboard.reading import Points, curves, last_run, load_grid, stored_spec
from leaderboard.render.svg import Series
from leaderboard.stats import seeds, share_interval
from leaderboard.tables import Leaderboard, Selection, build, matching

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from benchmark.parameters import Metric
    from benchmark.spec.load import LoadedExperiment
    from benchmark.spec.models import Experiment
    from benchmark.store import Store
    from leaderboard.aggregate import Grid, Group
    from leaderboard.checks.finding import Finding

Curves = Mapping[tuple[str, str], Points]
"""(cell id, metric) → steps and values."""

LISTED = 50
"""Failed cells named one by one."""


@dataclass(frozen=True)
class Page:
    """What a report shows; rendering adds nothing."""

    board: Leaderboard
    comparisons: tuple[Comparison, ...] = ()
    charts: tuple[Chart, ...] = ()
    prior: Prior = field(default_factory=Prior)
    """What probes say of the prior through training."""
    solved: tuple[str, ...] = ()
    """Tasks that say when they are solved: by whom, on how many seeds, from which step."""
    findings: tuple[str, ...] = ()
    """Findings on the published numbers, worst first; empty when none, or when there are no claims."""
    checked: str = ""
    """What was checked, in a sentence."""
    stored_findings: tuple[str, ...] = ()
    """Findings on the cells themselves, worst first."""
    stored_checked: str = ""
    """What was checked of them, in a sentence."""
    troubles: tuple[str, ...] = ()
    """Failed and diverged cells, with the reason."""
    provenance: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What → its distinct values with the number of cells."""
    spec: str = ""
    """Text of the spec file."""
    question: str = ""
    """What the experiment asks."""
    readings: Mapping[str, str] = field(default_factory=dict)
    """Outcome → what it would mean, as written before."""


def make_page(
    store: Store,
    experiment: LoadedExperiment | None = None,
    *,
    profile: str | None = None,
    plugins: Sequence[Path] = (),
    selection: Selection | None = None,
    baseline: str | None = None,
    fdr: bool = False,
) -> Page:
    """Gather everything. Raises StoreError for an empty store, UsageError for an unknown baseline."""
    grid = load_grid(store, experiment, profile, plugins)
    board = build(grid, selection, published_numbers(grid))
    run = last_run(store, profile)
    points = curves(store, _ids(grid), {column.metric.name for table in board.tables for column in table.columns})
    findings, checked = published_findings(grid)
    settings = run.spec.get("checks") if experiment is None and run else None
    stored_findings, stored_checked = findings_in_store(store, grid, experiment, plugins, settings)
    return Page(
        board,
        comparisons(grid, board, selection or Selection(), baseline, fdr),
        (*axis_charts(grid, board), *charts(points, grid, board)),
        read_prior(store, grid, board, experiment.probes if experiment else ()),
        solved(grid, board, points),
        findings,
        checked,
        stored_findings,
        stored_checked,
        troubles(grid),
        provenance(store, _ids(grid)),
        experiment.text if experiment else run.source if run else "",
        **asked(experiment.experiment if experiment else stored_spec(run)),
    )


def asked(spec: Experiment | None) -> dict[str, Any]:
    """The question of an experiment and its readings."""
    return {} if spec is None else {"question": spec.description, "readings": spec.readings}


# --- the parts -------------------------------------------------------------------------------------------------


def comparisons(
    grid: Grid, board: Leaderboard, selection: Selection, baseline: str | None, fdr: bool = False
) -> tuple[Comparison, ...]:
    """The experiment's questions; without any, every initialiser shown against the baseline, the first unless named."""
    names = list(dict.fromkeys(row.name for table in board.tables for row in table.rows if row.kind == "measured"))
    if baseline is not None and baseline not in grid.initializers:
        raise UsageError(f"no initialiser '{baseline}'; there are: {', '.join(grid.initializers)}")
    reference = baseline or next(iter(grid.initializers), "")
    terms = Terms(selection.metrics, selection.tasks, scale=selection.scale, alpha=selection.alpha)
    if grid.questions and baseline is None:
        asked = [
            report
            for first, against in grid.questions.items()
            for second in matching(names, against)
            if first in names
            for report in compare_with_baseline(grid, [first], second, terms)
        ]
    else:
        asked = compare_with_baseline(grid, names, reference, terms)
    return tuple(across_questions(asked) if fdr else asked)


def solved(grid: Grid, board: Leaderboard, points: Curves) -> tuple[str, ...]:
    """For each task that says when it is solved: by which initialiser, on how many seeds, first at which step."""
    metrics = {(c.task, c.metric.name): c.metric for table in board.tables for c in table.columns if c.metric.solved}
    followed = {key: _followed(key[1], {name for _, name in points}) for key in metrics}
    groups = [(group, name) for group in grid.groups.values() for task, name in metrics if task == group.task]
    return tuple(
        _solved(group, metrics[group.task, name], followed[group.task, name], points)
        for group, name in groups
        if group.values(name)
    )


def _solved(group: Group, metric: Metric, followed: str | None, points: Curves) -> str:
    values = group.values(metric.name)
    steps = []
    for result in group.seeds:
        curve = points.get((result.cell_id, followed or ""), ((), ()))
        if metric.solves(values.get(result.seed, math.nan)):
            first = next((int(step) for step, value in zip(*curve, strict=True) if metric.solves(value)), None)
            steps.append(f"seed {result.seed}" + ("" if first is None else f" from step {first:,}"))
    share = share_interval(len(steps), len(values))
    said = f"{group.task} × {group.initializer}: {len(steps)} of {seeds(len(values))}"
    interval = f"[{share.low:.0%}, {share.high:.0%}]".replace("%", " %")
    return f"{said} {interval}" + (f" ({', '.join(steps)})" if steps else "")


def charts(points: Curves, grid: Grid, board: Leaderboard) -> tuple[Chart, ...]:
    """A chart for each column of the board whose metric was followed through training."""
    columns = dict.fromkeys((column.task, column.metric.name) for table in board.tables for column in table.columns)
    names = list(dict.fromkeys(row.name for table in board.tables for row in table.rows if row.kind == "measured"))
    found = []
    for task, metric in columns:
        followed = _followed(metric, {name for _, name in points})
        if followed is None:
            continue
        series = [Series(name, mean_curve(_of_group(points, grid, task, name, followed))) for name in names]
        if any(each.points for each in series):
            found.append(Chart(task, followed, tuple(each for each in series if each.points)))
    return tuple(found)


def axis_charts(grid: Grid, board: Leaderboard) -> tuple[Chart, ...]:
    """A chart for each column of the board and each axis of numbers that its arms lie on."""
    columns = {(column.task, column.metric.name): column for table in board.tables for column in table.columns}
    return tuple(
        Chart(column.task, column.metric.title, tuple(lines), axis)
        for axis in axes(grid.initializers)
        for column in columns.values()
        if (lines := series(grid, column, axis))
    )


def _followed(metric: str, names: Collection[str]) -> str | None:
    """The curve of a final metric: of the same name, or measured on part of the inputs (`name@size`)."""
    if metric in names:
        return metric
    return next((name for name in sorted(names) if name.partition("@")[0] == metric), None)


def _of_group(points: Curves, grid: Grid, task: str, initializer: str, metric: str) -> list[Points]:
    group = grid.group(task, initializer)
    return [] if group is None else [points[r.cell_id, metric] for r in group.seeds if (r.cell_id, metric) in points]


def published_findings(grid: Grid) -> tuple[tuple[str, ...], str]:
    """What the checks say about the published numbers the experiment names."""
    if not grid.claims:
        return (), ""
    from leaderboard import claims
    from leaderboard.checks.runner import check_claims

    report = check_claims([claims.load(name) for name in grid.claims])
    return said(report.findings), f"{report.numbers} published numbers of {', '.join(report.sources)} checked"


def findings_in_store(
    store: Store,
    grid: Grid,
    experiment: LoadedExperiment | None,
    plugins: Sequence[Path],
    settings: Mapping[str, Any] | None,
) -> tuple[tuple[str, ...], str]:
    """What the checks say about the cells shown; `settings` are the run's `checks` where there is no experiment."""
    from leaderboard.checks.api import check_grid
    from leaderboard.checks.runner import overrides_of

    wishes = overrides_of(settings) if settings else None
    report = check_grid(store, grid, experiment, plugins, overrides=wishes)
    return said(report.findings), f"{report.numbers} stored numbers checked by {len(report.tallies)} checks"


def said(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Findings as sentences, those that are kept with the reason."""
    return tuple(
        f"{finding.severity.upper()} {finding.check}: {finding.message}"
        + ("" if finding.acknowledged is None else f" (kept because {finding.acknowledged})")
        for finding in findings
    )


def troubles(grid: Grid) -> tuple[str, ...]:
    """Cells that ended badly, each with the reason; `LISTED` of them and the number of the others."""
    found = [
        f"{group.task} × {group.initializer}, seed {result.seed}: {result.status}"
        + (f" ({reason_of(result.error)})" if result.error and result.error.strip() else "")
        for group in grid.groups.values()
        for result in group.seeds
        if result.status not in ("finished", "missing", "running")
    ]
    more = [f"and {len(found) - LISTED} more; `bench status` lists them"] if len(found) > LISTED else []
    return (*found[:LISTED], *more)


def provenance(store: Store, cell_ids: Collection[str]) -> dict[str, list[str]]:
    """What the numbers were made with: each distinct value and how many cells have it."""
    query = "select count(*), device, execution, provenance from cells where cell_id in (select unnest(?)) group by all"
    counted: dict[str, Counter[str]] = {}
    for n, device, execution, text in store.ask(query, [list(cell_ids)]):
        for key, value in {"device": device, "execution": execution, **_flat(json.loads(text or "{}"))}.items():
            if value:
                counted.setdefault(key, Counter())[value] += n
    return {key: [f"{value} ({n} cells)" for value, n in counts.most_common()] for key, counts in counted.items()}


def _flat(value: Mapping[str, Any]) -> dict[str, str]:
    """Nested provenance on one level, as text."""
    flat = {}
    for key, item in value.items():
        if isinstance(item, Mapping):
            flat[key] = ", ".join(f"{name} {part}" for name, part in item.items() if part is not None)
        elif item not in (None, [], ""):
            flat[key] = ", ".join(map(str, item)) if isinstance(item, list) else str(item)
    return flat


def _ids(grid: Grid) -> list[str]:
    return [result.cell_id for group in grid.groups.values() for result in group.seeds if result.cell_id]
