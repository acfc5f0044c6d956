"""Counting what one step and one evaluation of a cell do, on fake tensors: shapes are followed, nothing is computed.

What is counted are the engine's own programs (`benchmark.train.program`), operation by operation as they reach the
device: floating-point operations of matrix products (a multiply-add is two, formulas of `torch.utils.flop_counter`),
bytes read and written, and the largest number of bytes alive at once.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, cast

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from benchmark.cell import Cell
from benchmark.cost.work import Operation, Pass, Work
from benchmark.nn import noise
from benchmark.nn.attention import set_prior_mode
from benchmark.nn.mixed import counted_as_on_cuda
from benchmark.task import Array, Task, Workload
from benchmark.train import program
from benchmark.train.evaluate import CHUNK
from benchmark.train.grouping import shape_key, stack_key
from benchmark.train.layout import Layout

STATE_ROWS = 5
"""Matrices of `optim.OptimizerState.tensors`, each of the parameters' size."""


class Counting:
    """Counts the work of cells; tasks that run the same programs are counted once."""

    def __init__(self) -> None:
        self._works: dict[str, Work] = {}
        self._passes: dict[Hashable, tuple[Pass, Pass]] = {}

    def __call__(self, cell: Cell) -> Work:
        """What training and scoring this cell takes. The initialiser's own work is left out: it sets values only.

        Raises what the task raises: DataError when data is missing and the task's `workload` does not stand in for it,
        torch's DataDependentOutputException when the model or the loss asks for values, of which there are none.
        """
        key = stack_key(cell)
        if key not in self._works:
            self._works[key] = self._count(cell)
        return self._works[key]

    def _count(self, cell: Cell) -> Work:
        task = cell.task
        workload = task.workload() or measured_workload(task, cell.seed)
        with torch.device("meta"):
            model = task.build_model()
        set_prior_mode(model, cell.initializer.prior_mode())
        layout, size = Layout.of(model), min(CHUNK, workload.curve)
        arrays = (workload.trained, workload.scored)
        key = (shape_key(cell), layout.shapes, task.budget.micro_batch, arrays, size)
        if key not in self._passes:
            self._passes[key] = passes(task, model, workload, size)
        step, forward = self._passes[key]
        averaged = task.optimizer.ema_decay is not None
        return Work(
            parameters=layout.scalars,
            row_bytes=layout.size * layout.dtype.itemsize,
            rows=1 + STATE_ROWS + averaged,
            averaged=averaged,
            step=step,
            forward=forward,
            forward_size=size,
            workload=workload,
        )


def passes(task: Task, model: torch.nn.Module, workload: Workload, size: int) -> tuple[Pass, Pass]:
    """One optimiser step, and the scoring of `size` examples, of one cell."""
    with FakeTensorMode(allow_non_fake_inputs=True), counted_as_on_cuda():
        source = _source(task, model)
        rows = torch.empty(1, source.layout.size, dtype=source.layout.dtype)
        step = _counted(program.training_step(source), _step_example(source, rows, workload))
        model.eval()
        example = (rows, list(source.buffers.tensors), *_batch(workload.scored, size))
        return step, _counted(program.evaluation(source), example)


def measured_workload(task: Task, seed: int) -> Workload:
    """The sizes of the task's own examples, loaded. Raises what loading raises."""
    training = task.training_examples(seed)
    curve, final = (task.evaluation_examples(seed, final=final) for final in (False, True))
    trained = training.inputs[:2], training.targets[:2]
    if task.augments():
        trained = task.augment(*trained, torch.Generator().manual_seed(0))
    return Workload(
        training=len(training),
        curve=len(curve),
        final=len(final),
        trained=(_array(trained[0]), _array(trained[1])),
        scored=(_array(curve.inputs), _array(curve.targets)),
    )


def _source(task: Task, model: torch.nn.Module) -> program.Source:
    """What the programs of a stack of one are traced from; the model's own parameters are never used."""
    named = dict(model.named_buffers())
    seeds = tuple(noise.is_seed(name) for name in named)
    shapes = [(1, *b.shape) if seed else b.shape for b, seed in zip(named.values(), seeds, strict=True)]
    tensors = tuple(torch.empty(shape, dtype=b.dtype) for shape, b in zip(shapes, named.values(), strict=True))
    return program.Source(model, task, Layout.of(model), program.Buffers(tuple(named), tensors, seeds), 1)


def _step_example(source: program.Source, rows: Tensor, workload: Workload) -> tuple[Any, ...]:
    source.model.train()
    state = [torch.empty_like(rows) for _ in range(STATE_ROWS)]
    scalars = torch.empty(3, dtype=rows.dtype)
    return rows, state, scalars, list(source.buffers.tensors), *_batch(workload.trained, source.task.budget.batch_size)


def _batch(arrays: tuple[Array, Array], size: int) -> tuple[Tensor, ...]:
    """Inputs and targets of one cell, each (1, size, ...)."""
    return tuple(torch.empty(1, size, *a.shape, dtype=getattr(torch, a.dtype)) for a in arrays)


def _array(tensor: Tensor) -> Array:
    return Array(tuple(tensor.shape[1:]), str(tensor.dtype).removeprefix("torch."))


def _counted(function: Callable[..., Any], example: tuple[Any, ...]) -> Pass:
    counter = Counter()
    with torch.no_grad(), counter:
        result = function(*example)
    del result
    return Pass(tuple(counter.operations), counter.peak)


class Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes every operation that moves data, and the bytes that operations made and nobody has let go of yet."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations: list[Operation] = []
        self.peak = 0
        self._live = 0
        self._known: set[int] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        given, made = list(_tensors((args, kwargs))), list(_tensors(out))
        held = {_storage(tensor) for tensor in given}
        if not func.is_view and any(_storage(t) not in held or func._schema.is_mutable for t in made):
            formula = flop_registry.get(func._overloadpacket)
            flops = int(formula(*args, **kwargs, out_val=out)) if formula else 0
            self.operations.append(Operation(flops, sum(map(_bytes, (*given, *made)))))
        for tensor in made:
            self._hold(tensor, held)
        return out

    def _hold(self, tensor: Tensor, held: set[int]) -> None:
        """Count a storage from its making to its end."""
        key, storage = _storage(tensor), tensor.untyped_storage()
        if key in held or key in self._known:
            return
        self._known.add(key)
        self._live += storage.nbytes()
        self.peak = max(self.peak, self._live)
        weakref.finalize(storage, self._release, key, storage.nbytes())

    def _release(self, key: int, size: int) -> None:
        self._known.discard(key)
        self._live -= size


def _tensors(tree: Any) -> Iterator[Tensor]:
    return (leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor))


def _storage(tensor: Tensor) -> int:
    return cast("int", tensor.untyped_storage()._cdata)


def _bytes(tensor: Tensor) -> int:
    """What has to be read or written of a tensor; a broadcast one is in memory once."""
    return min(tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes())
