"""The two programs a stack runs, an optimiser step and an evaluation, as flat graphs of tensor operations.

A program is traced once: forward, backward and optimiser (or forward and observation) become one graph whose inputs
are all tensors that vary. Running the graph skips the modules, autograd and vmap, and a graph can be compiled whole.
Programs are kept per process: a traced one by optimiser, trace and number of cells, a compiled one by the graph's text,
so that tasks which differ in their data only share it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor
from torch.func import functional_call, grad_and_value, vmap
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from benchmark.errors import PluginError
from benchmark.nn import noise
from benchmark.task import Task
from benchmark.train import optim
from benchmark.train.layout import Layout
from benchmark.train.repair import repair_cache

Program = Callable[..., Any]


class UntraceableError(PluginError):
    """What a plugin wrote runs by itself, but not as a program."""


_traced: dict[Hashable, Program] = {}
_compiled: dict[str, Program] = {}


@dataclass(frozen=True)
class Buffers:
    """Buffers of a stack by name: shared where all cells agree, else (C, ...).

    Noise seeds, (C,), and buffers that training writes to are always the cell's own.
    """

    names: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    stacked: tuple[bool, ...]

    @classmethod
    def of(cls, models: Sequence[torch.nn.Module], written: Collection[str], device: str) -> Buffers:
        """Buffers of models of one trace."""
        columns = [dict(model.named_buffers()) for model in models]
        tensors, stacked = [], []
        for name in columns[0]:
            values = [column[name] for column in columns]
            differ = (
                noise.is_seed(name) or name in written or any(not torch.equal(values[0], value) for value in values)
            )
            stacked.append(differ)
            tensors.append((torch.stack(values) if differ else values[0]).to(device))
        return cls(tuple(columns[0]), tuple(tensors), tuple(stacked))

    def with_noise(self, seeds: Tensor) -> list[Tensor]:
        """The tensors with these noise seeds, (C,)."""
        return [noise.own(seeds, n) if noise.is_seed(n) else t for n, t in zip(self.names, self.tensors, strict=True)]

    def of_cell(self, row: int, tensors: Sequence[Tensor] | None = None, *, shared: bool = True) -> dict[str, Tensor]:
        """One cell's buffers by name, of `tensors` if they are given; without those that all cells share on request."""
        every = zip(self.names, tensors or self.tensors, self.stacked, strict=True)
        return {name: tensor[row] if own else tensor for name, tensor, own in every if own or shared}


