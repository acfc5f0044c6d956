"""Printed differences, absolute and relative, against the values they are differences of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial

from leaderboard.checks.baselines import (
    WITNESSES,
    Judgement,
    Mode,
    agrees,
    is_unsigned,
    named_rows,
    quotient,
    rivals,
    taken,
)
from leaderboard.checks.evidence import Evidence, Number, fold, key_of, relate
from leaderboard.checks.explain import difference, slip
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, cell
from leaderboard.checks.measures import group_of
from leaderboard.checks.numbers import Interval, Reported, parse, show
from leaderboard.checks.registry import check
from leaderboard.checks.verdicts import judge, report
from leaderboard.claims.model import Delta, Rounding

__all__ = ["agrees", "baselines", "delta", "quotient", "relative"]


@check("DELTA", 2, "a printed difference that its values do not give", Severity.ERROR)
def delta(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A printed difference must be value minus baseline, for the value beside it and for every twin of that value.

    Formula: |(a − b) − d| ≤ u_a + u_b + u_d, three half-units of the last digits. An unsigned d may be either way
    round, and where lower is better an improvement may be printed as a positive number.
    Severity: an error where the baseline is named, and stands in the same table or states the same budget; otherwise
    a warning, as where it fits as a percentage and no budget is stated. Where no baseline is named, one reading (a rule
    such as the row before or the best of the others, and points or percent) must be borne out by three quarters of the
    other differences, three at least, or by most of them where the caption states the rule; what breaks it is a
    warning, an error where the caption leaves no doubt. A twin that prints the same number is not told again.
    Source: three-interval rule; arXiv:2608.00418 Tables 3 and 5; huggingface/pytorch-image-models@aa4b5850:results.
    Power: of single-digit edits of a four-digit value 92.8 % are found (90.5 % at three digits, 94.3 % at five).
    Blind spot: a wrong value with the difference computed from it; fewer than four differences to an unnamed baseline.
    """
    for number, stated, printed in printed_differences(evidence, tally, relative=False):
        judgement = evidence.judgements.get((number, stated))
        if not stated.is_unnamed:
            yield from _against(evidence, number, named_rows(evidence, number, stated), printed, tally)
        elif judgement is not None and not judgement.holds:
            yield _breaks(evidence, judgement)
        elif judgement is not None and not judgement.mode.is_relative:
            yield from _against(evidence, number, [judgement.base], printed, tally, is_guess=True)
        elif judgement is not None:
            tally.ok()
        else:
            yield from _any_baseline(evidence, number, stated, printed, tally)


def printed_differences(evidence: Evidence, tally: Tally, relative: bool) -> Iterator[tuple[Number, Delta, Reported]]:
    """Every difference of one kind with the number it belongs to."""
    for number in evidence.numbers:
        for stated in number.claim.differences:
            if stated.relative is not relative or not stated.printed:
                continue
            printed = parse(stated.printed, number.claim.rounding)
            if printed is None:
                tally.skip("difference is no number")
            else:
                yield number, stated, printed


def baselines(evidence: Evidence, number: Number, stated: Delta) -> list[Number]:
    """Numbers the printed difference may refer to, those of the same table if there are any.

    Where no baseline is named: that of the reading which the neighbours bear out, else the only row that fits.
    """
    if not stated.is_unnamed:
        return named_rows(evidence, number, stated)
    judgement = evidence.judgements.get((number, stated))
    if judgement is not None:
        return [judgement.base] if judgement.holds else []
    fitting = fitting_rows(evidence, number, stated)
    return fitting if len(fitting) == 1 else []


MANY = 200
"""Rows of a column beyond which some row fits every difference."""


def fitting_rows(evidence: Evidence, number: Number, stated: Delta) -> list[Number]:
    """Rows of the number's column that its printed difference can be a difference to; of a long one none."""
    printed = parse(stated.printed, number.claim.rounding)
    rows = rivals(evidence, number)
    if printed is None or len(rows) > MANY:
        return []
    lower = number.claim.direction == "min"
    if stated.relative:
        return [n for n in rows if _as_percent(number.reported, n.reported, printed)]
    return [n for n in rows if agrees(number.reported, n.reported, printed, None, lower)]


