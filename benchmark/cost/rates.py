"""Rates that finished cells of a store reached: floating-point operations per second, by shape and device."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from benchmark.cell import Cell
from benchmark.cost.devices import Device, ran_on
from benchmark.cost.work import Work
from benchmark.errors import BenchError
from benchmark.plan import rebuild
from benchmark.registry import Registry
from benchmark.train.grouping import shape_key

if TYPE_CHECKING:
    from benchmark.store import Store

COLUMNS = "select resolved, device, provenance, seconds from cells where status = 'finished' and seconds > 0"


@dataclass(frozen=True)
class Rates:
    """FLOP/s of one device."""

    shapes: Mapping[str, float] = field(default_factory=dict)
    """Shape key → rate."""
    modes: Mapping[str, str] = field(default_factory=dict)
    """Shape key → execution mode that was measured to be the fastest."""

    def of_shape(self, key: str) -> float | None:
        """Rate of finished cells of that very shape."""
        return self.shapes.get(key)

    def typical(self) -> float | None:
        """Median over all shapes."""
        return median(self.shapes.values()) if self.shapes else None

    def execution(self, key: str) -> str | None:
        """Mode decided for that shape."""
        return self.modes.get(key)


def measured(store: Store, registry: Registry, device: Device | None, count: Callable[[Cell], Work]) -> Rates:
    """Rates of all finished cells on `device` (None: CPU); cells whose family is not here any more are left out."""
    if not store.layout.root.exists():
        return Rates()
    sums: dict[str, list[float]] = {}
    for cell, seconds in finished_cells(store, registry, device):
        try:
            flops = count(cell).flops(cell.task.budget)
        except Exception:  # a task that cannot be counted has no rate
            continue
        entry = sums.setdefault(shape_key(cell), [0.0, 0.0])
        entry[0] += flops
        entry[1] += seconds
    shapes = {key: flops / seconds for key, (flops, seconds) in sums.items() if flops}
    kind = "cpu" if device is None else "cuda"
    decided = {key.partition("-"): str(entry.get("mode", "")) for key, entry in store.execution().items()}
    modes = {shape: mode for (shape, _, where), mode in decided.items() if shape in shapes and where.startswith(kind)}
    return Rates(shapes, modes)


def finished_cells(store: Store, registry: Registry, device: Device | None) -> Iterator[tuple[Cell, float]]:
    """Cells trained on the device, rebuilt from their records, with their seconds."""
    for text, where, provenance, seconds in store.ask(COLUMNS):
        if not ran_on(device, where, json.loads(provenance).get("gpus") or []):
            continue
        resolved = json.loads(text)
        try:
            task = rebuild(registry.task(resolved["task"]["family"]), resolved["task"])
            started = rebuild(registry.initializer(resolved["initializer"]["family"]), resolved["initializer"])
        except (BenchError, KeyError, TypeError, ValueError):
            continue
        yield Cell("", "", "", int(resolved["seed"]), str(resolved["profile"]), task, started), float(seconds)
