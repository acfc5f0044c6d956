"""Rules about a task's data, pattern, loss and metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from benchmark.conformance.context import Context, seeded
from benchmark.conformance.rules import NotChecked, Note, rule, told

if TYPE_CHECKING:
    import torch

    from benchmark.task import Examples

CLOSE = 1e-4
"""Relative; the same operations under vmap may sum in another order."""


@rule
def data(context: Context) -> Iterator[str]:
    """Training and evaluation examples of two seeds, each made twice."""
    task = context.task
    calls: dict[str, Callable[[int], Examples]] = {
        "training_examples(seed)": task.training_examples,
        "evaluation_examples(seed, final=False)": lambda seed: task.evaluation_examples(seed, final=False),
        "evaluation_examples(seed, final=True)": lambda seed: task.evaluation_examples(seed, final=True),
    }
    shared = task.training_key(0) == task.training_key(1)
    for name, call in calls.items():
        made, again, other = (drawn(call, seed) for seed in (0, 0, 1))
        if len(made.inputs) != len(made.targets) or len(made) == 0:
            yield f"{name} gives {len(made.inputs)} inputs and {len(made.targets)} targets"
        if not same(made, again):
            yield f"{name} gives other examples when it is called again with the same seed"
        elif shared and not same(made, other):
            yield f"{name} gives seeds 0 and 1 different examples, but training_key is equal for them"
    try:
        size = task.training_size()
    except NotImplementedError:
        yield Note("training_size() is not implemented: `bench plan` cannot count epochs without the data")
        return
    if size != len(task.training_examples(0)):
        yield f"training_size() is {size}, but training_examples(0) has {len(task.training_examples(0))}"


def drawn(call: Callable[[int], Examples], seed: int) -> Examples:
    """Examples as the engine asks for them."""
    seeded("data", seed)
    return call(seed)


def same(one: Examples, other: Examples) -> bool:
    """Whether both are equal to the last bit."""
    import torch

    pairs = ((one.inputs, other.inputs), (one.targets, other.targets))
    return all(
        a.shape == b.shape and a.dtype == b.dtype and torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in pairs
    )


@rule
def pattern(context: Context) -> Iterator[str]:
    """Every layer and head of the geometry."""
    import torch

    task, shape = context.task, context.task.geometry()
    for layer in range(shape.layers):
        for head in range(shape.heads):
            found, place = task.pattern(layer, head), f"pattern({layer}, {head})"
            if (found is not None) != task.has_pattern():
                kind = "None" if found is None else "a pattern"
                yield f"{place} is {kind}, but has_pattern() is {task.has_pattern()}"
                return
            if found is None:
                continue
            if found.dtype != torch.bool or tuple(found.shape) != (shape.tokens, shape.tokens):
                yield (
                    f"{place} is {str(found.dtype).removeprefix('torch.')} {tuple(found.shape)}, "
                    f"expected bool {(shape.tokens, shape.tokens)}"
                )
                return
            again = task.pattern(layer, head)
            if again is None or not torch.equal(found, again):
                yield f"{place} is another one when asked again"
                return


@rule
def loss(context: Context) -> Iterator[str]:
    """Of the plain model's outputs on a few examples."""
    import torch

    (_, targets), outputs = context.batch, context.outputs
    value = context.call("loss", lambda: context.task.loss(outputs, targets))
    if value.dim():
        yield f"the loss has shape {tuple(value.shape)}, expected a scalar"
        return
    if not value.requires_grad:
        yield "the loss does not depend on the model's outputs (no gradient)"
    fixed = outputs.detach()
    alone = context.task.loss(fixed, targets)
    twice = context.task.loss(torch.cat([fixed, fixed]), torch.cat([targets, targets]))
    if alone and abs(float(twice / alone) - 2) < CLOSE:
        yield "the loss of a batch given twice is twice as large: it is a sum, not a mean"
    yield from under_vmap("loss", context.task.loss, fixed, targets)


@rule
def observe(context: Context) -> Iterator[str]:
    """On the examples of `loss`."""
    (_, targets), outputs = context.batch, context.outputs
    fixed = outputs.detach()
    observed = context.call("observe", lambda: context.task.observe(fixed, targets))
    for name, tensor in observed.items():
        if tensor.dim() == 0 or len(tensor) != len(targets):
            yield f"observation {name} has shape {tuple(tensor.shape)}, expected ({len(targets)}, ...)"
            return
    yield from under_vmap("observe", context.task.observe, fixed, targets)


def under_vmap(name: str, function: Callable[..., Any], outputs: torch.Tensor, targets: torch.Tensor) -> Iterator[str]:
    """A function of outputs and targets for two cells at once, against one after the other."""
    import torch

    pair = torch.stack([outputs, outputs.flip(0)]), torch.stack([targets, targets.flip(0)])
    plain = [torch.utils._pytree.tree_leaves(function(x, y)) for x, y in zip(*pair, strict=True)]
    try:
        both = torch.utils._pytree.tree_leaves(torch.func.vmap(function)(*pair))
    except Exception as error:
        yield f"`{name}` does not run under torch.func.vmap: {told(error)}"
        return
    for leaf, *own in zip(both, *plain, strict=True):
        if not torch.allclose(leaf.double(), torch.stack(own).double(), rtol=CLOSE, atol=CLOSE, equal_nan=True):
            yield f"`{name}` gives other numbers under torch.func.vmap than for each cell alone"
            return


@rule
def metrics(context: Context) -> Iterator[str]:
    """Of the tiny training, at its end and on its curve."""
    values = context.trained.values
    finals = {name: value for (name, step), value in values.items() if step == "end"}
    declared = {metric.name: metric for metric in context.task.metrics()}
    averaged = {f"ema_{name}" for name in declared} if context.task.optimizer.ema_decay is not None else set()
    if missing := [name for name in declared if name not in finals]:
        yield f"declared and not returned: {', '.join(missing)}"
    if extra := [name for name in finals if name not in {*declared, *averaged}]:
        yield f"returned and not declared: {', '.join(extra)}"
    for (name, step), value in values.items():
        metric = declared.get(name.partition("@")[0].removeprefix("ema_") if name not in declared else name)
        if metric is None:
            continue
        if math.isnan(value):
            yield f"metric {name} is NaN at step {step}"
        elif (
            not (-math.inf if metric.lower is None else metric.lower)
            <= value
            <= (math.inf if metric.upper is None else metric.upper)
        ):
            yield f"metric {name} is {value:.6g} at step {step}, outside [{metric.lower}, {metric.upper}]"


@rule
def starts_differ(context: Context) -> Iterator[str]:
    """Only models with drawn values are looked at: one of zeros is the same at every seed by right."""
    from benchmark.train.build import build

    one, other = (dict(build(context.cell(seed)).named_parameters()) for seed in (0, 1))
    drawn_names = [name for name, parameter in one.items() if len(set(parameter.flatten()[:64].tolist())) > 8]
    if not drawn_names:
        raise NotChecked("the model starts without drawn values")
    if all(bool((one[name] == other[name]).all()) for name in drawn_names if name in other):
        yield "seeds 0 and 1 start with the same weights"
