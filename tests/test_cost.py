"""What cells cost: operations against closed forms, memory against what tensors hold, sums over tables."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.cost import devices
from benchmark.cost.devices import Device
from benchmark.cost.estimate import FILE_BYTES, NUMBER_BYTES, best_stack, estimate
from benchmark.cost.rates import Rates, measured
from benchmark.cost.work import Operation, Pass, Work
from benchmark.errors import UsageError
from benchmark.execution.records import record_of
from benchmark.parameters import Budget
from benchmark.plan import build_plan, load_experiment
from benchmark.records import CurvePoint
from benchmark.store import Store
from benchmark.task import Array, Workload

TOY = Path(__file__).parent / "execution" / "toy.py"
SLOW = Device("slow", "*SLOW*", float32=1e9, bfloat16=4e9, bandwidth=1e9, memory=1e9, source="made up")


@pytest.fixture(scope="module")
def count():
    from benchmark.train.operations import Counting

    return Counting()


@pytest.fixture
def plan_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCH_DATA", str(tmp_path / "no-data"))

    def plan(text, **options):
        (tmp_path / "e.yaml").write_text(f"experiment: e\nplugins: [{TOY}]\n" + text)
        loaded = load_experiment("e.yaml", **options)
        return build_plan(loaded)

    return plan


def first_cell(plan):
    from benchmark.cost.estimate import cells_to_train

    return next(iter(cells_to_train(plan).values()))


def encoder_flops(tokens, layers, heads, head_dim, dim, mlp_dim, examples):
    """Forward pass of the blocks: QKV and output projections, scores and mixing, MLP; 2 for a multiply-add."""
    projections = 4 * dim * heads * head_dim * tokens
    attention = 2 * tokens * tokens * heads * head_dim
    mlp = 2 * dim * mlp_dim * tokens
    return 2 * examples * layers * (projections + attention + mlp)


# --- counting --------------------------------------------------------------------------------------------------------


def test_a_linear_model_is_counted_exactly(plan_of, count):
    cell = first_cell(plan_of("tasks: toy_regression\ninitializers: toy_plain\nseeds: 1\n"))
    work, budget = count(cell), cell.task.budget
    forward, gradient = 2 * 8 * 4 * 1, 2 * 8 * 4 * 1  # batch 8, 4 inputs, 1 output; inputs need no gradient
    assert work.parameters == 5
    assert work.step.flops == forward + gradient
    assert work.forward_size == 32
    assert work.forward.flops == 2 * 32 * 4
    assert (work.steps(budget), work.points(budget), work.forwards(budget)) == (60, 4, 5)
    assert work.flops(budget) == 60 * (forward + gradient) + 5 * work.forward.flops


def test_the_published_boolean_shape_agrees_with_the_closed_form(plan_of, count):
    cell = first_cell(plan_of("tasks: 2parity\ninitializers: default\nseeds: 1\n", profile="paper"))
    work, budget = count(cell), cell.task.budget
    blocks = encoder_flops(15, 4, 3, 64, 256, 256, examples=256)
    assert work.forward.flops == blocks + 2 * 256 * 256  # and the output layer
    assert work.step.flops == 3 * work.forward.flops  # a gradient for both factors of every product
    assert work.steps(budget) == 90 * 96
    assert work.points(budget) == 91
    assert work.forwards(budget) == 92 * 128


def test_vit_tiny_has_its_published_size(plan_of, count):
    """timm's vit_tiny_patch16_224: 5.72 M parameters with 1000 classes, 1.26 GMACs with attention, 1.08 without."""
    cell = first_cell(plan_of("tasks: cifar100\ninitializers: default\nseeds: 1\n", profile="paper"))
    work = count(cell)
    prior = 12 * 3 * 197 * 197
    assert work.parameters - prior + 193 * 900 == 5_717_416
    macs = work.forward.flops / 2 / 256
    assert macs == pytest.approx(1.26e9, rel=0.01)
    assert macs == encoder_flops(197, 12, 3, 64, 192, 768, 1) / 2 + 196 * 768 * 192 + 192 * 100
    assert work.step.flops / 512 / (work.forward.flops / 256) == pytest.approx(3, rel=0.02)


def test_the_language_model_is_counted_without_text_or_tokenizer(plan_of, count):
    cell = first_cell(plan_of("tasks: tinystories\ninitializers: default\nseeds: 1\n", profile="paper"))
    work = count(cell)
    head = 2 * 256 * 64 * 512 * 50257
    assert work.forward.flops == encoder_flops(64, 12, 12, 42, 512, 2048, 256) + head
    assert set(work.workload.missing) == {"tinystories", "gpt2-tokenizer"}
    assert "estimated" in work.workload.assumptions[0]


