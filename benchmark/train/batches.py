"""Which examples each step of each cell sees: its own shuffle per epoch, drawn on the CPU so that no device matters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor

from benchmark.cell import Cell
from benchmark.identity import stream
from benchmark.task import Examples, Task
from benchmark.train.prefetch import Prefetch
from benchmark.train.world import world

SKIPPED = 256
"""Steps whose indices are drawn at once where training goes on from a later step."""


class Shuffle:
    """Endless concatenation of permutations of `examples` indices: a batch that an epoch cannot fill is filled from
    the next one, so every batch has the same size."""

    def __init__(self, examples: int, seed: int) -> None:
        self._examples = examples
        self._generator = torch.Generator().manual_seed(stream(seed, "batches"))
        self._left = torch.empty(0, dtype=torch.int64)

    def take(self, count: int) -> Tensor:
        """The next `count` indices, int64 (count,)."""
        pieces, held = [self._left], len(self._left)
        while held < count:
            pieces.append(torch.randperm(self._examples, generator=self._generator))
            held += self._examples
        drawn = torch.cat(pieces)
        self._left = drawn[count:]
        return drawn[:count]


def noise_seeds(seed: int) -> Callable[[int], Tensor]:
    """Draws the noise seeds of the next steps of a cell, int64 (steps,)."""
    generator = torch.Generator().manual_seed(stream(seed, "noise"))
    return lambda steps: torch.randint(0, 1 << 32, (steps,), generator=generator)


def examples_of(cell: Cell, kind: Literal["training", "curve", "final"]) -> Examples:
    """A cell's examples, drawn in the world of its seed. Raises what the family raises, and PluginError."""
    task = cell.task
    call = "training_examples" if kind == "training" else "evaluation_examples"
    with world(cell.seed, f"{kind} examples", f"{call} of task {cell.task_name!r}"):
        if kind == "training":
            return task.training_examples(cell.seed)
        return task.evaluation_examples(cell.seed, final=kind == "final")


