"""Printed differences in a column or row of their own, bound to the numbers that they are differences of.

What such a line is the difference of is seldom said. The readings that its neighbours allow are tried, and one is taken
when the numbers themselves bear it out; otherwise the line is listed as unread.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal

from leaderboard.checks.difference import MODES, Mode, taken
from leaderboard.checks.numbers import parse
from leaderboard.claims.importers.captions import baseline_named, is_baseline, rule_in
from leaderboard.claims.importers.drafts import Draft, Spot
from leaderboard.claims.importers.grammar import Number
from leaderboard.claims.importers.mapping import TableMapping
from leaderboard.claims.importers.result import Unread
from leaderboard.claims.model import Delta
from leaderboard.lexicon import read
from leaderboard.lexicon.phrases import says

NEAR = 4
"""Lines beside a line of differences that may hold its numbers."""
SAMPLE = 60
"""Differences of a line that readings are tried on."""
ALONE = "a difference, and no number stands beside it"
TOLD_WRONG = "a difference, and the heading that the mapping gives for it is not there"
UNSUPPORTED = (
    "a difference that the numbers beside it do not give; say `deltas: {its heading: heading of its number}` and "
    "`baseline:` in the mapping, or skip it"
)
Pick = Literal["", "best", "worst", "underlined", "previous"]
PICKS: tuple[Pick, ...] = ("best", "worst", "underlined")
EXPRESSIBLE = ("method", "task")
"""Scope fields in which a number and its baseline may differ."""


@dataclass
class Line:
    """A row or a column: the first number of each of its cells by their place along it."""

    at: int
    heading: str
    drafts: dict[int, Draft] = field(default_factory=dict)


def bind(name: str, drafts: list[Draft], caption: str, entry: TableMapping) -> tuple[list[Draft], list[Unread]]:
    """The drafts without those of difference lines, which now stand beside their numbers; and what found none."""
    apart = [draft for draft in drafts if draft.spot.difference]
    if not apart:
        return drafts, []
    unread: list[Unread] = []
    for axis in ("column", "row"):
        kept = [draft for draft in drafts if not draft.spot.difference]
        for line in _lines([draft for draft in apart if draft.spot.difference == axis], axis):
            if _is_name(line, axis, kept):
                _rename(line, axis)
                continue
            unread += _Binder(name, axis, line, _lines(kept, axis), caption, entry).bind()
    return [draft for draft in drafts if not draft.spot.difference], unread


def _is_name(line: Line, axis: str, kept: list[Draft]) -> bool:
    """Whether `DROP` or `Delta learning` is the name of a thing: its numbers have no sign and are like the others."""
    numbers = [draft.number for draft in line.drafts.values()]
    if not line.heading.lstrip()[:1].isascii() or len(numbers) < 2 or any(number.percent for number in numbers):
        return False
    spots = {draft.spot.row if axis == "column" else draft.spot.column for draft in line.drafts.values()}
    beside = [
        abs(float(draft.number.printed)) for draft in kept
        if draft.number.has_value and (draft.spot.row if axis == "column" else draft.spot.column) in spots
    ]  # fmt: skip
    signed = any(not number.has_value or not number.printed[:1].isdecimal() for number in numbers)
    low, high = min(beside, default=0.0) * 0.8, max(beside, default=0.0) * 1.2
    return not signed and bool(beside) and all(low <= float(number.printed) <= high for number in numbers)


def _rename(line: Line, axis: str) -> None:
    """Take the heading of a line for a name and not for a difference."""
    for draft in line.drafts.values():
        fields = {key: value for key, value in draft.facts.fields.items() if key != "metric"}
        kind = "task" if axis == "column" and "method" in fields else "method"
        draft.facts = replace(draft.facts, fields={**fields, kind: _last(line.heading)}, role=None)
        draft.spot = replace(draft.spot, difference="")


def _lines(drafts: list[Draft], axis: str) -> list[Line]:
    """The drafts by column (`axis` column) or row, in order; a line ends where a new header begins."""
    found: dict[tuple[int, int], Line] = {}
    for draft in drafts:
        spot = draft.spot
        at, along = (spot.column, spot.row) if axis == "column" else (spot.row, spot.column)
        heading = draft.where.column if axis == "column" else draft.where.row
        found.setdefault((spot.block, at), Line(at, heading)).drafts.setdefault(along, draft)
    return [found[key] for key in sorted(found)]


class _Binder:
    """Binds one line of differences."""

    def __init__(self, name: str, axis: str, line: Line, values: list[Line], caption: str, entry: TableMapping) -> None:
        self.name, self.axis, self.line, self.entry = name, axis, line, entry
        block = _spot(line).block
        beside = [value for value in values if _spot(value).block == block]
        self.values = _measured(sorted(beside, key=lambda value: (value.at > line.at, abs(value.at - line.at))))[:NEAR]
        wanted = entry.deltas.get(_last(line.heading), entry.deltas.get(line.heading))
        self.told = wanted is not None
        if wanted is not None:
            self.values = [value for value in beside if wanted in (value.heading, _last(value.heading))]
        names = [_label(draft) for value in self.values for draft in value.drafts.values()]
        names += [_last(value.heading) for value in beside]
        said = f"{line.heading}. {caption}"
        self.base = entry.baseline or baseline_named(said, names)
        self.rule = None if self.base is not None else rule_in(said)
        self.all = beside

    def bind(self) -> list[Unread]:
        if not self.values:
            return [self._unread(TOLD_WRONG if self.told else ALONE)]
        best = max(self._scores(), key=lambda found: found.rank, default=None)
        if best is None or not self._is_borne_out(best):
            return [self._unread(UNSUPPORTED)]
        _as_one_metric(best.reading)
        reasons = defaultdict(list)
        for along, draft in self.line.drafts.items():
            if reason := self._attach(best, along, draft):
                reasons[reason].append(draft)
        return [self._unread(reason, drafts) for reason, drafts in reasons.items()]

    def _scores(self) -> Iterator[Score]:
        places = list(self.line.drafts)[:SAMPLE]
        for nearness, value in enumerate(self.values):
            for base in self._bases(value):
                trusted = self._is_trusted(value, base, nearness)
                pairs = [
                    (self.line.drafts[along].number, value.drafts.get(along), base.of(value, along)) for along in places
                ]
                for mode in modes_of(self.line.heading, self.entry.relative):
                    yield score(Reading(value, base, mode), pairs, trusted, nearness)

    def _bases(self, value: Line) -> Iterator[Base]:
        """Where the baseline may stand: in another line, at one place of the number's own, or above each number."""
        lines = [Base(line=other) for other in self.all if other is not value]
        without = [along for along in value.drafts if along not in self.line.drafts]
        zero = [along for along, draft in self.line.drafts.items() if not draft.number.printed.strip("+-−0.")]
        places = [Base(place=along) for along in (*without, *zero)[:NEAR]]
        if self.base is not None:
            wanted = self.base.lower()
            lines = [
                base for base in lines if base.line and wanted in (_last(base.line.heading).lower(), *_names(base.line))
            ]
            places = [
                Base(place=p)
                for p, draft in value.drafts.items()
                if wanted in (_label(draft).lower(), _end(draft, self.axis))
            ]
            yield from (*lines[:NEAR], *places[:NEAR])
            return
        first = min(lines, key=lambda base: base.line.at if base.line else 0, default=None)
        lines.sort(key=lambda base: abs(base.line.at - self.line.at) if base.line else 0)
        far = [first] if first is not None and first not in lines[:NEAR] else []
        yield from (*lines[:NEAR], *far, *places, *self._chosen(value, without))
        if len(without) > 1:
            yield Base(above=tuple(sorted(without)))

    def _chosen(self, value: Line, without: list[int]) -> Iterator[Base]:
        """A baseline chosen anew for each number: among the other lines, or among the others of its own."""
        rivals = tuple(line for line in self.all if line is not value and not read(line.heading).is_own)
        for pick in PICKS:
            if len(rivals) > 1:
                yield Base(pick=pick, rivals=rivals)
            if len(without) > 1:
                yield Base(pick=pick, above=tuple(without))
        yield Base(pick="previous")

    def _is_trusted(self, value: Line, base: Base, nearness: int) -> bool:
        """Whether the table's form alone makes this reading likely: half of the differences then suffice."""
        if nearness or value.at > self.line.at:
            return False
        if base.pick:
            return self.rule == ("best" if base.pick == "worst" else base.pick)
        only = len([other for other in self.all if other in self.values or other is value]) == 2
        return self.base is not None or base.place is not None or (base.line is not None and only)

    def _is_borne_out(self, best: Score) -> bool:
        if self.told or best.agreeing * 2 > best.tried or (best.trusted and best.agreeing * 2 == best.tried > 0):
            return True
        return best.trusted and self._has_no_other_reading(best.reading)

    def _has_no_other_reading(self, reading: Reading) -> bool:
        """Two numbers and their difference, or a heading such as `Before`, leave nothing to choose."""
        value, base = reading.value, reading.base
        if base.pick:
            return False
        if base.line is not None:
            alone = self.axis == "row" and len(value.drafts) == 1
            return len(self.values) == 2 and (alone or is_baseline(_last(base.line.heading)))
        return len(self.values) == 1 and (len(value.drafts) == 2 or self.base is not None)

    def _is_named(self, reading: Reading) -> bool:
        """Whether the mapping, the caption or a heading such as `Before` names the baseline."""
        return self.base is not None or (self._has_no_other_reading(reading) and self._says_baseline(reading))

    def _says_baseline(self, reading: Reading) -> bool:
        value, base = reading.value, reading.base
        if base.line is not None:
            return is_baseline(_last(base.line.heading)) or any(map(is_baseline, _names(base.line)))
        draft = value.drafts.get(base.place) if base.place is not None else None
        return draft is not None and (is_baseline(_label(draft)) or is_baseline(_end(draft, self.axis)))

    def _attach(self, best: Score, along: int, draft: Draft) -> str:
        """Put the difference beside its number; the reason when that cannot be."""
        reading = best.reading
        value, base = reading.value.drafts.get(along), reading.base.of(reading.value, along)
        if value is None or base is None:
            return "a difference whose number or baseline is missing"
        mine, theirs = value.facts.fields, base.facts.fields
        if any(mine.get(key) != theirs.get(key) for key in ("metric", "split", "aggregation")):
            return "a difference between two metrics or splits, which a claim cannot say"
        said = {key: theirs.get(key) for key in EXPRESSIBLE if mine.get(key) != theirs.get(key)}
        if base is value:
            said = {"method": mine.get("method")}
        turned = reading.mode.sign < 0
        loss = turned and says("loss", self.line.heading)
        stated = Delta(
            printed=draft.number.printed,
            baseline=said.get("method"),
            task=said.get("task"),
            to=self.rule,
            relative=reading.mode.relative,
            inferred=loss or not self._is_named(reading),
        )
        value.deltas.append(stated)
        if turned and not loss and value.facts.direction == "unknown":
            value.facts = replace(value.facts, direction="min")
        return ""

    def _unread(self, reason: str, drafts: list[Draft] | None = None) -> Unread:
        """One entry for the line."""
        found = drafts or list(self.line.drafts.values())
        cell = found[0].cell
        numbers = ", ".join(draft.number.printed for draft in found[:4]) + (" ..." if len(found) > 4 else "")
        text = f"{self.axis} {_last(self.line.heading)}: {numbers} ({len(found)} in all)"
        return Unread(self.name, cell.line, cell.column, text[:200], reason)


