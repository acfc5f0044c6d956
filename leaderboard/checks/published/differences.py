"""Printed differences, absolute and relative, against the values they are differences of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

from leaderboard.checks.baselines import (
    MODES,
    Judgement,
    agrees,
    is_unsigned,
    named_rows,
    quotient,
    relative,
    rivals,
    survey,
    taken,
)
from leaderboard.checks.evidence import Evidence, Number, key_of, relate
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, cell
from leaderboard.checks.measures import group_of
from leaderboard.checks.numbers import Reported, parse, show
from leaderboard.checks.pairs import are_apart
from leaderboard.checks.registry import check
from leaderboard.checks.relation import Case, Relation, Term, difference, judge
from leaderboard.claims.model import Delta, Rounding

POINTS = Relation("differences", "{0} − {1}", lambda a, b: a - b)
PERCENT = Relation("relative improvements over another denominator", "100 × ({0} − {1}) / {1}", relative)
NOT_NAMED = "the baseline is not named, and no reading is borne out by the other differences"
MANY = 200
"""Rows of a column beyond which some row fits every difference."""


@check("DELTA")
def delta(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A printed difference that its values do not give."""
    for number, stated, printed in printed_differences(evidence, tally, wanted=False):
        judgement = evidence.once(survey).get((number, stated))
        if not stated.is_unnamed:
            yield from _against(evidence, number, named_rows(evidence, number, stated), printed, tally)
        elif judgement is not None and not judgement.holds:
            yield _breaks(evidence, judgement)
        elif judgement is not None and not judgement.mode.relative:
            yield from _against(evidence, number, [judgement.base], printed, tally, is_guess=True)
        elif judgement is not None:
            tally.ok()
        else:
            yield from _any_baseline(evidence, number, stated, printed, tally)


def printed_differences(evidence: Evidence, tally: Tally, wanted: bool) -> Iterator[tuple[Number, Delta, Reported]]:
    """Every difference, relative or not, with the number it belongs to."""
    for number in evidence.numbers:
        for stated in number.claim.differences:
            if stated.relative is wanted and stated.printed:
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
    judgement = evidence.once(survey).get((number, stated))
    if judgement is not None:
        return [judgement.base] if judgement.holds else []
    fitting = fitting_rows(evidence, number, stated)
    return fitting if len(fitting) == 1 else []


def fitting_rows(evidence: Evidence, number: Number, stated: Delta) -> list[Number]:
    """Rows of the number's column that its printed difference can be a difference to; of a long one none."""
    printed, rows = parse(stated.printed, number.claim.rounding), rivals(evidence, number)
    if printed is None or len(rows) > MANY:
        return []
    if stated.relative:
        return [n for n in rows if _as_percent(number.reported, n.reported, printed)]
    return [n for n in rows if agrees(number.reported, n.reported, printed, None, number.claim.direction == "min")]


def _against(
    evidence: Evidence, number: Number, bases: list[Number], printed: Reported, tally: Tally, is_guess: bool = False
) -> Iterator[Finding]:
    """The printed difference against one of the baselines, for the number and for every twin of it."""
    if not bases:
        tally.skip("no number for the baseline")
        return
    lower = number.claim.direction == "min" or is_guess
    fitting = (n for n in bases if agrees(number.reported, n.reported, printed, None, lower))
    base = next(fitting, None) or _nearest(evidence, number, bases)
    told: set[tuple[int, int]] = set()
    for value in (number, *_twins(evidence, number)):
        test = partial(agrees, value.reported, base.reported, printed, lower_is_better=lower)
        verdict, policy = judge(test, number.claim.rounding)
        digits = value.reported.mantissa, value.reported.decimals
        if verdict is Verdict.PASS:
            tally.ok()
        elif digits not in told:  # a twin that prints the same has nothing to add
            told.add(digits)
            sure = not is_guess and not _is_open(evidence, number, value, base, printed)
            severity = Severity.ERROR if sure else Severity.WARNING
            found = Case(POINTS, *_operands(number, value, base, printed))
            yield _wrong(evidence, found, number, value, base, severity, (verdict, policy))


def _operands(number: Number, value: Number, base: Number, printed: Reported) -> tuple[Term, tuple[Term, ...]]:
    """The printed difference, value and baseline; turned round where an unsigned one can only be so."""
    parts = Term("value", value.reported, cell(value.claim)), Term("baseline", base.reported, cell(base.claim))
    turned = is_unsigned(printed) and value.reported.value < base.reported.value
    return Term("difference", printed, cell(number.claim, f"({printed.text})")), parts[::-1] if turned else parts


def _nearest(evidence: Evidence, number: Number, bases: list[Number]) -> Number:
    """Of several baselines of one name the last that is printed before the number."""
    places = {n: place for place, n in enumerate(evidence.by_table[number.claim.where.table])}
    before = [n for n in bases if n in places and places[n] < places[number]]
    return before[-1] if before and len(bases) > 1 else bases[0]


