"""What the print itself says: bold, direction, digits."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from leaderboard.checks.evidence import Evidence, Number, fold
from leaderboard.checks.explain import edit
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, cell
from leaderboard.checks.measures import direction_of, family
from leaderboard.checks.numbers import parse
from leaderboard.checks.published.ranges import is_possible
from leaderboard.checks.registry import check


@check("BOLD")
def bold(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Bold on a cell that is not the best."""
    columns = list(_ranked(evidence, tally))
    references = _references(columns)
    for reference in references.values():
        yield _for_reference(reference)
    for everyone, direction in columns:
        column = [n for n in everyone if _row_of(n) not in references]
        if len(column) < 2:
            tally.skip("no two rows that compete")
            continue
        best = _best(column, direction)
        missed = [n for n in column if n.reported.value == best.reported.value and not n.claim.bold]
        if all(n.reported.value != best.reported.value for n in column if n.claim.bold):
            yield _not_best(evidence, column, best, direction)
        elif missed:
            yield _missed_tie(column, missed)
        else:  # further bold cells are taken for rows that the source does not tell from the best
            tally.ok()


Ranked = tuple[list[Number], str]
"""Numbers of a column that compete, and which way is better."""


def _ranked(evidence: Evidence, tally: Tally) -> Iterator[Ranked]:
    """Columns with a bold number among at least two that compete, as far as their names tell."""
    for everyone in evidence.columns.values():
        marked = [n for n in everyone if n.claim.bold]
        if not marked or len(everyone) < 2:
            continue
        direction = direction_of(everyone[0].claim)[0]
        if direction == "unknown" or SAVED.search(heading_of(everyone[0])):
            tally.skip("direction unknown")
            continue
        column = [n for n in everyone if n.claim.bold or not _is_apart(n, marked)]
        column = [n for n in column if is_possible(evidence, n)]
        if len(column) < 2 or not any(n.claim.bold for n in column):
            tally.skip("no two rows that compete")
            continue
        yield column, direction


def _best(column: list[Number], direction: str) -> Number:
    return (max if direction == "max" else min)(column, key=lambda n: n.reported.value)


def _row_of(number: Number) -> tuple[str, str]:
    return number.claim.where.table, fold(number.scope.method)


def _references(columns: list[Ranked]) -> dict[tuple[str, str], list[Number]]:
    """Rows bold nowhere that beat the bold numbers of most columns, two at least: table and method → what beats."""
    beats: dict[tuple[str, str], list[Number]] = defaultdict(list)
    shared: Counter[tuple[str, str]] = Counter()
    for column, direction in columns:
        bold = _best([n for n in column if n.claim.bold], direction)
        shared.update({_row_of(n) for n in column})
        for number in column:
            if number.reported.value != bold.reported.value and _best([number, bold], direction) is number:
                beats[_row_of(number)].append(number)
    marked = {_row_of(n) for column, _ in columns for n in column if n.claim.bold}
    return {
        row: numbers for row, numbers in beats.items()
        if row not in marked and len(numbers) > 1 and len(numbers) * 2 > shared[row]
    }  # fmt: skip


def _for_reference(numbers: list[Number]) -> Finding:
    first = numbers[0]
    return Finding(
        severity=Severity.INFO,
        message=f"{first.scope.method} is better than the bold number in {len(numbers)} columns and bold in none",
        cells=tuple(cell(n.claim) for n in numbers[:3]),
        arithmetic=", ".join(n.reported.text for n in numbers[:6]),
        explanations=(Explanation("a row for reference, which does not compete", "say so in its name", True),),
        pattern=f"rows for reference in {first.claim.where.table}",
        count=len(numbers),
    )


ARROW = re.compile(r"[↑↓⇑⇓]|\b(higher|lower|larger|smaller|more|less) is better\b")
SAVED = re.compile(r"(flops?|macs?|params?|parameters|size|memory|mem)\b[^/]*↓[^/]*%|"
                   r"(flops?|macs?|params?|parameters|size|memory|mem)\b[^/]*%[^/]*↓", re.I)  # fmt: skip
"""`FLOPs ↓ (%)`: what is left, or what was saved."""


def heading_of(number: Number) -> str:
    """The last line of the heading that a number has its arrow from, of its column where neither has one."""
    where = number.claim.where
    lines = [line.rpartition(" / ")[2] if ARROW.search(line.rpartition(" / ")[2]) else line
             for line in (where.column, where.row)]  # fmt: skip
    return next((line for line in lines if ARROW.search(line)), lines[0])


