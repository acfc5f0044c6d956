"""Spreads: which kind they are, how large they can be, and when they are nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from leaderboard.checks.evidence import Evidence, Number
from leaderboard.checks.explain import slip
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, cell
from leaderboard.checks.measures import bounds
from leaderboard.checks.numbers import Interval, Reported, parse, show
from leaderboard.checks.registry import check
from leaderboard.checks.verdicts import judge, report
from leaderboard.claims.model import Claim, Rounding


@dataclass(frozen=True)
class Kind:
    """One reading of a number after ±, recomputed from the runs."""

    name: str
    span: Interval


def kinds(runs: list[Reported]) -> list[Kind]:
    """Every reading of the spread of these runs.

    An sd moves by at most ‖e‖ / √(n − ddof) when the runs move by e (it is a norm of the centred runs), so half-widths
    h bound it by h √(n / (n − ddof)).
    """
    n = len(runs)
    values = [run.value for run in runs]
    middle = sum(values, Fraction(0)) / n
    squares = sum(((value - middle) ** 2 for value in values), Fraction(0))
    half = max((run.interval().hi - run.interval().lo) / 2 for run in runs)
    found = []
    for ddof, name in ((1, "sd (ddof 1)"), (0, "sd (ddof 0)")):
        root = Interval(squares / (n - ddof), squares / (n - ddof)).sqrt()
        slack = (Interval(Fraction(n, n - ddof), Fraction(n, n - ddof)).sqrt()).hi * half
        span = Interval(max(root.lo - slack, Fraction(0)), root.hi + slack)
        found += [Kind(name, span), Kind(f"variance (ddof {ddof})", span.square())]
        if ddof == 1:
            found.insert(2, Kind("standard error", span.scale(1 / Interval(Fraction(n), Fraction(n)).sqrt().lo)))
    span = Interval(max(values) - min(values) - 2 * half, max(values) - min(values) + 2 * half)
    return [*found, Kind("half the range", span.scale(Fraction(1, 2))), Kind("the range", span)]


@check("SD-KIND")
def sd_kind(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A spread of another kind than stated."""
    for number in evidence.numbers:
        spread = number.claim.spread
        printed = parse(spread.printed, number.claim.rounding) if spread else None
        runs = [parse(text, number.claim.rounding) for text in number.claim.values]
        readable = [run for run in runs if run is not None]
        if spread is None or printed is None or len(readable) < 2 or len(readable) != len(runs):
            continue
        yield from _named(number, printed, readable, tally)
    yield from _variances(evidence, tally)


STATED = {
    ("sd", 1): ("sd (ddof 1)",),
    ("sd", 0): ("sd (ddof 0)",),
    ("sd", None): ("sd (ddof 1)",),
    ("unknown", None): ("sd (ddof 1)",),
    ("se", None): ("standard error",),
    ("minmax", None): ("half the range", "the range"),
}


def _named(number: Number, printed: Reported, runs: list[Reported], tally: Tally) -> Iterator[Finding]:
    spread = number.claim.spread
    if spread is None:
        return
    wanted = STATED.get((spread.kind, spread.ddof))
    if wanted is None:
        tally.skip(f"spread of kind {spread.kind}")
        return
    readings = kinds(runs)
    fitting = [kind for kind in readings if kind.span.meets(printed.interval())]
    if any(kind.name in wanted for kind in fitting):
        tally.ok()
        return
    right = next(kind for kind in readings if kind.name == wanted[0])
    what = f"is the {fitting[0].name}" if fitting else "is none of the usual spreads"
    digits = max(printed.decimals, 0)
    middle = show((right.span.lo + right.span.hi) / 2, digits)
    yield report(
        "SD-KIND",
        Severity.WARNING,
        Verdict.FAIL,
        number.claim.rounding,
        f"± {printed.text} over {len(runs)} printed runs {what}; the {right.name} is {middle}",
        [cell(number.claim)],
        "; ".join(f"{kind.name} in [{float(kind.span.lo):.6g}, {float(kind.span.hi):.6g}]" for kind in readings[:4])
        + f"; printed {printed.text}",
        [Explanation(f"it is the {kind.name}", "", kind in fitting) for kind in readings],
        nearest=(middle,),
        pattern="spreads of another kind",
    )