def _is_open(evidence: Evidence, number: Number, value: Number, base: Number, printed: Reported) -> bool:
    """Whether something that is not stated may excuse it."""
    if value is not number:
        return bool(relate(value.scope, number.scope).unknown)
    if number.claim.where.table != base.claim.where.table:
        return bool(relate(value.scope, base.scope).unknown)
    read_as_points = _as_percent(value.reported, base.reported, printed) and not _are_points(evidence, number)
    return read_as_points and bool(relate(value.scope, base.scope).unknown)


def _are_points(evidence: Evidence, number: Number) -> bool:
    """Whether the other differences under the number's heading are in points, three at least, some of them surely."""
    others = [(n, stated) for n in evidence.under(number) if n is not number for stated in n.claim.differences]
    named = ((n, s, parse(s.printed)) for n, s in others if not (s.relative or s.is_unnamed))
    known = ((n.reported, base.reported, d) for n, s, d in named if d for base in named_rows(evidence, n, s)[:1])
    fits = Counter((agrees(a, b, d), _as_percent(a, b, d)) for a, b, d in known)
    return not fits[False, True] and fits[True, False] > 1 and fits[True, False] + fits[True, True] > 2


def _breaks(evidence: Evidence, judgement: Judgement) -> Finding:
    """A difference that breaks what its neighbours bear out."""
    entry, base = judgement.entry, judgement.base
    elsewhere = not entry.says(judgement.choice) and fitting_rows(evidence, entry.number, entry.stated)
    severity = Severity.ERROR if judgement.sure and not elsewhere else Severity.WARNING
    is_percent = judgement.mode.relative and quotient(entry.number.reported, base.reported) is not None
    relation, verdict = PERCENT if is_percent else POINTS, (Verdict.FAIL, entry.number.claim.rounding)
    target, parts = _operands(entry.number, entry.number, base, entry.printed)
    if judgement.mode.sign < 0 and not is_unsigned(entry.printed):
        parts = parts[::-1]
    found = Case(relation, target, parts)
    return _wrong(evidence, found, entry.number, entry.number, base, severity, verdict, f"; {judgement}")


def _twins(evidence: Evidence, number: Number) -> list[Number]:
    """The same quantity in other tables."""
    key = key_of(number.scope)
    same = evidence.by_key.get(key, []) if key else []
    others = [n for n in same if n.claim.where.table != number.claim.where.table]
    return [n for n in others if not relate(n.scope, number.scope).differ and not are_apart(evidence, n, number)]


def _wrong(
    evidence: Evidence, found: Case, number: Number, value: Number, base: Number, severity: Severity,
    verdict: tuple[Verdict, Rounding], beside: str = "",
) -> Finding:  # fmt: skip
    """What to say of a difference that does not hold."""
    a, b, printed = value.reported, base.reported, found.target.reported
    where, digits = number.claim.where, max(printed.decimals, 0)
    if found.relation is PERCENT:
        message = (
            f"{a.text} over {b.text} is {show((a.value - b.value) / b.value * 100, 2)} %, printed {printed.text} %"
        )
        told = [*_readings(found, a, b, printed), *found.slips()]
        pattern, near = PERCENT.pattern, f"{show(found.middle, digits)} %"
    else:
        twin = "" if value is number else f"with {value.claim.where.table}'s value "
        message = f"{twin}{difference(*(t.reported for t in found.others))}, printed ({printed.text}) in {where.table}"
        pattern, rows = _other_row(evidence, value, base, printed)
        tied = pattern.startswith(TIED)
        told = [*_twin_fits(evidence, number, value, base, printed), *rows]
        told += [] if tied else [*found.slips(_meant(a, b, printed)), *_readings(found, a, b, printed)]
        pattern = pattern or f"differences of column {where.column} in {where.table}"
        near = f"({'+' if found.middle >= 0 else ''}{show(found.middle, digits)})"
    return found.finding(
        *verdict,
        told,
        message=message,
        beside=beside,
        pattern=pattern,
        severity=severity,
        nearest=(near,),
    )


def _meant(a: Reported, b: Reported, d: Reported) -> Callable[[Term], Fraction | None]:
    """What value and baseline would have to be, the others being right."""
    exact = {"value": b.value + d.value, "baseline": a.value - d.value}
    return lambda term: exact.get(term.name)


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


def _other_row(evidence: Evidence, value: Number, base: Number, printed: Reported) -> tuple[str, list[Explanation]]:
    """Rows of the baseline's column that give the printed difference, those tied with the right row first."""
    near = _near(evidence, base, value.reported, printed)
    fitting = [n for n in near if n is not value and n is not base and agrees(value.reported, n.reported, printed)]
    if not fitting:
        told = f"none of {len(evidence.under(base)) - 1} other rows fits"
        return "", [Explanation("another baseline row", told)]
    for other in fitting:
        if tie := _tied(evidence, base, other):
            text = f"row {other.claim.where.row} prints {other.reported.text} and shares {tie} with the right row"
            title = "another baseline row, tied with the right one"
            return f"{TIED} {tie.split()[0]}", [Explanation(title, text, True)]
    text = f"{difference(value.reported, fitting[0].reported)} with row {fitting[0].claim.where.row}"
    return "the difference is to another row", [Explanation("another baseline row", text, True)]


