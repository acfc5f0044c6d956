"""Which reading of an unclear paper reproduces its numbers.

A reading is one value for every axis of a spec's grids: the choices that the paper leaves open. Its cells are those
of the arms that agree with it; readings share the cells of arms without an axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

from benchmark.errors import UsageError
from leaderboard.axes import arm
from leaderboard.published import PUBLISHED_PROFILE, verdict
from leaderboard.reading import load_grid
from leaderboard.stats import Comparison, compare, summarize

if TYPE_CHECKING:
    from benchmark.parameters import Metric
    from benchmark.spec.load import LoadedExperiment
    from benchmark.store import Store
    from leaderboard.aggregate import Grid
    from leaderboard.claims import Claim
    from leaderboard.tables import PublishedVerdict

MOST_READINGS = 5000
"""Readings that one search is made over."""

Reading = Mapping[str, str]
"""Axis → value."""


@dataclass(frozen=True)
class Target:
    """A printed number that readings are held against."""

    task: str
    initializer: str
    metric: Metric
    claim: Claim

    @property
    def label(self) -> str:
        """Initialiser × task, metric: what is printed."""
        return f"{self.initializer} × {self.task}, {self.metric.title} {self.claim.printed}"

    def gap(self, mean: float) -> float:
        """How far a mean is from what is printed: of the logarithms for metrics on that scale, where there are any."""
        printed = float(self.claim.value)
        if self.metric.tested_on == "log" and min(mean, printed) > 0:
            return abs(math.log(mean / printed))
        return abs(mean - printed)


@dataclass(frozen=True)
class Hit:
    """What a reading gives for one printed number."""

    target: Target
    values: Mapping[int, float]
    """Seed → value; empty where nothing was trained."""
    verdict: PublishedVerdict
    gap: float | None

    @property
    def mean(self) -> float | None:
        """Over the seeds."""
        return summarize(list(self.values.values())).mean


@dataclass(frozen=True)
class Score:
    """A reading against every printed number."""

    reading: Reading
    hits: tuple[Hit, ...]
    seeds: int
    """Seeds of its rung: what it was judged on."""
    rank: float = math.inf
    """Mean over the printed numbers of its rank by `gap` among the readings judged with it; 1 is best."""

    @property
    def label(self) -> str:
        """`axis=value, ...`."""
        return ", ".join(f"{axis}={value}" for axis, value in self.reading.items()) or "as written"

    @property
    def agreeing(self) -> tuple[Hit, ...]:
        """Printed numbers that another run of it may well give."""
        return tuple(hit for hit in self.hits if hit.verdict == "agrees")


@dataclass(frozen=True)
class Effect:
    """What one choice does to one printed number's quantity, all other choices equal."""

    axis: str
    value: str
    against: str
    target: Target
    pairs: int
    """Pairs of readings that differ in this choice alone."""
    comparison: Comparison
    """Over seeds, of the means over the pairs."""


@dataclass(frozen=True)
class Answer:
    """Everything a search has to say."""

    experiment: str
    profile: str
    scores: tuple[Score, ...]
    """All readings: those that went furthest first, then by rank."""
    targets: tuple[Target, ...]
    effects: tuple[Effect, ...]
    spent: Mapping[str, float] = field(default_factory=dict)
    """`cells` and `seconds` of training."""

    def giving(self, target: Target) -> list[Score]:
        """Readings that agree with a printed number."""
        return [score for score in self.scores if any(hit.target == target for hit in score.agreeing)]

    def hits(self, target: Target) -> list[Hit]:
        """What trained readings give for a printed number, nearest first."""
        hits = [hit for score in self.scores for hit in score.hits if hit.target == target and hit.gap is not None]
        return sorted(hits, key=lambda hit: hit.gap or 0.0)

    @property
    def unreached(self) -> list[Target]:
        """Printed numbers that no reading gives although some could be judged."""
        judged = {hit.target.label for score in self.scores for hit in score.hits if hit.verdict == "differs"}
        return [target for target in self.targets if target.label in judged and not self.giving(target)]


# --- readings and what they are held against -------------------------------------------------------------------


