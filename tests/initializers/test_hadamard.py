"""The Hadamard mask against the additive one: arXiv 2608.00418 Proposition 1, and what is exactly equal."""

from __future__ import annotations

import math

import pytest
import torch
from pydantic import ValidationError

from benchmark.cell import Cell
from benchmark.initializer import Context
from benchmark.nn.attention import Attention, attentions, set_prior_mode
from benchmark.train.mode import Mode
from benchmark.train.stack import train_stack
from initializers.default import Default
from initializers.hadamard import Hadamard
from initializers.mask import Mask
from tasks.arithmetic import Arithmetic

MODEL = {"layers": 2, "heads": 4, "dim": 16, "head_dim": 4, "mlp_dim": 8, "pooling": "mean", "cls_token": False}
ALIGNED = {"name": "add_aligned"}


def task(interaction=ALIGNED, **changes):
    fields = {
        "optimizer": {"name": "adamw", "learning_rate": 1e-2},
        "budget": {"batch_size": 16, "steps": 3},
        "operation": "addition",
        "digits": 2,
        "train_fraction": 0.01,
        "test_sample": 16,
        "outputs": "pooled_multi_head",
        "model": MODEL,
        "interaction": interaction,
    }
    return Arithmetic(**{**fields, **changes})


def started(initializer, of):
    torch.manual_seed(0)
    model = of.build_model()
    set_prior_mode(model, initializer.prior_mode())
    with torch.no_grad():
        initializer.apply(model, Context(of, 0, torch.Generator().manual_seed(0)))
    return model


def probabilities(mode, scores, prior, renormalize=False):
    """Attention weights (H, N, N) of given logits: queries are the logits, keys the unit vectors times √N."""
    heads, tokens, _ = scores.shape
    attention = Attention(4, heads, tokens, tokens, renormalize=renormalize).double()
    attention.prior_mode = mode
    attention.prior = torch.nn.Parameter(prior)
    key = torch.eye(tokens, dtype=scores.dtype).expand(1, heads, tokens, tokens) * math.sqrt(tokens)
    return attention.probabilities(scores[None], key)[0]


@pytest.fixture
def drawn():
    """Logits and priors, (3, 6, 6)."""
    generator = torch.Generator().manual_seed(0)
    scores, prior = (3 * torch.randn(3, 6, 6, dtype=torch.float64, generator=generator) for _ in range(2))
    return scores, prior


def test_additive_attention_has_norm_one_or_more_whatever_the_mask(drawn):
    scores, prior = drawn
    for scale in (0, 1, 10, 100):
        norms = torch.linalg.matrix_norm(probabilities("log_sigmoid", scores, scale * prior))
        assert (norms >= 1 - 1e-12).all()
    uniform = probabilities("log_sigmoid", torch.zeros_like(scores), torch.full_like(prior, -3))
    torch.testing.assert_close(torch.linalg.matrix_norm(uniform), torch.ones(3, dtype=torch.float64))


def test_hadamard_attention_has_no_lower_bound_but_zero(drawn):
    scores, prior = drawn
    norms = [
        torch.linalg.matrix_norm(probabilities("hadamard", scores, torch.full_like(prior, -c))).max().item()
        for c in (0, 5, 10, 40)
    ]
    assert norms == sorted(norms, reverse=True)
    assert norms[0] > 0.5
    assert norms[-1] < 1e-15


def test_hadamard_attention_is_the_factor_times_the_softmax(drawn):
    scores, prior = drawn
    expected = torch.sigmoid(prior) * torch.softmax(scores, dim=-1)
    torch.testing.assert_close(probabilities("hadamard", scores, prior), expected)


def test_renormalised_hadamard_is_the_additive_mask(drawn):
    scores, prior = drawn
    one = probabilities("hadamard", scores, prior, renormalize=True)
    torch.testing.assert_close(one, probabilities("log_sigmoid", scores, prior))


