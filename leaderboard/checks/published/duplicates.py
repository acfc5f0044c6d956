"""One thing printed twice: across tables, and as one checkpoint under two scores."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations

from leaderboard.checks.evidence import Evidence, Number, Relation, Shared, fold, relate
from leaderboard.checks.explain import edit, elsewhere
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, cell
from leaderboard.checks.numbers import Reported, parse, show
from leaderboard.checks.registry import check
from leaderboard.checks.verdicts import judge, report
from leaderboard.claims.model import Rounding

AVERAGE = re.compile(r"(macro |micro |overall )?(avg|ave|average|mean|overall|total)\.?( score| acc(uracy)?)?\.?")
"""Tasks that are an average over others."""
POLICIES: tuple[Rounding | None, ...] = (None, "double", "truncated")
MOST_PAIRWISE = 8
"""Cells of one scope up to which every pair is looked at; beyond, the two farthest apart."""


@check("XT-DUP")
def cross_table(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """One quantity printed twice with two values."""
    apart: dict[frozenset[str], list[tuple[Number, Number]]] = defaultdict(list)
    for a, b, relation in _comparable(evidence, tally):
        verdict, policy = judge(partial(meet, a.reported, b.reported), a.claim.rounding)
        if verdict is Verdict.PASS:
            tally.ok()
            if hides_a_factor(a.reported, b.reported):
                yield _coarse(a, b)
        elif evidence.are_apart(a, b):
            apart[frozenset((a.claim.where.table, b.claim.where.table))].append((a, b))
        else:
            yield _disagree(evidence, a, b, relation, verdict, policy)
    for tables, pairs in apart.items():
        yield _apart(evidence.shared[tables], pairs)


def _comparable(evidence: Evidence, tally: Tally) -> Iterator[tuple[Number, Number, Relation]]:
    """Pairs of cells whose scopes do not tell them apart."""
    for numbers in evidence.by_key.values():
        for a, b in _pairs(numbers):
            relation = relate(a.scope, b.scope)
            if relation.differ:
                tally.skip(f"scopes differ in {', '.join(relation.differ)}")
            elif _parts(evidence, a) != _parts(evidence, b):
                tally.skip("averages over other parts")
            else:
                yield a, b, relation


def shared_cells(evidence: Evidence) -> dict[frozenset[str], Shared]:
    """Two tables → how many comparable cells they share, and how many of these print different values."""
    found: dict[frozenset[str], Shared] = defaultdict(Shared)
    for a, b, _ in _comparable(evidence, Tally()):
        shared = found[frozenset((a.claim.where.table, b.claim.where.table))]
        shared.cells += 1
        if not any(meet(a.reported, b.reported, policy) for policy in POLICIES):
            shared.differing += 1
            shared.results.add((fold(a.scope.task), fold(a.scope.method)))
    return dict(found)


def _parts(evidence: Evidence, number: Number) -> frozenset[str]:
    """What an average is over: the other tasks of its table for the same metric and method; empty for no average."""
    scope = number.scope
    if not AVERAGE.fullmatch(fold(scope.task)):
        return frozenset()
    row = evidence.by_method[(number.claim.where.table, fold(scope.metric), fold(scope.method))]
    return frozenset(task for other in row if not AVERAGE.fullmatch(task := fold(other.scope.task)))


def _apart(shared: Shared, pairs: list[tuple[Number, Number]]) -> Finding:
    """One note for two tables that differ nearly everywhere."""
    a, b = pairs[0]
    tables = f"{a.claim.where.table} and {b.claim.where.table}"
    shown = "; ".join(f"{x.reported.text} and {y.reported.text} for {_name(x)}" for x, y in pairs[:3])
    return Finding(
        severity=Severity.INFO,
        verdict=Verdict.PASS,
        message=f"{tables} share {shared.cells} cells and differ in {shared.differing} of them: another condition",
        cells=tuple(cell(n.claim) for pair in pairs[:3] for n in pair),
        arithmetic=f"{shown}{' ...' if len(pairs) > 3 else ''}",
        explanations=(
            Explanation("another condition that the scopes do not hold", "captions or the text say it", True),
        ),
        pattern=f"{tables} were made under different conditions",
        note="State what differs (budget, split, model, subset) in the scopes, and the cells are no longer compared.",
    )


def _name(number: Number) -> str:
    scope = number.scope
    return f"{scope.method} on {scope.task}"


def _pairs(numbers: list[Number]) -> Iterator[tuple[Number, Number]]:
    """Pairs from different tables."""
    if len(numbers) > MOST_PAIRWISE:
        ordered = sorted(numbers, key=lambda number: number.reported.value)
        numbers = [ordered[0], ordered[-1]]
    for a, b in combinations(numbers, 2):
        if a.claim.where.table != b.claim.where.table:
            yield a, b


def meet(a: Reported, b: Reported, policy: Rounding | None = None) -> bool:
    """Whether one value prints as both; in whole numbers."""
    decimals = max(a.decimals, b.decimals)
    (a_low, a_high), (b_low, b_high) = a.at(decimals, policy), b.at(decimals, policy)
    return a_low <= b_high and b_low <= a_high


def hides_a_factor(a: Reported, b: Reported) -> bool:
    """A non-zero cell with one significant digit whose finer twin is 1.5 times away from it."""
    coarse, fine = (a, b) if a.decimals < b.decimals else (b, a)
    if coarse.decimals == fine.decimals or not 0 < abs(coarse.mantissa) < 10 or fine.mantissa == 0:
        return False
    ratio = coarse.value / fine.value
    return not Fraction(2, 3) < ratio < Fraction(3, 2)


def _disagree(
    evidence: Evidence, a: Number, b: Number, relation: Relation, verdict: Verdict, policy: Rounding
) -> Finding:
    x, y = a.reported, b.reported
    gap = abs(x.value - y.value)
    allowed = (x.ulp + y.ulp) / 2
    digits = max(x.decimals, y.decimals, 0)
    scope = a.scope
    return report(
        "XT-DUP",
        Severity.WARNING if relation.unknown or a.claim.n != b.claim.n else Severity.ERROR,
        verdict,
        policy,
        f"{scope.method} on {scope.task}, {scope.metric}: {x.text} in {a.claim.where.table} "
        f"but {y.text} in {b.claim.where.table}",
        [cell(a.claim), cell(b.claim)],
        f"|{x.text} − {y.text}| = {show(gap, digits)} > {show(x.ulp / 2)} + {show(y.ulp / 2)} = {show(allowed)}; "
        f"{x.text} stands for {a.interval()}, {y.text} for {b.interval()}",
        [*_delta_witness(evidence, a, b), edit(x.text, y.text), *_copied(evidence, a, b), *_unstated(relation)],
        nearest=_as_printed(a, b),
        pattern=f"{a.claim.where.table} and {b.claim.where.table} differ in {scope.metric}",
        note="Two runs of one setting may differ like this; then both should be told, with n and a spread.",
    )


def _delta_witness(evidence: Evidence, a: Number, b: Number) -> Iterator[Explanation]:
    """Which of the two a printed difference agrees with."""
    from leaderboard.checks.baselines import agrees
    from leaderboard.checks.published.differences import baselines

    stated = [(witness, delta) for witness in (a, b) for delta in witness.claim.differences if not delta.relative]
    for witness, delta in stated:
        if (printed := parse(delta.printed)) is None:
            continue
        for base in baselines(evidence, witness, delta):
            fitting = [n for n in (a, b) if agrees(n.reported, base.reported, printed)]
            if len(fitting) == 1:
                right, wrong = fitting[0], b if fitting[0] is a else a
                text = (
                    f"{right.reported.text} − {base.reported.text} = "
                    f"{show(right.reported.value - base.reported.value)}, printed ({delta.printed}) in "
                    f"{witness.claim.where.table}; so {wrong.reported.text} in {wrong.claim.where.table} "
                    "is the likely slip"
                )
                yield Explanation(f"the printed difference agrees with {right.reported.text} only", text, True)


def _copied(evidence: Evidence, a: Number, b: Number) -> Iterator[Explanation]:
    """One of the numbers stands in another row or column of the other's table."""
    for number, other in ((a, b), (b, a)):
        table = number.claim.where.table
        others = (n for n in evidence.by_table[table] if n is not number)
        found = elsewhere(number.reported, others)
        if found is not None and len(number.reported.text.strip("0.")) > 2 and other is not number:
            yield found


