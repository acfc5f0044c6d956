"""Proportions of N items are whole counts: what that forbids."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from math import ceil, floor

from leaderboard.checks.evidence import Evidence, Number
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, say
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
    for number in filter(is_count, evidence.numbers):
        claim, percent = number.claim, number.claim.unit == "percent"
        total = (claim.items or 0) * (claim.n or 1)
        if not total:
            tally.skip(NO_ITEMS)
        elif (power := grim_power(number.reported, percent, total)) == 0:
            tally.skip("no power: as many counts as printed values")
        else:
            verdict, policy = judge(partial(possible, number.reported, percent, total), claim.rounding)
            if verdict is Verdict.PASS:
                tally.ok()
            else:
                yield reported_as(verdict, policy, _no_count(number, percent, total, power))


def grim_power(reported: Reported, percent: bool, total: int) -> Fraction:
    """Share of printed values that are no count over `total`."""
    values = Fraction(10) ** (reported.decimals + (2 if percent else 0))
    return max(Fraction(0), 1 - total / values)


def _no_count(number: Number, percent: bool, total: int, power: Fraction) -> Finding:
    reported, scale = number.reported, 100 if percent else 1
    count = reported.value * total / scale
    near = tuple(show(Fraction(k * scale, total), max(reported.decimals, 0)) for k in (int(count), int(count) + 1))
    others = [size for size in ROUND_SIZES if size != total and possible(reported, percent, size)]
    could = (
        Explanation("another number of items", f"fits {', '.join(map(str, others))}", bool(others)),
        Explanation("a mean over classes or batches instead of items", "", True),
        slip("value", reported, lambda other: possible(other, percent, total)),
    )
    unit = " %" if percent else ""
    return say(
        f"{reported.text}{unit} of {total} items is no whole count (nearest {' and '.join(near)})", number, could=could,
        arithmetic=f"{reported.text} × {total} / {scale} = {show(count)}; power {show(power * 100, 0)} %",
        pattern=f"no whole counts of {total} items", nearest=near,
    )  # fmt: skip


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

        formula = f"√({{0}} × ({one} − {{0}}) / {items - 1})"
        relation = Relation("standard errors that are not binomial", formula, implied, severity=Severity.WARNING)
        tested = Case(
            relation, Term("error", error, number.cell), (Term(f"{items} items of", number.reported, number.cell),)
        )
        yield from tested.tell(tally, _other_errors(tested, number.interval().clip(0, one), one))


def _other_errors(tested: Case, value: Interval, one: Fraction) -> Iterator[Explanation]:
    """What else may stand behind ±."""
    error, wide = tested.target.span(), tested.implied().scale(Fraction(196, 100))
    per_item = (
        Interval(value.lo * (one - value.lo), value.hi * (one - value.hi)).sqrt() if 2 * value.hi <= one else None
    )
    yield Explanation("the sd over items", "", per_item is not None and per_item.meets(error))
    yield Explanation("half of a 95 % interval", f"about {show(wide.lo, 4)}", wide.meets(error))
    yield Explanation("a bootstrap or clustered error", "may lie on either side", True)


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
        verdict, policy = judge(partial(feasible, number, sd, ddofs), claim.rounding)
        if verdict is Verdict.PASS:
            tally.ok()
        else:
            yield reported_as(verdict, policy, _infeasible(number, sd, items, n))


MOST_SUMS = 20_000
"""Sums looked at; a mean that allows more says nothing anyway."""


def feasible(number: Number, sd: Reported, ddofs: tuple[int, ...] = (0, 1), policy: Rounding | None = None) -> bool:
    """Whether some sum K and sum of squares Q of whole counts print as mean and sd."""
    claim = number.claim
    items, n = claim.items or 1, claim.n or 1
    percent = claim.unit == "percent"
    sums = whole_counts(number.reported, percent, items * n, policy)
    if sums.stop - sums.start > MOST_SUMS:
        return True
    square = sd.interval(policy).clip(0, None).scale(Fraction(items, 100 if percent else 1)).square()
    for ddof, total in product(ddofs, sums):
        base, spread = Fraction(total * total, n), square.scale(n - ddof)
        least = max(ceil(base + spread.lo), ceil(base))
        first = least if (least - total) % 2 == 0 else least + 1
        if first <= floor(base + spread.hi):
            return True
    return False


def _infeasible(number: Number, sd: Reported, items: int, n: int) -> Finding:
    moved = ((text, parse(text, sd.rounding)) for text in map(sd.moved, (-1, 1, -2, 2)))
    sums = whole_counts(number.reported, number.claim.unit == "percent", items * n)
    told = f"the mean itself is no whole count of {items * n}"
    if sums.start < sums.stop:
        rule = "no whole Q ≡ K (mod 2) in (n − ddof)(s ± h)²(N / 100)² + K² / n"
        told = f"K from {sums.start} to {sums.stop - 1}; {rule}"
    could = (Explanation("runs on different numbers of items", "", True), slip("sd", sd, partial(feasible, number)))
    return say(
        f"{number.text} ± {sd.text} over {n} runs of {items} items comes from no whole counts", number, arithmetic=told,
        could=could, pattern="mean and sd of no whole counts",
        nearest=tuple(text for text, other in moved if other is not None and feasible(number, other)),
    )  # fmt: skip
