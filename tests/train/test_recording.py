"""Probes beside training: they change no cell's numbers, and what they break off costs their recording alone."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from benchmark.parameters import Budget, Metric
from benchmark.probe import Probe
from benchmark.records import ProbePoint
from benchmark.train import program, recording
from benchmark.train.mode import Mode
from benchmark.train.stack import train_stack

COMPILED = [
    pytest.mark.slow,
    pytest.mark.skipif(program.can_compile("cpu") is not None, reason="no C++ compiler"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
]


class Norm(Probe):
    """Norm of the first layer's query weights by head, and what was given to it."""

    family = "norm"
    fails_at: int = -1

    def metrics(self, task):
        return tuple(Metric(name=name, title=name, direction="none") for name in ("query", "moved", "most"))

    def measure(self, moment):
        if moment.step == self.fails_at:
            raise RuntimeError("no such number")
        (layer,) = moment.now.layers
        torch.rand(3)  # its own draws are nobody's concern
        moment.now.model.train()
        for parameter in moment.now.model.parameters():
            parameter.data.mul_(2)  # nor is what it does to its copy
        before = moment.before.layers[0].query if moment.before else layer.query
        return {
            "query": layer.query.square().sum(dim=(0, 2, 3)).sqrt()[None],
            "moved": (layer.query - before).abs().max(),
        }

    def conclude(self, points):
        yield ProbePoint(self.key, "norm", "most", None, None, points[-1].step, max(p.value for p in points))


def numbers(outcome):
    return outcome.status, str(outcome.finals), str(outcome.curve), outcome.steps_done


@pytest.fixture
def short(toy):
    return toy.Toy(budget=Budget(batch_size=12, steps=20, evaluate_every=5))


def cells_of(toy, task, probes):
    return [
        replace(toy.cell(kind(), seed, task), probes=tuple(probes))
        for seed in (0, 1)
        for kind in (toy.Default, toy.Mask)
    ]


@pytest.mark.parametrize("mode", ["alone", "stack:4", "stack:3", pytest.param("compiled-stack:4", marks=COMPILED)])
def test_numbers_are_the_same_to_the_last_bit_with_and_without_probes(toy, short, mode):
    runs = [
        train_stack(cells_of(toy, short, probes), mode=Mode.parse(mode)) for probes in ([], [Norm(), Norm(examples=7)])
    ]
    for without, with_probes in zip(*runs, strict=True):
        assert numbers(without) == numbers(with_probes)
        assert not without.recorded.points
        assert len(with_probes.recorded.about) == 2


def test_it_looks_at_the_steps_it_names_and_at_every_point_of_the_curve(toy, short):
    cell = replace(
        toy.cell(toy.Mask(), 0, short), probes=(Norm(steps=(0, 1, 7, 100)), Norm(steps=(3,), every_point=False))
    )
    points = train_stack([cell], mode=Mode.parse("alone"))[0].recorded.points
    first, second = (
        sorted({p.step for p in points if p.recording == probe.key and p.metric == "query"}) for probe in cell.probes
    )
    assert first == [0, 1, 5, 7, 10, 15, 20]
    assert second == [3]
    moved = {p.step: p.value for p in points if p.metric == "moved"}
    assert moved[0] == 0
    assert 0 < moved[7] < 0.1  # the model one step earlier
    assert [p.step for p in points if p.metric == "most"] == [20, 3]


def test_a_probe_that_breaks_at_the_start_fails_the_cell_before_anything_is_trained(toy, short):
    cells = cells_of(toy, short, [])
    cells[1] = replace(cells[1], probes=(Norm(fails_at=0),))
    outcomes = train_stack(cells, mode=Mode.parse("stack:4"))
    assert [outcome.status for outcome in outcomes] == ["finished", "failed", "finished", "finished"]
    assert "probe 'norm' of 'toy' × 'toy_mask' failed at step 0: RuntimeError: no such number" in outcomes[1].error


def test_one_that_breaks_later_costs_its_own_recording(toy, short):
    cells = cells_of(toy, short, [Norm(fails_at=5), Norm()])
    broken, whole = cells[0].probes
    for outcome in train_stack(cells, mode=Mode.parse("stack:4")):
        assert outcome.status == "finished"
        assert outcome.recorded.about[broken.key]["error"].startswith("at step 5: Traceback")
        assert "error" not in outcome.recorded.about[whole.key]
        assert max(p.step for p in outcome.recorded.points if p.recording == broken.key) == 2


def test_a_metric_that_is_not_declared_is_refused(toy, short):
    class Odd(Norm):
        def measure(self, moment):
            return {"other": torch.zeros(())}

    cell = replace(toy.cell(toy.Mask(), 0, short), probes=(Odd(),))
    outcome = train_stack([cell], mode=Mode.parse("alone"))[0]
    assert "metric 'other' is returned but not declared" in outcome.error


def test_a_cell_that_diverges_is_looked_at_while_it_is_finite(toy, short):
    cells = [replace(toy.cell(kind(), 0, short), probes=(Norm(),)) for kind in (toy.Huge, toy.Default)]
    huge, default = train_stack(cells, mode=Mode.parse("stack:2"))
    assert (huge.status, default.status) == ("diverged", "finished")
    assert not huge.recorded.points  # its numbers overflow at the start already
    assert {p.step for p in default.recorded.points} >= {0, 20}


def test_values_that_are_not_defined_are_left_out_of_means_and_of_the_recording():
    points = [*recording.points_of(Norm(), 3, {"query": torch.tensor([[1.0, math.nan], [math.nan, math.nan]])})]
    assert [(p.layer, p.head, p.value) for p in points] == [(None, None, 1.0), (0, None, 1.0), (0, 0, 1.0)]


def test_of_a_large_model_fewer_examples_are_looked_at_and_it_is_said(toy, short, monkeypatch):
    monkeypatch.setattr(recording, "LOOK_BYTES", 10_000)
    cell = replace(toy.cell(toy.Mask(), 0, short), probes=(Norm(),))
    about = train_stack([cell], mode=Mode.parse("alone"))[0].recorded.about[Norm().key]
    assert about["examples"] == 10_000 // (2 * 5 * (2 * 4 + 2 * 5) * 8)
