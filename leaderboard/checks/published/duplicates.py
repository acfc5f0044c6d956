"""One thing printed twice: across tables, and as one checkpoint under two scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations

from leaderboard.checks.baselines import agrees
from leaderboard.checks.evidence import Evidence, Number, Scopes
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, cell
from leaderboard.checks.numbers import Reported, parse, show
from leaderboard.checks.pairs import MOST_PAIRWISE, Shared, are_apart, comparable, meet, shared_cells, unlike
from leaderboard.checks.published.differences import baselines
from leaderboard.checks.registry import check
from leaderboard.checks.relation import edit, judge, reported_as


@check("XT-DUP")
def cross_table(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """One quantity printed twice with two values."""
    apart: dict[frozenset[str], list[tuple[Number, Number]]] = defaultdict(list)
    for a, b, scopes in comparable(evidence, tally):
        verdict, policy = judge(partial(meet, a.reported, b.reported), a.claim.rounding)
        if verdict is Verdict.PASS:
            tally.ok()
            if hides_a_factor(a.reported, b.reported):
                yield _coarse(a, b)
        elif are_apart(evidence, a, b):
            apart[frozenset((a.claim.where.table, b.claim.where.table))].append((a, b))
        else:
            yield reported_as(verdict, policy, _disagree(evidence, a, b, scopes))
    for tables, pairs in apart.items():
        yield _apart(evidence.once(shared_cells)[tables], pairs)


def _apart(shared: Shared, pairs: list[tuple[Number, Number]]) -> Finding:
    """One note for two tables that differ nearly everywhere."""
    a, b = pairs[0]
    tables = f"{a.claim.where.table} and {b.claim.where.table}"
    names = [f"{x.reported.text} and {y.reported.text} for {x.scope.method} on {x.scope.task}" for x, y in pairs[:3]]
    return Finding(
        f"{tables} share {shared.cells} cells and differ in {shared.differing} of them: another condition",
        tuple(cell(n.claim) for pair in pairs[:3] for n in pair),
        "; ".join(names) + (" ..." if len(pairs) > 3 else ""),
        (Explanation("another condition that the scopes do not hold", "captions or the text say it", True),),
        f"{tables} were made under different conditions",
        Severity.INFO,
        Verdict.PASS,
        note="State what differs (budget, split, model, subset) in the scopes, and the cells are no longer compared.",
    )


def hides_a_factor(a: Reported, b: Reported) -> bool:
    """A non-zero cell with one significant digit whose finer twin is 1.5 times away from it."""
    coarse, fine = (a, b) if a.decimals < b.decimals else (b, a)
    if coarse.decimals == fine.decimals or not 0 < abs(coarse.mantissa) < 10 or fine.mantissa == 0:
        return False
    return not Fraction(2, 3) < coarse.value / fine.value < Fraction(3, 2)


def _disagree(evidence: Evidence, a: Number, b: Number, scopes: Scopes) -> Finding:
    x, y, scope = a.reported, b.reported, a.scope
    gap, allowed, digits = abs(x.value - y.value), (x.ulp + y.ulp) / 2, max(x.decimals, y.decimals, 0)
    here, there, slip = a.claim.where.table, b.claim.where.table, edit(x.text, y.text)
    words = unlike(evidence, a, b)
    witnesses = list(_delta_witness(evidence, a, b))
    severity = Severity.ERROR
    if words:  # what nobody understood may tell the two apart; a slip of the pen is worth a look all the same
        severity = Severity.WARNING if slip.fits or witnesses else Severity.INFO
    elif scopes.unknown or a.claim.n != b.claim.n:
        severity = Severity.WARNING
    return Finding(
        f"{scope.method} on {scope.task}, {scope.metric}: {x.text} in {here} but {y.text} in {there}",
        (cell(a.claim), cell(b.claim)),
        f"|{x.text} − {y.text}| = {show(gap, digits)} > {show(x.ulp / 2)} + {show(y.ulp / 2)} = {show(allowed)}; "
        f"{x.text} stands for {a.interval()}, {y.text} for {b.interval()}",
        (*witnesses, slip, *_copied(evidence, a, b), *_unstated(evidence, a, b, scopes, words)),
        f"{here} and {there} differ in {scope.metric}",
        severity,
        nearest=_as_printed(a, b),
        note="Two runs of one setting may differ like this; then both should be told, with n and a spread.",
    )


def _delta_witness(evidence: Evidence, a: Number, b: Number) -> Iterator[Explanation]:
    """Which of the two a printed difference agrees with."""
    stated = [(witness, delta) for witness in (a, b) for delta in witness.claim.differences if not delta.relative]
    for witness, delta in stated:
        printed = parse(delta.printed)
        for base in baselines(evidence, witness, delta) if printed else ():
            fitting = [n for n in (a, b) if printed and agrees(n.reported, base.reported, printed)]
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
    """One of the numbers stands in another row or column of its table."""
    for number in (a, b):
        same = (n for n in evidence.by_table[number.claim.where.table] if n.reported.value == number.reported.value)
        found = [str(n.claim.where) for n in same if n is not number]
        if found and len(number.reported.text.strip("0.")) > 2:
            told = f"{number.reported.text} also stands in {'; '.join(found[:3])}"
            yield Explanation("a number from another cell", told, True)


def _unstated(evidence: Evidence, a: Number, b: Number, scopes: Scopes, words: list[str]) -> Iterator[Explanation]:
    """What may tell the two scopes apart; that they agree is said only where all was understood."""
    if words:
        quoted = (f"{n.claim.where.table}: “{evidence.set.captions.get(n.claim.where.table, '')}”" for n in (a, b))
        told = f"not understood: {', '.join(words[:8])}; {'; '.join(quoted)}"
        yield Explanation("the captions may tell them apart", told, True)
    if scopes.unknown:
        one = [name for name in scopes.unknown if name not in scopes.neither]
        parts = (
            f"read from one of the tables only: {', '.join(one)}" if one else "",
            f"not read from either table: {', '.join(scopes.neither)}" if scopes.neither else "",
        )
        yield Explanation("the scopes may differ", "; ".join(text for text in parts if text), True)
    elif not words:
        yield Explanation("the scopes differ", "every stated field agrees")


def _as_printed(a: Number, b: Number) -> tuple[str, ...]:
    """What each cell would print if the other were right."""
    return tuple(
        f"{show(right.reported.value, left.reported.decimals)} in {left.claim.where.table} "
        f"if {right.claim.where.table} is right"
        for left, right in ((a, b), (b, a))
        if left.reported.decimals <= right.reported.decimals
    )


def _coarse(a: Number, b: Number) -> Finding:
    coarse, fine = (a, b) if a.reported.decimals < b.reported.decimals else (b, a)
    ratio, scope = coarse.reported.value / fine.reported.value, coarse.scope
    return Finding(
        f"{scope.method} on {scope.task}, {scope.metric}: {fine.reported.text} in {fine.claim.where.table} and "
        f"{coarse.reported.text} in {coarse.claim.where.table} agree by rounding only",
        (cell(coarse.claim), cell(fine.claim)),
        f"{coarse.reported.text} stands for {coarse.interval()} and holds {fine.reported.text}, "
        f"but read as a number it is {show(ratio, 2)} times as much",
        pattern="agrees by rounding only",
        severity=Severity.INFO,
        verdict=Verdict.PASS,
    )


@check("ARTEFACT")
def artefact(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """One checkpoint listed under two scores."""
    index: dict[tuple[str | None, ...], list[Number]] = defaultdict(list)
    for number in evidence.numbers:
        if number.claim.artefact:
            scope = number.scope
            index[(number.claim.artefact, scope.task, scope.metric, scope.split)].append(number)
    for a, b in (pair for numbers in index.values() for pair in combinations(numbers[:MOST_PAIRWISE], 2)):
        verdict, policy = judge(partial(meet, a.reported, b.reported), a.claim.rounding)
        if verdict is Verdict.PASS:
            tally.ok()
            continue
        found = Finding(
            f"{a.claim.artefact} is listed for {a.reported.text} and for {b.reported.text}",
            (cell(a.claim), cell(b.claim)),
            f"|{a.reported.text} − {b.reported.text}| = {show(abs(a.reported.value - b.reported.value))} for one file",
            (edit(a.reported.text, b.reported.text), Explanation("a wrong link in one row", "", a.scope != b.scope)),
        )
        yield reported_as(verdict, policy, found)
