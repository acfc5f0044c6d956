"""The vision family: patterns at the border, metrics, targets, stacks against cells alone, and the published recipe."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from benchmark.cell import Cell
from benchmark.identity import cell_id
from benchmark.records import CurvePoint
from benchmark.spec.load import load_experiment
from benchmark.train import optim
from benchmark.train.build import build_all
from benchmark.train.layout import Layout
from benchmark.train.mode import ALONE, Mode
from benchmark.train.schedule import learning_rates
from benchmark.train.stack import train_stack
from benchmark.train.trainer import Trainer
from initializers.default import Default
from initializers.mask import Mask
from initializers.mimetic import Mimetic
from tasks.augmentation.recipe import Augmentation
from tasks.vision import Vision
from tasks.vision_pattern import RELEASED_ORDER, ImpulsePattern

MODEL = {"layers": 1, "heads": 3, "dim": 12, "mlp_dim": 24, "patch": 2, "pooling": "mean", "cls_token": False}
OPTIMIZER = {"name": "adamw", "learning_rate": 1e-3, "weight_decay": 0.05, "decay_vectors": False}


def digits(*, optimizer=None, budget=None, model=None, **changes):
    return Vision(
        optimizer={**OPTIMIZER, **(optimizer or {})},
        budget={"batch_size": 16, "steps": 4, "evaluate_every": 2, **(budget or {})},
        model={**MODEL, **(model or {})},
        **{"data": "digits", "image_size": 8, **changes},
    )


def cell(task, seed=0, initializer=None):
    initializer = initializer or Default()
    return Cell(cell_id(task, initializer, "compact", seed), "digits", "x", seed, "compact", task, initializer)


# --- pattern ---------------------------------------------------------------------------------------------------------


def test_heads_look_at_the_centre_then_above_then_right_as_released():
    offsets = [ImpulsePattern().offset(0, head) for head in range(10)]
    assert offsets[:5] == [(0, 0), (-1, 0), (0, 1), (0, -1), (1, 0)]
    assert sorted(offsets[:9]) == [(m, n) for m in (-1, 0, 1) for n in (-1, 0, 1)]
    assert offsets[9] == offsets[0]
    assert RELEASED_ORDER == (4, 1, 5, 3, 7, 0, 2, 6, 8)


@pytest.mark.parametrize(("head", "open_entries"), [(0, 16), (1, 12), (2, 12), (3, 12), (4, 12), (5, 9), (8, 9)])
def test_rows_at_the_border_are_closed_where_the_neighbour_is_missing(head, open_entries):
    task = digits(model={"heads": 12, "dim": 24})
    pattern = task.pattern(1, head)
    assert pattern.shape == (16, 16)
    assert pattern.sum() == open_entries
    assert (pattern.sum(1) <= 1).all()
    down, right = ImpulsePattern().offset(1, head)
    for query, key in pattern.nonzero().tolist():
        assert (key // 4 - query // 4, key % 4 - query % 4) == (down, right)


def test_random_offsets_differ_between_layers_and_seeds_but_not_between_calls():
    drawn = ImpulsePattern(order="random", seed=1)
    grid = [[drawn.offset(layer, head) for head in range(3)] for layer in range(12)]
    assert grid == [[drawn.offset(layer, head) for head in range(3)] for layer in range(12)]
    assert len({tuple(row) for row in grid}) > 6
    other = ImpulsePattern(order="random", seed=2)
    assert grid != [[other.offset(layer, head) for head in range(3)] for layer in range(12)]
    assert len({offset for row in grid for offset in row}) >= 7


def test_larger_windows_count_from_the_centre():
    offsets = [ImpulsePattern(window=5).offset(0, head) for head in range(25)]
    assert offsets[0] == (0, 0)
    assert set(offsets[1:5]) == {(-1, 0), (0, -1), (0, 1), (1, 0)}
    assert len(set(offsets)) == 25


def test_a_task_may_have_no_pattern():
    task = digits(interaction=None)
    assert not task.has_pattern()
    assert task.pattern(0, 0) is None


# --- facts -----------------------------------------------------------------------------------------------------------


def test_geometry_and_references():
    task = digits(model={"cls_token": True})
    geometry = task.geometry()
    assert (geometry.grid, geometry.tokens, geometry.extra_tokens, geometry.head_dim) == ((4, 4), 16, 1, 4)
    assert geometry.classes == 10
    assert task.references()["chance"] == {"accuracy": 10.0, "best_accuracy": 10.0, "loss": math.log(10)}
    assert (task.training_size(), len(task.training_examples(0))) == (1437, 1437)
    assert task.missing_data() is None


def test_the_content_of_the_data_set_has_a_digest_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("BENCH_DATA", str(tmp_path))
    assert list(digits().data_digests()) == ["digits"]
    assert digits(data="cifar10", image_size=32).data_digests() == {}


def test_missing_data_names_the_command(monkeypatch, tmp_path):
    monkeypatch.setenv("BENCH_DATA", str(tmp_path))
    task = digits(data="cifar10", image_size=32)
    assert "bench data prepare cifar10" in task.missing_data()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"image_size": 9}, "no multiple of patch"),
        ({"test_split": "validation"}, "has no split 'validation'; it has train, test"),
        ({"mean": (0.1, 0.2)}, "mean needs 1 or 1 numbers; found 2"),
        ({"augmentation": {"mixup": 0.8}, "budget": {"batch_size": 15}}, "must be even; found 15"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        digits(**changes)


def test_averaged_metrics_appear_with_the_average_alone():
    assert [metric.name for metric in digits().metrics()] == ["accuracy", "best_accuracy", "loss"]
    averaged = digits(optimizer={"ema_decay": 0.9}).metrics()
    assert [metric.name for metric in averaged][3:] == ["ema_accuracy", "ema_best_accuracy", "ema_loss"]


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_loss_is_smoothed_cross_entropy_for_labels_and_for_soft_labels():
    task = digits(augmentation=Augmentation(label_smoothing=0.1))
    outputs, labels = torch.randn(7, 10), torch.arange(7)
    wanted = torch.nn.functional.cross_entropy(outputs, labels, label_smoothing=0.1)
    torch.testing.assert_close(task.loss(outputs, labels), wanted)
    soft = torch.softmax(torch.randn(7, 10), -1)
    torch.testing.assert_close(task.loss(outputs, soft), torch.nn.functional.cross_entropy(outputs, soft))


def test_metrics_of_known_outputs():
    task = digits()
    outputs = torch.log(torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.6, 0.2, 0.2]]))
    targets = torch.tensor([0, 2, 1])
    found = task.summarize(task.observe(outputs, targets), None, final=True)
    assert found["accuracy"] == pytest.approx(200 / 3)
    assert found["loss"] == pytest.approx(-(math.log(0.5) + math.log(0.7) + math.log(0.2)) / 3)


def test_best_accuracy_is_the_highest_point_and_averages_have_their_own():
    values = [("accuracy", 10.0), ("ema_accuracy", 5.0), ("accuracy", 60.0), ("ema_accuracy", 70.0), ("accuracy", 50.0)]
    curve = [CurvePoint(name, step, value) for step, (name, value) in enumerate(values)]
    assert digits().summarize_curve(curve) == {"best_accuracy": 60.0, "ema_best_accuracy": 70.0}
    assert digits().summarize_curve([]) == {}


def agree(task, cells, size):
    together = train_stack(cells, mode=Mode(compiled=False, stack_size=size))
    alone = train_stack(cells, mode=ALONE)
    for one, other in zip(together, alone, strict=True):
        assert one.status == other.status == "finished", one.error
        assert set(one.finals) == {metric.name for metric in task.metrics()}
        assert one.finals["loss"] == pytest.approx(other.finals["loss"], rel=1e-4)
        points = [[(p.name, p.step) for p in outcome.curve] for outcome in (one, other)]
        assert points[0] == points[1]
        losses = [[p.value for p in outcome.curve if "loss" in p.name] for outcome in (one, other)]
        assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    return together


def test_a_stack_agrees_with_its_cells_alone():
    task = digits()
    cells = [cell(task, 0), cell(task, 1, Mask()), cell(task, 1, Mimetic())]
    assert len({outcome.finals["loss"] for outcome in agree(task, cells, 3)}) == 3


FULL = Augmentation(
    crop_scale=(0.5, 1.0), flip=0.5, rand_augment={}, mixup=0.8, cutmix=1.0, label_smoothing=0.1, erasing=0.25
)


def test_a_stack_agrees_with_its_cells_alone_under_the_whole_recipe():
    """Augmentation, stochastic depth, the average and micro-batches are a cell's own."""
    task = digits(
        augmentation=FULL,
        model={"drop_path": 0.3, "layers": 2},
        optimizer={"ema_decay": 0.9},
        budget={"micro_batch": 8},
    )
    outcomes = agree(task, [cell(task, seed) for seed in range(3)], 3)
    assert outcomes[0].finals["ema_loss"] != outcomes[0].finals["loss"]


