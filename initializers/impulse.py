"""Impulse initialisation: structured queries and keys for images, with the rest of its published recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from benchmark.initializer import Context, ParameterRule
from benchmark.registry import initializer
from initializers.mimetic import Noise, set_value_output
from initializers.sinusoidal import Positions, position_rules, set_positions, unfit_for_sinusoids
from initializers.structured_svd import StructuredSvd

if TYPE_CHECKING:
    import torch

    from benchmark.task import Task


@initializer("impulse")
class Impulse(StructuredSvd):
    """`structured_svd` on the task's one-offset-per-head pattern, with position scale and values (arXiv 2505.19985).

    As released (osiriszjq/structured_initialization@7cd02f1:timm/models/vision_transformer.py): α = 1000 on open
    entries, 3 × a normal of standard deviation 0.6 cut at ±2 on the others, γ = 7, positions (CLS's too) multiplied by
    18, and values and output projection mimetic (0.4, 0.4, −). As written in the paper (Algorithm 1, §4): αH + βZ with
    α : β = 40 : 1, Z ~ N(0, I/D) everywhere, γ = 2, P the LayerNorm of the positions, values left alone, no scaling of
    positions. Every field is one of the differences.
    """

    noise_everywhere: bool = False
    """Noise N(0, 1/D) on every entry, as written, instead of the cut normal on closed entries, as released."""
    position_scale: float = Field(default=18.0, gt=0)
    """Factor on the position embeddings before anything is computed from them."""
    positions: Positions = "task"
    """`sinusoidal` positions replace the task's own, before the factor."""
    values: Literal["mimetic", "task"] = "mimetic"
    """Whether values and output projection are started too."""
    values_alpha: float = Field(default=0.4, ge=0)
    """Noise of their product."""
    values_beta: float = -0.4
    """Multiple of the identity in their product, with its sign."""
    values_noise: Noise = "uniform"
    """Distribution of that noise."""

    def unsupported(self, task: Task) -> str | None:
        """It needs a pattern on a grid of patches."""
        if task.geometry().grid is None:
            return "the task's tokens are not patches of an image"
        return super().unsupported(task) or unfit_for_sinusoids(self.positions, task)

    def parameter_rules(self) -> tuple[ParameterRule, ...]:
        """Fixed positions are not trained."""
        return position_rules(self.positions)

    def apply(self, model: torch.nn.Module, context: Context) -> None:
        """Set positions, queries and keys, and values where they are included."""
        from benchmark.nn.attention import attentions
        from initializers.pseudo_input import positions_of

        set_positions(model, context.task, self.positions)
        positions_of(model).mul_(self.position_scale)
        super().apply(model, context)
        if self.values == "mimetic":
            for attention in attentions(model):
                set_value_output(attention, self.values_alpha, self.values_beta, self.values_noise, context.generator)

    def _noisy(self, pattern: torch.Tensor, dim: int, generator: torch.Generator) -> torch.Tensor:
        """αH + βZ on every entry, or the released target, (H, N, N)."""
        import torch

        if not self.noise_everywhere:
            return super()._noisy(pattern, dim, generator)
        target: torch.Tensor = self.open * pattern + self.noise * dim**-0.5 * torch.randn(
            pattern.shape, generator=generator
        )
        return target
