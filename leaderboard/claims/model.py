"""A published number as data: kept as printed, with the scope that says which other numbers it may be compared with."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import Field

from benchmark.parameters import Parameters

Rounding = Literal["nearest", "double", "truncated"]
SpreadKind = Literal["sd", "se", "ci95", "minmax", "unknown"]
Direction = Literal["max", "min", "unknown"]


class Scope(Parameters):
    """What a number is a measurement of. Two numbers may only be compared where every field that is given agrees."""

    task: str | None = None
    """Task or data set, for example `ImageNet100`."""
    metric: str | None = None
    """Metric as the source names it, for example `top-1`."""
    method: str | None = None
    """Row of the table: the initialiser, method or system."""
    split: str | None = None
    model: str | None = None
    budget: str | None = None
    """Training budget, for example `300 epochs`."""
    subset: str | None = None
    aggregation: str | None = None
    """`mean`, `best`, `single run`, `ensemble` ..."""


class Where(Parameters):
    """Place in the source."""

    table: str
    row: str = ""
    column: str = ""

    def __str__(self) -> str:
        return ", ".join(part for part in (self.table, self.row, self.column) if part)


class Spread(Parameters):
    """The number after ±."""

    printed: str
    kind: SpreadKind = "unknown"
    ddof: int | None = None


class Delta(Parameters):
    """A printed difference such as (+2.44), and what it is a difference to."""

    printed: str
    baseline: str | None = None
    """Method of the baseline row; None when the source does not say."""
    relative: bool = False
    """Whether it is a percentage of the baseline instead of a difference in points."""


class Acknowledgement(Parameters):
    """A finding somebody has looked at; it expires when the printed number changes."""

    check: str
    reason: str
    printed: str
    """The number as it was when the finding was acknowledged."""


class Claim(Parameters):
    """One published number."""

    printed: str
    """Exactly as printed, `85.90` and not `85.9`; empty when the source leaves the cell blank."""
    scope: Scope = Scope()
    where: Where
    unit: Literal["percent", "fraction", "raw", "nats", "perplexity"] = "raw"
    rounding: Rounding = "nearest"
    direction: Direction = "unknown"
    n: int | None = Field(default=None, gt=0)
    """Number of runs (seeds) behind it."""
    items: int | None = Field(default=None, gt=0)
    """Number of evaluated items, N."""
    spread: Spread | None = None
    delta: Delta | None = None
    bold: bool = False
    underline: bool = False
    role: str | None = None
    """What the number is in a relation: `precision`, `recall`, `f1`, `average`, `error`, `loss`, `top5` ..."""
    group: str | None = None
    """Numbers with the same group and different roles belong to one relation."""
    ack: tuple[Acknowledgement, ...] = ()

    @property
    def value(self) -> Decimal:
        """The printed number, exactly."""
        return Decimal(self.printed)

    @property
    def decimals(self) -> int:
        """Digits after the decimal point as printed."""
        return len(self.printed.partition(".")[2])
