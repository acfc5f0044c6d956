"""What the print itself says: bold, direction, digits."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from leaderboard.checks.borne import Hypothesis, Score, gathered
from leaderboard.checks.evidence import Evidence, Number, fold
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, say
from leaderboard.checks.measures import direction_of, family
from leaderboard.checks.numbers import parse
from leaderboard.checks.published.ranges import is_possible
from leaderboard.checks.registry import check
from leaderboard.checks.relation import edit
from leaderboard.checks.wholes import kind_of
from leaderboard.lexicon.phrases import says

Row = tuple[str, str]
"""Table and method, folded."""


@dataclass(frozen=True)
class Line:
    """Numbers that compete, at least one of them bold."""

    numbers: list[Number]
    way: str
    """Which way is better: `max`, `min` or `unknown`."""

    @property
    def bold(self) -> list[Number]:
        """The bold ones."""
        return [n for n in self.numbers if n.claim.bold]

    @property
    def table(self) -> str:
        """Their table."""
        return self.numbers[0].table

    def best(self, way: str = "", among: list[Number] | None = None) -> Number:
        """The best of them, or of some."""
        pick = min if (way or self.way) == "min" else max
        return pick(among or self.numbers, key=lambda n: n.value)

    def marks(self, way: str) -> bool:
        """Whether bold is on the best in this direction."""
        best = self.best(way).reported.value
        return any(n.value == best for n in self.bold)

    @property
    def is_marked(self) -> bool:
        """Whether bold is on the best; where no direction is known, on either end."""
        return any(map(self.marks, ("max", "min") if self.way == "unknown" else (self.way,)))


@check("BOLD")
def bold(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Bold on a cell that is not the best."""
    for lines in gathered(_lines(evidence), lambda line: line.table):
        known = list(_directed(evidence, lines, tally))
        stated = says_best(evidence, lines[0].table)
        references = {} if stated else _references(known)
        yield from map(_for_reference, references.values())
        for whole in known:
            line = Line([n for n in whole.numbers if _row_of(n) not in references], whole.way)
            if len(line.numbers) < 2:
                tally.skip("no two rows that compete")
            elif line.marks(line.way):  # further bold cells are taken for rows that the source does not tell apart
                best = line.best().reported.value
                missed = [n for n in line.numbers if n.value == best and not n.claim.bold]
                if missed:
                    yield _missed_tie(line, missed)
                else:
                    tally.ok()
            elif len({n.value for n in line.bold}) > 1 and not stated:
                tally.skip("several numbers are bold, and none is the best: bold marks something else")
            else:
                yield _not_best(evidence, line, stated, lines)


def says_best(evidence: Evidence, table: str) -> bool:
    """Whether the caption says that the best is bold."""
    return says("best-in-bold", evidence.set.captions.get(table, ""))


def _lines(evidence: Evidence) -> Iterator[Line]:
    """Lines of competing numbers with a bold one: of a task and metric, or of a row where bold runs along the rows."""
    for numbers in gathered(evidence.numbers, lambda n: n.table):
        if not any(n.claim.bold for n in numbers):
            continue
        of_table = [group for group in evidence.columns.values() if group[0].table == numbers[0].table]
        by_row = gathered(numbers, lambda n: (n.row, n.claim.where.line, n.metric))
        columns, rows = ([line for group in groups for line in _line(evidence, group)] for groups in (of_table, by_row))
        chance = sum(2 * len(line.bold) / len(line.numbers) for line in rows) / max(len(rows), 1)
        along = Score(sum(line.is_marked for line in rows), len(rows), chance, 2)
        better = along.agreeing * max(len(columns), 1) > sum(line.is_marked for line in columns) * len(rows)
        yield from rows if len(rows) > 2 and better and along.is_likely else columns


def _line(evidence: Evidence, group: list[Number]) -> Iterator[Line]:
    """The numbers of a group that compete, as far as their names tell."""
    marked = [n for n in group if n.claim.bold]
    if marked and len(group) > 1 and not SAVED.search(heading_of(group[0])):
        numbers = [n for n in group if (n.claim.bold or not _is_apart(n, marked)) and not _is_summary(n)]
        numbers = [n for n in numbers if is_possible(evidence, n)]
        if len(numbers) > 1 and any(n.claim.bold for n in numbers):
            yield Line(numbers, direction_of(group[0].claim)[0])


def _is_summary(number: Number) -> bool:
    return any(label and kind_of(label) == "average" for label in (number.scope.method, number.row))


