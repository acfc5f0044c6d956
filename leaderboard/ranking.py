"""Who may be bold, and between which ranks a row lies: all pairs of one column, Holm-corrected.

A row is bold when no row is shown to be better, so when its best rank is 1. Groups are never chained: A ~ B and B ~ C
say nothing about A and C. See `docs/statistics.md`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations

from benchmark.parameters import Metric
from leaderboard.stats import MIN_SEEDS, Comparison, Scale, compare, holm, summarize


@dataclass(frozen=True)
class Pair:
    """One comparison of a column: `comparison` is first minus second, `p_holm` adjusted over all pairs."""

    first: str
    second: str
    comparison: Comparison
    p_holm: float | None

    def decided(self, alpha: float) -> bool:
        """Whether a difference was shown; one that is the same on every seed counts, and is flagged as untested."""
        if self.comparison.method == "constant difference":
            return True
        return self.p_holm is not None and self.p_holm < alpha


@dataclass(frozen=True)
class Ranking:
    """What one column may say. Rows that were not compared (too few seeds) are in none of the three."""

    bold: frozenset[str] = frozenset()
    ranks: Mapping[str, tuple[int, int]] | None = None
    """Row → best and worst rank it may have; None when the metric has no direction."""
    untested: frozenset[str] = frozenset()
    """Rows placed by a difference without seed variance, for which no t-test exists."""
    pairs: tuple[Pair, ...] = ()
    note: str = ""


def all_pairs(
    columns: Mapping[str, Mapping[int, float]], metric: Metric, scale: Scale | None = None
) -> tuple[Pair, ...]:
    """Every pair of rows (row → seed → value) with at least three seeds, Holm over all of them.

    Tested on `scale`, the metric's own when absent.
    """
    names = [name for name, values in columns.items() if len(values) >= MIN_SEEDS]
    on = partial(compare, scale=scale or metric.tested_on, bounds=metric.bounds)
    compared = [(a, b, on(columns[a], columns[b])) for a, b in combinations(names, 2)]
    tested = [c.p for _, _, c in compared if c.p is not None]
    adjusted = iter(holm(tested, family=len(compared)))
    return tuple(Pair(a, b, c, next(adjusted) if c.p is not None else None) for a, b, c in compared)


def rank(
    rows: Mapping[str, Mapping[int, float]],
    metric: Metric,
    *,
    alpha: float = 0.05,
    scale: Scale | None = None,
    diverged: Collection[str] = (),
) -> Ranking:
    """Rank one column, row → seed → finite value.

    Rows in `diverged` lost seeds to divergence: their mean is over survivors, so they are compared but neither bold
    nor shown to be better than any row. Nothing is bold when a row with too few seeds has the best mean.
    """
    pairs = all_pairs(rows, metric, scale)
    if metric.direction == "none":
        return Ranking(pairs=pairs, note="no direction: described, not ranked")
    sign = 1.0 if metric.direction == "max" else -1.0
    beaten = _beaten(pairs, sign, alpha, frozenset(diverged))
    compared = [name for name, values in rows.items() if len(values) >= MIN_SEEDS]
    if len(compared) < 2:
        return Ranking(pairs=pairs, note=f"fewer than two rows with {MIN_SEEDS} seeds: nothing compared")
    ranks = {
        name: (1 + len(beaten[name]), len(compared) - sum(name in losers for losers in beaten.values()))
        for name in compared
    }
    untested = {name for p in pairs if p.comparison.method == "constant difference" for name in (p.first, p.second)}
    bold, note = _bold(rows, compared, beaten, sign, frozenset(diverged))
    return Ranking(bold, ranks, frozenset(untested), pairs, note)


def _beaten(pairs: Collection[Pair], sign: float, alpha: float, diverged: frozenset[str]) -> dict[str, set[str]]:
    """Row → rows shown to be better than it."""
    beaten: dict[str, set[str]] = {name: set() for pair in pairs for name in (pair.first, pair.second)}
    for pair in pairs:
        if pair.decided(alpha) and pair.comparison.difference:
            first_better = sign * pair.comparison.difference > 0
            winner, loser = (pair.first, pair.second) if first_better else (pair.second, pair.first)
            if winner not in diverged:
                beaten[loser].add(winner)
    return beaten


def _bold(
    rows: Mapping[str, Mapping[int, float]],
    compared: Collection[str],
    beaten: Mapping[str, set[str]],
    sign: float,
    diverged: frozenset[str],
) -> tuple[frozenset[str], str]:
    means = {name: summarize(list(values.values())).mean for name, values in rows.items()}
    scores = {name: sign * mean for name, mean in means.items() if mean is not None}
    candidates = [name for name in compared if name not in diverged]
    if not candidates:
        return frozenset(), "every row lost seeds to divergence: no best is named"
    best = max(candidates, key=lambda name: scores[name])
    ahead = [name for name, values in rows.items() if 0 < len(values) < MIN_SEEDS and scores[name] > scores[best]]
    if ahead:
        return frozenset(), f"no bold: {', '.join(ahead)} leads with fewer than {MIN_SEEDS} seeds"
    return frozenset(name for name in candidates if not beaten[name]), ""
