"""The stacked optimiser against torch's own, run on each cell alone."""

import math

import pytest
import torch

from benchmark.initializer import ParameterRule
from benchmark.parameters import Optimizer
from benchmark.train import optim
from benchmark.train.layout import Layout, Run

STEPS = 40


def reference(settings):
    """Torch's optimiser for the same settings."""
    common = {"lr": settings.learning_rate, "weight_decay": settings.weight_decay}
    adam = {"betas": settings.betas, "eps": settings.epsilon}
    return {
        "adam": lambda parameters: torch.optim.Adam(parameters, **common, **adam),
        "adamw": lambda parameters: torch.optim.AdamW(parameters, **common, **adam),
        "sgd": lambda parameters: torch.optim.SGD(parameters, **common, momentum=settings.momentum),
    }[settings.name]


def models(count):
    torch.manual_seed(0)
    return [torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Linear(7, 3)).double() for _ in range(count)]


def gradients(layout, cell, step):
    """A made-up gradient of wildly varying scale, reproducible per cell and step."""
    generator = torch.Generator().manual_seed(1000 * cell + step)
    scale = 10.0 ** (step % 7 - 4)
    return {
        name: scale * torch.randn(shape, generator=generator, dtype=torch.float64)
        for name, shape in zip(layout.names, layout.shapes, strict=True)
    }


def stacked(settings, cells, rules=None, run=None):
    """Parameters (C, P) after STEPS stacked steps, and the layout."""
    layout = Layout.of(cells[0])
    rows = torch.stack([layout.join({k: v.detach() for k, v in cell.named_parameters()}) for cell in cells])
    state = optim.initial_state(layout, settings, rules or [()] * len(cells), STEPS, "cpu")
    for step in range(STEPS):
        own = [gradients(layout, i, step) for i in range(len(cells))]
        grads = {name: torch.stack([one[name] for one in own]) for name in layout.names}
        optim.update(settings, layout, rows, grads, state.tensors(), state.scalars[step], run)
    return rows, layout


def alone(settings, cell, number, layout, clip=None):
    optimizer = reference(settings)(cell.parameters())
    for step in range(STEPS):
        for name, gradient in gradients(layout, number, step).items():
            cell.get_parameter(name).grad = gradient
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(cell.parameters(), clip)
        optimizer.step()
    return layout.join({name: parameter.detach() for name, parameter in cell.named_parameters()})


CASES = [
    Optimizer(name="adam", learning_rate=1e-2),
    Optimizer(name="adam", learning_rate=1e-2, weight_decay=0.3, betas=(0.8, 0.95), epsilon=1e-5),
    Optimizer(name="adamw", learning_rate=1e-2, weight_decay=0.3),
    Optimizer(name="sgd", learning_rate=1e-3, weight_decay=0.1),
    Optimizer(name="sgd", learning_rate=1e-3, weight_decay=0.1, momentum=0.9),
]


