"""What a cell's own plain module gives on its own data: the numbers its program is held against, and its trace.

Made for every cell when it is built, before any program is: a model that no program can stand for is refused here, with
the name of what it holds and the way out.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from benchmark.cell import Cell
from benchmark.errors import PluginError
from benchmark.identity import stream
from benchmark.nn import noise
from benchmark.task import Examples
from benchmark.train import state
from benchmark.train.batches import Shuffle, examples_of, noise_seeds
from benchmark.train.evaluate import CHUNK
from benchmark.train.grouping import stack_key
from benchmark.train.layout import Layout
from benchmark.train.trace import Trace, record
from benchmark.train.values import as_floats, check_names
from benchmark.train.world import world

Made = TypeVar("Made")


@dataclass(frozen=True)
class Reference:
    """A cell before its first step, run as anybody would run it."""

    key: Hashable
    """Equal for cells that one program can train: the trace, and names and shapes of parameters and buffers."""
    batch: tuple[Tensor, Tensor]
    """The first batch, (B, ...) each."""
    loss: float
    gradient: Tensor
    """(P,) in the layout of the parameters."""
    frozen: tuple[str, ...]
    """Parameters that the loss does not reach, as with `requires_grad` off: `torch.optim` leaves them as they are."""
    written: Mapping[str, Tensor]
    """Buffers that training writes to, after the first batch."""
    scored: tuple[Tensor, Tensor]
    """The first evaluation examples of the curve."""
    observed: Mapping[str, Tensor]
    """What `observe` says of them."""
    finals: tuple[str, ...]
    """Metrics that the task summarizes at the end."""
    tolerance: float
    """Relative, for loss and gradient."""


_finals: dict[Hashable, tuple[str, ...]] = {}
"""Final metrics of the tasks that have been asked for them in this process."""


def _final_names(cell: Cell, model: nn.Module, device: str) -> tuple[str, ...]:
    """Names of the final metrics, from one final evaluation before any training, once for each task.

    Raises PluginError for metrics that are no numbers or not declared.
    """
    key = type(cell.task), stack_key(cell)
    if key in _finals:
        return _finals[key]
    task, examples = cell.task, examples_of(cell, "final")
    chunks = []
    with world(cell.seed, "forward", f"the model of {cell.task_name!r}"), torch.no_grad():
        model.eval()
        for start in range(0, len(examples), CHUNK):
            inputs, targets = _rows(examples, slice(start, start + CHUNK), device)
            chunks.append({name: value.cpu() for name, value in task.observe(model(inputs), targets).items()})
    observed = {name: torch.cat([chunk[name] for chunk in chunks]) for name in chunks[0]}
    with world(cell.seed, "summary", f"summarize of task {cell.task_name!r}"):
        found = _twice(cell, "summarize", lambda: task.summarize(observed, examples, final=True))
        finals = as_floats(found, "summarize")
    check_names(finals, [metric.name for metric in task.metrics()])
    _finals[key] = tuple(finals)
    return _finals[key]


def refer(cell: Cell, model: nn.Module, device: str) -> Reference:
    """Run the cell's model once over its first batch and its first evaluation examples.

    Raises what the model, the task's data, loss or `observe` raise, and PluginError for what no program can stand for.
    """
    _refuse_shared_and_hooked(model)
    layout = Layout.of(model)
    batch, seed = _first_batch(cell, device)
    chunk = _rows(examples_of(cell, "curve"), slice(0, CHUNK), device)
    model.to(device)
    with world(cell.seed, "forward", f"the model of {cell.task_name!r} × {cell.initializer_name!r}"):
        before = _state(model, cell), _draws()
        given = (*batch, *chunk)
        versions = [tensor._version for tensor in given]
        buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
        _set_noise(model, seed)
        trace = _trace(cell, model, batch, chunk)
        loss, gradient, frozen = _differentiated(cell, model, batch, layout)
        written = _written(model, buffers)
        model.eval()
        with torch.no_grad():
            observed = cell.task.observe(model(chunk[0]), chunk[1])
        if scored_too := _written(model, buffers):
            raise PluginError(f"buffer {next(iter(scored_too))!r} is written to when the model is evaluated: {_STILL}")
        _refuse_writes(given, versions)
        _refuse_draws(model, before[1], trace)
        after = _state(model, cell)
        _refuse_state(state.changed(before[0], after), after, trace, _trace(cell, model, batch, chunk))
    finals = _final_names(cell, model, device)
    shapes = tuple((n, tuple(t.shape), str(t.dtype)) for n, t in (*model.named_parameters(), *model.named_buffers()))
    model.to("cpu")
    return Reference(
        key=(trace.text, shapes),
        batch=batch,
        loss=loss,
        gradient=gradient,
        frozen=frozen,
        written=written,
        scored=(chunk[0].cpu(), chunk[1].cpu()),
        observed={name: value.cpu() for name, value in observed.items()},
        finals=finals,
        tolerance=math.sqrt(trace.epsilon(device)),
    )


_STILL = (
    "a program is traced once and shared, so what a model counts or stores would stand still; "
    "compute it from parameters and inputs, or draw it from benchmark.nn.noise"
)


def _first_batch(cell: Cell, device: str) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """Inputs and targets (B, ...) of the cell's first step, and its noise seed."""
    task = cell.task
    examples = examples_of(cell, "training")
    rows = Shuffle(len(examples), cell.seed).take(task.budget.batch_size)
    batch = _rows(examples, rows, device)
    if task.augments():
        with world(cell.seed, "augment", f"augment of task {cell.task_name!r}"):
            before, own = _draws(), stream(cell.seed, "augment")
            batch = _twice(
                cell,
                "augment",
                lambda: task.augment(batch[0].clone(), batch[1].clone(), torch.Generator().manual_seed(own)),
            )
            if drawn := _drawn(before):
                raise PluginError(
                    f"augment draws from {drawn}, which the cells share; draw from the `generator` it is given"
                )
    return batch, noise_seeds(cell.seed)(1)[0].to(device)


