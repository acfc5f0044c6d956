"""Training that ended at any step and goes on from its checkpoint has the numbers of training that never ended."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from benchmark.cell import Cell
from benchmark.nn import noise
from benchmark.parameters import Budget, Optimizer
from benchmark.probes.drift import Drift
from benchmark.store import checkpoints
from benchmark.store.checkpoints import Stage
from benchmark.store.layout import Layout
from benchmark.train import program, trainer
from benchmark.train.batches import Batches
from benchmark.train.canary import ApartError
from benchmark.train.checkpoint import Checkpoints, HaltedError
from benchmark.train.mode import ALONE, Mode
from benchmark.train.stack import train_stack
from initializers.default import Default
from initializers.mask import Mask
from tasks.arithmetic import Arithmetic
from tasks.boolean import Boolean
from tasks.language import Language
from tasks.vision import Vision

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


def stops_of(total, count, seed):
    """Lengths of `count` trainings that end at random steps before the last of `total`."""
    cuts = sorted(random.Random(seed).sample(range(1, total), count))
    return [b - a for a, b in pairwise([0, *cuts])]


@pytest.mark.parametrize("mode", ["alone", "stack:3"])
def test_training_that_ends_at_twenty_random_steps_has_the_same_bits(toy, long, layout, mode):
    """Alone, cells are trained one after another: those that had ended are not trained again."""
    plain = [toy.cell(toy.Mask() if seed % 2 else toy.Default(), seed, long) for seed in range(3)]
    cells = [replace(cell, probes=(Drift(),)) for cell in plain]
    whole = train_stack(cells, mode=Mode.parse(mode))
    assert all(outcome.recorded.points for outcome in whole)
    stops = stops_of(150 if mode == "alone" else 50, 20, mode)
    assert numbers(interrupted(layout, cells, Mode.parse(mode), stops)) == numbers(whole)


BUDGET = {"batch_size": 8, "steps": 14, "evaluate_every": 5}
ADAM = {"name": "adamw", "learning_rate": 1e-3}
TINY = {"layers": 1, "heads": 2, "dim": 8, "head_dim": 4, "mlp_dim": 8}
FAMILIES = {
    "boolean": lambda: Boolean(
        bits=5, target={"majority": (0, 1, 2)}, seen={"product_positive": (0, 1)}, optimizer=ADAM, budget=BUDGET,
        model={**TINY, "pooling": "mean", "cls_token": False},
    ),
    "arithmetic": lambda: Arithmetic(
        operation="addition", digits=2, train_fraction=0.03, optimizer=ADAM, budget=BUDGET,
        model={**TINY, "pooling": "none", "cls_token": False},
    ),
    "vision": lambda: Vision(
        data="digits", image_size=8, budget={**BUDGET, "micro_batch": 4}, optimizer={**ADAM, "ema_decay": 0.9},
        model={"layers": 2, "heads": 3, "dim": 12, "mlp_dim": 24, "patch": 2, "drop_path": 0.3},
        augmentation={"flip": 0.5, "mixup": 0.2, "erasing": 0.5},
    ),
    "language": lambda: Language(
        corpus="alice", tokenizer="characters", optimizer={**ADAM, "clip_norm": 1.0}, budget=BUDGET,
        model={**TINY, "context": 16, "dropout": 0.2}, training={"split": "train", "count": 3},
        **{part: {"split": part, "count": 1} for part in ("validation", "test")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["alone", "stack:2"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_goes_on_with_the_same_bits(layout, family, mode):
    task = FAMILIES[family]()
    cells = [Cell(f"{family}-{n}", family, "x", n, "compact", task, start()) for n, start in enumerate((Default, Mask))]
    whole = train_stack(cells, mode=Mode.parse(mode))
    assert {outcome.status for outcome in whole} == {"finished"}
    stops = stops_of(28 if mode == "alone" else 14, 2, family + mode)
    assert numbers(interrupted(layout, cells, Mode.parse(mode), stops)) == numbers(whole)


def normalised(task):
    """A model with running statistics and noise of its own."""
    return nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), noise.Dropout(0.3), nn.Linear(8, 1))


@pytest.mark.parametrize("case", ["written buffers", "gathered ahead", "small portions", "sgd", "diverged"])
def test_whatever_a_step_reads_is_kept(toy, long, layout, monkeypatch, case):
    starts = [toy.Default(), toy.Mask()]
    if case == "written buffers":
        monkeypatch.setattr(toy.Toy, "build_model", normalised)
        starts = [toy.Default(), toy.Default()]
    elif case == "gathered ahead":
        monkeypatch.setattr(trainer, "Batches", partial(Batches, ahead=True))
    elif case == "small portions":
        monkeypatch.setattr(trainer, "BATCH_BYTES", 12 * 6 * 4 * 2 * 3)
    elif case == "sgd":
        long = long.model_copy(update={"optimizer": Optimizer(name="sgd", learning_rate=1e-2, momentum=0.9)})
    else:
        starts[1] = toy.Huge()
    cells = [toy.cell(start, seed, long) for seed, start in enumerate(starts)]
    whole = train_stack(cells, mode=Mode.parse("stack:2"))
    found = interrupted(layout, cells, Mode.parse("stack:2"), [1, 7, 16, 3, 11])
    assert numbers(found) == numbers(whole)
    assert [outcome.status for outcome in found] == ["finished", "diverged" if case == "diverged" else "finished"]


@pytest.mark.slow
@pytest.mark.skipif(program.can_compile("cpu") is not None, reason="no C++ compiler")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_a_compiled_stack_goes_on_with_the_same_bits(toy, long, layout):
    cells = [toy.cell(toy.Mask(), seed, long) for seed in range(2)]
    mode = Mode.parse("compiled-stack:3")  # padded
    whole = train_stack(cells, mode=mode)
    assert numbers(interrupted(layout, cells, mode, stops_of(50, 5, "compiled"))) == numbers(whole)


def test_a_cell_with_a_program_of_its_own_goes_on(toy, long, layout, monkeypatch):
    """One that its stack's program is not right for is trained after the others."""
    cells = [toy.cell(toy.Mask(), seed, long) for seed in range(3)]

    def apart(self, *at, inner=trainer.Trainer._hold_step):
        inner(self, *at)
        if len(self.cells) > 1 and cells[1] in self.cells:
            raise ApartError({cells[1].id: "planted"})

    monkeypatch.setattr(trainer.Trainer, "_hold_step", apart)
    whole = train_stack(cells, mode=Mode.parse("stack:3"))
    assert [outcome.execution for outcome in whole] == ["stack[2]", "alone", "stack[2]"]
    found = interrupted(layout, cells, Mode.parse("stack:3"), [30, 15, 20, 30])
    assert numbers(found) == numbers(whole)


