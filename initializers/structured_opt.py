"""Structured initialisation by optimisation: queries and keys trained to give the wanted attention map."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pydantic import Field

from benchmark.initializer import Context
from benchmark.registry import initializer
from initializers.pseudo_input import PseudoInput
from initializers.query_key_prior import QueryKeyPrior

if TYPE_CHECKING:
    import torch


@initializer("structured_opt")
class StructuredOpt(QueryKeyPrior):
    """Minimise the mean square of softmax(scale · P W_Qᵀ W_K Pᵀ) − H over W_Q and W_K, before training starts.

    Zheng et al.: arXiv 2404.01139 (osiriszjq/structured_init@48b59c3:timm/models/vision_transformer.py) takes the
    LayerNorm of the positions and scale d^-1/2; arXiv 2401.12511 (osiriszjq/impulse_init@1280d73:vit.py) the positions
    as they are and a scale of 0.1. Both start from U(±1/√(dH)), use Adam at 1e-4 for 10 000 steps, and every 100 steps
    bring the norms of W_Q over D and of W_K over d back to the mean norm W_Q had at first. arXiv 2608.00418 §5.2 stops
    at 2 000 steps. H is the task's pattern with each row divided by its sum; a row that is closed everywhere stays
    zero, which softmax comes nearest to by attending uniformly. Layers are independent and are optimised in one batch.
    """

    steps: int = Field(default=2000, gt=0)
    """Optimiser steps."""
    learning_rate: float = Field(default=1e-4, gt=0)
    """Adam's learning rate."""
    renormalize_every: int = Field(default=100, gt=0)
    """Steps between two rescalings of the norms."""
    pseudo_input: PseudoInput = "layer_norm"
    """What stands for the input."""
    scale: float | None = Field(default=None, gt=0)
    """Factor on the logits while optimising; d^-1/2, as in the model, when absent."""

    def encode(self, model: torch.nn.Module, context: Context) -> None:
        """Set `query` and `key` of every layer and head."""
        from benchmark.nn.attention import attentions
        from initializers.pseudo_input import patterns, pseudo_input

        layers = attentions(model)
        targets = patterns(self.encoded(context.task)).flatten(0, 1)  # (L·H, N, N)
        targets = targets / targets.sum(dim=-1, keepdim=True).clamp_min(1)
        positions = pseudo_input(model, context.task, self.pseudo_input)
        query, key = _uniform(layers[0].heads, layers[0].head_dim, len(targets), positions.shape[1], context.generator)
        query, key = self._optimize(positions, targets, layers[0].heads, query, key)
        for index, attention in enumerate(layers):
            chosen = slice(index * attention.heads, (index + 1) * attention.heads)
            attention.head_weight("query").copy_(query[chosen].transpose(1, 2))
            attention.head_weight("key").copy_(key[chosen])

    def _optimize(
        self, positions: torch.Tensor, targets: torch.Tensor, heads: int, query: torch.Tensor, key: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """W_Q (L·H, D, d) and W_K (L·H, d, D) from where they start."""
        import torch

        head_dim = query.shape[-1]
        scale = head_dim**-0.5 if self.scale is None else self.scale
        size = _column_norm(query).view(-1, heads * head_dim).mean(dim=1).repeat_interleave(heads).view(-1, 1, 1)
        query, key = query.clone().requires_grad_(), key.clone().requires_grad_()
        optimizer = torch.optim.Adam([query, key], lr=self.learning_rate, fused=True)
        for step in range(self.steps):
            if step % self.renormalize_every == 0:
                for weight in (query, key):
                    weight.data.mul_(size / _column_norm(weight.data))
            with torch.enable_grad():
                loss = _distance(positions, query, key, targets, scale) / heads
            query.grad, key.grad = torch.autograd.grad(loss, (query, key))
            optimizer.step()
        return query.detach(), key.detach()


def _uniform(
    heads: int, head_dim: int, count: int, width: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """W_Q (count, D, d) and W_K (count, d, D) from U(±1/√(dH))."""
    import torch

    bound = math.sqrt(1 / (head_dim * heads))
    query = (2 * torch.rand(count, width, head_dim, generator=generator) - 1) * bound
    key = (2 * torch.rand(count, head_dim, width, generator=generator) - 1) * bound
    return query, key


def _column_norm(weight: torch.Tensor) -> torch.Tensor:
    """Norm over dimension 1, as the released code takes it for both matrices."""
    return weight.square().sum(dim=1, keepdim=True).sqrt()


def _distance(
    positions: torch.Tensor, query: torch.Tensor, key: torch.Tensor, targets: torch.Tensor, scale: float
) -> torch.Tensor:
    """Σ over heads of the mean square over (N, N), so that the heads and layers do not change each other's steps."""
    logits = (positions @ query) @ (key @ positions.T) * scale
    return (logits.softmax(dim=-1) - targets).square().mean(dim=(1, 2)).sum()