def _against(
    evidence: Evidence, number: Number, bases: list[Number], printed: Reported, tally: Tally, is_guess: bool = False
) -> Iterator[Finding]:
    """The printed difference against one of the baselines, for the number and for every twin of it."""
    if not bases:
        tally.skip("no number for the baseline")
        return
    lower = number.claim.direction == "min" or is_guess
    nearest = _nearest(evidence, number, bases)
    base = next((n for n in bases if agrees(number.reported, n.reported, printed, None, lower)), nearest)
    told: set[tuple[int, int]] = set()
    for value in (number, *_twins(evidence, number)):
        test = partial(agrees, value.reported, base.reported, printed, lower_is_better=lower)
        verdict, policy = judge(test, number.claim.rounding)
        digits = value.reported.mantissa, value.reported.decimals
        if verdict is Verdict.PASS:
            tally.ok()
        elif digits not in told:  # a twin that prints the same has nothing to add
            told.add(digits)
            severity = Severity.WARNING if is_guess else _severity(evidence, number, value, base, printed)
            yield _disagree(evidence, number, value, base, printed, verdict, policy, severity)


def _nearest(evidence: Evidence, number: Number, bases: list[Number]) -> Number:
    """Of several baselines of one name the last that is printed before the number."""
    if len(bases) == 1:
        return bases[0]
    places = {n: place for place, n in enumerate(evidence.by_table[number.claim.where.table])}
    before = [n for n in bases if n in places and places[n] < places[number]]
    return before[-1] if before else bases[0]


def _severity(evidence: Evidence, number: Number, value: Number, base: Number, printed: Reported) -> Severity:
    """A warning where something that is not stated may excuse it."""
    unknown = _unknown(value, base) if value is number else relate(value.scope, number.scope).unknown
    percent = value is number and _as_percent(value.reported, base.reported, printed)
    if not unknown and percent and not _are_points(evidence, number):
        unknown = relate(value.scope, base.scope).unknown  # a percentage that was read as points
    return Severity.WARNING if unknown else Severity.ERROR


def _are_points(evidence: Evidence, number: Number) -> bool:
    """Whether the other differences under the number's heading are in points, some of them surely."""
    where = number.claim.where
    under = (n for n in evidence.by_cell[(where.table, where.column, fold(number.scope.metric))] if n is not number)
    stated = ((n, d, parse(d.printed)) for n in under for d in n.claim.differences if not (d.relative or d.is_unnamed))
    known = ((n.reported, base.reported, d) for n, s, d in stated if d for base in named_rows(evidence, n, s)[:1])
    fits = Counter((agrees(a, b, d), _as_percent(a, b, d)) for a, b, d in known)
    surely = fits[True, False]
    return not fits[False, True] and surely > 1 and surely + fits[True, True] >= WITNESSES


def _breaks(evidence: Evidence, judgement: Judgement) -> Finding:
    """A difference that breaks what its neighbours bear out."""
    number, base, printed = judgement.entry.number, judgement.base, judgement.entry.printed
    severity = Severity.ERROR if judgement.certain else Severity.WARNING
    span = quotient(number.reported, base.reported) if judgement.mode.is_relative else None
    check = "REL" if judgement.entry.stated.relative else "DELTA"
    if span is not None:
        found = _wrong_ratio(number, base, printed, span, severity)
    else:
        found = _disagree(evidence, number, number, base, printed, Verdict.FAIL, number.claim.rounding, severity)
    return replace(found, check=check, arithmetic=f"{found.arithmetic}; {judgement}")


def _twins(evidence: Evidence, number: Number) -> list[Number]:
    """The same quantity in other tables."""
    key = key_of(number.scope)
    same = evidence.by_key.get(key, []) if key else []
    if len(same) < 2:
        return []
    table = number.claim.where.table
    others = [n for n in same if n.claim.where.table != table and not relate(n.scope, number.scope).differ]
    return [n for n in others if not evidence.are_apart(n, number)]