def test_flops_are_those_of_torchs_own_counter(plan_of, count):
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    cell = first_cell(plan_of("tasks: multiplication\ninitializers: mask\nseeds: 1\n"))
    model, examples = cell.task.build_model(), cell.task.training_examples(0)
    size = cell.task.budget.batch_size
    with FlopCounterMode(display=False) as counter:
        cell.task.loss(model(examples.inputs[:size]), examples.targets[:size]).backward()
    assert count(cell).step.flops == counter.get_total_flops()
    assert all(torch.isfinite(parameter).all() for parameter in model.parameters())


def test_memory_alive_at_once_is_followed():
    import torch

    from benchmark.train.operations import Counter

    x = torch.zeros(1000)
    with Counter() as counter:
        y = x + 1  # 4000 bytes made
        z = y.view(10, 100) * 2  # 4000 more; a view is nothing
        del y
        z = z + 1  # 4000 more while the old z is there
    assert counter.peak == 8000
    assert len(counter.operations) == 3
    assert counter.operations[0] == Operation(0, 8000)


def test_micro_batches_save_memory_and_cost_the_same_products(plan_of, count):
    text = "tasks: {name: 2parity, parameters: {budget: {micro_batch: %s}}}\ninitializers: default\nseeds: 1\n"
    whole, parts = (count(first_cell(plan_of(text % size, profile="paper"))) for size in ("256", "64"))
    assert whole.step.flops == parts.step.flops
    assert parts.step.peak < whole.step.peak / 2


def test_tasks_of_one_shape_are_counted_once(plan_of, count):
    from benchmark.cost.estimate import cells_to_train

    plan = plan_of("tasks: [2parity, threesym]\ninitializers: default\nseeds: 1\n", profile="paper")
    one, other = (count(cell) for cell in cells_to_train(plan).values())
    assert one.step is other.step
    assert one.workload.training != other.workload.training


# --- devices ---------------------------------------------------------------------------------------------------------


def test_time_is_that_of_the_tightest_limit():
    products = Pass((Operation(600_000_000, 0),), 0)
    traffic = Pass((Operation(1, 850_000_000),), 0)
    tiny = Pass((Operation(1, 1),) * 50, 0)
    assert SLOW.seconds(products) == pytest.approx(1.0)
    assert SLOW.seconds(products, 3) == pytest.approx(3.0)
    assert SLOW.seconds(products, precision="bfloat16") == pytest.approx(0.25)
    assert SLOW.seconds(traffic) == pytest.approx(1.0)
    assert SLOW.seconds(tiny) == pytest.approx(50 * devices.LAUNCH_SECONDS)


@pytest.mark.parametrize(
    ("shape", "batch", "milliseconds"),
    [
        ({}, 512, 222.408),
        ({"heads": 6, "dim": 384, "mlp_dim": 1536}, 384, 363.872),
    ],
    ids=["vit_tiny_patch16_224", "vit_small_patch16_224"],
)
def test_estimates_are_within_a_quarter_of_what_timm_measured(plan_of, count, shape, batch, milliseconds):
    """timm's training steps on an RTX 3090 in mixed precision (pytorch-image-models@5e7d47ca:
    results/benchmark-train-amp-nchw-pt112-cu113-rtx3090.csv)."""
    cell = first_cell(plan_of("tasks: imagenet100\ninitializers: default\nseeds: 1\n", profile="paper"))
    changes = {
        "image_size": 224,
        "precision": "bfloat16",
        "model": cell.task.model.model_copy(update=shape),
        "budget": Budget(batch_size=batch, steps=1000),
    }
    work = count(replace(cell, task=cell.task.model_copy(update=changes)))
    seconds = devices.device("RTX-3090").seconds(work.step, precision="bfloat16")
    assert 0.8 < 1000 * seconds / milliseconds < 1.25


def test_names_are_forgiving_and_unknown_ones_are_told_apart():
    assert devices.device("a100 40gb").name == "A100-40GB"
    assert devices.device("CPU") is None
    with pytest.raises(UsageError, match=r"no GPU 'A100'. Did you mean 'A100-40GB' or 'A100-80GB'\? There are: T4"):
        devices.device("A100")
    with pytest.raises(UsageError, match="Did you mean 'RTX-4090'"):
        devices.device("rtx4090")


