"""The loop over one stack: batches, steps, curve points, divergence, final evaluation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from pydantic import TypeAdapter
from torch import Tensor

from benchmark.errors import PluginError
from benchmark.initializer import ParameterRule
from benchmark.nn import noise
from benchmark.records import CurvePoint
from benchmark.train import canary, optim, program
from benchmark.train.batches import Batches
from benchmark.train.build import Built
from benchmark.train.checkpoint import Checkpoints, Position
from benchmark.train.evaluate import Evaluator
from benchmark.train.layout import Layout
from benchmark.train.mode import Mode
from benchmark.train.recording import Recorded, Recorder
from benchmark.train.values import as_floats, check_complete, check_names

BATCH_BYTES = 8 << 20
"""Batches are gathered for many steps at once, up to about this much memory."""

RUN = 1 << 18
"""Scalars of a row that an optimiser step updates at once on a CPU, so that they stay in its cache.

A GPU would wait for the launches, and a compiled step makes no intermediate results."""

LOSS = "training_loss"
"""Name of the curve of the mean training loss since the curve's point before."""

Phase = Literal["building", "compiling", "training", "evaluating"]

Tell = Callable[[int, int, Phase, Mapping[str, Mapping[str, float]]], None]


@dataclass
class Trajectory:
    """What one cell has shown so far."""

    finals: dict[str, float] = field(default_factory=dict)
    curve: list[CurvePoint] = field(default_factory=list)
    steps: int = 0
    diverged: bool = False
    losses: list[float] = field(default_factory=list)
    recorded: Recorded = field(default_factory=Recorded)
    """What probes have recorded."""

    def add(self, step: int, metrics: Mapping[str, float]) -> None:
        """A point of the curve."""
        self.curve.extend(CurvePoint(name, step, value) for name, value in metrics.items())


