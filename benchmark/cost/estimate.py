"""A plan × counted work × a device → what each task and each table costs. Torch is imported where work is counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmark.cell import Cell
from benchmark.cost import devices
from benchmark.cost.devices import Device
from benchmark.cost.rates import Rates
from benchmark.cost.work import Work
from benchmark.parameters import Budget
from benchmark.patterns import meant
from benchmark.plan import Plan
from benchmark.train.grouping import shape_key, stack_key

FILE_BYTES = 5000
"""Stored bytes of a cell without its numbers: a file's frame, resolved parameters and provenance (measured)."""
NUMBER_BYTES = 7
"""Stored bytes of a number of a curve with its name and step (measured)."""

COUNT = Callable[[Cell], Work]


@dataclass(frozen=True)
class TaskCost:
    """One task of the plan; figures are None where they are not known."""

    task: str
    cells: tuple[str, ...]
    """Ids of the cells left to train."""
    unknown: str | None = None
    """Why nothing could be counted."""
    work: Work | None = None
    steps: int = 0
    flops: int = 0
    """Of one cell, training and scoring."""
    storage: int = 0
    """Bytes in the store of one cell."""
    seconds: float | None = None
    """Device time of one cell."""
    rate: str = ""
    """`measured`, `measured on other shapes`, `estimated` or empty."""
    execution: str = ""
    """How cells are best run there."""
    missing: Mapping[str, int | None] = field(default_factory=dict)
    """Data sets to put in place → bytes."""
    missing_reason: str | None = None


@dataclass(frozen=True)
class Total:
    """Sums over a set of cells, each counted once."""

    title: str
    cells: int
    flops: int
    storage: int
    seconds: float
    """Device time of the cells whose time is known."""
    unknown: int
    """Cells whose time is not known."""


@dataclass(frozen=True)
class Cost:
    """Everything `bench plan --cost` says."""

    device: str
    tasks: tuple[TaskCost, ...]
    tables: tuple[Total, ...]
    total: Total
    reused: int
    assumptions: tuple[str, ...]

    def missing(self) -> dict[str, int | None]:
        """Data sets to put in place, each once."""
        return {name: size for task in self.tasks for name, size in task.missing.items()}

    def as_json(self) -> dict[str, Any]:
        """Plain data; operations are left out."""
        return {
            "device": self.device,
            "tasks": [_task_json(task) for task in self.tasks],
            "tables": [asdict(table) for table in self.tables],
            "total": asdict(self.total),
            "reused": self.reused,
            "missing_data": self.missing(),
            "assumptions": list(self.assumptions),
        }


def _task_json(task: TaskCost) -> dict[str, Any]:
    work = task.work
    counted = work and {
        "parameters": work.parameters,
        "flops_per_step": work.step.flops,
        "bytes_per_step": work.step.bytes,
        "operations_per_step": len(work.step.operations),
        "memory_bytes": work.memory_bytes,
        "training_examples": work.workload.training,
    }
    plain = {name: value for name, value in vars(task).items() if name not in ("work", "cells")}
    return {**plain, "cells": len(task.cells), "counted": counted}


def estimate(plan: Plan, device: Device | None, rates: Rates, count: COUNT) -> Cost:
    """The cost of what is left to train, cells that only wait for data included. `device` None: this CPU."""
    wanted = cells_to_train(plan)
    tasks = tuple(task_cost(name, cells, device, rates, count) for name, cells in _by_task(wanted.values()).items())
    tables = tuple(total(title, ids, tasks) for title, ids in tables_of(plan, wanted).items())
    return Cost(
        device=device.name if device else devices.CPU,
        tasks=tasks,
        tables=tables,
        total=total("all", wanted, tasks),
        reused=len(plan.with_action("reuse")),
        assumptions=tuple(assumptions(device, tasks)),
    )


def cells_to_train(plan: Plan) -> dict[str, Cell]:
    """Cells by id that have no numbers yet: those a run would train, and those it skips for want of data."""
    cells = {line.cell.id: line.cell for line in plan.with_action("run") if line.cell}
    for line in plan.with_action("skip"):
        if line.cell is not None:
            cells.setdefault(line.cell.id, line.cell)
    return cells


