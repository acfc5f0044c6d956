"""Averages against their parts, and the error bar of an average against its weights."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from leaderboard.checks.evidence import Evidence, Number
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, cell
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
            yield _out_of_range(average)


def _out_of_range(average: Average) -> Finding:
    whole, values = average.whole.reported, [part.reported.value for part in average.parts]
    low, high = min(values), max(values)
    side = f"below its smallest part {show(low)}" if whole.value < low else f"above its greatest part {show(high)}"
    verdict, policy = _range_of(average).judge()
    missing = Explanation("a part is not printed", "then it would have to lie beyond the average", not average.is_sure)
    return average.case.finding(
        verdict, policy, [*_other_scale(average), missing, *_mended(average.case)],
        message=f"average {whole.text} lies {side}", beside=_beside(average), nearest=_repairs(average.case),
        severity=Severity.ERROR if average.is_sure else Severity.WARNING, pattern="averages out of range",
    )  # fmt: skip


def _beside(average: Average) -> str:
    """How many other averages the same reading explains."""
    title = f" ({average.title})" if average.title else ""
    if not average.fitting:
        return title and f";{title}"
    are = "other average is the mean" if average.of == 1 else "other averages are the means"
    return f"; {average.fitting} of {average.of} {are} of {'its' if average.of == 1 else 'their'} parts{title}"


@check("AVG")
def average(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """An average that its parts do not give."""
    untold: dict[tuple[str, str], list[Average]] = {}
    for entry in evidence.once(averages):
        verdict, policy = entry.case.judge() if not entry.holds else (Verdict.PASS, entry.whole.claim.rounding)
        if entry.title == UNTOLD:
            where = entry.whole.claim.where
            untold.setdefault((where.table, where.column), []).append(entry)
        if verdict is Verdict.PASS:
            tally.ok()
        elif _is_in_range(entry):
            others = list(_other_means(entry))
            excused = any(explanation.fits for explanation in others) and not entry.borne_out
            digits = max(entry.whole.reported.decimals, 0)
            middle = show(entry.case.middle, digits + 1)
            yield entry.case.finding(
                verdict, policy, [*others, *_mended(entry.case)], beside=_beside(entry), nearest=_repairs(entry.case),
                message=f"the mean of {len(entry.parts)} parts is {middle}, printed {entry.whole.reported.text}",
                severity=Severity.ERROR if entry.is_sure and not excused else Severity.WARNING,
            )  # fmt: skip
    yield from map(_unstated, untold.values())


def _unstated(entries: list[Average]) -> Finding:
    """Averages of one heading that one weight explains which the source does not state."""
    first = entries[0]
    fitting = [entry for entry in entries if entry.holds]
    worked = f"{first.case.relation.formula.format(*first.case.others)} = {show(first.case.middle, 3)}"
    where = first.whole.claim.where
    return Finding(
        f"{where.table}, {where.column}: {len(fitting)} of {len(entries)} averages have {UNTOLD}",
        tuple(term.cell for term in first.case.terms),
        f"{worked}, printed {first.whole.reported.text}",
        (Explanation(UNTOLD, f"they give {len(fitting)} of {len(entries)} averages", True),),
        UNTOLD,
        Severity.INFO,
        Verdict.PASS,
    )


def _mended(tested: Case) -> list[Explanation]:
    """Copies of a neighbour, and the slips in each operand that would mend it."""
    return [*tested.copies(), *(slip for slip in tested.slips() if slip.fits or slip.title.endswith("average"))]


def _repairs(tested: Case) -> tuple[str, ...]:
    """What each operand would have to be, the others being right; of many parts only the average."""
    told = tested.terms if len(tested.terms) < 8 else (tested.target,)
    needs = ((term.name or "average", tested.needed(term)) for term in told)
    return tuple(f"{need} for {name}" for name, need in needs if need is not None)


def _other_means(average: Average) -> Iterator[Explanation]:
    """Other ways to average the same parts."""
    spans, whole = [part.span() for part in average.parts], average.whole.interval()
    digits = max(average.whole.reported.decimals, 0) + 1

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
    equal, whole, text = average.case.implied(), average.whole.interval(), average.whole.reported.text
    for factor, title in ((100, "a fraction beside parts in percent"), (Fraction(1, 100), "percent beside fractions")):
        if whole.scale(factor).meets(equal):
            yield Explanation(title, f"{text} × {show(Fraction(factor))}", True)


def _left_out(average: Average) -> Explanation:
    """Means without one of the parts."""
    spans, whole = [part.span() for part in average.parts], average.whole.interval()
    total = weighted_sum(spans, [Fraction(1)] * len(spans))
    fitting = [
        part.name
        for part, span in zip(average.parts, spans, strict=True)
        if len(spans) > 1
        and Interval(total.lo - span.lo, total.hi - span.hi).scale(Fraction(1, len(spans) - 1)).meets(whole)
    ]
    told = ", or ".join(f"without {name}" for name in fitting[:3])
    if average.borne_out:
        return Explanation("parts left out", "the other averages leave out none of them")
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
    values, total = [n.interval() for n in parts], sum(sizes, Fraction(0))
    squares = [error.square() for error in errors]

    def combined(weights: list[Fraction]) -> Interval:
        """Standard error of a weighted mean of independent parts."""
        return weighted_sum(squares, [(w / sum(weights)) ** 2 for w in weights]).sqrt()

    pooled = weighted_sum(squares, [n * (n - 1) / ((total - len(sizes)) * total) for n in sizes]).sqrt()
    means = {"equal": mean(values, equal).meets(whole.interval()), "size": mean(values, sizes).meets(whole.interval())}
    bars = {"equal": combined(equal).meets(bar), "size": combined(sizes).meets(bar) or pooled.meets(bar)}
    fitting = [(a, b) for a in means for b in bars if means[a] and bars[b]]
    if any(a == b for a, b in fitting):
        tally.ok()
        return
    if not fitting:
        tally.skip("neither equal weights nor sizes give mean and error")
        return
    (of_mean, of_error), names = fitting[0], {"equal": "equal weights", "size": "weights by size"}
    spans = {"equal": combined(equal), "size": combined(sizes)}
    shown = {name: f"[{float(span.lo):.6g}, {float(span.hi):.6g}]" for name, span in spans.items()}
    spread = whole.claim.spread
    yield Finding(
        f"{whole.reported.text} uses {names[of_mean]}, its error {spread.printed if spread else ''} {names[of_error]}",
        (cell(whole.claim), *(cell(n.claim) for n in parts)),
        f"error with {names[of_mean]}: {shown[of_mean]}; with {names[of_error]}: {shown[of_error]}; printed {bar}",
        pattern="weights of mean and error differ",
    )
