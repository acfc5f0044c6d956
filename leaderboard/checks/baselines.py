"""Which baseline printed differences are taken to, where the source does not name one row.

A *reading* is a rule that chooses a baseline for each number (the row before, the best competitor, the row called
`Baseline` ...) and a way to take the difference (in points or in percent, either sign). It must be borne out by the
other differences of a table, column or row (`borne`); then one that breaks it is told, even if it happens to be the
difference to some other row.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from leaderboard.checks.borne import Score, gathered
from leaderboard.checks.difference import MODES, Mode, taken
from leaderboard.checks.evidence import Evidence, Number, fold, relate
from leaderboard.checks.measures import direction_of
from leaderboard.checks.numbers import Reported, parse
from leaderboard.checks.pairs import are_apart
from leaderboard.claims.model import Delta

SAMPLE = 12
"""Differences of a pool that nominate rows as a fixed baseline."""
LONGEST = 400
"""Rows of a column up to which the best of its group is looked for."""
CALLED = ("the baseline", "baseline", "base", "vanilla", "original", "default", "plain", "standard", "backbone")
"""First words of methods that can only be what the others are compared with."""

RULES = {
    "read": "the baseline that the others have", "previous": "the row before",
    "above": "the nearest row above without a difference", "first": "the first row",
    "group": "the first row of the group", "best": "the best of the others", "highest": "the highest of the others",
    "lowest": "the lowest of the others", "underlined": "the underlined number",
}  # fmt: skip
STATED = {
    "previous": ("previous",), "first": ("first",), "best": ("best", "highest", "lowest", "underlined"),
    "underlined": ("underlined",), "corresponding": ("above", "group", "row"),
}  # fmt: skip
"""What a source says of its baselines (`Delta.to`) → the rules that this may mean."""


DOUBTFUL = ("best", "highest", "lowest")
"""Rules by which it is open to doubt which rows they choose from."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A rule that chooses baselines; `name` is the row of the rule `row`."""

    rule: str
    name: str = ""

    def __str__(self) -> str:
        return f"the row {self.name}" if self.rule == "row" else RULES[self.rule]


Reading = tuple[Choice, Mode]


@dataclass(eq=False)
class Entry:
    """A printed difference to a baseline that is not named, and the baseline that each rule gives it."""

    number: Number
    stated: Delta
    printed: Reported
    choices: dict[Choice, Number] = field(default_factory=dict)
    fits: dict[Reading, None] = field(default_factory=dict)
    """Readings under which it is the difference, in the order of the rules."""

    def says(self, choice: Choice) -> bool:
        """Whether the source speaks of this rule."""
        if self.stated.to == "corresponding" and choice.rule == "row":
            return is_called(choice.name)
        return self.stated.to is not None and choice.rule in STATED[self.stated.to]

    def is_definite(self, choice: Choice) -> bool:
        """Whether the rule leaves no doubt which row it means; what counts as a competitor is open to doubt."""
        return choice.rule in ("previous", "first", "underlined") or is_called(self.choices[choice].scope.method)


def is_called(method: str | None) -> bool:
    """Whether a method is called as a baseline."""
    name = fold(method)
    first = name.replace("the ", "", 1).split(" ")[0].rstrip(":,") if name else ""
    return first in CALLED or name.endswith(" baseline")


@dataclass(frozen=True)
class Judgement:
    """What the neighbours of a difference say of it."""

    entry: Entry
    choice: Choice
    mode: Mode
    score: Score
    """Other differences of the pool that the reading explains."""
    holds: bool
    """Whether this one is explained too."""
    sure: bool
    """Whether the others bear the reading out, and nothing but the reading was guessed."""

    @property
    def base(self) -> Number:
        """Baseline by the reading."""
        return self.entry.choices[self.choice]

    def __str__(self) -> str:
        return f"{self.score.agreeing} of {self.score.tried} other differences are to {self.choice}, {self.mode}"

    @property
    def weight(self) -> tuple[bool, bool, int, bool, bool, int]:
        """The source's own rule first, then the one with the most witnesses, the sure one, the way that is printed."""
        says = self.entry.says(self.choice)
        as_printed = self.mode.relative == self.entry.stated.relative
        return self.sure and says, says, self.score.agreeing, self.sure, as_printed, self.mode.sign


# --- readings and what bears them out ---------------------------------------------------------------------------------


def survey(evidence: Evidence) -> dict[tuple[Number, Delta], Judgement]:
    """A judgement of every unnamed difference whose neighbours bear a reading out.

    Neighbours are the differences of one table and metric. Percentages, and lines that hold nothing but differences,
    share their reading across the metrics of a table; the sign is then left open.
    """
    entries = [
        Entry(number, stated, printed)
        for number in evidence.numbers
        for stated in number.claim.differences
        if stated.is_unnamed and (printed := parse(stated.printed, number.claim.rounding)) is not None
    ]

    def pool(entry: Entry) -> tuple[str, str, bool]:
        shared = entry.stated.relative or entry.stated.inferred
        where = entry.number.claim.where
        return where.table, "" if shared else entry.number.metric, entry.stated.relative

    found = (judgement for same in gathered(entries, pool) for judgement in _judged(evidence, same))
    return {(judgement.entry.number, judgement.entry.stated): judgement for judgement in found}