def _by_task(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(cell.task_name, []).append(cell)
    return found


# --- one task --------------------------------------------------------------------------------------------------------


def task_cost(name: str, cells: Sequence[Cell], device: Device | None, rates: Rates, count: COUNT) -> TaskCost:
    """What the cells of one task cost; all are taken to cost what the first does."""
    ids, first = tuple(cell.id for cell in cells), cells[0]
    reason = first.task.missing_data()
    try:
        work = count(first)
    except Exception as error:  # third-party code may raise anything; the other tasks are counted all the same
        text = str(error).strip().partition("\n")[0]
        return TaskCost(name, ids, f"not counted: {type(error).__name__}: {text}", missing_reason=reason)
    budget, flops = first.task.budget, work.flops(first.task.budget)
    stack = best_stack(cells, work, device)
    seconds, rate = time_of(first, work, device, rates, stack)
    return TaskCost(
        task=name,
        cells=ids,
        work=work,
        steps=work.steps(budget),
        flops=flops,
        storage=FILE_BYTES + NUMBER_BYTES * (1 + len(first.task.metrics())) * work.points(budget),
        seconds=seconds,
        rate=rate,
        execution=advice(work, device, stack, rates.execution(shape_key(first))),
        missing=work.workload.missing,
        missing_reason=reason,
    )


def time_of(cell: Cell, work: Work, device: Device | None, rates: Rates, stack: int) -> tuple[float | None, str]:
    """Seconds of one cell and where they come from: measured on its shape if possible."""
    flops = work.flops(cell.task.budget)
    if (measured := rates.of_shape(shape_key(cell))) is not None:
        return flops / measured, "measured"
    if device is not None:
        return stacked_seconds(work, cell.task.budget, device, stack) / stack, "estimated"
    if (other := rates.typical()) is not None:
        return flops / other, "measured on other shapes"
    return None, ""


def stacked_seconds(work: Work, budget: Budget, device: Device, stack: int) -> float:
    """Device time of a stack of cells from first step to final scores."""
    precision = work.workload.precision
    step, forward = (device.seconds(part, stack, precision) for part in (work.step, work.forward))
    return work.steps(budget) * step + work.forwards(budget) * forward


def best_stack(cells: Sequence[Cell], work: Work, device: Device | None) -> int:
    """Cells to train at once: enough to keep the device busy, as far as they fit and can share a program."""
    if device is None:
        return 1
    filling = math.ceil(devices.launching(work.step) / device.computing(work.step, work.workload.precision))
    fitting = int(device.memory * devices.USABLE_MEMORY // work.memory_bytes)
    alike = max(Counter(stack_key(cell) for cell in cells).values())
    return max(1, min(filling, fitting, alike))


def advice(work: Work, device: Device | None, stack: int, decided: str | None) -> str:
    """How cells of a task are best run on a device."""
    if decided is not None:
        return f"{decided} (measured)"
    if device is None:
        return "measured when a run starts"
    if work.memory_bytes > device.memory * devices.USABLE_MEMORY:
        return "does not fit: lower budget.micro_batch"
    return f"stack:{stack}" if stack > 1 else "one per device"


# --- tables ----------------------------------------------------------------------------------------------------------


def tables_of(plan: Plan, wanted: Mapping[str, Cell]) -> dict[str, dict[str, Cell]]:
    """Table of the publication (or heading) → its cells by id, where it has any; the rest is `in no table`."""
    found: dict[str, dict[str, Cell]] = {}
    for table in plan.loaded.experiment.tables:
        members = {i: c for i, c in wanted.items() if _in(c, table.tasks, table.initializers)}
        if members:
            found.setdefault(", ".join(table.claims_table) or table.title, {}).update(members)
    placed = {identity for members in found.values() for identity in members}
    rest = {identity: cell for identity, cell in wanted.items() if identity not in placed}
    if rest and found:
        found["in no table"] = rest
    return found


def _in(cell: Cell, tasks: Sequence[str], initializers: Sequence[str]) -> bool:
    return meant(cell.task_name, tasks) and meant(cell.initializer_name, initializers)


def total(title: str, ids: Mapping[str, Cell], tasks: Sequence[TaskCost]) -> Total:
    """Sums over those cells."""
    counts = [(task, sum(identity in ids for identity in task.cells)) for task in tasks]
    return Total(
        title=title,
        cells=len(ids),
        flops=sum(task.flops * count for task, count in counts),
        storage=sum(task.storage * count for task, count in counts),
        seconds=sum((task.seconds or 0.0) * count for task, count in counts),
        unknown=sum(count for task, count in counts if task.seconds is None),
    )


def assumptions(device: Device | None, tasks: Sequence[TaskCost]) -> Iterable[str]:
    """What the figures rest on."""
    yield "operations: matrix products of the engine's own step and scoring programs, a multiply-add is two"
    yield "all cells of a task are taken to cost the same"
    yield "not counted: an initialiser's own work, augmentation, loading data"
    yield "memory: parameters, moments, rules, gradients and activations; data sets not counted"
    if any(task.work and task.work.workload.precision == "bfloat16" for task in tasks):
        yield "mixed precision: counted with the casts of torch's autocast, its CPU list of operations"
    yield f"storage: {FILE_BYTES} bytes a cell and {NUMBER_BYTES} a number, measured on files of single cells"
    sources = {task.rate for task in tasks}
    if device is not None and "estimated" in sources:
        yield (
            f"{device.name}: {device.float32 / devices.TERA:g} TFLOP/s float32"
            f"{f', {device.bfloat16 / devices.TERA:g} bfloat16' if device.bfloat16 else ''}, "
            f"{device.bandwidth / devices.GIGA:g} GB/s, {device.memory / devices.GIGA:g} GB ({device.source})"
        )
        yield (
            f"estimated time: {devices.FLOAT32_FRACTION:.0%} of the float32 and {devices.TENSOR_CORE_FRACTION:.0%} of "
            f"the bfloat16 peak, {devices.BANDWIDTH_FRACTION:.0%} of the bandwidth, at least "
            f"{devices.LAUNCH_SECONDS * 1e6:g} µs an operation; nothing compiled"
        )
    if "measured" in sources:
        yield "measured time: FLOP/s of finished cells of the same shape on this device, in the store"
    if "measured on other shapes" in sources:
        yield "measured on other shapes: median FLOP/s of the finished cells on this device, whatever their shape"
    yield from dict.fromkeys(text for task in tasks if task.work for text in task.work.workload.assumptions)
