"""Which baseline printed differences are taken to, where the source does not name one row.

A *reading* is a rule that chooses a baseline for each number (the row before, the best competitor, the row called
`Baseline` ...) and a way to take the difference (in points or in percent, either sign). One reading must hold for a
whole column or table: a difference that breaks what nearly all of its neighbours bear out is told, even if it happens
to be the difference to some other row. Where no reading is borne out nothing is said.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from leaderboard.checks.evidence import Number, fold, key_of, relate
from leaderboard.checks.measures import direction_of
from leaderboard.checks.numbers import Interval, Reported, parse
from leaderboard.claims.model import Delta, Rounding

if TYPE_CHECKING:
    from leaderboard.checks.evidence import Evidence

SAMPLE = 12
"""Differences of a pool that nominate rows as a fixed baseline."""
WITNESSES = 3
"""Other differences that must bear a reading out before one that breaks it is told (fewer where the source says it)."""
LONGEST = 400
"""Rows of a column up to which the best of its group is looked for."""
CALLED = re.compile(r"(the )?(baseline|base|vanilla|original|default|plain|standard|backbone)\b.*|.*\bbaseline")
"""Methods that can only be what the others are compared with."""


class Mode(Enum):
    """How a difference is taken; reversed: baseline minus value, where lower is better."""

    POINTS = "in points"
    REVERSED = "in points, a reduction counted positive"
    RELATIVE = "in percent of the baseline"
    REVERSED_RELATIVE = "in percent of the baseline, a reduction counted positive"

    @property
    def is_relative(self) -> bool:
        """Whether it is a percentage."""
        return self in (Mode.RELATIVE, Mode.REVERSED_RELATIVE)


MIRRORED = {
    Mode.POINTS: Mode.REVERSED,
    Mode.REVERSED: Mode.POINTS,
    Mode.RELATIVE: Mode.REVERSED_RELATIVE,
    Mode.REVERSED_RELATIVE: Mode.RELATIVE,
}
"""The same difference with the other sign."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A rule that chooses baselines; `name` is the row of the rule `row`."""

    rule: str
    name: str = ""

    def __str__(self) -> str:
        return f"the row {self.name}" if self.rule == "row" else TEXTS[self.rule]


TEXTS = {
    "read": "the baseline that the others have",
    "previous": "the row before",
    "above": "the nearest row above without a difference",
    "first": "the first row",
    "group": "the first row of the group",
    "best": "the best of the others",
    "highest": "the highest of the others",
    "lowest": "the lowest of the others",
    "underlined": "the underlined number",
}

STATED = {
    "previous": ("previous",),
    "first": ("first",),
    "best": ("best", "highest", "lowest", "underlined"),
    "underlined": ("underlined",),
    "corresponding": ("above", "group", "row"),
}
"""What a source says of its baselines (`Delta.to`) → the rules that this may mean."""


@dataclass(eq=False)
class Entry:
    """A printed difference to a baseline that is not named, and the baseline that each rule gives it."""

    number: Number
    stated: Delta
    printed: Reported
    choices: dict[Choice, Number] = field(default_factory=dict)
    borne_out: set[tuple[Choice, Mode]] = field(default_factory=set)

    def fits(self, choice: Choice, mode: Mode) -> bool:
        """Whether the printed difference is that to the rule's baseline."""
        base = self.choices[choice]
        return taken(self.number.reported, base.reported, self.printed, mode)

    def says(self, choice: Choice) -> bool:
        """Whether the source speaks of this rule."""
        if self.stated.to == "corresponding" and choice.rule == "row":
            return CALLED.fullmatch(choice.name) is not None
        return self.stated.to is not None and choice.rule in STATED[self.stated.to]

    def shows(self, choice: Choice) -> bool:
        """Whether the source says the rule and leaves no doubt which row it chooses, and no reading fits."""
        base = self.choices[choice]
        told = _is_definite(choice, base) or base.claim.underline is True
        return told and self.says(choice) and not self.borne_out


@dataclass(frozen=True)
class Judgement:
    """What the neighbours of a difference say of it."""

    entry: Entry
    base: Number
    """Baseline by the reading that is borne out."""
    choice: Choice
    mode: Mode
    agreeing: int
    """Other differences of the pool that the reading explains."""
    tried: int
    holds: bool
    """Whether this one is explained too."""
    certain: bool
    """Whether the source itself says the rule, so that nothing was guessed."""

    def __str__(self) -> str:
        return f"{self.agreeing} of {self.tried} other differences are to {self.choice}, {self.mode.value}"


