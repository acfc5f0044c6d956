"""Where training goes on: which checkpoint fits which cells, code and machine, and the stacks to form for its sake."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import benchmark
from benchmark.execution.changes import data_of, families_of
from benchmark.execution.provenance import package_versions
from benchmark.execution.stacks import Stack
from benchmark.identity import canonical_json
from benchmark.registry import origin_of
from benchmark.train.mode import Mode
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.cell import Cell
    from benchmark.store import Store
    from benchmark.store.checkpoints import Checkpoint


def key_of(cells: Sequence[Cell], mode: str, purpose: str, device: str, threads: int) -> str:
    """Equal where the same bits would be trained, as far as can be told: the name of these cells' checkpoint.

    In it are the cells in their order with their probes, the mode, the kind of device, torch's threads, versions of
    packages, the code of the engine's training, of the cells' families and probes, and the content of their data.
    """
    probes = {type(probe) for cell in cells for probe in cell.probes}
    others = [probe for probe in probes if not probe.__module__.startswith("benchmark.")]  # ours are of the engine
    what = {
        "cells": [[cell.id, *(probe.key for probe in cell.probes)] for cell in cells],
        "families": sorted({family.digest for cell in cells for family in families_of(cell).values()}),
        "probes": sorted(origin_of(probe).digest for probe in others),
        "data": data_of(cells[0].task),
        "engine": engine_digest(),
        "packages": package_versions(),
        "made": [mode, purpose, device.partition(":")[0], threads],
    }
    return hashlib.sha256(canonical_json(what).encode()).hexdigest()[:32]


@functools.cache
def engine_digest() -> str:
    """Of the modules that a step of training runs through."""
    root = Path(benchmark.__file__).parent
    paths = sorted(path for pattern in ("*.py", "train/*.py", "nn/*.py", "probes/*.py") for path in root.glob(pattern))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def resumable(
    cells: Mapping[str, Cell], store: Store, pinned: Mode | None, purpose: str, device: str, threads: int
) -> list[tuple[Stack, Checkpoint]]:
    """Stacks of these cells (by id) that were left half trained, as they were then, and where they stand.

    The most advanced one, where a cell is in several. With a pinned mode only what was trained in that.
    """
    left, found = dict(cells), []
    for one in store.checkpoints():
        stage = one.stage
        own = [left[id] for id in stage.cell_ids if id in left]
        if len(own) < len(stage.cell_ids) or one.key != key_of(own, stage.mode, purpose, device, threads):
            continue
        if pinned not in (None, mode := Mode.parse(stage.mode)):
            continue
        found.append((Stack(tuple(own), mode), one))
        for cell in own:
            del left[cell.id]
    return found


def told(stack: Stack, one: Checkpoint) -> str:
    """`  cyclic3: 8 cells continue at step 5,120 of 8,640`."""
    count = len(stack.cells)
    return f"  {one.stage.task}: {counted(count, 'cell')} continue{'s' * (count == 1)} at {one.stage.words}"