@pytest.mark.parametrize("left_out", ["parameters", "first", "second", "average"])
def test_a_state_without_one_of_its_parts_is_found_out(toy, long, layout, monkeypatch, left_out):
    """Of the comparison itself: a planted fault shows."""
    inner = trainer.Trainer._tensors
    monkeypatch.setattr(
        trainer.Trainer, "_tensors", lambda self: {n: t for n, t in inner(self).items() if n != left_out}
    )
    cells = [toy.cell(toy.Mask(), 0, long)]
    assert numbers(interrupted(layout, cells, ALONE, [20])) != numbers(train_stack(cells, mode=ALONE))


@pytest.mark.parametrize("fault", ["damaged", "foreign", "of another shape"])
def test_what_cannot_be_gone_on_from_is_left_out_and_told(toy, long, layout, fault):
    cells = [toy.cell(toy.Mask(), 0, long)]
    whole = train_stack(cells, mode=ALONE)
    with pytest.raises(HaltedError):
        train_stack(cells, mode=ALONE, checkpoints=ending(layout, cells, 20))
    (one,) = checkpoints.load(layout)
    if fault == "damaged":
        data = bytearray(one.path.read_bytes())
        data[-5] ^= 1
        one.path.write_bytes(data)
    else:
        arrays = {} if fault == "foreign" else {**load_file(one.path), "first": torch.zeros(3)}
        checkpoints.keep(layout, KEY, one.stage, lambda path, header: save_file(arrays, path, header))
    kept = ending(layout, cells, 0)
    assert numbers(train_stack(cells, mode=ALONE, checkpoints=kept)) == numbers(whole)
    assert kept.note.startswith("the checkpoint at step 20 of 50 is left out: ")


def test_short_training_is_never_kept_and_a_full_disk_costs_the_state_alone(toy, long, layout, monkeypatch):
    cells = [toy.cell(toy.Mask(), 0, long)]
    whole = train_stack(cells, mode=ALONE, checkpoints=ending(layout, cells, 0, interval=600))
    assert not layout.checkpoints.exists()
    kept = ending(layout, cells, 0, interval=1e-9)
    assert not kept.halt()  # nothing was trained yet

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "keep", full)
    assert numbers(train_stack(cells, mode=ALONE, checkpoints=kept)) == numbers(whole)
    assert kept.note == "no checkpoint could be written: No space left on device"


def test_a_slow_disk_is_written_to_more_rarely(toy, long, layout, monkeypatch):
    cells, written = [toy.cell(toy.Mask(), 0, long)], []

    def slow(layout, key, stage, write, inner=checkpoints.keep):
        written.append(stage.step)
        time.sleep(0.1)
        return inner(layout, key, stage, write)

    monkeypatch.setattr(checkpoints, "keep", slow)
    train_stack(cells, mode=ALONE, checkpoints=ending(layout, cells, 0, interval=1e-9))
    assert len(written) == 1  # of fifty steps, which take less than two seconds


def test_kept_weights_are_a_state_of_the_module_with_tied_parameters_and_buffers(toy, long, layout, monkeypatch):
    def tied(task):
        model = nn.Sequential(nn.Linear(5, 5), nn.BatchNorm1d(5), nn.Linear(5, 5), nn.Linear(5, 1))
        model[2].weight = model[0].weight
        return model

    monkeypatch.setattr(toy.Toy, "build_model", tied)
    cells, found = [toy.cell(toy.Default(), seed, long) for seed in range(2)], {}
    outcomes = train_stack(cells, mode=Mode.parse("stack:2"), keep=lambda id, *states: found.update({id: states}))
    examples = long.evaluation_examples(0, final=True)
    for outcome in outcomes:
        for state, name in zip(found[outcome.cell_id], ("loss", "ema_loss"), strict=True):
            model = long.build_model()
            model.load_state_dict({name: tensor.clone() for name, tensor in state.items()})
            with torch.no_grad():
                error = model.eval()(examples.inputs).squeeze(-1) - examples.targets
            assert error.square().mean().item() == pytest.approx(outcome.finals[name], rel=1e-5)
