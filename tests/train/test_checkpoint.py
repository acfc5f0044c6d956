"""Training that ended at any step and goes on from its checkpoint has the numbers of training that never ended."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from benchmark.parameters import Budget, Optimizer
from benchmark.store import checkpoints
from benchmark.store.checkpoints import Stage
from benchmark.store.layout import Layout
from benchmark.train.checkpoint import Checkpoints, HaltedError
from benchmark.train.mode import Mode
from benchmark.train.stack import train_stack
from probes.drift import Drift

KEY = "0" * 32


class Ending(Checkpoints):
    """Training is told to end after so many steps of this process."""

    steps = 0

    def due(self):
        self.steps -= 1
        if self.steps == 0:
            self._halting.set()
        return super().due()


def ending(layout, cells, steps, interval=1e9):
    stage = Stage(cells[0].task_name, tuple(cell.id for cell in cells), "alone", "run")
    made = Ending(layout, KEY, stage, interval)
    made.steps = steps
    return made


def numbers(outcomes):
    shown = [(repr(o.finals), repr(o.curve), repr(o.recorded.points), repr(o.recorded.arrays)) for o in outcomes]
    return [(o.cell_id, o.status, *told, o.steps_done, o.execution) for o, told in zip(outcomes, shown, strict=True)]


def interrupted(layout, cells, mode, stops):
    """Outcomes of cells whose training ended after each of `stops` steps, each time in a process of its own."""
    for steps in stops:
        with pytest.raises(HaltedError):
            train_stack(cells, mode=mode, checkpoints=ending(layout, cells, steps))
    kept = ending(layout, cells, 0)
    outcomes = train_stack(cells, mode=mode, checkpoints=kept)
    kept.discard()
    assert not checkpoints.load(layout)
    return outcomes


@pytest.fixture
def layout(tmp_path):
    return Layout(tmp_path)


@pytest.fixture
def long(toy):
    return toy.Toy(
        budget=Budget(batch_size=12, steps=50, evaluate_every=8),
        optimizer=Optimizer(name="adamw", learning_rate=1e-3, weight_decay=0.1, ema_decay=0.9),
    )


@pytest.mark.parametrize("mode", ["alone", "stack:3"])
def test_training_that_ends_at_any_steps_ends_with_the_same_bits(toy, long, layout, mode):
    plain = [toy.cell(toy.Mask() if seed % 2 else toy.Default(), seed, long) for seed in range(3)]
    cells = [replace(cell, probes=(Drift(),)) for cell in plain]
    whole = train_stack(cells, mode=Mode.parse(mode))
    assert all(outcome.recorded.points for outcome in whole)
    total = 50 * len(cells) if mode == "alone" else 50
    draw = random.Random(mode)
    cuts = sorted(draw.sample(range(1, total), 20))
    stops = [b - a for a, b in zip([0, *cuts], cuts, strict=False)]
    assert numbers(interrupted(layout, cells, Mode.parse(mode), stops)) == numbers(whole)