@pytest.mark.parametrize(
    ("name", "reported"),
    [
        ("A100-40GB", "NVIDIA A100-SXM4-40GB"), ("A100-80GB", "NVIDIA A100 80GB PCIe"), ("T4", "Tesla T4"),
        ("H100", "NVIDIA H100 80GB HBM3"), ("H200", "NVIDIA H200"), ("RTX-4090", "NVIDIA GeForce RTX 4090"),
        ("L4", "NVIDIA L4"), ("L40S", "NVIDIA L40S"), ("RTX-3090", "NVIDIA GeForce RTX 3090"),
    ],
)  # fmt: skip
def test_a_stored_cell_is_known_by_the_name_the_driver_gives(name, reported):
    matching = [device.name for device in devices.DEVICES if devices.ran_on(device, "cuda:0", [reported])]
    assert matching == [name]
    assert not devices.ran_on(devices.device(name), "cpu", [reported])


def test_every_data_sheet_is_plausible():
    for device in devices.DEVICES:
        assert device.bfloat16 is None or device.bfloat16 > device.float32
        assert 1e11 < device.bandwidth < 1e13
        assert device.source


# --- plans -----------------------------------------------------------------------------------------------------------


def work_of(step, memory=0, operations=1, averaged=False):
    array = Array((), "float32")
    load = Workload(training=64, curve=32, final=32, trained=(array, array), scored=(array, array))
    each = Operation(step // operations, 0)
    return Work(10, 16, 6, averaged, Pass((each,) * operations, memory), Pass((Operation(10, 0),), 0), 32, load)


def test_small_cells_are_stacked_until_the_device_is_busy_or_full(plan_of):
    cells = plan_of("tasks: toy_regression\ninitializers: toy_plain\nseeds: 20\n").to_run()
    small = work_of(600_000, operations=100)  # 1 ms of launches, 1 ms of products
    assert best_stack(cells, small, SLOW) == 1
    smaller = work_of(70_000, operations=100)  # 0.117 ms of products
    assert best_stack(cells, smaller, SLOW) == 9
    assert best_stack(cells[:4], smaller, SLOW) == 4
    assert best_stack(cells, work_of(70_000, memory=299_000_000, operations=100), SLOW) == 3
    assert best_stack(cells, smaller, None) == 1


def test_a_cell_that_does_not_fit_is_told(plan_of):
    plan = plan_of("tasks: toy_regression\ninitializers: toy_plain\nseeds: 1\n")
    cost = estimate(plan, SLOW, Rates(), lambda cell: work_of(10, memory=2_000_000_000))
    assert cost.tasks[0].execution == "does not fit: lower budget.micro_batch"


def test_the_moving_average_is_scored_too(plan_of):
    budget = first_cell(plan_of("tasks: toy_regression\ninitializers: toy_plain\nseeds: 1\n")).task.budget
    assert work_of(10, averaged=True).forwards(budget) == 2 * work_of(10).forwards(budget)


TABLES = """tasks: [{name: toy_regression, as: a}, {name: toy_regression, as: b, parameters: {slope: 2}}]
initializers: [toy_plain, {name: toy_plain, as: other, parameters: {scale: 2}}]
seeds: 3
tables:
  - {title: accuracy, claims_table: Table 1, tasks: a, metrics: accuracy}
  - {title: loss, claims_table: Table 1, tasks: a, metrics: loss}
  - {title: both, tasks: [a, b], initializers: toy_plain}
"""


def test_tables_overlap_and_the_total_counts_each_cell_once(plan_of):
    cost = estimate(plan_of(TABLES), SLOW, Rates(), lambda cell: work_of(600_000_000))
    assert [(table.title, table.cells) for table in cost.tables] == [("Table 1", 6), ("both", 6), ("in no table", 3)]
    assert cost.total.cells == 12
    one = cost.tasks[0]
    assert cost.total.flops == 12 * one.flops
    assert cost.total.seconds == pytest.approx(12 * one.seconds)
    assert one.seconds == pytest.approx(60.0, rel=0.01)  # 60 steps of a second
    assert cost.total.storage == 12 * (FILE_BYTES + NUMBER_BYTES * 3 * 4)


def test_finished_cells_cost_nothing(plan_of):
    plan = plan_of(TABLES)
    done = {cell.id: "run" for cell in plan.to_run()[:5]}
    left = estimate(build_plan(plan.loaded, done), SLOW, Rates(), lambda cell: work_of(10))
    assert (left.total.cells, left.reused) == (7, 5)
    everything = build_plan(plan.loaded, {cell.id: "run" for cell in plan.to_run()})
    nothing = estimate(everything, SLOW, Rates(), lambda cell: work_of(10))
    assert (nothing.tasks, nothing.total.cells, nothing.total.seconds) == ((), 0, 0)


def test_cells_that_wait_for_data_are_counted_and_excluded_ones_are_not(plan_of):
    text = (
        "tasks: [cifar10, toy_regression]\ninitializers: [default, toy_plain]\nseeds: 2\n"
        "exclude: [{task: cifar10, initializer: toy_plain, reason: no}]\n"
    )
    array = Array((), "float32")
    load = Workload(64, 32, 32, (array, array), (array, array), missing={"cifar10": 5})
    work = work_of(10)
    cost = estimate(
        plan_of(text, profile="paper"), SLOW, Rates(), lambda cell: Work(**{**vars(work), "workload": load})
    )
    assert [(task.task, len(task.cells)) for task in cost.tasks] == [("toy_regression", 4), ("cifar10", 2)]
    assert "bench data fetch cifar10" in cost.tasks[1].missing_reason
    assert cost.missing() == {"cifar10": 5}


def test_a_task_that_cannot_be_counted_leaves_the_others(plan_of):
    def count(cell):
        if cell.task_name == "b":
            raise RuntimeError("needs values")
        return work_of(10)

    cost = estimate(plan_of(TABLES), SLOW, Rates(), count)
    assert cost.tasks[1].unknown == "not counted: RuntimeError: needs values"
    assert (cost.total.unknown, cost.total.cells) == (6, 12)


# --- measured rates --------------------------------------------------------------------------------------------------


def store_of(folder, cells, seconds=2.0, device="cpu", gpus=()):
    store = Store(folder)
    for number, cell in enumerate(cells):
        request = {"threads": 1, "device": device, "purpose": "run", "attempt_id": f"a{number}", "run_id": "r"}
        record = record_of(cell, request, status="finished", seconds=seconds, device=device)
        record.provenance["gpus"] = list(gpus)
        store.write_shard([record])
    return store


def test_the_rate_of_finished_cells_replaces_the_estimate(plan_of, tmp_path):
    plan = plan_of(TABLES)
    count = lambda cell: work_of(600)  # noqa: E731
    store = store_of(tmp_path / "results", plan.to_run()[:2], seconds=7.0)
    rates = measured(store, plan.loaded.registry, None, count)
    cost = estimate(plan, None, rates, count)
    assert cost.tasks[0].rate == "measured"
    assert cost.tasks[0].seconds == pytest.approx(7.0)


def test_rates_of_another_device_do_not_count(plan_of, tmp_path):
    plan = plan_of(TABLES)
    count = lambda cell: work_of(600)  # noqa: E731
    store = store_of(tmp_path / "results", plan.to_run()[:2], device="cuda:0", gpus=["NVIDIA H200"])
    registry = plan.loaded.registry
    assert measured(store, registry, None, count) == Rates()
    assert measured(store, registry, devices.device("T4"), count) == Rates()
    assert measured(store, registry, devices.device("H200"), count).typical() is not None


def test_on_a_cpu_where_nothing_ran_the_time_is_unknown(plan_of, tmp_path):
    plan = plan_of(TABLES)
    rates = measured(Store(tmp_path / "nothing"), plan.loaded.registry, None, lambda cell: work_of(10))
    cost = estimate(plan, None, rates, lambda cell: work_of(10))
    assert (cost.tasks[0].seconds, cost.total.unknown) == (None, 12)


def test_other_shapes_give_a_cpus_typical_rate(plan_of):
    cost = estimate(plan_of(TABLES), None, Rates({"x": 10.0, "y": 1000.0, "z": 30.0}), lambda cell: work_of(600))
    assert cost.tasks[0].rate == "measured on other shapes"
    assert cost.tasks[0].seconds == pytest.approx(cost.tasks[0].flops / 30)


@pytest.mark.parametrize(("points", "metrics"), [(91, 18), (401, 7)])
def test_storage_is_close_to_what_the_store_writes(plan_of, tmp_path, points, metrics):
    cell = first_cell(plan_of("tasks: 2parity\ninitializers: default\nseeds: 1\n", profile="paper"))
    draw = random.Random(0)
    curve = [
        CurvePoint(f"m{k}", 96 * s, draw.gauss(1, 0.1)) for s, k in itertools.product(range(points), range(metrics))
    ]
    request = {"threads": 1, "device": "cpu", "purpose": "run", "attempt_id": "a", "run_id": "r"}
    finals = {f"m{k}": draw.random() for k in range(metrics)}
    record = record_of(cell, request, status="finished", seconds=1.0, finals=finals, curve=tuple(curve))
    size = Store(tmp_path / "s").write_shard([record]).stat().st_size
    assert FILE_BYTES + NUMBER_BYTES * points * metrics == pytest.approx(size, rel=0.15)
