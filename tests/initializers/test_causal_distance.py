"""The causal-distance mask: the published formula in the logits, and steps as if M itself were trained."""

from __future__ import annotations

import math

import pytest
import torch

from benchmark.initializer import Context
from benchmark.nn.attention import attentions
from benchmark.nn.shape import EncoderShape
from benchmark.parameters import Optimizer
from benchmark.train.layout import Layout
from benchmark.train.optim import initial_state, update
from initializers.causal_distance import CausalDistance
from tasks.boolean import Boolean
from tasks.language import Language

TOKENS = 6


def task():
    return Language(
        optimizer={"learning_rate": 1e-3},
        budget={"batch_size": 2, "steps": 1},
        corpus="alice",
        tokenizer="bytes",
        model={"layers": 2, "heads": 2, "dim": 8, "head_dim": 4, "mlp_dim": 8, "context": TOKENS},
    )


def started(initializer):
    torch.manual_seed(0)
    model = task().build_model()
    with torch.no_grad():
        initializer.apply(model, Context(task(), 0, torch.Generator()))
    return model


@pytest.mark.parametrize("scale", [10.0, 2.5])
def test_logits_get_log_sigmoid_of_the_scaled_negative_distance(scale):
    for attention in attentions(started(CausalDistance(scale=scale))):
        assert attention.prior_mode == CausalDistance().prior_mode() == "log_sigmoid"
        bias = torch.nn.functional.logsigmoid(attention.prior)
        for head in range(2):
            for i in range(TOKENS):
                for j in range(TOKENS):
                    m = -max(i - j, 0)
                    expected = -math.log1p(math.exp(-scale * m))  # log σ(s·M_ij)
                    assert bias[head, i, j].item() == pytest.approx(expected, rel=1e-6)


def test_a_token_attends_to_itself_first_and_never_to_later_ones():
    attention = attentions(started(CausalDistance()))[0]
    zero = torch.zeros(1, 2, TOKENS, 4)
    weights = attention.probabilities(zero, zero)[0, 0]
    assert torch.equal(weights.triu(1), torch.zeros_like(weights))
    ratio = weights[3, 2] / weights[3, 3]
    assert ratio.item() == pytest.approx(2 / (1 + math.exp(10)), rel=1e-5)  # σ(−10) / σ(0)


def test_adamw_moves_the_slot_as_it_would_move_the_scaled_matrix():
    """Training M with bias log σ(10·M) and training the slot P = 10·M under the rule give the same bias."""
    scale, decay, rate = 10.0, 0.1, 1e-3
    initializer = CausalDistance(scale=scale, weight_decay=decay / scale)
    optimizer = Optimizer(name="adamw", learning_rate=rate, weight_decay=decay, epsilon=1e-30)
    model = started(initializer)
    name = "blocks.0.attention.prior"
    start = dict(model.named_parameters())[name].detach().double()
    matrix = torch.nn.Parameter(start / scale)
    reference = torch.optim.AdamW([matrix], lr=rate, weight_decay=decay, eps=1e-30)

    layout = Layout.of(model.double())
    rows = layout.join({n: p.detach() for n, p in model.named_parameters()})[None].clone()
    state = initial_state(layout, optimizer, [initializer.parameter_rules()], 5, "cpu")
    for step in range(5):
        slope = torch.randn(start.shape, generator=torch.Generator().manual_seed(step), dtype=torch.float64)
        gradients = {n: torch.zeros_like(p) for n, p in model.named_parameters()} | {name: slope}
        update(
            optimizer, layout, rows, layout.split(layout.join(gradients)[None]), state.tensors(), state.scalars[step]
        )
        matrix.grad = scale * slope
        reference.step()
    torch.testing.assert_close(layout.split(rows)[name][0], scale * matrix.detach())


def test_it_can_be_frozen():
    (rule,) = CausalDistance(trainable=False).parameter_rules()
    assert (rule.match, rule.trainable) == ("*.prior", False)
    (rule,) = CausalDistance(learning_rate_multiplier=0.5).parameter_rules()
    assert rule.learning_rate_multiplier == 0.5


def test_it_says_why_it_does_not_fit_attention_that_sees_the_future():
    shape = EncoderShape(layers=1, heads=1, dim=4, head_dim=4, mlp_dim=4, pooling="mean", cls_token=False)
    boolean = Boolean(
        optimizer={"learning_rate": 1e-3},
        budget={"batch_size": 2, "steps": 1},
        bits=2,
        target=[{"bits": [0, 1]}],
        seen={"any_positive": [0]},
        model=shape,
    )
    assert CausalDistance().unsupported(boolean) == "the task's attention is not causal"
    assert CausalDistance().unsupported(task()) is None
