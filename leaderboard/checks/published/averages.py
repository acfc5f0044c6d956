"""Averages against their parts, and the error bar of an average against its weights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations

from leaderboard.checks.evidence import Evidence, Number, fold
from leaderboard.checks.explain import slip
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, cell
from leaderboard.checks.numbers import Interval, exactly, parse, show, weighted_sum
from leaderboard.checks.registry import check
from leaderboard.checks.verdicts import judge, report
from leaderboard.checks.weights import common_weight
from leaderboard.checks.wholes import Average, averages, mean, mean_fits
from leaderboard.claims.model import Rounding

MOST_SUBSETS = 1 << 12


@check("AVG-RANGE", 8, "an average outside the range of its parts", Severity.ERROR)
def average_range(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Whatever the weights, an average lies between its smallest and its greatest part.

    Formula: min(xᵢ) − u ≤ A ≤ max(xᵢ) + u. Holds for equal, weighted, nested, geometric and harmonic means alike.
    Severity: an error where the source states the parts, or where other averages of the same row or column are the
    mean of theirs; a warning where only the heading suggests them.
    An average of one part is left to AVG. Source: Mercor-Intelligence/archipelago#8 (8.4 over 12.9, 14.7, 12.9).
    Power: only averages outside the range. Blind spot: parts that are not printed.
    """
    for average in averages(evidence):
        if len(average.parts) < 2:
            tally.skip("one part only")
            continue
        verdict, policy = judge(partial(in_range, average), average.whole.claim.rounding)
        if verdict is Verdict.PASS:
            tally.ok()
        elif average.loose and any(_other_scale(average, average.whole.interval())):
            tally.skip("another scale than its parts")
        else:
            yield _out_of_range(average, verdict, policy)


def _out_of_range(average: Average, verdict: Verdict, policy: Rounding) -> Finding:
    whole, values = average.whole.reported, [part.value for part in average.parts]
    low, high = min(values), max(values)
    side = f"below its smallest part {show(low)}" if whole.value < low else f"above its greatest part {show(high)}"
    equal = mean(average.spans(), [Fraction(1)] * len(values))
    middle = sum(values, Fraction(0)) / len(values)
    beside = "1 other average is the mean of its parts" if average.fitting == 1 else (
        f"{average.fitting} other averages are the means of theirs"
    )  # fmt: skip
    others = f"; {beside}" if average.fitting else ""
    return report(
        "AVG-RANGE",
        Severity.ERROR if average.is_sure else Severity.WARNING,
        verdict,
        policy,
        f"average {whole.text} lies {side}",
        average.cells,
        f"{len(values)} parts from {show(low)} to {show(high)}, mean {show(middle, max(whole.decimals, 0) + 1)}; "
        f"{whole.text} stands for {average.whole.interval()}{others}",
        [
            Explanation("a part is not printed", "then it would have to lie beyond the average", not average.is_sure),
            slip("average", whole, lambda other: equal.meets(other.interval()), middle),
        ],
        nearest=() if average.loose else (show(middle, max(whole.decimals, 0)),),
        pattern="averages out of range",
    )


def in_range(average: Average, policy: Rounding | None = None) -> bool:
    """Whether the average can lie between its parts."""
    spans = average.spans(policy)
    hull = Interval(min(span.lo for span in spans), max(span.hi for span in spans))
    return hull.meets(average.whole.interval(policy))


