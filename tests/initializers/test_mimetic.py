"""Mimetic initialisation: the products it promises, on every shape of head, and what it leaves alone."""

from __future__ import annotations

import pytest
import torch

from benchmark.initializer import Context
from benchmark.nn.attention import attentions
from initializers.mimetic import Mimetic, factors, near_identity
from initializers.sinusoidal import sinusoidal_positions, sinusoids
from tasks.boolean import Boolean
from tasks.vision import Vision


def vision(**model):
    shape = {"layers": 2, "heads": 3, "dim": 48, "mlp_dim": 8, "patch": 2, **model}
    optimizer, budget = {"learning_rate": 1e-3}, {"batch_size": 16, "steps": 2}
    return Vision(optimizer=optimizer, budget=budget, data="digits", image_size=8, model=shape)


def boolean(dim, heads, head_dim):
    shape = {"layers": 1, "heads": heads, "dim": dim, "head_dim": head_dim, "mlp_dim": 8, "pooling": "mean"}
    return Boolean(
        optimizer={"learning_rate": 1e-3}, budget={"batch_size": 4, "steps": 2}, bits=6, target=[{"bits": [0, 1]}],
        seen={"any_positive": [0]}, model=shape,
    )  # fmt: skip


def started(initializer, of, seed=0):
    torch.manual_seed(seed)
    model = of.build_model()
    with torch.no_grad():
        initializer.apply(model, Context(of, seed, torch.Generator().manual_seed(seed)))
    return model


def products(attention):
    """W_Q W_Kᵀ of every head and W_V W_O, rows multiplied from the left: what the layers do to a basis."""
    basis = torch.eye(attention.query.in_features)
    bias = [layer.bias if layer.bias is not None else 0 for layer in (attention.query, attention.key, attention.value)]
    query, key, value = (
        layer(basis) - b for layer, b in zip((attention.query, attention.key, attention.value), bias, strict=True)
    )
    heads = [q @ k.T for q, k in zip(query.chunk(attention.heads, 1), key.chunk(attention.heads, 1), strict=True)]
    return torch.stack(heads), attention.proj(value) - attention.proj.bias


def drawn(generator, size, alpha, beta, count):
    """αZ + βI from the same numbers, written down again."""
    noise = torch.rand(count, size, size, generator=generator, dtype=torch.float64)
    return alpha * (2 * noise - 1) * (3 / size) ** 0.5 + beta * torch.eye(size, dtype=torch.float64)


