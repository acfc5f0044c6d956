"""What an initialiser is: the interface the engine and third parties meet.

An initialiser is a frozen pydantic model; its fields are its parameters. It receives one plain `nn.Module`,
changes it in place and says how the parameters it owns are trained. Stacking is the engine's business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from benchmark.parameters import Parameters

if TYPE_CHECKING:
    import torch

    from benchmark.task import Patterned, Task

PriorMode = Literal["log_sigmoid", "identity", "hadamard"]
"""φ of the prior slot: softmax(QKᵀ/√d + log σ(M)), softmax(QKᵀ/√d + M), or σ(M) ∘ softmax(QKᵀ/√d)."""


@dataclass(frozen=True)
class ParameterRule:
    """How the parameters whose dotted name matches `match` (fnmatch) are trained; the last matching rule wins."""

    match: str
    trainable: bool = True
    learning_rate_multiplier: float = 1.0
    weight_decay: float | None = None
    """Overrides the task's weight decay; None keeps it."""


@dataclass(frozen=True)
class Context:
    """What an initialiser may know beside the model."""

    task: Task
    seed: int
    generator: torch.Generator
    """The initialiser's own random stream, a function of the seed alone."""


class Initializer(Parameters, ABC):
    """Subclass, add parameters as fields, implement `apply`, register with `@initializer("name")`."""

    family: ClassVar[str] = ""
    """Name under which the class is registered; set by the decorator."""
    version: ClassVar[int] = 1
    """Raised whenever the same parameters start a model differently; part of the cell's identity."""

    def unsupported(self, task: Task) -> str | None:
        """None when it can start this task's model; otherwise the reason the cell is skipped. No torch here."""
        return None

    def prior_mode(self) -> PriorMode:
        """How the prior slot enters attention. A slot left at zero is function-equal to none at all."""
        return "log_sigmoid"

    def encoded(self, task: Task) -> Patterned:
        """What the pattern is taken from that it encodes or is held against: the task, unless another one is meant."""
        return task

    def parameter_rules(self) -> tuple[ParameterRule, ...]:
        """Training rules on top of the default one, under which everything but the prior slots is trained."""
        return ()

    @abstractmethod
    def apply(self, model: torch.nn.Module, context: Context) -> None:
        """Change the freshly built model in place (called under `torch.no_grad`)."""
