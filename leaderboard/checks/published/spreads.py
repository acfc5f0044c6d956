"""Spreads: which kind they are, how large they can be, and when they are nothing."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from leaderboard.checks.evidence import Evidence, Number
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, say
from leaderboard.checks.measures import bounds
from leaderboard.checks.numbers import Interval, Reported, exactly, parse, show
from leaderboard.checks.published.identities import held
from leaderboard.checks.registry import check
from leaderboard.checks.relation import Case, Relation, Term
from leaderboard.claims.model import Claim
from leaderboard.lexicon.phrases import says


def kinds(runs: list[Reported]) -> dict[str, Interval]:
    """Every reading of the spread of these runs, by name.

    An sd moves by at most ‖e‖ / √(n − ddof) when the runs move by e (it is a norm of the centred runs), so half-widths
    h bound it by h √(n / (n − ddof)).
    """
    n, values = len(runs), [run.value for run in runs]
    middle = sum(values, Fraction(0)) / n
    squares = sum(((value - middle) ** 2 for value in values), Fraction(0))
    half = max((run.interval().hi - run.interval().lo) / 2 for run in runs)
    found: dict[str, Interval] = {}
    for ddof in (1, 0):
        root, slack = exactly(squares / (n - ddof)).sqrt(), exactly(Fraction(n, n - ddof)).sqrt().hi * half
        span = Interval(max(root.lo - slack, Fraction(0)), root.hi + slack)
        found |= {f"sd (ddof {ddof})": span, f"variance (ddof {ddof})": span.square()}
        if ddof == 1:
            found["standard error"] = span.scale(1 / exactly(n).sqrt().lo)
    span = Interval(max(values) - min(values) - 2 * half, max(values) - min(values) + 2 * half)
    return {**found, "half the range": span.scale(Fraction(1, 2)), "the range": span}


STATED = {
    ("sd", 1): ("sd (ddof 1)",), ("sd", 0): ("sd (ddof 0)",), ("sd", None): ("sd (ddof 1)",),
    ("unknown", None): ("sd (ddof 1)",), ("se", None): ("standard error",),
    ("minmax", None): ("half the range", "the range"),
}  # fmt: skip
"""What a source says of its spread → the kinds that it may be."""


def spread_of(number: Number) -> Reported | None:
    """The number after ±."""
    spread = number.claim.spread
    return parse(spread.printed, number.claim.rounding) if spread else None


@check("SD-KIND")
def sd_kind(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A spread of another kind than stated."""
    for number in evidence.numbers:
        spread, printed = number.claim.spread, spread_of(number)
        runs = [run for text in number.claim.values if (run := parse(text, number.claim.rounding)) is not None]
        if spread is None or printed is None or len(runs) < 2 or len(runs) != len(number.claim.values):
            continue
        if (wanted := STATED.get((spread.kind, spread.ddof))) is None:
            tally.skip(f"spread of kind {spread.kind}")
            continue
        found = kinds(runs)
        fitting = [name for name, span in found.items() if span.meets(printed.interval())]
        if set(wanted) & set(fitting):
            tally.ok()
            continue
        right, what = found[wanted[0]], f"is the {fitting[0]}" if fitting else "is none of the usual spreads"
        middle = show((right.lo + right.hi) / 2, max(printed.decimals, 0))
        told = [f"{name} in [{float(span.lo):.6g}, {float(span.hi):.6g}]" for name, span in found.items()]
        yield say(
            f"± {printed.text} over {len(runs)} printed runs {what}; the {wanted[0]} is {middle}", number,
            arithmetic=f"{'; '.join(told[:4])}; printed {printed.text}", pattern="spreads of another kind",
            could=[Explanation(f"it is the {name}", "", name in fitting) for name in found], nearest=(middle,),
        )  # fmt: skip
    yield from held(evidence, "SD-KIND", tally)


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
        spread, printed, (low, high), n = number.claim.spread, spread_of(number), bounds(number.claim), number.claim.n
        if spread is None or printed is None or spread.kind in {"ci95", "minmax"}:
            continue
        if low is None or high is None:
            tally.skip("the metric's range is not known")
            continue
        runs = (n or 1) if spread.kind == "se" else 1
        formula = f"√(({high} − {{0}})({{0}} − {low}) n / (n − 1)){' / √n' if runs > 1 else ''}"

        def limit(mean: Interval, low: int = low, high: int = high, n: int | None = n, runs: int = runs) -> Interval:
            return exactly(largest_sd(mean, low, high, n) / runs).sqrt()

        relation = Relation("spreads above their limit", formula, limit, "≤", f"n = {n or '2 or more'}")
        tested = Case(relation, Term("±", printed, number.cell), (Term("m", number.reported, number.cell),))
        fits = abs(float(printed.value)) ** 0.5 <= float(tested.implied().hi)
        severity = Severity.ERROR if spread.kind in {"sd", "se"} else Severity.WARNING
        variance = Explanation("a variance instead of an sd", f"√{printed.text}", fits)
        yield from tested.tell(tally, [variance], severity=severity)


def says_deterministic(claim: Claim) -> bool:
    """Whether the row says that its runs cannot differ."""
    texts = (claim.scope.method, claim.where.row, claim.scope.subset, claim.scope.setting, claim.scope.model)
    return any(text is not None and says("deterministic", text.casefold()) for text in texts)


@check("SD-ZERO")
def sd_zero(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """No spread at all."""
    for number in evidence.numbers:
        claim, printed = number.claim, spread_of(number)
        same = len(claim.values) > 1 and len(set(claim.values)) == 1
        if says_deterministic(claim) or (not same and (printed is None or printed.mantissa != 0)):
            if printed is not None or claim.values:
                tally.in_range()
            continue
        runs = claim.n or len(claim.values)
        told = f"± {printed.text}" if printed is not None else "equal runs"
        could = [Explanation("a deterministic method", fits=True), Explanation("the seed is not used", fits=True)]
        could.append(Explanation("a spread below the printed digits", fits=printed is not None and not same))
        yield say(
            f"{told} beside {claim.printed}" + (f" over {runs} runs" if runs > 1 else ""), number,
            arithmetic=f"every run prints as {claim.printed}", pattern="spreads of zero",
            could=could, severity=Severity.WARNING if runs > 1 else Severity.INFO,
        )  # fmt: skip
