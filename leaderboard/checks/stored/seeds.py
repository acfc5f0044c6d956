"""Seeds: lost, diverged, counted twice, or without any effect."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from leaderboard.aggregate import Group, SeedResult, TaskFacts
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally
from leaderboard.checks.registry import on_store, store_check
from leaderboard.checks.stored.evidence import StoreEvidence, cell, digest, listed, named, ranked_metrics

PENDING = frozenset({"missing", "running"})
"""Statuses that the same command, given again, will mend."""


@on_store("DB-NONFINITE")
def not_finite(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """A mean over the seeds that survived is no mean over the seeds.

    Formula: seeds of a group that diverged, or whose final value of a metric with a direction is NaN or infinite;
    failure rate = those / planned seeds. An error: a NaN sorts above every number in SQL, and a dropped one shrinks n.
    Source: duckdb 2.0.1 (`order by x desc` puts NaN first); mlflow/mlflow#25640; wandb/senpai#2831.
    Power: complete. Blind spot: metrics without a direction, which nobody ranks.
    """
    for task, group in evidence.groups():
        lost = {metric.name: _diverged(group, metric.name) for metric in ranked_metrics(task)}
        hit = {metric: seeds for metric, seeds in lost.items() if seeds}
        tally.ok(len(lost) - len(hit))
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
    return Finding(
        severity=Severity.ERROR,
        message=f"{named(group)}: {len(worst)} of {planned} seeds diverged; any mean of {metric} is over {n}",
        cells=tuple(cell(group, r.finals.get(metric, r.status), metric, r.seed) for r in worst),
        arithmetic=f"failure rate {len(worst)}/{planned} = {100 * len(worst) / planned:.0f} % ({listed(hit)})",
        explanations=(Explanation("a learning rate too high for some seeds", "a result too: show the rate"),),
        pattern="seeds that diverged",
    )


@on_store("DB-N")
def lost_seeds(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """Every planned seed must be there, and the rows of a column must stand on the same ones.

    Formula: seeds with numbers (diverged ones included) = seeds planned, for the primary metric of each task.
    Severity: an error where failed, killed or timed-out seeds leave the rows of one column with unequal n; a warning
    where seeds have not been run yet, or where every row lost as many.
    Source: stanford-crfm/helm#1379 and #2301 (rows over different runs); embeddings-benchmark/mteb#4263.
    Power: complete against the experiment. Blind spot: seeds that were never declared.
    """
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
    return Finding(
        severity=Severity.ERROR if over and unequal else Severity.WARNING,
        message=f"{task.name}: {told} of {sum(len(g.seeds) for g in groups)} planned cells; "
        + ("rows stand on unequal n" if unequal else "every row lost as many seeds"),
        cells=tuple(cell(g, f"n = {n[g.initializer]} of {len(g.seeds)}") for g in groups if g.initializer in gaps),
        arithmetic=listed((f"{name} n = {count}" for name, count in n.items()), 12),
        explanations=(Explanation("the run has not ended", "give the same command again", not over),),
        pattern="planned seeds without numbers",
        note="" if not over else "Only shared seeds can be paired; `bench status` says why cells failed.",
    )


@store_check("DB-DUPSEED", 11, "one seed counted twice, or seeds that change nothing", Severity.ERROR)
def repeated(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """Repeating a run adds nothing to n: a mean over copies has the spread of nothing.

    Formula: a seed that occurs twice among the cells of one mean; or two seeds of one task × initialiser whose finals
    are equal to the last bit in every metric, at least one of them continuous. Continuous: not in percent, on neither
    bound, and no multiple of 1/1024, so that a saturated accuracy (100, or exactly the share of an interpolator) and a
    loss of 0 say nothing.
    Source: MLPerf logging, seed_checker (mlcommons/logging@7bbf792); SlopDotCash/asi#346 (seeds 0,1,2,0,1,2 taken for
    n = 6); ivadomed/ivadomed#366 (one split in all runs).
    Power: complete for seeds that are not used at all; two float32 losses agree by chance once in about 2^20 pairs.
    Blind spot: a seed that moves the weights but not the data, or the other way round; tasks with accuracies only.
    """
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
    return Finding(
        severity=Severity.ERROR,
        message=f"{named(group)}: seed {listed(seeds)} stands twice in one mean",
        cells=tuple(cell(group, f"cell {result.cell_id[:12]}", seed=result.seed) for result in shown),
        arithmetic=f"{len(group.seeds)} cells, {len({r.seed for r in group.seeds})} different seeds",
        explanations=(Explanation("two specs under one name", "see DB-SPECDRIFT", True),),
        pattern="seeds counted twice",
        basis=digest(sorted(r.finals.items()) for r in shown),
    )


def _equal(task: TaskFacts, group: Group, results: list[SeedResult]) -> Finding:
    metric = next(name for name, value in results[0].finals.items() if continuous(task, name, value))
    value = results[0].finals[metric]
    return Finding(
        severity=Severity.ERROR,
        message=f"{named(group)}: seeds {listed(r.seed for r in results)} agree to the last bit in all "
        f"{len(results[0].finals)} metrics: is the seed used?",
        cells=tuple(cell(group, repr(value), metric, result.seed) for result in results),
        arithmetic=f"{metric} = {value!r} = {value.hex()} on {len(results)} seeds",
        explanations=(
            Explanation("a task and an initialiser without any randomness", "then one seed is all there is, n = 1"),
            Explanation("a saturated metric", f"{metric} is on no bound of its range"),
        ),
        pattern="seeds that change nothing",
    )


@on_store("SINGLE")
def single(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """With one seed in a row of a column nothing about that row can be tested; the table shows it without bold.

    Formula: n = 1 finite value of the primary metric, in a column with at least two rows; one finding for all.
    Source: as above. Power: complete. Blind spot: columns with one row, where nothing is compared.
    """
    alone: list[Group] = []
    for task, groups in evidence.columns():
        metric = task.primary
        if metric is None or len(groups) < 2:
            continue
        lonely = [group for group in groups if len(group.values(metric.name)) == 1]
        tally.ok(len(groups) - len(lonely))
        alone += lonely
    if alone:
        yield Finding(
            f"{len(alone)} rows stand on one seed each: {listed(map(named, alone))}",
            cells=tuple(cell(group, "n = 1") for group in alone),
            arithmetic="s² = Σ (x − x̄)² / (n − 1) is 0/0 at n = 1: no gap to these rows has an error bar",
            pattern="single seeds",
            note="`bench run SPEC --seeds 5` adds the others; what is finished is reused.",
        )