def test_stochastic_depth_changes_training_and_its_noise_is_the_seeds():
    """Two cells of one seed agree, a cell without stochastic depth does not."""
    dropping, plain = digits(model={"drop_path": 0.6, "layers": 2}), digits(model={"layers": 2})
    first, second = train_stack([cell(dropping), cell(dropping)], mode=Mode(compiled=False, stack_size=2))
    assert first.finals == second.finals
    assert first.finals["loss"] != train_stack([cell(plain)], mode=ALONE)[0].finals["loss"]


def test_accumulated_gradients_are_those_of_the_whole_batch():
    whole, parts = digits(), digits(budget={"micro_batch": 4})
    one, other = (train_stack([cell(task)], mode=ALONE)[0] for task in (whole, parts))
    for a, b in zip(one.curve, other.curve, strict=True):
        assert a.value == pytest.approx(b.value, rel=1e-4), a.name
    with pytest.raises(ValueError, match="does not divide"):
        digits(budget={"micro_batch": 5})


def test_the_average_follows_its_formula():
    """average ← d · average + (1 − d) · parameters after each step, from the parameters at the start."""
    task = digits(optimizer={"ema_decay": 0.75})
    item = cell(task)
    trainer = Trainer(build_all([item])[0], ALONE, "cpu")
    average = trainer.parameters.clone()
    step = trainer.prepare()
    for _ in range(3):
        trainer._steps(step, 0, 1, [], lambda *_: None)
        average = 0.75 * average + 0.25 * trainer.parameters
    torch.testing.assert_close(trainer.average, average)
    assert not torch.allclose(average, trainer.parameters)


