"""Compiled programs: the same numbers, padding that shows nowhere, one compilation for tasks that differ in data."""

import pytest

from benchmark.parameters import Budget
from benchmark.train import program
from benchmark.train.mode import ALONE, Mode
from benchmark.train.stack import train_stack

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(program.can_compile("cpu") is not None, reason="no C++ compiler"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
]

TOLERANCE = 1e-4  # as in test_stack: another order of sums, enlarged by Adam over twenty steps


def test_a_padded_compiled_stack_agrees_with_each_cell_alone_and_is_compiled_once_for_two_targets(toy):
    budget = Budget(batch_size=12, steps=20, evaluate_every=10)
    first, second = toy.Toy(budget=budget), toy.Toy(budget=budget, partner=2)
    mode = Mode.parse("compiled-stack:2")
    program.clear()
    cells = [toy.cell(toy.Default(), 0, first), toy.cell(toy.Mask(), 0, first), toy.cell(toy.Mask(), 1, first)]
    outcomes = train_stack(cells, mode=mode)
    compiled = len(program._compiled)
    assert compiled == 2  # the step and the evaluation
    outcomes += train_stack([toy.cell(toy.Mask(), 0, second)], mode=mode)
    assert len(program._compiled) == compiled
    assert {outcome.execution for outcome in outcomes} == {"compiled-stack[2]"}
    alone = train_stack(cells, mode=ALONE) + train_stack([toy.cell(toy.Mask(), 0, second)], mode=ALONE)
    for one, other in zip(outcomes, alone, strict=True):
        assert [(p.name, p.step) for p in one.curve] == [(p.name, p.step) for p in other.curve]
        for a, b in zip(one.curve, other.curve, strict=True):
            assert a.value == pytest.approx(b.value, rel=TOLERANCE, abs=TOLERANCE)
    assert outcomes[1].finals != outcomes[3].finals
    again = train_stack(cells, mode=mode)
    assert [(o.curve, o.finals) for o in again] == [(o.curve, o.finals) for o in outcomes[:3]]
