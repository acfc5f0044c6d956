"""Numbers outside what their metric can be, and percent mixed with fractions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from leaderboard.checks.evidence import Evidence, Number, fold
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, cell
from leaderboard.checks.measures import bounds, describes, family, is_rank, measure
from leaderboard.checks.numbers import show
from leaderboard.checks.registry import check
from leaderboard.checks.relation import judge, reported_as, slip
from leaderboard.claims.model import Rounding

Limits = tuple[int | None, int | None]


@check("DOMAIN")
def domain(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A value outside its metric's range, or percent mixed with fractions."""
    for number in evidence.numbers:
        limits = limits_of(evidence, number)
        if limits == (None, None):
            continue
        if limits[1] is not None and RELATIVE.search(fold(evidence.set.captions.get(number.claim.where.table))):
            tally.skip("the caption makes another quantity of the metric, such as a relative one")
            continue
        verdict, policy = _judged(number, limits)
        if verdict is Verdict.PASS:
            tally.in_range()
        elif _is_another_quantity(evidence, number):
            tally.skip("the heading does not name the caption's metric, and its numbers are not of it")
        else:
            yield reported_as(verdict, policy, _outside(number, limits))
    yield from _mixed(evidence)


RELATIVE = re.compile(
    r"\b(relative|normali[sz]ed) ([\w-]+ )?(acc\w*|performance|scores?|recall|precision|auc|f1|success)\b|"
    r"\b(performance|accuracy) (retention|recovery|ratio)|\bretained\b"
)
"""Words of captions that make another quantity of a bounded one."""


def _is_another_quantity(evidence: Evidence, number: Number) -> bool:
    """Whether a row or column such as `Sum` or `Steps` has the caption's metric for want of another.

    Its own heading does not name that metric, and two numbers at least, half of them or more, cannot be of it.
    """
    where = number.claim.where
    if where.table not in evidence.set.captions:
        return False
    measured = family(measure(number.claim))
    lines = ((where.column, evidence.under(number)), (where.row, evidence.by_row[(where.table, where.row)]))
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
    return _judged(number, limits_of(evidence, number))[0] is not Verdict.FAIL


def _judged(number: Number, limits: Limits) -> tuple[Verdict, Rounding]:
    low, high = limits
    unit = number.reported.hundredths_in_one

    def allowed(policy: Rounding | None) -> bool:
        least, most = number.reported.hundredths(policy)
        return (low is None or most >= low * unit) and (high is None or least <= high * unit)

    return judge(allowed, number.claim.rounding)


def _outside(number: Number, limits: Limits) -> Finding:
    reported, name = number.reported, measure(number.claim) or "value"
    low, high = limits
    ends = f"[{'−∞' if low is None else low}, {'∞' if high is None else high}]"
    misread = number.claim.unit == "fraction" and 1 < reported.value <= 100
    return Finding(
        f"{name} {reported.text} ({number.claim.unit}) is outside {ends}",
        (cell(number.claim),),
        f"{reported.text} stands for {number.interval()}; {name} lies in {ends}",
        (
            Explanation(
                "percent where a fraction is meant", f"{reported.text} % = {show(reported.value / 100)}", misread
            ),
            slip("value", reported, lambda other: _judged(Number(number.claim, other), limits)[0] is Verdict.PASS),
        ),
        f"out of range in {number.claim.where.table}",
        Severity.ERROR,
    )


def _mixed(evidence: Evidence) -> Iterator[Finding]:
    """Columns of a proportion with values on two scales, told row by row."""
    rows: dict[tuple[str, str], list[tuple[Number, list[Number]]]] = defaultdict(list)
    for numbers in evidence.by_cell.values():
        shares = [n for n in numbers if n.reported.value > 0 and _is_share(n)]
        small = [n for n in shares if n.reported.value <= 1]
        large = [n for n in shares if n.reported.value > 1]
        if small and large and _two_scales(small, large):
            for number in small:
                rows[(number.claim.where.table, number.claim.where.row)].append((number, large))
    yield from (_mixture(same) for same in rows.values())


def _is_share(number: Number) -> bool:
    """Whether the number is a proportion that may be printed on either scale."""
    known = family(measure(number.claim))
    good = known is not None and known.is_share and known.better == "max"  # low errors are common
    on_scale = good and number.claim.unit in {"percent", "raw"}
    return on_scale and not describes(number.claim) and not is_rank(number.claim)


def _two_scales(small: list[Number], large: list[Number]) -> bool:
    """The small ones, times one hundred, lie among the large ones, which all have the same number of fewer decimals."""
    low, high = (f(n.reported.value for n in large) for f in (min, max))
    among = all(low / 2 <= n.reported.value * 100 <= high * 2 for n in small)
    digits = {n.reported.decimals for n in large}
    finer = len(digits) == 1 and min(n.reported.decimals for n in small) > max(digits)
    return among and finer and low >= 5 * max(n.reported.value for n in small)


def _mixture(row: list[tuple[Number, list[Number]]]) -> Finding:
    """One row of fractions among rows of percentages."""
    first, others = row[0]
    where = first.claim.where
    place = f"{where.table}, {where.row or where.column or first.scope.metric}"
    values = ", ".join(number.reported.text for number, _ in row[:3]) + (" ..." if len(row) > 3 else "")
    beside = ", ".join(large[0].reported.text for _, large in row[:3])
    what = "fractions" if len(row) > 1 else "a fraction"

    def told(number: Number, large: list[Number]) -> str:
        low, high = (pick(large, key=lambda n: n.reported.value).reported.text for pick in (min, max))
        hundred = show(number.reported.value * 100)
        return f"100 × {number.reported.text} = {hundred}, the others of its column lie from {low} to {high}"

    return Finding(
        f"{place}: {values} beside {beside}, {what} among percentages",
        (*(cell(number.claim) for number, _ in row[:3]), *(cell(n.claim) for n in others[:3])),
        "; ".join(told(number, large) for number, large in row[:3]),
        (Explanation("the values really are that small", "", True),),
        "percent and fractions mixed",
    )
