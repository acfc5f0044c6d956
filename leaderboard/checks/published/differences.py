"""Printed differences, absolute and relative, against the values they are differences of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from leaderboard.checks.baselines import Judgement, named_rows, rivals, survey
from leaderboard.checks.difference import MODES, agrees, is_unsigned, quotient, relative, taken
from leaderboard.checks.evidence import Evidence, Number, relate
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, cell, say
from leaderboard.checks.measures import group_of
from leaderboard.checks.numbers import Reported, parse, show
from leaderboard.checks.pairs import are_apart
from leaderboard.checks.registry import check
from leaderboard.checks.relation import Case, Relation, Term, difference
from leaderboard.claims.model import Delta

POINTS = Relation("differences", "{0} − {1}", lambda a, b: a - b)
PERCENT = Relation("relative improvements over another denominator", "100 × ({0} − {1}) / {1}", relative)
LESS = replace(PERCENT, formula="100 × ({1} − {0}) / {1}", implied=lambda a, b: relative(a, b).scale(-1))
NOT_NAMED = "the baseline is not named, and no reading is borne out by the other differences"
MANY = 200
"""Rows of a column beyond which some row fits every difference."""


@check("DELTA")
def delta(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A printed difference that its values do not give."""
    yield from _held(evidence, tally, relative=False)


