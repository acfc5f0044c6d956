"""Attention with a prior slot: against PyTorch's own attention, finite differences and hand calculation."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from benchmark.nn.attention import Attention, attentions, set_prior_mode

B, N, D, H, d = 3, 5, 8, 2, 6


def attention(**options):
    torch.manual_seed(0)
    module = Attention(D, H, d, N, **options).double()
    with torch.no_grad():
        module.prior.copy_(3 * torch.randn(H, N, N))
    return module


def plain(module: Attention, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The same layer with `scaled_dot_product_attention` and the prior as its mask."""

    def heads(linear):
        return linear(x).view(B, N, H, d).transpose(1, 2)

    mixed = functional.scaled_dot_product_attention(
        heads(module.query), heads(module.key), heads(module.value), attn_mask=bias
    )
    return module.proj(mixed.transpose(1, 2).reshape(B, N, H * d))


@pytest.mark.parametrize("qkv_bias", [False, True])
@pytest.mark.parametrize(("mode", "bias"), [("log_sigmoid", functional.logsigmoid), ("identity", lambda m: m)])
def test_agrees_with_scaled_dot_product_attention(mode, bias, qkv_bias):
    module, x = attention(qkv_bias=qkv_bias), torch.randn(B, N, D, dtype=torch.float64)
    set_prior_mode(module, mode)
    torch.testing.assert_close(module(x), plain(module, x, bias(module.prior)), rtol=1e-12, atol=1e-12)


def test_causal_attention_agrees_and_ignores_the_future():
    module, x = attention(causal=True), torch.randn(B, N, D, dtype=torch.float64)
    future = torch.full((N, N), -math.inf, dtype=torch.float64).triu(1)
    expected = plain(module, x, functional.logsigmoid(module.prior) + future)
    torch.testing.assert_close(module(x), expected, rtol=1e-12, atol=1e-12)
    changed = x.clone()
    changed[:, -1] += 1
    torch.testing.assert_close(module(changed)[:, :-1], module(x)[:, :-1], rtol=0, atol=0)


def test_shorter_inputs_use_the_corner_of_the_prior():
    module, x = attention(causal=True), torch.randn(B, N, D, dtype=torch.float64)
    torch.testing.assert_close(module(x[:, :3]), module(x)[:, :3], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("renormalize", [False, True])
def test_hadamard_prior_multiplies_the_attention(renormalize):
    module, x = attention(renormalize=renormalize), torch.randn(B, N, D, dtype=torch.float64)
    query, key, _ = module.split_heads(x)
    set_prior_mode(module, "identity")
    neutral = torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(d), -1)
    set_prior_mode(module, "hadamard")
    expected = torch.sigmoid(module.prior) * neutral
    if renormalize:
        expected = expected / expected.sum(-1, keepdim=True)
        torch.testing.assert_close(expected.sum(-1), torch.ones(B, H, N, dtype=torch.float64))
    torch.testing.assert_close(module.probabilities(query, key), expected, rtol=1e-12, atol=1e-12)


def row(module, logits, prior):
    """Attention of one row with these QK logits and this row of M."""
    with torch.no_grad():
        module.prior[0, 0] = prior
    query = torch.zeros(1, H, N, d, dtype=torch.float64)
    key = torch.zeros(1, H, N, d, dtype=torch.float64)
    query[0, 0, 0, 0] = math.sqrt(d)
    key[0, 0, :, 0] = logits
    return module.probabilities(query, key)[0, 0, 0]


def test_gradient_of_the_mask_is_theorem_1_and_agrees_with_finite_differences():
    """∂p_i/∂m_j = p_i (δ_ij − p_j) σ(−m_j), arXiv 2608.00418 Theorem 1."""
    module = attention()
    logits, prior = torch.randn(N, dtype=torch.float64), 2 * torch.randn(N, dtype=torch.float64)
    p = row(module, logits, prior).detach()
    formula = (torch.diag(p) - torch.outer(p, p)) * torch.sigmoid(-prior)
    autograd = torch.stack(
        [torch.autograd.grad(row(module, logits, prior)[i], module.prior)[0][0, 0] for i in range(N)]
    )
    step = 1e-6
    differences = torch.stack(
        [
            (row(module, logits, prior + e) - row(module, logits, prior - e)).detach() / (2 * step)
            for e in step * torch.eye(N, dtype=torch.float64)
        ],
        dim=1,
    )
    torch.testing.assert_close(formula, differences, rtol=0, atol=1e-9)
    torch.testing.assert_close(autograd, differences, rtol=0, atol=1e-9)


