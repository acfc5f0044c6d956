"""Query-key initialisers: how near the attention at their own pseudo-input comes to the pattern."""

from __future__ import annotations

import math

import pytest
import torch

from benchmark.initializer import Context
from benchmark.nn.attention import attentions
from initializers.pseudo_input import patterns, pseudo_input
from initializers.structured_opt import StructuredOpt, _uniform
from initializers.structured_svd import StructuredSvd, pseudo_inverse
from tasks.boolean import Boolean

ADDITION = [[i, i + 3] for i in range(3)] + [[i + 3, i] for i in range(3)]
MULTIPLICATION = [[i, j + 3] for i in range(3) for j in range(3)] + [[i + 3, j] for i in range(3) for j in range(3)]
PATTERNS = {
    "addition": (6, {"name": "custom", "entries": ADDITION}),
    "multiplication": (6, {"name": "custom", "entries": MULTIPLICATION}),
    "pair": (15, {"name": "parity_pair_off", "groups": [[0, 1]]}),
    "pair_identity": (15, {"name": "parity_pair_off", "groups": [[0, 1]], "rows_elsewhere": "identity"}),
    "band": (15, {"name": "cyclic_band", "offsets": [0, 1]}),
}


def task(name="pair", dim=256, head_dim=64, layers=1, heads=2, cls_token=False):
    bits, interaction = PATTERNS[name]
    return Boolean(
        optimizer={"learning_rate": 1e-3},
        budget={"batch_size": 16, "steps": 2},
        bits=bits,
        target=[{"bits": [0, 1]}],
        seen={"any_positive": [0, 1]},
        model={
            "layers": layers, "heads": heads, "dim": dim, "head_dim": head_dim, "mlp_dim": 8, "pooling": "mean",
            "cls_token": cls_token,
        },
        interaction=interaction,
    )  # fmt: skip


def started(initializer, of, seed=0):
    torch.manual_seed(seed)
    model = of.build_model()
    with torch.no_grad():
        initializer.apply(model, Context(of, seed, torch.Generator().manual_seed(seed)))
    return model


def total_variation(model, of, kind="layer_norm"):
    """½ Σ |attention − pattern / row sum|, mean over the rows that have open entries, all layers and heads."""
    positions = pseudo_input(model, of, kind)
    distances = []
    for attention, pattern in zip(attentions(model), patterns(of), strict=True):
        query = positions @ attention.head_weight("query").transpose(1, 2)
        key = positions @ attention.head_weight("key").transpose(1, 2)
        found = torch.softmax(query @ key.transpose(1, 2) / math.sqrt(attention.head_dim), -1)
        wanted = pattern / pattern.sum(-1, keepdim=True).clamp_min(1)
        distances.append((0.5 * (found - wanted).abs().sum(-1))[pattern.sum(-1) > 0])
    return torch.cat(distances).mean().item()


@pytest.mark.parametrize("name", PATTERNS)
def test_rank_aware_svd_reaches_every_pattern_at_its_pseudo_input(name):
    of = task(name)
    for seed in range(3):
        assert total_variation(started(StructuredSvd(norm=20, noise=0), of, seed), of) < 1e-3


CASES = [("addition", 2), ("pair_identity", 2), ("multiplication", 20), ("band", 20)]


@pytest.mark.parametrize(("name", "norm"), CASES)
def test_released_svd_inverts_rounding_noise_when_there_are_fewer_tokens_than_the_head_is_wide(name, norm):
    """The noise takes up the norm, so the pattern's share of it is too small: how much depends on the norm."""
    of = task(name)
    for seed in range(3):
        released, aware = (
            total_variation(started(StructuredSvd(norm=norm, rank=rank), of, seed), of)
            for rank in ("released", "numerical")
        )
        assert aware < 0.02 < 0.1 < released


def test_both_ranks_agree_when_there_are_more_tokens_than_the_head_is_wide():
    of = task("pair_identity", dim=16, head_dim=8)
    released, aware = (started(StructuredSvd(rank=rank), of) for rank in ("released", "numerical"))
    for one, other in zip(attentions(released), attentions(aware), strict=True):
        torch.testing.assert_close(one.head_weight("query"), other.head_weight("query"), rtol=1e-4, atol=1e-4)