def _variances(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Groups that print a variance and an sd."""
    for variance, sd in evidence.related("variance", "sd"):
        v, s = variance.interval().clip(0, None), sd.interval().clip(0, None)
        if s.square().meets(v):
            tally.ok()
            continue
        root = v.sqrt()
        digits = max(sd.reported.decimals, 0)
        yield report(
            "SD-KIND",
            Severity.WARNING,
            Verdict.FAIL,
            sd.claim.rounding,
            f"sd {sd.reported.text} is not √{variance.reported.text} = {show(root.lo, digits)}",
            [cell(variance.claim), cell(sd.claim)],
            f"√{variance.reported.text} is in [{float(root.lo):.6g}, {float(root.hi):.6g}]; printed {sd.reported.text}",
            [
                Explanation(
                    "the square was taken instead of the root",
                    f"{variance.reported.text}² = {show(variance.reported.value**2)}",
                    v.square().meets(s),
                ),
                Explanation("the same number twice", "", v.meets(s)),
                slip("sd", sd.reported, partial(_root_of, v)),
            ],
            nearest=(show(root.lo, digits),),
            pattern="sd that is no root of its variance",
        )


def _root_of(variance: Interval, other: Reported) -> bool:
    return other.interval().square().meets(variance)


def largest_sd(mean: Interval, low: int, high: int, n: int | None) -> Fraction:
    """Square of the greatest sd (ddof 1) of n values in [low, high] with that mean; n unknown: two values."""
    middle = Fraction(low + high, 2)
    inside = mean.clip(low, high)
    at = middle if middle in inside else min((inside.lo, inside.hi), key=lambda end: abs(end - middle))
    count = n or 2
    return (high - at) * (at - low) * Fraction(count, max(count - 1, 1))


@check("SD-MAX")
def sd_max(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A spread larger than the metric allows."""
    for number in evidence.numbers:
        spread = number.claim.spread
        low, high = bounds(number.claim)
        printed = parse(spread.printed, number.claim.rounding) if spread else None
        if spread is None or printed is None or spread.kind in {"ci95", "minmax"}:
            continue
        if low is None or high is None:
            tally.skip("the metric's range is not known")
            continue
        verdict, policy = judge(partial(_below_limit, number, printed, low, high), number.claim.rounding)
        if verdict is Verdict.PASS:
            tally.ok()
            continue
        n = number.claim.n
        limit = float(largest_sd(number.interval(), low, high, n)) ** 0.5
        yield report(
            "SD-MAX",
            Severity.ERROR if spread.kind in {"sd", "se"} else Severity.WARNING,
            verdict,
            policy,
            f"± {printed.text} beside {number.reported.text}: at most {limit:.4g} is possible",
            [cell(number.claim)],
            f"√(({high} − m)(m − {low}) n / (n − 1)) = {limit:.6g}, n = {n or '2 or more'}, m in {number.interval()}",
            [
                Explanation("a variance instead of an sd", f"√{printed.text}", float(printed.value) ** 0.5 <= limit),
                slip("spread", printed, partial(_slip_below, number, low, high)),
            ],
            pattern="spreads above their limit",
        )


def _below_limit(number: Number, printed: Reported, low: int, high: int, policy: Rounding | None = None) -> bool:
    spread, n = number.claim.spread, number.claim.n
    least = max(printed.interval(policy).lo, Fraction(0)) ** 2
    if spread is not None and spread.kind == "se":
        least *= n or 1
    return least <= largest_sd(number.interval(policy), low, high, n)


def _slip_below(number: Number, low: int, high: int, other: Reported) -> bool:
    return _below_limit(number, other, low, high)


DETERMINISTIC = re.compile(
    r"determin\w*|greedy|closed[- ]form|analytic(al)?|rule[- ]based|heuristic\w*|exact solution|constant|"
    r"majority( class)?|always \w+|no training|training[- ]free|zero[- ]shot"
)
"""Words of rows whose runs must agree."""


def says_deterministic(claim: Claim) -> bool:
    """Whether the row says that its runs cannot differ."""
    texts = (claim.scope.method, claim.where.row, claim.scope.subset, claim.scope.setting, claim.scope.model)
    return any(text is not None and DETERMINISTIC.search(text.casefold()) for text in texts)


@check("SD-ZERO")
def sd_zero(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """No spread at all."""
    for number in evidence.numbers:
        spread, claim = number.claim.spread, number.claim
        printed = parse(spread.printed) if spread else None
        same = len(claim.values) > 1 and len(set(claim.values)) == 1
        if says_deterministic(claim) or (not same and (printed is None or printed.mantissa != 0)):
            if printed is not None or claim.values:
                tally.ok()
            continue
        runs = claim.n or len(claim.values)
        told = f"± {printed.text}" if printed is not None else "equal runs"
        yield Finding(
            severity=Severity.WARNING if runs > 1 else Severity.INFO,
            message=f"{told} beside {claim.printed}" + (f" over {runs} runs" if runs > 1 else ""),
            cells=(cell(claim),),
            arithmetic=f"every run prints as {claim.printed}",
            explanations=(
                Explanation("a deterministic method", "", True),
                Explanation("the seed is not used", "", True),
                Explanation("a spread below the printed digits", "", printed is not None and not same),
            ),
            pattern="spreads of zero",
        )
