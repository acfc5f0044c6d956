"""The rows that travel from a worker to the store, and the store's own vocabulary of statuses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["finished", "diverged", "failed", "timeout", "killed"]
"""`finished` and `diverged` have numbers and are not run again; the others are."""

DONE: frozenset[str] = frozenset({"finished", "diverged"})


@dataclass(frozen=True)
class CurvePoint:
    """One value of one metric at one optimiser step."""

    name: str
    step: int
    value: float


@dataclass(frozen=True)
class ProbePoint:
    """One value a probe measured at one optimiser step."""

    recording: str
    """`Probe.key` of the probe that made it."""
    probe: str
    """Its family."""
    metric: str
    layer: int | None
    """None: the mean over layers (and heads), or a value of the whole model."""
    head: int | None
    """None: the mean over heads, or a value of the whole layer."""
    step: int
    value: float


@dataclass(frozen=True)
class ProbeArray:
    """A heat map a probe kept: the bias or the mean attention of one layer, say."""

    recording: str
    probe: str
    name: str
    layer: int
    step: int
    shape: tuple[int, ...]
    values: tuple[float, ...]
    """In the order of rows, as float32."""


@dataclass(frozen=True)
class CellRecord:
    """One attempt at one cell, everything about it; a shard holds one or more of these."""

    cell_id: str
    attempt_id: str
    run_id: str
    task: str
    """Name under which the spec asked for the task."""
    initializer: str
    seed: int
    profile: str
    resolved: dict[str, Any]
    """What the id is the hash of (canonical JSON once stored)."""
    status: Status
    finals: dict[str, float] = field(default_factory=dict)
    """Metric → value at the end, full precision; NaN is kept as NaN, never as NULL or 0."""
    curve: tuple[CurvePoint, ...] = ()
    recordings: dict[str, Any] = field(default_factory=dict)
    """What probes recorded: `Probe.key` → family, version, parameters, examples, seconds, and what went wrong."""
    points: tuple[ProbePoint, ...] = ()
    arrays: tuple[ProbeArray, ...] = ()
    error: str | None = None
    """Traceback or reason when there are no numbers."""
    started_at: str = ""
    """ISO 8601, UTC."""
    seconds: float = 0.0
    """Wall time of this cell's share of its stack."""
    steps_planned: int = 0
    steps_done: int = 0
    parameters: int = 0
    """Number of scalars in the model."""
    execution: str = ""
    """Mode and stack size the numbers were made with, for example `compiled-stack[20]`."""
    device: str = ""
    provenance: dict[str, Any] = field(default_factory=dict)
    """Code version, commit, dirty flag, package versions, CPU or GPU."""
