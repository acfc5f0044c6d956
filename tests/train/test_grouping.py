"""Which cells share a stack or a mode, and that asking costs no torch."""

import subprocess
import sys

from benchmark.parameters import Budget, Optimizer
from benchmark.train.grouping import shape_key, stack_key


def test_seeds_and_initialisers_share_a_stack(toy):
    assert len({stack_key(toy.cell(kind(), seed)) for kind in (toy.Default, toy.Mask) for seed in (0, 1)}) == 1


def test_targets_and_lengths_part_stacks_but_not_shapes(toy):
    tasks = [toy.Toy(), toy.Toy(partner=2), toy.Toy(budget=Budget(batch_size=12, epochs=9))]
    assert len({stack_key(toy.cell(task=task)) for task in tasks}) == 3
    assert len({shape_key(toy.cell(task=task)) for task in tasks}) == 1


def test_width_batch_optimiser_and_prior_mode_part_shapes(toy):
    class Identity(toy.Default):
        def prior_mode(self):
            return "identity"

    wider = toy.Toy().model.model_copy(update={"mlp_dim": 32})
    tasks = [
        toy.Toy(),
        toy.Toy(model=wider),
        toy.Toy(budget=Budget(batch_size=8, epochs=3)),
        toy.Toy(optimizer=Optimizer(name="sgd", learning_rate=1e-3)),
    ]
    cells = [*(toy.cell(task=task) for task in tasks), toy.cell(Identity())]
    assert len({shape_key(cell) for cell in cells}) == len({stack_key(cell) for cell in cells}) == 5


def test_grouping_modes_decisions_and_schedules_do_not_import_torch():
    code = (
        "import sys, benchmark.train.grouping, benchmark.train.mode, benchmark.train.decision, "
        "benchmark.train.schedule; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
