"""Quantities of one attention layer, each (H,): a mean over B examples where attention depends on them.

B̃ is a bias without the mean of each row over the keys it may attend to (softmax does not see that mean), S̄ the mean of
the logits over the examples. The definitions are written out in docs/probes.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from benchmark.train.moment import Layer


def by_layer(layers: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Metric → (L, H) from metric → (H,) of each layer."""
    found: dict[str, list[Tensor]] = {}
    for values in layers:
        for name, value in values.items():
            found.setdefault(name, []).append(value)
    return {name: torch.stack(values) for name, values in found.items()}


def centred(values: Tensor, allowed: Tensor) -> Tensor:
    """Each row (..., N, N) without its mean over the allowed keys; zero elsewhere."""
    kept = torch.where(allowed, values, 0.0)
    return torch.where(allowed, kept - kept.sum(-1, keepdim=True) / allowed.sum(-1, keepdim=True), 0.0)


def mean_logits(layer: Layer) -> Tensor:
    """S̄̃ (H, N, N)."""
    return centred(layer.scores, layer.allowed).mean(dim=0)


def norm(values: Tensor) -> Tensor:
    """Frobenius norm of the last two dimensions."""
    return values.square().sum(dim=(-2, -1)).sqrt()


def ratio(value: Tensor, of: Tensor) -> Tensor:
    """value / of, NaN where `of` is 0."""
    return torch.where(of == 0, math.nan, value / of)


def total_variation(one: Tensor, other: Tensor) -> Tensor:
    """½ Σ_j |p_j − q_j| of the last dimension."""
    return (one - other).abs().sum(-1) / 2


def jensen_shannon(one: Tensor, other: Tensor) -> Tensor:
    """½ KL(p‖m) + ½ KL(q‖m), m = (p + q)/2, of the last dimension; in nats, at most ln 2."""
    middle = (one + other) / 2
    parts = (torch.xlogy(p, p) - torch.xlogy(p, middle) for p in (one, other))
    return sum(parts, torch.zeros_like(one)).sum(-1) / 2


def drift(now: Layer, start: Layer) -> dict[str, Tensor]:
    """How far bias, attention and mean logits are from where they started."""
    bias, first = (torch.where(now.allowed, layer.bias, 0.0) for layer in (now, start))
    flat, flat_first = centred(bias, now.allowed), centred(first, now.allowed)
    p, q = now.probabilities, start.probabilities
    return {
        "bias": norm(bias - first),
        "bias_centred": ratio(norm(flat - flat_first), norm(flat_first)),
        "attention": (norm(p - q) / norm(q)).mean(0),
        "attention_tv": total_variation(p, q).mean(dim=(0, 2)),
        "attention_js": jensen_shannon(p, q).mean(dim=(0, 2)),
        "logits": norm(mean_logits(now) - mean_logits(start)),
    }


def content(layer: Layer) -> dict[str, Tensor]:
    """What of the logits differs from example to example."""
    scores = torch.where(layer.allowed, layer.scores, 0.0)
    flat = centred(layer.scores, layer.allowed)
    own = (flat - flat.mean(0)).square().sum(dim=(0, -2, -1))
    return {
        "content": norm(scores - scores.mean(0)).mean(0),
        "content_share": ratio(own, flat.square().sum(dim=(0, -2, -1))),
    }


def kept(now: Layer, start: Layer, entries: Tensor, least_excess: float) -> dict[str, Tensor]:
    """How much of the open `entries`, bool (H, N, N), is left."""
    allowed = now.allowed
    count = entries.sum(-1).double()
    rows = (count > 0) & (count < allowed.sum(-1))  # R, (H, N)
    uniform = over(count / allowed.sum(-1), rows)
    mass, first = (over((layer.probabilities * entries).sum(-1), rows).mean(0) for layer in (now, start))
    target = entries / count.clamp_min(1).unsqueeze(-1)
    closed = rows.unsqueeze(-1) & allowed & ~entries
    opened = rows.unsqueeze(-1) & entries
    values = {"contrast": centred(now.bias, allowed), "contrast_logits": mean_logits(now)}
    return {
        "mass": mass,
        "retention": torch.where(first - uniform < least_excess, math.nan, (mass - uniform) / (first - uniform)),
        "distance": over(total_variation(now.probabilities, target), rows).mean(0),
        **{name: over(of, opened, 2) - over(of, closed, 2) for name, of in values.items()},
    }


def over(values: Tensor, chosen: Tensor, dimensions: int = 1) -> Tensor:
    """Mean over the chosen entries of the last dimensions; NaN where there are none."""
    last = tuple(range(-dimensions, 0))
    return torch.where(chosen, values, 0.0).sum(last) / chosen.sum(last)


def rms(values: Tensor) -> Tensor:
    """Root mean square of all but the first dimension."""
    return values.double().flatten(1).square().mean(1).sqrt()


def by_head(values: Tensor, heads: int) -> Tensor:
    """(H, ...) from the rows of a weight (H·d, D), or a prior slot as it is."""
    return values.reshape(heads, -1, *values.shape[1:]) if values.dim() == 2 else values


def moved(now: Layer, before: Layer) -> dict[str, Tensor]:
    """How far one step took bias, mean logits and attention."""
    flat = (centred(layer.bias, layer.allowed) for layer in (now, before))
    return {
        "bias_update": norm(next(flat) - next(flat)),
        "logit_update": norm(mean_logits(now) - mean_logits(before)),
        "attention_update": total_variation(now.probabilities, before.probabilities).mean(dim=(0, 2)),
    }
