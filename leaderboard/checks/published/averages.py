"""Averages against their parts, and the error bar of an average against its weights."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from leaderboard.checks.evidence import Evidence, Number
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, say
from leaderboard.checks.numbers import Interval, exactly, parse, show, weighted_sum
from leaderboard.checks.registry import check
from leaderboard.checks.relation import Case, Relation
from leaderboard.checks.relations import hull
from leaderboard.checks.wholes import UNTOLD, Average, averages, mean, nested_weights


def _range_of(average: Average) -> Case:
    """The average against the range of its parts."""
    between = Relation("averages out of range", "the range of its parts", hull, "∈")
    return Case(between, average.case.target, average.case.others)


def _is_in_range(average: Average) -> bool:
    return len(average.parts) < 2 or average.holds or _range_of(average).judge()[0] is Verdict.PASS


@check("AVG-RANGE")
def average_range(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """An average outside the range of its parts."""
    for average in evidence.once(averages):
        if len(average.parts) < 2:
            tally.skip("one part only")
        elif _is_in_range(average):
            tally.ok()
        elif not average.is_sure and any(_other_scale(average)):
            tally.skip("another scale than its parts")
        else:
            told = "then it would have to lie beyond the average"
            could = [*_other_scale(average), Explanation("a part is not printed", told, not average.is_sure)]
            severity = Severity.ERROR if average.is_sure else Severity.WARNING
            yield _range_of(average).finding(could, beside=_beside(average), of=average.case, severity=severity)


def _beside(average: Average) -> str:
    """How many other averages the same reading explains."""
    title = f" ({average.title})" if average.title else ""
    if average.score is None or not average.score.agreeing:
        return title and f";{title}"
    fitting, of = average.score.agreeing, average.score.tried
    are = "other average is the mean of its" if of == 1 else "other averages are the means of their"
    return f"; {fitting} of {of} {are} parts{title}"


@check("AVG")
def average(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """An average that its parts do not give."""
    untold: dict[tuple[str, str], list[Average]] = {}
    for entry in evidence.once(averages):
        if entry.title == UNTOLD:
            untold.setdefault((entry.whole.table, entry.whole.column), []).append(entry)
        verdict = entry.case.judge() if not entry.holds else (Verdict.PASS, entry.whole.claim.rounding)
        if verdict[0] is Verdict.PASS:
            tally.ok()
        elif _is_in_range(entry):
            others, severity = list(_other_means(entry)), Severity.WARNING
            excused = any(explanation.fits for explanation in others) and entry.score is None
            if entry.is_sure and not excused:
                severity = Severity.ERROR
            said = f"the mean of {len(entry.parts)} parts is {show(entry.case.middle, entry.case.digits + 1)}"
            message = f"{said}, printed {entry.whole.text}"
            yield entry.case.finding(others, verdict, beside=_beside(entry), message=message, severity=severity)
    yield from map(_unstated, untold.values())


def _unstated(entries: list[Average]) -> Finding:
    """Averages of one heading that one weight explains which the source does not state."""
    first, fitting = entries[0], sum(entry.holds for entry in entries)
    told, (_, arithmetic) = f"{fitting} of {len(entries)} averages", first.case.told()
    return first.case.finding(
        [Explanation(UNTOLD, f"they give {told}", True)], (Verdict.PASS, first.whole.claim.rounding), mended=False,
        message=f"{first.whole.table}, {first.whole.column}: {told} have {UNTOLD}", arithmetic=arithmetic,
        pattern=UNTOLD, severity=Severity.INFO, nearest=(),
    )  # fmt: skip


def _other_means(average: Average) -> Iterator[Explanation]:
    """Other ways to average the same parts."""
    spans, whole, digits = [part.span() for part in average.parts], average.whole.interval(), average.case.digits + 1

    def tried(title: str, span: Interval) -> Explanation:
        return Explanation(title, f"in [{show(span.lo, digits)}, {show(span.hi, digits)}]", span.meets(whole))

    if average.weights:
        yield tried("weighted by size", mean(spans, average.weights))
        if planned := average.whole.claim.items:
            total = weighted_sum(spans, list(average.weights)).scale(Fraction(1, planned))
            done = show(sum(average.weights, Fraction(0)))
            yield tried(f"divided by the {planned} planned instead of the {done} done", total)
    yield from _other_scale(average)
    yield _left_out(average)
    if not average.title and (weights := nested_weights([part.name for part in average.parts])):
        yield tried("a mean of means over parts that share a prefix", mean(spans, weights))
    if all(span.lo > 0 for span in spans):
        yield tried("the harmonic mean", exactly(1) / mean([exactly(1) / span for span in spans]))
        yield tried("the geometric mean", mean([span.log() for span in spans]).exp())


def _other_scale(average: Average) -> Iterator[Explanation]:
    """An average as a fraction beside parts in percent, or the other way round; silent where neither fits."""
    equal, whole, text = average.case.implied(), average.whole.interval(), average.whole.text
    for factor, title in ((100, "a fraction beside parts in percent"), (Fraction(1, 100), "percent beside fractions")):
        if whole.scale(factor).meets(equal):
            yield Explanation(title, f"{text} × {show(Fraction(factor))}", True)


def _left_out(average: Average) -> Explanation:
    """Means without one of the parts."""
    if average.score is not None and average.is_sure:
        return Explanation("parts left out", "the other averages leave out none of them")
    spans, whole = [part.span() for part in average.parts], average.whole.interval()
    ways = (spans[:at] + spans[at + 1 :] for at in range(len(spans) if len(spans) > 1 else 0))
    fitting = [part.name for part, way in zip(average.parts, ways, strict=False) if mean(way).meets(whole)]
    told = ", or ".join(f"without {name}" for name in fitting[:3])
    return Explanation("parts left out", told or f"none of {len(spans)} ways to leave out one fits", bool(fitting))


@check("ESTIM")
def estimator(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A mean and its error bar with different weights."""
    for group in evidence.groups.values():
        parts = group.get("part", [])
        for whole in group.get("average", ()):
            spans, bar = [_error_of(n) for n in parts], _error_of(whole)
            if bar is None or not parts or None in spans or any(not n.claim.items for n in parts):
                tally.skip("sizes or standard errors missing")
            else:
                yield from _weights(whole, parts, bar, [span for span in spans if span is not None], tally)


