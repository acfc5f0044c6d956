"""Hostile and merely ordinary plugins: each trains to the numbers of a plain loop of PyTorch or fails by name, alone,
in a stack and compiled, before and after other cells, whose numbers stay the same to the last bit."""

from __future__ import annotations

import itertools
import os
import random
import re
from decimal import Decimal
from functools import cache
from pathlib import Path

import numpy
import pytest
import torch
from torch import nn

from benchmark.cell import Cell
from benchmark.initializer import Initializer
from benchmark.nn import noise
from benchmark.parameters import Budget, Metric, Optimizer
from benchmark.task import Examples, Geometry, Task
from benchmark.train import program
from benchmark.train.build import build_all
from benchmark.train.mode import Mode
from benchmark.train.stack import train_stack
from benchmark.train.trainer import Trainer

STEPS = 4
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:torch", "ignore::UserWarning:torch.fx")
TOLERANCE = 1e-4
"""As in tests/train/test_stack.py: another order of sums, enlarged by the optimiser over a few steps."""


class Toy(Task):
    """Twelve numbers in, one out."""

    family = "toy"
    optimizer: Optimizer = Optimizer(learning_rate=1e-2)
    budget: Budget = Budget(batch_size=16, steps=STEPS, evaluate_every=1)

    def metrics(self):
        return (Metric(name="score", title="score", direction="max"), Metric(name="mse", title="mse", direction="min"))

    def geometry(self):
        return Geometry(layers=1, heads=1, tokens=4)

    def build_model(self):
        return nn.Sequential(nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 1))

    def sample(self, x):
        return Examples(x, x[:, 0] * x[:, 1] + 0.5 * x[:, 2])

    def training_key(self, seed):
        return None

    def training_examples(self, seed):
        return self.sample(torch.randn(64, 12, generator=torch.Generator().manual_seed(7)))

    def evaluation_examples(self, seed, *, final):
        return self.sample(torch.randn(64, 12, generator=torch.Generator().manual_seed(8)))

    def loss(self, outputs, targets):
        return (outputs.squeeze(-1) - targets).square().mean()

    def observe(self, outputs, targets):
        return {"out": outputs.squeeze(-1)}

    def summarize(self, observed, examples, *, final):
        mse = (observed["out"].double() - examples.targets.double()).square().mean().item()
        return {"score": 100 - mse, "mse": mse}


class Plain(Initializer):
    """Leaves the model as it was built."""

    family = "plain"

    def apply(self, model, context):
        pass


INITIALIZERS: dict[str, tuple[type[Initializer], str | None]] = {}
"""Name → class and what its failure says; None where the numbers must be right."""
TASKS: dict[str, tuple[type[Task], str | None]] = {}


def starts(fails=None):
    """Register a function as the `apply` of an initialiser."""

    def register(function):
        methods = {"apply": lambda self, model, context: function(model, context), "family": function.__name__}
        INITIALIZERS[function.__name__] = (type(function.__name__, (Initializer,), methods), fails)
        return function

    return register


def learns(fails=None):
    """Register a task."""

    def register(kind):
        kind.family = kind.__name__
        TASKS[kind.__name__] = (kind, fails)
        return kind

    return register


# --- what a model holds ----------------------------------------------------------------------------------------------


@starts()
def object_array_in_a_closure(model, context):
    kept = numpy.array([0.5, None], dtype=object)
    model[0].register_forward_hook(lambda module, inputs, output: kept[0] * output)


@starts("a flag of torch.backends")
def backend_flag(model, context):
    torch.backends.mkldnn.enabled = False


@starts("flushing of denormal numbers")
def flushed_denormals(model, context):
    torch.set_flush_denormal(True)


@starts("anomaly detection")
def anomaly_detection(model, context):
    torch.autograd.set_detect_anomaly(True)


@starts("apply of initialiser .* returned Sequential, which nothing uses")
def returned_model(model, context):
    return nn.Sequential(*model)


@starts("turns a tensor into a Python number")
def branch_on_a_value(model, context):
    model[0].register_forward_hook(lambda module, inputs, output: output if inputs[0].mean() > 0 else -output)


