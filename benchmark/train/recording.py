"""Probes at work beside the training of a stack: when they look, at what, and what is kept of it.

Each cell is looked at by itself, on copies: nothing of a stack is read but parameters, buffers and moments, and nothing
is written. What a probe breaks off after the start costs its own recording, not the cell.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from benchmark.cell import Cell
from benchmark.errors import PluginError
from benchmark.identity import stream
from benchmark.probe import Probe
from benchmark.records import ProbeArray, ProbePoint
from benchmark.task import Examples
from benchmark.train.batches import examples_of
from benchmark.train.build import Built
from benchmark.train.layout import Layout
from benchmark.train.moment import Look, Moment, bytes_per_example
from benchmark.train.optim import OptimizerState
from benchmark.train.program import Buffers
from benchmark.train.values import check_names
from benchmark.train.world import world
from benchmark.wording import reason_of

LOOK_BYTES = 1 << 28
"""About what one look at a model may hold; of a large model fewer examples than asked for are looked at."""


@dataclass
class Recorded:
    """What probes have recorded of one cell so far."""

    about: dict[str, dict[str, Any]] = field(default_factory=dict)
    """`Probe.key` → what `CellRecord.recordings` holds."""
    points: list[ProbePoint] = field(default_factory=list)
    arrays: list[ProbeArray] = field(default_factory=list)


class Recorder:
    """The probes of a stack's cells."""

    def __init__(
        self, part: Sequence[Built], recorded: Sequence[Recorded], layout: Layout, buffers: Buffers,
        total_steps: int, every: int,
    ) -> None:  # fmt: skip
        """`recorded`: of each cell, what there is so far and what is added to."""
        self._part, self._recorded, self._layout, self._buffers = part, recorded, layout, buffers
        self._total = total_steps
        self._due = {probe.key: probe.due(total_steps, every) for item in part for probe in item.cell.probes}
        self._steps = frozenset().union(*self._due.values())
        self._examples: dict[tuple[Any, ...], Examples] = {}
        for item, found in zip(part, recorded, strict=True):
            for probe in item.cell.probes:
                found.about.setdefault(probe.key, {**probe.described(), "seconds": 0.0})

    def is_due(self, step: int) -> bool:
        """Whether any probe measures after that many steps."""
        return step in self._steps

    def look(self, step: int, parameters: Tensor, state: OptimizerState, before: Tensor | None) -> None:
        """Let the probes that are due look at every cell: parameters (C, P) now and a step before.

        Raises PluginError for a probe that cannot measure at the start; later it is noted in the recording.
        """
        for i, (item, recorded) in enumerate(zip(self._part, self._recorded, strict=True)):
            due = [p for p in item.cell.probes if step in self._due[p.key] and "error" not in recorded.about[p.key]]
            if due and bool(torch.isfinite(parameters[i]).all()):
                moments: dict[int, Moment] = {}
                for probe in due:
                    self._measured(probe, recorded, self._moment(moments, probe, i, step, parameters, state, before))

    def finish(self) -> None:
        """What only whole recordings give."""
        for item, recorded in zip(self._part, self._recorded, strict=True):
            for probe in item.cell.probes:
                own = [point for point in recorded.points if point.recording == probe.key]
                with self._guarded(probe, item.cell, recorded, "at the end", late=True):
                    recorded.points += checked(probe.conclude(own))

    def _measured(self, probe: Probe, recorded: Recorded, moment: Moment) -> None:
        started = time.perf_counter()
        about, cell = recorded.about[probe.key], moment.cell
        with self._guarded(probe, cell, recorded, f"at step {moment.step}", late=moment.step > 0), torch.no_grad():
            values = probe.measure(moment)
            check_names(values, [metric.name for metric in probe.metrics(cell.task)])
            recorded.points += points_of(probe, moment.step, values)
            if moment.step in (0, self._total):
                self._keep(probe, recorded, moment)
        about["examples"] = len(moment.now.inputs)
        about["seconds"] += time.perf_counter() - started

    @contextmanager
    def _guarded(self, probe: Probe, cell: Cell, recorded: Recorded, where: str, *, late: bool) -> Iterator[None]:
        """What a probe raises: before training a PluginError, afterwards a note in its recording."""
        who = f"probe {probe.family!r} of {cell.task_name!r} × {cell.initializer_name!r}"
        try:
            with world(cell.seed, "probe", who):
                yield
        except Exception as error:
            if not late:
                raise PluginError(f"{who} failed {where}: {reason_of(traceback.format_exc())}") from error
            recorded.about[probe.key]["error"] = f"{where}: {traceback.format_exc()}"

    def _keep(self, probe: Probe, recorded: Recorded, moment: Moment) -> None:
        """Heat maps, as far as a cell may keep them."""
        size = 4 * sum(len(array.values) for array in recorded.arrays if array.recording == probe.key)
        for name, layers in probe.arrays(moment).items():
            size += 4 * sum(layer.numel() for layer in layers)
            if size > probe.array_bytes:
                left_out = recorded.about[probe.key].setdefault("left_out", [])
                left_out.append(f"{name} at step {moment.step}: more than array_bytes = {probe.array_bytes} in all")
                break
            recorded.arrays += [
                ProbeArray(
                    probe.key, probe.family, name, layer, moment.step, tuple(values.shape),
                    tuple(values.detach().cpu().float().flatten().tolist()),
                )
                for layer, values in enumerate(layers)
            ]  # fmt: skip

    def _moment(
        self, made: dict[int, Moment], probe: Probe, i: int, step: int,
        parameters: Tensor, state: OptimizerState, before: Tensor | None,
    ) -> Moment:  # fmt: skip
        """What a probe sees of the i-th cell; probes that ask for equally many examples share it."""
        item, examples = self._part[i], self._examples_of(i, probe)
        if (size := len(examples)) in made:
            return made[size]
        inputs, targets = examples.inputs.to(parameters.device), examples.targets.to(parameters.device)
        own = self._buffers.of_cell(i)

        def at(row: Tensor) -> Look:
            return Look(item.cell, item.model, {**self._layout.split(row), **own}, inputs, targets)

        start = Look(item.cell, item.model, {}, inputs, targets)
        now = at(parameters[i].clone()) if step else start
        made[size] = Moment(
            step, now, start, None if before is None else at(before[i]),
            {name: self._layout.split(getattr(state, name)[i]) for name in ("first", "second")},
        )  # fmt: skip
        return made[size]

    def _examples_of(self, i: int, probe: Probe) -> Examples:
        """The same examples for all cells that share an evaluation set, whatever their seed."""
        cell, model = self._part[i].cell, self._part[i].model
        key = (cell.task.training_key(cell.seed), probe.examples, probe.looks_inside)
        if key not in self._examples:
            whole = examples_of(cell, "curve")
            fitting = LOOK_BYTES // max(1, bytes_per_example(model)) if probe.looks_inside else probe.examples
            order = torch.randperm(len(whole), generator=torch.Generator().manual_seed(stream(0, "probe")))
            chosen = order[: max(1, min(probe.examples, fitting))].sort().values
            self._examples[key] = Examples(whole.inputs[chosen], whole.targets[chosen])
        return self._examples[key]


