"""Numbers of different tables that measure the same, and what could still tell them apart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from leaderboard.checks.evidence import Evidence, Number, Scopes, fold, relate
from leaderboard.checks.finding import Tally
from leaderboard.checks.numbers import Reported
from leaderboard.claims.model import Rounding
from leaderboard.lexicon import read
from leaderboard.lexicon.phrases import says

POLICIES: tuple[Rounding | None, ...] = (None, "double", "truncated")
MOST_PAIRWISE = 8
"""Cells of one scope up to which every pair is looked at; beyond, the two farthest apart."""
WORD = re.compile(r"[^\W\d_][\w+-]*|\d+(?:\.\d+)?%?")


@dataclass(slots=True)
class Shared:
    """Cells that two tables have in common."""

    cells: int = 0
    differing: int = 0
    results: set[tuple[str, str]] = field(default_factory=set)
    """Task and method of those that differ."""

    @property
    def is_apart(self) -> bool:
        """Whether most of them differ: then the tables were made under different conditions, stated or not."""
        return len(self.results) > 1 and self.differing * 2 > self.cells


def comparable(evidence: Evidence, tally: Tally) -> Iterator[tuple[Number, Number, Scopes]]:
    """Pairs of cells of different tables whose scopes do not tell them apart."""
    for numbers in evidence.by_key.values():
        if len(numbers) > MOST_PAIRWISE:
            ordered = sorted(numbers, key=lambda number: number.value)
            numbers = [ordered[0], ordered[-1]]
        for a, b in combinations(numbers, 2):
            if a.table == b.table:
                continue
            scopes = relate(a.scope, b.scope)
            if scopes.differ:
                tally.skip(f"scopes differ in {', '.join(scopes.differ)}")
            elif read(a.scope.metric or "").name in ("time", "memory", "throughput"):
                tally.skip("a cost, which depends on the machine")
            elif _parts(evidence, a) != _parts(evidence, b):
                tally.skip("averages over other parts")
            else:
                yield a, b, scopes


def shared_cells(evidence: Evidence) -> dict[frozenset[str], Shared]:
    """Two tables → how many comparable cells they share, and how many of these print different values."""
    found: dict[frozenset[str], Shared] = defaultdict(Shared)
    for a, b, _ in comparable(evidence, Tally()):
        shared = found[frozenset((a.table, b.table))]
        shared.cells += 1
        if not any(meet(a.reported, b.reported, policy) for policy in POLICIES):
            shared.differing += 1
            shared.results.add((a.task, a.method))
    return dict(found)


def are_apart(evidence: Evidence, a: Number, b: Number) -> bool:
    """Whether two numbers stand in tables that disagree in most of what they share, so in another condition."""
    shared = evidence.once(shared_cells).get(frozenset((a.table, b.table)))
    return shared is not None and shared.is_apart


def _parts(evidence: Evidence, number: Number) -> frozenset[str]:
    """What an average is over: the other tasks of its table for the same metric and method; empty for no average."""
    if not says("mean-of-tasks", number.task):
        return frozenset()
    row = evidence.like(number, "table", "metric", "method")
    return frozenset(other.task for other in row if not says("mean-of-tasks", other.task))


def meet(a: Reported, b: Reported, policy: Rounding | None = None) -> bool:
    """Whether one value prints as both; in whole numbers."""
    decimals = max(a.decimals, b.decimals)
    (a_low, a_high), (b_low, b_high) = a.at(decimals, policy), b.at(decimals, policy)
    return a_low <= b_high and b_low <= a_high


def unlike(evidence: Evidence, a: Number, b: Number) -> list[str]:
    """Words of the captions, headings and labels that one has and the other lacks, and that nobody understood."""
    captions = [evidence.set.captions.get(n.table, "") for n in (a, b)]
    fields = (fold(text) for n in (a, b) for text in (n.table, *n.scope.model_dump(exclude_none=True).values()))
    known = {word for text in fields for word in WORD.findall(text)}
    told = _apart(captions) if any(captions) else []
    labels = [" ".join(read(part).text for part in f"{n.column} / {n.row}".split(" / ")) for n in (a, b)]
    told += [word for word in _apart(labels) if read(word).kind == "name"]
    return [word for word in dict.fromkeys(told) if not (word in known or says("idle", word) or read(word).is_metric)]


def _apart(texts: Sequence[str]) -> list[str]:
    """Words of one of two texts that are not in the other."""
    mine, theirs = (dict.fromkeys(WORD.findall(fold(text))) for text in texts)
    return [w for w in mine if w not in theirs] + [w for w in theirs if w not in mine]
