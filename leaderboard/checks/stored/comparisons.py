"""Comparisons: which way is better, whether a gap is more than noise, and what was published or exported."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from benchmark.parameters import Metric
from leaderboard.aggregate import Group, TaskFacts
from leaderboard.checks.finding import Cell, Explanation, Finding, Severity, Tally, say
from leaderboard.checks.registry import on_store
from leaderboard.checks.stored.evidence import StoreEvidence, cell, digest, listed, ranked_metrics
from leaderboard.lexicon.phrases import says


@on_store("DIR")
def direction(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """A metric whose direction is unknown or contradictory."""
    stated: dict[str, dict[str, list[str]]] = {}
    for task, groups in evidence.columns():
        for metric in ranked_metrics(task):
            stated.setdefault(metric.name, {}).setdefault(metric.direction, []).append(task.name)
        if task.primary is None or not groups:
            continue
        if not ranked_metrics(task):
            tally.skip("no metric has a direction (is the task's family at hand? --plugin)")
        elif task.primary.direction == "none":
            yield _no_direction(task, task.primary, groups)
        elif beaten := _beaten(task, task.primary, groups):
            yield beaten
        else:
            tally.ok()
    for name, ways in stated.items():
        if len(ways) > 1:
            yield _contradiction(name, ways)


def _contradiction(name: str, ways: Mapping[str, list[str]]) -> Finding:
    told = "; ".join(f"{way} on {listed(tasks)}" for way, tasks in ways.items())
    return say(
        f"metric '{name}' has two directions: {told}",
        *(Cell(way, tasks[0], column=name, label=f"{tasks[0]} · {name}") for way, tasks in ways.items()),
        arithmetic=told, could=[Explanation("two quantities of one name", "give one of them another name")],
        pattern="contradictory directions", severity=Severity.ERROR,
    )  # fmt: skip


def _no_direction(task: TaskFacts, metric: Metric, groups: list[Group]) -> Finding:
    return say(
        f"{task.name}: no direction for its primary metric '{metric.name}'; nothing is ranked",
        cell(groups[0], "none", metric.name), pattern="no direction",
        arithmetic=f"with a direction: {listed(other.name for other in ranked_metrics(task))}",
        could=[Explanation("another metric was meant", "`primary:` in the task's file names it", True)],
    )  # fmt: skip


def _beaten(task: TaskFacts, metric: Metric, groups: list[Group]) -> Finding | None:
    """The note about a chance row that beats everything trained."""
    sign = 1.0 if metric.direction == "max" else -1.0
    means = {group.initializer: mean(group, metric.name) for group in groups}
    trained = {name: value for name, value in means.items() if value is not None}
    for reference, row in task.references.items():
        value = row.get(metric.name)
        known = says("chance", reference.replace("_", " "))
        if value is None or not known or not trained or any(sign * v >= sign * value for v in trained.values()):
            continue
        best = max(trained, key=lambda name: sign * trained[name])
        return say(
            f"{task.name}: '{reference}' ({value:.6g}) is better in {metric.name} than everything trained",
            *(cell(group, repr(means[group.initializer]), metric.name) for group in groups), severity=Severity.INFO,
            arithmetic=f"best mean {trained[best]:.6g} ({best}), {metric.direction} is better",
            could=[Explanation("the direction is wrong", f"declared {metric.direction}")],
            pattern="chance beats everything trained",
        )  # fmt: skip
    return None


def mean(group: Group, metric: str) -> float | None:
    """Mean of the finite values."""
    values = list(group.values(metric).values())
    return math.fsum(values) / len(values) if values else None


@on_store("NOISE")
def undecided(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """A gap that its spread does not support."""
    found: list[Finding] = []
    for task, groups in evidence.columns():
        metric = task.primary
        if metric is None or metric.direction == "none":
            continue
        sign = 1.0 if metric.direction == "max" else -1.0
        means = [(sign * value, group) for group in groups if (value := mean(group, metric.name)) is not None]
        top = [group for _, group in sorted(means, key=lambda item: -item[0])[:2]]
        if len(top) < 2:
            tally.skip("one row")
        elif min(len(group.values(metric.name)) for group in top) < 3:
            tally.skip("fewer than three seeds")
        elif close := _close(top[0], top[1], metric):
            found.append(close)
        else:
            tally.ok()
    if len(found) > 1:
        told = f"in {len(found)} columns the best is not shown to be better than the second; first {found[0].message}"
        arithmetic = "; ".join(f"{f.cells[0].table}: {f.arithmetic}" for f in found)
        yield replace(found[0], message=told, cells=tuple(c for f in found for c in f.cells), arithmetic=arithmetic)
    else:
        yield from found


def _close(best: Group, second: Group, metric: Metric) -> Finding | None:
    from leaderboard.stats import compare

    result = compare(best.values(metric.name), second.values(metric.name))
    if result.p is None or result.p < 0.05:
        return None
    interval = result.interval
    span = f", 95 % interval [{interval.low:.4g}, {interval.high:.4g}]" if interval else ""
    shown = f"{best.initializer} is not shown to be better than {second.initializer}"
    return say(
        f"{best.task}: {shown} in {metric.name} ({result.n} seeds)",
        *(cell(group, f"{mean(group, metric.name):.6g}", metric.name) for group in (best, second)),
        arithmetic=f"difference {result.difference:.4g}{span}, p = {result.p:.2g} ({result.method})",
        pattern="the best is not shown to be better than the second", severity=Severity.INFO,
    )  # fmt: skip


@on_store("XT-DUP")
def published(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """One quantity printed twice with two values."""
    if not evidence.grid.claims:
        tally.skip("the experiment names no published numbers")
        return
    from leaderboard import claims
    from leaderboard.published import PUBLISHED_PROFILE, verdict

    if evidence.grid.profile != PUBLISHED_PROFILE:
        tally.skip(f"measured at profile {evidence.grid.profile}, published at {PUBLISHED_PROFILE}")
        return
    for claim_set in [claims.load(name) for name in evidence.grid.claims]:
        for task, group in evidence.groups():
            for metric in task.metrics:
                values = list(group.values(metric.name).values())
                for claim in claim_set.find(task=task.name, initializer=group.initializer, metric=metric.name):
                    said, reason = verdict(claim, evidence.grid.profile, values) if claim.printed else ("", "no number")
                    if said == "differs":
                        where = f"{claim_set.id}, {claim.where.table}"
                        yield _differs(group, metric.name, claim.printed, where, reason)
                    elif said == "agrees":
                        tally.ok()
                    else:
                        tally.skip(reason)


def _differs(group: Group, metric: str, printed: str, where: str, reason: str) -> Finding:
    measured = mean(group, metric)
    return say(
        f"{group.initializer} on {group.task}, {metric}: {measured:.6g} measured, {printed} in {where}",
        cell(group, repr(measured), metric), Cell(printed, where, group.initializer, metric),
        arithmetic=f"{reason} (95 % prediction interval, n = {len(group.values(metric))})",
        could=(
            Explanation("choices that the paper leaves open", "optimiser, split, selection of the epoch"),
            Explanation("a slip in the paper", "bench check with its claims alone"),
        ),
        pattern="measured and published differ", basis=digest(sorted(group.values(metric).items())),
    )  # fmt: skip


@on_store("STALE")
def stale(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """An exported table that is not what the store says now."""
    if not evidence.exported:
        tally.skip("no exported table named (--table FILE)")
        return
    from leaderboard.api import check_file

    for path in evidence.exported:
        moved = check_file(path, evidence.store, evidence.experiment, evidence.grid.profile, evidence.plugins)
        if not moved:
            tally.ok()
            continue
        yield say(
            f"{path} is not what the store says now: {moved[0]}", Cell(path.name, str(path)),
            arithmetic="; ".join(moved[:3]) + (f"; and {len(moved) - 3} more" if len(moved) > 3 else ""),
            could=[Explanation("cells were added since", "write it again: bench leaderboard --output")],
            pattern="stale exports", path=str(path), basis=digest(moved), severity=Severity.ERROR,
        )  # fmt: skip
