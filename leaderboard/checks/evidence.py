"""The numbers of a source, parsed once and looked up by what they measure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar

from leaderboard.checks.finding import Cell, cell
from leaderboard.checks.measures import group_of, role_of
from leaderboard.checks.numbers import Interval, Reported, parse
from leaderboard.claims.model import Claim, ClaimSet, Rounding, Scope

T = TypeVar("T")
Key = tuple[str, str, str]
"""Task, metric and method, folded to lower case."""

HEADING = ("table", "column", "metric")
"""What the numbers under one heading share."""
OTHER_FIELDS = ("split", "model", "budget", "subset", "setting", "aggregation")
"""Fields of the scope beyond the key that may tell two numbers apart."""


class Number:
    """A claim whose printed text is a number, its place, and what it measures (folded to lower case)."""

    __slots__ = ("claim", "column", "method", "metric", "reported", "row", "scope", "split", "table", "task")

    def __init__(self, claim: Claim, reported: Reported) -> None:
        self.claim, self.reported, self.scope = claim, reported, claim.scope
        self.table, self.row, self.column = claim.where.table, claim.where.row, claim.where.column
        scope = claim.scope
        self.task, self.metric = fold(scope.task), fold(scope.metric)
        self.method, self.split = fold(scope.method), fold(scope.split)

    @property
    def text(self) -> str:
        """As printed."""
        return self.reported.text

    @property
    def value(self) -> Fraction:
        """The number as it stands."""
        return self.reported.value

    @property
    def cell(self) -> Cell:
        """Where it stands."""
        return cell(self.claim)

    def interval(self, policy: Rounding | None = None) -> Interval:
        """Every value that prints like this."""
        return self.reported.interval(policy)


@dataclass(frozen=True, slots=True)
class Scopes:
    """How two scopes stand to each other."""

    differ: tuple[str, ...]
    """Fields both state, differently."""
    unknown: tuple[str, ...]
    """Fields only one states, and needed ones that neither does."""
    neither: tuple[str, ...] = ()
    """Those of the unknown ones that neither states."""


class Evidence:
    """A claim set and its indices; built once per run and shared by all checks."""

    def __init__(self, claims: ClaimSet) -> None:
        self.set = claims
        self.numbers: list[Number] = []
        self.unreadable: list[Claim] = []
        self._known: dict[Any, Any] = {}
        self._roles: dict[tuple[str | None, str | None], str] = {}
        for claim in claims.claims:
            reported = parse(claim.printed, claim.rounding)
            if reported is None:
                self.unreadable.append(claim)
            else:
                self.numbers.append(Number(claim, reported))

    def by(self, *fields: str) -> dict[Any, list[Number]]:
        """The numbers by what they share: a field's value, or the tuple of several."""
        if fields not in self._known:
            key, index = attrgetter(*fields), defaultdict(list)
            for number in self.numbers:
                index[key(number)].append(number)
            self._known[fields] = index
        found: dict[Any, list[Number]] = self._known[fields]
        return found

    def like(self, number: Number, *fields: str) -> list[Number]:
        """The numbers that share these fields with a number, itself included."""
        return self.by(*fields)[attrgetter(*fields)(number)]

    @cached_property
    def by_key(self) -> dict[Key, list[Number]]:
        """Numbers that state task, metric and method."""
        return {key: same for key, same in self.by("task", "metric", "method").items() if all(key)}

    @cached_property
    def columns(self) -> dict[tuple[str, ...], list[Number]]:
        """Numbers that compete: one table, one task and metric, everything but the method the same."""
        index: dict[tuple[str, ...], list[Number]] = defaultdict(list)
        for n in self.numbers:
            if n.scope.method is not None:
                unnamed = n.column if n.scope.task is None or n.scope.metric is None else ""
                others = (fold(getattr(n.scope, name)) for name in OTHER_FIELDS)
                index[(n.table, unnamed, n.task, n.metric, *others)].append(n)
        return index

    @cached_property
    def by_where(self) -> dict[str, list[Claim]]:
        """Claims by their place as text."""
        index: dict[str, list[Claim]] = defaultdict(list)
        for claim in self.set.claims:
            index[str(claim.where)].append(claim)
        return index

    @cached_property
    def _rows(self) -> dict[int, list[Number]]:
        """Number (by id) → the numbers of its printed row; rows of one name are told apart where a column repeats."""
        rows: dict[int, list[Number]] = {}
        for numbers in self.by("table", "row").values():
            part: list[Number] = []
            seen: set[tuple[str, str, str]] = set()
            for number in numbers:
                scope = number.scope
                place = (number.column, fold(scope.metric), f"{fold(scope.task)}/{fold(scope.split)}")
                if place in seen:
                    part, seen = [], set()
                seen.add(place)
                part.append(number)
                rows[id(number)] = part
        return rows

    def row_of(self, number: Number) -> list[Number]:
        """The numbers of the printed row of a number, itself included."""
        return self._rows[id(number)]

    def under(self, number: Number) -> list[Number]:
        """The numbers under the same heading, itself included."""
        return self.like(number, *HEADING)

    def once(self, function: Callable[[Evidence], T]) -> T:
        """What a function says of this evidence, asked only once."""
        if function not in self._known:
            self._known[function] = function(self)
        found: T = self._known[function]
        return found

    @cached_property
    def groups(self) -> dict[str, dict[str, list[Number]]]:
        """Numbers of one relation by role."""
        index: dict[str, dict[str, list[Number]]] = defaultdict(lambda: defaultdict(list))
        for number in self.numbers:
            if (role := self.role(number.claim)) and (group := group_of(number.claim)):
                index[group][role].append(number)
        return {group: roles for group, roles in index.items() if len(roles) > 1}

    def role(self, claim: Claim) -> str:
        """The role of a claim, remembered by what it depends on."""
        key = (claim.role, claim.scope.metric)
        if key not in self._roles:
            self._roles[key] = role_of(claim)
        return self._roles[key]

    def related(self, *roles: str) -> Iterator[tuple[Number, ...]]:
        """One number per role, from every group that has them all; roles several numbers share are paired by scope."""
        for group in self.groups.values():
            if all(role in group for role in roles):
                yield from self.aligned([group[role] for role in roles])

    @staticmethod
    def aligned(columns: list[list[Number]]) -> Iterator[tuple[Number, ...]]:
        """The only combination of one number per column, or those that agree in method, task, split and model."""
        if all(len(column) == 1 for column in columns):
            yield tuple(column[0] for column in columns)
            return
        for first in columns[0]:
            same = [[n for n in column if _alike(first.scope, n.scope)] for column in columns[1:]]
            if all(len(column) == 1 for column in same):
                yield (first, *(column[0] for column in same))