@starts("'0.weight' holds no numbers yet")
def lazy_module(model, context):
    model[0] = nn.LazyLinear(12)


@starts(r"torch.float16 \(4.bias\)")
def one_half_parameter(model, context):
    model[4].bias = nn.Parameter(model[4].bias.half())


@starts()
def forward_hook(model, context):
    model[0].register_forward_hook(lambda module, inputs, output: 0.3 * output)


@starts()
def forward_pre_hook(model, context):
    model[2].register_forward_pre_hook(lambda module, inputs: (inputs[0] + 0.25,))


@starts()
def hook_with_a_list_and_a_dict(model, context):
    values, table = [2.0, -1.0], {"shift": 0.5}
    model[2].register_forward_hook(lambda module, inputs, output: values[0] * output + values[1] * table["shift"])


@starts()
def unregistered_tensor_of_the_seed(model, context):
    model[2].shift = torch.randn(12, generator=context.generator)
    model[2].register_forward_hook(lambda module, inputs, output: output + module.shift)


@starts()
def buffer_of_the_seed(model, context):
    model[2].register_buffer("shift", torch.randn(12, generator=context.generator))
    model[2].register_forward_hook(lambda module, inputs, output: output + module.shift)


@starts()
def replaced_forward(model, context):
    model[1].forward = lambda x: torch.relu(x)


@starts()
def replaced_module(model, context):
    model[1] = nn.ReLU()


@starts()
def more_modules(model, context):
    model[3] = nn.Sequential(nn.Tanh(), nn.LayerNorm(12))


@starts()
def weight_norm(model, context):
    nn.utils.parametrizations.weight_norm(model[0])


@starts()
def spectral_norm(model, context):
    nn.utils.parametrizations.spectral_norm(model[2])


@starts()
def tied(model, context):
    model[2].weight = model[0].weight


@starts("parameters '0.weight' and '2.weight' share memory without being one parameter; tie them by assigning")
def shared_memory(model, context):
    model[2].weight.data = model[0].weight.data


@starts()
def frozen(model, context):
    model[0].requires_grad_(False)


@starts("parameter '0.weight' has a gradient hook, which a program does not run.*ParameterRule")
def gradient_hook(model, context):
    model[0].weight.register_hook(lambda gradient: 0.1 * gradient)


@starts("module '0' has a backward hook, which a program does not run")
def backward_hook(model, context):
    model[0].register_full_backward_hook(lambda module, given, made: None)


@starts("holds the tensor of 0.weight itself, which a stack replaces by its own")
def closure_over_a_parameter(model, context):
    weight = model[0].weight
    model[2].register_forward_hook(lambda module, inputs, output: output + 0.1 * weight.detach().sum(1))


