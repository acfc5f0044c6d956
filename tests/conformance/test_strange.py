"""Strange but legal PyTorch: it passes, or one sentence names what to do."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

from benchmark.initializer import Initializer, ParameterRule
from benchmark.nn.attention import attentions
from benchmark.nn.noise import SEED, uniform
from benchmark.task import Examples


def test_a_sound_plugin_has_no_findings(found, toy):
    assert found(toy.ScaledPrior()) == {}
    assert found(toy.Sound()) == {}


class TiedWeights(Initializer):
    family = "tied"

    def apply(self, model, context):
        first = attentions(model)[0]
        first.key.weight = first.query.weight


class Normed(Initializer):
    family = "normed"

    def apply(self, model, context):
        for attention in attentions(model):
            parametrizations.weight_norm(attention.proj)


class Scale(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gamma = nn.Parameter(torch.full((dim,), 0.1))

    def forward(self, x):
        return x * self.gamma


class LayerScale(Initializer):
    family = "layer_scale"

    def parameter_rules(self):
        return (ParameterRule("*.gamma", weight_decay=0.0),)

    def apply(self, model, context):
        for attention in attentions(model):
            attention.proj = nn.Sequential(attention.proj, Scale(attention.proj.out_features))


class SparseMask(Initializer):
    """A fixed mask of weights, as a buffer read by a parametrisation."""

    family = "sparse"

    def apply(self, model, context):
        class Masked(nn.Module):
            def __init__(self, mask):
                super().__init__()
                self.register_buffer("mask", mask)

            def forward(self, weight):
                return weight * self.mask

        for attention in attentions(model):
            mask = (torch.rand(attention.value.weight.shape, generator=context.generator) < 0.5).float()
            nn.utils.parametrize.register_parametrization(attention.value, "weight", Masked(mask))


class SkipHook(Initializer):
    family = "skip_hook"

    def apply(self, model, context):
        for attention in attentions(model):
            attention.register_forward_hook(lambda module, inputs, output: output + 0.5 * inputs[0])


class Replaced(Initializer):
    """LayerNorm replaced by the identity, as some initialisations without normalisation do."""

    family = "replaced"

    def apply(self, model, context):
        for parent in list(model.modules()):
            for name, child in list(parent.named_children()):
                if isinstance(child, nn.LayerNorm):
                    setattr(parent, name, nn.Identity())


class Zeros(Initializer):
    """Everything zero."""

    family = "zeros"

    def apply(self, model, context):
        for parameter in model.parameters():
            parameter.zero_()


class Drawing(Initializer):
    """Draws from torch's global generator, numpy's and Python's."""

    family = "drawing"

    def apply(self, model, context):
        import random

        weight = attentions(model)[0].value.weight
        weight.copy_(torch.randn(weight.shape) * (1 + random.random()) + float(np.random.rand()))


class Frozen(Initializer):
    family = "frozen"

    def parameter_rules(self):
        return (ParameterRule("*", trainable=False),)

    def apply(self, model, context):
        pass


NUMBERS = ("trains", "twice", "after-another", "stack")
"""Rules one of which may name what the engine cannot hold to: numbers of another cell never pass for its own."""


@pytest.mark.parametrize(
    "kind", [TiedWeights, Normed, LayerScale, SparseMask, Replaced, Zeros], ids=lambda k: k.__name__
)
def test_a_strange_but_legal_initialiser_passes(found, kind):
    assert found(kind()) == {}


def test_an_initialiser_that_freezes_everything_is_told_so(found):
    assert found(Frozen()) == {"rules": ("no parameter is trained",)}


@pytest.mark.parametrize("kind", [SkipHook, Drawing], ids=lambda k: k.__name__)
def test_what_the_engine_must_tell_apart_is_never_wrong_in_silence(found, kind):
    assert set(found(kind())) <= set(NUMBERS)


