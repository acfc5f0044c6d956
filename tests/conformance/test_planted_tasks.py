"""Each planted fault of a task is found by the rule it breaks, and by no other."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from benchmark.parameters import Metric
from benchmark.task import Examples, Geometry

ACCURACY = Metric(name="accuracy", title="Accuracy", direction="max", unit="percent", lower=0, upper=100)
LOSS = Metric(name="loss", title="Loss", direction="min", lower=0)


def drawn(seed):
    inputs = torch.randn(32, 5, generator=torch.Generator().manual_seed(seed))
    return Examples(inputs, inputs.mean(dim=1))


def summed(self, outputs, targets):
    return (outputs.squeeze(-1) - targets).square().sum()


def with_item(self, outputs, targets):
    return (outputs.squeeze(-1) - targets).square().mean() / (1 + outputs.detach().abs().max().item())


def detached(self, outputs, targets):
    return (outputs.detach().squeeze(-1) - targets).square().mean()


def scores(**values):
    return lambda self, observed, examples, final: dict(values)


PLANTED = {
    "no metrics": ("declared-metrics", "is empty", {"metrics": lambda self: ()}),
    "two of one name": (
        "declared-metrics",
        "loss is declared 2 times",
        {"metrics": lambda self: (LOSS, LOSS, ACCURACY)},
    ),
    "no direction": (
        "declared-metrics",
        "has direction none",
        {"metrics": lambda self: (ACCURACY.model_copy(update={"direction": "none"}), LOSS)},
    ),
    "bounds": (
        "declared-metrics",
        "lower bound 100 and upper bound 0",
        {"metrics": lambda self: (LOSS, ACCURACY.model_copy(update={"lower": 100.0, "upper": 0.0}))},
    ),
    "geometry": ("geometry", "heads is 4 in geometry() and 2", {"geometry": lambda self: Geometry(1, 4, 5)}),
    "pattern's type": ("pattern", "float32 (5, 5)", {"pattern": lambda self, layer, head: torch.eye(5)}),
    "pattern's shape": ("pattern", "(6, 6)", {"pattern": lambda self, layer, head: torch.eye(6) > 0}),
    "pattern missing": ("pattern", "is None, but has_pattern() is True", {"pattern": lambda self, layer, head: None}),
    "data of the first seed": (
        "data",
        "training_key is equal",
        {"training_examples": lambda self, seed: drawn(seed), "training_key": lambda self, seed: None},
    ),
    "data without a seed": (
        "data",
        "other examples when it is called again",
        {"training_examples": lambda self, seed: drawn(int.from_bytes(np.random.default_rng().bytes(4)))},
    ),
    "scored without a seed": (
        "data",
        "evaluation_examples(seed, final=False) gives other",
        {"evaluation_examples": lambda self, seed, final: drawn(int.from_bytes(np.random.default_rng().bytes(4)))},
    ),
    "training size": ("data", "training_size() is 30", {"training_size": lambda self: 30}),
    "summed loss": ("loss", "it is a sum, not a mean", {"loss": summed}),
    "loss with item": ("loss", "does not run under torch.func.vmap", {"loss": with_item}),
    "loss of no gradient": ("loss", "does not depend on the model", {"loss": detached}),
    "loss by example": ("loss", "has shape (16,)", {"loss": lambda self, o, t: (o.squeeze(-1) - t).square()}),
    "observation": (
        "observe",
        "has shape ()",
        {"observe": lambda self, o, t: {"prediction": o.mean()}, "summarize": scores(accuracy=1.0, loss=1.0)},
    ),
    "undeclared": (
        "trains",
        "'extra' is returned but not",
        {"summarize": scores(accuracy=1.0, loss=1.0, extra=0.0)},
    ),
    "not returned": (
        "trains",
        "'loss' is declared by metrics() but",
        {"summarize": scores(accuracy=1.0)},
    ),
    "out of bounds": ("metrics", "accuracy is 250 at step 0", {"summarize": scores(accuracy=250.0, loss=1.0)}),
    "not a number": ("metrics", "loss is NaN", {"summarize": scores(accuracy=50.0, loss=math.nan)}),
    "numpy's number": ("metrics", "", {"summarize": scores(accuracy=50.0, loss=torch.tensor([1.0, 2.0]))}),
}

ALSO = {
    "data": {"stack", "twice", "after-another", "trains"},
    "loss": {"trains", "stack"},
    "observe": {"trains"},
    "metrics": {"trains"},
    "reseeding": {"starts-differ"},
    "declared-metrics": {"trains", "metrics"},
}
"""Rules that a fault breaks as well, or which the engine refuses."""


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found_by_its_rule(found, toy, fault):
    rule, fragment, methods = PLANTED[fault]
    kind = type(fault.title(), (toy.Sound,), {"__module__": __name__, **methods})
    said = found(kind(), numbers=rule == "data")
    rules = {rule, *ALSO.get(rule, ())}
    assert set(said) <= rules, said
    assert any(fragment in sentence for one in rules for sentence in said.get(one, ())), said
    assert rule in said or "trains" in said, said


def test_a_model_that_sets_its_own_seed_is_found(found, toy):
    class Seeded(toy.Sound):
        def build_model(self):
            torch.manual_seed(0)
            return super().build_model()

    said = found(Seeded())
    assert set(said) == {"reseeding", "starts-differ"}
    assert said["reseeding"] == ("`build_model` calls torch.manual_seed",)