def taken(a: Reported, b: Reported, d: Reported, mode: Mode) -> bool:
    """Whether d can be the difference of a to b; an unsigned d may be either way round."""
    first, second = (b, a) if mode is Mode.REVERSED else (a, b)
    if not mode.is_relative:
        return agrees(first, second, d)
    sign = -1 if mode is Mode.REVERSED_RELATIVE else 1
    return is_percentage(a, b, d, sign) or (is_unsigned(d) and is_percentage(a, b, d, -sign))


def is_percentage(a: Reported, b: Reported, d: Reported, sign: int = 1) -> bool:
    """Whether d can be sign · 100 (a − b) / b; in whole numbers where a and b are positive."""
    decimals = max(a.decimals, b.decimals)
    (a_low, a_high), (b_low, b_high) = a.at(decimals), b.at(decimals)
    if a_low < 0 or b_low <= 0:
        span = quotient(a, b)
        return span is not None and span.scale(sign).meets(d.interval())
    low, high = d.hundredths()
    if sign < 0:
        low, high = -high, -low
    hundred = 100 * d.hundredths_in_one
    return hundred * a_low <= (high + hundred) * b_high and (low + hundred) * b_low <= hundred * a_high


def agrees(
    a: Reported, b: Reported, d: Reported, policy: Rounding | None = None, lower_is_better: bool = False
) -> bool:
    """Whether d can be a − b; in whole numbers."""
    decimals = max(a.decimals, b.decimals, d.decimals)
    (a_low, a_high), (b_low, b_high), (d_low, d_high) = (n.at(decimals, policy) for n in (a, b, d))
    forward = a_low - b_high <= d_high and d_low <= a_high - b_low
    if forward or not (is_unsigned(d) or lower_is_better):
        return forward
    return b_low - a_high <= d_high and d_low <= b_high - a_low


def quotient(a: Reported, b: Reported, over_value: bool = False) -> Interval | None:
    """(a − b) / b, or (a − b) / a, in percent; monotone in a and b, so the corners bound it.

    None where the divisor may be zero.
    """
    first, second = a.interval(), b.interval()
    if 0 in (first if over_value else second):
        return None
    corners = [(x, y) for x in (first.lo, first.hi) for y in (second.lo, second.hi)]
    ends = [(x - y) / (x if over_value else y) * 100 for x, y in corners]
    return Interval(min(ends), max(ends))


def is_unsigned(d: Reported) -> bool:
    """Whether a difference is printed without a sign."""
    return d.text[:1] not in {"+", "-", "−"}


def survey(evidence: Evidence) -> dict[tuple[Number, Delta], Judgement]:
    """A judgement of every unnamed difference whose neighbours bear a reading out.

    Neighbours are the differences of one table and metric. Percentages, and lines that hold nothing but differences,
    share their reading across the metrics of a table; the sign is then left open.
    """
    pools: dict[tuple[str, ...], list[Entry]] = defaultdict(list)
    for number in evidence.numbers:
        for stated in number.claim.differences:
            printed = parse(stated.printed, number.claim.rounding) if stated.is_unnamed else None
            if printed is not None:
                metric = "" if stated.relative or stated.inferred else fold(number.scope.metric)
                key = (number.claim.where.table, metric, str(stated.relative))
                pools[key].append(Entry(number, stated, printed))
    found = (judgement for pool in pools.values() for judgement in _judged(evidence, pool))
    return {(judgement.entry.number, judgement.entry.stated): judgement for judgement in found}


class Column:
    """The numbers that compete with one: of its column, or of its row where methods are columns, in printed order."""

    def __init__(self, evidence: Evidence, number: Number) -> None:
        scope, where = number.scope, number.claim.where
        rivals = evidence.rivals[(where.table, fold(scope.task), fold(scope.metric))]
        rivals = [n for n in rivals if n is number or fold(n.scope.split) == fold(scope.split)]
        lines = ([n for n in rivals if getattr(n.claim.where, axis) == getattr(where, axis)] for axis in AXES)
        self.numbers = next((line for line in lines if len(line) > 1), rivals)
        self.places = {n: place for place, n in enumerate(self.numbers)}
        self.named: dict[str, list[Number]] = defaultdict(list)
        for n in self.numbers:
            self.named[fold(n.scope.method)].append(n)

    def others(self, number: Number) -> Iterator[Number]:
        """Those of another method."""
        mine = fold(number.scope.method)
        yield from (n for name, same in self.named.items() if name and name != mine for n in same)

    def called(self, number: Number, name: str) -> Number | None:
        """The row of that name: of the number's own group, else the nearest before it, else the first."""
        found = self.named.get(name, []) if name != fold(number.scope.method) else []
        own = [n for n in found if not relate(n.scope, number.scope).differ]
        before = [n for n in found if self.places[n] < self.places[number]]
        return next(iter([*own, *before[::-1], *found]), None)

    def above(self, number: Number) -> Iterator[Number]:
        """Those before the number, the nearest first."""
        return (self.numbers[place] for place in range(self.places[number] - 1, -1, -1))


