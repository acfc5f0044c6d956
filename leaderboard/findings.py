"""A page of answers: for each experiment its question, what each outcome would mean, and what the store says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmark.parameters import Metric
from leaderboard.axes import arm
from leaderboard.compare import Line, Report, Terms, Verdict, compare_with_baseline
from leaderboard.reading import load_grid
from leaderboard.render import comparison, search
from leaderboard.render.words import completeness
from leaderboard.report import troubles
from leaderboard.search import find
from leaderboard.stats import seeds
from leaderboard.tables import build, matching

if TYPE_CHECKING:
    from benchmark.spec.load import LoadedExperiment
    from benchmark.store import Store
    from leaderboard.aggregate import Grid

VERDICTS = {
    "better": "better",
    "worse": "worse",
    "practically equal": "practically equal",
    "undecided": "cannot be told apart",
    "not ranked": "different",
}
"""Verdict → how a sentence says it."""
SHORT = {
    "better": "better than",
    "worse": "worse than",
    "practically equal": "practically equal to",
    "undecided": "not to be told from",
    "not ranked": "different from",
}
"""The same before a list of others."""
RECORDED = {
    "drift.attention": "Drift of attention since the start, E‖P_t − P_0‖_F / ‖P_0‖_F",
    "retention.mass": "Attention on the pattern at the end",
    "retention.retention": "Retention at the end",
}
"""What probes record that is compared here → its title."""
TURNED: dict[Verdict, Verdict] = {"better": "worse", "worse": "better"}
"""A verdict seen from the other side."""


def page(store: Store, experiments: Sequence[LoadedExperiment], margin: float | None, first: int = 3) -> str:
    """The answers to these experiments as Markdown; `margin`: differences below it do not matter, in metric units."""
    return "\n".join(part for experiment in experiments for part in section(store, experiment, margin, first))


def section(store: Store, experiment: LoadedExperiment, margin: float | None, first: int) -> list[str]:
    """Lines of one experiment."""
    spec, grid = experiment.experiment, load_grid(store, experiment)
    lines = [f"## {spec.title or spec.name}", "", f"`{spec.name}`, profile `{grid.profile}`. {spec.description}", ""]
    lines += [f"* If {outcome}: {meaning}." for outcome, meaning in spec.readings.items()]
    grid_board = build(grid)
    lines += ["", f"{completeness(grid_board)} Data {grid_board.digest}", ""]
    if spec.claims and any(arm(name)[1] for name in (*grid.initializers, *(task.name for task in grid.tasks))):
        return [*lines, search.markdown(find(store, experiment, first))]
    reports, moved = questions(grid, Terms(margin=margin)), drifts(store, grid)
    if not reports:
        return [*lines, "Nothing can be compared yet.", ""]
    absent = unmeasured(grid)
    told = [*in_short(reports), *(f"* {one}." for one in troubles(grid))]
    told += [*([f"* Not measured: {absent}."] if absent else []), "", "In full:", ""]
    return [*lines, *told, *(f"* {one}" for report in [*reports, *moved] for one in answers(report)), ""]


def questions(grid: Grid, terms: Terms) -> list[Report]:
    """The experiment's comparisons, or every initialiser with the baseline; those with something to compare."""
    asked = grid.questions or dict.fromkeys(grid.initializers[1:], (grid.initializers[0],))
    return [
        report
        for first, against in asked.items()
        for second in matching(grid.initializers, against)
        for report in compare_with_baseline(grid, [first], second, terms)
        if report.lines
    ]


def drifts(store: Store, grid: Grid) -> list[Report]:
    """The same questions about the attention at the end of training, where probes have recorded it."""
    query = (
        "select cell_id, probe || '.' || metric, arg_max(value, step) from probes where layer is null and head is null "
        "and cell_id in (select unnest(?)) group by all"
    )
    con = store.connect()
    try:
        rows = con.execute(query, [[r.cell_id for group in grid.groups.values() for r in group.seeds]]).fetchall()
    finally:
        con.close()
    recorded: dict[str, dict[str, float]] = {}
    for cell, name, value in rows:
        if name in RECORDED:
            recorded.setdefault(cell, {})[name] = value
    if not recorded:
        return []
    groups = {
        key: replace(group, seeds=tuple(replace(r, finals=recorded.get(r.cell_id, {})) for r in group.seeds))
        for key, group in grid.groups.items()
    }
    metrics = tuple(Metric(name=name, title=title, direction="none") for name, title in RECORDED.items())
    tasks = tuple(replace(task, metrics=metrics) for task in grid.tasks)
    return questions(replace(grid, groups=groups, tasks=tasks), Terms(metrics=tuple(RECORDED)))


def in_short(reports: Sequence[Report]) -> list[str]:
    """One sentence for each task: whom the arm that is asked about is better than, equal to, and not told from."""
    pairs = [(report.first, report.second) for report in reports]
    turned = len({first for first, _ in pairs}) > len({second for _, second in pairs})  # many arms, one to compare with
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for report in reports:
        about, other = (report.second, report.first) if turned else (report.first, report.second)
        for line in report.lines:
            said = SHORT[line.verdict] if not turned else SHORT[TURNED.get(line.verdict, line.verdict)]
            found.setdefault((line.task, about), {}).setdefault(said, []).append(f"`{other}`")
    told = {key: [f"{said} {', '.join(others)}" for said, others in sorted(by.items())] for key, by in found.items()}
    return [f"* **{task}: `{about}` is {'; '.join(parts)}.**" for (task, about), parts in told.items()]


def answers(report: Report) -> list[str]:
    """One sentence for each task of a question."""
    return [sentence(report, line, row) for line, row in zip(report.lines, comparison.rows(report), strict=True)]


def sentence(report: Report, line: Line, row: Sequence[str]) -> str:
    """Means with spreads, the difference with its interval, the verdict, and on how many seeds the order is this."""
    _, metric, first, second, difference, _, p = row
    said = VERDICTS[line.verdict]
    told = "" if line.verdict == "practically equal" else f"; p {p}"
    arms = f"`{report.first}` {first} against `{report.second}` {second}"
    return f"{line.task}, {metric}: {arms}, difference {difference}: **{said}**{told}; {order(line)}."


def order(line: Line) -> str:
    """On how many seeds alone the arms stand in the order of the mean: what a single seed would have told."""
    mean = line.comparison.difference or 0.0
    apart = [line.first[seed] - line.second[seed] for seed in line.first.keys() & line.second.keys()]
    if not mean:
        return f"equal on {sum(not one for one in apart)} of {seeds(len(apart))}"
    counts = {
        "this order": sum(one * mean > 0 for one in apart),
        "equal": sum(one == 0 for one in apart),
        "the other": sum(one * mean < 0 for one in apart),
    }
    return f"{', '.join(f'{name} on {k}' for name, k in counts.items() if k)} of {seeds(len(apart))}"


def unmeasured(grid: Grid) -> str:
    """Tasks and initialisers that have planned cells and no number, by task."""
    found: dict[str, list[str]] = {}
    for (task, initializer), group in grid.groups.items():
        if group.seeds and not any(result.status == "finished" for result in group.seeds):
            found.setdefault(task, []).append(initializer)
    everything = [name for name in found if len(found[name]) == len([key for key in grid.groups if key[0] == name])]
    return "; ".join(name if name in everything else f"{name} ({', '.join(arms)})" for name, arms in found.items())
