"""Drift of bias, attention and logits: by hand, and against a slow plain reimplementation of a whole training."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from benchmark.probes import measures
from benchmark.probes.drift import Drift
from benchmark.train import program
from benchmark.train.mode import Mode
from benchmark.train.stack import train_stack
from initializers.default import Default
from initializers.mask import Mask

COMPILED = [
    pytest.mark.slow,
    pytest.mark.skipif(program.can_compile("cpu") is not None, reason="no C++ compiler"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
]

ALL = torch.ones(2, 2, dtype=torch.bool)


def test_total_variation_and_jensen_shannon_by_hand():
    p, q = torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5])
    assert float(measures.total_variation(p, q)) == 0.5
    # m = (3/4, 1/4): KL(p‖m) = ln 4/3, KL(q‖m) = ½ ln 2/3 + ½ ln 2 = ½ ln 4/3
    assert float(measures.jensen_shannon(p, q)) == pytest.approx(0.75 * math.log(4 / 3))
    apart = measures.jensen_shannon(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]))
    assert float(apart) == pytest.approx(math.log(2))


def test_a_bias_is_centred_over_the_keys_a_row_may_attend_to():
    bias = torch.tensor([[1.0, 99.0], [1.0, 3.0]])
    causal = torch.tensor([[True, False], [True, True]])
    assert measures.centred(bias, causal).tolist() == [[0.0, 0.0], [-1.0, 1.0]]


class Fixed:
    """A layer whose numbers are given: one head, two tokens."""

    allowed = ALL

    def __init__(self, bias, probabilities, scores):
        self.bias = torch.tensor([bias], dtype=torch.float64)
        self.probabilities = torch.tensor(probabilities, dtype=torch.float64).unsqueeze(1)
        self.scores = torch.tensor(scores, dtype=torch.float64).unsqueeze(1)


def test_each_drift_by_hand():
    start = Fixed([[0.0, 2.0], [5.0, 5.0]], [[[1.0, 0.0], [0.5, 0.5]]], [[[0.0, 0.0], [0.0, 0.0]]])
    # a constant on row 1 (softmax does not see it), row 0 from a difference of 2 to one of 4
    now = Fixed([[0.0, 4.0], [8.0, 8.0]], [[[0.5, 0.5], [0.5, 0.5]]], [[[1.0, 3.0], [7.0, 7.0]]])
    found = {name: float(value) for name, value in measures.drift(now, start).items()}
    assert found["bias"] == pytest.approx(math.sqrt(2**2 + 3**2 + 3**2))
    assert found["bias_centred"] == pytest.approx(1.0)  # (−1, 1) → (−2, 2): √2 / √2
    assert found["attention"] == pytest.approx(math.sqrt(0.5) / math.sqrt(1.5))
    assert found["attention_tv"] == pytest.approx(0.25)  # ½ in row 0, none in row 1
    assert found["attention_js"] == pytest.approx(0.75 * math.log(4 / 3) / 2)
    assert found["logits"] == pytest.approx(math.sqrt(2))  # row 0: (−1, 1); row 1 is constant


def test_a_constant_added_to_a_row_is_drift_of_the_bias_alone():
    start = Fixed([[0.0, 2.0], [5.0, 5.0]], [[[1.0, 0.0], [0.5, 0.5]]], [[[0.0, 0.0], [0.0, 0.0]]])
    now = Fixed([[9.0, 11.0], [5.0, 5.0]], [[[1.0, 0.0], [0.5, 0.5]]], [[[4.0, 4.0], [0.0, 0.0]]])
    found = {name: float(value) for name, value in measures.drift(now, start).items()}
    assert found.pop("bias") == pytest.approx(9 * math.sqrt(2))
    assert set(found.values()) == {0.0}


def test_without_a_bias_at_the_start_its_relative_drift_is_not_defined():
    start = Fixed([[0.0, 0.0], [0.0, 0.0]], [[[0.5, 0.5], [0.5, 0.5]]], [[[0.0, 0.0], [0.0, 0.0]]])
    assert torch.isnan(measures.drift(start, start)["bias_centred"]).all()


def test_content_by_hand():
    # two examples; row 0 differs by ±1 around (0, 2), row 1 does not
    layer = Fixed(
        [[0.0, 0.0], [0.0, 0.0]], [[[0.5, 0.5]] * 2] * 2, [[[0.0, 1.0], [4.0, 4.0]], [[0.0, 3.0], [4.0, 4.0]]]
    )
    found = measures.content(layer)
    assert float(found["content"]) == pytest.approx(1.0)  # each example is 1 from the mean, in one entry
    # without row means: (−½, ½) and (−3/2, 3/2); mean (−1, 1), so E‖·‖² = (½ + 9/2)/2 = 5/2 of which ½ is content
    assert float(found["content_share"]) == pytest.approx(0.2)


# --- a whole training -------------------------------------------------------------------------------------------------


def by_hand(now, start):
    """(metric, head) → value of one layer, with loops and numpy."""
    found = {}
    allowed = now["allowed"]
    for head in range(len(now["bias"])):
        flat, flat_scores = [], []
        for seen in (now, start):
            bias, scores = seen["bias"][head].copy(), seen["scores"][:, head].copy()
            for i, row in enumerate(allowed):
                bias[i][~row], bias[i][row] = 0, bias[i][row] - bias[i][row].mean()
                for example in scores:
                    example[i][~row], example[i][row] = 0, example[i][row] - example[i][row].mean()
            flat.append(bias)
            flat_scores.append(scores)
        p, q = now["probabilities"][:, head], start["probabilities"][:, head]
        m = (p + q) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            js = [np.where(a > 0, a * np.log(a / m), 0).sum(-1) for a in (p, q)]
        raw = np.where(allowed, now["scores"][:, head], 0)
        mean = flat_scores[0].mean(0)
        found |= {
            ("bias", head): np.linalg.norm(np.where(allowed, now["bias"][head] - start["bias"][head], 0)),
            ("attention", head): np.mean(
                [np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in zip(p, q, strict=True)]
            ),
            ("attention_tv", head): np.abs(p - q).sum(-1).mean() / 2,
            ("attention_js", head): (js[0] + js[1]).mean() / 2,
            ("logits", head): np.linalg.norm(mean - flat_scores[1].mean(0)),
            ("content", head): np.mean([np.linalg.norm(a - raw.mean(0)) for a in raw]),
            ("content_share", head): ((flat_scores[0] - mean) ** 2).sum() / (flat_scores[0] ** 2).sum(),
        }
        if np.linalg.norm(flat[1]):
            found["bias_centred", head] = np.linalg.norm(flat[0] - flat[1]) / np.linalg.norm(flat[1])
    return found


@pytest.mark.parametrize(
    ("mode", "optimizer", "options"),
    [
        ("alone", None, {}),
        ("alone", None, {"cls_token": True}),
        ("alone", None, {"causal": True}),
        ("stack:4", {"name": "sgd", "learning_rate": 0.1}, {}),
        pytest.param("compiled-stack:4", {"name": "sgd", "learning_rate": 0.1}, {}, marks=COMPILED),
    ],
)
def test_a_training_agrees_with_the_plain_reimplementation(small, mode, optimizer, options):
    task = small.task(optimizer, **options)
    starts = (Default(), Mask(open=2, close=-2))
    cells = [small.cell([probe := Drift(examples=20)], seed, start, task) for seed in (0, 1) for start in starts]

    def expected(now, start, before, step, plain):
        pairs = enumerate(zip(now["layers"], start["layers"], strict=True))
        return {(m, layer, head): value for layer, pair in pairs for (m, head), value in by_hand(*pair).items()}

    found = small.hold(probe, cells, mode, expected)
    assert max(value for (metric, *_, step), value in found.items() if (metric, step) == ("attention_tv", 10)) > 1e-3


def test_means_are_those_of_the_heads(small):
    outcome = train_stack([small.cell([Drift()])], mode=Mode.parse("alone"))[0]
    points = [p for p in outcome.recorded.points if p.metric == "attention_tv" and p.step == 10]
    heads = {(p.layer, p.head): p.value for p in points if p.head is not None}
    layers = {p.layer: p.value for p in points if p.head is None and p.layer is not None}
    assert len(heads) == 4
    assert layers == {layer: pytest.approx((heads[layer, 0] + heads[layer, 1]) / 2) for layer in (0, 1)}
    (whole,) = [p.value for p in points if p.layer is None]
    assert whole == pytest.approx(sum(heads.values()) / 4)


def test_heat_maps_are_kept_at_both_ends_and_their_size_is_limited(small):
    kept = train_stack([small.cell([Drift()])], mode=Mode.parse("alone"))[0].recorded
    assert {(a.name, a.layer, a.step, a.shape) for a in kept.arrays} == {
        (name, layer, step, (2, 5, 5)) for name in ("attention", "bias") for layer in (0, 1) for step in (0, 10)
    }
    rows = np.array(kept.arrays[0].values).reshape(2, 5, 5).sum(-1)
    assert rows == pytest.approx(np.ones((2, 5)), abs=1e-6)
    probe = Drift(array_bytes=500)  # one map of both layers takes 400
    limited = train_stack([small.cell([probe])], mode=Mode.parse("alone"))[0].recorded
    assert {(a.name, a.step) for a in limited.arrays} == {("attention", 0)}
    assert limited.about[probe.key]["left_out"] == [
        f"{what}: more than array_bytes = 500 in all" for what in ("bias at step 0", "attention at step 10")
    ]