@torch.no_grad()
def test_products_are_the_drawn_matrices_at_the_rank_of_a_head():
    attention = attentions(started(Mimetic(), vision()))[0]
    generator = torch.Generator().manual_seed(0)
    wanted = drawn(generator, 48, 0.7, 0.7, 3)
    left, values, right = torch.linalg.svd(wanted)
    wanted = (left[:, :, :16] * values[:, None, :16]) @ right[:, :16]
    found, output = products(attention)
    torch.testing.assert_close(found.double(), wanted, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(output.double(), drawn(generator, 48, 0.4, -0.4, 1)[0], rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_without_noise_the_value_product_is_minus_the_identity_times_beta():
    _, output = products(attentions(started(Mimetic(vo_alpha=0, vo_beta=-0.4), vision()))[1])
    torch.testing.assert_close(output, -0.4 * torch.eye(48), rtol=1e-4, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize(("dim", "heads", "head_dim"), [(24, 2, 6), (24, 3, 16), (8, 2, 12)])
def test_heads_narrower_or_wider_than_the_model_give_the_best_product_they_can(dim, heads, head_dim):
    attention = attentions(started(Mimetic(qk_alpha=0.1), boolean(dim, heads, head_dim)))[0]
    generator = torch.Generator().manual_seed(0)
    found, output = products(attention)
    for product, wanted, rank in (
        *zip(found, drawn(generator, dim, 0.1, 0.7, heads), [head_dim] * heads, strict=True),
        (output, drawn(generator, dim, 0.4, -0.4, 1)[0], heads * head_dim),
    ):
        left, values, right = torch.linalg.svd(wanted)
        best = (left[:, :rank] * values[:rank]) @ right[:rank]
        torch.testing.assert_close(product.double(), best, rtol=1e-4, atol=1e-5)
    assert attention.value.weight.any(dim=1).all()  # a value column of zeros meeting zeros would never be trained


@pytest.mark.parametrize("noise", ["uniform", "normal"])
def test_noise_has_variance_one_over_the_width(noise):
    matrix = near_identity(400, 1.0, 0.0, noise, torch.Generator().manual_seed(0))[0]
    assert matrix.var().item() * 400 == pytest.approx(1, rel=0.02)
    kurtosis = (matrix.pow(4).mean() / matrix.var() ** 2).item()
    assert kurtosis == pytest.approx(1.8 if noise == "uniform" else 3.0, rel=0.03)


def test_factors_multiply_to_the_matrix():
    matrix = torch.randn(2, 7, 7, dtype=torch.float64)
    left, right = factors(matrix, 7)
    torch.testing.assert_close(left @ right, matrix)
    torch.testing.assert_close(left.norm(dim=1), right.norm(dim=2))  # √S on both sides


@pytest.mark.parametrize("parts", ["query_key", "value_output"])
def test_only_the_asked_part_is_set(parts):
    changed = attentions(started(Mimetic(parts=parts), vision()))[0]
    torch.manual_seed(0)
    default = attentions(vision().build_model())[0]
    for role, part in {
        "query": "query_key",
        "key": "query_key",
        "value": "value_output",
        "proj": "value_output",
    }.items():
        same = torch.equal(getattr(changed, role).weight, getattr(default, role).weight)
        assert same == (part != parts), role
    assert torch.equal(changed.prior, default.prior)


def test_sinusoids_have_the_stated_wavelengths():
    found = sinusoids(torch.arange(7).float(), 6)
    rate = torch.tensor([1.0, 1e-2, 1e-4])
    expected = torch.stack([torch.cat((torch.sin(i * rate), torch.cos(i * rate))) for i in range(7)])
    torch.testing.assert_close(found, expected)


def test_sinusoidal_positions_tell_columns_and_rows_apart_and_leave_cls():
    of = vision(cls_token=True)
    model = started(Mimetic(positions="sinusoidal_fixed"), of)
    grid = model.positions[1:].view(4, 4, 48).detach()
    assert torch.equal(model.positions[1:], sinusoidal_positions(of))
    assert torch.equal(grid[0, :, :24], grid[3, :, :24])
    assert torch.equal(grid[:, 0, 24:], grid[:, 3, 24:])
    assert not torch.equal(grid[0, 1], grid[1, 0])
    torch.manual_seed(0)
    assert torch.equal(model.positions[0], of.build_model().positions[0])
    assert [rule.match for rule in Mimetic(positions="sinusoidal_fixed").parameter_rules()] == ["positions"]
    assert Mimetic(positions="sinusoidal").parameter_rules() == ()


def test_a_width_that_sinusoids_do_not_fit_is_declined():
    assert "multiple of 4" in Mimetic(positions="sinusoidal").unsupported(vision(heads=3, dim=42))
    assert Mimetic(positions="sinusoidal").unsupported(boolean(10, 2, 4)) is None
    assert Mimetic().unsupported(vision(heads=3, dim=42)) is None


def test_draws_come_from_the_given_generator_alone():
    weights = []
    for disturbance in (0, 1):
        model = vision().build_model()
        torch.manual_seed(disturbance)
        with torch.no_grad():
            Mimetic().apply(model, Context(vision(), 0, torch.Generator().manual_seed(0)))
        weights.append(attentions(model)[0].query.weight.clone())
    assert torch.equal(*weights)
