"""Each shipped task × initialiser of the paper at compact scale: the first losses are those of a plain loop."""

from __future__ import annotations

import pytest

from benchmark.cell import Cell
from benchmark.plan import build_plan, load_experiment
from benchmark.train.build import build_all
from benchmark.train.mode import ALONE
from benchmark.train.schedule import learning_rate
from benchmark.train.trainer import Trainer, Trajectory

STEPS = 20
TOLERANCE = 1e-4
"""Relative, as in tests/train/test_stack.py; the pairs measured were off by at most 2e-7."""


def cells():
    """One seed of each pair."""
    plan = build_plan(load_experiment("paper", seeds=1, profile="compact"))
    return {f"{cell.task_name}-{cell.initializer_name}": cell for cell in plan.to_run()}


CELLS = cells()
FAST = ("2parity", "multiplication")


@pytest.mark.parametrize("name", [n if n.startswith(FAST) else pytest.param(n, marks=pytest.mark.slow) for n in CELLS])
def test_the_first_losses_are_those_of_a_plain_loop(name, plain, monkeypatch):
    cell = CELLS[name]
    total = cell.task.budget.total_steps(len(cell.task.training_examples(cell.seed)))
    rates = [learning_rate(cell.task.optimizer, step, total) for step in range(total)]
    monkeypatch.setattr("benchmark.train.optim.learning_rates", lambda optimizer, steps: rates[:steps])
    budget = cell.task.budget.model_copy(update={"steps": STEPS, "epochs": None, "evaluate_every": STEPS})
    short = cell.task.model_copy(update={"budget": budget})
    built, errors = build_all([Cell(**{**vars(cell), "task": short})])
    assert not errors
    trainer, trajectory = Trainer(built, ALONE, "cpu"), Trajectory()
    trainer._steps(trainer.prepare(), 0, STEPS, [trajectory], lambda *_: None)
    peak = cell.task.optimizer.learning_rate
    wanted = plain(short, cell.initializer, cell.seed, STEPS, lambda step: rates[step] / peak)
    assert trajectory.losses == pytest.approx(wanted, rel=TOLERANCE)