def _disagree(
    evidence: Evidence,
    number: Number,
    value: Number,
    base: Number,
    printed: Reported,
    verdict: Verdict,
    policy: Rounding,
    severity: Severity,
) -> Finding:
    a, b = value.reported, base.reported
    exact = value.interval() - base.interval()
    digits = max(a.decimals, b.decimals, 0)
    pattern, found = _other_row(evidence, value, base, printed)
    tied = pattern.startswith(TIED)
    where = "" if value is number else f"with {value.claim.where.table}'s value "
    return report(
        "DELTA",
        severity,
        verdict,
        policy,
        f"{where}{difference(a, b)}, printed ({printed.text}) in {number.claim.where.table}",
        [cell(value.claim), cell(base.claim), cell(number.claim, f"({printed.text})")],
        f"{difference(a, b)}, in {exact}; printed {printed.text} stands for {printed.interval()}; "
        f"apart by {show(abs(a.value - b.value - printed.value), digits)}, "
        f"rounding allows {show((a.ulp + b.ulp + printed.ulp) / 2)}",
        [
            *_twin_fits(evidence, number, value, base, printed),
            *found,
            *(() if tied else (*_slips(a, b, printed), *_readings(a, b, printed))),
        ],
        nearest=(f"({show_signed(a.value - b.value, printed.decimals)})",),
        pattern=pattern or f"differences of column {number.claim.where.column} in {number.claim.where.table}",
    )


def _unknown(number: Number, base: Number) -> tuple[str, ...]:
    """Fields that leave open whether two numbers compare; none within one table, which prints them to be compared."""
    same = number.claim.where.table == base.claim.where.table
    return () if same else relate(number.scope, base.scope).unknown


def show_signed(value: Fraction, decimals: int) -> str:
    """With its sign, as differences are printed."""
    return ("+" if value >= 0 else "") + show(value, decimals)


def _twin_fits(
    evidence: Evidence, number: Number, value: Number, base: Number, printed: Reported
) -> Iterator[Explanation]:
    """Another table's value for the same cell gives the printed difference."""
    for twin in (number, *_twins(evidence, number)):
        if twin is not value and agrees(twin.reported, base.reported, printed):
            text = (
                f"{difference(twin.reported, base.reported)} with the value of {twin.claim.where.table}; "
                f"so {value.reported.text} in {value.claim.where.table} is the likely slip"
            )
            yield Explanation("another table prints a value that fits", text, True)


TIED = "the difference is to another row with the same"
"""Explains so much that no slip is looked for."""


def _other_row(
    evidence: Evidence, value: Number, base: Number, printed: Reported
) -> tuple[str, tuple[Explanation, ...]]:
    """Rows of the baseline's column that give the printed difference, those tied with the right row first."""
    heading = (base.claim.where.table, base.claim.where.column, fold(base.scope.metric))
    rows = evidence.by_cell[heading]
    near = _near(evidence.by_digits[heading], value.reported, base.reported, printed)
    fitting = [n for n in near if n is not value and n is not base and agrees(value.reported, n.reported, printed)]
    if not fitting:
        return "", (Explanation("another baseline row", f"none of {len(rows) - 1} other rows fits", False),)
    for other in fitting:
        if tie := _tied(evidence, base, other):
            text = f"row {other.claim.where.row} prints {other.reported.text} and shares {tie} with the right row"
            pattern = f"{TIED} {tie.split()[0]}"
            return pattern, (Explanation("another baseline row, tied with the right one", text, True),)
    best = fitting[0]
    text = f"{difference(value.reported, best.reported)} with row {best.claim.where.row}"
    return "the difference is to another row", (Explanation("another baseline row", text, True),)


