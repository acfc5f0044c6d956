"""The start that changes nothing: what an initialiser is compared with, and what a task is tried with."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from benchmark.initializer import Context, Initializer, PriorMode

if TYPE_CHECKING:
    import torch


class Untouched(Initializer):
    """Leaves the model as it was built, with the prior slots in the mode of the initialiser it stands beside."""

    family: ClassVar[str] = "untouched"
    mode: PriorMode = "log_sigmoid"
    """Mode of the prior slots, which are zero and so have no effect."""

    def prior_mode(self) -> PriorMode:
        return self.mode

    def apply(self, model: torch.nn.Module, context: Context) -> None:
        return None