AXES = ("column", "row")


def _judged(evidence: Evidence, pool: list[Entry]) -> Iterator[Judgement]:
    _choose(evidence, pool)
    table, *lines = [_groups(pool, key) for key in (_table, _column, _row)]
    for entry in pool:
        near = [table[_table(entry)], *(line[key(entry)] for line, key in zip(lines, (_column, _row), strict=True))]
        judgements = [judgement for group in near for judgement in group.judge(entry, whole=group is near[0])]
        holding = [judgement for judgement in judgements if judgement.holds]
        if holding or (judgements and not _is_excused(entry, near[1:], judgements)):
            yield max(holding or judgements, key=_weight)


def _table(entry: Entry) -> str:
    return entry.number.claim.where.table


def _column(entry: Entry) -> str:
    return entry.number.claim.where.column


def _row(entry: Entry) -> str:
    return entry.number.claim.where.row


class Group:
    """Differences of one table, column or row, and how many of them bear each reading out."""

    def __init__(self, entries: list[Entry]) -> None:
        self.size = len(entries)
        self.tried = Counter(choice for entry in entries for choice in entry.choices)
        self.agreeing = Counter(reading for entry in entries for reading in entry.borne_out)

    def judge(self, entry: Entry, whole: bool) -> Iterator[Judgement]:
        """Readings that the other entries bear out, with what they make of this one.

        In the whole table most of them suffice for a rule that the source states.
        """
        for (choice, mode), count in self.agreeing.items():
            if choice not in entry.choices:
                continue
            holds = (choice, mode) in entry.borne_out
            agreeing, tried = count - holds, self.tried[choice] - 1
            clear = agreeing >= WITNESSES and agreeing * 4 >= tried * 3
            said = whole and entry.says(choice) and agreeing > 1 and agreeing * 2 > tried
            only = agreeing == tried > 1 and not entry.borne_out and _is_called(entry.choices[choice])
            if clear or said or only or (whole and agreeing == tried == 1 and entry.shows(choice)):
                certain = clear and said and _is_definite(choice, entry.choices[choice])
                yield Judgement(entry, entry.choices[choice], choice, mode, agreeing, tried, holds, certain)


def _groups(pool: list[Entry], key: Callable[[Entry], str]) -> dict[str, Group]:
    found: dict[str, list[Entry]] = defaultdict(list)
    for entry in pool:
        found[key(entry)].append(entry)
    return {name: Group(entries) for name, entries in found.items()}


def _is_definite(choice: Choice, base: Number) -> bool:
    """Whether what the source says leaves no doubt which row it means; what counts as a competitor is open to doubt."""
    return choice.rule in ("previous", "first", "underlined") or _is_called(base)


def _is_called(base: Number) -> bool:
    return CALLED.fullmatch(fold(base.scope.method)) is not None


def _is_excused(entry: Entry, lines: list[Group], judgements: list[Judgement]) -> bool:
    """Whether another reading explains all of the entry's own column or row, or the entry is the total of steps."""
    if any(line.size > 2 and line.agreeing[reading] == line.size for line in lines for reading in entry.borne_out):
        return True
    steps = {j.mode for j in judgements if j.choice.rule == "previous" and entry.stated.to is None}
    return any((Choice(rule), mode) in entry.borne_out for mode in steps for rule in ("first", "group", "above"))


def _weight(judgement: Judgement) -> tuple[bool, bool, int, bool]:
    """The source's own rule first, then the one with the most witnesses, then the way that is printed."""
    as_printed = judgement.mode.is_relative == judgement.entry.stated.relative
    return judgement.certain, judgement.entry.says(judgement.choice), judgement.agreeing, as_printed


def _choose(evidence: Evidence, pool: list[Entry]) -> None:
    """Fill in the baseline that each rule gives each entry, and the readings that it bears out."""
    columns: dict[tuple[str, ...], Column] = {}
    nominated: Counter[str] = Counter()
    for place, entry in enumerate(pool):
        column = _column_of(evidence, entry.number, columns)
        entry.choices.update(_by_rule(evidence, entry, column))
        if place < SAMPLE:
            nominated.update(set(_fitting(entry, column)))
    names = [name for name, _ in nominated.most_common(SAMPLE)]
    mixed = len({fold(entry.number.scope.metric) for entry in pool}) > 1
    for entry in pool:
        column = _column_of(evidence, entry.number, columns)
        called = ((name, column.called(entry.number, name)) for name in names)
        entry.choices.update({Choice("row", name): base for name, base in called if base is not None})
        entry.borne_out = {(choice, mode) for choice in entry.choices for mode in Mode if entry.fits(choice, mode)}
        if mixed:  # some may be better high, others low
            entry.borne_out |= {(choice, MIRRORED[mode]) for choice, mode in entry.borne_out}


