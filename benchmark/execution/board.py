"""What the screen knows of a run: counts and newest metric by task and initialiser, and the time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmark.execution.job import Ended, Outcome
from benchmark.records import DONE

if TYPE_CHECKING:
    from benchmark.cell import Cell
    from benchmark.parameters import Metric
    from benchmark.store import Heartbeat

SURE_FRACTION = 0.02
"""No time left is told before this part of the work is done."""


@dataclass
class Row:
    """One task × initialiser."""

    task: str
    initializer: str
    metric: Metric
    total: int = 0
    reused: int = 0
    done: int = 0
    """Cells of this run that ended with numbers."""
    failed: int = 0
    elsewhere: int = 0
    """Cells left to another run."""
    values: list[float] = field(default_factory=list)
    """Primary metric of the cells this run finished."""

    @property
    def waiting(self) -> int:
        """Cells without an end, running ones included."""
        return self.total - self.reused - self.done - self.failed - self.elsewhere


class Board:
    """Follows a run. Written by the dispatcher's thread, read by the one that paints."""

    def __init__(
        self,
        cells: Sequence[Cell],
        todo: Collection[str],
        seconds: Callable[[Cell], float | None] = lambda _: None,
        primary: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cells = {cell.id: cell for cell in cells}
        self.rows: dict[tuple[str, str], Row] = {}
        self._primary = primary or {}
        self._clock, self._began = clock, clock()
        self._left = set(todo)
        self._elsewhere: set[str] = set()
        self._weights = weights([cell for cell in cells if cell.id in todo], seconds)
        self._total = sum(self._weights.values())
        for cell in cells:
            row = self.row_of(cell)
            row.total += 1
            row.reused += cell.id not in todo

    def start_clock(self) -> None:
        """Training begins now; what came before does not count towards the time left."""
        self._began = self._clock()

    def row_of(self, cell: Cell) -> Row:
        """The row that counts a cell."""
        key = (cell.task_name, cell.initializer_name)
        if key not in self.rows:
            self.rows[key] = Row(*key, metric=primary_metric(cell, self._primary.get(cell.task_name)))
        return self.rows[key]

    def note_ended(self, ended: Ended) -> None:
        """Count a cell that ended."""
        row = self._settle(ended.cell_id)
        if ended.status in DONE:
            row.done += 1
            row.values.append(ended.finals.get(row.metric.name, float("nan")))
        else:
            row.failed += 1

    def note_left(self, outcome: Outcome) -> None:
        """Count the cells of a job that another run finished or is training."""
        for id in outcome.already:
            self._settle(id).reused += 1
        for id in outcome.elsewhere:
            self._settle(id).elsewhere += 1
            self._elsewhere.add(id)

    def _settle(self, id: str) -> Row:
        """Take a cell off whatever list it is on; returns its row."""
        row = self.row_of(self.cells[id])
        self._left.discard(id)
        if id in self._elsewhere:
            self._elsewhere.remove(id)
            row.elsewhere -= 1
        return row

    def count(self, name: str) -> int:
        """Sum of a count over all rows."""
        return sum(int(getattr(row, name)) for row in self.rows.values())

    @property
    def planned(self) -> int:
        """Cells this run set out to train."""
        return len(self._weights)

    @property
    def over(self) -> int:
        """Of those, how many have an end."""
        return self.planned - len(self._left)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._began

    def seconds_left(self, beats: Sequence[Heartbeat] = ()) -> float | None:
        """Estimate from the part of the work that is done, weighted by what cells cost before; None when too early."""
        done = self._total - sum(self._weights[id] for id in self._left)
        for beat in beats:
            part = beat.step / beat.steps_planned if beat.steps_planned else 0.0
            done += part * sum(self._weights.get(id, 0.0) for id in beat.cell_ids if id in self._left)
        fraction = done / self._total if self._total else 1.0
        return self.elapsed * (1 - fraction) / fraction if fraction >= SURE_FRACTION else None


def primary_metric(cell: Cell, name: str | None) -> Metric:
    """The task's metric of that name, else its first."""
    metrics = cell.task.metrics()
    return next((metric for metric in metrics if metric.name == name), metrics[0])


def weights(cells: Sequence[Cell], seconds: Callable[[Cell], float | None]) -> dict[str, float]:
    """Cell id → expected cost; the mean of the known ones where nothing is known."""
    known = {cell.id: cost for cell in cells if (cost := seconds(cell)) is not None and cost > 0}
    usual = sum(known.values()) / len(known) if known else 1.0
    return {cell.id: known.get(cell.id, usual) for cell in cells}


def shown_value(value: float, metric: Metric) -> str:
    """A metric for the screen (tables of record have their own rounding)."""
    return f"{value:.2f} %" if metric.unit == "percent" else f"{value:.4g}"


def shown_seconds(seconds: float) -> str:
    """`8 s`, `3 min 05 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
