"""Numbers outside what their metric can be, and percent mixed with fractions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from leaderboard.checks.evidence import Evidence, Number, fold
from leaderboard.checks.explain import slip
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, cell
from leaderboard.checks.metrics import bounds, family
from leaderboard.checks.numbers import Interval, Reported, show
from leaderboard.checks.registry import check
from leaderboard.checks.verdicts import judge, report
from leaderboard.claims.model import Rounding


@check("DOMAIN", 31, "a value outside its metric's range, or percent mixed with fractions", Severity.ERROR)
def domain(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Percentages lie in [0, 100], fractions in [0, 1], perplexity above 1, correlations in [−1, 1], R² below 1.

    Formula: the interval of the value must meet the range. Scale: a warning when one column of a proportion holds
    values up to 1 and others more than five times as large, a fifth or more of each, or the small ones with more
    decimals.
    Source: definitions; HF model cards that mix 20.90 and 0.412.
    Power: complete for the metrics known by name. Blind spot: other metrics; a column all in one wrong scale.
    """
    for number in evidence.numbers:
        low, high = bounds(number.claim)
        if low is None and high is None:
            continue
        verdict, policy = judge(partial(_allowed, number, low, high), number.claim.rounding)
        if verdict is Verdict.PASS:
            tally.ok()
        else:
            yield _outside(number, low, high, verdict, policy)
    yield from _mixed(evidence)


def _allowed(number: Number, low: int | None, high: int | None, policy: Rounding | None = None) -> bool:
    least, most = number.reported.hundredths(policy)
    unit = number.reported.hundredths_in_one
    return (low is None or most >= low * unit) and (high is None or least <= high * unit)


def _inside(span: Interval, low: int | None, high: int | None) -> bool:
    return (low is None or span.hi >= low) and (high is None or span.lo <= high)


def _outside(number: Number, low: int | None, high: int | None, verdict: Verdict, policy: Rounding) -> Finding:
    reported = number.reported
    ends = f"[{'−∞' if low is None else low}, {'∞' if high is None else high}]"

    def fits(other: Reported) -> bool:
        return _inside(other.interval(), low, high)

    return report(
        "DOMAIN",
        Severity.ERROR,
        verdict,
        policy,
        f"{number.scope.metric or 'value'} {reported.text} ({number.claim.unit}) is outside {ends}",
        [cell(number.claim)],
        f"{reported.text} stands for {number.interval()}; {number.scope.metric} lies in {ends}",
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
    """Columns of a proportion with values on two scales."""
    index: dict[tuple[str, str, str], list[Number]] = defaultdict(list)
    for number in evidence.numbers:
        known = family(number.scope.metric)
        if known is not None and known.proportion and known.lower == 0 and number.claim.unit in {"percent", "raw"}:
            where = number.claim.where
            index[(where.table, where.column, fold(number.scope.metric))].append(number)
    for numbers in index.values():
        small = [n for n in numbers if 0 < n.reported.value <= 1]
        large = [n for n in numbers if n.reported.value > 1]
        if small and large and _two_scales(small, large):
            yield _mixture(small, large)


def _two_scales(small: list[Number], large: list[Number]) -> bool:
    """The small ones, times one hundred, lie among the large ones, and there is a sign that they are fractions."""
    low, high = (f(n.reported.value for n in large) for f in (min, max))
    among = all(low / 2 <= n.reported.value * 100 <= high * 2 for n in small)
    if low < 5 * max(n.reported.value for n in small):
        return False
    finer = min(n.reported.decimals for n in small) > max(n.reported.decimals for n in large)
    share = Fraction(len(small), len(small) + len(large))
    return among and (finer or Fraction(1, 5) <= share <= Fraction(4, 5))


def _mixture(small: list[Number], large: list[Number]) -> Finding:
    a, b = small[0].reported.text, large[0].reported.text
    where = small[0].claim.where
    return Finding(
        check="DOMAIN",
        severity=Severity.WARNING,
        verdict=Verdict.FAIL,
        message=f"{where.table}, {where.column or small[0].scope.metric}: {a} beside {b}, a fraction among percentages",
        cells=(*(cell(n.claim) for n in small[:3]), *(cell(n.claim) for n in large[:3])),
        arithmetic=f"{len(small)} values up to 1 and {len(large)} above; times 100 the small ones lie among the others",
        explanations=(Explanation("the values really are that small", "", True),),
        pattern="percent and fractions mixed",
    )
