"""What the leaderboard's statistics keep and find, by simulation: coverage, false alarms, power before and after.

    python tests/performance/inference.py [--tables 2000] [--seed 0]

Prints Markdown; `docs/measured/statistics.md` is its output. "Raw" tests values as they are, "scaled" on the
metric's own scale (logit of percentages, log of losses).
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from benchmark.parameters import Metric
from leaderboard import ranking, stats

ACCURACY = Metric(name="accuracy", title="Accuracy", direction="max", unit="percent")
LOSS = Metric(name="loss", title="Loss", direction="min", scale="log")
VALUE = Metric(name="value", title="Value", direction="max")
ITEMS = 4096
"""Test items behind a simulated percentage."""

ROWS = 6
"""Initialisers of a simulated column."""


def normal(rng, n, shift=0.0):
    return 80 + shift + rng.normal(size=n)


def skewed(rng, n, shift=0.0):
    """A loss whose logarithm is normal with deviation 1."""
    return np.exp(shift + rng.normal(size=n))


def bounded(rng, n, shift=0.0):
    """Percent right of `ITEMS` items near the upper bound; some lie on it."""
    return 100 * rng.binomial(ITEMS, 1 / (1 + np.exp(-(6.5 + shift + rng.normal(size=n))))) / ITEMS


KINDS = {
    "normal": (normal, VALUE, 1.5),
    "skewed loss (log-normal)": (skewed, LOSS, 1.5),
    "share near its bound": (bounded, ACCURACY, -1.5),
}
"""Name → draw of n seeds, metric, and the shift of the effect."""


def decided(first, second, metric, scale, tests):
    """Whether Holm's first step over that many tests shows a difference."""
    found = stats.compare(dict(enumerate(first)), dict(enumerate(second)), scale=scale or metric.tested_on)
    return found.p is not None and found.p * tests < 0.05


def coverage(rng, tables, n, deviations):
    """How often the 95 % interval of the paired difference holds the true one, 0."""
    arms = [[rng.normal(size=n) * s for s in deviations] for _ in range(tables)]
    found = [stats.compare(dict(enumerate(a)), dict(enumerate(b))).interval for a, b in arms]
    return np.mean([interval.contains(0.0) for interval in found])


def unbolded(rng, tables, n, draw, metric):
    """Share of columns of equal rows in which some row loses its bold."""
    columns = ({str(k): dict(enumerate(draw(rng, n))) for k in range(ROWS)} for _ in range(tables))
    return np.mean([len(ranking.rank(rows, metric).bold) < ROWS for rows in columns])


def rate(rng, tables, n, draw, metric, shift, scale, tests):
    pairs = ((draw(rng, n, shift), draw(rng, n)) for _ in range(tables))
    return np.mean([decided(a, b, metric, scale, tests) for a, b in pairs])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, tables = np.random.default_rng(options.seed), options.tables
    share = partial("{:.1%}".format)
    print(f"# The statistics by simulation ({tables} draws each, seed {options.seed})\n")
    print("Coverage of the 95 % interval of the paired difference:\n")
    print("| seeds | normal, equal deviations | normal, deviations 1 and 5 |\n|--:|--:|--:|")
    for n in (3, 5, 10):
        print(f"| {n} | {share(coverage(rng, tables, n, (1, 1)))} | {share(coverage(rng, tables, n, (1, 5)))} |")
    print(f"\nColumns of {ROWS} equal rows in which some row is not bold (promised: at most 5 %):\n")
    print("| seeds | " + " | ".join(KINDS) + " |\n|--:|" + "--:|" * len(KINDS))
    for n in (3, 5, 10):
        found = [share(unbolded(rng, tables // 2, n, draw, metric)) for draw, metric, _ in KINDS.values()]
        print(f"| {n} | " + " | ".join(found) + " |")
    print(
        "\nFound by a comparison with the baseline, in a family of 81 tests (all questions together, those that cannot"
    )
    print("be made included) and of 4 (one question over its tasks):\n")
    print("| values | seeds | no effect, scaled, 1 test | raw, 81 tests | raw, 4 tests | scaled, 4 tests |")
    print("|:--|--:|--:|--:|--:|--:|")
    for name, (draw, metric, shift) in KINDS.items():
        for n in (3, 5, 10):
            null = rate(rng, tables, n, draw, metric, 0.0, None, 1)
            arms = [("raw", 81), ("raw", 4), (None, 4)]
            power = [share(rate(rng, tables, n, draw, metric, shift, *arm)) for arm in arms]
            print(f"| {name} | {n} | {share(null)} | " + " | ".join(power) + " |")


if __name__ == "__main__":
    main()
