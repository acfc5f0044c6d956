"""What a probe sees: a cell's model at a step, what its attention does with the probe's examples, and its gradient."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial

import torch
from torch import Tensor, nn

from benchmark.cell import Cell
from benchmark.nn.attention import Attention, attentions

CHUNK = 1024
"""Examples of one forward pass when only the outputs are asked for."""


@dataclass(frozen=True)
class Layer:
    """One attention layer on B examples; H heads, N tokens of width d. All in float64."""

    attention: Attention
    query: Tensor
    """(B, H, N, d), as it enters the product: rotated, normalised."""
    key: Tensor
    """(B, H, N, d)."""
    probabilities: Tensor
    """P (B, H, N, N), what the values are mixed with."""

    @cached_property
    def scores(self) -> Tensor:
        """S = QKᵀ/√d (B, H, N, N), without any bias; entries that are not `allowed` mean nothing."""
        return torch.matmul(self.query * self.attention.scale, self.key.transpose(-2, -1))

    @cached_property
    def bias(self) -> Tensor:
        """B (H, N, N): φ(M), log σ(M) also for a Hadamard mask, and the relative bias if there is one."""
        return self.attention.bias(self.tokens).double()

    @property
    def allowed(self) -> Tensor:
        """Bool (N, N): keys that a query may attend to at all; all of them unless attention is causal."""
        future = self.attention.future
        if future is None:
            return torch.ones(self.tokens, self.tokens, dtype=torch.bool, device=self.query.device)
        return future[: self.tokens, : self.tokens] == 0

    @property
    def tokens(self) -> int:
        """N."""
        return self.query.shape[-2]


@dataclass(frozen=True)
class Look:
    """A cell's model with the parameters of one moment, on the probe's examples."""

    cell: Cell
    template: nn.Module
    values: Mapping[str, Tensor]
    """Parameters and buffers by name."""
    inputs: Tensor
    targets: Tensor

    @cached_property
    def model(self) -> nn.Module:
        """A copy of its own, in evaluation mode; what is done to it concerns nobody else."""
        model = copy.deepcopy(self.template)
        named = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        for name, value in self.values.items():
            named[name].data.copy_(value)
        return model.to(self.inputs.device).eval()

    @cached_property
    def outputs(self) -> Tensor:
        """Of the model, (B, ...)."""
        with torch.no_grad():
            return torch.cat([self.model(part) for part in torch.split(self.inputs, CHUNK)])

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Every `benchmark.nn.attention.Attention` of the model, first layer first."""
        caught: dict[int, tuple[Tensor, Tensor, Tensor]] = {}
        found = attentions(self.model)
        with torch.no_grad():
            for attention in found:
                vars(attention)["probabilities"] = partial(_catching, attention, caught)
            try:
                self.model(self.inputs)
            finally:
                for attention in found:
                    del vars(attention)["probabilities"]
        return tuple(Layer(one, *caught[id(one)]) for one in found if id(one) in caught)

    @cached_property
    def gradient(self) -> dict[str, Tensor]:
        """Of the task's loss on these examples, by parameter, without decay; zero where nothing depends on it."""
        named = {name: parameter for name, parameter in self.model.named_parameters() if parameter.requires_grad}
        with torch.enable_grad():
            loss = self.cell.task.loss(self.model(self.inputs), self.targets)
            found = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
        return {
            name: torch.zeros_like(parameter) if made is None else made
            for (name, parameter), made in zip(named.items(), found, strict=True)
        }


def _catching(
    attention: Attention, caught: dict[int, tuple[Tensor, Tensor, Tensor]], query: Tensor, key: Tensor
) -> Tensor:
    probabilities = Attention.probabilities(attention, query, key)
    if attention.query_key is not None:
        query, key = attention.query_key(query, key)
    caught[id(attention)] = query.double(), key.double(), probabilities.double()
    return probabilities


@dataclass(frozen=True)
class Moment:
    """One step of one cell."""

    step: int
    """Optimiser steps done; 0 before the first."""
    now: Look
    start: Look
    """The same cell at step 0."""
    before: Look | None
    """One step earlier; None at step 0."""
    optimizer: Mapping[str, Mapping[str, Tensor]] = field(default_factory=dict)
    """`first` and `second`: Adam's moments by parameter (momentum of SGD in `first`)."""

    @property
    def cell(self) -> Cell:
        """The cell."""
        return self.now.cell

    def open_entries(self, *, encoded: bool = True) -> Tensor | None:
        """O, bool (L, H, N, N) over all tokens: the pattern the initialiser encodes, or the task's own.

        Closed in rows and columns of CLS tokens. None when there is no pattern.
        """
        task = self.cell.task
        source = self.cell.initializer.encoded(task) if encoded else task
        extra = task.geometry().extra_tokens
        rows = []
        for layer, seen in enumerate(self.now.layers):
            for head in range(seen.attention.heads):
                pattern = source.pattern(layer, head)
                if pattern is None:
                    return None
                whole = torch.zeros(seen.tokens, seen.tokens, dtype=torch.bool)
                whole[extra:, extra:] = pattern[: seen.tokens - extra, : seen.tokens - extra]
                rows.append(whole & seen.allowed.cpu())
        heads = self.now.layers[0].attention.heads
        return torch.stack(rows).view(-1, heads, *rows[0].shape).to(self.now.inputs.device)


def bytes_per_example(model: nn.Module) -> int:
    """About what a `Look` holds of each example."""
    return sum(a.heads * a.tokens * (2 * a.head_dim + 2 * a.tokens) * 8 for a in attentions(model))
