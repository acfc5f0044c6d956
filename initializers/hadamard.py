"""The Hadamard mask: attention is multiplied by σ(M) after the softmax, instead of adding log σ(M) before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import field_validator

from benchmark.initializer import Context, PriorMode
from benchmark.registry import initializer
from initializers.mask import Mask

if TYPE_CHECKING:
    import torch

    from benchmark.task import Patterned


@initializer("hadamard")
class Hadamard(Mask):
    """σ(M) ∘ softmax(QKᵀ/√d), M starting at the task's pattern: the alternative of arXiv 2608.00418 Proposition 1.

    Its Frobenius norm has no lower bound but 0, where any softmax has 1, since a row of N shares summing to 1 has norm
    1/√N or more. Divided by its row sums it is the additive mask exactly: σ(M_ij) e^{S_ij} / Σ_k σ(M_ik) e^{S_ik} is
    softmax(S + log σ(M)). Without that, a closed row does not attend at all instead of being neutral, so rows, heads
    and layers the pattern says nothing about are open here.
    """

    mode: Literal["hadamard"] = "hadamard"
    """How M enters attention; there is no other way for this initialiser."""
    renormalize: bool = False
    """Whether the rows are divided by their sums."""

    @field_validator("mode")
    @classmethod
    def _check_mode(cls, mode: PriorMode) -> PriorMode:
        return mode

    def apply(self, model: torch.nn.Module, context: Context) -> None:
        """Fill every prior slot (H, N, N), and set whether attention is renormalised."""
        from benchmark.nn.attention import attentions

        super().apply(model, context)
        for attention in attentions(model):
            attention.renormalize = self.renormalize

    def _allowed(self, task: Patterned, layer: int, head: int, total: int) -> torch.Tensor:
        allowed = super()._allowed(task, layer, head, total)
        return allowed | ~allowed.any(dim=1, keepdim=True)
