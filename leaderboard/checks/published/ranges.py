"""Numbers outside what their metric can be, and percent mixed with fractions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from leaderboard.checks.borne import gathered
from leaderboard.checks.evidence import HEADING, Evidence, Number, fold
from leaderboard.checks.finding import Explanation, Finding, Tally, Verdict, say
from leaderboard.checks.measures import bounds, describes, family, is_rank, measure
from leaderboard.checks.numbers import Interval, show
from leaderboard.checks.registry import check
from leaderboard.checks.relation import Case, Relation, Term
from leaderboard.lexicon.phrases import says

Limits = tuple[int | None, int | None]


@check("DOMAIN")
def domain(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A value outside its metric's range, or percent mixed with fractions."""
    for number in evidence.numbers:
        limits = limits_of(evidence, number)
        if limits == (None, None):
            continue
        if limits[1] is not None and says("another-quantity", fold(evidence.set.captions.get(number.table))):
            tally.skip("the caption makes another quantity of the metric, such as a relative one")
            continue
        if _is_within(number, limits) or (tested := _case(number, limits)).holds():
            tally.in_range()
        elif _is_another_quantity(evidence, number):
            tally.skip("the heading does not name the caption's metric, and its numbers are not of it")
        else:
            printed, misread = number.text, number.claim.unit == "fraction" and 1 < number.value <= 100
            told = f"{printed} % = {show(number.value / 100)}"
            yield tested.finding([Explanation("percent where a fraction is meant", told, misread)], nearest=())
    yield from _mixed(evidence)


def _is_another_quantity(evidence: Evidence, number: Number) -> bool:
    """Whether a row or column such as `Sum` or `Steps` has the caption's metric for want of another.

    Its own heading does not name that metric, and two numbers at least, half of them or more, cannot be of it.
    """
    if number.table not in evidence.set.captions:
        return False
    measured = family(measure(number.claim))
    lines = ((number.column, evidence.under(number)), (number.row, evidence.like(number, "table", "row")))
    for label, line in lines:
        outside = sum(not is_possible(evidence, other) for other in line)
        named = any((known := family(part)) and measured and known.name == measured.name for part in label.split(" / "))
        if outside >= 2 and 2 * outside >= len(line) and not named:
            return True
    return False


def limits_of(evidence: Evidence, number: Number) -> Limits:
    """Least and greatest possible value, in the scale that the column is printed in.

    A share in the low ones beside others that all lie between a tenth and one is no percentage: it is one of fractions.
    """
    known, printed = family(measure(number.claim)), number.reported
    if known is not None and known.is_share and known.better == "max" and 1 < printed.value <= 2 <= printed.decimals:
        others = [n.reported for n in evidence.under(number) if n is not number]
        enough = len(others) >= (1 if "high" in known.flags else 2)
        if enough and all(10 * other.value > 1 >= other.value and other.decimals >= 2 for other in others):
            return (None if known.lower is None else int(known.lower)), 1
    return bounds(number.claim)


def is_possible(evidence: Evidence, number: Number) -> bool:
    """Whether the number is within its metric's range under some rounding."""
    limits = limits_of(evidence, number)
    return _is_within(number, limits) or _case(number, limits).judge()[0] is not Verdict.FAIL


def _is_within(number: Number, limits: Limits) -> bool:
    """Whether it is within the range as it stands."""
    (low, high), value = limits, number.value
    return (low is None or value >= low) and (high is None or value <= high)


def _case(number: Number, limits: Limits) -> Case:
    low, high = limits
    ends = f"[{'−∞' if low is None else low}, {'∞' if high is None else high}]"
    span = Interval(Fraction(-ENDLESS if low is None else low), Fraction(ENDLESS if high is None else high))
    relation = Relation(f"out of range in {number.table}", ends, lambda: span, "∈")
    return Case(relation, Term(measure(number.claim) or "value", number.reported, number.cell), ())


ENDLESS = 10**100
"""Beyond any number that is printed."""


def _mixed(evidence: Evidence) -> Iterator[Finding]:
    """Columns of a proportion with values on two scales, told row by row."""
    found: list[tuple[Number, list[Number]]] = []
    for numbers in evidence.by(*HEADING).values():
        shares = [n for n in numbers if n.value > 0 and _is_share(n)]
        small, large = [n for n in shares if n.value <= 1], [n for n in shares if n.value > 1]
        if small and large and _two_scales(small, large):
            found += [(number, large) for number in small]
    yield from map(_mixture, gathered(found, lambda entry: (entry[0].table, entry[0].row)))


def _is_share(number: Number) -> bool:
    """Whether the number is a proportion that may be printed on either scale."""
    known = family(measure(number.claim))
    good = known is not None and known.is_share and known.better == "max"  # low errors are common
    on_scale = good and number.claim.unit in {"percent", "raw"}
    return on_scale and not describes(number.claim) and not is_rank(number.claim)


def _two_scales(small: list[Number], large: list[Number]) -> bool:
    """The small ones, times one hundred, lie among the large ones, which all have the same number of fewer decimals."""
    low, high = (f(n.value for n in large) for f in (min, max))
    among = all(low / 2 <= n.value * 100 <= high * 2 for n in small)
    digits = {n.reported.decimals for n in large}
    finer = len(digits) == 1 and min(n.reported.decimals for n in small) > max(digits)
    return among and finer and low >= 5 * max(n.value for n in small)


def _mixture(row: list[tuple[Number, list[Number]]]) -> Finding:
    """One row of fractions among rows of percentages."""
    first, others = row[0]
    place = f"{first.table}, {first.row or first.column or first.scope.metric}"
    values = ", ".join(number.text for number, _ in row[:3]) + (" ..." if len(row) > 3 else "")
    beside, what = ", ".join(large[0].text for _, large in row[:3]), "fractions" if len(row) > 1 else "a fraction"

    def told(number: Number, large: list[Number]) -> str:
        low, high = (pick(large, key=lambda n: n.value).text for pick in (min, max))
        return f"100 × {number.text} = {show(number.value * 100)}, the others of its column lie from {low} to {high}"

    return say(
        f"{place}: {values} beside {beside}, {what} among percentages", *(number for number, _ in row[:3]), *others[:3],
        arithmetic="; ".join(told(number, large) for number, large in row[:3]), pattern="percent and fractions mixed",
        could=[Explanation("the values really are that small", "", True)],
    )  # fmt: skip
