"""Training cells of one task together: `train_stack` is what a worker calls.

Parameters of C cells are the rows of one matrix; a step is one program over all rows. Cells share the task's
parameters and prior mode; seeds, starts and training rules differ. Batches, shuffles and initial weights of a cell
come from its own seed, so the other cells of a stack change its numbers by rounding only.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import TypeAdapter
from torch import Tensor

from benchmark.cell import Cell
from benchmark.errors import PluginError
from benchmark.records import CurvePoint
from benchmark.train.build import Built, build_all, by_trace
from benchmark.train.canary import ApartError
from benchmark.train.checkpoint import Checkpoints
from benchmark.train.grouping import stack_key
from benchmark.train.mode import Mode
from benchmark.train.recording import Recorded
from benchmark.train.trainer import Phase, Trainer


@dataclass(frozen=True)
class Progress:
    """Where a stack stands."""

    step: int
    """Optimiser steps done by the cells now training."""
    total_steps: int
    phase: Phase
    metrics: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Cell id → metric → value of the newest point of the curve."""
    cells_done: int = 0
    """Cells of this call that have ended (stacks larger than the mode's size are trained one after another)."""


@dataclass(frozen=True)
class CellOutcome:
    """What became of one cell."""

    cell_id: str
    status: Literal["finished", "diverged", "failed"]
    finals: dict[str, float] = field(default_factory=dict)
    """Metric → value at the end; all NaN when the cell diverged."""
    curve: tuple[CurvePoint, ...] = ()
    error: str | None = None
    """Traceback when the cell failed."""
    seconds: float = 0.0
    """This cell's share of the wall time of its stack."""
    steps_planned: int = 0
    steps_done: int = 0
    """Steps up to the last finite training loss."""
    parameters: int = 0
    recorded: Recorded = field(default_factory=Recorded)
    """What the cell's probes recorded."""
    execution: str = ""
    """Mode, and size of the stack that was run, padding included."""


Keep = Callable[[str, Mapping[str, Tensor], Mapping[str, Tensor] | None], None]
"""`(cell id, weights, averaged weights)`."""


def train_stack(
    cells: Sequence[Cell],
    *,
    mode: Mode,
    device: str = "cpu",
    progress: Callable[[Progress], None] | None = None,
    checkpoints: Checkpoints | None = None,
    keep: Keep | None = None,
) -> list[CellOutcome]:
    """Train cells of one `stack_key` and return their outcomes in the given order.

    A cell whose model cannot be built or started is `failed` with its traceback and does not disturb the others.
    More cells than `mode.stack_size` are trained one stack after another. With `checkpoints` training goes on where it
    was left; `keep` is given the weights of finished cells. Raises ValueError for no cells or cells of more than one
    key, whatever the task raises in training or evaluation (which concerns the whole stack), and HaltedError.
    """
    _require_one_key(cells)
    started = time.perf_counter()
    way = Way(mode, device, progress or (lambda _: None), checkpoints, keep)
    way.report(Progress(0, 0, "building"))
    built, errors = build_all(cells, device)
    share = (time.perf_counter() - started) / len(cells)
    outcomes = {id: CellOutcome(id, "failed", error=error, seconds=share) for id, error in errors.items()}
    for group in by_trace(built):
        for part in _parts(group, mode):
            outcomes.update(_settled(part, way, len(outcomes)))
    return [outcomes[cell.id] for cell in cells]


def _require_one_key(cells: Sequence[Cell]) -> None:
    keys = {stack_key(cell) for cell in cells}
    if len(keys) != 1:
        raise ValueError(
            f"train_stack needs cells of exactly one stack key; found {len(keys)} among {len(cells)} cells"
        )


def _parts(group: list[Built], mode: Mode) -> list[list[Built]]:
    size = mode.stack_size
    return [group[start : start + size] for start in range(0, len(group), size)]


@dataclass(frozen=True)
class Way:
    """How a stack is trained."""

    mode: Mode
    device: str
    report: Callable[[Progress], None]
    checkpoints: Checkpoints | None
    keep: Keep | None


def _settled(part: list[Built], way: Way, done: int) -> dict[str, CellOutcome]:
    """Outcomes of a stack; cells that its program is not right for are trained by programs of their own."""
    try:
        return _train(part, way, done)
    except ApartError as apart:
        reasons = apart.reasons
    except PluginError:
        if len(part) == 1 and not (way.mode.compiled and way.mode.stack_size > 1):  # such a stack is padded
            failed = CellOutcome(part[0].cell.id, "failed", error=traceback.format_exc())
            return {failed.cell_id: failed}
        reasons = {item.cell.id: "" for item in part}  # what runs alone may not run over many cells
    others = [item for item in part if item.cell.id not in reasons]
    outcomes = _settled(others, way, done) if others else {}
    for item in part:
        if item.cell.id in reasons:
            outcomes.update(_own(item, replace(way, mode=Mode(way.mode.compiled, 1)), done + len(outcomes)))
    return outcomes


def _own(item: Built, way: Way, done: int) -> dict[str, CellOutcome]:
    """The outcome of a cell trained by a program that was traced from itself."""
    started = time.perf_counter()
    try:
        return _train([item], way, done, own=True)
    except ApartError as apart:
        reason = apart.reasons[item.cell.id]
    except PluginError:
        return {item.cell.id: CellOutcome(item.cell.id, "failed", error=traceback.format_exc())}
    error = f"PluginError: its program does not do what its module does, not even a program of its own: {reason}"
    return {item.cell.id: CellOutcome(item.cell.id, "failed", error=error, seconds=time.perf_counter() - started)}


def _train(part: list[Built], way: Way, done: int, *, own: bool = False) -> dict[str, CellOutcome]:
    started = time.perf_counter()
    ids = {item.cell.id for item in part}
    ended = way.checkpoints.ended if way.checkpoints else {}
    if ids <= ended.keys():
        return {id: TypeAdapter(CellOutcome).validate_python(ended[id]) for id in ids}

    def tell(step: int, total: int, phase: Phase, metrics: Mapping[str, Mapping[str, float]]) -> None:
        way.report(Progress(step, total, phase, metrics, done))

    compiled = way.mode.compiled
    trainer = Trainer(part, way.mode, way.device, own=own)
    result = trainer.run(tell, way.checkpoints)
    share = (trainer.position.seconds + time.perf_counter() - started) / len(part)
    alone = "compiled" if compiled else "alone"
    execution = f"{'compiled-' if compiled else ''}stack[{trainer.rows}]" if trainer.rows > 1 else alone
    outcomes = {
        item.cell.id: CellOutcome(
            cell_id=item.cell.id,
            status="diverged" if outcome.diverged else "finished",
            finals=outcome.finals,
            curve=tuple(outcome.curve),
            seconds=share,
            steps_planned=trainer.total_steps,
            steps_done=outcome.steps,
            parameters=trainer.layout.scalars,
            recorded=outcome.recorded,
            execution=execution,
        )
        for item, outcome in zip(part, result, strict=True)
    }
    for row, (id, outcome) in enumerate(outcomes.items()):
        if way.keep and outcome.status == "finished":
            way.keep(id, trainer.weights(row), None if trainer.average is None else trainer.weights(row, averaged=True))
    ended.update(outcomes)
    return outcomes