def is_drawn(evidence: Evidence, number: Number) -> bool:
    """Whether the number's own heading, or a claims file, says which way is better, and not only the caption."""
    if number.claim.direction == "unknown":
        return False
    return number.claim.where.table not in evidence.set.captions or ARROW.search(heading_of(number)) is not None


APART = re.compile(
    r"(?<![\w-])(upper[- ]?bound|oracle|skyline|top-?line|(fully?[- ])?supervised(?! contrast)|full(y)?[- ]supervision|"
    r"ground[- ]?truth|real (data|images)|target[- ]only|train(ed)? on target|centrali[sz]ed|privileged|all labels|"
    r"full (data|labels|data ?set)|100 ?% (of )?(the )?(data|labels)|"
    r"full[- ]?precision|fp[- ]?(16|32|64)|bf[- ]?16|tf32|float[- ]?(16|32)|(16|32)[- ]?bits?|w(16|32)a(16|32)|"
    r"un(pruned|compressed|quanti[sz]ed|modified|sparsified)|non[- ](pruned|compressed|quanti[sz]ed)|"
    r"(ground[- ]truth |natural |human )?recordings?|full[- ]?(kv[- ]?cache|kv|cache|attention)|"
    r"(no|without|w/o) (compression|pruning|quanti[sz]ation|eviction|sparsity)|"
    r"full[- ](ft|fine-?tun\w+))(?![\w-])"
    r"|(?:^|[(\[])(human\w*|expert|teacher|ensembles?|gt|joint( training)?|"
    r"full fine-?tuning|reference|retrain\w*|gold)(?![\w-])"
    r"|^(the )?(dense|original|lossless|input)( (model|network|baseline|images?|cache|kv))?$"
)
"""Words of rows that are printed for reference and do not compete."""
SET_APART = re.compile(r"(?<=\w)[\s)\]]*[†‡*∗§¶#]+$")
"""A footnote mark behind a row's name: more training data, another protocol."""


def _is_apart(number: Number, bold: list[Number]) -> bool:
    """Whether a plain row need not compete with the bold ones: a reference, or set apart by a footnote mark."""
    name = fold(number.scope.method)
    marked = SET_APART.search(name) is not None and not any(SET_APART.search(fold(n.scope.method)) for n in bold)
    return marked or APART.search(name) is not None


def _not_best(evidence: Evidence, column: list[Number], best: Number, direction: str) -> Finding:
    wrong = next(n for n in column if n.claim.bold)
    drawn = is_drawn(evidence, wrong)
    sign, word = (">", "higher") if direction == "max" else ("<", "lower")
    ours = _marks_one_row(evidence, wrong)
    origin = "taken from the caption" if wrong.claim.direction != "unknown" else "guessed from its name"
    whence = f"the source says {word} is better" if drawn else f"that {word} is better is {origin}"
    lone = best is column[0] and len(column) > 2 and not _is_bold_anywhere(evidence, best)
    return Finding(
        severity=Severity.ERROR if drawn and not ours and not lone else Severity.WARNING,
        message=f"{word} is better: {best.reported.text} {sign} bold {wrong.reported.text}",
        cells=(cell(wrong.claim), cell(best.claim)),
        arithmetic=f"{best.reported.text} {sign} {wrong.reported.text} among {len(column)} rows, as printed",
        explanations=(
            Explanation("bold marks one row, not the best", f"{wrong.scope.method} throughout the table", ours),
            Explanation("the metric's direction is the other way", whence, not drawn),
            edit(best.reported.text, wrong.reported.text),
            Explanation("the rows do not compete", "another group, size or training set: not told by the print", True),
        ),
        nearest=(f"bold on {best.reported.text}",),
        pattern=f"bold not on the best in {wrong.claim.where.table}",
    )


def _is_bold_anywhere(evidence: Evidence, number: Number) -> bool:
    row = _row_of(number)
    return any(n.claim.bold for n in evidence.by_table[row[0]] if _row_of(n) == row)


def _marks_one_row(evidence: Evidence, number: Number) -> bool:
    """Whether every bold cell of the table, in two columns or more, is of one method that is not always best."""
    table = [n for n in evidence.by_table[number.claim.where.table] if n.claim.bold]
    methods = {fold(n.scope.method) for n in table}
    return len(methods) == 1 and len(table) > 1


def _missed_tie(column: list[Number], missed: list[Number]) -> Finding:
    text = missed[0].reported.text
    return Finding(
        f"{text} is bold in one row and not in another",
        cells=tuple(cell(n.claim) for n in column if n.reported.value == missed[0].reported.value),
        arithmetic=f"{len(missed) + 1} cells print {text}",
        explanations=(Explanation("they differ beyond the printed digits", "", True),),
        pattern="ties not bold",
    )


