"""A plugin whose cells cost almost nothing: 100 steps of a linear model, 5 metrics a step, 10 at the end."""

from __future__ import annotations

from typing import Any

from benchmark.initializer import Context, Initializer
from benchmark.parameters import Budget, Metric, Optimizer
from benchmark.registry import initializer, task
from benchmark.task import Examples, Geometry, Task

CURVE, FINAL = 5, 10


@task("trivial")
class Trivial(Task):
    """Fit y = slope · mean(x)."""

    slope: float = 1.0
    optimizer: Optimizer = Optimizer(name="sgd", learning_rate=0.01)
    budget: Budget = Budget(batch_size=8, steps=100, evaluate_every=1)

    def metrics(self) -> tuple[Metric, ...]:
        return tuple(Metric(name=f"metric{k}", title=f"Metric {k}", direction="min", lower=0) for k in range(FINAL))

    def geometry(self) -> Geometry:
        return Geometry(layers=1, heads=1, tokens=4)

    def training_size(self) -> int:
        return 64

    def build_model(self) -> Any:
        import torch

        return torch.nn.Linear(4, 1)

    def _examples(self, seed: int, count: int) -> Examples:
        import torch

        inputs = torch.randn(count, 4, generator=torch.Generator().manual_seed(seed))
        return Examples(inputs, self.slope * inputs.mean(dim=1, keepdim=True))

    def training_examples(self, seed: int) -> Examples:
        return self._examples(1, 64)

    def evaluation_examples(self, seed: int, *, final: bool) -> Examples:
        return self._examples(2, 16)

    def loss(self, outputs: Any, targets: Any) -> Any:
        return (outputs - targets).square().mean()

    def observe(self, outputs: Any, targets: Any) -> dict[str, Any]:
        return {"error": (outputs - targets).abs().squeeze(-1)}

    def summarize(self, observed: Any, examples: Examples, *, final: bool) -> dict[str, float]:
        error = observed["error"].double().mean().item()
        return {f"metric{k}": error / (k + 1) for k in range(FINAL if final else CURVE)}


@initializer("scaled")
class Scaled(Initializer):
    """The default weights times a factor."""

    factor: float = 1.0

    def apply(self, model: Any, context: Context) -> None:
        model.weight *= self.factor