def _alike(a: Scope, b: Scope) -> bool:
    return (a.method, a.task, a.split, a.model) == (b.method, b.task, b.split, b.model)


def fold(text: str | None) -> str:
    """Lower case without surrounding blanks; empty for nothing."""
    return text.strip().casefold() if text else ""


def key_of(scope: Scope) -> Key | None:
    """Task, metric and method; None when one of them is not stated."""
    if scope.task is None or scope.metric is None or scope.method is None:
        return None
    return fold(scope.task), fold(scope.metric), fold(scope.method)


def relate(a: Scope, b: Scope) -> Scopes:
    """Compare the fields beyond the key; where the budget is unknown nothing can be called impossible."""
    differ: list[str] = []
    unknown: list[str] = []
    neither: list[str] = []
    for name in OTHER_FIELDS:
        left, right = fold(getattr(a, name)), fold(getattr(b, name))
        if left and right:
            if name == "setting" and left != right:
                (unknown if _is_within(left, right) else differ).append(name)
            elif left != right:
                differ.append(name)
        elif left or right:
            unknown.append(name)
        elif name == "budget":
            unknown.append(name)
            neither.append(name)
    return Scopes(tuple(differ), tuple(unknown), tuple(neither))


def _is_within(a: str, b: str) -> bool:
    """Whether one of two lists of conditions states all of the other, so that nothing contradicts."""
    left, right = ({part.strip() for part in text.split(";")} for text in (a, b))
    return left <= right or right <= left
