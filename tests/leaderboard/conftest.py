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


PLUGIN = """
from benchmark.initializer import Initializer
from benchmark.parameters import Metric
from benchmark.registry import initializer, task
from benchmark.task import Geometry, Task


@task("toy")
class Toy(Task):
    def metrics(self):
        return (
            Metric(name="accuracy", title="Accuracy", direction="max", unit="percent"),
            Metric(name="loss", title="Loss", direction="min"),
        )

    def geometry(self):
        return Geometry(layers=1, heads=1, tokens=2)

    def references(self):
        return {"chance": {"accuracy": 50.0}}

    def build_model(self): ...
    def training_examples(self, seed): ...
    def loss(self, outputs, targets): ...
    def evaluation_examples(self, seed, *, final): ...
    def observe(self, outputs, targets): ...
    def summarize(self, observed, examples, *, final): ...


@initializer("plain")
class Plain(Initializer):
    strength: float = 1.0

    def apply(self, model, context): ...
"""

SPEC = """
experiment: demo
title: A demonstration
seeds: 3
plugins: [plugin.py]
tasks:
  - {name: toy, parameters: {optimizer: {learning_rate: 0.1}, budget: {batch_size: 4, steps: 10}}}
initializers:
  - {name: plain, as: default}
  - {name: plain, as: mask, parameters: {strength: 2.0}}
"""


@pytest.fixture
def spec_path(tmp_path):
    (tmp_path / "plugin.py").write_text(PLUGIN)
    path = tmp_path / "demo.yaml"
    path.write_text(SPEC)
    return path


@pytest.fixture
def experiment(spec_path):
    from benchmark.spec.load import load_experiment

    return load_experiment(spec_path)


@pytest.fixture
def store(tmp_path):
    from benchmark.store import Store

    return Store(tmp_path / "results")


@pytest.fixture
def record(experiment):
    """A stored cell of the experiment: (initialiser, seed, finals, status, name)."""
    from benchmark.identity import resolved_cell
    from benchmark.plan import build_plan
    from benchmark.records import CellRecord
    from benchmark.store import new_attempt_id

    cells = {(line.initializer, line.seed): line.cell for line in build_plan(experiment).cells}

    def make(initializer, seed, finals, status="finished", name=None, curve=()):
        cell = cells[initializer, seed]
        return CellRecord(
            cell_id=cell.id,
            attempt_id=new_attempt_id(),
            run_id="run1",
            task="toy",
            initializer=name or initializer,
            seed=seed,
            profile=cell.profile,
            resolved=resolved_cell(cell.task, cell.initializer, cell.profile, seed),
            status=status,
            finals=finals,
            curve=tuple(curve),
        )

    return make