def _near(
    digits: Mapping[tuple[int, int], list[Number]], value: Reported, base: Reported, printed: Reported
) -> Iterator[Number]:
    """Numbers printed as precisely as the baseline that may be value − difference, found by their digits."""
    unit = Fraction(10) ** base.decimals
    allowed = (value.ulp + base.ulp + printed.ulp) * unit
    middle = (value.value - printed.value) * unit
    wanted = range(int(middle - allowed) - 1, int(middle + allowed) + 2)
    if wanted.stop - wanted.start <= len(digits):
        keys = [(mantissa, base.decimals) for mantissa in wanted]
    else:
        keys = [key for key in digits if key[1] == base.decimals and key[0] in wanted]
    for key in keys:
        yield from digits.get(key, ())


def _tied(evidence: Evidence, base: Number, other: Number) -> str:
    """A role in which two rows print the same number, with that number."""
    mine, theirs = (evidence.groups.get(group_of(n.claim), {}) for n in (base, other))
    for role, numbers in mine.items():
        if role == evidence.role(base.claim) or role not in theirs or "error" in role:
            continue
        if numbers[0].reported.value == theirs[role][0].reported.value:
            return f"{role} {numbers[0].reported.text}"
    return ""


def _slips(a: Reported, b: Reported, d: Reported) -> Iterator[Explanation]:
    yield slip("value", a, lambda other: agrees(other, b, d), b.value + d.value)
    yield slip("baseline", b, lambda other: agrees(a, other, d), a.value - d.value)
    yield slip("difference", d, lambda other: agrees(a, b, other), a.value - b.value)


def _readings(a: Reported, b: Reported, d: Reported) -> Iterator[Explanation]:
    """The difference read another way."""
    backwards = (b.interval() - a.interval()).meets(d.interval())
    yield Explanation("the sign is reversed", f"{difference(b, a)}", backwards)
    for name, over, over_value in (("the baseline", b, False), ("the value", a, True)):
        if relative := quotient(a, b, over_value):
            middle = show((a.value - b.value) / over.value * 100, max(d.decimals, 0))
            yield Explanation(f"a percentage of {name}", f"{middle} %", relative.meets(d.interval()))


def _any_baseline(
    evidence: Evidence, number: Number, stated: Delta, printed: Reported, tally: Tally
) -> Iterator[Finding]:
    """No baseline named and no reading borne out: a lone other row must fit, as points or as percent."""
    rows = rivals(evidence, number)
    read = named_rows(evidence, number, stated) if stated.inferred else []
    if any(taken(number.reported, n.reported, printed, mode) for n in read for mode in Mode):
        tally.ok()
    elif not rows or stated.task is not None:
        tally.skip("no baseline named and no other row")
    elif len(rows) > MANY:
        tally.skip("no baseline named, and so many rows that one fits by chance")
    elif fitting := fitting_rows(evidence, number, stated):
        yield from _against(evidence, number, fitting, printed, tally, is_guess=True)
    elif any(_as_percent(number.reported, n.reported, printed) for n in rows):
        tally.ok()
    elif len(rows) > 1:
        tally.skip("the baseline is not named, and no reading is borne out by the other differences")
    else:
        yield _to_no_row(number, rows, printed)


def _to_no_row(number: Number, rows: list[Number], printed: Reported) -> Finding:
    return report(
        "DELTA",
        Severity.WARNING,
        Verdict.FAIL,
        number.claim.rounding,
        f"({printed.text}) beside {number.reported.text} is the difference to no row of its column",
        [cell(number.claim), cell(number.claim, f"({printed.text})")],
        "; ".join(difference(number.reported, n.reported) for n in rows[:6]),
        [Explanation("the baseline is not in this table", "", True)],
        pattern=f"differences in {number.claim.where.table} without a baseline that fits",
    )


def _as_percent(a: Reported, b: Reported, d: Reported) -> bool:
    spans = [quotient(a, b, over_value) for over_value in (False, True)]
    return any(span is not None and (span.meets(d.interval()) or span.scale(-1).meets(d.interval())) for span in spans)


