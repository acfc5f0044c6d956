"""What the print itself says: bold, direction, digits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from leaderboard.checks.evidence import Evidence, Number, fold
from leaderboard.checks.explain import edit
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, cell
from leaderboard.checks.metrics import direction_of
from leaderboard.checks.numbers import parse
from leaderboard.checks.registry import check


@check("BOLD", 14, "bold on a cell that is not the best", Severity.ERROR)
def bold(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Among the rows of a column the best cell must be bold, and so must every cell that prints the same.

    Formula: argbest in the metric's direction, over numbers of one table, task, metric and scope.
    Severity: an error where the source states the direction; a warning where it is guessed from the metric's name,
    where only a tie is missed, or where bold marks one row throughout the table ("ours"). Underline: second best.
    Source: zju3dv/StreamingTalker#9, SunnyHaze/IML-ViT#2, lucas-ventura/CoVR#5, OpenHelix-Team/ReconVLA#6.
    Power: complete where typography was read. Blind spot: groups of rows that compete separately.
    """
    for column in evidence.columns.values():
        marked = [n for n in column if n.claim.bold]
        if not marked or len(column) < 2:
            continue
        direction, stated = direction_of(column[0].claim)
        if direction == "unknown":
            tally.skip("direction unknown")
            continue
        best = (max if direction == "max" else min)(column, key=lambda n: n.reported.value)
        missed = [n for n in column if n.reported.value == best.reported.value and not n.claim.bold]
        if all(n.reported.value != best.reported.value for n in marked):
            yield _not_best(evidence, column, marked, best, direction, stated)
        elif missed:
            yield _missed_tie(column, missed)
        else:  # further bold cells are taken for rows that the source does not tell from the best
            tally.ok()


def _not_best(
    evidence: Evidence, column: list[Number], marked: list[Number], best: Number, direction: str, stated: bool
) -> Finding:
    wrong = marked[0]
    sign, word = (">", "higher") if direction == "max" else ("<", "lower")
    ours = _marks_one_row(evidence, wrong)
    whence = f"the source says {word} is better" if stated else f"that {word} is better is guessed from its name"
    return Finding(
        check="BOLD",
        severity=Severity.ERROR if stated and not ours else Severity.WARNING,
        verdict=Verdict.FAIL,
        message=f"{word} is better: {best.reported.text} {sign} bold {wrong.reported.text}",
        cells=(cell(wrong.claim), cell(best.claim)),
        arithmetic=f"{best.reported.text} {sign} {wrong.reported.text} among {len(column)} rows, as printed",
        explanations=(
            Explanation("bold marks one row, not the best", f"{wrong.scope.method} throughout the table", ours),
            Explanation("the metric's direction is the other way", whence, not stated),
            edit(best.reported.text, wrong.reported.text),
            Explanation("the rows do not compete", "another group, size or training set", False),
        ),
        nearest=(f"bold on {best.reported.text}",),
        pattern=f"bold not on the best in {wrong.claim.where.table}",
    )


def _marks_one_row(evidence: Evidence, number: Number) -> bool:
    """Whether every bold cell of the table, in two columns or more, is of one method that is not always best."""
    table = [n for n in evidence.by_table[number.claim.where.table] if n.claim.bold]
    methods = {fold(n.scope.method) for n in table}
    return len(methods) == 1 and len(table) > 1


def _missed_tie(column: list[Number], missed: list[Number]) -> Finding:
    text = missed[0].reported.text
    return Finding(
        check="BOLD",
        severity=Severity.WARNING,
        verdict=Verdict.FAIL,
        message=f"{text} is bold in one row and not in another",
        cells=tuple(cell(n.claim) for n in column if n.reported.value == missed[0].reported.value),
        arithmetic=f"{len(missed) + 1} cells print {text}",
        explanations=(Explanation("they differ beyond the printed digits", "", True),),
        pattern="ties not bold",
    )


@check("DIR", 15, "a metric whose direction is unknown or contradictory", Severity.ERROR)
def direction(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Every metric that ranks needs one direction.

    Formula: the set of directions stated for one metric; an error when it holds both, a warning when a metric is ranked
    (bold, printed differences, improvements) and neither the source nor its name says which way is better.
    Source: stanford-crfm/helm#2711 (worst first); huggingface/paperswithcode-feedback#37 (word error rate descending).
    Power: complete. Blind spot: a direction stated consistently and wrong.
    """
    stated: dict[str, dict[str, Number]] = defaultdict(dict)
    unknown: dict[str, Number] = {}
    for number in evidence.numbers:
        way, _ = direction_of(number.claim)
        metric = fold(number.scope.metric)
        if number.claim.direction != "unknown":
            stated[metric].setdefault(way, number)
        elif way == "unknown" and (number.claim.bold or number.claim.delta):
            unknown.setdefault(metric, number)
    for metric, ways in stated.items():
        if len(ways) == 1:
            tally.ok()
        else:
            yield _finding(Severity.ERROR, f"{metric or 'a metric'} is better both ways", list(ways.values()),
                           "; ".join(f"{way} in {n.claim.where}" for way, n in ways.items()))  # fmt: skip
    for metric, number in unknown.items():
        if metric not in stated:
            name = metric or number.claim.where.column or "a metric"
            yield _finding(Severity.WARNING, f"no direction for {name}: its ranking cannot be checked", [number], "")


def _finding(severity: Severity, message: str, numbers: list[Number], arithmetic: str) -> Finding:
    return Finding(
        check="DIR",
        severity=severity,
        verdict=Verdict.FAIL,
        message=message,
        cells=tuple(cell(number.claim) for number in numbers),
        arithmetic=arithmetic,
        explanations=(Explanation("an arrow in the heading was not read", "state direction: max or min", True),),
        pattern="direction",
    )


@check("PREC", 32, "digits that the spread does not support", Severity.INFO)
def precision(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A mean and its sd are printed to the same decimal, and no further than the sd supports.

    Formula: equal decimals; at most one digit beyond the rule of the Particle Data Group (three leading digits of the
    sd 100-354: two digits, 355-949: one, 950-999: 1000 with two).
    Source: Particle Data Group, Review of Particle Physics, introduction. Information only, one per table and kind.
    Power: complete. Blind spot: none that matters.
    """
    from leaderboard.rounding import pdg_decimals

    for number in evidence.numbers:
        spread = number.claim.spread
        sd = parse(spread.printed) if spread else None
        if sd is None:
            continue
        digits = number.reported.decimals
        if sd.decimals != digits:
            kind = "value and spread to different decimals"
        elif sd.mantissa > 0 and digits > pdg_decimals(float(sd.value)) + 1:
            kind = "more digits than the spread supports"
        else:
            tally.ok()
            continue
        yield Finding(
            check="PREC",
            severity=Severity.INFO,
            verdict=Verdict.FAIL,
            message=f"{number.reported.text} ± {sd.text}: {kind}",
            cells=(cell(number.claim),),
            arithmetic=f"{digits} decimals in the value, {sd.decimals} in the spread",
            pattern=f"{kind} in {number.claim.where.table}",
        )
