"""Mass on a pattern, retention, half-life, contrast, distance: by hand, and of a whole training."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from benchmark.probes import measures
from benchmark.probes.retention import Retention
from benchmark.records import ProbePoint
from benchmark.train.mode import Mode
from benchmark.train.stack import train_stack
from initializers.default import Default
from initializers.mask import Mask
from initializers.pattern import OtherPattern


class Fixed:
    """A layer of one head and three tokens whose numbers are given."""

    allowed = torch.ones(3, 3, dtype=torch.bool)

    def __init__(self, probabilities, bias=((0.0,) * 3,) * 3, scores=((0.0,) * 3,) * 3):
        self.probabilities = torch.tensor([[probabilities]], dtype=torch.float64)
        self.bias = torch.tensor([bias], dtype=torch.float64)
        self.scores = torch.tensor([[scores]], dtype=torch.float64)


ENTRIES = torch.tensor([[[1, 0, 0], [0, 0, 0], [1, 1, 1]]], dtype=torch.bool)
"""Row 0 opens itself alone; row 1 is closed and row 2 open everywhere, so neither counts."""
START = Fixed([[0.9, 0.05, 0.05], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])


def kept(now, start=START, entries=ENTRIES):
    return {name: value.item() for name, value in measures.kept(now, start, entries, 0.01).items()}


def test_mass_retention_and_distance_by_hand():
    now = Fixed([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    found = kept(now)
    assert found["mass"] == pytest.approx(0.5)
    assert found["retention"] == pytest.approx((0.5 - 1 / 3) / (0.9 - 1 / 3))  # u = |O_0|/3
    assert found["distance"] == pytest.approx(0.5)  # from (1, 0, 0)


def test_retention_is_one_at_the_start_none_when_uniform_and_not_defined_without_a_pattern_in_the_start():
    uniform = Fixed([[1 / 3] * 3] * 3)
    assert kept(START)["retention"] == pytest.approx(1)
    assert kept(uniform)["retention"] == pytest.approx(0)
    assert math.isnan(kept(START, start=uniform)["retention"])


def test_contrast_by_hand_is_that_of_the_bias_whatever_is_added_to_a_row():
    bias = [[2.0, -1.0, -1.0], [5.0, 0.0, 0.0], [7.0, 0.0, 0.0]]
    assert kept(Fixed([[1.0, 0.0, 0.0]] * 3, bias))["contrast"] == pytest.approx(3.0)
    bias[0] = [102.0, 99.0, 99.0]
    found = kept(Fixed([[1.0, 0.0, 0.0]] * 3, bias, scores=[[0.0, 1.0, 3.0], [0.0] * 3, [0.0] * 3]))
    assert found["contrast"] == pytest.approx(3.0)
    assert found["contrast_logits"] == pytest.approx(-2.0)  # 0 against the mean of 1 and 3


@pytest.mark.parametrize("contrast", [1.0, 10.0])
def test_the_contrast_of_a_mask_at_the_start_is_c_and_not_2c(small, contrast):
    cell = small.cell([Retention()], initializer=Mask(open=contrast, close=-contrast))
    points = train_stack([cell], mode=Mode.parse("alone"))[0].recorded.points
    found = [p.value for p in points if (p.metric, p.step) == ("contrast", 0)]
    assert found == [pytest.approx(contrast, rel=1e-5)] * 7


def test_a_head_without_the_pattern_is_not_defined():
    found = measures.kept(START, START, torch.zeros_like(ENTRIES), 0.01)
    assert all(torch.isnan(value).all() for value in found.values())


def test_half_life_is_the_first_step_below_one_half_and_infinite_without_one():
    probe = Retention()
    curves = {(0, 0): [1.0, 0.6, 0.4, 0.7], (0, 1): [1.0, 0.9, 0.8, 0.5]}
    points = [
        ProbePoint(probe.key, "retention", "retention", *place, step, value)
        for place, curve in curves.items()
        for step, value in zip((0, 2, 10, 50), curve, strict=True)
    ]
    found = {(p.layer, p.head): (p.step, p.value) for p in probe.conclude(points)}
    assert found == {(0, 0): (50, 10.0), (0, 1): (50, math.inf)}


def test_a_wrong_pattern_is_held_against_itself_or_against_the_tasks_own(small):
    wrong = Mask(open=2, close=-2, pattern=OtherPattern(interaction={"groups": [[2, 3]]}))
    cell = small.cell([Retention(), Retention(pattern="task")], initializer=wrong)
    points = train_stack([cell], mode=Mode.parse("alone"))[0].recorded.points
    own, right = (
        next(p.value for p in points if (p.recording, p.metric, p.step, p.layer) == (probe.key, "mass", 0, None))
        for probe in cell.probes
    )
    assert own > 0.75 > 0.4 > right


# --- a whole training -------------------------------------------------------------------------------------------------


def by_hand(task, least=0.01):
    bits, extra = task.bits, task.geometry().extra_tokens

    def measured(now, start, before, step, plain):
        found = {}
        for layer, (seen, first) in enumerate(zip(now["layers"], start["layers"], strict=True)):
            for head in range(2):
                rows = {}
                for query, key in task.interaction.open_entries(bits, head):
                    if seen["allowed"][query + extra, key + extra]:
                        rows.setdefault(query + extra, []).append(key + extra)
                keys = {i: np.flatnonzero(seen["allowed"][i]) for i in rows}
                rows = {i: opened for i, opened in rows.items() if len(opened) < len(keys[i])}
                u = np.mean([len(opened) / len(keys[i]) for i, opened in rows.items()])
                mass, mass_0, distance = [], [], []
                for p, q in zip(seen["probabilities"][:, head], first["probabilities"][:, head], strict=True):
                    mass.append(np.mean([p[i][opened].sum() for i, opened in rows.items()]))
                    mass_0.append(np.mean([q[i][opened].sum() for i, opened in rows.items()]))
                    for i, opened in rows.items():
                        target = np.zeros(len(p))
                        target[opened] = 1 / len(opened)
                        distance.append(np.abs(p[i] - target).sum() / 2)
                excess = np.mean(mass_0) - u
                contrast = {}
                for name, values in (
                    ("contrast", seen["bias"][head]),
                    ("contrast_logits", seen["scores"][:, head].mean(0)),
                ):
                    flat = {i: values[i] - values[i][keys[i]].mean() for i in rows}
                    inside = [flat[i][j] for i in rows for j in rows[i]]
                    outside = [flat[i][j] for i in rows for j in keys[i] if j not in rows[i]]
                    contrast[name] = np.mean(inside) - np.mean(outside)
                values = {
                    "mass": np.mean(mass), "distance": np.mean(distance), **contrast,
                    "retention": (np.mean(mass) - u) / excess if excess >= least else math.nan,
                }  # fmt: skip
                found |= {(name, layer, head): float(value) for name, value in values.items()}
        return found

    return measured


@pytest.mark.parametrize(
    ("mode", "optimizer", "options"),
    [
        ("alone", None, {"cls_token": True}),
        ("alone", None, {"causal": True}),
        ("stack:3", {"name": "sgd", "learning_rate": 0.1}, {}),
    ],
    ids=["cls", "causal", "stack"],
)
def test_a_training_agrees_with_the_plain_reimplementation(small, mode, optimizer, options):
    task = small.task(optimizer, **options)
    probe = Retention(examples=16)
    cells = [small.cell([probe], seed, start, task) for seed, start in ((0, Default()), (1, Mask()), (2, Mask(open=1)))]
    found = small.hold(probe, cells, mode, by_hand(task))
    assert {metric for metric, *_ in found} == {"mass", "retention", "distance", "contrast", "contrast_logits"}