def _directed(evidence: Evidence, lines: list[Line], tally: Tally) -> Iterator[Line]:
    """Lines with a direction: stated, guessed by the name and not turned round by the bold itself, or borne out.

    Where no name tells, that higher is better is a hypothesis about all such lines of the table.
    """
    unknown = [line for line in lines if line.way == "unknown"]
    chance = sum(len(line.bold) / len(line.numbers) for line in unknown) / max(len(unknown), 1)
    ways = [Hypothesis(way, [line.marks(way) for line in unknown], chance, 2) for way in ("max", "min")]
    best = max((way for way in ways if way.is_likely), key=lambda way: way.agreeing, default=None)
    for line in lines:
        turned = line.marks({"max": "min", "min": "max"}.get(line.way, "")) and not line.marks(line.way)
        if line.way == "unknown" and best is None:
            tally.skip("direction unknown")
        elif line.way == "unknown" and best is not None:
            yield Line(line.numbers, best.reading)
        elif turned and len(line.numbers) >= TURNING and not is_drawn(evidence, line.bold[0]):
            tally.skip("the bold turns the direction of the name round")
        else:
            yield line


TURNING = 4
"""Numbers of a line from which bold on the very worst says that the name's direction is not meant."""


def _row_of(number: Number) -> Row:
    return number.table, number.method


def _references(lines: list[Line]) -> dict[Row, list[Number]]:
    """Rows bold nowhere that beat the bold numbers of most lines, two at least, with what beats."""
    beats: dict[Row, list[Number]] = defaultdict(list)
    shared: Counter[Row] = Counter()
    for line in lines:
        top = line.best(among=line.bold)
        shared.update({_row_of(n) for n in line.numbers})
        for n in line.numbers:
            if n.value != top.value and line.best(among=[n, top]) is n:
                beats[_row_of(n)].append(n)
    marked = {_row_of(n) for line in lines for n in line.bold}
    return {r: ns for r, ns in beats.items() if r not in marked and len(ns) > 1 and len(ns) * 2 > shared[r]}


def _for_reference(numbers: list[Number]) -> Finding:
    first = numbers[0]
    return say(
        f"{first.scope.method} is better than the bold number in {len(numbers)} columns and bold in none", *numbers[:3],
        arithmetic=", ".join(n.text for n in numbers[:6]), severity=Severity.INFO, count=len(numbers),
        could=[Explanation("a row for reference, which does not compete", "say so in its name", True)],
        pattern=f"rows for reference in {first.table}",
    )  # fmt: skip


ARROW = re.compile(r"[↑↓⇑⇓]|\b(higher|lower|larger|smaller|more|less) is better\b")
SAVED = re.compile(r"(flops?|macs?|params?|parameters|size|memory|mem)\b[^/]*(↓[^/]*%|%[^/]*↓)", re.I)
"""`FLOPs ↓ (%)`: what is left, or what was saved."""


def heading_of(number: Number) -> str:
    """The last line of the heading that a number has its arrow from, of its column where neither has one."""
    for line in (number.column, number.row):
        if ARROW.search(line):
            last = line.rpartition(" / ")[2]
            return last if ARROW.search(last) else line
    return number.column


def is_drawn(evidence: Evidence, number: Number) -> bool:
    """Whether the number's own heading, or a claims file, says which way is better, and not only the caption."""
    if number.claim.direction == "unknown":
        return False
    return number.table not in evidence.set.captions or ARROW.search(heading_of(number)) is not None


SET_APART = re.compile(r"(?<=\w)[\s)\]]*[†‡*∗§¶#]+$")
"""A footnote mark behind a row's name: more training data, another protocol."""


def _is_apart(number: Number, marked: list[Number]) -> bool:
    """Whether a plain row need not compete with the bold ones: a reference, or set apart by a footnote mark."""
    name = number.method
    noted = SET_APART.search(name) is not None and not any(SET_APART.search(n.method) for n in marked)
    return noted or says("reference", name)


def _not_best(evidence: Evidence, line: Line, stated: bool, lines: list[Line]) -> Finding:
    wrong, best = line.bold[0], line.best()
    drawn, rows = is_drawn(evidence, wrong), {_row_of(n) for other in lines for n in other.bold}
    sign, word = (">", "higher") if line.way == "max" else ("<", "lower")
    ours = len(rows) == 1 and len(lines) > 1 and not stated
    known = direction_of(wrong.claim)[0] != "unknown"
    origin = "taken from the caption" if wrong.claim.direction != "unknown" else (
        "guessed from its name" if known else "what the other bold numbers of the table show"
    )  # fmt: skip
    whence = f"the source says {word} is better" if drawn else f"that {word} is better is {origin}"
    anywhere = any(n.claim.bold for n in evidence.like(wrong, "table") if _row_of(n) == _row_of(best))
    lone = best is line.numbers[0] and len(line.numbers) > 2 and not anywhere and not stated
    return say(
        f"{word} is better: {best.text} {sign} bold {wrong.text}", wrong, best,
        arithmetic=f"{best.text} {sign} {wrong.text} among {len(line.numbers)} rows, as printed",
        could=(
            Explanation("bold marks one row, not the best", f"{wrong.scope.method} throughout the table", ours),
            Explanation("the metric's direction is the other way", whence, not drawn),
            edit(best.text, wrong.text),
            Explanation("the rows do not compete", "another group, size or training set: not told by the print", True),
        ),
        pattern=f"bold not on the best in {line.table}", nearest=(f"bold on {best.text}",),
        severity=Severity.INFO if ours else Severity.ERROR if drawn and not lone else Severity.WARNING,
    )  # fmt: skip