@dataclass(frozen=True)
class Source:
    """What programs are traced from: a model of the trace, its task, and the layout of its parameters."""

    model: torch.nn.Module
    task: Task
    layout: Layout
    buffers: Buffers
    cells: int

    def over_cells(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function(parameters, buffers, inputs, targets)` of one cell, as a function of the stack.

        A stack of one runs the plain operations, which are faster than batched ones of batch one.
        """
        stacked = {name for name, s in zip(self.buffers.names, self.buffers.stacked, strict=True) if s}
        if self.cells == 1:
            return self._one(function, stacked)
        dims = {name: 0 if s else None for name, s in zip(self.buffers.names, self.buffers.stacked, strict=True)}
        return vmap(function, in_dims=(0, dims, 0, 0))

    def _one(self, function: Callable[..., Any], stacked: set[str]) -> Callable[..., Any]:
        def call(parameters: Any, buffers: Any, inputs: Tensor, targets: Tensor) -> Any:
            own = {k: v[0] if k in stacked else v for k, v in buffers.items()}
            result = function({k: v[0] for k, v in parameters.items()}, own, inputs[0], targets[0])
            return torch.utils._pytree.tree_map(lambda tensor: tensor.unsqueeze(0), result)

        return call

    def named_buffers(self, tensors: Sequence[Tensor]) -> dict[str, Tensor]:
        """The buffers a program was given, by name."""
        return dict(zip(self.buffers.names, tensors, strict=True))


def training_step(source: Source, run: int | None = None) -> Program:
    """step(parameters, state, scalars, buffers, inputs, targets) → losses (C,); parameters and state change in place.

    Shapes: parameters (C, P), state as `OptimizerState.tensors`, scalars (3,), inputs and targets (C, B, ...). With
    micro-batches, losses and gradients are means over them. `run` is that of `optim.update`.
    """
    task, layout = source.task, source.layout

    def loss(parameters: dict[str, Tensor], buffers: dict[str, Tensor], inputs: Tensor, targets: Tensor) -> Tensor:
        return task.loss(functional_call(source.model, (parameters, buffers), (inputs,)), targets)

    one = source.over_cells(grad_and_value(loss))
    parts = task.budget.batch_size // (task.budget.micro_batch or task.budget.batch_size)

    def differentiate(parameters: Any, buffers: Any, inputs: Tensor, targets: Tensor) -> tuple[Any, Tensor]:
        if parts == 1:
            return cast("tuple[Any, Tensor]", one(parameters, buffers, inputs, targets))
        total, losses = None, torch.zeros((), device=inputs.device)
        for part, (x, y) in enumerate(zip(inputs.chunk(parts, dim=1), targets.chunk(parts, dim=1), strict=True)):
            gradients, found = one(parameters, noise.shifted(buffers, part), x, y)
            total = gradients if total is None else {name: total[name] + g for name, g in gradients.items()}
            losses = losses + found
        return {name: g / parts for name, g in (total or {}).items()}, losses / parts

    def step(
        parameters: Tensor, state: list[Tensor], scalars: Tensor, buffers: list[Tensor], inputs: Tensor, targets: Tensor
    ) -> Tensor:
        gradients, losses = differentiate(layout.split(parameters), source.named_buffers(buffers), inputs, targets)
        optim.update(task.optimizer, layout, parameters, gradients, state, scalars, run)
        return losses

    return step


def evaluation(source: Source) -> Program:
    """observe(parameters, buffers, inputs, targets) → observations by name, each (C, B, ...)."""
    task, layout = source.task, source.layout

    def observe(parameters: Any, buffers: Any, inputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        return task.observe(functional_call(source.model, (parameters, buffers), (inputs,)), targets)

    over_cells = source.over_cells(observe)

    def run(parameters: Tensor, buffers: list[Tensor], inputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        return cast(
            "dict[str, Tensor]", over_cells(layout.split(parameters), source.named_buffers(buffers), inputs, targets)
        )

    return run


def prepare(function: Program, example: tuple[Any, ...], key: Hashable, *, compiled: bool) -> Program:
    """`function` as a graph for arguments shaped like `example` (which are not changed), compiled if asked.

    `key` must determine what `function` does with such arguments.
    """
    full = (key, compiled, _signature(example))
    if full not in _traced:
        try:
            graph = make_fx(function)(*_clones(example))
        except (RuntimeError, TypeError, ValueError, AttributeError) as error:
            raise UntraceableError(
                f"model, loss or observe cannot be traced over {example[0].shape[0]} cells: {type(error).__name__}: "
                f"{str(error).strip().partition(chr(10))[0]} (a program takes the same operations "
                "whatever the data: no `if` over a tensor, no `.item()`, nothing torch.func.vmap does not know)"
            ) from error
        _traced[full] = _compile(graph, example) if compiled else graph
    return _traced[full]


def _clones(example: tuple[Any, ...]) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", torch.utils._pytree.tree_map(lambda value: value.clone(), example))


def can_compile(device: str) -> str | None:
    """None when programs can be compiled here, otherwise the reason why not."""
    if device != "cpu":
        return None if torch.utils._triton.has_triton() else "triton is not installed, so nothing is compiled"
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        return f"no C++ compiler ({compiler}), so nothing is compiled"
    return None


def _compile(graph: GraphModule, example: tuple[Any, ...]) -> Program:
    """Compiled by inductor, whose own cache on disk serves the other processes of this machine."""
    digest = hashlib.sha256(graph.code.encode())
    digest.update(repr(_signature(example)).encode())
    for name, tensor in sorted({**dict(graph.named_buffers()), **_constants(graph)}.items()):
        digest.update(f"{name}{tensor.dtype}{tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    key = digest.hexdigest()
    if key not in _compiled:
        _repair_cache_once()
        compiled = torch.compile(graph, dynamic=False, fullgraph=True)
        compiled(*_clones(example))  # inductor compiles at the first call
        _compiled[key] = compiled
    return _compiled[key]


@functools.cache
def _repair_cache_once() -> None:
    repair_cache()


def _constants(graph: GraphModule) -> dict[str, Tensor]:
    return {name: value for name, value in vars(graph).items() if isinstance(value, Tensor)}


def _signature(example: Any) -> Hashable:
    leaves, shape = torch.utils._pytree.tree_flatten(example)
    return str(shape), tuple((tuple(t.shape), t.stride(), str(t.dtype), str(t.device)) for t in leaves)


def clear() -> None:
    """Forget all programs (tests, and measurements of compile time)."""
    _traced.clear()
    _compiled.clear()