@check("AVG", 9, "an average that its parts do not give", Severity.ERROR)
def average(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A printed average must be the mean of its parts, equally weighted or by the stated weights or sizes.

    Formula: |Σ wᵢ xᵢ / Σ wᵢ − A| ≤ Σ wᵢ uᵢ / Σ wᵢ + u_A. Also tried, as explanations: one or two parts left out, a mean
    of means of parts that share a prefix, geometric and harmonic mean, a sum over the number planned, a slip, and for
    two parts one unstated weight that fits nine in ten averages of the table.
    `OOD avg.` is over the neighbouring columns whose mean all other rows print, three at least, or two where the
    caption tells how many columns. Severity: an error where nothing tried fits and the parts are stated; otherwise a
    warning.
    Source: Solacex/Domain-Consensus-Clustering#16 (64.2 for 63.01); hyeonsangjeon/gdpval-realworks#363 (÷ 220 for 215).
    Power: an edit of one digit of A by k units is found when k > about 2 at equal precision.
    Blind spot: an error in a part of less than (parts + 1) half-units; weights nobody states.
    """
    entries = averages(evidence)
    weighting = _weightings(entries)
    for entry in entries:
        if entry.loose:
            tally.skip("which of the numbers beside it are its parts is not told")
            continue
        verdict, policy = judge(partial(mean_fits, entry), entry.whole.claim.rounding)
        if verdict is Verdict.PASS:
            tally.ok()
        else:
            yield _no_average(entry, verdict, policy, weighting.get(_layout(entry)))


def _layout(average: Average) -> tuple[str, ...]:
    """Table and columns of an average and its parts."""
    return (average.cells[0].table, *(cell.column for cell in average.cells))


def _weightings(entries: Sequence[Average]) -> dict[tuple[str, ...], tuple[Fraction, str]]:
    """Layout → the unstated weight of the first of two parts that explains the averages there, and of how many."""
    alike: dict[tuple[str, ...], list[Average]] = defaultdict(list)
    for entry in entries:
        if len(entry.parts) == 2 and len(entry.cells) == 3 and entry.weights is None:
            alike[_layout(entry)].append(entry)
    found = {}
    for layout, same in alike.items():
        common = common_weight([(a, b, entry.whole.interval()) for entry in same for a, b in [entry.spans()]])
        if common is not None:
            found[layout] = (common[0], f"{common[1]} of {len(same)} averages of the table")
    return found


def _no_average(
    average: Average, verdict: Verdict, policy: Rounding, weighting: tuple[Fraction, str] | None
) -> Finding:
    whole = average.whole.reported
    equal = mean(average.spans(), [Fraction(1)] * len(average.parts))
    explanations = [*_other_means(average), *_unstated(average, weighting)]
    explained = any(explanation.fits for explanation in explanations)
    middle = sum((part.value for part in average.parts), Fraction(0)) / len(average.parts)
    explanations.append(slip("average", whole, lambda other: equal.meets(other.interval()), middle))
    digits = max(whole.decimals, 0) + 1
    parts = " + ".join(part.text for part in average.parts)
    return report(
        "AVG",
        Severity.ERROR if average.certain and not explained else Severity.WARNING,
        verdict,
        policy,
        f"the mean of {len(average.parts)} parts is {show(middle, digits)}, printed {whole.text}",
        average.cells,
        f"({parts}) / {len(average.parts)} = {show(middle, digits)}, in [{show(equal.lo, digits + 1)}, "
        f"{show(equal.hi, digits + 1)}]; printed {whole.text} stands for {average.whole.interval()}",
        explanations,
        nearest=(show(middle, max(whole.decimals, 0)),),
        pattern="averages that their parts do not give",
    )


def _other_means(average: Average) -> Iterator[Explanation]:
    spans, whole = average.spans(), average.whole.interval()
    digits = max(average.whole.reported.decimals, 0) + 1

    def tried(title: str, span: Interval) -> Explanation:
        return Explanation(title, f"in [{show(span.lo, digits)}, {show(span.hi, digits)}]", span.meets(whole))

    if average.weights:
        yield tried("weighted by size", mean(spans, list(average.weights)))
        if planned := average.whole.claim.items:
            total = weighted_sum(spans, list(average.weights)).scale(Fraction(1, planned))
            done = show(sum(average.weights, Fraction(0)))
            yield tried(f"divided by the {planned} planned instead of the {done} done", total)
    yield from _other_scale(average, whole)
    yield _left_out(average, whole)
    if (nested := _nested(average)) is not None:
        yield tried("a mean of means over parts that share a prefix", nested)
    if all(span.lo > 0 for span in spans):
        inverse = mean([exactly(1) / span for span in spans], [Fraction(1)] * len(spans))
        yield tried("the harmonic mean", exactly(1) / inverse)
        yield tried("the geometric mean", mean([span.log() for span in spans], [Fraction(1)] * len(spans)).exp())


def _unstated(average: Average, weighting: tuple[Fraction, str] | None) -> Iterator[Explanation]:
    """The weight that other averages of the table have in common."""
    if weighting is not None and len(average.parts) == 2:
        weight, where = weighting
        fits = mean(average.spans(), [weight, 1 - weight]).meets(average.whole.interval())
        shares = f"{show(weight, 3)} and {show(1 - weight, 3)}"
        yield Explanation("weights that are not stated", f"{shares} give {where}", fits)


def _other_scale(average: Average, whole: Interval) -> Iterator[Explanation]:
    """An average as a fraction beside parts in percent, or the other way round; silent where neither fits."""
    equal, text = mean(average.spans(), [Fraction(1)] * len(average.parts)), average.whole.reported.text
    for factor, title in ((100, "a fraction beside parts in percent"), (Fraction(1, 100), "percent beside fractions")):
        if whole.scale(factor).meets(equal):
            yield Explanation(title, f"{text} × {show(Fraction(factor))}", True)


def _left_out(average: Average, whole: Interval) -> Explanation:
    """Means without one or two of the parts."""
    spans, names = average.spans(), average.names
    low, high = (sum(ends, Fraction(0)) for ends in ([s.lo for s in spans], [s.hi for s in spans]))
    ways = [left for size in (1, 2) if size < len(spans) for left in combinations(range(len(spans)), size)]
    fitting, tried = [], min(len(ways), MOST_SUBSETS)
    for left in ways[:tried]:
        rest = Interval(low - sum(spans[i].lo for i in left), high - sum(spans[i].hi for i in left))
        if rest.scale(Fraction(1, len(spans) - len(left))).meets(whole):
            fitting.append(" and ".join(names[i] for i in left))
    if not fitting:
        return Explanation("one or two parts left out", f"none of {tried} ways fits", False)
    shown = ", or ".join(f"without {name}" for name in fitting[:3])
    ways_fit = f"{len(fitting)} of {tried} ways to leave out one or two"
    told = f"{shown}, the mean of the others prints as {average.whole.reported.text} ({ways_fit})"
    return Explanation("parts left out", told, True)


def _nested(average: Average) -> Interval | None:
    """First within parts whose names share their first word, then over those."""
    families: dict[str, list[Interval]] = {}
    for name, span in zip(average.names, average.spans(), strict=True):
        families.setdefault(fold(name).replace("-", " ").split(" ")[0], []).append(span)
    if not 1 < len(families) < len(average.parts):
        return None
    inner = [mean(spans, [Fraction(1)] * len(spans)) for spans in families.values()]
    return mean(inner, [Fraction(1)] * len(inner))


@check("ESTIM", 34, "a mean and its error bar with different weights", Severity.WARNING)
def estimator(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """The standard error of an average must use the weights of the average.

    Formula: equal weights SE² = Σ SEᵢ² / k²; by size SE² = Σ nᵢ² SEᵢ² / (Σ nᵢ)²;
    pooled SE² = Σ nᵢ (nᵢ − 1) SEᵢ² / ((Σ nᵢ − k) Σ nᵢ).
    Source: EleutherAI/lm-evaluation-harness#3882 (unweighted mean, size-weighted error), #1390 (pooled or combined).
    Power: needs sizes and errors of the parts, and sizes that differ. Blind spot: correlated parts.
    """
    for group in evidence.groups.values():
        parts = group.get("part", [])
        for whole in group.get("average", ()):
            spans = [_error_of(n) for n in parts]
            bar = _error_of(whole)
            if bar is None or not parts or None in spans or any(not n.claim.items for n in parts):
                tally.skip("sizes or standard errors missing")
                continue
            yield from _weights(whole, parts, bar, [span for span in spans if span is not None], tally)


def _error_of(number: Number) -> Interval | None:
    spread = number.claim.spread
    printed = parse(spread.printed) if spread and spread.kind == "se" else None
    return printed.interval().clip(0, None) if printed else None


def _weights(
    whole: Number, parts: list[Number], bar: Interval, spans: list[Interval], tally: Tally
) -> Iterator[Finding]:
    sizes = [Fraction(n.claim.items or 0) for n in parts]
    equal = [Fraction(1)] * len(parts)
    values = [n.interval() for n in parts]
    means = {"equal": mean(values, equal).meets(whole.interval()), "size": mean(values, sizes).meets(whole.interval())}
    errors = {
        "equal": combined(spans, equal).meets(bar),
        "size": combined(spans, sizes).meets(bar) or pooled(spans, sizes).meets(bar),
    }
    if any(means[name] and errors[name] for name in means):
        tally.ok()
        return
    fitting = [(a, b) for a in means for b in errors if means[a] and errors[b]]
    if not fitting:
        tally.skip("neither equal weights nor sizes give mean and error")
        return
    (of_mean, of_error), names = fitting[0], {"equal": "equal weights", "size": "weights by size"}
    spread = whole.claim.spread
    yield report(
        "ESTIM",
        Severity.WARNING,
        Verdict.FAIL,
        whole.claim.rounding,
        f"{whole.reported.text} uses {names[of_mean]}, its error {spread.printed if spread else ''} {names[of_error]}",
        [cell(whole.claim), *(cell(n.claim) for n in parts)],
        f"error with {names[of_mean]}: {rough(combined(spans, equal if of_mean == 'equal' else sizes))}; "
        f"with {names[of_error]}: {rough(combined(spans, equal if of_error == 'equal' else sizes))}; printed {bar}",
        pattern="weights of mean and error differ",
    )


def combined(errors: list[Interval], weights: list[Fraction]) -> Interval:
    """Standard error of a weighted mean of independent parts."""
    total = sum(weights, Fraction(0))
    return weighted_sum([error.square() for error in errors], [(w / total) ** 2 for w in weights]).sqrt()


def pooled(errors: list[Interval], sizes: list[Fraction]) -> Interval:
    """Standard error from the pooled sample variance of all items."""
    total = sum(sizes, Fraction(0))
    weights = [n * (n - 1) / ((total - len(sizes)) * total) for n in sizes]
    return weighted_sum([error.square() for error in errors], weights).sqrt()


def rough(span: Interval) -> str:
    """An interval with six significant digits."""
    return f"[{float(span.lo):.6g}, {float(span.hi):.6g}]"