class Batches:
    """Training batches of a stack, gathered on `device`; data is held once per distinct training key.

    A training set that does not fit on the device stays on the host, and its batches are gathered ahead.
    """

    def __init__(self, task: Task, cells: Sequence[Cell], device: str, *, ahead: bool | None = None) -> None:
        """`ahead` gathers batches ahead where that is not needed (True), or never (False)."""
        first = {task.training_key(cell.seed): cell for cell in reversed(cells)}
        keys = list(dict.fromkeys(task.training_key(cell.seed) for cell in cells))
        sets = [examples_of(first[key], "training") for key in keys]
        self.examples = _one_size(sets)
        self._task = task
        self._device = device
        self._augments = task.augments()
        inputs, targets = _joined([e.inputs for e in sets]), _joined([e.targets for e in sets])
        where = device if _fits(inputs.nbytes, device) else "cpu"
        self._inputs, self._targets = inputs.to(where), targets.to(where)
        self._offsets = torch.tensor([keys.index(task.training_key(cell.seed)) * self.examples for cell in cells])
        self._seeds = [cell.seed for cell in cells]
        self._gathers_ahead = where != device if ahead is None else ahead
        self.seek(0)

    def seek(self, step: int, generators: Tensor | None = None) -> None:
        """Go on with the batches of that step; `generators` is what the method of that name said there."""
        self._shuffles = shuffles = [Shuffle(self.examples, seed) for seed in self._seeds]
        self._noise = [noise_seeds(seed) for seed in self._seeds]
        self._generators = [torch.Generator().manual_seed(stream(seed, "augment")) for seed in self._seeds]
        for start in range(0, step, SKIPPED):
            count = min(SKIPPED, step - start)
            for shuffle, noise in zip(shuffles, self._noise, strict=True):
                shuffle.take(count * self._task.budget.batch_size)
                noise(count)
        if generators is not None:
            for generator, state in zip(self._generators, generators, strict=True):
                generator.set_state(state.clone())  # torch takes no part of a tensor
        self._ahead = None
        if self._gathers_ahead:
            data = [self._inputs, self._targets]
            self._ahead = Prefetch(data, lambda: self._drawn(shuffles, 1)[0], self._device)

    def generators(self) -> Tensor | None:
        """Where the augmentations' generators stand, (C, bytes); None without augmentation."""
        return torch.stack([generator.get_state() for generator in self._generators]) if self._augments else None

    def noise(self, steps: int) -> Tensor:
        """Noise seeds of the next steps, int64 (steps, C)."""
        return torch.stack([draw(steps) for draw in self._noise], dim=1).to(self._device)

    def take(self, steps: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of the next steps, (steps, C, B, ...)."""
        ahead = self._ahead is not None
        inputs, targets = self._gathered_ahead(steps) if ahead else self._gathered(self._drawn(self._shuffles, steps))
        return self._augmented(inputs, targets, self._generators) if self._augments else (inputs, targets)

    def _drawn(self, shuffles: Sequence[Shuffle], steps: int) -> Tensor:
        """Rows of the next steps, int64 (steps, C, B)."""
        size = self._task.budget.batch_size
        drawn = torch.stack([shuffle.take(steps * size) for shuffle in shuffles]) + self._offsets[:, None]
        return drawn.view(len(shuffles), steps, size).transpose(0, 1).contiguous()

    def _gathered(self, index: Tensor) -> tuple[Tensor, Tensor]:
        index = index.to(self._inputs.device)
        return rows(self._inputs, index).to(self._device), rows(self._targets, index).to(self._device)

    def _gathered_ahead(self, steps: int) -> tuple[Tensor, Tensor]:
        assert self._ahead is not None
        inputs, targets = zip(*(self._ahead.take() for _ in range(steps)), strict=True)
        return torch.stack(inputs), torch.stack(targets)

    def like(self, rows: int, size: int) -> tuple[Tensor, Tensor]:
        """A batch for tracing, (rows, size, ...), drawn from no shuffle."""
        inputs, targets = self._gathered(torch.arange(rows * size).remainder(self.examples).view(rows, size))
        if self._augments:
            generators = [torch.Generator().manual_seed(0) for _ in range(rows)]
            inputs, targets = self._augmented(inputs[None], targets[None], generators)
            inputs, targets = inputs[0], targets[0]
        return inputs, targets

    def steps_of(self, bytes_limit: int) -> int:
        """How many steps of batches, as they are trained on, fit into that many bytes, at least one."""
        row = sum(tensor.nbytes for tensor in self.like(1, 2)) // 2  # two, since some augmentations mix pairs
        return max(1, bytes_limit // max(1, row * self._task.budget.batch_size * len(self._shuffles)))

    def _augmented(
        self, inputs: Tensor, targets: Tensor, generators: Sequence[torch.Generator]
    ) -> tuple[Tensor, Tensor]:
        changed = [
            [self._task.augment(x, y, generator) for x, y, generator in zip(xs, ys, generators, strict=True)]
            for xs, ys in zip(inputs, targets, strict=True)
        ]
        return (
            torch.stack([torch.stack([x for x, _ in step]) for step in changed]),
            torch.stack([torch.stack([y for _, y in step]) for step in changed]),
        )


def rows(tensor: Tensor, index: Tensor) -> Tensor:
    """tensor[index], copied row by row: several times faster than indexing for rows of bytes."""
    return tensor.index_select(0, index.flatten()).view(*index.shape, *tensor.shape[1:])


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    """All rows; a single set is not copied, it may be a memory map larger than memory."""
    return tensors[0] if len(tensors) == 1 else torch.cat(list(tensors))


def _fits(size: int, device: str) -> bool:
    """Whether a training set may lie on the device: at most half of what is free there."""
    return device == "cpu" or size <= torch.cuda.mem_get_info(device)[0] // 2


def _one_size(sets: Sequence[Examples]) -> int:
    sizes = {len(examples) for examples in sets}
    if len(sizes) != 1 or 0 in sizes:
        raise ValueError(f"the seeds of a task need training sets of one size above zero; found {sorted(sizes)}")
    return sizes.pop()
