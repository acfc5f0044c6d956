"""Fields added after cells were stored leave the identity of those cells alone while they are not used."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from benchmark.identity import parameters_of
from benchmark.parameters import Budget, Optimizer
from benchmark.train.schedule import learning_rates


def test_unused_later_fields_are_not_part_of_the_identity():
    assert set(parameters_of(Optimizer(learning_rate=1.0))) == {
        "name", "learning_rate", "weight_decay", "decay_vectors", "betas", "epsilon", "momentum", "schedule",
        "warmup_steps", "warmup_start", "final_fraction", "clip_norm",
    }  # fmt: skip
    assert set(parameters_of(Budget(batch_size=4, steps=1))) == {"batch_size", "epochs", "steps", "evaluate_every"}


def test_used_later_fields_are_part_of_the_identity_and_come_back():
    optimizer = Optimizer(
        learning_rate=1.0, cooldown_steps=2, schedule_over="whole", hold_steps=3, ema_decay=0.9
    )  # fmt: skip
    found = parameters_of(optimizer)
    assert {found[name] for name in ("cooldown_steps", "schedule_over", "hold_steps", "ema_decay")} == {
        2,
        "whole",
        3,
        0.9,
    }
    assert Optimizer.model_validate(found) == optimizer
    budget = Budget(batch_size=4, micro_batch=2, steps=1)
    assert Budget.model_validate(parameters_of(budget)) == budget


def test_micro_batches_must_fill_a_batch():
    with pytest.raises(ValidationError, match="micro_batch 3 does not divide batch_size 4"):
        Budget(batch_size=4, micro_batch=3, steps=1)


def rates(steps, **settings):
    return learning_rates(Optimizer(learning_rate=0.8, schedule="cosine", **settings), steps)


def test_cooldown_follows_the_end_of_the_schedule():
    assert rates(5, cooldown_steps=2, final_fraction=0.5) == pytest.approx([0.8, 0.6, 0.4, 0.4, 0.4])


def test_a_schedule_over_the_whole_run_does_not_wait_for_the_warm_up():
    assert rates(4, schedule_over="whole", warmup_steps=2) == pytest.approx([0.0, 0.4, 0.4, 0.11715728752538099])


def test_held_rates_change_once_per_group():
    assert rates(6, schedule_over="whole", hold_steps=3) == pytest.approx([0.8] * 3 + [0.4] * 3)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"epochs": 3, "steps": 600}, "in epochs or in steps; found epochs: 3 and steps: 600"),
        ({}, "needs epochs or steps; found neither"),
        ({"steps": None}, "found neither"),
    ],
)
def test_a_budget_has_exactly_one_length(given, told):
    with pytest.raises(ValidationError, match=told):
        Budget(batch_size=4, **given)


@pytest.mark.parametrize("betas", [(1.0, 0.9), (0.9, 1.0), (-0.1, 0.9)])
def test_betas_that_never_forget_or_are_negative_are_refused(betas):
    with pytest.raises(ValidationError, match="betas"):
        Optimizer(learning_rate=1.0, betas=betas)