def _near(evidence: Evidence, base: Number, value: Reported, printed: Reported) -> Iterator[Number]:
    """Numbers under the baseline's heading that may be value − difference, found by their digits."""
    digits, unit = evidence.digits_under(base), Fraction(10) ** base.reported.decimals
    allowed = (value.ulp + base.reported.ulp + printed.ulp) * unit
    middle = (value.value - printed.value) * unit
    wanted = range(int(middle - allowed) - 1, int(middle + allowed) + 2)
    few = len(wanted) <= len(digits)
    keys = [(mantissa, base.reported.decimals) for mantissa in wanted] if few else list(digits)
    for key in keys:
        if key[0] in wanted and key[1] == base.reported.decimals:
            yield from digits.get(key, ())


def _tied(evidence: Evidence, base: Number, other: Number) -> str:
    """A role in which two rows print the same number, with that number."""
    mine, theirs = (evidence.groups.get(group_of(n.claim), {}) for n in (base, other))
    for role, numbers in mine.items():
        skipped = role == evidence.role(base.claim) or role not in theirs or "error" in role
        if not skipped and numbers[0].reported.value == theirs[role][0].reported.value:
            return f"{role} {numbers[0].reported.text}"
    return ""


def _readings(found: Case, a: Reported, b: Reported, d: Reported) -> Iterator[Explanation]:
    """The difference read another way."""
    if found.relation is PERCENT:
        yield Explanation("meant in points", difference(a, b), agrees(a, b, d))
    else:
        yield Explanation("the sign is reversed", difference(b, a), (b.interval() - a.interval()).meets(d.interval()))
    for name, over, over_value in (("the baseline", b, False), ("the value", a, True)):
        if (span := quotient(a, b, over_value)) and not (found.relation is PERCENT and not over_value):
            middle = show((a.value - b.value) / over.value * 100, max(d.decimals, 2 if over_value else 0))
            title = "divided by the new value" if found.relation is PERCENT else f"a percentage of {name}"
            fits = span.meets(d.interval()) or (is_unsigned(d) and span.scale(-1).meets(d.interval()))
            yield Explanation(title, f"({a.text} − {b.text}) / {over.text} = {middle} %", fits)


def _any_baseline(
    evidence: Evidence, number: Number, stated: Delta, printed: Reported, tally: Tally
) -> Iterator[Finding]:
    """No baseline named and no reading borne out: a lone other row must fit, as points or as percent."""
    rows = rivals(evidence, number)
    inferred = named_rows(evidence, number, stated) if stated.inferred else []
    if any(taken(number.reported, n.reported, printed, mode) for n in inferred for mode in MODES):
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
        tally.skip(NOT_NAMED)
    else:
        yield Finding(
            f"({printed.text}) beside {number.reported.text} is the difference to no row of its column",
            (cell(number.claim), cell(number.claim, f"({printed.text})")),
            difference(number.reported, rows[0].reported),
            (Explanation("the baseline is not in this table", "", True),),
            f"differences in {number.claim.where.table} without a baseline that fits",
        )


def _as_percent(a: Reported, b: Reported, d: Reported) -> bool:
    spans = [quotient(a, b, over_value) for over_value in (False, True)]
    return any(span is not None and (span.meets(d.interval()) or span.scale(-1).meets(d.interval())) for span in spans)


@check("REL")
def ratio(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A relative improvement over the wrong denominator."""
    for number, stated, printed in printed_differences(evidence, tally, wanted=True):
        judgement = evidence.once(survey).get((number, stated))
        if judgement is not None and not judgement.holds:
            yield _breaks(evidence, judgement)
        elif judgement is not None:
            tally.ok()
        else:
            yield from _ratio(evidence, number, stated, printed, tally)


def _ratio(evidence: Evidence, number: Number, stated: Delta, printed: Reported, tally: Tally) -> Iterator[Finding]:
    """A percentage against the baseline it names; where it names none, one that fits."""
    bases = baselines(evidence, number, stated)
    ratios = [(base, span) for base in bases if (span := quotient(number.reported, base.reported)) is not None]
    lower, d = number.claim.direction == "min", printed.interval()
    turned = is_unsigned(printed) or lower
    points = number.claim.unit == "percent"  # `(+2.44 %)` beside percentages is often a difference in points
    if not ratios:
        tally.skip("the baseline may be zero" if bases else "no number for the baseline")
    elif any(span.meets(d) or (turned and span.scale(-1).meets(d)) for _, span in ratios) or any(
        points and agrees(number.reported, base.reported, printed, None, lower) for base, _ in ratios
    ):
        tally.ok()
    elif stated.is_unnamed:
        tally.skip(NOT_NAMED)
    else:
        base = ratios[0][0]
        beyond = base.claim.where.table != number.claim.where.table and relate(number.scope, base.scope).unknown
        parts = Term("value", number.reported, cell(number.claim)), Term("baseline", base.reported, cell(base.claim))
        found = Case(PERCENT, Term("percentage", printed, cell(number.claim, f"({printed.text})")), parts)
        severity = Severity.WARNING if beyond else Severity.ERROR
        yield _wrong(evidence, found, number, number, base, severity, (Verdict.FAIL, number.claim.rounding))