def _error_of(number: Number) -> Interval | None:
    spread = number.claim.spread
    printed = parse(spread.printed) if spread and spread.kind == "se" else None
    return printed.interval().clip(0, None) if printed else None


def _weights(
    whole: Number, parts: list[Number], bar: Interval, errors: list[Interval], tally: Tally
) -> Iterator[Finding]:
    sizes, equal = [Fraction(n.claim.items or 0) for n in parts], [Fraction(1)] * len(parts)
    values, total, squares = [n.interval() for n in parts], sum(sizes), [error.square() for error in errors]
    weights = {"equal weights": equal, "weights by size": sizes}
    # standard errors of weighted means of independent parts
    spans = {name: weighted_sum(squares, [(w / sum(ws)) ** 2 for w in ws]).sqrt() for name, ws in weights.items()}
    pooled = weighted_sum(squares, [n * (n - 1) / ((total - len(sizes)) * total) for n in sizes]).sqrt()
    means = [name for name, ws in weights.items() if mean(values, ws).meets(whole.interval())]
    bars = [name for name, span in spans.items() if span.meets(bar) or (name != "equal weights" and pooled.meets(bar))]
    if set(means) & set(bars):
        tally.ok()
    elif not means or not bars:
        tally.skip("neither equal weights nor sizes give mean and error")
    else:
        spread, told = (
            whole.claim.spread,
            "; ".join(f"error with {name}: {spans[name]}" for name in (means[0], bars[0])),
        )
        yield say(
            f"{whole.text} uses {means[0]}, its error {spread.printed if spread else ''} {bars[0]}", whole, *parts,
            arithmetic=f"{told}; printed {bar}", pattern="weights of mean and error differ",
        )  # fmt: skip
