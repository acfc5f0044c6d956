"""The canary: before a cell's first step, what its program gives is held against what its own plain module gave.

Compared are the first batch, its loss and gradient, buffers that training writes to, and what is observed of the first
evaluation examples. The program is the very one that trains: an optimiser step on copies, with settings under which it
leaves the gradient itself behind.

Tolerance: √ε of the least precise floating point type in the cell's trace, half of its digits: 3.5e-4 for float32, 0.09
for bfloat16. A program sums in another order than the module, which moves float32 losses by about 1e-7 and gradients by
about 1e-6 of their size, while another model's or another seed's numbers differ in the first digits. Below ε, as an
absolute number, both are rounding and not compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from benchmark.parameters import Optimizer
from benchmark.task import Examples
from benchmark.train.layout import Layout
from benchmark.train.reference import Reference

LARGE_RATE = 2.0**30
"""Learning rate at which plain SGD moves parameters by their gradient and hardly anything else."""


AGAIN = (
    "{} gave other data when it was called again for the same seed; draw it from a generator seeded with `seed`, and "
    "let training_key tell apart seeds whose data differ"
)


class ApartError(Exception):
    """A program does not give some cells what their own modules give."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        """`reasons`: cell id → both numbers."""
        super().__init__("; ".join(reasons.values()))
        self.reasons = dict(reasons)


def revealing(optimizer: Optimizer, parameters: Tensor) -> tuple[list[Tensor], Tensor]:
    """State (as `OptimizerState.tensors`) and scalars of a step after which `revealed` reads the gradient.

    No decay, no clipping (no parameter counts as trained), all rates one.
    """
    zeros = [torch.zeros_like(parameters) for _ in range(4)]
    state = [zeros[0], zeros[1], torch.ones_like(parameters), zeros[2], zeros[3]]
    rate = LARGE_RATE if optimizer.name == "sgd" else 1.0
    return state, torch.tensor([rate, 1.0, 1.0], dtype=parameters.dtype, device=parameters.device)


def revealed(optimizer: Optimizer, before: Tensor, after: Tensor, state: Sequence[Tensor]) -> Tensor:
    """The gradient (C, P) of the step that `revealing` prepared."""
    if optimizer.name == "sgd":
        return state[0] if optimizer.momentum else (before - after) / LARGE_RATE
    return state[0] / (1 - optimizer.betas[0])


def difference(
    reference: Reference, layout: Layout, loss: float, gradient: Tensor, batch: Sequence[Tensor]
) -> str | None:
    """What is wrong with a program's loss and gradient (P,) of the first batch; None when they are the cell's."""
    if not all(torch.equal(own, given) for own, given in zip(reference.batch, batch, strict=True)):
        return AGAIN.format("training_examples")
    if not math.isfinite(reference.loss) or not torch.isfinite(reference.gradient).all():
        return None  # it diverges in its first step, alone or not
    tolerance = reference.tolerance
    if not _close(reference.loss, loss, tolerance):
        return f"the loss of its first batch is {reference.loss:.9g} by its own module and {loss:.9g} by the program"
    rows = layout.split(gradient.clone())
    for name in reference.frozen:
        rows[name].zero_()
    own = layout.split(reference.gradient)
    gaps = {name: float((own[name].double() - rows[name].double().cpu()).norm()) for name in layout.names}
    norms = [float(layout.join(one).double().norm()) for one in (own, rows)]
    if _close(norms[0], norms[0] + math.hypot(*gaps.values()), tolerance):
        return None
    worst = max(gaps, key=lambda name: gaps[name] if math.isfinite(gaps[name]) else math.inf)
    sizes = [float(one[worst].double().norm()) for one in (own, rows)]
    return (
        f"the gradient of its first batch has norm {norms[0]:.9g} by its own module and {norms[1]:.9g} by the program, "
        f"{math.hypot(*gaps.values()):.3g} apart; most in {worst!r}, {sizes[0]:.9g} and {sizes[1]:.9g}"
    )


def _close(own: float, given: float, tolerance: float) -> bool:
    floor = tolerance**2
    return abs(own - given) <= max(tolerance * max(abs(own), abs(given)), floor)


def buffer_difference(reference: Reference, buffers: Mapping[str, Tensor]) -> str | None:
    """What is wrong with the buffers after a program's first step; None when they are as the cell's own."""
    for name, own in reference.written.items():
        if not _alike(own, buffers[name].cpu(), reference.tolerance):
            return (
                f"buffer {name!r} is written to by the model but not by the program; change it in place (`copy_`, "
                "`mul_`), or compute it from parameters and inputs"
            )
    return None


def observed_difference(reference: Reference, examples: Examples, observed: Mapping[str, Tensor]) -> str | None:
    """What is wrong with a program's observations of the first of these examples; None when they are the cell's."""
    own_inputs, own_targets = reference.scored
    count = len(own_inputs)
    if not (torch.equal(own_inputs, examples.inputs[:count]) and torch.equal(own_targets, examples.targets[:count])):
        return AGAIN.format("evaluation_examples")
    for name, own in reference.observed.items():
        given = observed[name][: len(own)]
        if not _alike(own, given, reference.tolerance):
            numbers = [float(one.double().nan_to_num().norm()) for one in (own, given)]
            return (
                f"observation {name!r} of its first {len(own)} evaluation examples has norm {numbers[0]:.9g} "
                f"by its own module and {numbers[1]:.9g} by the program"
            )
    return None


FLIPPED = 0.02
"""Share of discrete observations (a class, right or wrong) that rounding may turn over where two are nearly tied."""


def _alike(own: Tensor, given: Tensor, tolerance: float) -> bool:
    if own.shape != given.shape:
        return False
    if not own.is_floating_point():
        return int((own != given).sum()) <= 1 + FLIPPED * own.numel()
    finite = torch.isfinite(own) & torch.isfinite(given)
    if not torch.equal(torch.isfinite(own), torch.isfinite(given)):
        return False
    own, given = own[finite].double(), given[finite].double()
    size = float(own.norm())
    return _close(size, size + float((own - given).norm()), tolerance)
