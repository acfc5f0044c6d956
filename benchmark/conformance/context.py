"""What rules look at: the model before and after, the data, and a handful of tiny trainings, each made once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from benchmark.cell import Cell
from benchmark.conformance.rules import NotChecked
from benchmark.conformance.state import watched
from benchmark.conformance.subject import Subject
from benchmark.conformance.untouched import Untouched
from benchmark.train.mode import ALONE, Mode
from benchmark.wording import placed_reason

if TYPE_CHECKING:
    import torch

    from benchmark.task import Examples, Task
    from benchmark.train.stack import CellOutcome

Returned = TypeVar("Returned")

STEPS, EVERY = 6, 2
"""Optimiser steps of a training, and steps between its points."""
SCORED = 256
"""Examples that are scored, where the task's summary can do with fewer than all."""
BATCH = 16
"""Examples that are looked at outside training."""


@dataclass(frozen=True)
class Numbers:
    """What a cell gave: its curve, and its final values under the step `end`."""

    values: dict[tuple[str, int | str], float]
    status: str
    error: str = ""
    """One sentence when it failed."""

    @classmethod
    def of(cls, outcome: CellOutcome) -> Numbers:
        """The numbers of an outcome."""
        values: dict[tuple[str, int | str], float] = {(p.name, p.step): p.value for p in outcome.curve}
        values.update({(name, "end"): value for name, value in outcome.finals.items()})
        for (name, _), value in values.items():
            if not isinstance(value, int | float):
                return cls({}, "failed", f"metric {name} is a {type(value).__name__}, not a number")
        return cls(values, outcome.status, placed_reason(outcome.error) if outcome.error else "")

    def to_json(self) -> dict[str, Any]:
        """Plain values; `from_json` is its inverse (NaN is written as Python writes it)."""
        return {
            "values": [[*key, value] for key, value in self.values.items()],
            "status": self.status,
            "error": self.error,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Numbers:
        """The numbers that `to_json` wrote."""
        return cls({(name, step): number for name, step, number in value["values"]}, value["status"], value["error"])


@dataclass
class Started:
    """A model that the subject's initialiser has been applied to, step by step and outside the engine."""

    before: torch.nn.Module
    """The model of the same seed as it was built."""
    model: torch.nn.Module
    seconds: float
    """What `apply` took."""
    reseeded: tuple[str, ...] = ()
    """Calls that set torch's seed."""


@dataclass
class Context:
    """One subject under examination."""

    subject: Subject
    changed: dict[str, list[str]] = field(default_factory=dict)
    """Call of the plugin → what of the process it changed."""
    other: Numbers | None = None
    """The other cell that `first` was trained after."""
    told: dict[str, str] = field(default_factory=dict)
    """Finding → rule that told of it first."""

    # --- cells -------------------------------------------------------------------------------------------------

    @cached_property
    def task(self) -> Task:
        """The task with a budget of a few steps, scored on few examples where that gives all metrics."""
        full = short(self.subject.pair.task, all_scored=True)
        try:
            return short(full, all_scored=False) if self.scores_few(full) else full
        except Exception:  # `metrics` and `trains` say what is wrong
            return full

    def scores_few(self, full: Task) -> bool:
        """Whether a part of the evaluation examples gives finite values of the same metrics."""
        import torch

        few, model = few_of(full.evaluation_examples(0, final=True)), full.build_model().eval()
        with torch.no_grad():
            scores = full.summarize(full.observe(model(few.inputs), few.targets), few, final=True)
        return all(math.isfinite(value) for value in scores.values())

    def cell(self, seed: int = 0, *, untouched: bool = False) -> Cell:
        """The subject's cell of a seed, or that of the start that changes nothing."""
        started = (
            Untouched(mode=self.subject.pair.initializer.prior_mode()) if untouched else self.subject.pair.initializer
        )
        name = Untouched.family if untouched else self.subject.name
        return Cell(f"{name}-{seed}", self.subject.pair.task_name, name, seed, self.subject.profile, self.task, started)

    def train(self, cells: Sequence[Cell], mode: Mode = ALONE) -> list[Numbers]:
        """Numbers of cells trained together, as the engine trains them."""
        from benchmark.train.stack import train_stack

        with watched([] if mode.compiled else self.changed.setdefault("training", [])):
            return [Numbers.of(outcome) for outcome in train_stack(cells, mode=mode)]

    @cached_property
    def first(self) -> Numbers:
        """The cell of seed 0, trained after another one."""
        alike = self.subject.kind == "task"  # then only another seed is another cell
        (self.other,) = self.train([self.cell(2) if alike else self.cell(untouched=True)])
        return self.train([self.cell()])[0]

    @cached_property
    def second(self) -> Numbers:
        """The cell of seed 1, alone."""
        return self.train([self.cell(1)])[0]

    @property
    def trained(self) -> Numbers:
        """`first`; raises NotChecked when there are no numbers to compare with."""
        try:
            if self.first.status == "finished":
                return self.first
        except Exception as error:
            raise NotChecked("it cannot be trained (see trains)") from error
        raise NotChecked("it cannot be trained (see trains)")

    @cached_property
    def cleared(self) -> Numbers:
        """The same cell as the first one of a process: no program of another cell is there."""
        from benchmark.train import program

        program.clear()
        return self.train([self.cell()])[0]

    # --- outside the engine ------------------------------------------------------------------------------------

    def call(self, name: str, function: Callable[[], Returned]) -> Returned:
        """The plugin's answer; what it changes of the process is noted under `name` and put back."""
        with watched(self.changed.setdefault(name, [])):
            return function()

    @cached_property
    def started(self) -> Started:
        """Raises whatever `build_model` and `apply` raise."""
        import torch

        from benchmark.initializer import Context as Start
        from benchmark.train.build import build

        before, model = build(self.cell(untouched=True)), build(self.cell(untouched=True))
        seeded("model")
        reseeded = []
        seed = torch.initial_seed()
        self.call("build_model", self.task.build_model)
        if torch.initial_seed() != seed:
            reseeded.append("build_model")
        seed = seeded("initializer")
        start = Start(self.task, 0, torch.Generator().manual_seed(seed))
        at = time.perf_counter()
        with torch.no_grad():
            self.call("apply", lambda: self.subject.pair.initializer.apply(model, start))
        seconds = time.perf_counter() - at
        if torch.initial_seed() != seed:
            reseeded.append("apply")
        return Started(before, model, seconds, tuple(reseeded))

    @cached_property
    def batch(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and targets of a few training examples, as they are trained on."""
        from benchmark.train.batches import Batches

        seeded("data")
        inputs, targets = self.call(
            "training_examples", lambda: Batches(self.task, [self.cell()], "cpu").like(1, BATCH)
        )
        return inputs[0], targets[0]

    @cached_property
    def outputs(self) -> torch.Tensor:
        """The plain model's outputs on `batch`, in training mode."""
        inputs, _ = self.batch
        model = self.started.model.train()
        return cast("torch.Tensor", self.call("the model", lambda: model(inputs)))


def seeded(name: str, seed: int = 0) -> int:
    """Start every generator of the process as the engine does; the value torch got."""
    import torch

    from benchmark.train.world import seed_everything

    seed_everything(seed, name)
    return torch.initial_seed()


def few_of(examples: Examples) -> Examples:
    """Up to `SCORED` of them, evenly spread."""
    import torch

    from benchmark.task import Examples

    rows = torch.linspace(0, len(examples) - 1, min(SCORED, len(examples))).round().long()
    return Examples(examples.inputs[rows], examples.targets[rows])


def short(task: Task, *, all_scored: bool) -> Task:
    """The task with a budget of a few steps at the full learning rate."""
    budget = task.budget.model_copy(
        update={"steps": STEPS, "epochs": None, "evaluate_every": STEPS if all_scored else EVERY}
    )
    optimizer = task.optimizer.model_copy(update={"warmup_steps": 0, "cooldown_steps": 0, "hold_steps": None})
    family = type(task) if all_scored else few_scored(type(task))
    return family.model_construct(**{**dict(task), "budget": budget, "optimizer": optimizer})


@lru_cache(maxsize=16)
def few_scored(family: type[Task]) -> type[Task]:
    """The family, scored on part of its evaluation examples."""

    def evaluation_examples(self: Task, seed: int, *, final: bool) -> Examples:
        return few_of(family.evaluation_examples(self, seed, final=final))

    own = {"evaluation_examples": evaluation_examples, "__module__": __name__}
    return cast("type[Task]", type(family)(family.__name__, (family,), own))  # type: ignore[misc]