def _column_of(evidence: Evidence, number: Number, known: dict[tuple[str, ...], Column]) -> Column:
    """The column of a number, built once for all of its numbers."""
    where = number.claim.where
    key = (where.column, fold(number.scope.task), fold(number.scope.split))
    column = known.get(key)
    if column is None or number not in column.places:
        column = known[key] = Column(evidence, number)
    return column


def _fitting(entry: Entry, column: Column) -> Iterator[str]:
    """Names of the rows to which the entry can be a difference."""
    for other in column.others(entry.number):
        if any(taken(entry.number.reported, other.reported, entry.printed, mode) for mode in Mode):
            yield fold(other.scope.method)


def _by_rule(evidence: Evidence, entry: Entry, column: Column) -> Iterator[tuple[Choice, Number]]:
    number = entry.number
    if entry.stated.inferred and (read := named_rows(evidence, number, entry.stated)):
        yield Choice("read"), read[0]
    if column.places[number]:
        yield Choice("previous"), next(column.above(number))
        yield Choice("first"), column.numbers[0]
    if above := next((n for n in column.above(number) if not n.claim.differences), None):
        yield Choice("above"), above
    if len(column.numbers) <= LONGEST:
        others = sorted(column.others(number), key=column.places.__getitem__)
        group = [n for n in others if not relate(n.scope, number.scope).differ]
        if group and column.places[group[0]] < column.places[number]:
            yield Choice("group"), group[0]
        yield from _chosen(number, group or others)


def _chosen(number: Number, others: list[Number]) -> Iterator[tuple[Choice, Number]]:
    """The best of the others, of those that show no difference of their own if there are such; the underlined one."""
    plain = [n for n in others if not n.claim.differences] or others
    if not plain:
        return
    highest, lowest = (pick(plain, key=lambda n: n.reported.value) for pick in (max, min))
    way = direction_of(number.claim)[0]
    if way == "unknown":
        yield from ((Choice("highest"), highest), (Choice("lowest"), lowest))
    else:
        yield Choice("best"), highest if way == "max" else lowest
    underlined = [n for n in others if n.claim.underline]
    if len(underlined) == 1:
        yield Choice("underlined"), underlined[0]


def named_rows(evidence: Evidence, number: Number, stated: Delta) -> list[Number]:
    """Numbers of the baseline that a difference names, those of the same table if there are any."""
    key = key_of(number.scope)
    if key is None:
        return _only_named(evidence, number, stated)
    wanted = (fold(stated.task) or key[0], key[1], fold(stated.baseline) or key[2])
    found = [n for n in evidence.by_key.get(wanted, ()) if n is not number and not relate(n.scope, number.scope).differ]
    same = [n for n in found if n.claim.where.table == number.claim.where.table]
    return same or [n for n in found if not evidence.are_apart(n, number)]


def _only_named(evidence: Evidence, number: Number, stated: Delta) -> list[Number]:
    """Where the table does not say its task: the one row of the column, and of the group, that has the name."""
    named = fold(stated.baseline)
    if stated.task is not None:
        return _beside(evidence, number, stated)
    if not named:
        return []
    found = [n for n in rivals(evidence, number) if fold(n.scope.method) == named]
    group = [n for n in found if not relate(n.scope, number.scope).differ]
    column = [n for n in group if n.claim.where.column == number.claim.where.column]
    return next((rows for rows in (found, group, column) if len(rows) == 1), [])


def _beside(evidence: Evidence, number: Number, stated: Delta) -> list[Number]:
    """The one number of the same row under the heading that is named: a difference of two columns needs no metric."""
    scope, where = number.scope, number.claim.where
    wanted = fold(stated.task), fold(stated.baseline) or fold(scope.method)
    row = [n for n in evidence.by_row[(where.table, where.row)] if n is not number]
    found = [n for n in row if (fold(n.scope.task), fold(n.scope.method)) == wanted]
    found = [n for n in found if fold(n.scope.metric) == fold(scope.metric) and not relate(n.scope, scope).differ]
    return found if len(found) == 1 else []


def rivals(evidence: Evidence, number: Number) -> list[Number]:
    """Numbers of the same table, task and metric."""
    scope = number.scope
    found = evidence.rivals[(number.claim.where.table, fold(scope.task), fold(scope.metric))]
    return [n for n in found if n is not number]
