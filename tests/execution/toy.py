"""A plugin with a task that trains in a moment, and initialisers that misbehave in every way a user's could."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from benchmark.initializer import Context, Initializer
from benchmark.parameters import Budget, Metric, Optimizer
from benchmark.registry import initializer, task
from benchmark.task import Examples, Geometry, Task


@task("toy_regression")
class ToyRegression(Task):
    """Fit y = mean(x) with a linear model."""

    slope: float = 1.0
    optimizer: Optimizer = Optimizer(learning_rate=0.01)
    budget: Budget = Budget(batch_size=8, steps=60, evaluate_every=20)
    pause: float = 0.0
    """Seconds slept at each evaluation, to give a test time to kill."""

    def metrics(self):
        return (
            Metric(name="accuracy", title="Accuracy", direction="max", unit="percent", lower=0, upper=100),
            Metric(name="loss", title="Loss", direction="min", lower=0),
        )

    def geometry(self):
        return Geometry(layers=1, heads=1, tokens=4)

    def training_size(self):
        return 64

    def data_digests(self):
        return {"line": f"{self.slope:g}"}

    def build_model(self):
        import torch

        return torch.nn.Linear(4, 1)

    def _examples(self, seed, count):
        import torch

        inputs = torch.randn(count, 4, generator=torch.Generator().manual_seed(seed))
        return Examples(inputs, self.slope * inputs.mean(dim=1, keepdim=True))

    def training_examples(self, seed):
        return self._examples(1, 64)

    def evaluation_examples(self, seed, *, final):
        return self._examples(2, 32)

    def loss(self, outputs, targets):
        return (outputs - targets).square().mean()

    def observe(self, outputs, targets):
        return {"error": (outputs - targets).abs().squeeze(-1)}

    def summarize(self, observed, examples, *, final):
        time.sleep(self.pause)
        error = observed["error"].double()
        return {"accuracy": 100 * (error < 0.1).double().mean().item(), "loss": error.square().mean().item()}


@initializer("toy_plain")
class Plain(Initializer):
    """Leaves the model as it is."""

    scale: float = 1.0

    def apply(self, model, context: Context):
        model.weight *= self.scale


@initializer("toy_raising")
class Raising(Initializer):
    """Raises for odd seeds."""

    def apply(self, model, context: Context):
        if context.seed % 2:
            raise RuntimeError("this initialiser dislikes odd seeds")


@initializer("toy_killing")
class Killing(Initializer):
    """Kills its own process for seed 1, as the system does when memory runs out."""

    def apply(self, model, context: Context):
        if context.seed == 1:
            os.kill(os.getpid(), signal.SIGKILL)


@initializer("toy_exiting")
class Exiting(Initializer):
    """Calls sys.exit."""

    def apply(self, model, context: Context):
        sys.exit(3)


@initializer("toy_hanging")
class Hanging(Initializer):
    """Never returns for seed 1."""

    def apply(self, model, context: Context):
        while context.seed == 1:
            time.sleep(0.1)


@initializer("toy_once")
class KillingOnce(Initializer):
    """Kills its process the first time it is used, then behaves."""

    marker: str = "marker"

    def apply(self, model, context: Context):
        marker = Path(self.marker)
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