def test_pseudo_inverse_solves_the_normal_equations():
    torch.manual_seed(0)
    tall = torch.randn(20, 6, dtype=torch.float64)
    torch.testing.assert_close(pseudo_inverse(tall, 6, exact=False), torch.linalg.pinv(tall))
    wide = torch.randn(6, 20, dtype=torch.float64)
    torch.testing.assert_close(pseudo_inverse(wide, 20, exact=True), torch.linalg.pinv(wide))


def test_svd_scales_each_head_to_the_given_norm_and_leaves_the_rest():
    of = task()
    attention = attentions(started(StructuredSvd(norm=7), of))[0]
    for role in ("query", "key"):
        torch.testing.assert_close(torch.linalg.matrix_norm(attention.head_weight(role)), torch.full((2,), 7.0))
    torch.manual_seed(0)
    default = attentions(of.build_model())[0]
    assert torch.equal(attention.value.weight, default.value.weight)
    assert torch.equal(attention.proj.weight, default.proj.weight)
    assert torch.equal(attention.prior, default.prior)


def test_cls_token_is_left_out_of_pattern_and_pseudo_input():
    of = task(cls_token=True)
    model = started(StructuredSvd(norm=20), of)
    assert pseudo_input(model, of, "raw").shape == (15, 256)
    assert torch.equal(pseudo_input(model, of, "raw"), model.positions[1:])
    assert total_variation(model, of) < 1e-3


@pytest.mark.parametrize("initializer", [StructuredSvd(), StructuredOpt(steps=3)])
def test_draws_come_from_the_given_generator_alone(initializer):
    of = task(dim=32, head_dim=16)
    torch.manual_seed(5)
    model = of.build_model()
    weights = []
    for disturbance in (0, 1):
        torch.manual_seed(disturbance)
        with torch.no_grad():
            initializer.apply(model, Context(of, 0, torch.Generator().manual_seed(0)))
        weights.append(attentions(model)[0].query.weight.clone())
    assert torch.equal(*weights)


def test_optimisation_comes_near_the_pattern_and_needs_its_steps():
    of = task("pair_identity", dim=64, head_dim=32)
    short, long = (total_variation(started(StructuredOpt(steps=n, learning_rate=1e-3), of), of) for n in (2, 400))
    assert long < 0.05 < 0.5 < short


def test_optimising_layers_together_is_optimising_each_alone():
    """Adam is elementwise and the loss a sum over heads, so what else is in the batch does not matter."""
    initializer = StructuredOpt(steps=150, learning_rate=1e-3)
    positions = torch.randn(15, 32, generator=torch.Generator().manual_seed(1))
    target = patterns(task("pair_identity"))[0]  # (2, N, N), each row with one open entry

    query, key = _uniform(2, 16, 4, 32, torch.Generator().manual_seed(0))
    alone = initializer._optimize(positions, target, 2, query[:2], key[:2])
    together = initializer._optimize(positions, torch.cat((target, target)), 2, query, key)
    for one, both in zip(alone, together, strict=True):
        torch.testing.assert_close(both[:2], one, rtol=1e-4, atol=1e-5)
        assert (both[:2] - both[2:]).abs().max() > 1e-2


def test_optimisation_keeps_the_norm_it_started_with():
    of = task("pair_identity", dim=32, head_dim=16)
    attention = attentions(started(StructuredOpt(steps=101, learning_rate=1e-3), of))[0]
    generator = torch.Generator().manual_seed(0)
    drawn = (2 * torch.rand(2, 32, 16, generator=generator) - 1) * math.sqrt(1 / (16 * 2))
    expected = drawn.norm(dim=1).mean()
    found = attention.head_weight("query").norm(dim=2)  # (H, d), over D; one step after the last rescaling
    torch.testing.assert_close(found, expected.expand(2, 16), rtol=2e-2, atol=0)


def test_raw_positions_and_a_given_scale_are_the_2401_variant():
    of = task("pair_identity", dim=64, head_dim=32)
    model = started(StructuredOpt(steps=400, learning_rate=1e-3, pseudo_input="raw", scale=1 / math.sqrt(32)), of)
    assert total_variation(model, of, "raw") < 0.05


@pytest.mark.parametrize("initializer", [StructuredSvd(), StructuredOpt()])
def test_a_task_without_a_pattern_is_declined(initializer):
    assert initializer.unsupported(task().model_copy(update={"interaction": None})) is not None
    assert initializer.unsupported(task()) is None


def test_a_model_without_positions_is_refused_by_name():
    with pytest.raises(TypeError, match="Linear has no tensor `positions`"):
        pseudo_input(torch.nn.Linear(2, 2), task(), "raw")