@dataclass(frozen=True)
class Base:
    """Where a baseline stands: in another line, at one place of the number's line, or at the last such place before.

    With a `pick` it is chosen for each number: the best or worst of the rivals (lines) or of the places `above`, the
    one that is underlined, or the previous number of the line.
    """

    line: Line | None = None
    place: int | None = None
    above: tuple[int, ...] = ()
    pick: Pick = ""
    rivals: tuple[Line, ...] = ()

    def of(self, value: Line, along: int) -> Draft | None:
        """The baseline of the number at a place of its line."""
        if self.pick == "previous":
            return value.drafts.get(max((place for place in value.drafts if place < along), default=-1))
        if self.pick:
            return self._picked(value, along)
        if self.line is not None:
            return self.line.drafts.get(along)
        if self.place is not None:
            return value.drafts.get(self.place)
        before = bisect_left(self.above, along)
        return value.drafts.get(self.above[before - 1]) if before else None

    def _picked(self, value: Line, along: int) -> Draft | None:
        found = [line.drafts.get(along) for line in self.rivals] or [value.drafts.get(at) for at in self.above]
        mine = value.drafts.get(along)
        others = [draft for draft in found if draft is not None and draft is not mine and draft.number.finite]
        alike = [draft for draft in others if mine is not None and _metric(draft) == _metric(mine)]
        if self.pick == "underlined":
            return next((draft for draft in alike if draft.number.style.underline), None)
        best = max if self.pick == "best" else min
        return best(alike, key=lambda draft: Decimal(draft.number.printed), default=None)