def _unstated(relation: Relation) -> Iterator[Explanation]:
    if relation.unknown:
        one = [name for name in relation.unknown if name not in relation.neither]
        told = (
            f"read from one of the tables only: {', '.join(one)}" if one else "",
            f"not read from either table: {', '.join(relation.neither)}" if relation.neither else "",
        )
        yield Explanation("the scopes may differ", "; ".join(text for text in told if text), True)
    else:
        yield Explanation("the scopes differ", "every stated field agrees", False)


def _as_printed(a: Number, b: Number) -> tuple[str, ...]:
    """What each cell would print if the other were right."""
    pairs = ((a, b), (b, a))
    return tuple(
        f"{show(right.reported.value, left.reported.decimals)} in {left.claim.where.table} "
        f"if {right.claim.where.table} is right"
        for left, right in pairs
        if left.reported.decimals <= right.reported.decimals
    )


def _coarse(a: Number, b: Number) -> Finding:
    coarse, fine = (a, b) if a.reported.decimals < b.reported.decimals else (b, a)
    ratio = coarse.reported.value / fine.reported.value
    scope = coarse.scope
    return report(
        "XT-DUP",
        Severity.INFO,
        Verdict.PASS,
        coarse.claim.rounding,
        f"{scope.method} on {scope.task}, {scope.metric}: {fine.reported.text} in {fine.claim.where.table} and "
        f"{coarse.reported.text} in {coarse.claim.where.table} agree by rounding only",
        [cell(coarse.claim), cell(fine.claim)],
        f"{coarse.reported.text} stands for {coarse.interval()} and holds {fine.reported.text}, "
        f"but read as a number it is {show(ratio, 2)} times as much",
        pattern="agrees by rounding only",
    )


@check("ARTEFACT")
def artefact(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """One checkpoint listed under two scores."""
    index: dict[tuple[str | None, ...], list[Number]] = defaultdict(list)
    for number in evidence.numbers:
        if number.claim.artefact:
            scope = number.scope
            index[(number.claim.artefact, scope.task, scope.metric, scope.split)].append(number)
    for numbers in index.values():
        for a, b in combinations(numbers[:MOST_PAIRWISE], 2):
            verdict, policy = judge(partial(meet, a.reported, b.reported), a.claim.rounding)
            if verdict is Verdict.PASS:
                tally.ok()
                continue
            gap = show(abs(a.reported.value - b.reported.value))
            yield report(
                "ARTEFACT",
                Severity.WARNING,
                verdict,
                policy,
                f"{a.claim.artefact} is listed for {a.reported.text} and for {b.reported.text}",
                [cell(a.claim), cell(b.claim)],
                f"|{a.reported.text} − {b.reported.text}| = {gap} for one file",
                [
                    edit(a.reported.text, b.reported.text),
                    Explanation("a wrong link in one row", "", a.scope != b.scope),
                ],
            )
