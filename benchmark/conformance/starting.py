"""Rules about the model as it is built and started."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from benchmark.conformance.context import Context
from benchmark.conformance.rules import NotChecked, Note, rule

if TYPE_CHECKING:
    import torch

REPEATS = 5


@rule
def build(context: Context) -> Iterator[str]:
    """As the engine reads it."""
    from benchmark.train.layout import Layout

    model = context.started.before
    Layout.of(model)
    for name, parameter in model.named_parameters():
        yield from non_finite("parameter", name, parameter)


@rule
def apply(context: Context) -> Iterator[str]:
    """The model of seed 0 before and after."""
    from benchmark.train.layout import Layout

    before, model = context.started.before, context.started.model
    was = dict(before.named_parameters())
    for name, parameter in model.named_parameters():
        yield from non_finite("parameter", name, parameter)
        if not parameter.requires_grad:
            yield (
                f"parameter {name} has requires_grad False, which the engine does not heed: "
                f'ParameterRule("{name}", trainable=False) does it'
            )
        if parameter.grad_fn is not None:
            yield f"parameter {name} is the result of a computation; copy values into the parameter instead"
        if name in was and parameter.dtype != was[name].dtype:
            yield f"parameter {name} is {parameter.dtype} and was {was[name].dtype}"
    spoilt = {name for name, buffer in before.named_buffers() if buffer.isnan().any()}
    for name, buffer in model.named_buffers():
        if name not in spoilt and buffer.isnan().any():
            yield f"buffer {name} has NaN in it"
    Layout.of(model)
    if gone := [name for name in was if name not in dict(model.named_parameters())]:
        yield Note(f"parameters that are gone, replaced or tied: {', '.join(gone[:3])}")


def non_finite(what: str, name: str, tensor: torch.Tensor) -> Iterator[str]:
    """A finding when values are not finite."""
    if count := int((~tensor.isfinite()).sum()):
        yield f"{what} {name} has {count} values of {tensor.numel()} that are not finite"


@rule
def rules(context: Context) -> Iterator[str]:
    """With the engine's own reading of the rules."""
    from benchmark.train.layout import Layout
    from benchmark.train.optim import rule_rows

    model, pair = context.started.model, context.subject.pair
    all_rules = (*context.task.parameter_rules(), *pair.initializer.parameter_rules())
    layout = Layout.of(model)
    trained = rule_rows(layout, context.task.optimizer, all_rules)[2]
    if not trained.any():
        yield "no parameter is trained"
    before = dict(context.started.before.named_parameters())
    for name, parameter in model.named_parameters():
        silent = not any(fnmatchcase(name, one.match) for one in all_rules)
        if name.endswith(".prior") and name in before and silent and not bool((parameter == before[name]).all()):
            yield Note(f"{name} is set and not trained: prior slots are trained only where a rule says so")
            return


@rule
def reseeding(context: Context) -> Iterator[str]:
    """`torch.initial_seed()` before and after; generators of the plugin's own are free."""
    for call in context.started.reseeded:
        yield f"`{call}` calls torch.manual_seed"


@rule
def global_state(context: Context) -> Iterator[str]:
    """Around the calls of the plugin that the kit makes itself, and around a training."""
    for look in (lambda: context.outputs, lambda: context.trained):
        with suppress(Exception):  # another rule says so
            look()
    told: set[str] = set()
    for call, changes in context.changed.items():
        for change in dict.fromkeys(changes):
            if change not in told:  # a training repeats what `apply` did
                yield f"`{call}` {'leaves behind' if 'still runs' in change else 'changes'} {change}"
            told.add(change)


@rule
def time_spent(context: Context) -> Iterator[str]:
    """Forward and backward of the plain modules in turn; the least of five each."""
    inputs, targets = context.batch

    def step(model: torch.nn.Module) -> float:
        at = time.perf_counter()
        context.task.loss(model(inputs), targets).backward()  # type: ignore[no-untyped-call]
        model.zero_grad()
        return time.perf_counter() - at

    try:
        times = [(step(context.started.before), step(context.started.model)) for _ in range(REPEATS)]
    except Exception as error:
        raise NotChecked("the model cannot be differentiated (see trains)") from error
    plain, own = (min(column) for column in zip(*times, strict=True))
    yield Note(
        f"apply takes {context.started.seconds:.2g} s; a step takes {own / plain:.2f} × that of the untouched model"
    )
