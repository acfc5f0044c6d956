"""Real stores with a fault planted in their records."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.identity import resolved_cell
from benchmark.plan import build_plan
from benchmark.records import CellRecord
from benchmark.spec.load import LoadedExperiment, load_experiment
from benchmark.store import RunRecord, Store, new_attempt_id

PLUGIN = '''
from benchmark.initializer import Initializer
from benchmark.parameters import Metric
from benchmark.registry import initializer, task
from benchmark.task import Geometry, Task


class Base(Task):
    def metrics(self):
        return (
            Metric(name="accuracy", title="Accuracy", direction="max", unit="percent", lower=0, upper=100),
            Metric(name="loss", title="Loss", direction="min", unit="nats", lower=0),
            Metric(name="perplexity", title="Perplexity", direction="min", unit="perplexity", lower=1),
            Metric(name="slope", title="Slope", direction="none"),
        )

    def geometry(self):
        return Geometry(layers=1, heads=1, tokens=2)

    def references(self):
        return {"chance": {"accuracy": 50.0}, "interpolator": {"accuracy": 87.5}}

    def build_model(self): ...
    def training_examples(self, seed): ...
    def loss(self, outputs, targets): ...
    def evaluation_examples(self, seed, *, final): ...
    def observe(self, outputs, targets): ...
    def summarize(self, observed, examples, *, final): ...


@task("toy")
class Toy(Base):
    """A sound task."""


@task("chosen")
class Chosen(Base):
    """Ranks by a number that was picked on the test set."""

    def metrics(self):
        best = Metric(name="best_accuracy", title="Best accuracy", direction="max", unit="percent",
                      description="greatest accuracy over the epochs on the test examples")
        return (best, *super().metrics())


@task("chosen_beside")
class ChosenBeside(Chosen):
    """Ranks by the last epoch, and reports such a number beside it."""

    def metrics(self):
        best, *others = super().metrics()
        return (*others, best)


@task("held_out")
class HeldOut(Base):
    """Picks its epoch on examples held out of training and test."""

    def metrics(self):
        best = Metric(name="best_accuracy", title="Accuracy", direction="max", unit="percent",
                      description="test accuracy at the epoch with the best accuracy on the validation examples")
        return (*super().metrics(), best)


@task("upside_down")
class UpsideDown(Base):
    """Says that a small accuracy is a good one."""

    def metrics(self):
        first, *others = super().metrics()
        return (first.model_copy(update={"direction": "min"}), *others)

    def references(self):
        return {}


@task("described")
class Described(Base):
    """Puts a number first that has no better or worse."""

    def metrics(self):
        *others, slope = super().metrics()
        return (slope, *others)


@initializer("plain")
class Plain(Initializer):
    strength: float = 1.0

    def apply(self, model, context): ...
'''

BASE = "{optimizer: {learning_rate: %s}, budget: {batch_size: 4, steps: 10}}"

SPEC = """
experiment: demo
seeds: {seeds}
profile: {profile}
plugins: [plugin.py]
tasks: [{tasks}]
initializers:
  - {{name: plain, as: default}}
  - {{name: plain, as: mask, parameters: {{strength: {strength}}}}}
claims: [{claims}]
checks: {checks}
"""

Key = tuple[str, int]
"""Initialiser and seed."""

ORIGIN: dict[str, Any] = {
    "initbench": "0.1.0", "python": "3.11.7", "machine": "x86_64", "cpu": "one", "gpus": [], "threads": 1,
    "code": {"commit": "a" * 40, "dirty": False}, "packages": {"torch": "2.4.0", "numpy": "2.0.0"},
    "plugins": {"initializer": "c" * 64},
}  # fmt: skip


def sound(task: str, initializer: str, seed: int) -> dict[str, float]:
    """Finals of a cell as training would leave them: full precision, other on every seed."""
    draw = random.Random(f"{task} {initializer} {seed}")
    loss = draw.uniform(0.4, 0.6)
    accuracy = (70.0 if initializer == "default" else 90.0) + draw.uniform(-2, 2)
    return {"accuracy": accuracy, "loss": loss, "perplexity": math.exp(loss), "slope": draw.gauss(0, 1)}


class World:
    """A folder with a plugin, an experiment and a store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = Store(folder / "results")
        (folder / "plugin.py").write_text(PLUGIN)
        self.loaded = self.spec()

    def spec(
        self, seeds: int = 5, tasks: Iterable[str] = ("toy",), rate: float = 0.1, strength: float = 2.0,
        checks: str = "{}", claims: str = "", profile: str = "compact",
    ) -> LoadedExperiment:  # fmt: skip
        """Write the experiment and load it."""
        listed = ", ".join(f"{{name: {name}, parameters: {BASE % rate}}}" for name in tasks)
        path = self.folder / "demo.yaml"
        path.write_text(
            SPEC.format(seeds=seeds, tasks=listed, strength=strength, checks=checks, claims=claims, profile=profile)
        )
        self.loaded = load_experiment(path)
        return self.loaded

    def records(self, change: Mapping[Key, Mapping[str, Any]] | None = None) -> list[CellRecord]:
        """Every planned cell, finished; `change` replaces fields, `finals` name by name."""
        found = []
        for line in build_plan(self.loaded).cells:
            assert line.cell is not None
            fields = dict((change or {}).get((line.initializer, line.seed), {}))
            finals = {**sound(line.task, line.initializer, line.seed), **fields.pop("finals", {})}
            record = CellRecord(
                cell_id=line.cell.id, attempt_id=new_attempt_id(), run_id="run-1", task=line.task,
                initializer=line.initializer, seed=line.seed, profile=line.profile,
                resolved=resolved_cell(line.cell.task, line.cell.initializer, line.profile, line.seed),
                status="finished", finals=finals, steps_planned=10, steps_done=10, parameters=1000,
                execution="stack[8]", device="cpu", provenance=ORIGIN,
            )  # fmt: skip
            found.append(replace(record, **fields))
        return found

    def fill(self, change: Mapping[Key, Mapping[str, Any]] | None = None, *, leave_out: Iterable[Key] = ()) -> None:
        """Store the planned cells but those left out."""
        gone = set(leave_out)
        self.store.write_shard([r for r in self.records(change) if (r.initializer, r.seed) not in gone])

    def again(self, key: Key, **fields: Any) -> None:
        """Store another attempt at one cell."""
        self.store.write_shard([r for r in self.records({key: fields}) if (r.initializer, r.seed) == key])

    def ran(self) -> None:
        """Record a run of the experiment, so that it is the last one."""
        spec = self.loaded.experiment.model_dump(mode="json", by_alias=True)
        ids = tuple(line.cell.id for line in build_plan(self.loaded).cells if line.cell)
        self.store.save_run(
            RunRecord(
                "run-1", ("bench", "run", str(self.loaded.path)), "2026-01-01T00:00:00Z", experiment="demo",
                profile=self.loaded.profile, spec=spec, source=self.loaded.text, cell_ids=ids,
            )
        )  # fmt: skip


def with_origin(**changes: Any) -> dict[str, Any]:
    """Provenance that differs in these fields."""
    return {"provenance": {**ORIGIN, **changes}}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def origin() -> Callable[..., dict[str, Any]]:
    return with_origin
