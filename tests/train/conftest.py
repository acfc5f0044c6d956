"""A tiny task and initialisers, so that training is tested without any shipped family."""

from __future__ import annotations

import math

import pytest
import torch

from benchmark.cell import Cell
from benchmark.initializer import Initializer, ParameterRule
from benchmark.nn.shape import EncoderShape
from benchmark.nn.transformer import BitEmbedding, Transformer
from benchmark.parameters import Budget, Metric, Optimizer
from benchmark.task import Examples, Geometry, Task

SHAPE = EncoderShape(layers=1, heads=2, dim=8, head_dim=4, mlp_dim=16, pooling="mean", cls_token=False)


class Toy(Task):
    """Product of two of five bits, a one-layer Transformer."""

    family = "toy"
    optimizer: Optimizer = Optimizer(learning_rate=1e-3)
    budget: Budget = Budget(batch_size=12, epochs=3)
    model: EncoderShape = SHAPE
    bits: int = 5
    partner: int = 1

    def metrics(self):
        return (
            Metric(name="loss", title="Loss", direction="min"),
            Metric(name="accuracy", title="Accuracy", direction="max", unit="percent"),
        )

    def geometry(self):
        return Geometry(layers=self.model.layers, heads=self.model.heads, tokens=self.bits, dim=self.model.dim)

    def build_model(self):
        return Transformer(BitEmbedding(self.model.dim), self.model, tokens=self.bits, outputs=1)

    def _cube(self):
        index = torch.arange(2**self.bits)
        bits = (index[:, None] >> torch.arange(self.bits)) & 1
        signs = 1.0 - 2.0 * bits
        return Examples(bits.float(), signs[:, 0] * signs[:, self.partner])

    def training_size(self):
        return 2**self.bits

    def training_examples(self, seed):
        return self._cube()

    def loss(self, outputs, targets):
        return torch.nn.functional.mse_loss(outputs.squeeze(-1), targets)

    def evaluation_examples(self, seed, *, final):
        return self._cube()

    def observe(self, outputs, targets):
        return {"prediction": outputs.squeeze(-1)}

    def summarize(self, observed, examples, *, final):
        error = observed["prediction"] - examples.targets
        right = observed["prediction"].sign() == examples.targets
        return {"loss": float(error.square().mean()), "accuracy": 100.0 * float(right.double().mean())}


class Default(Initializer):
    """Leaves the model as it was built."""

    family = "toy_default"

    def apply(self, model, context):
        pass


class Mask(Initializer):
    """A trained prior drawn from the initialiser's own stream."""

    family = "toy_mask"
    strength: float = 2.0

    def parameter_rules(self):
        return (ParameterRule(match="*.prior", weight_decay=0.0),)

    def apply(self, model, context):
        for name, parameter in model.named_parameters():
            if name.endswith(".prior"):
                parameter.copy_(self.strength * torch.randn(parameter.shape, generator=context.generator))


class Huge(Initializer):
    """Starts finite, overflows in the first step."""

    family = "toy_huge"

    def apply(self, model, context):
        for parameter in model.parameters():
            parameter.fill_(1e30)


class Broken(Initializer):
    """Raises."""

    family = "toy_broken"

    def apply(self, model, context):
        raise RuntimeError("no such head")


class NotFinite(Initializer):
    """Leaves a NaN."""

    family = "toy_nan"

    def apply(self, model, context):
        next(iter(model.parameters())).fill_(math.nan)


@pytest.fixture(scope="session")
def toy():
    """Names of this file's classes, for tests (importing conftest by name is not possible in importlib mode)."""

    class Namespace:
        pass

    space = Namespace()
    for item in (Toy, Default, Mask, Huge, Broken, NotFinite):
        setattr(space, item.__name__, item)
    space.cell = cell
    return space


def cell(initializer=None, seed=0, task=None):
    """A cell with a readable id."""
    initializer, task = initializer or Default(), task or Toy()
    return Cell(f"{initializer.family}-{seed}", "toy", initializer.family, seed, "compact", task, initializer)


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