class Group:
    """Differences of one table, column or row, and how many of them bear each reading out."""

    def __init__(self, entries: list[Entry], whole: bool, rows: int, lines: int = 1) -> None:
        self.size, self.whole = len(entries), whole
        self.tried = Counter(choice for entry in entries for choice in entry.choices)
        self.agreeing = Counter(reading for entry in entries for reading in entry.fits)
        self.chance = sum(map(_chance, entries)) / len(entries)
        self.tries = 2 * len(self.tried), len(MODES) * (len(RULES) + rows) * lines
        """Readings that differ here; and all there could be, for errors: rows are nominated by their fit."""

    def judge(self, entry: Entry) -> Iterator[Judgement]:
        """Readings that the other entries bear out, with what they make of this one.

        In the whole table most of them suffice for a rule that the source states.
        """
        for (choice, mode), count in self.agreeing.items():
            if choice not in entry.choices:
                continue
            holds = (choice, mode) in entry.fits
            says, definite = entry.says(choice), entry.is_definite(choice)
            few, many = (2, 2) if says else self.tries
            score = Score(count - holds, self.tried[choice] - 1, self.chance, many)
            likely = replace(score, hypotheses=few).is_likely
            said = self.whole and says and score.agreeing > 1 and score.agreeing * 2 > score.tried
            alone = not entry.fits and says and (definite or entry.choices[choice].claim.underline is True)
            if likely or said or (self.whole and alone and score.agreeing == score.tried == 1):
                doubt = choice.rule in DOUBTFUL or (entry.stated.inferred and not (says and definite))
                sure = not doubt and ((says and definite and likely) or score.is_borne_out())
                yield Judgement(entry, choice, mode, score, holds, sure)


def _chance(entry: Entry) -> float:
    """Probability that the entry would be the difference to some row by accident."""
    value, d = entry.number.reported, entry.printed
    others = [base.reported for base in entry.choices.values()]
    gaps = [abs(float(value.value - other.value)) for other in others] or [0.0]
    width = float(value.ulp) + max((float(other.ulp) for other in others), default=0.0)
    if entry.stated.relative:
        scale = 100 / max(abs(float(value.value)), 1e-9)
        gaps, width = [gap * scale for gap in gaps], width * scale
    return min(1.0, (width + float(d.ulp)) / (2 * max(*gaps, abs(float(d.value)), 1e-9)))