@check("REL")
def ratio(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A relative improvement over the wrong denominator."""
    yield from _held(evidence, tally, relative=True)


def _held(evidence: Evidence, tally: Tally, relative: bool) -> Iterator[Finding]:
    """Every printed difference of a kind against the baseline that it names, or that its neighbours bear out."""
    for number in evidence.numbers:
        for stated in number.claim.differences:
            if stated.relative is not relative or not stated.printed:
                continue
            judgement = evidence.once(survey).get((number, stated))
            if (printed := parse(stated.printed, number.claim.rounding)) is None:
                tally.skip("difference is no number")
            elif judgement is not None and not judgement.holds:
                yield _breaks(evidence, judgement)
            elif judgement is not None and (relative or judgement.mode.relative):
                tally.ok()
            elif relative:
                yield from _ratio(evidence, number, stated, printed, tally)
            elif judgement is not None or not stated.is_unnamed:
                bases = [judgement.base] if judgement is not None else named_rows(evidence, number, stated)
                yield from _against(evidence, number, bases, printed, tally, is_guess=judgement is not None)
            else:
                yield from _any_baseline(evidence, number, stated, printed, tally)


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
    printed, rows, value = parse(stated.printed, number.claim.rounding), rivals(evidence, number), number.reported
    if printed is None or len(rows) > MANY:
        return []
    if stated.relative:
        return [n for n in rows if _as_percent(value, n.reported, printed)]
    return [n for n in rows if agrees(value, n.reported, printed, None, number.claim.direction == "min")]


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
        tested = _case(number, value, base, printed, lower_is_better=lower)
        digits = value.reported.mantissa, value.reported.decimals
        if (verdict := tested.judge())[0] is Verdict.PASS:
            tally.ok()
        elif digits not in told:  # a twin that prints the same has nothing to add
            told.add(digits)
            sure = not is_guess and not _is_open(evidence, number, value, base, printed)
            could, pattern, mended = _excuses(evidence, tested, number, value, base)
            yield tested.finding(
                could, verdict, severity=Severity.ERROR if sure else Severity.WARNING, pattern=pattern, mended=mended
            )


def _case(
    number: Number, value: Number, base: Number, printed: Reported, relation: Relation = POINTS, sign: int = 1,
    lower_is_better: bool = False,
) -> Case:  # fmt: skip
    """Printed difference, value and baseline; turned round where it can only be so, or else might be."""
    name = "value" if value is number else f"value of {value.table}"
    parts = Term(name, value.reported, value.cell), Term("baseline", base.reported, base.cell)
    target = Term("difference", printed, cell(number.claim, f"({printed.text})"))
    turned = value.value < base.value if is_unsigned(printed) else sign < 0
    if relation is PERCENT:
        return Case(LESS if turned else PERCENT, target, parts)
    tested = Case(relation, target, parts[::-1] if turned else parts)
    other = Case(relation, target, tested.others[::-1])
    may_turn = lower_is_better and not tested.holds()
    return other if may_turn and other.judge()[0] is not Verdict.FAIL else tested


def _nearest(evidence: Evidence, number: Number, bases: list[Number]) -> Number:
    """Of several baselines of one name the last that is printed before the number."""
    if len(bases) == 1:
        return bases[0]
    places = {n: place for place, n in enumerate(evidence.like(number, "table"))}
    before = [n for n in bases if n in places and places[n] < places[number]]
    return before[-1] if before else bases[0]


def _is_open(evidence: Evidence, number: Number, value: Number, base: Number, printed: Reported) -> bool:
    """Whether something that is not stated may excuse it."""
    if value is not number:
        return bool(relate(value.scope, number.scope).unknown)
    if not relate(value.scope, base.scope).unknown:
        return False
    percent = _as_percent(value.reported, base.reported, printed) and not _are_points(evidence, number)
    return percent or number.table != base.table


def _are_points(evidence: Evidence, number: Number) -> bool:
    """Whether the other differences under the number's heading are in points, three at least, some of them surely."""
    others = [(n, stated) for n in evidence.under(number) if n is not number for stated in n.claim.differences]
    named = ((n, s, parse(s.printed)) for n, s in others if not (s.relative or s.is_unnamed))
    known = ((n.reported, base.reported, d) for n, s, d in named if d for base in named_rows(evidence, n, s)[:1])
    fits = Counter((agrees(a, b, d), _as_percent(a, b, d)) for a, b, d in known)
    return not fits[False, True] and fits[True, False] > 1 and fits[True, False] + fits[True, True] > 2


def _breaks(evidence: Evidence, judgement: Judgement) -> Finding:
    """A difference that breaks what its neighbours bear out."""
    entry, base, number = judgement.entry, judgement.base, judgement.entry.number
    elsewhere = not entry.says(judgement.choice) and fitting_rows(evidence, number, entry.stated)
    is_percent = judgement.mode.relative and quotient(number.reported, base.reported) is not None
    tested = _case(number, number, base, entry.printed, PERCENT if is_percent else POINTS, judgement.mode.sign)
    could, pattern, mended = _excuses(evidence, tested, number, number, base)
    return tested.finding(
        could, (Verdict.FAIL, number.claim.rounding), beside=f"; {judgement}", pattern=pattern, mended=mended,
        severity=Severity.ERROR if judgement.sure and not elsewhere else Severity.WARNING,
    )  # fmt: skip


def _twins(evidence: Evidence, number: Number) -> list[Number]:
    """The same quantity in other tables."""
    same = evidence.by_key.get((number.task, number.metric, number.method), [])
    others = [n for n in same if n.table != number.table and not relate(n.scope, number.scope).differ]
    return [n for n in others if not are_apart(evidence, n, number)]


def _excuses(
    evidence: Evidence, tested: Case, number: Number, value: Number, base: Number
) -> tuple[list[Explanation], str, bool]:
    """What may explain a difference that does not hold; the kind of the finding; whether slips say anything."""
    printed, readings = tested.target.reported, _readings(tested, value.reported, base.reported)
    if tested.relation is not POINTS:
        return list(readings), PERCENT.pattern, True
    pattern, row = _other_row(evidence, value, base, printed)
    twins = [twin for twin in (number, *_twins(evidence, number)) if twin is not value]
    fits = "{} with the value of {}; so {} in {} is the likely slip"
    told = [
        Explanation("another table prints a value that fits", fits.format(difference(twin.reported, base.reported),
                    twin.table, value.text, value.table), True)
        for twin in twins if agrees(twin.reported, base.reported, printed)
    ]  # fmt: skip
    if pattern.startswith(TIED):
        return [*told, row], pattern, False
    return [*told, row, *readings], pattern or f"differences of column {number.column} in {number.table}", True


TIED = "the difference is to another row with the same"
"""Explains so much that no slip is looked for."""


def _other_row(evidence: Evidence, value: Number, base: Number, printed: Reported) -> tuple[str, Explanation]:
    """Rows of the baseline's column that give the printed difference, those tied with the right row first."""
    rows, title = [n for n in evidence.under(base) if n is not value and n is not base], "another baseline row"
    unit, digits = base.reported.ulp, base.reported.decimals
    middle = round((value.value - printed.value) / unit)  # whole numbers pick the few rows that are looked at
    slack = int((value.reported.ulp + unit + printed.ulp) / unit) + 2
    near = (n for n in rows if n.reported.decimals == digits and abs(n.reported.mantissa - middle) <= slack)
    fitting = [n for n in near if agrees(value.reported, n.reported, printed)]
    for other in fitting:
        if tie := _tied(evidence, base, other):
            text = f"row {other.row} prints {other.text} and shares {tie} with the right row"
            return f"{TIED} {tie.split()[0]}", Explanation(f"{title}, tied with the right one", text, True)
    if fitting:
        text = f"{difference(value.reported, fitting[0].reported)} with row {fitting[0].row}"
        return "the difference is to another row", Explanation(title, text, True)
    return "", Explanation(title, f"none of {len(rows)} other rows fits")


def _tied(evidence: Evidence, base: Number, other: Number) -> str:
    """A role in which two rows print the same number, with that number."""
    mine, theirs = (evidence.groups.get(group_of(n.claim), {}) for n in (base, other))
    for role, numbers in mine.items():
        skipped = role == evidence.role(base.claim) or role not in theirs or "error" in role
        if not skipped and numbers[0].value == theirs[role][0].value:
            return f"{role} {numbers[0].text}"
    return ""


def _readings(tested: Case, a: Reported, b: Reported) -> Iterator[Explanation]:
    """The difference read another way."""
    d, points = tested.target.reported, tested.relation is POINTS
    if points:
        yield Explanation("the sign is reversed", difference(b, a), (b.interval() - a.interval()).meets(d.interval()))
    else:
        yield Explanation("meant in points", difference(a, b), agrees(a, b, d))
    ways = [("a percentage of the baseline", b, False)] if points else []
    for title, over, over_value in (*ways, ("a percentage of the new value", a, True)):
        if span := quotient(a, b, over_value):
            middle = show((a.value - b.value) / over.value * 100, max(d.decimals, 2 if over_value else 0))
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
        yield say(
            f"({printed.text}) beside {number.text} is the difference to no row of its column",
            number, cell(number.claim, f"({printed.text})"), arithmetic=difference(number.reported, rows[0].reported),
            could=[Explanation("the baseline is not in this table", "", True)],
            pattern=f"differences in {number.table} without a baseline that fits",
        )  # fmt: skip


def _as_percent(a: Reported, b: Reported, d: Reported) -> bool:
    spans = [quotient(a, b, over_value) for over_value in (False, True)]
    return any(span is not None and (span.meets(d.interval()) or span.scale(-1).meets(d.interval())) for span in spans)


def _ratio(evidence: Evidence, number: Number, stated: Delta, printed: Reported, tally: Tally) -> Iterator[Finding]:
    """A percentage against the baseline it names; where it names none, one that fits."""
    bases, value = baselines(evidence, number, stated), number.reported
    ratios = [(base, span) for base in bases if (span := quotient(value, base.reported)) is not None]
    lower, d = number.claim.direction == "min", printed.interval()
    turned = is_unsigned(printed) or lower
    points = number.claim.unit == "percent"  # `(+2.44 %)` beside percentages is often a difference in points
    if not ratios:
        tally.skip("the baseline may be zero" if bases else "no number for the baseline")
    elif any(span.meets(d) or (turned and span.scale(-1).meets(d)) for _, span in ratios) or any(
        points and agrees(value, base.reported, printed, None, lower) for base, _ in ratios
    ):
        tally.ok()
    elif stated.is_unnamed:
        tally.skip(NOT_NAMED)
    else:
        base = ratios[0][0]
        beyond = base.table != number.table and relate(number.scope, base.scope).unknown
        tested = _case(number, number, base, printed, PERCENT)
        yield tested.finding(
            _readings(tested, value, base.reported), (Verdict.FAIL, number.claim.rounding),
            severity=Severity.WARNING if beyond else Severity.ERROR,
        )  # fmt: skip