@pytest.mark.parametrize("clip", [None, 1.0])
@pytest.mark.parametrize("settings", CASES, ids=lambda s: f"{s.name}-wd{s.weight_decay}-m{s.momentum}")
def test_a_stack_agrees_with_torch_run_on_each_cell_alone(settings, clip):
    cells = models(3)
    rows, layout = stacked(settings.model_copy(update={"clip_norm": clip}), cells)
    for number, cell in enumerate(cells):
        expected = alone(settings, cell, number, layout, clip)
        torch.testing.assert_close(rows[number], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("limit", [1, 7, 16, 40, 10**6])
@pytest.mark.parametrize("settings", CASES[2:4], ids=lambda s: s.name)
def test_updating_in_runs_changes_no_bit(settings, limit):
    doubled, frozen = ParameterRule("0.weight", learning_rate_multiplier=2.0), ParameterRule("*.bias", trainable=False)
    rules = [(), (doubled,), (frozen,)]
    whole, _ = stacked(settings, models(3), rules)
    runs, _ = stacked(settings, models(3), rules, run=limit)
    assert torch.equal(whole, runs)


@pytest.mark.parametrize("limit", [1, 7, 16, 40, 10**6])
def test_runs_cover_every_scalar_once_and_keep_to_their_limit(limit):
    layout = Layout.of(models(1)[0])
    tensors = layout.split(torch.arange(float(layout.size)).double().unsqueeze(0))
    runs = layout.runs(tensors, limit)
    found = torch.zeros(1, layout.size).double()
    for run in runs:
        found[:, run.start : run.stop] += run.values
        inside = [offset for offset in layout.offsets if run.start < offset < run.stop]
        assert not (run.alone and inside)
    assert torch.equal(found, layout.join(tensors))
    padded = -(-limit // 16) * 16
    assert all(run.stop - run.start <= (limit if run.alone else padded) for run in runs)


def test_the_comparison_notices_a_wrong_decay():
    cells = models(1)
    rows, layout = stacked(CASES[2], cells)  # decoupled
    coupled = alone(CASES[1].model_copy(update={"betas": (0.9, 0.999), "epsilon": 1e-8}), cells[0], 0, layout)
    assert (rows[0] - coupled).abs().max() > 1e-3


def test_rules_freeze_scale_and_exempt_per_parameter_and_per_cell():
    settings = Optimizer(name="adamw", learning_rate=1e-2, weight_decay=0.5)
    rules = [
        (),
        (ParameterRule("*", trainable=False), ParameterRule("1.*")),
        (ParameterRule("0.weight", learning_rate_multiplier=2.0, weight_decay=0.0),),
    ]
    cells = models(3)
    before = [{k: v.detach().clone() for k, v in cell.named_parameters()} for cell in cells]
    rows, layout = stacked(settings, cells, rules)
    plain, layout2 = stacked(settings, cells)
    assert layout == layout2
    assert torch.equal(rows[0], plain[0])
    frozen, trained = layout.split(rows[1]), layout.split(plain[1])
    assert torch.equal(frozen["0.weight"], before[1]["0.weight"])
    assert torch.equal(frozen["1.weight"], trained["1.weight"])
    doubled = layout.split(rows[2])["0.weight"]
    expected = settings.model_copy(update={"learning_rate": 2e-2, "weight_decay": 0.0})
    torch.testing.assert_close(
        doubled, layout.split(stacked(expected, cells)[0][2])["0.weight"], rtol=1e-12, atol=1e-12
    )


def test_priors_are_frozen_unless_a_rule_turns_them_on():
    class Slot(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.prior = torch.nn.Parameter(torch.zeros(3))
            self.weight = torch.nn.Parameter(torch.zeros(2))

    model = torch.nn.Sequential(Slot())
    layout = Layout.of(model)
    settings = Optimizer(learning_rate=1.0, weight_decay=0.1)
    trained = [layout.split(optim.rule_rows(layout, settings, rules)[2]) for rules in ((), (ParameterRule("*.prior"),))]
    assert trained[0]["0.prior"].tolist() == [0, 0, 0]
    assert trained[0]["0.weight"].tolist() == [1, 1]
    assert trained[1]["0.prior"].tolist() == [1, 1, 1]


def test_vectors_are_exempt_from_decay_on_request():
    layout = Layout.of(models(1)[0])
    settings = Optimizer(learning_rate=1.0, weight_decay=0.1, decay_vectors=False)
    decay = layout.split(optim.rule_rows(layout, settings, ())[1])
    assert decay["0.bias"].unique().tolist() == [0.0]
    assert decay["0.weight"].unique().tolist() == [0.1]


def test_clipping_counts_trained_parameters_only_and_works_per_cell():
    gradients = torch.tensor([[3.0, 4.0, 100.0], [0.3, 0.4, 0.0]])
    trained = torch.tensor([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    runs = [Run(0, 2, gradients[:, :2], alone=False), Run(2, 3, gradients[:, 2:], alone=False)]
    clipped = torch.cat([run.values for run in optim.clipped(runs, trained, 1.0)], dim=1)
    torch.testing.assert_close(clipped[0, :2], torch.tensor([0.6, 0.8]))
    torch.testing.assert_close(clipped[1], gradients[1])


def test_a_rule_that_matches_nothing_is_refused_and_names_what_there_is():
    layout = Layout.of(models(1)[0])
    with pytest.raises(ValueError, match=r"'\*\.priors' matches none of the model's 4 parameters \(such as 0\.weight"):
        optim.rule_rows(layout, Optimizer(learning_rate=1.0), (ParameterRule("*.priors"),))


def test_a_cell_that_is_not_finite_leaves_the_others_untouched():
    settings = CASES[1].model_copy(update={"clip_norm": 1.0})
    cells = models(2)
    layout = Layout.of(cells[0])
    rows = torch.stack([layout.join({k: v.detach() for k, v in cell.named_parameters()}) for cell in cells])
    state = optim.initial_state(layout, settings, [(), ()], 1, "cpu")
    grads = layout.split(torch.tensor([[math.nan], [1.0]], dtype=torch.float64).repeat(1, layout.size))
    optim.update(settings, layout, rows, grads, state.tensors(), state.scalars[0])
    assert not rows[0].isfinite().any()
    assert rows[1].isfinite().all()


def test_the_layout_pads_to_cache_lines_and_gives_back_what_it_took():
    model = models(1)[0]
    layout = Layout.of(model)
    assert all(offset % 16 == 0 for offset in layout.offsets)
    assert layout.scalars == sum(parameter.numel() for parameter in model.parameters())
    values = {name: parameter.detach() for name, parameter in model.named_parameters()}
    for name, view in layout.split(layout.join(values)).items():
        assert torch.equal(view, values[name])


def test_parameters_of_two_dtypes_are_refused():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2).double())
    with pytest.raises(
        ValueError, match=r"one dtype; found torch\.float32 \(0\.weight\), torch\.float64 \(1\.weight\)"
    ):
        Layout.of(model)
