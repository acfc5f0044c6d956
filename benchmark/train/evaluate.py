"""Scoring a stack: chunks of the evaluation set through the forward program, then the task's own summary per cell."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import torch
from torch import Tensor

from benchmark.cell import Cell
from benchmark.task import Examples
from benchmark.train import program
from benchmark.train.batches import examples_of
from benchmark.train.values import as_floats
from benchmark.train.world import FUNCTIONS, own

CHUNK = 256
"""Examples per forward pass and cell, fewer when the evaluation set is smaller."""


class Evaluator:
    """Evaluation sets of a stack, held once per distinct training key, and the program that scores them."""

    def __init__(
        self, source: program.Source, cells: Sequence[Cell], key: Hashable, compiled: bool, device: str
    ) -> None:
        self._source, self._cells, self._key = source, cells, key
        self._compiled, self._device = compiled, device
        self._sets: dict[bool, list[Examples]] = {}
        self.first: list[dict[str, Tensor]] = []
        """What `observe` said of each cell's first chunk when it was asked last."""

    def measure(self, parameters: Tensor, *, final: bool) -> list[dict[str, float]]:
        """Metrics of every cell (padding left out) at these parameters (C, P)."""
        sets = self.examples(final=final)
        observed = self._observe(parameters, sets)
        self.first = [{name: rows[i, :CHUNK] for name, rows in observed.items()} for i in range(len(self._cells))]
        each = [{name: rows[i] for name, rows in observed.items()} for i in range(len(self._cells))]
        with FUNCTIONS.kept(f"summarize of task {self._cells[0].task_name!r}"):
            return [self._summary(*of, final=final) for of in zip(self._cells, each, sets, strict=True)]

    def _summary(self, cell: Cell, observed: Any, examples: Any, *, final: bool) -> dict[str, float]:
        with own(cell.seed, "summary", f"summarize of task {cell.task_name!r}"):
            return as_floats(cell.task.summarize(observed, examples, final=final), "summarize")

    def prepare(self, parameters: Tensor) -> None:
        """Trace and compile the program, by scoring one chunk."""
        sets = self.examples(final=False)
        self._observe(parameters, sets, limit=1)

    def examples(self, *, final: bool) -> list[Examples]:
        """Evaluation examples of every cell."""
        if final not in self._sets:
            key = self._source.task.training_key
            first = {key(cell.seed): cell for cell in reversed(self._cells)}
            sets = {k: examples_of(cell, "final" if final else "curve") for k, cell in first.items()}
            self._sets[final] = [sets[key(cell.seed)] for cell in self._cells]
        return self._sets[final]

    def _observe(self, parameters: Tensor, sets: Sequence[Examples], limit: int | None = None) -> dict[str, Tensor]:
        count = len(sets[0])
        size = min(CHUNK, count)
        rows = [sets[min(i, len(sets) - 1)] for i in range(self._source.cells)]
        chunks = []
        for start in range(0, count, size)[:limit]:
            first = min(start, count - size)  # the last chunk overlaps the one before, so that shapes are constant
            inputs = self._stacked([e.inputs for e in rows], first, size)
            targets = self._stacked([e.targets for e in rows], first, size)
            observed = self._run(parameters, inputs, targets)
            chunks.append({name: value[:, start - first :].cpu() for name, value in observed.items()})
        return {name: torch.cat([chunk[name] for chunk in chunks], dim=1) for name in chunks[0]}

    def _stacked(self, tensors: Sequence[Tensor], start: int, size: int) -> Tensor:
        return torch.stack([tensor[start : start + size] for tensor in tensors]).to(self._device)

    def _run(self, parameters: Tensor, inputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        example = (parameters, list(self._source.buffers.tensors), inputs, targets)
        self._source.model.eval()
        with torch.no_grad():
            function = program.prepare(
                program.evaluation(self._source), example, ("evaluate", self._key), compiled=self._compiled
            )
            observed: dict[str, Tensor] = function(*example)
        return observed
