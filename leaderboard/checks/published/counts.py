"""Proportions of N items are whole counts: what that forbids."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from leaderboard.checks.evidence import Evidence, Number
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, cell
from leaderboard.checks.measures import family
from leaderboard.checks.numbers import Interval, Reported, parse, show
from leaderboard.checks.registry import check
from leaderboard.checks.relation import Case, Relation, Term, judge, reported_as, slip
from leaderboard.claims.model import Rounding

ROUND_SIZES = (100, 500, 1000, 2000, 5000, 10000)
"""Other sizes of a test set tried as an explanation."""


NO_ITEMS = "the number of evaluated items (N) is not stated"


def is_count(number: Number) -> bool:
    """Whether one run's value is a whole number of items over N."""
    known = family(number.scope.metric)
    return known is not None and "whole" in known.flags and number.claim.unit in {"percent", "fraction"}


def whole_counts(reported: Reported, percent: bool, items: int, policy: Rounding | None = None) -> range:
    """Counts over `items` that print like this."""
    low, high = reported.hundredths(policy)
    scale = reported.decimals + (4 if percent else 2)
    if scale < 0:
        return range(low * items * 10**-scale, high * items * 10**-scale + 1)
    cut = (policy or reported.rounding) == "truncated"  # the next printed value itself is never truncated down
    return range(-(-low * items // 10**scale), (high * items - cut) // 10**scale + 1)


def possible(reported: Reported, percent: bool, items: int, policy: Rounding | None = None) -> bool:
    """Whether any count prints like this."""
    counts = whole_counts(reported, percent, items, policy)
    return counts.start < counts.stop


@check("GRIM-ACC")
def grim(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """An accuracy that is no whole count."""
    for number in evidence.numbers:
        claim = number.claim
        if not is_count(number):
            continue
        if claim.items is None:
            tally.skip(NO_ITEMS)
            continue
        percent, total = claim.unit == "percent", claim.items * (claim.n or 1)
        power = grim_power(number.reported, percent, total)
        if power == 0:
            tally.skip("no power: as many counts as printed values")
            continue
        verdict, policy = judge(partial(possible, number.reported, percent, total), claim.rounding)
        if verdict is Verdict.PASS:
            tally.ok()
        else:
            yield _no_count(number, percent, total, power, verdict, policy)


def grim_power(reported: Reported, percent: bool, total: int) -> Fraction:
    """Share of printed values that are no count over `total`."""
    values = Fraction(10) ** (reported.decimals + (2 if percent else 0))
    return max(Fraction(0), 1 - total / values)


def _no_count(
    number: Number, percent: bool, total: int, power: Fraction, verdict: Verdict, policy: Rounding
) -> Finding:
    reported = number.reported
    scale = 100 if percent else 1
    count = reported.value * total / scale
    below = int(count)
    nearest = tuple(show(Fraction(k * scale, total), max(reported.decimals, 0)) for k in (below, below + 1))
    unit = " %" if percent else ""
    others = [size for size in ROUND_SIZES if size != total and possible(reported, percent, size)]
    found = Finding(
        f"{reported.text}{unit} of {total} items is no whole count (nearest {' and '.join(nearest)})",
        (cell(number.claim),),
        f"{reported.text} × {total} / {scale} = {show(count)}; power {show(power * 100, 0)} %",
        (
            Explanation("another number of items", f"fits {', '.join(map(str, others))}", bool(others)),
            Explanation("a mean over classes or batches instead of items", "", True),
            slip("value", reported, lambda other: possible(other, percent, total)),
        ),
        f"no whole counts of {total} items",
        nearest=nearest,
    )
    return reported_as(verdict, policy, found)


@check("DEBIT-SE")
def debit(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A standard error that its accuracy does not give."""
    for number in evidence.numbers:
        spread, items = number.claim.spread, number.claim.items
        if spread is None or spread.kind != "se" or not is_count(number):
            continue
        error = parse(spread.printed, number.claim.rounding)
        if items is None or items < 2 or error is None:
            tally.skip(NO_ITEMS if error else "the error is no number")
            continue
        one = Fraction(100 if number.claim.unit == "percent" else 1)

        def implied(p: Interval, one: Fraction = one, items: int = items) -> Interval:
            return binomial_error(p.clip(0, one).scale(1 / one), items).scale(one)

        relation = Relation(
            "standard errors that are not binomial", f"√({{0}} × ({one} − {{0}}) / {items - 1})", implied,
            severity=Severity.WARNING,
        )  # fmt: skip
        told = cell(number.claim)
        tested = Case(relation, Term("error", error, told), (Term("value", number.reported, told),))
        verdict, policy = tested.judge()
        if verdict is Verdict.PASS:
            tally.ok()
            continue
        wide, p = tested.implied().scale(Fraction(196, 100)), number.fraction().clip(0, 1)
        per_item = Interval(p.lo * (1 - p.lo), p.hi * (1 - p.hi)).sqrt().scale(one) if p.hi <= Fraction(1, 2) else None
        others = [
            Explanation("the sd over items", "", per_item is not None and per_item.meets(error.interval())),
            Explanation("half of a 95 % interval", f"about {show(wide.lo, 4)}", wide.meets(error.interval())),
            Explanation("a bootstrap or clustered error", "may lie on either side", True),
        ]
        middle = show(tested.middle, max(error.decimals, 0))
        yield tested.finding(
            verdict, policy, [*others, *tested.slips()], cells=(told,),
            message=f"± {error.text} beside {number.reported.text} on {items} items; binomial would be {middle}",
        )  # fmt: skip


def binomial_error(p: Interval, items: int) -> Interval:
    """√(p (1 − p) / (N − 1)) over an interval of p; greatest at one half."""
    ends = [p.lo * (1 - p.lo), p.hi * (1 - p.hi)]
    top = Fraction(1, 4) if Fraction(1, 2) in p else max(ends)
    return Interval(min(ends), top).scale(Fraction(1, items - 1)).sqrt()


@check("GRIMMER-SEED")
def grimmer(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A mean and sd that no whole counts give."""
    for number in evidence.numbers:
        claim = number.claim
        spread, items, n = claim.spread, claim.items, claim.n
        if spread is None or spread.kind != "sd" or not is_count(number):
            continue
        if not items or not n or n < 2:
            tally.skip(NO_ITEMS if not items else "the number of runs is not stated")
            continue
        sd = parse(spread.printed, claim.rounding)
        if sd is None:
            tally.skip("the spread is no number")
            continue
        ddofs = (0, 1) if spread.ddof is None else (spread.ddof,)
        verdict, policy = judge(partial(_feasible, number, sd, ddofs), claim.rounding)
        if verdict is Verdict.PASS:
            tally.ok()
        else:
            yield _infeasible(number, sd, items, n, verdict, policy)


MOST_SUMS = 20_000
"""Sums looked at; a mean that allows more says nothing anyway."""


def _feasible(number: Number, sd: Reported, ddofs: tuple[int, ...], policy: Rounding | None = None) -> bool:
    return any(feasible(number, sd, ddof, policy) for ddof in ddofs)


def feasible(number: Number, sd: Reported, ddof: int, policy: Rounding | None = None) -> bool:
    """Whether some sum K and sum of squares Q of whole counts print as mean and sd."""
    claim = number.claim
    items, n = claim.items or 1, claim.n or 1
    percent = claim.unit == "percent"
    sums = whole_counts(number.reported, percent, items * n, policy)
    scale = Fraction(items, 100 if percent else 1)
    spread = sd.interval(policy).clip(0, None).scale(scale).square().scale(n - ddof)
    if sums.stop - sums.start > MOST_SUMS:
        return True
    for total in sums:
        base = Fraction(total * total, n)
        low, high = base + spread.lo, base + spread.hi
        least = max(-(-low.numerator // low.denominator), -(-base.numerator // base.denominator))
        greatest = high.numerator // high.denominator
        first = least if (least - total) % 2 == 0 else least + 1
        if first <= greatest:
            return True
    return False


def _infeasible(number: Number, sd: Reported, items: int, n: int, verdict: Verdict, policy: Rounding) -> Finding:
    percent = number.claim.unit == "percent"
    near = [text for step in (-1, 1, -2, 2) if (other := parse(text := sd.moved(step), sd.rounding)) is not None
            and any(feasible(number, other, ddof) for ddof in (0, 1))]  # fmt: skip
    sums = whole_counts(number.reported, percent, items * n)
    told = f"the mean itself is no whole count of {items * n}"
    if sums.start < sums.stop:
        told = (
            f"K from {sums.start} to {sums.stop - 1}; no whole Q ≡ K (mod 2) in (n − ddof)(s ± h)²(N / 100)² + K² / n"
        )
    found = Finding(
        f"{number.reported.text} ± {sd.text} over {n} runs of {items} items comes from no whole counts",
        (cell(number.claim),),
        told,
        (
            Explanation("runs on different numbers of items", "", True),
            slip("sd", sd, lambda other: any(feasible(number, other, ddof) for ddof in (0, 1))),
        ),
        "mean and sd of no whole counts",
        nearest=tuple(near),
    )
    return reported_as(verdict, policy, found)
