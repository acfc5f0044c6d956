"""What initialisers share that write into queries and keys: norms that bound them, and matching with a mask."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from benchmark.initializer import Context
from initializers.mask import Mask
from initializers.pattern import EncodesPattern, _absent
from initializers.pseudo_input import patterns

if TYPE_CHECKING:
    import torch
    from torch import nn

    from benchmark.nn.attention import Attention

Bound = Literal["l2", "layer_norm", "frobenius"]
"""Queries and keys of unit length times a learned scale per head (arXiv 2010.04245); a LayerNorm each; the Frobenius
norm of every head's W_Q and W_K kept at where it starts."""

EXAMPLES = 512
"""Training examples of the cell's seed on which attention is matched."""
TOLERANCE = 1e-3
"""Largest distance between two masses that are called equal."""
FACTORS = [0.0, *(2.0**k for k in range(-20, 21))]
"""Factors on the logits between which the one that matches is looked for."""


class QueryKeyPrior(EncodesPattern):
    """An initialiser that encodes its pattern in queries and keys. Subclass and implement `encode`."""

    bound: Bound | None = Field(default=None, exclude_if=_absent)
    """What holds the norms of queries and keys while training, the caps of arXiv 2608.00418 Corollary 1; nothing when
    absent."""
    matches: float | None = Field(default=None, gt=0, exclude_if=_absent)
    """Contrast c of the mask (±c through log σ) whose attention is matched: the logits of each layer are scaled so that
    its keys in the pattern get, on training examples, the same mean attention as under that mask; as written when
    absent. With `bound: l2` and without this the learned scale starts at 10."""

    def apply(self, model: nn.Module, context: Context) -> None:
        """Encode, bound and match.

        Raises:
            ValueError: no factor on the logits gives the mask's attention; with the nearest that there is.
        """
        from benchmark.nn.attention import attentions

        masked = copy.deepcopy(model)
        self.encode(model, context)
        if self.bound:
            for attention in attentions(model):
                bind(attention, self.bound)
        if self.matches is None:
            return
        mask = Mask(open=self.matches, close=-self.matches, pattern=self.pattern, mistakes=self.mistakes)
        mask.apply(masked, context)
        inputs = context.task.training_examples(context.seed).inputs[:EXAMPLES]
        layers = zip(attentions(model), attentions(masked), patterns(self.encoded(context.task)), strict=True)
        for index, (attention, wanted, pattern) in enumerate(layers):
            if informative(pattern).any():
                target = mass(Seen.of(wanted, masked, inputs).weights(), pattern)
                match(Seen.of(attention, model, inputs), target, pattern, f"layer {index}")

    @abstractmethod
    def encode(self, model: nn.Module, context: Context) -> None:
        """Set `query` and `key` of every layer and head."""


def bind(attention: Attention, kind: Bound, scale: float = 10.0) -> None:
    """Bound the queries and keys of a layer; `scale`: that of `l2` at first."""
    from benchmark.nn.positions import FixedNorm, LayerNorms, UnitNorm

    if kind == "frobenius":
        attention.query = FixedNorm(attention.query, attention.heads)
        attention.key = FixedNorm(attention.key, attention.heads)
    elif kind == "layer_norm":
        attention.query_key = LayerNorms(attention.head_dim)
    else:
        attention.query_key, attention.scale = UnitNorm(attention.heads, scale), 1.0


def multiply_logits(attention: Attention, factor: float) -> None:
    """Make the products of queries and keys `factor` times what they are, through what is trained of them."""
    from benchmark.nn.positions import LayerNorms, UnitNorm

    if isinstance(attention.query_key, UnitNorm):
        attention.query_key.gain.mul_(factor)
        return
    norms = attention.query_key if isinstance(attention.query_key, LayerNorms) else attention
    for part in (norms.query, norms.key):
        for tensor in (*part.parameters(), *part.buffers()):
            tensor.mul_(math.sqrt(factor))


@dataclass(frozen=True)
class Seen:
    """A layer with the queries and keys (B, H, N, d) that it makes of some inputs."""

    attention: Attention
    query: torch.Tensor
    key: torch.Tensor

    @classmethod
    def of(cls, attention: Attention, model: nn.Module, inputs: torch.Tensor) -> Seen:
        """When the model sees these inputs."""
        given: list[torch.Tensor] = []
        hook = attention.register_forward_pre_hook(lambda _, arguments: given.append(arguments[0]))
        try:
            model(inputs)
        finally:
            hook.remove()
        query, key, _ = attention.split_heads(given[0])
        return cls(attention, query, key)

    def weights(self, factor: float = 1.0) -> torch.Tensor:
        """Attention weights (B, H, N, N) with the products of queries and keys times `factor`."""
        scale = self.attention.scale
        self.attention.scale = scale * factor
        found = self.attention.probabilities(self.query, self.key)
        self.attention.scale = scale
        return found


def match(seen: Seen, target: float, pattern: torch.Tensor, place: str) -> None:
    """Scale the logits of a layer until its mass on a pattern (H, N, N) is the target.

    Raises:
        ValueError: it is out of reach.
    """
    factor, reached = solve(lambda factor: mass(seen.weights(factor), pattern), target)
    if not abs(reached - target) <= TOLERANCE:
        raise ValueError(
            f"{place}: the mask puts {target:.4f} of the attention on the pattern's keys, these queries and keys "
            f"{reached:.4f} at the nearest, whatever their norm; ask for another contrast (`matches`)"
        )
    multiply_logits(seen.attention, factor)


def solve(mass_at: Callable[[float], float], target: float) -> tuple[float, float]:
    """A factor with this mass, by bisection below the first of `FACTORS` that reaches it, and its mass; the nearest of
    them where none does."""
    tried: list[tuple[float, float]] = []
    for factor in FACTORS:
        tried.append((factor, mass_at(factor)))
        if tried[-1][1] >= target:
            break
    if len(tried) == 1 or not tried[-1][1] >= target:
        return min(tried, key=lambda pair: abs(pair[1] - target))
    low, high = tried[-2][0], tried[-1][0]
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if mass_at(middle) >= target else (middle, high)
    return high, mass_at(high)


def informative(pattern: torch.Tensor) -> torch.Tensor:
    """Rows that are neither open nor closed everywhere, bool (H, N)."""
    count = pattern.sum(dim=-1)
    return (count > 0) & (count < pattern.shape[-1])


def mass(weights: torch.Tensor, pattern: torch.Tensor) -> float:
    """Share of the attention (B, H, N, N) on the open keys of a pattern (H, N, N), mean over inputs and informative
    rows; CLS tokens come before those of the pattern."""
    extra = weights.shape[-1] - pattern.shape[-1]
    on_open = (weights[..., extra:, extra:] * pattern).sum(dim=-1).mean(dim=0)
    return float(on_open[informative(pattern)].mean())


def divergence(wanted: torch.Tensor, found: torch.Tensor) -> float:
    """What matching leaves: KL of the mask's attention from the matched one, in nats, mean over inputs, heads, rows."""
    floor = 1e-30
    return float((wanted * (wanted.clamp_min(floor) / found.clamp_min(floor)).log()).sum(dim=-1).mean())
