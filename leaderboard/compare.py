"""Two initialisers over all tasks, or two stores over all cells: differences, intervals and verdicts in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from benchmark.errors import UsageError
from benchmark.parameters import Metric
from leaderboard import rounding
from leaderboard.aggregate import Grid, Group
from leaderboard.stats import (
    MIN_SEEDS,
    Comparison,
    Scale,
    benjamini_hochberg,
    compare,
    equivalence_p,
    holm,
    minimum_detectable_difference,
    seeds,
)
from leaderboard.tables import chosen, common_decimals

Verdict = Literal["better", "worse", "practically equal", "undecided", "not ranked"]
"""Of the first against the second; `not ranked` where the metric has no direction."""


@dataclass(frozen=True)
class Terms:
    """How arms are compared."""

    metrics: tuple[str, ...] = ()
    """Globs; each task's primary metric when empty."""
    tasks: tuple[str, ...] = ()
    initializers: tuple[str, ...] = ()
    """Only for two stores."""
    margin: float | None = None
    """Differences below it do not matter, in the metric's unit; without it nothing is called practically equal."""
    scale: Scale | None = None
    """Scale of every test; each metric's own when absent."""
    alpha: float = 0.05


@dataclass(frozen=True)
class Line:
    """One metric of one task (and, for two stores, of one initialiser)."""

    task: str
    metric: Metric
    initializer: str | None
    first: Mapping[int, float]
    """Seed → finite value."""
    second: Mapping[int, float]
    comparison: Comparison
    """First minus second."""
    verdict: Verdict
    reason: str = ""
    p_holm: float | None = None
    equivalence_p: float | None = None
    detectable: float | None = None
    """Smallest true difference this many seeds of this spread would find with 80 % probability, at the level that the
    first of the question's tests is held to (Holm)."""
    decimals: int = rounding.PERCENT_DECIMALS
    """Decimals of the values, as in every table of the task and metric."""
    q: float | None = None
    """p, adjusted for the false-discovery rate over all questions of a page (Benjamini and Hochberg)."""
    diverged: Mapping[str, int] = field(default_factory=dict)
    """`first` or `second` → how many of its seeds diverged, where some did."""

    @property
    def solved(self) -> tuple[dict[int, bool], dict[int, bool]] | None:
        """Seed → whether it solved the task, for both arms; None where the metric does not say when."""
        if self.metric.solved is None:
            return None
        first, second = ({s: self.metric.solves(v) for s, v in arm.items()} for arm in (self.first, self.second))
        return first, second

    @property
    def tested(self) -> bool:
        """Whether there was something to decide: enough seeds in both arms."""
        return self.comparison.method != "none"

    @property
    def identical(self) -> int:
        """Seeds on which both arms have the same number to the last bit."""
        return sum(self.first[seed] == self.second[seed] for seed in self.first.keys() & self.second.keys())


@dataclass(frozen=True)
class Report:
    """One question: first against second over its lines, which are one family for Holm's correction."""

    first: str
    second: str
    profile: str
    lines: tuple[Line, ...]
    terms: Terms
    absent: tuple[str, ...] = ()
    """`task, metric` for which an arm has no value; no comparison, and no part of the family."""

    @property
    def family(self) -> int:
        """Tests that were corrected together."""
        return sum(line.tested for line in self.lines)

    @property
    def counts(self) -> dict[Verdict, int]:
        """Verdict → lines."""
        return dict(Counter(line.verdict for line in self.lines))

    @property
    def worse(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.verdict == "worse")

    @property
    def summary(self) -> str:
        """`k of T` in words; "consistently" only when every line says the same."""
        total, counts = len(self.lines), self.counts
        if not total:
            return f"{self.first} against {self.second}: nothing to compare yet."
        if total > 1 and set(counts) in ({"better"}, {"worse"}):
            return f"{self.first} is consistently {next(iter(counts))} than {self.second}: {total} of {total}."
        said = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _ORDER if verdict in counts)
        return f"{self.first} against {self.second}: of {total} comparison{'s' * (total != 1)}, {said or 'none'}."