def all_readings(names: Iterable[str]) -> list[Reading]:
    """Every combination of the values that arms of these names have on each axis, in the order they are named.

    Raises:
        UsageError: no axis, or too many combinations.
    """
    values: dict[str, dict[str, None]] = {}
    for name in names:
        for axis, value in arm(name)[1].items():
            values.setdefault(axis, {})[value] = None
    if not values:
        raise UsageError("the spec has no `grid:`, so there is one reading; give its tasks or initialisers the choices")
    if (count := math.prod(map(len, values.values()))) > MOST_READINGS:
        raise UsageError(f"{count} readings; at most {MOST_READINGS} can be searched: give the grids fewer values")
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def readings_of(experiment: LoadedExperiment) -> list[Reading]:
    """The readings of a spec. Raises UsageError as `all_readings`."""
    tasks, initializers = experiment.tasks, experiment.initializers
    return all_readings([*(task.name for task in tasks), *(one.name for one in initializers)])


def is_of(reading: Reading, task: str, initializer: str) -> bool:
    """Whether the cells of these two belong to a reading."""
    places = [*arm(task)[1].items(), *arm(initializer)[1].items()]
    return all(reading[axis] == value for axis, value in places)


def targets_of(grid: Grid) -> tuple[Target, ...]:
    """The printed numbers of the tasks and initialisers of a grid, each once.

    Raises:
        UsageError: there is none.
    """
    from leaderboard import claims

    found: dict[tuple[str, str, str, float], Target] = {}
    sets = [claims.load(name) for name in grid.claims]
    for facts in grid.tasks:
        for name, metric in product(grid.initializers, facts.metrics):
            task, initializer = arm(facts.name)[0], arm(name)[0]
            for source in sets:
                printed = metric.name.partition("@")[0]
                for claim in source.find(task=task, initializer=initializer, metric=printed):
                    if claim.printed:
                        key = (task, initializer, metric.name, float(claim.value))
                        found.setdefault(key, Target(task, initializer, metric, claim))
    if not found:
        raise UsageError(
            "no published number of these tasks and initialisers is known; name a set of them under `claims:` whose "
            "aliases say what the source calls each (docs/claims.md)"
        )
    return tuple(found.values())


# --- scores and who goes on ------------------------------------------------------------------------------------


def scores(readings: Sequence[Reading], grid: Grid, targets: Sequence[Target], seeds: Sequence[int]) -> list[Score]:
    """Readings judged on these seeds alone, best first; the order depends on nothing else that is stored."""
    made = [Score(r, tuple(_hit(r, grid, target, seeds) for target in targets), len(seeds)) for r in readings]
    ranks: list[list[float]] = [[] for _ in made]
    for column in zip(*(score.hits for score in made), strict=True):
        known = [hit.gap for hit in column if hit.gap is not None]
        for row, hit in zip(ranks, column, strict=True):
            if hit.gap is not None:
                below, same = sum(gap < hit.gap for gap in known), known.count(hit.gap)
                row.append(below + (same + 1) / 2)
    ranked = [
        Score(s.reading, s.hits, s.seeds, math.fsum(r) / len(r) if r else math.inf)
        for s, r in zip(made, ranks, strict=True)
    ]
    return sorted(ranked, key=lambda score: (score.rank, score.label))


def _hit(reading: Reading, grid: Grid, target: Target, seeds: Sequence[int]) -> Hit:
    values: dict[int, float] = {}
    for (task, initializer), group in grid.groups.items():
        ours = (arm(task)[0], arm(initializer)[0]) == (target.task, target.initializer)
        if ours and is_of(reading, task, initializer):
            values = {seed: v for seed, v in group.values(target.metric.name).items() if seed in seeds}
    said, _ = verdict(target.claim, PUBLISHED_PROFILE, list(values.values()))
    mean = summarize(list(values.values())).mean
    return Hit(target, values, said, None if mean is None else target.gap(mean))


def rungs(seeds: Sequence[int], first: int) -> list[Sequence[int]]:
    """Seeds of each round: `first` of them, then twice as many, up to all."""
    count, found = min(first, len(seeds)), []
    while True:
        found.append(seeds[:count])
        if count >= len(seeds):
            return found
        count = min(2 * count, len(seeds))


