"""Two initialisers over all tasks, or two stores over all cells: differences, intervals and verdicts in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from benchmark.errors import UsageError
from benchmark.parameters import Metric
from leaderboard.aggregate import Grid, Group
from leaderboard.stats import (
    MIN_SEEDS,
    Comparison,
    Scale,
    compare,
    equivalence_p,
    holm,
    minimum_detectable_difference,
    seeds,
)
from leaderboard.tables import chosen

Verdict = Literal["better", "worse", "practically equal", "undecided", "not comparable", "not ranked"]
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
    scale: Scale = "raw"
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
    """Smallest true difference this many seeds of this spread would find with 80 % probability, before Holm."""

    @property
    def identical(self) -> int:
        """Seeds on which both arms have the same number to the last bit."""
        return sum(self.first[seed] == self.second[seed] for seed in self.first.keys() & self.second.keys())


@dataclass(frozen=True)
class Report:
    """All lines, with Holm over them."""

    first: str
    second: str
    profile: str
    lines: tuple[Line, ...]
    terms: Terms
    family: int = 0
    """Tests that were corrected together, those of other reports included."""

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
        if total > 1 and set(counts) in ({"better"}, {"worse"}):
            return f"{self.first} is consistently {next(iter(counts))} than {self.second}: {total} of {total}."
        said = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _ORDER if verdict in counts)
        return f"{self.first} against {self.second}: of {total} comparison{'s' * (total != 1)}, {said or 'none'}."


_ORDER: tuple[Verdict, ...] = ("better", "worse", "practically equal", "undecided", "not comparable", "not ranked")


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
    return _report(grid.profile, first, second, _with_holm(lines, terms), terms)


def compare_with_baseline(grid: Grid, names: Sequence[str], baseline: str, terms: Terms | None = None) -> list[Report]:
    """Each of `names` against the baseline, all tests corrected together; those with no common task are left out."""
    terms = terms or Terms()
    lines = {name: found for name in names if name != baseline and (found := _lines(grid, name, baseline, terms))}
    judged = iter(_with_holm([line for found in lines.values() for line in found], terms))
    reports = [
        _report(grid.profile, name, baseline, tuple(next(judged) for _ in found), terms)
        for name, found in lines.items()
    ]
    return [replace(report, family=sum(map(len, lines.values()))) for report in reports]


def _lines(grid: Grid, first: str, second: str, terms: Terms) -> list[Line]:
    return [
        _line(task, metric, None, a, b, terms)
        for task in chosen([task.name for task in grid.tasks], terms.tasks, "task")
        if (a := grid.group(task, first)) and (b := grid.group(task, second))
        for metric in _metrics(grid, task, terms)
    ]


def _report(profile: str, first: str, second: str, lines: tuple[Line, ...], terms: Terms) -> Report:
    return Report(first, second, profile, lines, terms, len(lines))


def compare_grids(first: Grid, second: Grid, names: tuple[str, str], terms: Terms | None = None) -> Report:
    """The same task × initialiser in two stores, for all that both have. Raises UsageError when that is nothing."""
    terms = terms or Terms()
    if first.profile != second.profile:
        raise UsageError(f"profiles differ: {first.profile} and {second.profile}; name one with --profile")
    keys = [key for key in first.groups if key in second.groups]
    tasks = chosen(list(dict.fromkeys(task for task, _ in keys)), terms.tasks, "task")
    initializers = chosen(list(dict.fromkeys(name for _, name in keys)), terms.initializers, "initialiser")
    lines = [
        _line(task, metric, name, first.groups[task, name], second.groups[task, name], terms)
        for task, name in keys
        if task in tasks and name in initializers
        for metric in _metrics(first, task, terms)
    ]
    if not lines:
        raise UsageError(f"{names[0]} and {names[1]} have no task × initialiser in common")
    return _report(first.profile, *names, _with_holm(lines, terms), terms)


def _metrics(grid: Grid, task: str, terms: Terms) -> list[Metric]:
    facts = grid.task(task)
    if not terms.metrics:
        return [facts.primary] if facts.primary else []
    known = list(dict.fromkeys(metric.name for facts in grid.tasks for metric in facts.metrics))
    wanted = chosen(known, terms.metrics, "metric")
    return [metric for metric in facts.metrics if metric.name in wanted]


def _line(task: str, metric: Metric, initializer: str | None, a: Group, b: Group, terms: Terms) -> Line:
    """The line before Holm; its verdict is filled in by `_with_holm`."""
    first, second = a.values(metric.name), b.values(metric.name)
    comparison = compare(first, second, scale=terms.scale)
    lost = [
        (side, n) for side, group in (("first", a), ("second", b)) if (n := group.counts(metric.name).get("diverged"))
    ]
    reason = "; ".join(f"{seeds(n)} of the {side} diverged" for side, n in lost)
    detectable = None
    if comparison.std:
        detectable = minimum_detectable_difference(comparison.std, comparison.n, terms.alpha)
    return Line(task, metric, initializer, first, second, comparison, "undecided", reason, detectable=detectable)


def _with_holm(lines: Sequence[Line], terms: Terms) -> tuple[Line, ...]:
    """Adjusted p-values and verdicts; a line without a p still counts in the family."""
    tested = [line.comparison.p for line in lines if line.comparison.p is not None]
    adjusted = iter(holm(tested, family=len(lines)))
    return tuple(_judged(line, None if line.comparison.p is None else next(adjusted), terms) for line in lines)


def _judged(line: Line, p: float | None, terms: Terms) -> Line:
    equal = equivalence_p(line.comparison, terms.margin) if terms.margin else None
    verdict, reason = _verdict(line, p, equal, terms)
    reason = "; ".join(part for part in (reason, line.reason, line.comparison.note) if part)
    return replace(line, p_holm=p, equivalence_p=equal, verdict=verdict, reason=reason)


def _verdict(line: Line, p: float | None, equal: float | None, terms: Terms) -> tuple[Verdict, str]:
    comparison = line.comparison
    if comparison.difference is None:
        return "not comparable", "no common value"
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
    survivor = "first" if better else "second"
    if f"of the {survivor} diverged" in line.reason:
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
                "identical_seeds": line.identical,
                "verdict": line.verdict,
                "reason": line.reason,
            }
            for line in report.lines
        ],
    }