def points_of(probe: Probe, step: int, values: Mapping[str, Tensor]) -> Iterator[ProbePoint]:
    """Every defined value by layer and head, and the means: of a layer's heads, and of everything."""
    for metric, value in values.items():
        if value.dim() > 2:
            raise ValueError(f"{metric} has {value.dim()} dimensions; a value, one a layer or one a layer and head")
        table = value.double().cpu()
        found: list[tuple[int | None, int | None, float]] = [(None, None, _mean(table))]
        if table.dim() == 2:
            found += [(layer, None, _mean(row)) for layer, row in enumerate(table)]
        for place in _places(table) if table.dim() else ():
            found.append((place[0], place[1] if len(place) > 1 else None, float(table[place])))
        for layer, head, number in found:
            if not math.isnan(number):
                yield ProbePoint(probe.key, probe.family, metric, layer, head, step, number)


def _places(table: Tensor) -> list[tuple[int, ...]]:
    return [tuple(map(int, index)) for index in torch.ones_like(table).nonzero()]


def _mean(values: Tensor) -> float:
    return float(values.nanmean())


def checked(points: Iterable[Any]) -> list[ProbePoint]:
    """What `conclude` gives. Raises TypeError for anything else."""
    found = list(points)
    for point in found:
        if not isinstance(point, ProbePoint):
            raise TypeError(f"conclude must give ProbePoint, found {type(point).__name__}")
    return found
