"""Mimetic initialisation: weights whose products look like those of trained attention layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from benchmark.initializer import Context, Initializer, ParameterRule
from benchmark.registry import initializer
from initializers.sinusoidal import Positions, position_rules, set_positions, unfit_for_sinusoids

if TYPE_CHECKING:
    import torch

    from benchmark.nn.attention import Attention
    from benchmark.task import Task

Noise = Literal["uniform", "normal"]
"""Z of variance 1/D: uniform on ±√(3/D), or N(0, 1/D)."""


@initializer("mimetic")
class Mimetic(Initializer):
    """Trockman and Kolter (ICML 2023, arXiv 2305.09828): W_Q W_Kᵀ ≈ I and W_V W_O ≈ −I, up to noise.

    Both are A = αZ + sβI of size D × D. Queries and keys: a fresh A for each head, s = +1; A = U S Vᵀ, and the first d
    columns of U√S and V√S are W_Q and W_K, so that x W_Q W_Kᵀ xᵀ = x A_d xᵀ with A_d the best approximation of rank d.
    Values and output: one A for each layer, s = −1; W_V = U√S and W_O = √S Vᵀ over all heads. A row x is multiplied
    from the left throughout, so `x W_V W_O = x A`. Constants and Z follow
    osiriszjq/structured_initialization@7cd02f1:timm/models/vision_transformer.py (`get_ortho_like`: 0.7, 0.7 and 0.4,
    0.4, uniform). That code writes W_V and W_O untransposed into layers that multiply by the transpose, whose product
    is then (√S Vᵀ U√S)ᵀ: the same eigenvalues, another matrix. Here the product is A, as the paper has it.

    Where the heads together are narrower than D, A is approximated at their rank; where they are wider, the columns of
    W_V that are left keep their values and meet zeros in W_O. Biases stay.
    """

    qk_alpha: float = Field(default=0.7, ge=0)
    """Noise of the query-key product."""
    qk_beta: float = 0.7
    """Multiple of the identity in the query-key product."""
    vo_alpha: float = Field(default=0.4, ge=0)
    """Noise of the value-output product."""
    vo_beta: float = -0.4
    """Multiple of the identity in the value-output product, with its sign."""
    noise: Noise = "uniform"
    """Distribution of Z."""
    parts: Literal["both", "query_key", "value_output"] = "both"
    """Which products are set."""
    positions: Positions = "task"
    """`sinusoidal` positions replace the task's own; the original paper's use of them could not be verified."""

    def unsupported(self, task: Task) -> str | None:
        """It starts every task's model; sinusoids need a width that fits them."""
        return unfit_for_sinusoids(self.positions, task)

    def parameter_rules(self) -> tuple[ParameterRule, ...]:
        """Fixed positions are not trained."""
        return position_rules(self.positions)

    def apply(self, model: torch.nn.Module, context: Context) -> None:
        """Set positions, if asked, and the weights of every attention layer."""
        from benchmark.nn.attention import attentions

        set_positions(model, context.task, self.positions)
        for attention in attentions(model):
            if self.parts != "value_output":
                set_query_key(attention, self.qk_alpha, self.qk_beta, self.noise, context.generator)
            if self.parts != "query_key":
                set_value_output(attention, self.vo_alpha, self.vo_beta, self.noise, context.generator)


def near_identity(
    size: int, alpha: float, beta: float, noise: Noise, generator: torch.Generator, count: int = 1
) -> torch.Tensor:
    """αZ + βI, float64 (count, size, size)."""
    import torch

    if noise == "normal":
        drawn = torch.randn(count, size, size, generator=generator, dtype=torch.float64)
    else:
        drawn = (2 * torch.rand(count, size, size, generator=generator, dtype=torch.float64) - 1) * 3**0.5
    matrices: torch.Tensor = alpha * drawn / size**0.5 + beta * torch.eye(size, dtype=torch.float64)
    return matrices


def factors(matrices: torch.Tensor, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """L (n, D, r) and R (n, r, D) with L R the best approximation of A (n, D, D) at that rank; r is at most D."""
    import torch

    left, values, right = torch.linalg.svd(matrices)
    root = values[:, :rank].sqrt()
    return left[:, :, :rank] * root.unsqueeze(1), root.unsqueeze(2) * right[:, :rank]


def set_query_key(attention: Attention, alpha: float, beta: float, noise: Noise, generator: torch.Generator) -> None:
    """W_Q W_Kᵀ of every head."""
    query, key = attention.head_weight("query"), attention.head_weight("key")  # (H, d, D)
    heads, head_dim, dim = query.shape
    left, right = factors(near_identity(dim, alpha, beta, noise, generator, heads), head_dim)
    rank = left.shape[2]
    query[:, :rank] = left.transpose(1, 2).to(query)
    key[:, :rank] = right.to(key)
    key[:, rank:] = 0


def set_value_output(attention: Attention, alpha: float, beta: float, noise: Noise, generator: torch.Generator) -> None:
    """W_V W_O of all heads together."""
    value, output = attention.value.weight.detach(), attention.proj.weight.detach()  # (H·d, D), (D, H·d)
    left, right = factors(near_identity(value.shape[1], alpha, beta, noise, generator), value.shape[0])
    rank = left.shape[2]
    value[:rank] = left[0].T.to(value)
    output[:, :rank] = right[0].T.to(output)
    output[:, rank:] = 0