class Trainer:
    """State of one stack of cells of one trace; rows beyond the cells are padding and reported nowhere."""

    def __init__(self, part: Sequence[Built], mode: Mode, device: str, *, own: bool = False) -> None:
        """`own`: trace programs for these cells anew and keep them for nobody else."""
        padded = list(part) + [part[-1]] * (mode.stack_size - len(part) if mode.compiled else 0)
        task = padded[0].cell.task
        self.task, self.mode, self.device = task, mode, device
        self.part, self.cells = part, [item.cell for item in part]
        self.recorder: Recorder | None = None
        self.rows = len(padded)
        self.layout = Layout.of(padded[0].model)
        self.batches = Batches(task, [item.cell for item in padded], device)
        self.total_steps = task.budget.total_steps(self.batches.examples)
        models = [item.model for item in padded]
        self.parameters = torch.stack([self.layout.join(_values(model)) for model in models]).to(device)
        rules = [_rules(item) for item in padded]
        self.average = None if task.optimizer.ema_decay is None else self.parameters.clone()
        self.state = optim.initial_state(self.layout, task.optimizer, rules, self.total_steps, device)
        self.references = [item.reference for item in part]
        self.buffers = program.Buffers.of(models, part[0].reference.written, device)
        self.source = program.Source(models[0], task, self.layout, self.buffers, self.rows)
        self.noisy = noise.has_noise(models[0])
        alone = self.cells[0].id if own else None
        rule = task.optimizer.model_dump_json(), task.budget.batch_size, task.budget.micro_batch
        self.key = (rule, part[0].reference.key, self.rows, self.buffers.stacked, alone)
        self.evaluator = Evaluator(self.source, self.cells, self.key, mode.compiled, device)
        self.checkpoints: Checkpoints | None = None
        self.position = Position(tuple(cell.id for cell in self.cells), own)
        self._started = time.monotonic()

    def run(self, tell: Tell, checkpoints: Checkpoints | None = None) -> list[Trajectory]:
        """Train to the end of the budget, or until every cell has diverged; from where `checkpoints` left it.

        Raises ApartError before the first step when the programs do not give every cell what its own module gives, and
        HaltedError when training is told to end.
        """
        self.checkpoints = checkpoints
        every = self.task.budget.evaluate_every or self.task.budget.steps_per_epoch(self.batches.examples)
        trajectories = [Trajectory() for _ in self.cells]
        tell(0, self.total_steps, "compiling" if self.mode.compiled else "building", {})
        step = self.prepare()
        self._point(0, trajectories, tell)
        self._hold_observations()
        self._prove_complete(trajectories)
        trajectories = self._resumed(step) or trajectories
        recorded = [trajectory.recorded for trajectory in trajectories]
        self.recorder = Recorder(self.part, recorded, self.layout, self.buffers, self.total_steps, every)
        if not self.position.step and self.recorder.is_due(0):
            self.recorder.look(0, self.parameters, self.state, None)
        for start in range(max(0, self.position.step - 1) // every * every, self.total_steps, every):
            end = min(start + every, self.total_steps)
            self._steps(step, max(start, self.position.start), end, trajectories, tell)
            if all(trajectory.diverged for trajectory in trajectories):
                break
            self._point(end, trajectories, tell)
        self._finish(trajectories, tell)
        self.recorder.finish()
        return trajectories

    def prepare(self) -> program.Program:
        """The optimiser step of this stack; both programs are traced and compiled when this returns."""
        size = self.task.budget.batch_size
        inputs, targets = self.batches.like(self.rows, size)
        example = (
            self.parameters,
            self.state.tensors(),
            self.state.scalars[0],
            list(self.buffers.tensors),
            inputs,
            targets,
        )
        self.source.model.train()
        in_runs = self.device == "cpu" and not self.mode.compiled
        function = program.training_step(self.source, RUN if in_runs else None)
        with torch.no_grad():
            step = program.prepare(function, example, ("step", self.key), compiled=self.mode.compiled)
        self.evaluator.prepare(self.parameters)
        return step

    def repeat(self, step: program.Program, count: int) -> None:
        """`count` steps whose losses nobody asks for: what a probe times."""
        trajectories = [Trajectory() for _ in self.cells]
        done = 0
        while done < count:
            portion = min(count - done, self.total_steps)
            self._steps(step, 0, portion, trajectories, lambda *_: None)
            done += portion

    def _steps(
        self, step: program.Program, start: int, end: int, trajectories: Sequence[Trajectory], tell: Tell
    ) -> None:
        state, buffers = self.state.tensors(), list(self.buffers.tensors)
        portion = self.batches.steps_of(BATCH_BYTES)
        while start < end:
            count = min(portion, end - start)
            drawn = self.batches.generators() if self.checkpoints else None
            inputs, targets = self.batches.take(count)
            scalars = self.state.scalars[start : start + count]
            seeds = self.batches.noise(count) if self.noisy else None
            losses: list[Tensor] = []
            if start == 0 and self.references:
                self._hold_step(
                    step, inputs[0], targets[0], buffers if seeds is None else self.buffers.with_noise(seeds[0])
                )
            with torch.no_grad():
                for i in range(max(0, self.position.step - start), count):
                    if seeds is not None:
                        buffers = self.buffers.with_noise(seeds[i])
                    due = self.recorder is not None and self.recorder.is_due(start + i + 1)
                    before = self.parameters.clone() if due else None
                    losses.append(step(self.parameters, state, scalars[i], buffers, inputs[i], targets[i]))
                    self._average()
                    if self.recorder is not None and before is not None:
                        self.recorder.look(start + i + 1, self.parameters, self.state, before)
                    if self.checkpoints and self.checkpoints.due():
                        _note_losses(trajectories, losses, start + i + 1)
                        self._keep(start, start + i + 1, drawn, trajectories)
            start += count
            _note_losses(trajectories, losses, start)
            tell(start, self.total_steps, "training", {})

    def weights(self, row: int, *, averaged: bool = False) -> dict[str, Tensor]:
        """The state of a cell's module, as `load_state_dict` takes it, or of its averaged parameters."""
        parameters = self.average if averaged and self.average is not None else self.parameters
        values = {**self.buffers.of_cell(row), **self.layout.split(parameters[row])}
        model = self.source.model
        first = {id(parameter): name for name, parameter in model.named_parameters()}  # of those that are tied
        return {name: values[first.get(id(one), name)] for name, one in model.state_dict(keep_vars=True).items()}

    def _tensors(self) -> dict[str, Tensor]:
        """Everything that a step changes."""
        average = {} if self.average is None else {"average": self.average}
        own = zip(self.buffers.names, self.buffers.tensors, self.buffers.stacked, strict=True)
        buffers = {f"buffer {name}": tensor for name, tensor, stacked in own if stacked}
        moments = {"first": self.state.first, "second": self.state.second}
        return {"parameters": self.parameters, **moments, **average, **buffers}

    def _keep(self, start: int, step: int, drawn: Tensor | None, trajectories: Sequence[Trajectory]) -> None:
        """Hand the state over; `drawn` is where the augmentations' generators stood at step `start`."""
        assert self.checkpoints is not None
        seconds = self.position.seconds + time.monotonic() - self._started
        shown = tuple(trajectories)
        position = replace(self.position, start=start, step=step, seconds=seconds, trajectories=shown)
        generators = {} if drawn is None else {"generators": drawn}
        self.checkpoints.keep(position, {**self._tensors(), **generators}, self.total_steps)

    def _resumed(self, step: program.Program) -> list[Trajectory] | None:
        """Take up what an earlier process left, after the canary of the first step; None without that."""
        own = self._tensors()
        found = self.checkpoints and self.checkpoints.resumed(self.position, own)
        if not found:
            return None
        inputs, targets = self.batches.take(1)
        self._hold_step(step, inputs[0], targets[0], self.buffers.with_noise(self.batches.noise(1)[0]))
        self.position, tensors = found
        for name, tensor in own.items():
            tensor.copy_(tensors[name])
        self.batches.seek(self.position.start, tensors.get("generators"))
        return TypeAdapter(list[Trajectory]).validate_python(self.position.trajectories)

    def _hold_step(self, step: program.Program, inputs: Tensor, targets: Tensor, buffers: Sequence[Tensor]) -> None:
        """The canary of the first step; nothing but copies is changed."""
        optimizer, after = self.task.optimizer, self.parameters.clone()
        state, scalars = canary.revealing(optimizer, after)
        buffers = [buffer.clone() for buffer in buffers]
        with torch.no_grad():
            losses = step(after, state, scalars, buffers, inputs, targets).tolist()
        gradients = canary.revealed(optimizer, self.parameters, after, state)
        reasons = {}
        for i, (cell, reference) in enumerate(zip(self.cells, self.references, strict=True)):
            batch = (inputs[i], targets[i])
            own = self.buffers.of_cell(i, buffers, shared=False)
            reason = canary.difference(reference, self.layout, losses[i], gradients[i], batch)
            if reason := reason or canary.buffer_difference(reference, own):
                reasons[cell.id] = reason
        if reasons:
            raise canary.ApartError(reasons)
        self.references = []

    def _hold_observations(self) -> None:
        """The canary of the first point of the curve."""
        examples = self.evaluator.examples(final=False)
        reasons = {
            cell.id: canary.observed_difference(self.references[i], examples[i], self.evaluator.first[i])
            for i, cell in enumerate(self.cells)
        }
        if apart := {id: reason for id, reason in reasons.items() if reason}:
            raise canary.ApartError(apart)

    def _prove_complete(self, trajectories: Sequence[Trajectory]) -> None:
        """The names of the metrics at the end, as far as they can be told from the first point of the curve."""
        try:
            finals = [*self.references[0].finals, *self._of_curve(trajectories[0])]
        except PluginError:
            raise
        except Exception:  # one point may be too few; it is asked again at the end
            return
        averaged = [f"ema_{name}" for name in finals if self.average is not None]
        check_complete([*finals, *averaged], [metric.name for metric in self.task.metrics()])

    def _of_curve(self, trajectory: Trajectory) -> dict[str, float]:
        return as_floats(self.task.summarize_curve(trajectory.curve), "summarize_curve")

    def _average(self) -> None:
        """average ← decay · average + (1 − decay) · parameters."""
        if self.average is not None and self.task.optimizer.ema_decay is not None:
            self.average.lerp_(self.parameters, 1 - self.task.optimizer.ema_decay)

    def _measure(self, *, final: bool) -> list[dict[str, float]]:
        """Metrics of every cell, and those of its averaged parameters as `ema_…`."""
        metrics = self.evaluator.measure(self.parameters, final=final)
        if self.average is not None:
            for values, averaged in zip(metrics, self.evaluator.measure(self.average, final=final), strict=True):
                values.update({f"ema_{name}": value for name, value in averaged.items()})
        return metrics

    def _point(self, step: int, trajectories: Sequence[Trajectory], tell: Tell) -> None:
        tell(step, self.total_steps, "evaluating", {})
        metrics = self._measure(final=False)
        newest = {}
        names = [metric.name for metric in self.task.metrics()]
        for cell, trajectory, values in zip(self.cells, trajectories, metrics, strict=True):
            if trajectory.diverged:
                continue
            if trajectory.losses:
                values[LOSS] = math.fsum(trajectory.losses) / len(trajectory.losses)
                trajectory.losses.clear()
            check_names(set(values) - {LOSS}, names)
            trajectory.add(step, values)
            newest[cell.id] = values
        tell(step, self.total_steps, "training", newest)

    def _finish(self, trajectories: Sequence[Trajectory], tell: Tell) -> None:
        finite = torch.isfinite(self.parameters).all(dim=1).tolist()
        for trajectory, row in zip(trajectories, finite, strict=False):
            trajectory.diverged |= not row
        if all(trajectory.diverged for trajectory in trajectories):
            metrics: list[dict[str, float]] = [{} for _ in trajectories]
        else:
            tell(self.total_steps, self.total_steps, "evaluating", {})
            metrics = self._measure(final=True)
        names = [metric.name for metric in self.task.metrics()]
        for trajectory, values in zip(trajectories, metrics, strict=True):
            values.update(self._of_curve(trajectory))
            trajectory.finals = dict.fromkeys(names, math.nan) if trajectory.diverged else values
            check_complete(trajectory.finals, names)


def _note_losses(trajectories: Sequence[Trajectory], losses: list[Tensor], end: int) -> None:
    """Take in the losses, (C,) each, of the steps up to `end`; a cell diverges at its first non-finite one."""
    if not losses:
        return
    start, columns = end - len(losses), torch.stack(losses).double().T.tolist()
    losses.clear()
    for trajectory, column in zip(trajectories, columns, strict=False):
        for offset, loss in enumerate(column):
            if trajectory.diverged or not math.isfinite(loss):
                trajectory.diverged = True
                break
            trajectory.losses.append(loss)
            trajectory.steps = start + offset + 1


def _rules(item: Built) -> tuple[ParameterRule, ...]:
    """Of the task, then of the initialiser; a parameter that asks for no gradient stays as it is."""
    frozen = (ParameterRule(match=name, trainable=False) for name in item.reference.frozen)
    return (*item.cell.task.parameter_rules(), *item.cell.initializer.parameter_rules(), *frozen)


def _values(model: torch.nn.Module) -> dict[str, Tensor]:
    return {name: parameter.detach() for name, parameter in model.named_parameters()}