def test_a_row_closed_everywhere_is_a_neutral_row():
    module, logits = attention(), torch.randn(N, dtype=torch.float64)
    closed = row(module, logits, torch.full((N,), -10.0, dtype=torch.float64)).detach()
    torch.testing.assert_close(closed, torch.softmax(logits, 0), rtol=0, atol=1e-15)


@pytest.mark.parametrize("c", [0.5, 1.0, 2.0, 5.0, 10.0])
def test_open_c_against_closed_minus_c_is_a_contrast_of_c(c):
    prior = torch.tensor([c] + [-c] * (N - 1), dtype=torch.float64)
    p = row(attention(), torch.zeros(N, dtype=torch.float64), prior).detach()
    assert (p[0] / p[1]).log().item() == pytest.approx(c, abs=1e-12)


def test_an_all_zero_prior_equals_a_constant_one_but_is_trained_half_as_fast():
    module, logits = attention(), torch.randn(N, dtype=torch.float64)
    gradients = {}
    for constant in (0.0, -40.0):
        p = row(module, logits, torch.full((N,), constant, dtype=torch.float64))
        torch.testing.assert_close(p.detach(), torch.softmax(logits, 0), rtol=0, atol=1e-14)
        gradients[constant] = torch.autograd.grad(p[0], module.prior)[0][0, 0]
    torch.testing.assert_close(gradients[0.0], 0.5 * gradients[-40.0], rtol=1e-9, atol=1e-12)


def test_head_weights_are_views_of_each_head():
    module, x = attention(), torch.randn(4, D, dtype=torch.float64)
    weight = module.head_weight("key")
    assert weight.shape == (H, d, D)
    torch.testing.assert_close(x @ weight[1].T, module.key(x)[:, d:])
    weight[1] = 0
    assert module.key.weight[d:].abs().sum() == 0 < module.key.weight[:d].abs().sum()
    proj = module.head_weight("proj")
    assert proj.shape == (H, D, d)
    y = torch.randn(4, H * d, dtype=torch.float64)
    expected = y[:, :d] @ proj[0].T + y[:, d:] @ proj[1].T + module.proj.bias
    torch.testing.assert_close(module.proj(y), expected)
    proj[0] = 0
    assert module.proj.weight[:, :d].abs().sum() == 0


def test_prior_modes_reach_every_layer():
    model = torch.nn.Sequential(attention(), attention())
    set_prior_mode(model, "identity")
    assert [module.prior_mode for module in attentions(model)] == ["identity", "identity"]
    with pytest.raises(ValueError, match="log_sigmoid, identity, hadamard; found 'add'"):
        set_prior_mode(model, "add")


class LowRank(torch.nn.Module):
    """A map with a second, low-rank one beside it."""

    def __init__(self, base):
        super().__init__()
        self.base, self.down, self.up = base, torch.nn.Linear(D, 2).double(), torch.nn.Linear(2, H * d).double()

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


def replaced(module, role):
    setattr(module, role, LowRank(getattr(module, role)))


def hooked(module, role):
    getattr(module, role).register_forward_hook(lambda _, inputs, output: 3 * output)


def prehooked(module, role):
    getattr(module, role).register_forward_pre_hook(lambda _, inputs: (2 * inputs[0],))


def own_forward(module, role):
    linear = getattr(module, role)
    linear.forward = lambda x: functional.linear(x, 2 * linear.weight)


def biased(module, role):
    getattr(module, role).bias = torch.nn.Parameter(torch.arange(H * d).double())


def normed(module, role):
    torch.nn.utils.parametrizations.weight_norm(getattr(module, role))
    with torch.no_grad():
        getattr(module, role).parametrizations.weight.original0.mul_(2)


@pytest.mark.parametrize("role", ["query", "key", "value"])
@pytest.mark.parametrize("change", [replaced, hooked, prehooked, own_forward, biased, normed])
def test_what_is_done_to_one_of_the_three_maps_takes_effect(change, role):
    module, x = attention(), torch.randn(B, N, D, dtype=torch.float64)
    before = module(x)
    change(module, role)
    if (change, role) != (biased, "key"):  # one vector added to every key changes no attention: softmax does not see it
        assert not torch.allclose(module(x), before)
    assert torch.allclose(module(x), plain(module, x, functional.logsigmoid(module.prior)))
