"""What a probe is: a measurement of the model while it trains, which changes none of a cell's numbers.

A probe is a frozen pydantic model; its fields are its parameters. It sees private copies of one plain model on a fixed
batch of examples. Stacking, steps, storing and means over layers and heads are the engine's business.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from benchmark.identity import canonical_json, parameters_of
from benchmark.parameters import Metric, Parameters

if TYPE_CHECKING:
    import torch

    from benchmark.records import ProbePoint
    from benchmark.task import Task
    from benchmark.train.moment import Moment


class Probe(Parameters, ABC):
    """Subclass, add parameters as fields, implement `metrics` and `measure`, register with `@probe("name")`."""

    family: ClassVar[str] = ""
    """Name under which the class is registered; set by the decorator."""
    version: ClassVar[int] = 1
    """Raised whenever the same parameters measure something else; cells are then recorded again."""
    looks_inside: ClassVar[bool] = True
    """Whether it looks at attention or gradients, which bounds the examples of a large model; False: outputs alone."""

    steps: tuple[Annotated[int, Field(ge=0)], ...] = (0, 1, 2, 5, 10, 20, 50, 100)
    """Optimiser steps after which it measures; 0 is the start."""
    every_point: bool = True
    """Whether it measures at every point of the curve as well (each epoch, or `evaluate_every`)."""
    examples: int = Field(default=512, gt=0)
    """Examples it looks at: the same ones at every step, drawn once from those the curve is measured on."""
    array_bytes: int = Field(default=1 << 20, ge=0)
    """Heat maps of a cell that take more than this are left out, which is said in the recording."""

    def unsupported(self, task: Task) -> str | None:
        """None when it can measure on this task; otherwise the reason why it does not. No torch here."""
        return None

    @abstractmethod
    def metrics(self, task: Task) -> tuple[Metric, ...]:
        """Everything `measure` and `conclude` return, each with direction `none`. No torch here."""

    @abstractmethod
    def measure(self, moment: Moment) -> Mapping[str, torch.Tensor]:
        """Metric → value (), or values by layer (L,) or by layer and head (L, H); NaN where it is not defined.

        Called under `torch.no_grad`. Means over layers and heads are made by the engine, of what is defined.
        """

    def arrays(self, moment: Moment) -> Mapping[str, Sequence[torch.Tensor]]:
        """Heat maps at the start and at the end of training: name → one tensor a layer."""
        return {}

    def conclude(self, points: Sequence[ProbePoint]) -> Iterable[ProbePoint]:
        """Points that only the whole of its recording gives, once training has ended."""
        return ()

    def described(self) -> dict[str, Any]:
        """What a recording of it is the recording of."""
        return {"family": self.family, "version": self.version, "parameters": parameters_of(self)}

    @property
    def key(self) -> str:
        """Names its recordings: equal for equal parameters."""
        return hashlib.sha256(canonical_json(self.described()).encode()).hexdigest()[:16]

    def due(self, total_steps: int, every: int) -> frozenset[int]:
        """The steps of a training of `total_steps` at which it measures."""
        points = {*range(0, total_steps, every), total_steps} if self.every_point else set()
        return frozenset(points | {step for step in self.steps if step <= total_steps})
