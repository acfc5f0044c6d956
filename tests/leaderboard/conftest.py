"""A small grid with every kind of trouble in it."""

from __future__ import annotations

import math

import pytest

from benchmark.parameters import Metric
from leaderboard.aggregate import Grid, PlannedCell, SeedResult, TaskFacts, build_grid

ACCURACY = Metric(name="accuracy", title="Accuracy", direction="max", unit="percent", lower=0, upper=100)
LOSS = Metric(name="loss", title="Loss", direction="min")


def planned_cells(tasks, initializers, seeds):
    return [PlannedCell(t, i, s, f"{t}-{i}-{s}") for t in tasks for i in initializers for s in seeds]


def finished(task, initializer, values, metric="accuracy"):
    return {
        f"{task}-{initializer}-{seed}": SeedResult(
            seed, f"{task}-{initializer}-{seed}", "finished", {metric: value, "loss": 1 + seed / 10}
        )
        for seed, value in enumerate(values)
    }


@pytest.fixture
def grid() -> Grid:
    """parity: default constant, mask better; cyclic: mask diverged once, svd failed, default a NaN."""
    stored = {
        **finished("parity", "default", [75.0] * 5),
        **finished("parity", "mask", [100.0, 99.9, 100.0, 99.8, 100.0]),
        **finished("parity", "svd", [75.0, 75.1, 74.9]),
        **finished("cyclic", "default", [87.4, 87.5, math.nan, 87.6, 87.3]),
        **finished("cyclic", "mask", [99.1, 99.2, 99.3, 99.4]),
        "cyclic-mask-4": SeedResult(4, "cyclic-mask-4", "diverged", {"accuracy": 12.0}),
        "cyclic-svd-0": SeedResult(0, "cyclic-svd-0", "failed", error="boom"),
    }
    tasks = (
        TaskFacts("parity", (ACCURACY, LOSS), {"minimum degree": {"accuracy": 75.0}}),
        TaskFacts("cyclic", (ACCURACY, LOSS)),
    )
    return build_grid(
        planned_cells(["parity", "cyclic"], ["default", "mask", "svd"], range(5)),
        stored,
        tasks,
        experiment="demo",
        profile="compact",
        skipped={("cyclic", "mimetic"): "the model has one head"},
    )
