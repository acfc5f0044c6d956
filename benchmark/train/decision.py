"""What a probe decided, as it is kept in the store. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmark.train.mode import Mode

PLAIN = "plain"
"""Name of the timing of a cell's own module, of which no program was made."""


@dataclass(frozen=True)
class Timing:
    """One candidate as it was measured."""

    seconds_per_cell_step: float
    prepare_seconds: float
    """Tracing, and compiling where it is compiled."""
    expected_seconds: float
    """Expected training time until the last worker is done."""


@dataclass(frozen=True)
class Decision:
    """The mode for all cells of one shape on one kind of device, and why."""

    mode: Mode
    device: str
    timings: dict[str, Timing]
    reason: str
    provisional: bool = False
    """Not measured, the work being little: a measured one takes its place when there is more."""

    def to_json(self) -> dict[str, Any]:
        """Plain values; `from_json` is its inverse."""
        timings = {name: asdict(timing) for name, timing in self.timings.items()}
        return {**vars(self), "mode": self.mode.name, "timings": timings}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Decision:
        """Raises KeyError, TypeError or UsageError when the value is not what `to_json` writes."""
        timings = {name: Timing(**timing) for name, timing in value["timings"].items()}
        return cls(
            Mode.parse(value["mode"]), value["device"], timings, value["reason"], value.get("provisional", False)
        )


def span(counts: Sequence[int], size: int, workers: int) -> int:
    """Cells that the busiest worker trains one after another, when `counts[i]` cells of each stack key are cut into
    stacks of `size` (padding counted) and dealt to the workers."""
    stacks = sum(-(-count // size) for count in counts)
    return -(-stacks // workers) * size
