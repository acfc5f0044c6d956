"""Seeds: lost, diverged, counted twice, or without any effect."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from leaderboard.aggregate import Group, SeedResult, TaskFacts
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, say
from leaderboard.checks.registry import on_store
from leaderboard.checks.stored.evidence import StoreEvidence, cell, digest, listed, named, ranked_metrics

PENDING = frozenset({"missing", "running"})
"""Statuses that the same command, given again, will mend."""


@on_store("DB-NONFINITE")
def not_finite(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """A value that is no finite number."""
    for task, group in evidence.groups():
        lost = {metric.name: _diverged(group, metric.name) for metric in ranked_metrics(task)}
        hit = {metric: seeds for metric, seeds in lost.items() if seeds}
        tally.in_range(len(lost) - len(hit))
        if hit:
            yield _not_finite(group, hit)


def _diverged(group: Group, metric: str) -> list[SeedResult]:
    """Seeds that were trained and have no finite value."""
    return [
        result
        for result in group.seeds
        if result.status == "diverged"
        or (result.status == "finished" and not math.isfinite(result.finals.get(metric, 0.0)))
    ]


def _not_finite(group: Group, hit: Mapping[str, list[SeedResult]]) -> Finding:
    metric, worst = max(hit.items(), key=lambda item: len(item[1]))
    n, planned = len(group.values(metric)), len(group.seeds)
    return say(
        f"{named(group)}: {len(worst)} of {planned} seeds diverged; any mean of {metric} is over {n}",
        *(cell(group, r.finals.get(metric, r.status), metric, r.seed) for r in worst), severity=Severity.ERROR,
        arithmetic=f"failure rate {len(worst)}/{planned} = {100 * len(worst) / planned:.0f} % ({listed(hit)})",
        could=[Explanation("a learning rate too high for some seeds", "a result too: show the rate")],
        pattern="seeds that diverged",
    )  # fmt: skip


@on_store("DB-N")
def lost_seeds(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """Rows of one column stand on different numbers of runs or tasks."""
    for task, groups in evidence.columns():
        metric = task.primary
        if metric is None or not groups:
            continue
        absent = {group.initializer: _absent(group, metric.name) for group in groups}
        gaps = {name: statuses for name, statuses in absent.items() if statuses}
        tally.ok(len(groups) - len(gaps))
        if gaps:
            yield _lost(task, groups, gaps)


def _absent(group: Group, metric: str) -> Counter[str]:
    """Status → seeds without numbers."""
    return Counter({status: n for status, n in group.counts(metric).items() if status != "diverged"})


def _lost(task: TaskFacts, groups: list[Group], gaps: Mapping[str, Counter[str]]) -> Finding:
    n = {group.initializer: len(group.seeds) - gaps.get(group.initializer, Counter()).total() for group in groups}
    over = not any(PENDING.intersection(statuses) for statuses in gaps.values())
    unequal = len(set(n.values())) > 1
    reasons = Counter[str]()
    for statuses in gaps.values():
        reasons.update(statuses)
    told = ", ".join(f"{count} {status}" for status, count in reasons.most_common())
    rows = "rows stand on unequal n" if unequal else "every row lost as many seeds"
    return say(
        f"{task.name}: {told} of {sum(len(g.seeds) for g in groups)} planned cells; {rows}",
        *(cell(g, f"n = {n[g.initializer]} of {len(g.seeds)}") for g in groups if g.initializer in gaps),
        arithmetic=listed((f"{name} n = {count}" for name, count in n.items()), 12),
        could=[Explanation("the run has not ended", "give the same command again", not over)],
        pattern="planned seeds without numbers", severity=Severity.ERROR if over and unequal else Severity.WARNING,
        note="" if not over else "Only shared seeds can be paired; `bench status` says why cells failed.",
    )  # fmt: skip


@on_store("DB-DUPSEED")
def repeated(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """One seed counted twice, or seeds that change nothing."""
    for task, group in evidence.groups():
        twice = [seed for seed, count in Counter(result.seed for result in group.seeds).items() if count > 1]
        copies = _copies(task, group)
        tally.ok(len(group.seeds) - len(twice) - sum(len(results) - 1 for results in copies))
        if twice:
            yield _twice(group, twice)
        for results in copies:
            yield _equal(task, group, results)


def continuous(task: TaskFacts, metric: str, value: float) -> bool:
    """Whether two seeds could hardly share this value by chance."""
    facts = task.metric(metric)
    if facts is None or facts.unit == "percent" or not math.isfinite(value):
        return False
    return value not in (facts.lower, facts.upper) and not (value * 1024).is_integer()


def _copies(task: TaskFacts, group: Group) -> list[list[SeedResult]]:
    """Seeds with equal finals, those of one value together."""
    same: dict[tuple[tuple[str, str], ...], list[SeedResult]] = {}
    for result in group.seeds:
        if result.status == "finished" and any(continuous(task, name, v) for name, v in result.finals.items()):
            key = tuple(sorted((name, float(value).hex()) for name, value in result.finals.items()))
            same.setdefault(key, []).append(result)
    return [found for results in same.values() if len(found := list({r.seed: r for r in results}.values())) > 1]


def _twice(group: Group, seeds: list[int]) -> Finding:
    shown = [result for result in group.seeds if result.seed in seeds]
    return say(
        f"{named(group)}: seed {listed(seeds)} stands twice in one mean",
        *(cell(group, f"cell {result.cell_id[:12]}", seed=result.seed) for result in shown), severity=Severity.ERROR,
        arithmetic=f"{len(group.seeds)} cells, {len({r.seed for r in group.seeds})} different seeds",
        could=[Explanation("two specs under one name", "see DB-SPECDRIFT", True)], pattern="seeds counted twice",
        basis=digest(sorted(r.finals.items()) for r in shown),
    )  # fmt: skip


def _equal(task: TaskFacts, group: Group, results: list[SeedResult]) -> Finding:
    metric = next(name for name, value in results[0].finals.items() if continuous(task, name, value))
    value = results[0].finals[metric]
    told = f"agree to the last bit in all {len(results[0].finals)} metrics: is the seed used?"
    return say(
        f"{named(group)}: seeds {listed(r.seed for r in results)} {told}",
        *(cell(group, repr(value), metric, result.seed) for result in results), severity=Severity.ERROR,
        arithmetic=f"{metric} = {value!r} = {value.hex()} on {len(results)} seeds",
        could=(
            Explanation("a task and an initialiser without any randomness", "then one seed is all there is, n = 1"),
            Explanation("a saturated metric", f"{metric} is on no bound of its range"),
        ),
        pattern="seeds that change nothing",
    )  # fmt: skip


@on_store("SINGLE")
def single(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """Comparisons of single runs."""
    alone: list[Group] = []
    for task, groups in evidence.columns():
        metric = task.primary
        if metric is None or len(groups) < 2:
            continue
        lonely = [group for group in groups if len(group.values(metric.name)) == 1]
        tally.ok(len(groups) - len(lonely))
        alone += lonely
    if alone:
        yield say(
            f"{len(alone)} rows stand on one seed each: {listed(map(named, alone))}",
            *(cell(group, "n = 1") for group in alone), pattern="single seeds",
            arithmetic="s² = Σ (x − x̄)² / (n − 1) is 0/0 at n = 1: no gap to these rows has an error bar",
            note="`bench run SPEC --seeds 5` adds the others; what is finished is reused.",
        )  # fmt: skip
