"""A published number as data: kept as printed, with the scope that says which other numbers it may be compared with."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Literal

from pydantic import Field

from benchmark.parameters import Parameters

Rounding = Literal["nearest", "double", "truncated"]
SpreadKind = Literal["sd", "se", "ci95", "minmax", "unknown"]
Direction = Literal["max", "min", "unknown"]
Rule = Literal["previous", "first", "best", "underlined", "corresponding"]


class Record(Parameters, use_attribute_docstrings=False, defer_build=True):
    """A frozen part of a claim; no schema shows its fields, and to collect their texts would slow every start."""


class Scope(Record):
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
    setting: str | None = None
    """Conditions that no other field says, separated by semicolons: `5 shot`, `20 % label noise`, `pgd 20`."""
    aggregation: str | None = None
    """`mean`, `best`, `single run`, `ensemble` ..."""


class Where(Record):
    """Place in the source."""

    table: str
    row: str = ""
    column: str = ""
    line: int | None = Field(default=None, gt=0)
    """Line of the claims file or of the imported source, from 1."""

    def __str__(self) -> str:
        return ", ".join(part for part in (self.table, self.row, self.column) if part)


class Spread(Record):
    """The number after ±."""

    printed: str
    kind: SpreadKind = "unknown"
    ddof: int | None = None


class Delta(Record):
    """A printed difference such as (+2.44), and what it is a difference to."""

    printed: str
    baseline: str | None = None
    """Method of the baseline row; None when the source does not say."""
    task: str | None = None
    """Task of the baseline where it is another than the number's own, as in "difference to ImageNet"."""
    to: Rule | None = None
    """How the source chooses the baseline of each number where it is no one row: the row before, the first one, the
    best competitor, the underlined one, the corresponding baseline (the one of the same group)."""
    relative: bool = False
    """Whether it is a percentage of the baseline instead of a difference in points."""
    inferred: bool = False
    """Whether the baseline was found by the numbers that it explains, and the source does not name it."""

    @property
    def is_unnamed(self) -> bool:
        """Whether the source does not say which row the difference is to."""
        return self.inferred or (self.baseline is None and self.task is None)


class Acknowledgement(Record):
    """A finding somebody has looked at; it expires when one of its numbers changes."""

    check: str
    reason: str
    printed: str
    """The number as it was when the finding was acknowledged (for a finding about several numbers: its fingerprint)."""


class Claim(Record):
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
    interval: tuple[str, str] | None = None
    """Lower and upper end of a range printed for it, as printed."""
    power: int = 0
    """Power of ten that it is told in: −2 where the heading says ×10⁻²."""
    values: tuple[str, ...] = ()
    """The single runs as printed, where the source lists them."""
    weight: str | None = None
    """Weight of the number in the average of its group, as printed; `items` is used when absent."""
    delta: Delta | None = None
    deltas: tuple[Delta, ...] = ()
    """Further differences of the same number: the relative one, or those to other baselines."""
    artefact: str | None = None
    """What was evaluated, where the source names it: URL or hash of a checkpoint."""
    bold: bool | None = None
    """None: typography unknown."""
    underline: bool | None = None
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

    @property
    def differences(self) -> tuple[Delta, ...]:
        """Every difference printed for the number."""
        return self.deltas if self.delta is None else (self.delta, *self.deltas)


class TextClaim(Record):
    """A sentence that says something about the numbers."""

    text: str
    """The words, as short as they can be quoted."""
    where: str = ""
    kind: Literal["improves", "consistent", "best"] = "improves"
    """`improves`: better on the tasks named; `consistent`: better on every one; `best`: better than every other row."""
    method: str
    baseline: str | None = None
    """None: every other method of the same column."""
    metric: str | None = None
    tasks: tuple[str, ...] = ()
    """Empty: every task the method has a number for."""
    by: str = ""
    """The difference it states, as printed; empty when it states none."""
    by_unit: Literal["", "points", "percent", "relative"] = ""
    """`percent`: the source writes %, which may be points or relative; empty: a bare number."""
    read: bool = False
    """Whether it was read from running text: then only what is printed is held against it, not what is beyond noise."""
    tables: tuple[str, ...] = ()
    """Tables it speaks of; empty: all."""
    line: int | None = Field(default=None, gt=0)
    splits: tuple[str, ...] = ()
    every_metric: bool = False
    """Whether it says "on all metrics"."""


class Alias(Scope):
    """What the source prints for a thing: the fields of its scope, and the table where the name holds in one only."""

    table: str | None = None

    def names(self, claim: Claim) -> bool:
        """Whether a number is of the thing."""
        fields = self.model_dump(exclude_none=True, exclude={"table"})
        here = all(getattr(claim.scope, key) == value for key, value in fields.items())
        return here and self.table in (None, claim.where.table)


class Aliases(Record):
    """What the harness calls a thing → what the source prints: a name, or several fields of its scope."""

    tasks: Mapping[str, str | Alias] = {}
    initializers: Mapping[str, str | Alias] = {}
    metrics: Mapping[str, str | Alias] = {}


class Settings(Record):
    """Training settings a source states for some of its tasks; an absent key was not stated."""

    where: str
    tasks: tuple[str, ...] = ()
    stated: Mapping[str, str] = {}
    """Name of the setting → value as printed: `epochs`, `learning rate`, `seed` ..."""


class ClaimSet(Record):
    """All numbers and statements taken from one source."""

    id: str
    path: str = ""
    """File they were read from; empty for claims made in memory."""
    title: str = ""
    source: str = ""
    """Where the numbers were published: arXiv id, DOI, URL, or repository@commit:path."""
    claims: tuple[Claim, ...] = ()
    text_claims: tuple[TextClaim, ...] = ()
    settings: tuple[Settings, ...] = ()
    aliases: Aliases = Aliases()
    ack: tuple[Acknowledgement, ...] = ()
    """Acknowledged findings that concern many numbers at once."""
    unread: tuple[str, ...] = ()
    """What an importer could not turn into a claim: place, text and reason."""
    notes: tuple[str, ...] = ()
    """How an importer took what the source leaves open: columns left out, files not followed, macros not defined."""
    captions: Mapping[str, str] = {}
    """Table → its caption, as far as an importer read it."""

    def find(
        self, *, task: str | None = None, initializer: str | None = None, metric: str | None = None
    ) -> list[Claim]:
        """Claims of a task, an initialiser and a metric; each may be the harness's name or the printed one."""
        wanted = (
            (task, "task", self.aliases.tasks),
            (initializer, "method", self.aliases.initializers),
            (metric, "metric", self.aliases.metrics),
        )
        asked = [(name, field, names.get(name)) for name, field, names in wanted if name is not None]
        return [claim for claim in self.claims if all(_is_called(claim, *one) for one in asked)]


def _is_called(claim: Claim, name: str, field: str, alias: str | Alias | None) -> bool:
    """Whether a field of the claim's scope is this name, or what the name stands for."""
    if isinstance(alias, Alias):
        return alias.names(claim)
    return getattr(claim.scope, field) in {name, alias or name}