def _as_one_metric(reading: Reading) -> None:
    """`Pruned Top-1` and `Base Top-1` measure Top-1 on two things, where the one can only be a baseline."""
    value, base = reading.value, reading.base.line
    if base is None:
        return
    heads = [{draft.facts.fields.get("metric", "") for draft in line.drafts.values()} for line in (value, base)]
    if any(len(names) != 1 for names in heads):
        return
    mine, theirs = (names.pop() for names in heads)
    whose, _, metric = theirs.partition(" ")
    what = mine.removesuffix(f" {metric}")
    if not metric or what == mine or not is_baseline(whose):
        return
    for line, name in ((value, what), (base, whose)):
        for draft in line.drafts.values():
            fields = draft.facts.fields
            task = " / ".join(part for part in (fields.get("task", ""), name) if part)
            draft.facts = replace(draft.facts, fields={**fields, "metric": metric, "task": task})


def _measured(lines: list[Line]) -> list[Line]:
    """Lines of a metric; parameters and time only where there is nothing else."""
    metrics = [line for line in lines if not _is_cost(next(iter(line.drafts.values())))]
    return metrics or lines


def _is_cost(draft: Draft) -> bool:
    return draft.facts.metric is not None and draft.facts.metric.is_cost


def _spot(line: Line) -> Spot:
    return next(iter(line.drafts.values())).spot