class Tiny(nn.Module):
    def __init__(self, middle):
        super().__init__()
        self.first, self.middle, self.last = nn.Linear(5, 8), middle, nn.Linear(8, 1)

    def forward(self, x):
        return self.last(self.middle(self.first(x)))


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class SignLayer(nn.Module):
    def forward(self, x):
        return Straight.apply(x)


class StraightV(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sign()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class SignLayerV(nn.Module):
    def forward(self, x):
        return StraightV.apply(x)


class Complex(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 8, dtype=torch.complex64))

    def forward(self, x):
        return (x.to(torch.complex64) @ self.weight).abs()


class Counting(nn.Module):
    """A buffer written in forward."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return x * torch.exp(-self.calls / 100)


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer(SEED, torch.zeros((), dtype=torch.int64), persistent=False)

    def forward(self, x):
        return x * (uniform(getattr(self, SEED), (8,)) < 0.9) if self.training else x


class Plain(nn.Module):
    """A tensor that is no buffer."""

    def __init__(self):
        super().__init__()
        self.mask = torch.randn(8)

    def forward(self, x):
        return x * self.mask


class Branch(nn.Module):
    def forward(self, x):
        return x if x.mean() > 0 else -x


class GRU(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(8, 8, batch_first=True)

    def forward(self, x):
        return self.gru(x)[0].squeeze(1)


def model_with(toy, middle):
    kind = type(
        middle.__name__.title(), (toy.Sound,),
        {"__module__": __name__, "build_model": lambda self: Tiny(middle()), "has_pattern": lambda self: False,
         "pattern": lambda self, layer, head: None},
    )  # fmt: skip
    return kind()


def batch_norm_of_the_batch():
    return nn.BatchNorm1d(8, track_running_stats=False)


def running_batch_norm():
    return nn.BatchNorm1d(8)


def dropout():
    return nn.Dropout(0.1)


def lazy():
    return nn.LazyLinear(8)


def double():
    return nn.Linear(8, 8).double()


def spectral():
    return parametrizations.spectral_norm(nn.Linear(8, 8))


def recurrent():
    return nn.Sequential(nn.Unflatten(1, (1, 8)), GRU())


@pytest.mark.parametrize("middle", [batch_norm_of_the_batch, SignLayerV, Noisy], ids=lambda m: m.__name__)
def test_a_model_of_strange_but_legal_parts_passes(found, toy, middle):
    assert found(model_with(toy, middle)) == {}


FINDINGS = {
    lazy: ("build", "parameter 'middle.weight' holds no numbers yet"),
    Complex: ("build", "parameters of one dtype; found torch.complex64 (middle.weight), torch.float32 (first.weight)"),
    double: ("build", "parameters of one dtype; found torch.float32 (first.weight), torch.float64 (middle.weight)"),
    SignLayer: ("trains", "must override the setup_context staticmethod"),
    Branch: ("trains", "turns a tensor into a Python number"),
}


@pytest.mark.parametrize("middle", FINDINGS, ids=lambda m: m.__name__)
def test_a_part_the_engine_cannot_run_is_named_once(found, toy, middle):
    rule, fragment = FINDINGS[middle]
    said = found(model_with(toy, middle))
    assert fragment in " ".join(said.get(rule) or said["trains"]), said
    assert len(said) <= 2, said


@pytest.mark.parametrize(
    "middle", [dropout, Plain, Counting, spectral, recurrent, running_batch_norm], ids=lambda m: m.__name__
)
def test_state_that_is_no_parameter_is_never_wrong_in_silence(found, toy, middle):
    assert set(found(model_with(toy, middle))) <= set(NUMBERS)


def numpy_data(self, seed):
    generator = np.random.default_rng(seed)
    return Examples(torch.from_numpy(generator.normal(size=(32, 5))).float(), torch.ones(32))


def test_data_by_seed_from_a_generator_of_numpy_passes(found, toy):
    by_seed = {"__module__": __name__, "training_examples": numpy_data, "training_key": lambda self, seed: seed}
    assert found(type("ByNumpy", (toy.Sound,), by_seed)()) == {}