def survivors(judged: Sequence[Score]) -> list[Reading]:
    """The better half, and whoever ties with its last."""
    last = judged[(len(judged) - 1) // 2].rank
    return [score.reading for score in judged if score.rank <= last]


def effects(readings: Sequence[Reading], judged: Sequence[Score], targets: Sequence[Target]) -> tuple[Effect, ...]:
    """What each value of each choice does against the first one, over pairs of readings that differ in it alone."""
    found, quantities = [], {(t.task, t.initializer, t.metric.name): place for place, t in enumerate(targets)}
    for axis in readings[0]:
        first, *others = dict.fromkeys(reading[axis] for reading in readings)
        for value, place in product(others, quantities.values()):
            target = targets[place]
            pairs = _pairs(judged, axis, value, first, place)
            if any(dict(a) != dict(b) for a, b in pairs):  # a quantity without this choice has no effect of it
                arms = [_by_seed([pair[side] for pair in pairs]) for side in (0, 1)]
                compared = compare(*arms, scale=target.metric.tested_on, bounds=target.metric.bounds)
                found.append(Effect(axis, value, first, target, len(pairs), compared))
    return tuple(found)


def _pairs(
    judged: Sequence[Score], axis: str, value: str, against: str, place: int
) -> list[tuple[Mapping[int, float], Mapping[int, float]]]:
    """Values of one printed number's quantity for readings that differ in one choice alone."""
    by_choice = {tuple(score.reading.items()): score.hits[place].values for score in judged}
    found = []
    for choices, values in by_choice.items():
        other = by_choice.get(tuple((a, against if a == axis else v) for a, v in choices))
        if (axis, value) in choices and values and other:
            found.append((values, other))
    return found


def _by_seed(columns: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Seed → mean over the readings, of the seeds that all of them have."""
    shared = set.intersection(*(set(column) for column in columns))
    return {seed: math.fsum(column[seed] for column in columns) / len(columns) for seed in sorted(shared)}


def find(store: Store, experiment: LoadedExperiment, first: int) -> Answer:
    """What the stored cells say, by the same rounds as a search: a reading that stopped keeps its last score.

    Raises:
        UsageError: no readings, or no printed numbers.
    """
    grid = load_grid(store, experiment)
    readings, targets = readings_of(experiment), targets_of(grid)
    alive, found = readings, list[Score]()
    rounds = rungs(experiment.seeds, first)
    for index, used in enumerate(rounds):
        judged = scores(alive, grid, targets, used)
        alive = survivors(judged) if index + 1 < len(rounds) else []
        found = [score for score in judged if score.reading not in alive] + found
    everyone = scores(readings, grid, targets, rounds[0])
    return Answer(
        grid.experiment, grid.profile, tuple(found), targets, effects(readings, everyone, targets), spent(store, grid)
    )


def spent(store: Store, grid: Grid) -> dict[str, float]:
    """Cells of a grid that the store has, and the seconds they took."""
    ids = [result.cell_id for group in grid.groups.values() for result in group.seeds]
    query = "select count(*), coalesce(sum(seconds), 0) from cells where cell_id in (select unnest(?))"
    con = store.connect()
    try:
        cells, seconds = con.execute(query, [ids]).fetchall()[0]
    finally:
        con.close()
    return {"cells": cells, "seconds": seconds}


def as_document(found: Answer) -> dict[str, Any]:
    """The answer in JSON's own types."""
    return {
        "experiment": found.experiment,
        "profile": found.profile,
        "readings": [
            {
                "choices": dict(score.reading),
                "seeds": score.seeds,
                "rank": score.rank,
                "agrees": len(score.agreeing),
                "numbers": [
                    {"of": hit.target.label, "verdict": hit.verdict, "mean": hit.mean, "values": dict(hit.values)}
                    for hit in score.hits
                ],
            }
            for score in found.scores
        ],
        "unreached": [target.label for target in found.unreached],
        "effects": [
            {"axis": e.axis, "value": e.value, "against": e.against, "of": e.target.label, **asdict(e.comparison)}
            for e in found.effects
        ],
        "spent": dict(found.spent),
    }
