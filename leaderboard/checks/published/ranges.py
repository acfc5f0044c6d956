"""Numbers outside what their metric can be, and percent mixed with fractions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import partial

from leaderboard.checks.evidence import Evidence, Number, fold
from leaderboard.checks.explain import slip
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, cell
from leaderboard.checks.metrics import bounds, describes, family, is_rank, measure
from leaderboard.checks.numbers import Interval, Reported, show
from leaderboard.checks.registry import check
from leaderboard.checks.verdicts import judge, report
from leaderboard.claims.model import Rounding


@check("DOMAIN", 31, "a value outside its metric's range, or percent mixed with fractions", Severity.ERROR)
def domain(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Percentages lie in [0, 100], fractions in [0, 1], perplexity above 1, correlations in [−1, 1], R² below 1.

    Formula: the interval of the value must meet the range. Scale: a warning when one column of a proportion holds
    values up to 1 with more decimals than all others, which are more than five times as large; one finding for a row.
    Source: definitions; HF model cards that mix 20.90 and 0.412.
    Power: complete for the metrics known by name. Blind spot: other metrics; a column all in one wrong scale; a row or
    column whose heading names no metric and most of whose numbers are outside the range of the caption's.
    """
    for number in evidence.numbers:
        low, high = limits(number, heading(evidence, number))
        if high is not None and RELATIVE.search(fold(evidence.set.captions.get(number.claim.where.table))):
            tally.skip("the caption makes another quantity of the metric, such as a relative one")
            continue
        if low is None and high is None:
            continue
        verdict, policy = judge(partial(_allowed, number, low, high), number.claim.rounding)
        if verdict is Verdict.PASS:
            tally.ok()
        elif _is_another_quantity(evidence, number):
            tally.skip("the heading does not name the caption's metric, and its numbers are not of it")
        else:
            yield _outside(number, low, high, verdict, policy)
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
    lines = ((where.column, heading(evidence, number)), (where.row, evidence.by_row[(where.table, where.row)]))
    for label, line in lines:
        outside = sum(not is_possible(evidence, other) for other in line)
        if outside >= 2 and 2 * outside >= len(line) and all(family(part) != measured for part in label.split(" / ")):
            return True
    return False


def limits(number: Number, column: list[Number]) -> tuple[int | None, int | None]:
    """Least and greatest possible value, in the scale that the column is printed in.

    Some proportions are nowhere near one percent: where all others of their column lie between 0 and 1, so must they.
    """
    known, printed = family(measure(number.claim)), number.reported
    if known is not None and known.high and 1 < printed.value <= 2 and printed.decimals >= 2:
        others = [n.reported for n in column if n is not number]
        if others and all(other.value <= 1 and other.decimals >= 2 for other in others):
            return known.lower, known.upper
    return bounds(number.claim)


def heading(evidence: Evidence, number: Number) -> list[Number]:
    """The numbers under the same heading."""
    where = number.claim.where
    return evidence.by_cell[(where.table, where.column, fold(number.scope.metric))]


def is_possible(evidence: Evidence, number: Number) -> bool:
    """Whether the number is within its metric's range under some rounding."""
    low, high = limits(number, heading(evidence, number))
    return judge(partial(_allowed, number, low, high), number.claim.rounding)[0] is not Verdict.FAIL


def _allowed(number: Number, low: int | None, high: int | None, policy: Rounding | None = None) -> bool:
    least, most = number.reported.hundredths(policy)
    unit = number.reported.hundredths_in_one
    return (low is None or most >= low * unit) and (high is None or least <= high * unit)


def _inside(span: Interval, low: int | None, high: int | None) -> bool:
    return (low is None or span.hi >= low) and (high is None or span.lo <= high)


def _outside(number: Number, low: int | None, high: int | None, verdict: Verdict, policy: Rounding) -> Finding:
    reported = number.reported
    name = measure(number.claim) or "value"
    ends = f"[{'−∞' if low is None else low}, {'∞' if high is None else high}]"

    def fits(other: Reported) -> bool:
        return _inside(other.interval(), low, high)

    return report(
        "DOMAIN",
        Severity.ERROR,
        verdict,
        policy,
        f"{name} {reported.text} ({number.claim.unit}) is outside {ends}",
        [cell(number.claim)],
        f"{reported.text} stands for {number.interval()}; {name} lies in {ends}",
        [
            Explanation(
                "percent where a fraction is meant",
                f"{reported.text} % = {show(reported.value / 100)}",
                number.claim.unit == "fraction" and 1 < reported.value <= 100,
            ),
            slip("value", reported, fits),
        ],
        pattern=f"out of range in {number.claim.where.table}",
    )


def _mixed(evidence: Evidence) -> Iterator[Finding]:
    """Columns of a proportion with values on two scales, told row by row."""
    rows: dict[tuple[str, str], list[tuple[Number, list[Number]]]] = defaultdict(list)
    for numbers in evidence.by_cell.values():
        shares = [n for n in numbers if _is_share(n)]
        small = [n for n in shares if 0 < n.reported.value <= 1]
        large = [n for n in shares if n.reported.value > 1]
        if small and large and _two_scales(small, large):
            for number in small:
                rows[(number.claim.where.table, number.claim.where.row)].append((number, large))
    yield from (_mixture(same) for same in rows.values())


def _is_share(number: Number) -> bool:
    """Whether the number is a proportion that may be printed on either scale."""
    known = family(measure(number.claim))
    good = known is not None and known.proportion and known.direction == "max"  # low errors are common
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
    return Finding(
        check="DOMAIN",
        severity=Severity.WARNING,
        verdict=Verdict.FAIL,
        message=f"{place}: {values} beside {beside}, {'fractions' if len(row) > 1 else 'a fraction'} among percentages",
        cells=(*(cell(number.claim) for number, _ in row[:3]), *(cell(n.claim) for n in others[:3])),
        arithmetic="; ".join(
            f"100 × {number.reported.text} = {show(number.reported.value * 100)}, the others of its column lie from "
            f"{min(large, key=lambda n: n.reported.value).reported.text} to "
            f"{max(large, key=lambda n: n.reported.value).reported.text}"
            for number, large in row[:3]
        ),
        explanations=(Explanation("the values really are that small", "", True),),
        pattern="percent and fractions mixed",
    )
