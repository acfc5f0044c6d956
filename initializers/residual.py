"""How residual branches start: scaled by depth, at zero, or so that every layer's output has unit deviation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pydantic import Field

from benchmark.initializer import Context, Initializer
from benchmark.registry import initializer

if TYPE_CHECKING:
    import torch
    from torch import nn


@initializer("residual")
class Residual(Initializer):
    """The last linear map of every residual branch times `gain` / √(2L) with L layers; at gain 0 every block starts as
    the identity.

    The depth scaling of GPT-2 (karpathy/nanoGPT:model.py), relative to the weights as they are drawn; zero as in
    arXiv 1901.09321 (Fixup) and the last layers of IDInit.
    """

    gain: float = Field(default=1.0, ge=0)
    """Factor beside 1/√(2L)."""

    def apply(self, model: nn.Module, context: Context) -> None:
        """Scale `proj` of attention and `contract` of the MLP in every block."""
        ends = [module for name, module in model.named_modules() if name.endswith((".proj", ".contract"))]
        factor = self.gain / math.sqrt(max(len(ends), 1))  # two branches a layer: √(2L)
        for module in ends:
            for parameter in module.parameters():
                parameter.mul_(factor)


@initializer("lsuv")
class Lsuv(Initializer):
    """Every linear map orthonormal, then divided by the deviation of its output on training examples until that is 1,
    first layer first (Mishkin and Matas, arXiv 1511.06422, algorithm 1).
    """

    examples: int = Field(default=256, gt=1)
    """Training examples of the cell's seed that outputs are measured on."""
    tolerance: float = Field(default=0.1, gt=0)
    """Largest distance of the deviation from 1."""
    attempts: int = Field(default=10, gt=0)
    """Times a map is scaled at most."""

    def apply(self, model: nn.Module, context: Context) -> None:
        """Set the weights of all `nn.Linear`, in the order they are first used."""
        import torch
        from torch import nn

        inputs = context.task.training_examples(context.seed).inputs[: self.examples]
        inputs = inputs.to(next(model.parameters()).device)
        for layer in [module for module in model.modules() if isinstance(module, nn.Linear)]:
            torch.nn.init.orthogonal_(layer.weight, generator=context.generator)
            for _ in range(self.attempts):
                deviation = output_std(model, layer, inputs)
                if deviation == 0 or abs(deviation - 1) < self.tolerance:
                    break
                layer.weight.div_(deviation)


def output_std(model: nn.Module, layer: nn.Linear, inputs: torch.Tensor) -> float:
    """Deviation of what a linear map makes of its inputs, bias left out, when the model sees these examples; 0 when it
    is not used. Queries, keys and values are used through their attention's joint product."""
    from benchmark.nn.attention import attentions

    owner = next((a for a in attentions(model) if layer in (a.query, a.key, a.value)), layer)
    found: list[torch.Tensor] = []
    hook = owner.register_forward_pre_hook(lambda _, given: found.append(given[0]))
    try:
        model(inputs)
    finally:
        hook.remove()
    return (found[0].to(layer.weight.dtype) @ layer.weight.T).std().item() if found else 0.0