def test_positions_biases_and_norms_are_not_decayed_and_weights_are():
    task = digits(model={"cls_token": True})
    layout = Layout.of(task.build_model())

    def decay(of):
        rows = optim.rule_rows(layout, of.optimizer, of.parameter_rules())[1]
        return {name: float(values.max()) for name, values in layout.split(rows).items()}

    found = decay(task)
    decayed = {name for name, value in found.items() if value > 0}
    assert "positions" not in decayed
    assert decayed == {name for name in found if name.endswith("weight") and "norm" not in name}
    assert decay(digits(model={"cls_token": True}, decay_positions=True))["positions"] == pytest.approx(0.05)


# --- the shipped specs -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """Tasks of the shipped files at both profiles, by name."""

    def load(profile):
        path = Path(tmp_path_factory.mktemp("spec")) / "all.yaml"
        names = "[digits, fashion_mini, cifar10, cifar100, imagenet100]"
        path.write_text(f"experiment: all\ntasks: {names}\ninitializers: [default]\n")
        return {task.name: task for task in load_experiment(path, profile=profile).tasks}

    return {profile: load(profile) for profile in ("compact", "paper")}


def test_a_task_without_the_profile_says_what_stands_in(shipped):
    assert shipped["compact"]["cifar10"].skipped == "cifar10 has no compact profile; fashion_mini stands in"
    assert shipped["paper"]["digits"].skipped == "digits has no paper profile; cifar10 stands in"
    assert shipped["paper"]["cifar10"].skipped is None


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_rates_of_cifar_are_those_of_the_published_recipe(shipped, name):
    """2e-3, 400 epochs, cosine counted from epoch 0 to 1e-6, 50 epochs of linear warm-up from 1e-6, once an epoch."""
    task = shipped["paper"][name].task
    steps = task.budget.total_steps(50_000)
    assert (task.budget.steps_per_epoch(50_000), steps) == (98, 39_200)
    rates = learning_rates(task.optimizer, steps)
    by_epoch = rates[::98]
    assert len(by_epoch) == 400
    assert all(len(set(rates[98 * epoch : 98 * (epoch + 1)])) == 1 for epoch in (0, 49, 50, 399))
    assert by_epoch[0] == pytest.approx(1e-6)
    assert by_epoch[25] == pytest.approx(1e-6 + (2e-3 - 1e-6) / 2)
    for epoch in (50, 200, 399):
        assert by_epoch[epoch] == pytest.approx(1e-6 + (2e-3 - 1e-6) * (1 + math.cos(math.pi * epoch / 400)) / 2)


def test_rates_of_imagenet_end_in_ten_epochs_of_cooldown(shipped):
    task = shipped["paper"]["imagenet100"].task
    steps = task.budget.total_steps(126_689)
    assert (task.budget.steps_per_epoch(126_689), steps) == (248, 310 * 248)
    by_epoch = learning_rates(task.optimizer, steps)[::248]
    assert by_epoch[0] == pytest.approx(1e-6)
    assert by_epoch[5] == pytest.approx(1e-6 + (1e-3 - 1e-6) * (1 + math.cos(math.pi * 5 / 300)) / 2)
    assert by_epoch[300:] == pytest.approx([1e-6] * 10)
    assert by_epoch[299] > 1e-6


@pytest.mark.parametrize("name", ["cifar10", "cifar100", "imagenet100"])
def test_paper_profiles_train_vit_tiny_on_batches_of_512(shipped, name):
    task = shipped["paper"][name].task
    assert task.budget.batch_size == 512
    assert task.geometry().tokens == 196
    model = task.build_model()
    priors = 12 * 3 * 197**2
    head = 193 * task.classes
    assert sum(parameter.numel() for parameter in model.parameters()) - priors - head == 5_717_416 - 193_000


def test_a_standard_deviation_of_zero_is_refused():
    with pytest.raises(ValueError, match="std"):
        digits(std=(0.0,))
