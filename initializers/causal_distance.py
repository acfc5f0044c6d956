"""The language mask: the prior slot of a causal model starts at the negative distance to each earlier token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from benchmark.initializer import Context, Initializer, ParameterRule
from benchmark.registry import initializer

if TYPE_CHECKING:
    import torch

    from benchmark.task import Task


@initializer("causal_distance")
class CausalDistance(Initializer):
    """Logits get log σ(s·M) with M_ij = −max(i − j, 0), s = 10 (arXiv 2608.00418 App. F); M is trained.

    The slot holds P = s·M, which gives the same function. A gradient step on M moves P by s times what the same step on
    P would: Adam's steps do not depend on the size of gradients, so M trained at rate η is P trained at s·η, and its
    decoupled decay λ is λ / s there. Hence the multiplier's default; the decay is for the spec to set. Under plain SGD
    the multiplier would have to be s². The token itself has log σ(0) = −0.69 and the one before it log σ(−s) = −10.0,
    so a row starts at the token itself alone, up to e^−9.3.
    """

    scale: float = Field(default=10.0, gt=0)
    """Factor s on the distances."""
    trainable: bool = True
    """Whether the slot is trained with the rest."""
    learning_rate_multiplier: float | None = Field(default=None, ge=0)
    """Learning rate of the slot relative to the task's; `scale` when absent."""
    weight_decay: float | None = Field(default=None, ge=0)
    """Decay of the slot; the task's own when absent."""

    def unsupported(self, task: Task) -> str | None:
        """It needs causal attention."""
        return None if task.geometry().causal else "the task's attention is not causal"

    def parameter_rules(self) -> tuple[ParameterRule, ...]:
        """One rule for every prior slot."""
        multiplier = self.scale if self.learning_rate_multiplier is None else self.learning_rate_multiplier
        return (
            ParameterRule(
                match="*.prior",
                trainable=self.trainable,
                learning_rate_multiplier=multiplier,
                weight_decay=self.weight_decay,
            ),
        )

    def apply(self, model: torch.nn.Module, context: Context) -> None:
        """Fill every prior slot (H, N, N), all heads alike."""
        import torch

        from benchmark.nn.attention import attentions

        for attention in attentions(model):
            position = torch.arange(attention.tokens, device=attention.prior.device)
            distance = (position[:, None] - position).clamp_min(0)
            attention.prior.copy_(-self.scale * distance)
