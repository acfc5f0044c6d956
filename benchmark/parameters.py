"""The pydantic base of everything that is read from a spec."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Parameters(BaseModel):
    """Frozen, unknown keys refused, NaN and infinity refused; each field documented under itself."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        validate_default=True,
        arbitrary_types_allowed=False,
    )


class Metric(Parameters):
    """One number a task reports, with everything needed to rank, bound and print it."""

    name: str
    """Column name, unique within the task, for example `accuracy`."""
    title: str
    """Heading in tables."""
    direction: Literal["max", "min", "none"]
    """Which way is better; `none` for quantities that are only described."""
    unit: Literal["percent", "nats", "perplexity", "raw"] = "raw"
    """Unit of the stored value; accuracies are stored in percent (0 to 100)."""
    lower: float | None = None
    """Smallest possible value, if there is one."""
    upper: float | None = None
    """Largest possible value, if there is one."""
    description: str = ""
    """What exactly is measured, on which examples."""
    scale: Literal["raw", "log", "logit"] | None = None
    """Scale on which differences are tested (numbers are shown raw): by the unit when absent, logit for percentages,
    log for nats and perplexities, raw otherwise. A loss without a unit is best declared `log`."""
    solved: float | None = None
    """From this value on, in the metric's direction, a cell counts as solved; tables then say on how many seeds too."""

    @property
    def tested_on(self) -> Literal["raw", "log", "logit"]:
        """The declared scale, or that of the unit."""
        return self.scale or _SCALES[self.unit]

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest possible value; those of a percentage where they are not given."""
        return 0.0 if self.lower is None else self.lower, 100.0 if self.upper is None else self.upper

    def solves(self, value: float) -> bool:
        """Whether a cell with this value counts as solved."""
        if self.solved is None:
            return False
        return value <= self.solved if self.direction == "min" else value >= self.solved


_SCALES: dict[str, Literal["raw", "log", "logit"]] = {
    "percent": "logit", "nats": "log", "perplexity": "log", "raw": "raw",
}  # fmt: skip


def _absent(value: object) -> bool:
    """Fields added later are left out of the identity of a cell while they are not used, so that ids stay."""
    return value is None or value == 0


class Budget(Parameters):
    """How long and in what portions a cell trains."""

    batch_size: int = Field(gt=0)
    """Examples per optimiser step."""
    epochs: int | None = Field(default=None, gt=0)
    """Passes over the training examples; exactly one of `epochs` and `steps` is given."""
    steps: int | None = Field(default=None, gt=0)
    """Optimiser steps."""
    evaluate_every: int | None = Field(default=None, gt=0)
    """Steps between two points of the curve; one epoch when absent."""
    micro_batch: int | None = Field(default=None, gt=0, exclude_if=_absent)
    """Examples per forward and backward pass, a divisor of `batch_size`: the gradients of a batch are accumulated.
    The whole batch at once when absent."""

    @model_validator(mode="after")
    def _has_one_length(self) -> Budget:
        if self.epochs is not None and self.steps is not None:
            raise ValueError(
                f"a budget is given in epochs or in steps; found epochs: {self.epochs} and steps: {self.steps} "
                "(one may come from the task's file: set it to null)"
            )
        if self.epochs is None and self.steps is None:
            raise ValueError("a budget needs epochs or steps; found neither")
        return self

    @model_validator(mode="after")
    def _micro_batches_fill_a_batch(self) -> Budget:
        if self.micro_batch is not None and self.batch_size % self.micro_batch:
            raise ValueError(f"micro_batch {self.micro_batch} does not divide batch_size {self.batch_size}")
        return self

    def total_steps(self, examples: int) -> int:
        """Optimiser steps for a training set of that many examples (last partial batch of an epoch kept)."""
        if self.steps is not None:
            return self.steps
        assert self.epochs is not None
        return self.epochs * self.steps_per_epoch(examples)

    def steps_per_epoch(self, examples: int) -> int:
        """Batches in one pass; the last one may be smaller on disk but is filled from the next pass."""
        return -(-examples // self.batch_size)


Coefficient = Annotated[float, Field(ge=0, lt=1)]


class Optimizer(Parameters):
    """The optimiser of one task; an initialiser may only override it for the parameters it owns."""

    name: Literal["adam", "adamw", "sgd"] = "adam"
    """`adam` couples weight decay into the gradient (L2), `adamw` decouples it."""
    learning_rate: float = Field(gt=0)
    """Peak learning rate."""
    weight_decay: float = Field(default=0.0, ge=0)
    """Decay coefficient."""
    decay_vectors: bool = True
    """Whether biases, norms and other parameters of one dimension are decayed too."""
    betas: tuple[Coefficient, Coefficient] = (0.9, 0.999)
    """Adam's moment coefficients, each at least 0 and below 1."""
    epsilon: float = Field(default=1e-8, gt=0)
    """Adam's denominator offset."""
    momentum: float = Field(default=0.0, ge=0, lt=1)
    """Momentum of SGD."""
    schedule: Literal["constant", "cosine", "linear"] = "constant"
    """Shape of the learning rate after the warm-up."""
    warmup_steps: int = Field(default=0, ge=0)
    """Steps of linear warm-up from `warmup_start` × peak."""
    warmup_start: float = Field(default=0.0, ge=0, le=1)
    """Learning rate at step 0 as a fraction of the peak."""
    final_fraction: float = Field(default=0.0, ge=0, le=1)
    """Learning rate at the last step as a fraction of the peak."""
    clip_norm: float | None = Field(default=None, gt=0)
    """Global gradient norm is clipped to this, per cell."""
    cooldown_steps: int = Field(default=0, ge=0, exclude_if=_absent)
    """Steps at the end for which the learning rate stays at `final_fraction`; the schedule ends before them."""
    schedule_over: Literal["after_warmup", "whole"] = Field(
        default="after_warmup", exclude_if=lambda value: value == "after_warmup"
    )
    """Whether the schedule starts when the warm-up ends, or counts from step 0 with the warm-up laid over its start."""
    hold_steps: int | None = Field(default=None, gt=0, exclude_if=_absent)
    """The learning rate changes only every so many steps (once an epoch, say); at every step when absent."""
    ema_decay: float | None = Field(default=None, gt=0, lt=1, exclude_if=_absent)
    """Decay of an exponential moving average of the parameters, updated at each step and evaluated beside them; its
    metrics are named `ema_…`. No average when absent."""
