"""A task family and two initialisers without torch, loaded by tests as a user's plugin file."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from benchmark.initializer import Context, Initializer
from benchmark.parameters import Budget, Metric, Optimizer, Parameters
from benchmark.registry import initializer, task
from benchmark.task import Examples, Geometry, Task


class Width(Parameters):
    width: int = Field(gt=0)


class Depth(Parameters):
    depth: int = Field(gt=0)


@task("toy")
class Toy(Task):
    """A task that is never trained."""

    optimizer: Optimizer = Optimizer(learning_rate=0.1)
    budget: Budget = Budget(batch_size=4, epochs=1)
    size: int = Field(default=4, gt=0)
    scale: float = 1.0
    shuffle: bool = False
    weights: tuple[float, ...] = ()
    shape: Width | Depth = Width(width=1)
    missing: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Toy:
        if self.size == 13:
            raise ValueError("'size' must not be 13")
        return self

    def metrics(self) -> tuple[Metric, ...]:
        return (
            Metric(name="accuracy", title="accuracy", direction="max"),
            Metric(name="loss", title="loss", direction="min"),
        )

    def geometry(self) -> Geometry:
        return Geometry(layers=1, heads=1, tokens=self.size)

    def missing_data(self) -> str | None:
        return self.missing

    def build_model(self) -> Any:
        raise NotImplementedError

    def training_examples(self, seed: int) -> Examples:
        raise NotImplementedError

    def loss(self, outputs: Any, targets: Any) -> Any:
        raise NotImplementedError

    def evaluation_examples(self, seed: int, *, final: bool) -> Examples:
        raise NotImplementedError

    def observe(self, outputs: Any, targets: Any) -> dict[str, Any]:
        raise NotImplementedError

    def summarize(self, observed: Any, examples: Examples, *, final: bool) -> dict[str, float]:
        raise NotImplementedError


@initializer("plain")
class Plain(Initializer):
    """Nothing."""

    gain: float = 1.0
    layers: tuple[int, ...] = ()

    def apply(self, model: Any, context: Context) -> None:
        return


@initializer("picky")
class Picky(Initializer):
    """Nothing, and not on every task."""

    least: int = 4

    def unsupported(self, task: Task) -> str | None:
        return None if task.geometry().tokens >= self.least else f"needs at least {self.least} tokens"

    def apply(self, model: Any, context: Context) -> None:
        return
