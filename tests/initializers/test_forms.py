"""Priors and forms of attention of the field: each formula by hand, and what it leaves alone."""

from __future__ import annotations

import math

import pytest
import torch

from benchmark.initializer import Context
from benchmark.nn.attention import attentions, set_prior_mode
from benchmark.nn.positions import Rotary
from initializers.query_key import Conditioned, MupLogits, QueryKeyNorm, Rope
from initializers.relative import Alibi, ConVit, RelativeBias, offsets, slopes
from initializers.residual import Lsuv, Residual, output_std
from initializers.sparse import SparseMask
from tasks.boolean import Boolean


def task(heads=2, bits=6, cls_token=False):
    return Boolean(
        optimizer={"learning_rate": 1e-3},
        budget={"batch_size": 16, "steps": 2},
        bits=bits,
        target=[{"bits": [0, 1]}],
        seen={"any_positive": [0, 1]},
        model={"layers": 2, "heads": heads, "dim": 8, "head_dim": 4, "mlp_dim": 8, "pooling": "mean",
               "cls_token": cls_token},
        interaction={"name": "block_identity", "groups": [[0, 1]]},
    )  # fmt: skip


def started(initializer, of):
    torch.manual_seed(0)
    model = of.build_model()
    set_prior_mode(model, initializer.prior_mode())
    with torch.no_grad():
        initializer.apply(model, Context(of, 0, torch.Generator().manual_seed(0)))
    return model


def same_outputs(one, other, of):
    inputs = of.evaluation_examples(0, final=False).inputs[:32]
    with torch.no_grad():
        return torch.allclose(one(inputs), other(inputs), atol=1e-6)


def test_alibi_slopes_halve_by_powers_of_two_and_fill_in_between():
    assert slopes(8) == [2.0**-h for h in range(1, 9)]
    assert slopes(3) == [2.0**-4, 2.0**-8, 2.0**-2]


def test_alibi_fills_the_slot_with_distances_and_leaves_cls_near_everything():
    prior = attentions(started(Alibi(), task(cls_token=True)))[0].prior
    assert prior[0, 1:, 1:].tolist() == [[-(2.0**-4) * abs(i - j) for j in range(6)] for i in range(6)]
    assert not prior[:, 0].any()
    assert not prior[:, :, 0].any()


def test_t5_buckets_are_exact_near_and_logarithmic_far():
    bias = RelativeBias()
    distance = torch.tensor([0, -1, -7, -8, -15, -16, -127, -500, 1, 500])
    assert bias.bucket(distance, causal=False).tolist() == [0, 1, 7, 8, 9, 10, 15, 15, 17, 31]
    assert bias.bucket(torch.tensor([3, 0, -15, -16, -500]), causal=True).tolist() == [0, 0, 15, 16, 31]


@pytest.mark.parametrize("kind", ["t5", "table"])
def test_equal_relations_share_a_bias_that_is_trained_and_cls_has_none(kind):
    model = started(RelativeBias(kind=kind, std=1.0), task(cls_token=True))
    bias = attentions(model)[0].relative(7)
    assert torch.equal(bias[:, 1, 2], bias[:, 4, 5])
    assert not torch.equal(bias[:, 1, 2], bias[:, 2, 1])
    assert not bias[:, 0].any()
    assert "blocks.0.attention.relative.table" in dict(model.named_parameters())


def test_a_convit_head_attends_around_its_offset_and_mixes_with_contents_by_its_gate():
    of = task()
    attention = attentions(started(ConVit(strength=2.0, gate=0.5), of))[0]
    content = torch.full((1, 2, 6, 6), 1 / 6)
    found = attention.gate(content)[0]
    share = 1 / (1 + math.exp(-0.5))
    for head, (offset, _) in enumerate([(0, 0), (1, 0)]):
        scores = [-2.0 * (j - 2 - offset) ** 2 for j in range(6)]  # of query 2, −strength |δ − Δ|²
        positional = [math.exp(score) / sum(map(math.exp, scores)) for score in scores]
        wanted = [(1 - share) / 6 + share * p for p in positional]
        assert found[head, 2].tolist() == pytest.approx(wanted, rel=1e-5)
    assert torch.equal(attention.value.weight, torch.eye(8))
    assert ConVit().unsupported(task(cls_token=True)) == "positions of a CLS token are not defined"


def test_convit_offsets_fill_a_square_around_the_query():
    assert offsets(9, grid=True) == [(x, y) for y in (-1, 0, 1) for x in (-1, 0, 1)]
    assert offsets(4, grid=True) == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert offsets(3, grid=False) == [(-1, 0), (0, 0), (1, 0)]