@check("DIR")
def direction(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A metric whose direction is unknown or contradictory."""
    stated: dict[str, list[Number]] = defaultdict(list)
    unknown: dict[str, list[Number]] = defaultdict(list)
    for number in evidence.numbers:
        name = number.scope.metric or number.scope.task or number.claim.where.column
        if number.claim.direction != "unknown":
            stated[fold(name)].append(number)
        elif direction_of(number.claim)[0] == "unknown" and (number.claim.bold or number.claim.differences):
            unknown[name or "a metric"].append(number)
    for numbers in stated.values():
        if (pair := _both_ways(numbers)) is None:
            tally.ok()
        else:
            yield _contradiction(evidence, *pair)
    if untold := {name: numbers for name, numbers in unknown.items() if fold(name) not in stated}:
        yield _undirected(untold)


TURNED = re.compile(
    r"attack|adversar|forget|unlearn|poison|backdoor|trigger|jailbreak|privacy|leak|membership|\b(asr|mia|pgd|fgsm|rtrr)\b"
)
"""Words of numbers whose usual direction is turned round."""


def _both_ways(numbers: list[Number]) -> tuple[Number, Number] | None:
    """The nearest two numbers of one metric with opposite directions that cannot both be meant."""
    firsts: dict[tuple[str, str, str], Number] = {}
    for number in numbers:
        where = number.claim.where
        firsts.setdefault((number.claim.direction, where.table, fold(number.scope.task)), number)
    up, down = ([n for (way, *_), n in firsts.items() if way == wanted] for wanted in ("max", "min"))
    pairs = [(a, b) for a in up for b in down if _is_one_thing(a, b)]
    return min(pairs, key=lambda pair: pair[0].claim.where.table != pair[1].claim.where.table, default=None)


def _is_one_thing(a: Number, b: Number) -> bool:
    """Whether two numbers of one metric must have one direction."""
    known = family(a.scope.metric) is not None
    here, there = a.claim.where, b.claim.where
    if fold(a.scope.task) == fold(b.scope.task) and here.table == there.table:
        return known or bare(here.column) == bare(there.column)
    if any(ARROW.search(heading_of(n)) and family(bare(heading_of(n))) is None for n in (a, b)):
        known = known and bare(heading_of(a)) == bare(heading_of(b))  # a heading that is no metric has the caption's
    words = " ".join(fold(f"{n.scope.task} {n.claim.where} {n.scope.subset} {n.scope.metric}") for n in (a, b))
    return known and not TURNED.search(words)


def bare(heading: str) -> str:
    """A heading without its arrow."""
    return fold(re.sub(r"[↑↓⇑⇓]", "", heading))


def _contradiction(evidence: Evidence, a: Number, b: Number) -> Finding:
    """One metric with both directions."""
    name = a.scope.metric or a.scope.task or a.claim.where.column or "a metric"
    one_table = a.claim.where.table == b.claim.where.table
    drawn = is_drawn(evidence, a) and is_drawn(evidence, b)
    return Finding(
        severity=Severity.ERROR if one_table and drawn else Severity.WARNING,
        message=f"{name} is better both ways",
        cells=(cell(a.claim), cell(b.claim)),
        arithmetic=f"higher is better in {a.claim.where}; lower is better in {b.claim.where}",
        explanations=(Explanation("two metrics of one name", "give them different names", True),),
        pattern="direction",
    )


def _undirected(untold: dict[str, list[Number]]) -> Finding:
    """The ranked metrics of which nothing says which way is better."""
    names = list(dict.fromkeys(untold))
    shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    return Finding(
        severity=Severity.INFO,
        message=f"no arrow and no known direction for: {shown}",
        cells=tuple(cell(numbers[0].claim) for numbers in list(untold.values())[:3]),
        arithmetic=f"{sum(map(len, untold.values()))} bold numbers or printed differences; BOLD did not rank them",
        explanations=(Explanation("higher is better", "print an arrow, or state direction: max or min", True),),
        pattern="no direction",
    )


NAMED = 12
"""Metrics without a direction that are named one by one."""


@check("PREC")
def precision(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Digits that the spread does not support."""
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
            severity=Severity.INFO,
            message=f"{number.reported.text} ± {sd.text}: {kind}",
            cells=(cell(number.claim),),
            arithmetic=f"{digits} decimals in the value, {sd.decimals} in the spread",
            pattern=f"{kind} in {number.claim.where.table}",
        )
