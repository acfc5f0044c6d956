"""Structured initialisation in closed form: queries and keys from an SVD of the wanted attention map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from benchmark.initializer import Context
from benchmark.registry import initializer
from initializers.query_key_prior import QueryKeyPrior

if TYPE_CHECKING:
    import torch


@initializer("structured_svd")
class StructuredSvd(QueryKeyPrior):
    """Make P W_Qᵀ W_K Pᵀ proportional to the task's pattern at the pseudo-input P, at rank d.

    Zheng et al., arXiv 2505.19985 Algorithm 1, in the variant of
    osiriszjq/structured_initialization@7cd02f1:timm/models/vision_transformer.py: T is `open` on open entries and noise
    elsewhere; Â = P⁺ T P⁺ᵀ; U, s, Vᵀ = SVD(Â); the first d columns of U√s and V√s are the queries and keys, each scaled
    to Frobenius norm `norm`. P⁺ = (PᵀP)⁻¹Pᵀ is computed from an SVD of PᵀP cut at rank d. With N < d tokens only N
    singular values are not zero, so the cut keeps rounding noise and divides by it: `rank: released` does just that.
    `rank: numerical` keeps what is above rounding, at most d; both are the same where P has rank d or more. Queries and
    keys alone are set; the released code also starts values and output projection by the mimetic recipe, which its
    paper leaves out. Settings in print: norm 2 and noise of 1/40 of `open` (2505.19985), norm 7 and `open` 1000 (its
    code), `open` 10000 and `close` 0 (2608.00418 §5.2).
    """

    open: float = 1000.0
    """Target at an open entry, before scaling."""
    noise: float = Field(default=3.0, ge=0)
    """Factor on the noise of the other entries."""
    noise_std: float = Field(default=0.6, gt=0)
    """Standard deviation of that noise, a normal cut at ±2."""
    norm: float = Field(default=7.0, gt=0)
    """Frobenius norm of each head's queries and keys, γ."""
    rank: Literal["released", "numerical"] = "numerical"
    """Where the pseudo-inverse is cut: at d whatever is there, or at the numerical rank and d."""

    def encode(self, model: torch.nn.Module, context: Context) -> None:
        """Set `query` and `key` of every layer and head."""
        from benchmark.nn.attention import attentions
        from initializers.pseudo_input import patterns, pseudo_input

        targets = patterns(self.encoded(context.task))
        positions = pseudo_input(model, context.task, "layer_norm")
        for attention, layer in zip(attentions(model), targets, strict=True):
            inverse = pseudo_inverse(positions, attention.head_dim, exact=self.rank == "numerical")
            target = self._noisy(layer, positions.shape[1], context.generator)
            query, key = self._factors(inverse, target, attention.head_dim)
            attention.head_weight("query").copy_(query)
            attention.head_weight("key").copy_(key)

    def _noisy(self, pattern: torch.Tensor, dim: int, generator: torch.Generator) -> torch.Tensor:
        """αH on open entries, noise on the others, (H, N, N), for a model of width `dim`."""
        import torch

        noise = torch.empty_like(pattern)
        torch.nn.init.trunc_normal_(noise, std=self.noise_std, generator=generator)
        return self.open * pattern + self.noise * noise * (1 - pattern)

    def _factors(self, inverse: torch.Tensor, target: torch.Tensor, head_dim: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Queries and keys of every head, each (H, d, D), from P⁺ (D, N) and targets (H, N, N)."""
        import torch

        left, values, right = torch.linalg.svd(inverse @ target @ inverse.T)
        root = values[:, :head_dim].sqrt().unsqueeze(-1)
        query = root * left[:, :, :head_dim].transpose(1, 2)
        key = root * right[:, :head_dim]
        return self._scaled(query), self._scaled(key)

    def _scaled(self, weight: torch.Tensor) -> torch.Tensor:
        import torch

        size: torch.Tensor = torch.linalg.matrix_norm(weight, keepdim=True)
        return weight * (self.norm / size.clamp_min(1e-30))


def pseudo_inverse(positions: torch.Tensor, rank: int, *, exact: bool) -> torch.Tensor:
    """P⁺ (D, N) of P (N, D), from the largest `rank` singular values of PᵀP, or with `exact` those above rounding."""
    import torch

    left, values, right = torch.linalg.svd(positions.T @ positions)
    kept = min(rank, len(values))
    if exact:
        floor = values[0] * max(positions.shape) * torch.finfo(positions.dtype).eps
        kept = min(kept, int((values > floor).sum()))
    inverse: torch.Tensor = (right[:kept].T / values[:kept]) @ left[:, :kept].T  # (PᵀP)⁻¹, (D, D)
    return inverse @ positions.T
