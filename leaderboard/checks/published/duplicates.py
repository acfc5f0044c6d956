"""One thing printed twice: across tables, and as one checkpoint under two scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

from leaderboard.checks.borne import gathered
from leaderboard.checks.difference import agrees
from leaderboard.checks.evidence import Evidence, Number, Scopes
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, say
from leaderboard.checks.numbers import Reported, parse, show
from leaderboard.checks.pairs import MOST_PAIRWISE, Shared, are_apart, comparable, meet, shared_cells, unlike
from leaderboard.checks.published.differences import baselines
from leaderboard.checks.registry import check
from leaderboard.checks.relation import Case, Term, difference, edit
from leaderboard.checks.relations import TWICE


@check("XT-DUP")
def cross_table(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """One quantity printed twice with two values."""
    apart: dict[frozenset[str], list[tuple[Number, Number]]] = defaultdict(list)
    for a, b, scopes in comparable(evidence, tally):
        if meet(a.reported, b.reported):
            tally.ok()
            if hides_a_factor(a.reported, b.reported):
                yield _coarse(a, b)
        elif are_apart(evidence, a, b) and twice(a, b).judge()[0] is Verdict.FAIL:
            apart[frozenset((a.table, b.table))].append((a, b))
        else:
            yield _disagree(evidence, a, b, scopes)
    for tables, pairs in apart.items():
        yield _apart(evidence.once(shared_cells)[tables], pairs)


def twice(a: Number, b: Number) -> Case:
    """One number and another, which must be the same."""
    first, second = (Term(n.table, n.reported, n.cell) for n in (a, b))
    return Case(TWICE, first, (second,))


def _apart(shared: Shared, pairs: list[tuple[Number, Number]]) -> Finding:
    """One note for two tables that differ nearly everywhere."""
    tables = " and ".join(n.table for n in pairs[0])
    names = [f"{x.text} and {y.text} for {x.scope.method} on {x.scope.task}" for x, y in pairs[:3]]
    return say(
        f"{tables} share {shared.cells} cells and differ in {shared.differing} of them: another condition",
        *(n for pair in pairs[:3] for n in pair), arithmetic="; ".join(names) + (" ..." if len(pairs) > 3 else ""),
        could=[Explanation("another condition that the scopes do not hold", "captions or the text say it", True)],
        pattern=f"{tables} were made under different conditions", severity=Severity.INFO, verdict=Verdict.PASS,
        note="State what differs (budget, split, model, subset) in the scopes, and the cells are no longer compared.",
    )  # fmt: skip


def hides_a_factor(a: Reported, b: Reported) -> bool:
    """A non-zero cell with one significant digit whose finer twin is 1.5 times away from it."""
    coarse, fine = (a, b) if a.decimals < b.decimals else (b, a)
    if coarse.decimals == fine.decimals or not 0 < abs(coarse.mantissa) < 10 or fine.mantissa == 0:
        return False
    return not Fraction(2, 3) < coarse.value / fine.value < Fraction(3, 2)


def _disagree(evidence: Evidence, a: Number, b: Number, scopes: Scopes) -> Finding:
    scope, slip, words = a.scope, edit(a.text, b.text), unlike(evidence, a, b)
    witnesses, severity = list(_delta_witness(evidence, a, b)), Severity.ERROR
    if words:  # what nobody understood may tell the two apart; a slip of the pen is worth a look all the same
        severity = Severity.WARNING if slip.fits or witnesses else Severity.INFO
    elif scopes.unknown or a.claim.n != b.claim.n:
        severity = Severity.WARNING
    return twice(a, b).finding(
        [*witnesses, slip, *_copied(evidence, a, b), *_unstated(evidence, a, b, scopes, words)],
        message=f"{scope.method} on {scope.task}, {scope.metric}: {a.text} in {a.table} but {b.text} in {b.table}",
        pattern=f"{a.table} and {b.table} differ in {scope.metric}", severity=severity, mended=False,
        note="Two runs of one setting may differ like this; then both should be told, with n and a spread.",
    )  # fmt: skip


def _delta_witness(evidence: Evidence, a: Number, b: Number) -> Iterator[Explanation]:
    """Which of the two a printed difference agrees with."""
    stated = [(witness, delta) for witness in (a, b) for delta in witness.claim.differences if not delta.relative]
    for witness, delta in stated:
        printed = parse(delta.printed)
        for base in baselines(evidence, witness, delta) if printed else ():
            fitting = [n for n in (a, b) if printed and agrees(n.reported, base.reported, printed)]
            if len(fitting) == 1:
                right, wrong = fitting[0], b if fitting[0] is a else a
                told = f"{difference(right.reported, base.reported)}, printed ({delta.printed}) in {witness.table}"
                title = f"the printed difference agrees with {right.text} only"
                yield Explanation(title, f"{told}; so {wrong.text} in {wrong.table} is the likely slip", True)


def _copied(evidence: Evidence, a: Number, b: Number) -> Iterator[Explanation]:
    """One of the numbers stands in another row or column of its table."""
    for number in (a, b):
        same = (n for n in evidence.like(number, "table") if n.value == number.value)
        found = [str(n.claim.where) for n in same if n is not number]
        if found and len(number.text.strip("0.")) > 2:
            told = f"{number.text} also stands in {'; '.join(found[:3])}"
            yield Explanation("a number from another cell", told, True)


def _unstated(evidence: Evidence, a: Number, b: Number, scopes: Scopes, words: list[str]) -> Iterator[Explanation]:
    """What may tell the two scopes apart; that they agree is said only where all was understood."""
    if words:
        quoted = (f"{n.claim.where}: “{evidence.set.captions.get(n.table, '')}”" for n in (a, b))
        told = f"not understood: {', '.join(words[:8])}; {'; '.join(quoted)}"
        yield Explanation("captions, headings or labels may tell them apart", told, True)
    if scopes.unknown:
        one = [name for name in scopes.unknown if name not in scopes.neither]
        parts = (
            f"read from one of the tables only: {', '.join(one)}" if one else "",
            f"not read from either table: {', '.join(scopes.neither)}" if scopes.neither else "",
        )
        yield Explanation("the scopes may differ", "; ".join(text for text in parts if text), True)
    elif not words:
        yield Explanation("the scopes differ", "every stated field agrees")


def _coarse(a: Number, b: Number) -> Finding:
    coarse, fine = (a, b) if a.reported.decimals < b.reported.decimals else (b, a)
    scope, times = coarse.scope, show(coarse.value / fine.value, 2)
    places = f"{fine.text} in {fine.table} and {coarse.text} in {coarse.table}"
    stands = f"{coarse.text} stands for {coarse.interval()} and holds {fine.text}"
    return say(
        f"{scope.method} on {scope.task}, {scope.metric}: {places} agree by rounding only", coarse, fine,
        arithmetic=f"{stands}, but read as a number it is {times} times as much",
        pattern="agrees by rounding only", severity=Severity.INFO, verdict=Verdict.PASS,
    )  # fmt: skip


@check("ARTEFACT")
def artefact(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """One checkpoint listed under two scores."""
    named = [n for n in evidence.numbers if n.claim.artefact]
    for same in gathered(named, lambda n: (n.claim.artefact, n.scope.task, n.scope.metric, n.scope.split)):
        for a, b in combinations(same[:MOST_PAIRWISE], 2):
            could = (edit(a.text, b.text), Explanation("a wrong link in one row", "", a.scope != b.scope))
            message = f"{a.claim.artefact} is listed for {a.text} and for {b.text}"
            yield from twice(a, b).tell(
                tally, could, message=message, mended=False, pattern="", severity=Severity.WARNING
            )