class Reversed(torch.autograd.Function):
    """The identity, whose gradient has the other sign: same loss, same norm of the gradient."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        return -gradient


@starts()
def reversed_gradient(model, context):
    model[0].register_forward_hook(lambda module, inputs, output: Reversed.apply(output))


@starts("non-finite values in parameter '0.weight'")
def non_finite(model, context):
    model[0].weight.fill_(float("nan"))


@starts(r"parameters of one dtype; found torch.float32 \(0.weight\), torch.float64 \(2.weight\)")
def two_types(model, context):
    model[2].double()


@starts("dtype")
def another_type(model, context):
    model.double()


# --- what a model keeps while it runs --------------------------------------------------------------------------------


@starts()
def buffer_written_in_place(model, context):
    model[2].register_buffer("calls", torch.zeros(()))

    def hook(module, inputs, output):
        if module.training:
            module.calls.add_(1)
        return output * (1 + 0.1 * module.calls)

    model[2].register_forward_hook(hook)


@starts()
def batch_norm(model, context):
    model[1] = nn.Sequential(nn.BatchNorm1d(12), nn.Tanh())


@starts("buffer '2.mean' is written to by the model but not by the program; change it in place")
def buffer_assigned_anew(model, context):
    model[2].register_buffer("mean", torch.zeros(12))

    def hook(module, inputs, output):
        if module.training:
            module.mean = 0.9 * module.mean + 0.1 * output.detach().mean(0)
        return output - module.mean

    model[2].register_forward_hook(hook)


@starts("buffer '2.calls' is written to when the model is evaluated")
def buffer_written_in_evaluation(model, context):
    model[2].register_buffer("calls", torch.zeros(()))
    model[2].register_forward_hook(lambda module, inputs, output: output * module.calls.add_(1))


@starts("2.calls changes while the model runs: a program is traced once")
def counting_attribute(model, context):
    model[2].calls = 0

    def hook(module, inputs, output):
        module.calls += 1
        return output * (1 + 0.1 * module.calls)

    model[2].register_forward_hook(hook)


@starts("calls changes while the model runs")
def counting_closure_that_matters_later(model, context):
    calls = 0

    def hook(module, inputs, output):
        nonlocal calls
        calls += 1
        return output if calls < 20 else -output

    model[2].register_forward_hook(hook)


@starts("seen changes while the model runs")
def growing_list(model, context):
    seen = []
    model[2].register_forward_hook(lambda module, inputs, output: seen.append(1))


@starts("2.before changes while the model runs")
def remembered_activation(model, context):
    def hook(module, inputs, output):
        mixed = output + getattr(module, "before", 0.0)
        module.before = output.detach().mean(0)
        return mixed

    model[2].register_forward_hook(hook)


@starts()
def kept_activation_that_nobody_reads(model, context):
    def hook(module, inputs, output):
        module.last = output.detach()

    model[2].register_forward_hook(hook)


# --- randomness ------------------------------------------------------------------------------------------------------


@starts(r"draws from torch's global generator while it runs \(Dropout '1.1'\).*noise.Dropout\(p\) in place of")
def dropout(model, context):
    model[1] = nn.Sequential(nn.Tanh(), nn.Dropout(0.5))


@starts()
def dropout_of_the_engine(model, context):
    model[1] = nn.Sequential(nn.Tanh(), noise.Dropout(0.5))
    model[3] = nn.Sequential(nn.Tanh(), noise.Dropout(0.25))


@starts("draws from torch's global generator while it runs.*benchmark.nn.noise")
def noise_in_forward(model, context):
    model[2].register_forward_hook(lambda module, inputs, output: output + torch.randn_like(output))


@starts("draws from numpy's global generator while it runs")
def numpy_in_forward(model, context):
    model[2].register_forward_hook(lambda module, inputs, output: output * numpy.random.rand())


@starts("draws from Python's `random` while it runs")
def layer_drop(model, context):
    model[2].register_forward_hook(lambda module, inputs, output: output if random.random() < 0.5 else inputs[0])


@starts("draws from a generator of its own")
def generator_of_its_own(model, context):
    own = torch.Generator().manual_seed(0)
    model[2].register_forward_hook(
        lambda module, inputs, output: output + torch.randn(output.shape, generator=own, device="cpu")
    )


@starts()
def global_generators(model, context):
    model[0].weight.mul_(1 + numpy.random.rand() + random.random())
    model[2].weight.normal_(std=0.3)


@starts()
def generators_seeded_anew(model, context):
    torch.manual_seed(0)
    numpy.random.seed(0)
    random.seed(0)


# --- what all cells of a process share -------------------------------------------------------------------------------


@starts("'default_dtype' changed torch's default dtype from torch.float32 to torch.float64: all cells")
def default_dtype(model, context):
    torch.set_default_dtype(torch.float64)


@starts()
def threads_folder_environment_gradients(model, context):
    torch.set_num_threads(torch.get_num_threads() + 1)
    os.chdir("/")
    os.environ["INITBENCH_HOSTILE"] = "1"
    torch.set_grad_enabled(False)
    torch.use_deterministic_algorithms(True)


@starts("replaced torch.nn.functional.linear")
def patched_function(model, context):
    linear = torch.nn.functional.linear
    torch.nn.functional.linear = lambda x, weight, bias=None: 2 * linear(x, weight, bias)


@starts("replaced Tanh.forward")
def patched_class(model, context):
    nn.Tanh.forward = lambda self, x: x


@starts("changed hooks on every module")
def hook_on_every_module(model, context):
    nn.modules.module.register_module_forward_hook(lambda module, inputs, output: 2 * output)


# --- tasks -----------------------------------------------------------------------------------------------------------


@learns(r"loss must return a scalar, the mean over the batch; found a tensor of shape \(2,\)")
class LossPerExample(Toy):
    def loss(self, outputs, targets):
        return (outputs.squeeze(-1) - targets).square()


@learns("turns a tensor into a Python number")
class LossWithItem(Toy):
    def loss(self, outputs, targets):
        return super().loss(outputs, targets) / max(targets.abs().max().item(), 1)


@learns()
class DataBySeed(Toy):
    def training_key(self, seed):
        return Task.training_key(self, seed)

    def training_examples(self, seed):
        return self.sample(torch.randn(64, 12, generator=torch.Generator().manual_seed(seed)))


@learns()
class DataBySeedThatClaimsToBeShared(Toy):
    def training_examples(self, seed):
        return self.sample(torch.randn(64, 12, generator=torch.Generator().manual_seed(seed)))


@learns()
class DataOfGlobalGenerators(Toy):
    def training_key(self, seed):
        return seed

    def training_examples(self, seed):
        return self.sample(torch.from_numpy(numpy.random.randn(64, 12).astype("float32")) + random.random())


own_generator = numpy.random.default_rng(0)


@learns("training_examples gave other data when it was called again for the same seed")
class DataOfAGeneratorAllCellsShare(Toy):
    def training_examples(self, seed):
        return self.sample(torch.from_numpy(own_generator.standard_normal((64, 12)).astype("float32")))


@learns("evaluation_examples gave other data when it was called again for the same seed")
class ScoredOnOtherData(Toy):
    def evaluation_examples(self, seed, *, final):
        return self.sample(torch.from_numpy(own_generator.standard_normal((64, 12)).astype("float32")))


@learns("augment draws from torch's global generator, which the cells share; draw from the `generator`")
class CarelessAugmentation(Toy):
    def augment(self, inputs, targets, generator):
        return inputs + 0.1 * torch.randn(inputs.shape), targets


@learns()
class Augmentation(Toy):
    def augment(self, inputs, targets, generator):
        return inputs + 0.1 * torch.randn(inputs.shape, generator=generator), targets


@learns("training_examples of task 'DoubleByDefault' changed torch's default dtype")
class DoubleByDefault(Toy):
    def training_examples(self, seed):
        torch.set_default_dtype(torch.float64)
        return super().training_examples(seed)


class BranchingModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(12, 1)

    def forward(self, x):
        return self.linear(x) if self.linear(x).mean() > 0 else self.linear(2 * x)


@learns("turns a tensor into a Python number")
class BranchesOnData(Toy):
    def build_model(self):
        return BranchingModel()


@learns()
class WarmSgd(Toy):
    optimizer: Optimizer = Optimizer(name="sgd", learning_rate=1e-2, weight_decay=0.1, clip_norm=0.5)


@learns()
class Momentum(Toy):
    optimizer: Optimizer = Optimizer(name="sgd", learning_rate=1e-2, momentum=0.9)


class Scaled(nn.Module):
    """A linear map times what `scale` says of its module."""

    def __init__(self, scale):
        super().__init__()
        self.linear, self.scale = nn.Linear(12, 1), scale
        self.spare = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.linear(x) * self.scale(self)


@learns("turns a tensor into a Python number .`.tolist..`")
class ReadsItsWeightsAsAList(Toy):
    def build_model(self):
        return Scaled(lambda module: sum(map(abs, module.linear.weight.flatten().tolist())))


offsets = torch.tensor([0.5, 1.5])


@learns()
class ReadsAConstantAsAList(Toy):
    def build_model(self):
        return Scaled(lambda module: sum(offsets.tolist()))


@learns("changes while the model runs: a program is traced once")
class TurnsAWheel(Toy):
    def build_model(self):
        wheel = itertools.cycle([0.5, 1.0, 2.0, 3.0, 4.0])
        return Scaled(lambda module: next(wheel))


class Doubles(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(12, 1)

    def forward(self, x):
        return self.linear(x.mul_(2))


@learns("writes to its inputs or targets")
class WritesToItsInputs(Toy):
    def build_model(self):
        return Doubles()


calls = {"summarize": 0, "augment": 0}


@learns(r"calls\['summarize'\] changes while summarize runs")
class CountsItsSummaries(Toy):
    def summarize(self, observed, examples, *, final):
        calls["summarize"] += 1
        return {"score": calls["summarize"], "mse": 1.0}


@learns(r"calls\['augment'\] changes while augment runs")
class AugmentsLater(Toy):
    def augment(self, inputs, targets, generator):
        calls["augment"] += 1
        return inputs * (1.0 if calls["augment"] < 12 else 2.0), targets


counted = itertools.count()


@learns("build_model gives another model when it is called again for the same seed: gain was")
class CountsItsModels(Toy):
    def build_model(self):
        model = Scaled(lambda module: module.gain)
        model.gain = 1.0 + 0.1 * next(counted)
        return model


built = {"models": 0}


@learns(r"build_model gives another model when it is called again for the same seed: .*built\['models'\] was")
class ReadsHowManyThereAre(Toy):
    def build_model(self):
        built["models"] += 1
        return Scaled(lambda module: float(built["models"]))


@learns()
class ParameterThatTheLossDoesNotReach(Toy):
    optimizer: Optimizer = Optimizer(learning_rate=1e-2, weight_decay=0.5)

    def build_model(self):
        return Scaled(lambda module: 1.0 if module.training else module.spare.mean())


def returning(value, name="score"):
    """A task whose summarize returns a value."""

    class Returning(Toy):
        def summarize(self, observed, examples, *, final):
            return {"score": 1.0, "mse": 1.0, name: value} if name else value

    return Returning


for label, value in {
    "numpy_number": numpy.float32(1.5), "numpy_array": numpy.array(2), "tensor": torch.tensor(1.5),
    "whole": 3, "truth": True, "decimal": Decimal("1.5"),
}.items():  # fmt: skip
    TASKS[label] = (returning(value), None)
TASKS["nothing"] = (returning(None), "metric 'score' of summarize must be a number, found NoneType: None")
TASKS["text"] = (returning("1.5"), "metric 'score' of summarize must be a number, found str: '1.5'")
TASKS["complex"] = (returning(1j), "metric 'score' of summarize must be a number, found complex: 1j")
TASKS["vector"] = (returning(torch.ones(2)), "metric 'score' of summarize must be a number, found torch.Tensor")
TASKS["no_dict"] = (returning(1.5, None), "summarize must return a dict of metric → number, found float: 1.5")
TASKS["undeclared"] = (returning(1.0, "acuracy"), "metric 'acuracy' is returned but not declared by metrics()")
TASKS["missing"] = (returning({"score": 1.0}, None), "metric 'mse' is declared by metrics() but neither summarize")
for label in ("undeclared", "missing"):
    TASKS[label] = (TASKS[label][0], TASKS[label][1].replace("()", r"\(\)"))


# --- the matrix ------------------------------------------------------------------------------------------------------


def cell(task, initializer, seed):
    """A cell with a readable id."""
    return Cell(f"{initializer.family}-{seed}", task.family, initializer.family, seed, "compact", task, initializer)


NEIGHBOURS = [cell(Toy(), Plain(), seed) for seed in (0, 1)]


def numbers(outcome):
    """Everything a cell reports."""
    assert outcome.status == "finished", outcome.error
    return outcome.curve, outcome.finals


@cache
def undisturbed(mode, company):
    """The neighbours' numbers without the hostile cell; with `company`, beside a well-behaved one in its place."""
    program.clear()
    third = cell(Toy(), Plain(), 5)
    cells = {"none": NEIGHBOURS, "first": [third, *NEIGHBOURS], "last": [*NEIGHBOURS, third]}[company]
    found = {outcome.cell_id: numbers(outcome) for outcome in train_stack(cells, mode=Mode.parse(mode))}
    return [found[one.id] for one in NEIGHBOURS]


