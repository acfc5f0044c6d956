"""Fourier coefficients: by hand on a known function, and of a whole training."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from benchmark.probes.fourier import Fourier
from initializers.mask import Mask


def test_coefficients_of_a_known_function_by_hand(small):
    bits = torch.tensor([[(code >> i) & 1 for i in range(5)] for code in range(32)])
    x = 2.0 * bits - 1
    outputs = 3 * x[:, 0] * x[:, 1] - 0.5 * x[:, 0] + 0.25
    now = SimpleNamespace(inputs=bits, outputs=outputs.unsqueeze(1))
    moment = SimpleNamespace(now=now, cell=SimpleNamespace(task=small.task()))
    found = Fourier(monomials=((), (0, 2), (0, 1))).measure(moment)
    assert {name: value.item() for name, value in found.items()} == {
        "{0}": pytest.approx(-0.5), "{0,1}": pytest.approx(3.0), "{}": pytest.approx(0.25), "{0,2}": pytest.approx(0.0),
    }  # fmt: skip


def test_it_says_where_it_cannot_measure(small):
    assert Fourier().unsupported(small.task()) is None
    assert Fourier(monomials=((0, 7),)).unsupported(small.task()) == "the task has bits 0 to 4, not 7"
    assert Fourier().unsupported(SimpleNamespace()) == "the task is not over bits"


def test_a_training_agrees_with_the_plain_reimplementation(small):
    def by_hand(now, start, before, step, plain):
        signs = 2.0 * plain.inputs.numpy() - 1
        values = now["outputs"][:, 0]
        chosen = {"{0}": signs[:, 0], "{0,1}": signs[:, 0] * signs[:, 1], "{0,2}": signs[:, 0] * signs[:, 2]}
        return {(name, None, None): float(np.mean(values * sign)) for name, sign in chosen.items()}

    probe = Fourier(monomials=((0, 2),))
    cells = [small.cell([probe], seed, Mask(open=2, close=-2)) for seed in (0, 1)]
    small.hold(probe, cells[:1], "alone", by_hand)
    task = small.task({"name": "sgd", "learning_rate": 0.1})
    small.hold(probe, [small.cell([probe], seed, Mask(open=2, close=-2), task) for seed in (0, 1)], "stack:2", by_hand)