def test_jacobians_by_the_mask_are_the_published_ones(drawn):
    """Hadamard: δ_ij p_j σ(m_j) σ(−m_j), p = softmax of the logits alone. Additive: p_i (δ_ij − p_j) σ(−m_j), p with
    the mask, Theorem 1."""
    row, mask = drawn[0][0, 0], drawn[1][0, 0]

    def attend(mode, m):
        return probabilities(mode, row.expand(1, 6, 6), m.expand(1, 6, 6))[0, 0]

    plain = torch.softmax(row, -1)
    found = torch.autograd.functional.jacobian(lambda m: _hadamard(row, m), mask)
    torch.testing.assert_close(found, torch.diag(plain * torch.sigmoid(mask) * torch.sigmoid(-mask)))
    p = attend("log_sigmoid", mask).detach()
    found = torch.autograd.functional.jacobian(lambda m: _additive(row, m), mask)
    torch.testing.assert_close(found, (torch.diag(p) - p[:, None] * p[None]) * torch.sigmoid(-mask))
    torch.testing.assert_close(_additive(row, mask), p)
    torch.testing.assert_close(_hadamard(row, mask), attend("hadamard", mask).detach())


def _hadamard(row, mask):
    return torch.sigmoid(mask) * torch.softmax(row, -1)


def _additive(row, mask):
    return torch.softmax(row + torch.nn.functional.logsigmoid(mask), -1)


def test_jacobian_by_the_logits_is_damped_by_the_factor(drawn):
    """σ(M) multiplies each row of the softmax's Jacobian, so a closed pair passes next to no gradient to its logit."""
    row, mask = drawn[0][0, 0], drawn[1][0, 0]
    softmax = torch.autograd.functional.jacobian(lambda z: torch.softmax(z, -1), row)
    gated = torch.autograd.functional.jacobian(lambda z: _hadamard(z, mask), row)
    torch.testing.assert_close(gated, torch.sigmoid(mask)[:, None] * softmax)
    assert torch.linalg.matrix_norm(gated) < torch.linalg.matrix_norm(softmax)


def signs(prior):
    return ["".join("x" if entry > 0 else "." for entry in row) for row in prior.tolist()]


def test_slot_has_the_pattern_and_is_open_where_the_pattern_says_nothing():
    """A closed row would not attend at all; in additive form it is neutral."""
    first = attentions(started(Hadamard(), task({"name": "add_heads"})))[0]
    assert signs(first.prior[0]) == ["..x.", "...x", "x...", ".x.."]
    assert signs(first.prior[2]) == [".x.x", "xxxx", ".x.x", "xxxx"]
    second = attentions(started(Hadamard(layers=(0,)), task()))[1]
    assert set(second.prior.unique().tolist()) == {10.0}


def test_open_everywhere_is_nearly_no_mask_and_the_pattern_is_not():
    of = task()
    inputs = of.training_examples(0).inputs
    default = started(Default(), of)(inputs)
    torch.testing.assert_close(started(Hadamard(layers=()), of)(inputs), default, rtol=1e-3, atol=1e-3)
    assert (started(Hadamard(), of)(inputs) - default).abs().max() > 1e-2


def test_renormalised_models_are_those_of_the_additive_mask():
    of = task({"name": "add_heads"})
    inputs = of.training_examples(0).inputs
    one, other = started(Hadamard(renormalize=True), of), started(Mask(), of)
    torch.testing.assert_close(one(inputs), other(inputs), rtol=1e-4, atol=1e-5)
    assert not any(attention.renormalize for attention in attentions(started(Hadamard(), of)))


def test_renormalised_training_follows_the_additive_mask_and_the_plain_form_does_not():
    of = task(model={**MODEL, "layers": 1})
    cells = [
        Cell(name, "task", name, 0, "compact", of, initializer)
        for name, initializer in (
            ("divided", Hadamard(open=1, close=-1, renormalize=True)),
            ("plain", Hadamard(open=1, close=-1)),
            ("additive", Mask(open=1, close=-1)),
        )
    ]
    mode = Mode(compiled=False, stack_size=2)
    *both, additive = [*train_stack(cells[:2], mode=mode), *train_stack(cells[2:], mode=mode)]
    assert {outcome.status for outcome in (*both, additive)} == {"finished"}
    assert both[0].finals["train_loss@16"] == pytest.approx(additive.finals["train_loss@16"], rel=1e-3)
    assert both[1].finals["train_loss@16"] != pytest.approx(additive.finals["train_loss@16"], rel=1e-3)


def test_it_needs_a_pattern_and_has_no_other_mode():
    assert Hadamard().unsupported(task(interaction=None)) == "the task has no interaction pattern"
    assert Hadamard().unsupported(task()) is None
    with pytest.raises(ValidationError, match="hadamard"):
        Hadamard(mode="identity")


def test_a_plain_mask_does_not_multiply_and_names_the_one_that_does():
    with pytest.raises(ValidationError, match="use the initialiser family hadamard"):
        Mask(mode="hadamard")
    assert Hadamard().mode == "hadamard"
