"""Adam, AdamW and SGD over a matrix of parameters, one row per cell, with rules per parameter and cell.

The formulas are those of `torch.optim` (Adam: arXiv 1412.6980, algorithm 1, with the decay added to the gradient;
AdamW: arXiv 1711.05101, algorithm 2; SGD: momentum without dampening). All operations are elementwise within a row,
so a cell's numbers depend on its own row alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import torch
from torch import Tensor

from benchmark.initializer import ParameterRule
from benchmark.parameters import Optimizer
from benchmark.train.layout import Layout, Run
from benchmark.train.schedule import learning_rates

DEFAULT_RULES = (ParameterRule(match="*"), ParameterRule(match="*.prior", trainable=False))
"""Everything is trained except the prior slots, which only an initialiser that owns them turns on."""

TINY = 1e-6
"""Added to the norm before dividing, as `torch.nn.utils.clip_grad_norm_` does."""


@dataclass
class OptimizerState:
    """Moments and rules of C cells, each (C, size), and the scalars of every step, (total steps, 3)."""

    first: Tensor
    second: Tensor
    multiplier: Tensor
    """Learning rate multiplier; 0 where frozen."""
    decay: Tensor
    """Weight decay coefficient; 0 where frozen."""
    trained: Tensor
    """1 where trained, 0 where frozen: what the gradient norm counts."""
    scalars: Tensor
    """Per step: learning rate, 1 − β₁ᵗ, √(1 − β₂ᵗ)."""

    def tensors(self) -> list[Tensor]:
        """Everything a step reads or writes except the scalars, in the order `update` takes it."""
        return [self.first, self.second, self.multiplier, self.decay, self.trained]


def rule_rows(layout: Layout, optimizer: Optimizer, rules: Sequence[ParameterRule]) -> tuple[Tensor, Tensor, Tensor]:
    """Multiplier, decay and trained flag of one cell, each (size,).

    Raises ValueError when a rule of the initialiser matches no parameter: it would silently do nothing.
    """
    for rule in rules:
        if not any(fnmatchcase(name, rule.match) for name in layout.names):
            raise ValueError(
                f"parameter rule {rule.match!r} matches none of the model's {len(layout.names)} parameters "
                f"(such as {', '.join(layout.names[:3])}); mend the pattern in parameter_rules()"
            )
    values: list[dict[str, Tensor]] = [{}, {}, {}]
    for name, shape in zip(layout.names, layout.shapes, strict=True):
        rule = [rule for rule in (*DEFAULT_RULES, *rules) if fnmatchcase(name, rule.match)][-1]
        for store, value in zip(values, _settings(rule, optimizer, len(shape)), strict=True):
            store[name] = torch.full(shape, value, dtype=layout.dtype)
    multiplier, decay, trained = (layout.join(store) for store in values)
    return multiplier, decay, trained


def _settings(rule: ParameterRule, optimizer: Optimizer, dimensions: int) -> tuple[float, float, float]:
    if not rule.trainable:
        return 0.0, 0.0, 0.0
    decay = optimizer.weight_decay if optimizer.decay_vectors or dimensions > 1 else 0.0
    if rule.weight_decay is not None:
        decay = rule.weight_decay
    return rule.learning_rate_multiplier, decay, 1.0


def initial_state(
    layout: Layout, optimizer: Optimizer, rules: Sequence[Sequence[ParameterRule]], total_steps: int, device: str
) -> OptimizerState:
    """State before the first step of the cells whose initialisers gave `rules`."""
    rows = [rule_rows(layout, optimizer, cell_rules) for cell_rules in rules]
    multiplier, decay, trained = (torch.stack(column).to(device) for column in zip(*rows, strict=True))
    return OptimizerState(
        first=torch.zeros_like(multiplier),
        second=torch.zeros_like(multiplier),
        multiplier=multiplier,
        decay=decay,
        trained=trained,
        scalars=step_scalars(optimizer, total_steps).to(device=device, dtype=layout.dtype),
    )


def step_scalars(optimizer: Optimizer, total_steps: int) -> Tensor:
    """Learning rate and Adam's bias corrections of every step, float64 (total steps, 3)."""
    rate = torch.tensor(learning_rates(optimizer, total_steps), dtype=torch.float64)
    step = torch.arange(1, total_steps + 1, dtype=torch.float64)
    beta1, beta2 = optimizer.betas
    return torch.stack([rate, 1 - beta1**step, (1 - beta2**step).sqrt()], dim=1)


def update(
    optimizer: Optimizer,
    layout: Layout,
    parameters: Tensor,
    gradients: Mapping[str, Tensor],
    state: Sequence[Tensor],
    scalars: Tensor,
    run: int | None = None,
) -> None:
    """One step in place on `parameters` and the moments, both (C, size); gradients (C, *shape) by name.

    `state` is `OptimizerState.tensors`. `run` is how many scalars of a row are updated at once, None for all: tens of
    millions of parameters cost what their intermediate results cost in memory, unless these fit into the cache.
    """
    runs = layout.runs(gradients, run or layout.size)
    if optimizer.clip_norm is not None:
        runs = clipped(runs, state[-1], optimizer.clip_norm)
    for part in runs:
        first, second, multiplier, decay = (tensor[:, part.start : part.stop] for tensor in state[:-1])
        if part.alone:  # rules are per parameter, so that one column tells them
            multiplier, decay = multiplier[:, :1], decay[:, :1]
        own = parameters[:, part.start : part.stop]
        _update(optimizer, own, part.values, [first, second, multiplier, decay], scalars)


def _update(
    optimizer: Optimizer, parameters: Tensor, gradients: Tensor, state: Sequence[Tensor], scalars: Tensor
) -> None:
    """The formulas; intermediate results are reused in place."""
    first, second, multiplier, decay = state
    rate = scalars[0] * multiplier
    if optimizer.name == "adamw":
        parameters.mul_((rate * decay).neg_().add_(1))
    else:
        gradients = gradients + decay * parameters
    if optimizer.name == "sgd":
        direction = first.mul_(optimizer.momentum).add_(gradients) if optimizer.momentum else gradients
        parameters.sub_(rate * direction)
        return
    beta1, beta2 = optimizer.betas
    first.lerp_(gradients, 1 - beta1)
    second.mul_(beta2).addcmul_(gradients, gradients, value=1 - beta2)
    denominator = second.sqrt().div_(scalars[2]).add_(optimizer.epsilon)
    parameters.sub_((first / denominator).mul_(rate.div_(scalars[1])))


def clipped(runs: Sequence[Run], trained: Tensor, limit: float) -> list[Run]:
    """Each row scaled so that the norm over its trained parameters is at most `limit`."""
    squares = [(run.values * trained[:, run.start : run.stop]).square().sum(dim=-1, keepdim=True) for run in runs]
    norm = torch.stack(squares).sum(dim=0).sqrt()
    scale = (limit / (norm + TINY)).clamp(max=1.0)
    return [replace(run, values=run.values * scale) for run in runs]