def _twice(cell: Cell, method: str, call: Callable[[], Made]) -> Made:
    """What a method of the task gives; PluginError when its second call still changes what it reads (a cache may)."""
    functions = {method: getattr(type(cell.task), method)}
    call()
    before = state.model_state(nn.Identity(), functions)
    made = call()
    if moved := state.changed(before, state.model_state(nn.Identity(), functions)):
        raise PluginError(
            f"{moved[0]} changes while {method} runs, so that what a cell reports would depend on the calls before it; "
            "compute it from what the method is given"
        )
    return made


def _rows(examples: Examples, rows: slice | Tensor, device: str) -> tuple[Tensor, Tensor]:
    return examples.inputs[rows].to(device), examples.targets[rows].to(device)


def _state(model: nn.Module, cell: Cell) -> dict[str, object]:
    kind = type(cell.task)
    return state.model_state(model, {name: getattr(kind, name) for name in ("loss", "observe")})


def _set_noise(model: nn.Module, seed: Tensor) -> None:
    for name, buffer in model.named_buffers():
        if noise.is_seed(name):
            buffer.copy_(noise.own(seed, name))


def _trace(cell: Cell, model: nn.Module, batch: tuple[Tensor, Tensor], chunk: tuple[Tensor, Tensor]) -> Trace:
    """On two examples, as fast for a large batch as for a small one."""
    few = min(2, cell.task.budget.micro_batch or cell.task.budget.batch_size)
    return record(model, cell.task, (batch[0][:few], batch[1][:few]), (chunk[0][:2], chunk[1][:2]))


def _differentiated(
    cell: Cell, model: nn.Module, batch: tuple[Tensor, Tensor], layout: Layout
) -> tuple[float, Tensor, tuple[str, ...]]:
    """Mean loss over the micro-batches, its gradient in the layout of the parameters, and those it does not reach."""
    model.train()
    named = dict(model.named_parameters())
    trained = {name: parameter for name, parameter in named.items() if parameter.requires_grad}
    gradients = {name: torch.zeros_like(parameter) for name, parameter in named.items()}
    size = cell.task.budget.micro_batch or cell.task.budget.batch_size
    pieces = list(zip(*(torch.split(tensor, size) for tensor in batch), strict=True))
    seeds = {name: buffer.clone() for name, buffer in model.named_buffers() if noise.is_seed(name)}
    loss, unreached = 0.0, set(named)
    for part, (inputs, targets) in enumerate(pieces):
        for name, seed in noise.shifted(seeds, part).items():
            model.get_buffer(name).copy_(seed)
        value = cell.task.loss(model(inputs), targets)
        if value.requires_grad:
            made = torch.autograd.grad(value, list(trained.values()), allow_unused=True)
            for name, found in zip(trained, made, strict=True):
                if found is not None:
                    gradients[name] += found / len(pieces)
                    unreached.discard(name)
        loss += value.item() / len(pieces)
    return loss, layout.join(gradients), tuple(sorted(unreached))


