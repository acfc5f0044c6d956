"""Scoring a stack: chunks of the evaluation set through the forward program, then the task's own summary per cell."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import torch
from torch import Tensor

from benchmark.cell import Cell
from benchmark.task import Examples
from benchmark.train import program

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

    def measure(self, parameters: Tensor, *, final: bool) -> list[dict[str, float]]:
        """Metrics of every cell (padding left out) at these parameters (C, P)."""
        sets = self._examples(final)
        observed = self._observe(parameters, sets)
        return [
            self._source.task.summarize({name: rows[i] for name, rows in observed.items()}, sets[i], final=final)
            for i in range(len(self._cells))
        ]

    def prepare(self, parameters: Tensor) -> None:
        """Trace and compile the program, by scoring one chunk."""
        sets = self._examples(final=False)
        self._observe(parameters, sets, limit=1)

    def _examples(self, final: bool) -> list[Examples]:
        if final not in self._sets:
            task = self._source.task
            first = {task.training_key(cell.seed): cell.seed for cell in reversed(self._cells)}
            by_key = {key: task.evaluation_examples(seed, final=final) for key, seed in first.items()}
            self._sets[final] = [by_key[task.training_key(cell.seed)] for cell in self._cells]
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