def _missed_tie(line: Line, missed: list[Number]) -> Finding:
    text = missed[0].text
    return say(
        f"{text} is bold in one row and not in another", *(n for n in line.numbers if n.value == missed[0].value),
        arithmetic=f"{len(missed) + 1} cells print {text}", pattern="ties not bold",
        could=[Explanation("they differ beyond the printed digits", "", True)],
    )  # fmt: skip


@check("DIR")
def direction(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A metric whose direction is unknown or contradictory."""
    stated: dict[str, list[Number]] = defaultdict(list)
    unknown: dict[str, list[Number]] = defaultdict(list)
    for number in evidence.numbers:
        name = number.scope.metric or number.scope.task or number.column
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
        names, firsts = list(untold), [numbers[0] for numbers in untold.values()]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        count = sum(map(len, untold.values()))
        yield say(
            f"no arrow and no known direction for: {', '.join(names[:NAMED])}{more}", *firsts[:3],
            arithmetic=f"{count} bold numbers or printed differences; BOLD goes by what the others show",
            could=[Explanation("higher is better", "print an arrow, or state direction: max or min", True)],
            pattern="no direction", severity=Severity.INFO,
        )  # fmt: skip


NAMED = 12
"""Metrics without a direction that are named one by one."""


def _both_ways(numbers: list[Number]) -> tuple[Number, Number] | None:
    """The nearest two numbers of one metric with opposite directions that cannot both be meant."""
    firsts: dict[tuple[str, str, str], Number] = {}
    for n in numbers:
        firsts.setdefault((n.claim.direction, n.table, n.task), n)
    up, down = ([n for (way, *_), n in firsts.items() if way == wanted] for wanted in ("max", "min"))
    pairs = [(a, b) for a in up for b in down if _is_one_thing(a, b)]
    return min(pairs, key=lambda pair: pair[0].table != pair[1].table, default=None)


def _is_one_thing(a: Number, b: Number) -> bool:
    """Whether two numbers of one metric must have one direction."""
    known, (one, two) = family(a.scope.metric) is not None, (_bare(n.column) for n in (a, b))
    if a.task == b.task and a.table == b.table:
        return known or one == two
    heads = [_bare(heading_of(n)) for n in (a, b)]
    if any(ARROW.search(heading_of(n)) and family(head) is None for n, head in zip((a, b), heads, strict=True)):
        known = known and heads[0] == heads[1]  # a heading that is no metric has the caption's
    words = " ".join(fold(f"{n.scope.task} {n.claim.where} {n.scope.subset} {n.scope.metric}") for n in (a, b))
    return known and not says("turned", words)


def _bare(heading: str) -> str:
    """A heading without its arrow."""
    return fold(re.sub(r"[↑↓⇑⇓]", "", heading))


def _contradiction(evidence: Evidence, a: Number, b: Number) -> Finding:
    """One metric with both directions."""
    name = a.scope.metric or a.scope.task or a.column or "a metric"
    sure = a.table == b.table and is_drawn(evidence, a) and is_drawn(evidence, b)
    return say(
        f"{name} is better both ways", a, b, pattern="direction",
        arithmetic=f"higher is better in {a.claim.where}; lower is better in {b.claim.where}",
        could=[Explanation("two metrics of one name", "give them different names", True)],
        severity=Severity.ERROR if sure else Severity.WARNING,
    )  # fmt: skip


@check("PREC")
def precision(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Digits that the spread does not support."""
    for number in evidence.numbers:
        sd = parse(number.claim.spread.printed) if number.claim.spread else None
        if sd is None:
            continue
        from leaderboard.rounding import pdg_decimals

        digits = number.reported.decimals
        if sd.decimals != digits:
            kind = "value and spread to different decimals"
        elif sd.mantissa > 0 and digits > pdg_decimals(float(sd.value)) + 1:
            kind = "more digits than the spread supports"
        else:
            tally.in_range()
            continue
        yield say(
            f"{number.text} ± {sd.text}: {kind}", number, pattern=f"{kind} in {number.table}", severity=Severity.INFO,
            arithmetic=f"{digits} decimals in the value, {sd.decimals} in the spread",
        )  # fmt: skip