def _judged(evidence: Evidence, pool: list[Entry]) -> Iterator[Judgement]:
    _choose(evidence, pool)
    rows = max(len({n for e in pool for n in e.choices.values()}) // max(len(pool), 1), SAMPLE)
    table = Group(pool, True, rows)
    lines: dict[tuple[str, str], Group] = {}
    for axis in ("column", "row"):
        groups = gathered(pool, lambda e, axis=axis: getattr(e.number.claim.where, axis))  # type: ignore[misc]
        for same in groups:
            lines[axis, getattr(same[0].number.claim.where, axis)] = Group(same, False, rows, len(groups))
    for entry in pool:
        own = [lines[axis, getattr(entry.number.claim.where, axis)] for axis in ("column", "row")]
        judgements = [judgement for group in (table, *own) for judgement in group.judge(entry)]
        holding = [judgement for judgement in judgements if judgement.holds]
        if holding or (judgements and not _is_excused(entry, own, judgements)):
            yield max(holding or judgements, key=lambda judgement: judgement.weight)


def _is_excused(entry: Entry, lines: list[Group], judgements: list[Judgement]) -> bool:
    """Whether another reading explains all of the entry's own column or row, or the entry is the total of steps."""
    if any(line.size > 2 and line.agreeing[reading] == line.size for line in lines for reading in entry.fits):
        return True
    steps = {j.mode for j in judgements if j.choice.rule == "previous" and entry.stated.to is None}
    return any((Choice(rule), mode) in entry.fits for mode in steps for rule in ("first", "group", "above"))


class Column:
    """The numbers that compete with one: of its column, or of its row where methods are columns, in printed order."""

    def __init__(self, evidence: Evidence, number: Number) -> None:
        found = [n for n in evidence.like(number, *RIVALS) if n.split == number.split]
        axes = ([n for n in found if getattr(n, axis) == getattr(number, axis)] for axis in ("column", "row"))
        self.numbers = next((line for line in axes if len(line) > 1), found)
        self.places = {n: place for place, n in enumerate(self.numbers)}
        self.named: dict[str, list[Number]] = defaultdict(list)
        for n in self.numbers:
            self.named[n.method].append(n)

    def others(self, number: Number) -> list[Number]:
        """Those of another method, in printed order."""
        mine = number.method
        found = (n for name, same in self.named.items() if name and name != mine for n in same)
        return sorted(found, key=self.places.__getitem__)

    def called(self, number: Number, name: str) -> Number | None:
        """The row of that name: of the number's own group, else the nearest before it, else the first."""
        found = self.named.get(name, []) if name != number.method else []
        own = [n for n in found if not relate(n.scope, number.scope).differ]
        before = [n for n in found if self.places[n] < self.places[number]]
        return next(iter([*own, *before[::-1], *found]), None)

    def by_rule(self, number: Number) -> Iterator[tuple[Choice, Number]]:
        """The baseline that each rule gives a number."""
        place = self.places[number]
        if place:
            yield Choice("previous"), self.numbers[place - 1]
            yield Choice("first"), self.numbers[0]
        if above := next((n for n in reversed(self.numbers[:place]) if not n.claim.differences), None):
            yield Choice("above"), above
        if len(self.numbers) > LONGEST:
            return
        others = self.others(number)
        group = [n for n in others if not relate(n.scope, number.scope).differ]
        if group and self.places[group[0]] < place:
            yield Choice("group"), group[0]
        rivals = group or others
        plain = [n for n in rivals if not n.claim.differences] or rivals
        if plain:
            highest, lowest = (pick(plain, key=lambda n: n.value) for pick in (max, min))
            way = direction_of(number.claim)[0]
            best = highest if way == "max" else lowest
            known = [(Choice("highest"), highest), (Choice("lowest"), lowest)]
            yield from known if way == "unknown" else [(Choice("best"), best)]
        if len(underlined := [n for n in rivals if n.claim.underline]) == 1:
            yield Choice("underlined"), underlined[0]


def _choose(evidence: Evidence, pool: list[Entry]) -> None:
    """Fill in the baseline that each rule gives each entry, and the readings that it bears out."""
    known: dict[tuple[str, ...], Column] = {}
    columns: list[Column] = []
    nominated: Counter[str] = Counter()
    for place, entry in enumerate(pool):
        number, scope = entry.number, entry.number.scope
        key = (number.column, fold(scope.task), fold(scope.split))
        if key not in known or number not in known[key].places:
            known[key] = Column(evidence, number)
        column = known[key]
        columns.append(column)
        if entry.stated.inferred and (found := named_rows(evidence, number, entry.stated)):
            entry.choices[Choice("read")] = found[0]
        entry.choices.update(column.by_rule(number))
        if place < SAMPLE:
            fitting = (n for n in column.others(number) if _explains(entry, n))
            nominated.update(list(dict.fromkeys(n.method for n in fitting)))
    mixed = len({entry.number.metric for entry in pool}) > 1
    for entry, column in zip(pool, columns, strict=True):
        for name, _ in nominated.most_common(SAMPLE):
            if base := column.called(entry.number, name):
                entry.choices[Choice("row", name)] = base
        for choice, base in entry.choices.items():
            entry.fits |= {(choice, mode): None for mode in _explains(entry, base)}
        if mixed:  # some may be better high, others low
            entry.fits |= {(choice, Mode(mode.relative, -mode.sign)): None for choice, mode in entry.fits}


def _explains(entry: Entry, base: Number) -> list[Mode]:
    """The ways in which the entry is the difference to a baseline."""
    return [mode for mode in MODES if taken(entry.number.reported, base.reported, entry.printed, mode)]


# --- baselines that are named -----------------------------------------------------------------------------------------


def named_rows(evidence: Evidence, number: Number, stated: Delta) -> list[Number]:
    """Numbers of the baseline that a difference names, those of the same table if there are any."""
    if not (number.task and number.metric and number.method):
        return _only_named(evidence, number, stated)
    wanted = (fold(stated.task) or number.task, number.metric, fold(stated.baseline) or number.method)
    found = [n for n in evidence.by_key.get(wanted, ()) if n is not number and not relate(n.scope, number.scope).differ]
    same = [n for n in found if n.table == number.table]
    return same or [n for n in found if not are_apart(evidence, n, number)]


def _only_named(evidence: Evidence, number: Number, stated: Delta) -> list[Number]:
    """Where the table does not say its task: the one row of the column, or number of the row, that has the name."""
    named, ways = fold(stated.baseline), []
    if stated.task is not None:
        wanted = fold(stated.task), number.metric, named or number.method
        row = [n for n in evidence.row_of(number) if n is not number and (n.task, n.metric, n.method) == wanted]
        ways = [[n for n in row if not relate(n.scope, number.scope).differ]]
    elif named:
        found = [n for n in rivals(evidence, number) if n.method == named]
        group = [n for n in found if not relate(n.scope, number.scope).differ]
        ways = [found, group, [n for n in group if n.column == number.column]]
    return next((rows for rows in ways if len(rows) == 1), [])


RIVALS = ("table", "task", "metric")
"""What numbers share that a difference may compare."""


def rivals(evidence: Evidence, number: Number) -> list[Number]:
    """Numbers of the same table, task and metric."""
    return [n for n in evidence.like(number, *RIVALS) if n is not number]
