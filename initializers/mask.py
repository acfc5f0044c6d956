"""Structural priors as a mask: the prior slot starts at the task's interaction pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from benchmark.identity import stream
from benchmark.initializer import Context, ParameterRule, PriorMode
from benchmark.registry import initializer
from initializers.pattern import EncodesPattern

if TYPE_CHECKING:
    import torch

    from benchmark.task import Patterned, Task


@initializer("mask")
class Mask(EncodesPattern):
    """M = `open` where the task's pattern lets query i attend to key j, `close` elsewhere; logits get φ(M).

    arXiv 2608.00418 §4.1 with φ = log σ; ±10 on the Boolean tasks (Table 7), ±5 in arithmetic (Table 8). The contrast
    that reaches the logits is log σ(c) − log σ(−c) = c, not 2c. A row that is closed everywhere is neutral, because
    softmax does not see a constant. Which layers have the pattern, what happens to a CLS token and whether M is decayed
    are not stated there, so they are fields. `open` = `close` is the all-zero ablation of Table 4.
    """

    open: float = 10.0
    """M at an open entry, c_open."""
    close: float = -10.0
    """M at a closed entry, c_close."""
    mode: PriorMode = "log_sigmoid"
    """How M enters attention."""
    trainable: bool = True
    """Whether M is trained with the rest."""
    learning_rate_multiplier: float = Field(default=1.0, ge=0)
    """Learning rate of M relative to the task's."""
    weight_decay: float | None = Field(default=None, ge=0)
    """Decay of M; the task's own when absent."""
    layers: tuple[int, ...] | None = None
    """Layers whose slots start at the pattern; the others start neutral. All when absent."""
    heads: tuple[int, ...] | None = None
    """Heads whose slots start at the pattern; the others start neutral. All when absent."""
    cls_row: bool = True
    """Whether a CLS token may attend to every token."""
    cls_column: bool = True
    """Whether tokens with a row of their own may attend to a CLS token."""

    @field_validator("mode")
    @classmethod
    def _check_mode(cls, mode: PriorMode) -> PriorMode:
        if mode == "hadamard":
            raise ValueError("to multiply attention by the mask use the initialiser family hadamard, which opens "
                             "the rows that have no pattern")  # fmt: skip
        return mode

    def unsupported(self, task: Task) -> str | None:
        """A constant mask fits every task; any other needs a pattern."""
        return None if self.open == self.close else super().unsupported(task)

    def prior_mode(self) -> PriorMode:
        """As given by `mode`."""
        return self.mode

    def parameter_rules(self) -> tuple[ParameterRule, ...]:
        """One rule for every prior slot."""
        return (
            ParameterRule(
                match="*.prior",
                trainable=self.trainable,
                learning_rate_multiplier=self.learning_rate_multiplier,
                weight_decay=self.weight_decay,
            ),
        )

    def apply(self, model: torch.nn.Module, context: Context) -> None:
        """Fill every prior slot (H, N, N)."""
        import torch

        from benchmark.nn.attention import attentions

        task = context.task if self.open == self.close else self.encoded(context.task)
        for layer, attention in enumerate(attentions(model)):
            for head in range(attention.heads):
                allowed = self._allowed(task, layer, head, attention.tokens)
                attention.prior[head] = torch.where(allowed.to(attention.prior.device), self.open, self.close)
            if self.mistakes and self.mistakes.normal:
                generator = torch.Generator().manual_seed(stream(self.mistakes.seed, f"normal:{layer}"))
                noise = torch.randn(attention.prior.shape, generator=generator)
                attention.prior.add_(self.mistakes.normal * noise.to(attention.prior.device))

    def _allowed(self, task: Patterned, layer: int, head: int, total: int) -> torch.Tensor:
        """Open entries over all tokens, bool (N, N) with CLS tokens first; all False means neutral."""
        import torch

        allowed = torch.zeros(total, total, dtype=torch.bool)
        pattern = task.pattern(layer, head) if self._has_pattern(layer, head) else None
        if pattern is None or not pattern.any():
            return allowed
        extra = task.geometry().extra_tokens
        allowed[extra:, extra:] = pattern
        allowed[extra:, :extra] = self.cls_column & pattern.any(dim=1, keepdim=True)
        allowed[:extra] = self.cls_row
        return allowed

    def _has_pattern(self, layer: int, head: int) -> bool:
        wanted_layer = self.layers is None or layer in self.layers
        return wanted_layer and (self.heads is None or head in self.heads)
