"""Patterns that are wrong in a known way, and mistakes: what is encoded, and that ids stay where neither is used."""

from __future__ import annotations

import pytest
import torch

from benchmark.initializer import Context
from benchmark.nn.attention import attentions
from initializers.mask import Mask
from initializers.structured_svd import StructuredSvd
from tasks.boolean import Boolean

TASK = Boolean(
    optimizer={"learning_rate": 1e-3},
    budget={"batch_size": 16, "steps": 2},
    bits=6,
    target=[{"bits": [0, 1]}],
    seen={"any_positive": [0, 1]},
    model={"layers": 2, "heads": 2, "dim": 8, "head_dim": 4, "mlp_dim": 8, "pooling": "mean", "cls_token": False},
    interaction={"name": "block_identity", "groups": [[0, 1]]},
)
OWN = TASK.pattern(0, 0)


def encoded(layer=0, head=0, **fields):
    return Mask(**fields).encoded(TASK).pattern(layer, head)


def test_without_either_the_task_s_own_pattern_is_encoded_and_the_parameters_stay():
    assert torch.equal(encoded(), OWN)
    assert not {"pattern", "mistakes"} & Mask().model_dump(mode="json").keys()
    assert torch.equal(encoded(pattern={}, mistakes={}), OWN)


def test_another_pattern_of_the_family_takes_its_place():
    found = encoded(pattern={"interaction": {"groups": [[0, 2]]}})
    assert torch.equal(found.nonzero(), torch.tensor([[0, 0], [0, 2], [1, 1], [2, 0], [2, 2], [3, 3], [4, 4], [5, 5]]))


def test_a_pattern_that_does_not_fit_is_a_reason_that_names_the_field():
    assert "interaction.name" in Mask(pattern={"interaction": {"name": "add_aligned"}}).unsupported(TASK)
    assert Mask(pattern={"interaction": {"groups": [[0, 2]]}}).unsupported(TASK) is None
    assert "0 to 5" in StructuredSvd(pattern={"interaction": {"groups": [[0, 9]]}}).unsupported(TASK)


def test_an_offset_keeps_the_number_of_open_entries():
    assert torch.equal(encoded(pattern={"offset": 1}), OWN.roll(1, dims=1))


def test_shuffled_rows_are_the_same_rows_alike_in_every_layer_and_head():
    found = [encoded(layer, head, pattern={"shuffle": "rows", "seed": 3}) for layer in (0, 1) for head in (0, 1)]
    assert all(torch.equal(found[0], other) for other in found)
    assert sorted(found[0].tolist()) == sorted(OWN.tolist())
    assert not torch.equal(found[0], OWN)


def test_random_keys_keep_the_open_entries_of_each_row_and_differ_by_head_and_seed():
    one, other = (encoded(0, head, pattern={"shuffle": "keys"}) for head in (0, 1))
    assert torch.equal(one.sum(1), OWN.sum(1))
    assert not torch.equal(one, other)
    assert not torch.equal(one, encoded(pattern={"shuffle": "keys", "seed": 1}))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("flips", lambda own: ~own), ("opens", torch.ones_like), ("closes", torch.zeros_like)],
)
def test_mistakes_that_are_certain(kind, expected):
    assert torch.equal(encoded(mistakes={kind: 1.0}), expected(OWN))


def test_mistakes_come_at_their_rate_and_are_the_same_for_all_seeds_of_a_cell():
    rate = torch.stack([encoded(layer, 0, mistakes={"flips": 0.2}) ^ OWN for layer in range(200)]).float().mean()
    assert rate == pytest.approx(0.2, abs=0.02)
    assert torch.equal(encoded(mistakes={"flips": 0.2}), encoded(mistakes={"flips": 0.2}))


def test_a_normal_number_is_added_to_the_slot():
    model = TASK.build_model()
    with torch.no_grad():
        Mask(mistakes={"normal": 2.0}).apply(model, Context(TASK, 0, torch.Generator()))
    added = torch.cat([(a.prior - torch.where(OWN, 10.0, -10.0)).flatten() for a in attentions(model)])
    assert added.std().item() == pytest.approx(2.0, rel=0.2)


def test_query_key_initialisers_encode_the_other_pattern_too():
    def keys(**fields):
        torch.manual_seed(0)
        model = TASK.build_model()
        with torch.no_grad():
            StructuredSvd(**fields).apply(model, Context(TASK, 0, torch.Generator().manual_seed(0)))
        return attentions(model)[0].key.weight

    assert torch.equal(keys(), keys(pattern={"offset": 0}))
    assert not torch.equal(keys(), keys(pattern={"offset": 1}))