_ORDER: tuple[Verdict, ...] = ("better", "worse", "practically equal", "undecided", "not ranked")


def compare_initializers(grid: Grid, first: str, second: str, terms: Terms | None = None) -> Report:
    """First against second on every task that has both. Raises UsageError for unknown names or no common task."""
    terms = terms or Terms()
    for name in (first, second):
        if name not in grid.initializers:
            chosen(grid.initializers, (name,), "initialiser")
    if first == second:
        raise UsageError(f"'{first}' would be compared with itself; name two initialisers")
    lines = _lines(grid, first, second, terms)
    if not lines:
        raise UsageError(f"no task has both '{first}' and '{second}' (and one of the metrics asked for)")
    return _report(grid.profile, first, second, lines, terms)


def compare_with_baseline(grid: Grid, names: Sequence[str], baseline: str, terms: Terms | None = None) -> list[Report]:
    """Each of `names` against the baseline, a question each; those with no common task are left out."""
    terms = terms or Terms()
    lines = {name: found for name in names if name != baseline and (found := _lines(grid, name, baseline, terms))}
    return [_report(grid.profile, name, baseline, found, terms) for name, found in lines.items()]


def across_questions(reports: Sequence[Report]) -> list[Report]:
    """The same with `q` on every line that has a p: Benjamini and Hochberg over all lines of all questions."""
    tested = [line.comparison.p for report in reports for line in report.lines if line.comparison.p is not None]
    q = iter(benjamini_hochberg(tested))
    return [
        replace(
            report,
            lines=tuple(line if line.comparison.p is None else replace(line, q=next(q)) for line in report.lines),
        )
        for report in reports
    ]


def _lines(grid: Grid, first: str, second: str, terms: Terms) -> list[Line]:
    return [
        _line(task, metric, None, a, b, terms, decimals_of(grid, task, metric))
        for task in chosen([task.name for task in grid.tasks], terms.tasks, "task")
        if (a := grid.group(task, first)) and (b := grid.group(task, second))
        for metric in _metrics(grid, task, terms)
    ]


def decimals_of(grid: Grid, task: str, metric: Metric) -> int:
    """The decimals of a task and metric over all its rows."""
    return common_decimals(
        [group.values(metric.name) for (name, _), group in grid.groups.items() if name == task], metric
    )


def _report(profile: str, first: str, second: str, lines: Sequence[Line], terms: Terms) -> Report:
    """Verdicts for the lines that have two arms; the others are named."""
    there = [line for line in lines if line.comparison.difference is not None]
    absent = tuple(_name(line) for line in lines if line.comparison.difference is None)
    return Report(first, second, profile, _with_holm(there, terms), terms, absent)


def _name(line: Line) -> str:
    return " / ".join(part for part in (line.task, line.initializer, line.metric.title) if part)


def compare_grids(first: Grid, second: Grid, names: tuple[str, str], terms: Terms | None = None) -> Report:
    """The same task × initialiser in two stores, for all that both have. Raises UsageError when that is nothing."""
    terms = terms or Terms()
    if first.profile != second.profile:
        raise UsageError(f"profiles differ: {first.profile} and {second.profile}; name one with --profile")
    keys = [key for key in first.groups if key in second.groups]
    tasks = chosen(list(dict.fromkeys(task for task, _ in keys)), terms.tasks, "task")
    initializers = chosen(list(dict.fromkeys(name for _, name in keys)), terms.initializers, "initialiser")
    lines = [
        _line(
            task,
            metric,
            name,
            first.groups[task, name],
            second.groups[task, name],
            terms,
            decimals_of(first, task, metric),
        )
        for task, name in keys
        if task in tasks and name in initializers
        for metric in _metrics(first, task, terms)
    ]
    if not lines:
        raise UsageError(f"{names[0]} and {names[1]} have no task × initialiser in common")
    return _report(first.profile, *names, lines, terms)


