"""A prior in queries and keys: matched with a mask's attention on real inputs, and held by norms."""

from __future__ import annotations

import math

import pytest
import torch

from benchmark.initializer import Context
from benchmark.nn.attention import attentions
from benchmark.nn.positions import FixedNorm
from initializers.mask import Mask
from initializers.query_key import QueryKeyNorm
from initializers.query_key_prior import divergence, mass, solve
from initializers.structured_opt import StructuredOpt
from initializers.structured_svd import StructuredSvd
from tasks.boolean import Boolean


@pytest.fixture(scope="module")
def task():
    return Boolean(
        optimizer={"learning_rate": 1e-3},
        budget={"batch_size": 16, "steps": 2},
        bits=6,
        target=[{"bits": [0, 1]}],
        seen={"any_positive": [0, 1]},
        model={"layers": 2, "heads": 2, "dim": 32, "head_dim": 16, "mlp_dim": 32, "pooling": "mean", "cls_token": True},
        interaction={"name": "block_identity", "groups": [[0, 1]]},
    )


def started(initializer, task, seed=0):
    torch.manual_seed(seed)
    model = task.build_model()
    with torch.no_grad():
        initializer.apply(model, Context(task, seed, torch.Generator().manual_seed(seed)))
    return model


def masses(model, task):
    """Layer → mean attention of a token's row on its open keys, written out; every row here is informative."""
    given = []
    hooks = [a.register_forward_pre_hook(lambda _, arguments: given.append(arguments[0])) for a in attentions(model)]
    with torch.no_grad():
        model(task.training_examples(0).inputs[:512])
    for hook in hooks:
        hook.remove()
    opened = {(i, j) for i in range(6) for j in range(6) if i == j or {i, j} == {0, 1}}
    found = []
    for attention, x in zip(attentions(model), given, strict=True):
        with torch.no_grad():
            query, key, _ = attention.split_heads(x)
            weights = attention.probabilities(query, key).double()
        found.append(sum(weights[:, :, i + 1, j + 1].mean().item() for i, j in opened) / 6)
    return found


PRIORS = [StructuredSvd, lambda **fields: StructuredOpt(steps=200, learning_rate=1e-2, **fields)]


@pytest.mark.parametrize("prior", PRIORS, ids=["svd", "opt"])
@pytest.mark.parametrize("bound", [None, "l2", "layer_norm", "frobenius"])
def test_a_matched_prior_puts_as_much_attention_on_the_pattern_as_the_mask(task, prior, bound):
    wanted = masses(started(Mask(open=2, close=-2), task), task)
    assert masses(started(prior(bound=bound, matches=2), task), task) == pytest.approx(wanted, abs=1e-3)
    assert masses(started(prior(bound=bound), task), task) != pytest.approx(wanted, abs=1e-3)


def test_attention_out_of_reach_is_told_with_both_figures(task):
    with pytest.raises(ValueError, match=r"layer 0: the mask puts 0\.\d+ of the attention .* 0\.\d+ at the nearest"):
        started(StructuredSvd(open=0, noise=0, matches=5), task)  # no pattern at all: attention stays uniform


def test_what_is_not_asked_for_is_no_part_of_a_cell():
    assert {"bound", "matches"}.isdisjoint(StructuredSvd().model_dump())


def test_mass_is_the_mean_share_of_open_keys_over_rows_that_say_something():
    pattern = torch.tensor([[[1.0, 0.0], [1.0, 1.0]]])  # the second row is open everywhere
    assert mass(torch.tensor([[[[0.25, 0.75], [0.5, 0.5]]]]), pattern) == 0.25
    with_cls = torch.tensor([[[[0.2, 0.3, 0.5], [0.6, 0.1, 0.3], [0.2, 0.4, 0.4]]]])
    assert mass(with_cls, pattern) == pytest.approx(0.1)


def test_divergence_is_that_of_kullback_and_leibler():
    wanted, found = torch.tensor([0.5, 0.5]), torch.tensor([0.25, 0.75])
    assert divergence(wanted, found) == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))


def test_bisection_finds_the_factor_and_says_what_is_nearest():
    assert solve(lambda g: g / (1 + g), 0.9) == pytest.approx((9.0, 0.9))
    assert solve(lambda g: 0.5 * g / (1 + g), 0.9)[1] == pytest.approx(0.5, abs=1e-6)


def test_a_fixed_norm_starts_as_the_plain_map_and_stays_of_its_size_when_trained(task):
    plain, model = started(StructuredSvd(), task), started(StructuredSvd(bound="frobenius"), task)
    inputs = task.training_examples(0).inputs[:32]
    torch.testing.assert_close(plain(inputs), model(inputs))
    layer = attentions(model)[0].query
    assert isinstance(layer, FixedNorm)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model(inputs).square().sum().backward()
    optimizer.step()
    x = torch.eye(layer.in_features)
    after = layer(x).T.view(2, 16, -1) if layer.bias is None else None
    torch.testing.assert_close(torch.linalg.matrix_norm(after), torch.full((2,), 7.0))
    assert not torch.allclose(torch.linalg.matrix_norm(layer.weight.view(2, 16, -1)), torch.full((2,), 7.0))


def test_norms_alone_bind_queries_and_keys_of_any_start(task):
    model = started(QueryKeyNorm(kind="frobenius"), task)
    assert all(isinstance(one, FixedNorm) for a in attentions(model) for one in (a.query, a.key))