def _last(heading: str) -> str:
    return heading.rpartition(" / ")[2].strip()


def _metric(draft: Draft) -> tuple[str | None, ...]:
    return tuple(draft.facts.fields.get(key) for key in ("metric", "split", "aggregation"))


def _label(draft: Draft) -> str:
    return draft.facts.fields.get("method", "")


def _names(line: Line) -> set[str]:
    """What all numbers of a line share: their method or their task, lower case."""
    return {
        name.lower()
        for key in EXPRESSIBLE
        for name in [next(iter(line.drafts.values())).facts.fields.get(key, "")]
        if name and all(draft.facts.fields.get(key) == name for draft in line.drafts.values())
    }


def _end(draft: Draft, axis: str) -> str:
    """The label across the line, lower case."""
    return _last(draft.where.row if axis == "column" else draft.where.column).lower()


HOPELESS = 12
"""A reading that none of the first so many differences bears out is given up."""


@dataclass(frozen=True)
class Reading:
    """A line of numbers, where their baselines stand, and how the difference is taken."""

    value: Line
    base: Base
    mode: Mode


@dataclass(frozen=True)
class Score:
    """How many of the differences that could be tried a reading explains."""

    reading: Reading
    agreeing: int
    tried: int
    trusted: bool
    nearness: int

    @property
    def rank(self) -> tuple[int, bool, int, int, int, bool]:
        """The more differences agree the better; then the likelier form, the nearer number, the simpler mode."""
        mode = self.reading.mode
        return self.agreeing, self.trusted, self.tried, -self.nearness, mode.sign, not mode.relative


def modes_of(heading: str, relative: bool) -> tuple[Mode, ...]:
    """Modes that a heading leaves open."""
    if relative or says("relative", heading, "heading"):
        return tuple(mode for mode in MODES if mode.relative)
    return tuple(mode for mode in MODES if not mode.relative) if says("absolute", heading) else MODES


def score(
    reading: Reading, pairs: Sequence[tuple[Number, Draft | None, Draft | None]], trusted: bool, nearness: int
) -> Score:
    """Try a reading on (difference, number, baseline); a number that is its own baseline says nothing."""
    known = [(d, a.number, b.number) for d, a, b in pairs if a is not None and b is not None and a is not b]
    printed = [[parse(number.printed) for number in pair] for pair in known if all(number.finite for number in pair)]
    finite = [(a, b, d) for d, a, b in printed if a is not None and b is not None and d is not None]
    if not any(taken(*numbers, reading.mode) for numbers in finite[:HOPELESS]):
        return Score(reading, 0, len(finite[:HOPELESS]), trusted, nearness)
    return Score(reading, sum(taken(*numbers, reading.mode) for numbers in finite), len(finite), trusted, nearness)
