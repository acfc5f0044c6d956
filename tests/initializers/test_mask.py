"""The mask initialiser: what ends up in the prior slot, what it does to attention, and how far training moves it."""

from __future__ import annotations

import pytest
import torch

from benchmark.cell import Cell
from benchmark.initializer import Context
from benchmark.nn.attention import attentions, set_prior_mode
from benchmark.train.build import build_all
from benchmark.train.mode import ALONE
from benchmark.train.trainer import Trainer
from initializers.default import Default
from initializers.mask import Mask
from tasks.boolean import Boolean


def task(cls_token=False, steps=2, optimizer=None, **interaction):
    return Boolean(
        optimizer=optimizer or {"learning_rate": 1e-3},
        budget={"batch_size": 16, "steps": steps},
        bits=4,
        target=[{"bits": [0, 1]}],
        seen={"any_positive": [0, 1]},
        model={
            "layers": 2, "heads": 2, "dim": 8, "head_dim": 4, "mlp_dim": 8, "pooling": "mean", "cls_token": cls_token,
        },
        interaction=interaction or {"name": "parity_pair_off", "groups": [[0, 1]]},
    )  # fmt: skip


def started(initializer, of):
    torch.manual_seed(0)
    model = of.build_model()
    set_prior_mode(model, initializer.prior_mode())
    with torch.no_grad():
        initializer.apply(model, Context(of, 0, torch.Generator().manual_seed(0)))
    return model


def drawn(prior):
    return ["".join("x" if entry > 0 else "." if entry < 0 else "0" for entry in row) for row in prior.tolist()]


def test_slot_starts_open_on_the_pattern_and_closed_elsewhere():
    model = started(Mask(open=3, close=-4), task())
    for attention in attentions(model):
        for prior in attention.prior:
            assert drawn(prior) == [".x..", "x...", "....", "...."]
    assert set(attentions(model)[0].prior.unique().tolist()) == {-4, 3}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["xxxxx", "x.x..", "xx...", ".....", "....."]),
        ({"cls_column": False}, ["xxxxx", "..x..", ".x...", ".....", "....."]),
        ({"cls_row": False}, [".....", "x.x..", "xx...", ".....", "....."]),
    ],
)
def test_cls_row_and_column_are_open_unless_closed_and_neutral_rows_stay_neutral(options, expected):
    model = started(Mask(**options), task(cls_token=True))
    assert drawn(attentions(model)[0].prior[0]) == expected


def test_only_the_chosen_layers_and_heads_have_the_pattern_and_the_others_are_neutral():
    first, second = attentions(started(Mask(layers=(1,), heads=(0,)), task()))
    assert len(first.prior.unique()) == len(second.prior[1].unique()) == 1
    assert drawn(second.prior[0])[0] == ".x.."


def test_all_zero_mask_fits_tasks_without_a_pattern_and_others_do_not():
    plain = task().model_copy(update={"interaction": None})
    assert Mask(open=0, close=0).unsupported(plain) is None
    assert Mask().unsupported(plain) == "the task has no interaction pattern"
    assert Mask().unsupported(task()) is None


def test_a_mask_that_is_closed_everywhere_a_zero_mask_and_no_mask_are_one_function():
    of = task()
    inputs = of.evaluation_examples(0, final=True).inputs
    default = started(Default(), of)(inputs)
    for initializer in (Mask(open=0, close=0), Mask(open=-10, close=-10), Mask(layers=())):
        torch.testing.assert_close(started(initializer, of)(inputs), default, rtol=1e-5, atol=1e-6)
    assert (started(Mask(), of)(inputs) - default).abs().max() > 1e-3


def test_everything_but_the_mask_starts_as_by_default():
    default, masked = (dict(started(one, task()).named_parameters()) for one in (Default(), Mask()))
    for name, parameter in default.items():
        assert torch.equal(parameter, masked[name]) != name.endswith("prior")


def test_rules_say_how_the_mask_is_trained():
    (rule,) = Mask(trainable=False, learning_rate_multiplier=10, weight_decay=0).parameter_rules()
    assert (rule.match, rule.trainable, rule.learning_rate_multiplier, rule.weight_decay) == ("*.prior", False, 10, 0)
    assert Default().parameter_rules() == ()


def moved(initializer, steps=60):
    """Largest |ΔM| after training, and Σ learning rate."""
    of = task(steps=steps, optimizer={"learning_rate": 1e-2, "schedule": "cosine"})
    cell = Cell("a", "task", "mask", 0, "compact", of, initializer)
    built, errors = build_all([cell])
    assert not errors
    trainer = Trainer(built, ALONE, "cpu")
    start = trainer.layout.split(trainer.parameters.clone())
    trainer.run(lambda *_: None)
    end = trainer.layout.split(trainer.parameters)
    change = max((end[name] - start[name]).abs().max().item() for name in start if name.endswith("prior"))
    return change, trainer.state.scalars[:, 0].sum().item()


def test_adam_moves_a_mask_by_no_more_than_the_sum_of_learning_rates():
    change, budget = moved(Mask(open=1, close=-1))
    assert 0.01 * budget < change <= budget * (1 + 1e-4)
    faster, _ = moved(Mask(open=1, close=-1, learning_rate_multiplier=10))
    assert budget < faster <= 10 * budget * (1 + 1e-4)


def test_a_frozen_mask_and_an_absent_one_do_not_move():
    assert moved(Mask(trainable=False), steps=5)[0] == 0
    assert moved(Default(), steps=5)[0] == 0
