"""What a task family is: the interface the engine, the initialisers and third parties meet.

A family is a frozen pydantic model whose fields are the resolved parameters of one profile; registering it
makes the YAML files that name it runnable. Nothing here imports torch, so that planning stays fast: a family
imports torch inside its methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

from pydantic import model_validator

from benchmark.parameters import Budget, Metric, Optimizer, Parameters

if TYPE_CHECKING:
    import torch

    from benchmark.initializer import ParameterRule
    from benchmark.records import CurvePoint


@dataclass(frozen=True)
class Geometry:
    """Shape of the model's attention, as priors see it."""

    layers: int
    heads: int
    tokens: int
    """Positions that carry the input, N; a CLS token is not counted."""
    extra_tokens: int = 0
    """Tokens put before the input (1 for CLS); the prior slot covers all of them."""
    dim: int = 0
    """Model width D."""
    head_dim: int = 0
    """Width of one head, d."""
    grid: tuple[int, int] | None = None
    """Rows and columns of the patches when the tokens are an image."""
    causal: bool = False
    """Whether position i may only attend to positions ≤ i."""
    classes: int | None = None
    """Number of classes when the output is a classification."""


@dataclass(frozen=True)
class Examples:
    """Inputs and targets with a common first axis."""

    inputs: torch.Tensor  # (n, ...)
    targets: torch.Tensor  # (n, ...)

    def __len__(self) -> int:
        return int(self.inputs.shape[0])


@dataclass(frozen=True)
class Array:
    """Shape and type of a tensor."""

    shape: tuple[int, ...]
    dtype: str
    """Name of the torch type, for example `float32`."""


@dataclass(frozen=True)
class Workload:
    """What a cell trains on and scores, as far as its cost goes."""

    training: int
    """Training examples."""
    curve: int
    """Examples scored at each point of the curve."""
    final: int
    """Examples scored at the end."""
    trained: tuple[Array, Array]
    """Input and target of one example as it is trained on, augmented."""
    scored: tuple[Array, Array]
    """Input and target of one example as it is stored and scored."""
    precision: str = "float32"
    """`bfloat16` when matrix products run in it."""
    missing: Mapping[str, int | None] = field(default_factory=dict)
    """Data sets that are not there → bytes of their files, None when not known."""
    assumptions: tuple[str, ...] = ()
    """What of this is guessed because data is missing."""


class Patterned(Protocol):
    """What of a task an encoded pattern needs."""

    def pattern(self, layer: int, head: int) -> torch.Tensor | None: ...
    def geometry(self) -> Geometry: ...


