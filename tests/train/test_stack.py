"""Stacks against single cells, and what happens to a cell that fails or diverges."""

import math

import pytest
import torch

from benchmark.errors import BenchError
from benchmark.initializer import Initializer
from benchmark.parameters import Budget, Optimizer
from benchmark.task import Examples
from benchmark.train import program
from benchmark.train.batches import Batches
from benchmark.train.build import build
from benchmark.train.mode import ALONE, Mode
from benchmark.train.stack import train_stack

HORIZON = 20
"""Steps over which a stack is held to its cells."""

TOLERANCE = 1e-4
"""Relative. A stack multiplies matrices of many cells in one call, which sums in another order: about 1e-7 per
operation in float32. Adam divides by the gradient's own size, so what is rounding in a small gradient enters the
weights at the size of the learning rate, 1e-3; twenty steps of that stay under 1e-4 of the loss, thousands do not."""


@pytest.fixture
def short(toy):
    return toy.Toy(budget=Budget(batch_size=12, steps=HORIZON, evaluate_every=5))


def numbers(outcome):
    return [(point.name, point.step) for point in outcome.curve], [point.value for point in outcome.curve]


def assert_agree(one, other):
    assert numbers(one)[0] == numbers(other)[0]
    for a, b in zip(numbers(one)[1], numbers(other)[1], strict=True):
        assert a == pytest.approx(b, rel=TOLERANCE, abs=TOLERANCE)


