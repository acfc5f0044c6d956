"""A task and an initialiser that hold to every rule and train in a moment; planted faults are made by changing them."""

from __future__ import annotations

import torch

from benchmark.initializer import Initializer, ParameterRule
from benchmark.nn.attention import attentions
from benchmark.nn.shape import EncoderShape
from benchmark.nn.transformer import BitEmbedding, Transformer
from benchmark.parameters import Budget, Metric, Optimizer
from benchmark.registry import initializer, task
from benchmark.task import Examples, Geometry, Task

SHAPE = EncoderShape(layers=1, heads=2, dim=8, head_dim=4, mlp_dim=16, pooling="mean", cls_token=False)
BITS = 5


@task("sound")
class Sound(Task):
    """Product of two of five bits."""

    optimizer: Optimizer = Optimizer(learning_rate=1e-2)
    budget: Budget = Budget(batch_size=8, epochs=3)

    def metrics(self):
        return (
            Metric(name="accuracy", title="Accuracy", direction="max", unit="percent", lower=0, upper=100),
            Metric(name="loss", title="Loss", direction="min", lower=0),
        )

    def geometry(self):
        return Geometry(layers=1, heads=2, tokens=BITS, dim=8, head_dim=4)

    def has_pattern(self):
        return True

    def pattern(self, layer, head):
        return torch.eye(BITS, dtype=torch.bool)

    def build_model(self):
        return Transformer(BitEmbedding(8), SHAPE, tokens=BITS, outputs=1)

    def training_size(self):
        return 2**BITS

    def cube(self):
        bits = (torch.arange(2**BITS)[:, None] >> torch.arange(BITS)) & 1
        signs = 1.0 - 2.0 * bits
        return Examples(bits.float(), signs[:, 0] * signs[:, 1])

    def training_examples(self, seed):
        return self.cube()

    def loss(self, outputs, targets):
        return (outputs.squeeze(-1) - targets).square().mean()

    def evaluation_examples(self, seed, *, final):
        return self.cube()

    def observe(self, outputs, targets):
        return {"prediction": outputs.squeeze(-1)}

    def summarize(self, observed, examples, *, final):
        error = observed["prediction"] - examples.targets
        right = observed["prediction"].sign() == examples.targets
        return {"loss": float(error.square().mean()), "accuracy": 100.0 * float(right.double().mean())}


@initializer("scaled_prior")
class ScaledPrior(Initializer):
    """A trained prior drawn from the initialiser's own stream."""

    strength: float = 2.0

    def parameter_rules(self):
        return (ParameterRule(match="*.prior", weight_decay=0.0),)

    def apply(self, model, context):
        for attention in attentions(model):
            drawn = torch.randn(attention.prior.shape, generator=context.generator)
            attention.prior.copy_(self.strength * drawn)