class Task(Parameters, ABC):
    """One task at one profile. Subclass, add fields, implement the abstract methods, register with `@task`."""

    family: ClassVar[str] = ""
    """Name under which the class is registered; set by the decorator."""
    version: ClassVar[int] = 1
    """Raised whenever the numbers a cell produces change meaning; part of the cell's identity."""

    optimizer: Optimizer
    """Optimiser and its schedule."""
    budget: Budget
    """Length of training."""

    @model_validator(mode="after")
    def _schedule_fits_the_budget(self) -> Task:
        steps = self._steps()
        needed = self.optimizer.warmup_steps + self.optimizer.cooldown_steps
        if steps is not None and needed > steps:
            raise ValueError(
                f"warmup_steps and cooldown_steps take {needed} steps, but training has {steps}: the learning rate "
                "would never reach its peak"
            )
        return self

    def _steps(self) -> int | None:
        """Steps of training; None where the size of the training set cannot be told (yet)."""
        if self.budget.steps is not None:
            return self.budget.steps
        try:
            return self.budget.total_steps(self.training_size())
        except Exception:  # a family's own checks, which come later, say what is wrong
            return None

    # --- facts, no torch -------------------------------------------------------------------------------------

    @abstractmethod
    def metrics(self) -> tuple[Metric, ...]:
        """Every metric this task reports at the end; the first one is the primary one."""

    @abstractmethod
    def geometry(self) -> Geometry:
        """Shape of the attention of the model this task trains."""

    def has_pattern(self) -> bool:
        """Whether the task knows an interaction pattern (`pattern` returns one)."""
        return False

    def missing_data(self) -> str | None:
        """None when everything needed is here; otherwise what is missing and the command that gets it."""
        return None

    def data_digests(self) -> Mapping[str, str]:
        """Data sets that are here → a digest of their content; kept with a cell, so that other data is noticed.

        Asked when a cell is planned and before it is trained: it must be quick, and read no data.
        """
        return {}

    def workload(self) -> Workload | None:
        """Sizes from which the cost of a cell is counted, without loading data; None: taken from the examples."""
        return None

    def training_size(self) -> int:
        """Number of training examples (the same for every seed)."""
        raise NotImplementedError

    def training_key(self, seed: int) -> Hashable:
        """Seeds with equal keys share one training and evaluation set; by default each seed has its own.

        A family whose examples do not depend on the seed says so by returning None for all: they are then kept once
        for a whole stack. The engine holds every cell's first batch against its own `training_examples(seed)`.
        """
        return seed

    def parameter_rules(self) -> tuple[ParameterRule, ...]:
        """Training rules of the task's own model; those of the initialiser come after them and win."""
        return ()

    def references(self) -> Mapping[str, Mapping[str, float]]:
        """Rows computed exactly, not trained: name → metric → value (chance, the minimum-degree interpolator ...)."""
        return {}

    # --- tensors ---------------------------------------------------------------------------------------------

    def pattern(self, layer: int, head: int) -> torch.Tensor | None:
        """The interaction graph, bool (N, N), True = query i may attend to key j; None when there is none."""
        return None

    @abstractmethod
    def build_model(self) -> torch.nn.Module:
        """A freshly initialised model, drawn from torch's global generator (the engine seeds it)."""

    @abstractmethod
    def training_examples(self, seed: int) -> Examples:
        """Everything that is trained on; the engine shuffles it anew each epoch with the cell's seed.

        Asked more than once for a seed, it gives the same. torch's, numpy's and Python's global generators start from
        the cell's stream before each call (as they do before `build_model` and an initialiser's `apply`).
        """

    def augment(
        self, inputs: torch.Tensor, targets: torch.Tensor, generator: torch.Generator
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Random transformation of one cell's batch (B, ...), by default none; drawn from `generator` alone.

        Tensors are on the device of training; `generator` is the cell's own, on the CPU whatever the device.
        """
        return inputs, targets

    def augments(self) -> bool:
        """Whether `augment` does anything, by default when it is overridden."""
        return type(self).augment is not Task.augment

    @abstractmethod
    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Mean training loss of a batch, a scalar; must work under `torch.func.vmap`."""

    @abstractmethod
    def evaluation_examples(self, seed: int, *, final: bool) -> Examples:
        """Examples scored at each point of the curve (`final=False`) and once at the end (`final=True`)."""

    @abstractmethod
    def observe(self, outputs: torch.Tensor, targets: torch.Tensor) -> dict[str, torch.Tensor]:
        """What is kept of each evaluated example: tensors with first axis B, small; works under vmap."""

    @abstractmethod
    def summarize(self, observed: Mapping[str, torch.Tensor], examples: Examples, *, final: bool) -> dict[str, float]:
        """Metrics from the observations of all evaluation examples, full precision.

        Anything numeric is taken as a float. With `final` (and `summarize_curve`) exactly those of `metrics`;
        else some of them, of a sample of n examples as `name@n`. Both are asked before training, so that what is no
        number fails then.
        """

    def summarize_curve(self, curve: Sequence[CurvePoint]) -> dict[str, float]:
        """Metrics that the curve gives once it is complete, the best value of another one for example."""
        return {}