def cells_of(toy, task, count):
    return [toy.cell(toy.Mask() if i % 2 else toy.Default(), i // 2, task) for i in range(count)]


def test_a_stack_of_twenty_agrees_with_each_cell_alone(toy, short):
    cells = cells_of(toy, short, 20)
    together = train_stack(cells, mode=Mode.parse("stack:20"))
    alone = train_stack(cells, mode=ALONE)
    assert {outcome.execution for outcome in together} == {"stack[20]"}
    assert {outcome.execution for outcome in alone} == {"alone"}
    for one, other in zip(together, alone, strict=True):
        assert one.status == other.status == "finished"
        assert_agree(one, other)
    assert len({outcome.finals["loss"] for outcome in together}) == 20  # or agreement would mean nothing


def test_alone_agrees_with_a_plain_loop_of_pytorch(toy, short):
    cell = toy.cell(toy.Mask(), 3, short)
    outcome = train_stack([cell], mode=ALONE)[0]
    model = build(cell)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    inputs, targets = Batches(short, [cell], "cpu").take(HORIZON)
    losses = []
    for x, y in zip(inputs[:, 0], targets[:, 0], strict=True):
        loss = short.loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    reported = [point.value for point in outcome.curve if point.name == "training_loss"]
    assert reported == pytest.approx([sum(losses[i : i + 5]) / 5 for i in range(0, HORIZON, 5)], rel=TOLERANCE)


@pytest.mark.parametrize("mode", ["alone", "stack:3"])
def test_the_same_seed_twice_is_the_same_to_the_last_bit(toy, short, mode):
    cells = cells_of(toy, short, 3)
    runs = [train_stack(cells, mode=Mode.parse(mode)) for _ in range(2)]
    program.clear()
    runs.append(train_stack(cells, mode=Mode.parse(mode)))
    for outcomes in zip(*runs, strict=True):
        assert len({str((outcome.curve, outcome.finals)) for outcome in outcomes}) == 1


def test_the_companions_of_a_cell_do_not_change_it(toy, short):
    cell = toy.cell(toy.Mask(), 0, short)
    others = cells_of(toy, short, 8)
    small = train_stack([cell, others[2]], mode=Mode.parse("stack:2"))[0]
    large = train_stack([*others[3:], cell], mode=Mode.parse("stack:8"))[-1]
    assert_agree(small, large)


def test_seeds_of_one_initialiser_differ_and_initialisers_of_one_seed_see_the_same_batches(toy, short):
    a, b, c = (toy.cell(toy.Default(), 0, short), toy.cell(toy.Default(), 1, short), toy.cell(toy.Mask(), 0, short))
    batches = Batches(short, [a, b, c], "cpu").take(HORIZON)[0]
    assert torch.equal(batches[:, 0], batches[:, 2])
    assert not torch.equal(batches[:, 0], batches[:, 1])
    models = [dict(build(cell).named_parameters()) for cell in (a, b, c)]
    assert torch.equal(models[0]["positions"], models[2]["positions"])
    assert not torch.equal(models[0]["positions"], models[1]["positions"])


def test_a_cell_that_cannot_be_started_fails_with_its_traceback_and_the_rest_goes_on(toy, short):
    cells = [toy.cell(kind(), 0, short) for kind in (toy.Broken, toy.Default, toy.NotFinite)]
    broken, default, bad = train_stack(cells, mode=Mode.parse("stack:3"))
    assert [broken.status, default.status, bad.status] == ["failed", "finished", "failed"]
    assert "in apply" in broken.error
    assert broken.error.rstrip().endswith("RuntimeError: no such head")
    assert "'toy_nan' left non-finite values in parameter" in bad.error
    assert broken.finals == {}


def test_a_cell_that_diverges_has_no_numbers_and_its_companions_keep_theirs_to_the_last_bit(toy, short):
    first, last = toy.cell(toy.Default(), 0, short), toy.cell(toy.Mask(), 1, short)
    middle = [toy.cell(toy.Huge(), 0, short), toy.cell(toy.Default(), 5, short)]
    runs = [train_stack([first, cell, last], mode=Mode.parse("stack:3")) for cell in middle]
    diverged = runs[0][1]
    assert diverged.status == "diverged"
    assert set(diverged.finals) == {"loss", "accuracy"}
    assert all(math.isnan(value) for value in diverged.finals.values())
    assert (diverged.steps_done, diverged.steps_planned) == (0, HORIZON)
    for place in (0, 2):
        assert runs[0][place].status == "finished"
        assert runs[0][place].curve == runs[1][place].curve
        assert runs[0][place].finals == runs[1][place].finals


def test_training_ends_when_every_cell_has_diverged(toy, short):
    seen = []
    outcome = train_stack([toy.cell(toy.Huge(), 0, short)], mode=ALONE, progress=seen.append)[0]
    assert outcome.status == "diverged"
    assert max(progress.step for progress in seen) < HORIZON


def test_the_curve_has_a_point_at_the_start_and_after_every_portion_and_the_end(toy):
    task = toy.Toy(budget=Budget(batch_size=12, steps=7, evaluate_every=3))
    outcome = train_stack([toy.cell(task=task)], mode=ALONE)[0]
    assert [point.step for point in outcome.curve if point.name == "loss"] == [0, 3, 6, 7]
    assert [point.step for point in outcome.curve if point.name == "training_loss"] == [3, 6, 7]
    last = {point.name: point.value for point in outcome.curve if point.step == 7}
    assert last["loss"] == outcome.finals["loss"]
    assert (outcome.steps_planned, outcome.steps_done) == (7, 7)
    assert outcome.parameters == sum(p.numel() for p in task.build_model().parameters())


def test_without_a_portion_the_curve_has_a_point_per_epoch(toy):
    outcome = train_stack([toy.cell()], mode=ALONE)[0]  # 32 examples in batches of 12: three steps, three epochs
    assert [point.step for point in outcome.curve if point.name == "loss"] == [0, 3, 6, 9]


def test_progress_tells_the_phase_the_step_and_the_newest_point_of_each_cell(toy, short):
    seen = []
    cells = cells_of(toy, short, 3)
    outcomes = train_stack(cells, mode=Mode.parse("stack:2"), progress=seen.append)
    assert [seen[0].phase, seen[1].phase] == ["building", "building"]
    assert {progress.phase for progress in seen} == {"building", "training", "evaluating"}
    newest = [progress for progress in seen if progress.metrics]
    assert set(newest[0].metrics) == {cells[0].id, cells[1].id}
    assert newest[-1].step == newest[-1].total_steps == HORIZON
    assert newest[-1].cells_done == 2
    assert newest[-1].metrics[cells[2].id]["loss"] == outcomes[2].finals["loss"]


def test_outcomes_come_in_the_order_of_the_cells(toy, short):
    cells = [toy.cell(kind(), 0, short) for kind in (toy.Mask, toy.Broken, toy.Default)]
    assert [outcome.cell_id for outcome in train_stack(cells, mode=ALONE)] == [cell.id for cell in cells]


def test_cells_of_two_tasks_or_none_at_all_are_refused(toy, short):
    with pytest.raises(ValueError, match="exactly one stack key; found 2 among 2 cells"):
        train_stack([toy.cell(task=short), toy.cell(task=toy.Toy())], mode=ALONE)
    with pytest.raises(ValueError, match="found 0 among 0 cells"):
        train_stack([], mode=ALONE)
    assert not issubclass(ValueError, BenchError)  # a fault of the caller, not of the user


def test_an_initialiser_that_changes_the_architecture_gets_a_stack_of_its_own(toy, short):
    class Relu(Initializer):
        family = "toy_relu"

        def apply(self, model, context):
            model.blocks[0].mlp.contract = torch.nn.Sequential(torch.nn.ReLU(), model.blocks[0].mlp.contract)

    cells = [toy.cell(toy.Default(), 0, short), toy.cell(Relu(), 0, short), toy.cell(toy.Default(), 1, short)]
    mixed = train_stack(cells, mode=Mode.parse("stack:3"))
    assert [outcome.execution for outcome in mixed] == ["stack[2]", "alone", "stack[2]"]
    for outcome, cell in zip(mixed, cells, strict=True):
        assert_agree(outcome, train_stack([cell], mode=ALONE)[0])


def test_each_seed_can_have_its_own_data(toy, short):
    class Noisy(toy.Toy):
        def training_key(self, seed):
            return seed

        def training_examples(self, seed):
            clean = self._cube()
            noise = torch.randn(len(clean), generator=torch.Generator().manual_seed(seed))
            return Examples(clean.inputs, clean.targets + noise)

        def evaluation_examples(self, seed, *, final):
            return self.training_examples(seed)

    task = Noisy(budget=short.budget)
    cells = [toy.cell(toy.Default(), seed, task) for seed in (0, 1)]
    together = train_stack(cells, mode=Mode.parse("stack:2"))
    for outcome, cell in zip(together, cells, strict=True):
        assert_agree(outcome, train_stack([cell], mode=ALONE)[0])


def test_augmentation_is_drawn_per_cell_from_its_seed(toy, short):
    class Flipped(toy.Toy):
        def augment(self, inputs, targets, generator):
            flip = torch.rand(inputs.shape, generator=generator) < 0.5
            return torch.where(flip, 1 - inputs, inputs), targets

    task = Flipped(budget=short.budget)
    cells = [toy.cell(kind(), seed, task) for seed in (0, 1) for kind in (toy.Default, toy.Mask)]
    plain, flipped = (Batches(t, cells, "cpu").take(4)[0] for t in (short, task))
    assert not torch.equal(plain, flipped)
    assert torch.equal(flipped[:, 0], flipped[:, 1])
    assert not torch.equal((plain != flipped)[:, 0], (plain != flipped)[:, 2])
    together = train_stack(cells, mode=Mode.parse("stack:4"))
    for outcome, cell in zip(together, cells, strict=True):
        assert_agree(outcome, train_stack([cell], mode=ALONE)[0])


def test_an_epoch_sees_every_example_once_and_a_short_batch_is_filled_from_the_next(toy):
    cell = toy.cell()
    bits = Batches(cell.task, [cell], "cpu").take(16)[0][:, 0]  # 16 batches of 12: six epochs of 32
    codes = (bits.flatten(0, 1) * 2 ** torch.arange(5)).sum(-1)
    for epoch in codes.view(6, 32):
        assert sorted(epoch.tolist()) == list(range(32))


def test_batches_do_not_depend_on_how_many_are_taken_at_once(toy):
    cell = toy.cell()
    whole = Batches(cell.task, [cell], "cpu").take(10)[0]
    drawn = Batches(cell.task, [cell], "cpu")
    assert torch.equal(whole, torch.cat([drawn.take(count)[0] for count in (1, 6, 3)]))


def test_a_frozen_prior_stays_and_a_trained_one_moves_by_at_most_the_sum_of_learning_rates(toy, short):
    from benchmark.train.build import build_all
    from benchmark.train.trainer import Trainer

    cells = [toy.cell(kind(), 0, short) for kind in (toy.Default, toy.Mask)]
    trainer = Trainer(build_all(cells)[0], Mode.parse("stack:2"), "cpu")
    before = {name: value.clone() for name, value in trainer.layout.split(trainer.parameters).items()}
    trainer.run(lambda *_: None)
    name = "blocks.0.attention.prior"
    moved = (trainer.layout.split(trainer.parameters)[name] - before[name]).abs().flatten(1).amax(1)
    assert moved[0] == 0
    assert 0 < moved[1] <= HORIZON * short.optimizer.learning_rate * 1.001


def test_settings_of_the_optimiser_reach_the_weights(toy, short):
    tasks = [
        short,
        short.model_copy(update={"optimizer": Optimizer(learning_rate=1e-2)}),
        short.model_copy(update={"optimizer": Optimizer(learning_rate=1e-3, weight_decay=0.5)}),
        short.model_copy(update={"optimizer": Optimizer(learning_rate=1e-3, schedule="linear")}),
        short.model_copy(update={"optimizer": Optimizer(name="sgd", learning_rate=1e-3)}),
        short.model_copy(update={"optimizer": Optimizer(name="sgd", learning_rate=1e-3, clip_norm=0.1)}),
    ]
    losses = [train_stack([toy.cell(toy.Mask(), 0, task)], mode=ALONE)[0].finals["loss"] for task in tasks]
    assert len(set(losses)) == len(tasks)