def _metrics(grid: Grid, task: str, terms: Terms) -> list[Metric]:
    facts = grid.task(task)
    if not terms.metrics:
        return [facts.primary] if facts.primary else []
    known = list(dict.fromkeys(metric.name for facts in grid.tasks for metric in facts.metrics))
    wanted = chosen(known, terms.metrics, "metric")
    return [metric for metric in facts.metrics if metric.name in wanted]


def _line(task: str, metric: Metric, initializer: str | None, a: Group, b: Group, terms: Terms, decimals: int) -> Line:
    """The line before Holm; its verdict is filled in by `_with_holm`."""
    first, second = a.values(metric.name), b.values(metric.name)
    comparison = compare(first, second, scale=terms.scale or metric.tested_on, bounds=metric.bounds)
    lost = {
        side: n for side, group in (("first", a), ("second", b)) if (n := group.counts(metric.name).get("diverged"))
    }
    reason = "; ".join(f"{seeds(n)} of the {side} diverged" for side, n in lost.items())
    return Line(
        task, metric, initializer, first, second, comparison, "undecided", reason, decimals=decimals, diverged=lost
    )


def _with_holm(lines: Sequence[Line], terms: Terms) -> tuple[Line, ...]:
    """Adjusted p-values and verdicts; a difference without seed variance has no p, and counts in the family."""
    tested = [line.comparison.p for line in lines if line.comparison.p is not None]
    family = sum(line.tested for line in lines)
    adjusted = iter(holm(tested, family=family))
    return tuple(_judged(line, None if line.comparison.p is None else next(adjusted), terms, family) for line in lines)


def _judged(line: Line, p: float | None, terms: Terms, family: int) -> Line:
    equal = equivalence_p(line.comparison, terms.margin) if terms.margin else None
    verdict, reason = _verdict(line, p, equal, terms)
    reason = "; ".join(part for part in (reason, line.reason, line.comparison.note) if part)
    std, n = line.comparison.std, line.comparison.n
    detectable = minimum_detectable_difference(std, n, terms.alpha / max(family, 1)) if std else None
    return replace(line, p_holm=p, equivalence_p=equal, verdict=verdict, reason=reason, detectable=detectable)


def _verdict(line: Line, p: float | None, equal: float | None, terms: Terms) -> tuple[Verdict, str]:
    comparison = line.comparison
    assert comparison.difference is not None
    if comparison.n < MIN_SEEDS:
        return "undecided", ""
    if equal is not None and equal < terms.alpha:
        return "practically equal", f"|difference| < {terms.margin:g} (TOST p = {equal:.3g})"
    if comparison.method == "identical":
        return "practically equal", "the same on every seed"
    decided = comparison.method == "constant difference" or (p is not None and p < terms.alpha)
    if not decided:
        return "undecided", ""
    if line.metric.direction == "none":
        return "not ranked", "they differ, and the metric has no direction"
    better = (comparison.difference > 0) == (line.metric.direction == "max")
    if ("first" if better else "second") in line.diverged:
        return "undecided", "the better mean is over survivors only"
    return "better" if better else "worse", ""


def as_document(report: Report) -> dict[str, Any]:
    """The report in JSON's own types, full precision."""
    return {
        "first": report.first,
        "second": report.second,
        "profile": report.profile,
        "summary": report.summary,
        "counts": dict(report.counts),
        "terms": asdict(report.terms),
        "family": report.family,
        "absent": list(report.absent),
        "lines": [
            {
                "task": line.task,
                "initializer": line.initializer,
                "metric": line.metric.name,
                "direction": line.metric.direction,
                "first": {str(seed): value for seed, value in sorted(line.first.items())},
                "second": {str(seed): value for seed, value in sorted(line.second.items())},
                **asdict(line.comparison),
                "p_holm": line.p_holm,
                "equivalence_p": line.equivalence_p,
                "detectable": line.detectable,
                "q": line.q,
                "solved": line.solved and [sum(arm.values()) for arm in line.solved],
                "identical_seeds": line.identical,
                "verdict": line.verdict,
                "reason": line.reason,
            }
            for line in report.lines
        ],
    }