def losses(outcome):
    """The training loss of each step."""
    return [point.value for point in outcome.curve if point.name == "training_loss"]


def assert_right_or_named(outcome, one, fails, plain):
    if fails is None:
        assert outcome.status == "finished", outcome.error
        wanted = plain(one.task, one.initializer, one.seed, STEPS, lambda step: 1.0)
        assert losses(outcome) == pytest.approx(wanted, rel=TOLERANCE)
        assert all(type(value) is float for value in outcome.finals.values())
    else:
        assert outcome.status == "failed"
        assert re.search(fails, outcome.error.replace("\n", " ")), outcome.error[-2000:]


def grid(plugins):
    """Plugins × modes × orders; one that fails does so before any program, so that two corners tell."""
    every = [("alone", "first"), ("stack:3", "last"), ("alone", "last"), ("stack:3", "first")]
    rows = [(n, *where) for n, (_, fails) in plugins.items() for where in (every[:2] if fails else every)]
    compiled = itertools.cycle([("compiled", "first"), ("compiled-stack:3", "last")])
    marks = (pytest.mark.slow, pytest.mark.skipif(program.can_compile("cpu") is not None, reason="no C++ compiler"))
    rows += [pytest.param(n, *next(compiled), marks=marks) for n, (_, fails) in plugins.items() if fails is None]
    return pytest.mark.parametrize(("name", "mode", "order"), rows)