def test_rotated_products_depend_on_the_difference_of_positions_alone():
    turn = Rotary(8, 4, 10000.0)
    query, key = torch.randn(2, 1, 1, 1, 4).expand(2, 1, 1, 8, 4)
    products = torch.matmul(*(x if i == 0 else x.transpose(-2, -1) for i, x in enumerate(turn(query, key))))[0, 0]
    for step in range(-3, 4):
        assert torch.allclose(products.diagonal(step), products.diagonal(step)[0].expand(8 - abs(step)), atol=1e-5)
    one = torch.tensor([[[[1.0, 0.0, 0.0, 0.0]]]]).expand(1, 1, 8, 4)
    assert turn.turned(one)[0, 0, 3].tolist() == pytest.approx([math.cos(3), 0, math.sin(3), 0], abs=1e-6)


def test_rotary_positions_do_not_turn_cls():
    model = started(Rope(), task(cls_token=True))
    turn = attentions(model)[0].query_key
    x = torch.randn(1, 2, 7, 4)
    assert torch.equal(turn.turned(x)[:, :, :2], x[:, :, :2])  # CLS, and the first token at position 0


def test_normalised_queries_and_keys_bound_the_logits():
    model = started(QueryKeyNorm(kind="l2", scale=5.0), task())
    attention = attentions(model)[0]
    query, key = attention.query_key(torch.randn(3, 2, 6, 4) * 100, torch.randn(3, 2, 6, 4))
    assert (query @ key.transpose(-2, -1)).abs().max() <= 5.0 + 1e-5
    assert attention.scale == 1.0
    assert "blocks.0.attention.query_key.gain" in dict(model.named_parameters())
    normed = attentions(started(QueryKeyNorm(kind="layer_norm"), task()))[0]
    assert normed.query_key(100 * query, key)[0].std(dim=-1, unbiased=False).mean().item() == pytest.approx(1, abs=1e-2)


def test_conditioned_queries_have_orthonormal_rows_and_identity_keys_equal_them():
    drawn = attentions(started(Conditioned(), task()))[0]
    for head in drawn.head_weight("query"):
        assert torch.allclose(head @ head.T, torch.eye(4), atol=1e-5)
    same = attentions(started(Conditioned(kind="identity", gain=2.0, value_identity=True), task()))[0]
    assert torch.equal(same.query.weight, same.key.weight)
    assert torch.equal(same.query.weight, 2 * torch.eye(8))
    assert torch.equal(same.value.weight, torch.eye(8))


def test_mup_logits_are_scaled_by_eight_over_d_and_start_uniform():
    attention = attentions(started(MupLogits(), task()))[0]
    assert attention.scale == 2.0
    query, key, _ = attention.split_heads(torch.randn(3, 6, 8))
    assert torch.allclose(attention.probabilities(query, key), torch.full((3, 2, 6, 6), 1 / 6))
    plain = started(MupLogits(base=2.0, zero_query=False), task())  # base √d: the usual attention
    torch.manual_seed(0)
    assert same_outputs(plain, task().build_model(), task())


def test_residual_branches_are_scaled_by_depth_or_start_as_the_identity():
    torch.manual_seed(0)
    drawn = task().build_model()
    scaled = started(Residual(), task())
    assert torch.allclose(scaled.blocks[1].mlp.contract.weight, drawn.blocks[1].mlp.contract.weight / 2)  # √(2·2)
    x = torch.randn(3, 6, 8)
    assert torch.equal(started(Residual(gain=0), task()).blocks[0](x), x)


def test_lsuv_brings_every_linear_map_to_unit_deviation():
    of = task()
    model = started(Lsuv(), of)
    inputs = of.training_examples(0).inputs[:256]
    with torch.no_grad():
        found = [output_std(model, m, inputs) for m in model.modules() if isinstance(m, torch.nn.Linear)]
    assert all(deviation == pytest.approx(1, abs=0.1) for deviation in found)


def test_sparse_masks_know_the_geometry_alone():
    window = SparseMask(width=1).encoded(task()).pattern(0, 0)
    assert torch.equal(window, torch.ones(6, 6).triu(-1).tril(1).bool())
    of = task(bits=12)
    drawn = torch.stack([SparseMask(kind="random", density=0.3).encoded(of).pattern(i, 0) for i in range(50)])
    assert drawn.diagonal(dim1=1, dim2=2).all()
    assert ((drawn.sum() - 600) / (50 * 132)).item() == pytest.approx(0.3, abs=0.03)
    assert SparseMask(pattern={"offset": 1}).unsupported(of) is not None
