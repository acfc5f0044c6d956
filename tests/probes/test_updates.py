"""Gradients beside Adam's epsilon and the sizes of steps: by hand, and of a whole training."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmark.probes import measures
from benchmark.probes.updates import OWN, Updates
from initializers.mask import Mask


def test_root_mean_square_by_head_by_hand():
    weight = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])  # two heads of width 2
    assert measures.rms(measures.by_head(weight, 2)).tolist() == [2.5, 1.0]
    slot = torch.tensor([[[2.0, 0.0], [0.0, 0.0]]])
    assert measures.rms(measures.by_head(slot, 1)).tolist() == [1.0]


class Fixed:
    """A layer of one head and two tokens whose numbers are given."""

    allowed = torch.ones(2, 2, dtype=torch.bool)

    def __init__(self, bias, probabilities, scores):
        self.bias = torch.tensor([bias], dtype=torch.float64)
        self.probabilities, self.scores = (torch.tensor([[x]], dtype=torch.float64) for x in (probabilities, scores))


def test_a_step_of_bias_logits_and_attention_by_hand():
    before = Fixed([[0.0, 2.0], [5.0, 5.0]], [[1.0, 0.0], [0.5, 0.5]], [[0.0, 0.0], [0.0, 0.0]])
    now = Fixed([[0.0, 4.0], [8.0, 8.0]], [[0.5, 0.5], [0.5, 0.5]], [[1.0, 3.0], [7.0, 7.0]])
    found = {name: value.item() for name, value in measures.moved(now, before).items()}
    assert found == {
        "bias_update": pytest.approx(2**0.5),
        "logit_update": pytest.approx(2**0.5),
        "attention_update": pytest.approx(0.25),
    }


def by_hand(epsilon):
    def measured(now, start, before, step, plain):
        found = {}
        for layer in range(2):
            for part in OWN:
                name = f"blocks.{layer}.attention.{part}" + ("" if part == "prior" else ".weight")
                of = {"gradient": now["gradient"][name]}
                if epsilon:
                    of["gradient_over_epsilon"] = of["gradient"] / epsilon
                if epsilon and step:
                    of["second_over_epsilon"] = np.sqrt(now["second"][name] / (1 - 0.999**step)) / epsilon
                if step:
                    of["step"] = now["parameters"][name] - before["parameters"][name]
                for metric, values in of.items():
                    for head in range(2):
                        own = values[head] if part == "prior" else values[4 * head : 4 * (head + 1)]
                        found[f"{part}_{metric}", layer, head] = float(np.sqrt(np.mean(own**2)))
            if not step:
                continue
            seen, past = now["layers"][layer], before["layers"][layer]
            for head in range(2):
                moved = {
                    "bias_update": seen["bias"][head] - past["bias"][head],
                    "logit_update": (seen["scores"] - past["scores"])[:, head].mean(0),
                }
                for metric, values in moved.items():
                    found[metric, layer, head] = float(np.linalg.norm(values - values.mean(-1, keepdims=True)))
                change = np.abs(seen["probabilities"] - past["probabilities"])[:, head].sum(-1) / 2
                found["attention_update", layer, head] = float(change.mean())
        return found

    return measured


@pytest.mark.parametrize(
    ("mode", "optimizer"),
    [
        ("alone", {"name": "adam", "learning_rate": 1e-2, "weight_decay": 1e-3, "epsilon": 1e-2}),
        ("stack:2", {"name": "sgd", "learning_rate": 0.1}),
    ],
)
def test_a_training_agrees_with_the_plain_reimplementation(small, mode, optimizer):
    task, probe = small.task(optimizer), Updates(examples=20)
    cells = [small.cell([probe], seed, Mask(open=2, close=-2), task) for seed in (0, 1)]
    found = small.hold(probe, cells, mode, by_hand(optimizer.get("epsilon")))
    assert found["prior_gradient", 0, 0, 0] > 1e-5
    assert found["bias_update", 0, 0, 1] > 1e-5