def shared():
    """What a plugin may not change."""
    return torch.get_default_dtype(), torch.get_num_threads(), Path.cwd(), torch.is_grad_enabled()


@grid(INITIALIZERS)
def test_an_initialiser_is_right_or_fails_by_name_and_its_neighbours_keep_their_bits(name, mode, order, plain):
    kind, fails = INITIALIZERS[name]
    before = shared()
    program.clear()
    hostile = cell(Toy(), kind(), 0)
    cells = [hostile, *NEIGHBOURS] if order == "first" else [*NEIGHBOURS, hostile]
    outcomes = {outcome.cell_id: outcome for outcome in train_stack(cells, mode=Mode.parse(mode))}
    assert shared() == before
    assert "INITBENCH_HOSTILE" not in os.environ
    assert_right_or_named(outcomes[hostile.id], hostile, fails, plain)
    company = order if outcomes[NEIGHBOURS[0].id].execution == "stack[3]" else "none"
    for one, wanted in zip(NEIGHBOURS, undisturbed(mode, company), strict=True):
        assert numbers(outcomes[one.id]) == wanted


@grid(TASKS)
def test_a_task_is_right_or_fails_by_name_and_other_tasks_keep_their_bits(name, mode, order, plain):
    kind, fails = TASKS[name]
    program.clear()
    own = [cell(kind(), Plain(), seed) for seed in (3, 4)]
    calls = [own, NEIGHBOURS] if order == "first" else [NEIGHBOURS, own]
    outcomes = {}
    for cells in calls:
        outcomes |= {(o.cell_id): o for o in train_stack(cells, mode=Mode.parse(mode))}
    for one in own:
        assert_right_or_named(outcomes[one.id], one, fails, plain)
    for one, wanted in zip(NEIGHBOURS, undisturbed(mode, "none"), strict=True):
        assert numbers(outcomes[one.id]) == wanted


def test_decay_leaves_a_parameter_that_the_loss_does_not_reach_as_it_is():
    """`torch.optim` skips what has no gradient."""
    built, _ = build_all([cell(ParameterThatTheLossDoesNotReach(), Plain(), 0)])
    trainer = Trainer(built, Mode.parse("alone"), "cpu")
    trainer.run(lambda *_: None)
    weights = trainer.weights(0)
    assert weights["spare"].tolist() == [1.0, 1.0, 1.0]
    assert not torch.equal(weights["linear.weight"], built[0].model.linear.weight)
