"""Values: out of range, without spread, far from their fellows, or at odds with another metric of the same cell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

from benchmark.parameters import Metric
from leaderboard.aggregate import Group, SeedResult, TaskFacts
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, say
from leaderboard.checks.registry import on_store
from leaderboard.checks.stored.evidence import StoreEvidence, cell, digest, named
from leaderboard.checks.stored.seeds import continuous
from leaderboard.stats import RESOLUTION

PERPLEXITY_TOLERANCE = 1e-4
"""Relative; float32 sums of a million tokens stay well within."""

DEFAULT = 3.5
"""Scaled median absolute deviations from the median."""

BY_CHANCE = {3: 0.010, 4: 0.009, 5: 0.206, 6: 0.155, 7: 0.170, 8: 0.137, 9: 0.148, 10: 0.125}
"""Seeds → share of normal samples that show an outlier by the rule (200 000 draws each)."""

GAP = {3: 0.994, 4: 0.926}
"""Seeds → share of the range beyond which the largest end gap is told (Dixon's Q, two-sided, 1 %)."""


@on_store("DOMAIN")
def out_of_range(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """A value outside its metric's range, or percent mixed with fractions."""
    yield from _scales(evidence)
    for task, group in evidence.groups():
        for metric in task.metrics:
            outside = [result for result in group.seeds if _outside(metric, result.finals.get(metric.name))]
            tally.in_range(len(group.values(metric.name)) - len(outside))
            if outside:
                yield _range(group, metric, outside)


PERCENTAGES = 20.0
"""Least percentage beside which a value up to 1 may be a fraction."""


def _scales(evidence: StoreEvidence) -> Iterator[Finding]:
    """Metrics in percent of which some cells hold a fraction."""
    for task, groups in evidence.columns():
        for metric in task.metrics:
            values = [(g, s, x) for g in groups for s, x in g.values(metric.name).items() if math.isfinite(x)]
            large = [x for _, _, x in values if x > 1]
            if metric.unit != "percent" or not large or min(large) <= PERCENTAGES:
                continue
            small = [(g, s, x) for g, s, x in values if 0 < x <= 1 and min(large) / 1.25 <= 100 * x]
            found = [(g, s, x) for g, s, x in small if not _saturated(task, metric, x)]
            if found:
                yield _mixed_scale(metric, found, large)


def _mixed_scale(metric: Metric, found: Sequence[tuple[Group, int, float]], large: Sequence[float]) -> Finding:
    group, seed, value = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    span = f"from {min(large):.6g} to {max(large):.6g}"
    return say(
        f"{named(group)}, seed {seed}{more}: {metric.name} = {value:.6g} among values {span}, declared in percent",
        *(cell(g, repr(x), metric.name, s) for g, s, x in found), arithmetic=f"100 × {value:.6g} = {100 * value:.6g}",
        could=(
            Explanation("a fraction stored where percent is declared", f"{100 * value:.6g} %", True),
            Explanation("training failed on this seed", f"{value:.6g} % would be its result"),
        ),
        pattern=f"{metric.name} as a fraction among percentages",
    )  # fmt: skip


def _outside(metric: Metric, value: float | None) -> bool:
    if value is None or not math.isfinite(value):
        return False
    low = metric.lower is not None and value < metric.lower - RESOLUTION * max(1.0, abs(metric.lower))
    high = metric.upper is not None and value > metric.upper + RESOLUTION * max(1.0, abs(metric.upper))
    return low or high


def _range(group: Group, metric: Metric, outside: Sequence[SeedResult]) -> Finding:
    value = outside[0].finals[metric.name]
    low = "−∞" if metric.lower is None else f"{metric.lower:g}"
    high = "∞" if metric.upper is None else f"{metric.upper:g}"
    misread = metric.unit != "percent" and not _outside(metric, value / 100)
    return say(
        f"{named(group)}: {metric.name} = {value!r} lies outside [{low}, {high}] ({len(outside)} seeds)",
        *(cell(group, repr(r.finals[metric.name]), metric.name, r.seed) for r in outside), severity=Severity.ERROR,
        arithmetic=f"{value!r} is not in [{low}, {high}], declared in {metric.unit}",
        could=(
            Explanation("percent stored where a fraction is declared", f"{value!r} / 100", misread),
            Explanation("the task declares wrong bounds", "see the task's metrics()"),
        ),
        pattern="values outside their range",
    )  # fmt: skip


@on_store("PPL")
def perplexity(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """A perplexity that is not the exponential of its loss."""
    for task, group in evidence.groups():
        for loss, ppl in _pairs(task):
            for result in group.seeds:
                have, told = result.finals.get(loss, math.nan), result.finals.get(ppl, math.nan)
                if not math.isfinite(have) or not math.isfinite(told) or have > 700:
                    continue
                if abs(told / math.exp(have) - 1) <= PERPLEXITY_TOLERANCE:
                    tally.ok()
                else:
                    yield _perplexity(group, result, (loss, have), (ppl, told))


def _pairs(task: TaskFacts) -> list[tuple[str, str]]:
    names = {metric.name.replace("loss", "*"): metric.name for metric in task.metrics if metric.unit == "nats"}
    perplexities = [metric.name for metric in task.metrics if metric.unit == "perplexity"]
    keys = [(name.replace("perplexity", "*").replace("ppl", "*"), name) for name in perplexities]
    return [(names[key], name) for key, name in keys if key in names]


def _perplexity(group: Group, result: SeedResult, loss: tuple[str, float], ppl: tuple[str, float]) -> Finding:
    implied, bits = math.exp(loss[1]), 2 ** loss[1]
    return say(
        f"{named(group)}, seed {result.seed}: {ppl[0]} {ppl[1]:.6g}, e^{loss[0]} = {implied:.6g}",
        *(cell(group, repr(value), name, result.seed) for name, value in (loss, ppl)),
        arithmetic=f"exp({loss[1]!r}) = {implied!r}; stored {ppl[1]!r}, ratio {ppl[1] / implied:.6f}",
        could=(
            Explanation("a mean of the batches' perplexities", "never below e^(mean loss)", ppl[1] > implied),
            Explanation("a loss in bits", f"2^loss = {bits:.6g}", math.isclose(bits, ppl[1], rel_tol=1e-4)),
        ),
        pattern=f"{ppl[0]} is not the exponential of {loss[0]}",
    )  # fmt: skip


@on_store("SD-ZERO")
def no_spread(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """No spread at all."""
    for task, group in evidence.groups():
        for metric in task.metrics:
            values = group.values(metric.name)
            if metric.direction == "none" or len(values) < 2:
                continue
            value = next(iter(values.values()))
            told = metric == task.primary or continuous(task, metric.name, value)
            if len(set(values.values())) > 1 or _saturated(task, metric, value) or not told:
                tally.ok()
            else:
                yield _constant(task, group, metric, value, len(values))


def _saturated(task: TaskFacts, metric: Metric, value: float) -> bool:
    known = [metric.lower, metric.upper, *(row.get(metric.name) for row in task.references.values())]
    return any(abs(value - k) <= RESOLUTION * max(1.0, abs(k)) for k in known if k is not None)


def _constant(task: TaskFacts, group: Group, metric: Metric, value: float, n: int) -> Finding:
    sure = continuous(task, metric.name, value)
    plateau = "all seeds reach the same plateau of a metric with few values"
    return say(
        f"{named(group)}: {metric.name} is {value!r} on all {n} seeds", cell(group, repr(value), metric.name),
        arithmetic=f"s = 0 over n = {n}", severity=Severity.WARNING if sure else Severity.INFO,
        could=(
            Explanation(plateau, f"in {metric.unit}", not sure), Explanation("the seed is not used", "see DB-DUPSEED")
        ),
        pattern="no spread over seeds",
    )  # fmt: skip


@on_store("OUTLIER")
def outlier(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """A seed far from its fellows."""
    found: list[tuple[Group, str, float, str]] = []
    tested: list[int] = []
    for task, group in evidence.groups():
        if task.primary is None:
            continue
        values = group.values(task.primary.name)
        if len(values) < 3:
            tally.skip("fewer than three seeds")
            continue
        tested.append(len(values))
        if told := _far(list(values.values()), evidence.threshold):
            found.append((group, task.primary.name, *told))
    tally.ok(len(tested) - len(found))
    if found:
        yield _outliers(found, tested, evidence.threshold)


def _far(values: list[float], threshold: float) -> tuple[float, str] | None:
    """The outlier and the arithmetic that calls it one."""
    center = median(values)
    far = max(values, key=lambda value: abs(value - center))
    if abs(far - center) <= RESOLUTION * max(map(abs, values)):
        return None
    if len(values) in GAP:
        ordered = sorted(values)
        low, high, spread = ordered[1] - ordered[0], ordered[-1] - ordered[-2], ordered[-1] - ordered[0]
        far = ordered[0] if low > high else ordered[-1]
        share, limit = max(low, high) / spread, GAP[len(values)]
        told = f"gap {max(low, high):.4g} / range {spread:.4g} = {share:.3f} > {limit}"
        return (far, told) if share > limit else None
    scale = 1.4826 * median(abs(value - center) for value in values)
    told = f"|{far:.6g} − {center:.6g}| = {abs(far - center):.4g} > {threshold:g} × {scale:.4g}"
    return (far, told) if abs(far - center) > threshold * scale else None


def _outliers(found: Sequence[tuple[Group, str, float, str]], tested: Sequence[int], threshold: float) -> Finding:
    group, metric, value, _ = found[0]
    expected = sum(BY_CHANCE.get(n, 0.12) for n in tested)
    message = (
        f"{named(group)}: seed {_seed(group, metric, value)} ({value:.6g}) lies far from the other seeds in {metric}"
    )
    if len(found) > 1:
        message = f"{len(found)} of {len(tested)} rows have a seed far from their others; first {message}"
    if threshold == DEFAULT:
        message += f"; by chance about {expected:.0f} of {len(tested)} rows would"
    return say(
        message, *(cell(g, repr(x), name, _seed(g, name, x)) for g, name, x, _ in found), severity=Severity.INFO,
        arithmetic="; ".join(f"{named(g)} {told}, {_means(g, name, x)}" for g, name, x, told in found[:3]),
        could=[Explanation("some seeds solve the task and others do not", "show all values: --show-values")],
        pattern="outlying seeds", basis=digest(sorted(g.values(name).items()) for g, name, _, _ in found),
    )  # fmt: skip


def _seed(group: Group, metric: str, value: float) -> int:
    return next(seed for seed, other in group.values(metric).items() if other == value)


def _means(group: Group, metric: str, value: float) -> str:
    """The mean with and without the outlier."""
    values = list(group.values(metric).values())
    rest = (math.fsum(values) - value) / (len(values) - 1)
    return f"mean {math.fsum(values) / len(values):.6g}, without it {rest:.6g}"
