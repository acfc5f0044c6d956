"""Exact learning rates."""

import pytest

from benchmark.parameters import Optimizer
from benchmark.train.schedule import learning_rates


def rates(steps, **settings):
    return learning_rates(Optimizer(learning_rate=0.8, **settings), steps)


def test_constant_without_warm_up():
    assert rates(3) == [0.8, 0.8, 0.8]


def test_cosine_goes_from_the_peak_through_the_middle_to_the_final_fraction():
    assert rates(5, schedule="cosine") == pytest.approx([0.8, 0.6828427124746191, 0.4, 0.11715728752538099, 0.0])
    assert rates(3, schedule="cosine", final_fraction=0.5) == pytest.approx([0.8, 0.6, 0.4])


def test_linear_goes_down_evenly():
    assert rates(5, schedule="linear", final_fraction=0.2) == pytest.approx([0.8, 0.64, 0.48, 0.32, 0.16])


def test_warm_up_rises_evenly_from_its_start_and_the_peak_follows():
    assert rates(6, warmup_steps=4, warmup_start=0.5) == pytest.approx([0.4, 0.5, 0.6, 0.7, 0.8, 0.8])
    expected = [0.0, 0.4, 0.8, 0.4, 0.0]
    assert rates(5, schedule="linear", warmup_steps=2) == pytest.approx(expected)


def test_one_step_and_a_warm_up_longer_than_the_run():
    assert rates(1, schedule="cosine") == [0.8]
    assert rates(2, schedule="cosine", warmup_steps=4) == pytest.approx([0.0, 0.2])