@check("REL", 23, "a relative improvement over the wrong denominator", Severity.ERROR)
def relative(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A printed percentage of improvement must be (a − b) / b, b the baseline.

    Formula: r within [(a⁻ − b⁺)/b⁺, (a⁺ − b⁻)/b⁻], ± half-units of the printed digits; where lower is better the sign
    may be reversed. Beside percentages a difference in points passes too. Explanations tried: divided by the new value,
    meant in points, a slip. Severity: an error where the baseline is named, in the same
    table or with the same budget; as for DELTA where it is not.
    Source: xiaxin1998/DHCN#18 (10.71 % is over the new value).
    Power: finds a wrong denominator when the improvement exceeds about √(2u/b). Blind spot: improvements near zero.
    """
    for number, stated, printed in printed_differences(evidence, tally, relative=True):
        judgement = evidence.judgements.get((number, stated))
        if judgement is not None and not judgement.holds:
            yield _breaks(evidence, judgement)
        elif judgement is not None:
            tally.ok()
        else:
            yield from _ratio(evidence, number, stated, printed, tally)


def _ratio(evidence: Evidence, number: Number, stated: Delta, printed: Reported, tally: Tally) -> Iterator[Finding]:
    """A percentage against the baseline it names; where it names none, one that fits."""
    spans = [(base, quotient(number.reported, base.reported)) for base in baselines(evidence, number, stated)]
    ratios = [(base, span) for base, span in spans if span is not None]
    if not ratios:
        tally.skip("the baseline may be zero" if spans else "no number for the baseline")
    elif any(_either_sign(span, printed, number) or _percent_points(number, b, printed) for b, span in ratios):
        tally.ok()
    elif stated.is_unnamed:
        tally.skip("the baseline is not named, and no reading is borne out by the other differences")
    else:
        base, span = ratios[0]
        severity = Severity.WARNING if _unknown(number, base) else Severity.ERROR
        yield _wrong_ratio(number, base, printed, span, severity)


def _percent_points(number: Number, base: Number, printed: Reported) -> bool:
    """`(+2.44 %)` beside percentages is often a difference in points."""
    lower = number.claim.direction == "min"
    return number.claim.unit == "percent" and agrees(number.reported, base.reported, printed, None, lower)


def _either_sign(span: Interval, printed: Reported, number: Number) -> bool:
    backwards = (is_unsigned(printed) or number.claim.direction == "min") and span.scale(-1).meets(printed.interval())
    return span.meets(printed.interval()) or backwards


def _wrong_ratio(number: Number, base: Number, printed: Reported, over_old: Interval, severity: Severity) -> Finding:
    a, b = number.reported, base.reported
    over_new = quotient(a, b, over_value=True)
    ratio = show((a.value - b.value) / b.value * 100, 2)
    explanations = [Explanation("meant in points", difference(a, b), agrees(a, b, printed))]
    if over_new is not None:
        quoted = show((a.value - b.value) / a.value * 100, 2)
        text = f"({a.text} − {b.text}) / {a.text} = {quoted} %, in {rounded(over_new)}"
        explanations.insert(0, Explanation("divided by the new value", text, _either_sign(over_new, printed, number)))
    exact = (a.value - b.value) / b.value * 100
    explanations.append(slip("percentage", printed, lambda other: over_old.meets(other.interval()), exact))
    return report(
        "REL",
        severity,
        Verdict.FAIL,
        number.claim.rounding,
        f"{a.text} over {b.text} is {ratio} %, printed {printed.text} %",
        [cell(number.claim), cell(base.claim)],
        f"({a.text} − {b.text}) / {b.text} = {ratio} %, in {rounded(over_old)}; printed {printed.text} % "
        f"stands for {printed.interval()}",
        explanations,
        nearest=(f"{show((a.value - b.value) / b.value * 100, printed.decimals)} %",),
        pattern="relative improvements over another denominator",
    )


def rounded(span: Interval) -> str:
    """An interval of long fractions with three decimals."""
    return f"[{show(span.lo, 3)}, {show(span.hi, 3)}]"