def _written(model: nn.Module, before: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Buffers that are not as before, noise aside; they are put back."""
    written = {}
    for name, value in before.items():
        owner, _, own = name.rpartition(".")
        found = model.get_buffer(name)
        if not torch.equal(found, value):
            if not noise.is_seed(name):
                written[name] = found.clone()
            setattr(model.get_submodule(owner), own, value.clone())
    return written


def _refuse_shared_and_hooked(model: nn.Module) -> None:
    places: dict[int, str] = {}
    for name, parameter in model.named_parameters():
        if (other := places.setdefault(parameter.data_ptr(), name)) != name and parameter.numel():
            raise PluginError(
                f"parameters {other!r} and {name!r} share memory without being one parameter; "
                "tie them by assigning the parameter itself (`a.weight = b.weight`)"
            )
        if parameter._backward_hooks or getattr(parameter, "_post_accumulate_grad_hooks", None):
            raise PluginError(
                f"parameter {name!r} has a gradient hook, which a program does not run; scale or freeze it by a "
                "ParameterRule (learning_rate_multiplier, trainable), or change the gradient in the model's forward"
            )
    for name, module in model.named_modules():
        if module._backward_hooks or getattr(module, "_backward_pre_hooks", None):
            raise PluginError(f"module {name!r} has a backward hook, which a program does not run; use a ParameterRule")


def _draws() -> dict[str, object]:
    """Where the global generators stand."""
    kind, words, *place = np.random.get_state(legacy=True)
    states: dict[str, object] = {
        "torch's global generator": torch.get_rng_state().numpy().tobytes(),
        "numpy's global generator": (kind, np.asarray(words).tobytes(), *place),
        "Python's `random`": random.getstate(),
    }
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        states["CUDA's global generator"] = torch.cuda.get_rng_state().numpy().tobytes()
    return states


def _drawn(before: Mapping[str, object]) -> str | None:
    return next((name for name, found in _draws().items() if before.get(name, found) != found), None)


def _refuse_draws(model: nn.Module, before: Mapping[str, object], trace: Trace) -> None:
    drawn = _drawn(before) or next(iter(trace.draws), None)
    if drawn:
        dropping = [
            f"{n!r}" for n, m in model.named_modules() if "Dropout" in type(m).__name__ and getattr(m, "p", True)
        ]
        raise PluginError(
            f"the model draws from {drawn} while it runs"
            f"{f' ({type_of_dropout(model)} {dropping[0]})' if dropping else ''}, so its numbers would depend on the "
            "cells trained beside it; use benchmark.nn.noise, whose numbers are the cell's own: noise.Dropout(p) in "
            "place of torch.nn.Dropout(p), noise.uniform and noise.normal for others"
        )


def type_of_dropout(model: nn.Module) -> str:
    """The class of the first dropout of a model."""
    return next(type(m).__name__ for m in model.modules() if "Dropout" in type(m).__name__)


def _refuse_writes(given: Sequence[Tensor], versions: Sequence[int]) -> None:
    if [tensor._version for tensor in given] != versions:
        raise PluginError(
            "the model, `loss` or `observe` writes to its inputs or targets, which other steps and cells are given "
            "too; work on a copy (`x = x.clone()`)"
        )


def _refuse_state(moved: list[str], after: Mapping[str, object], first: Trace, second: Trace) -> None:
    """Refuse what changed while the model ran, unless it is a tensor that is kept and never read.

    What cannot be looked into (an iterator, a clock) shows in a second trace that is not the first.
    """
    counted = [name for name in moved if not isinstance(after[name], state.Tensors)]
    if counted or first.text != second.text:
        name = (
            counted or moved or ["something the model, `loss` or `observe` reads (an iterator, a clock, a global)"]
        )[0]
        raise PluginError(f"{name} changes while the model runs: {_STILL}")
