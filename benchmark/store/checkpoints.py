"""Stacks half trained, so that a kill costs minutes: one file per stack in the folder `checkpoints`.

A file's name holds the key of what determines every bit of the training that it continues, and a digest of its content.
Its format is safetensors, plain arrays under a JSON header, so nothing in it is ever executed; the header can be read
without the arrays. Checkpoints are no results: they are never counted, merged or exported.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmark.store import layout as files
from benchmark.store.layout import TEMPORARY_AGE, Layout

NAME = re.compile(r"(?P<key>[0-9a-f]{32})-(?P<digest>[0-9a-f]{32})\.safetensors")
HEADER_BYTES = 64 << 20
"""More than any header of ours; nobody's file makes a reader hold more."""
KEPT_SECONDS = 30 * 24 * 3600.0
"""A checkpoint that nobody went on from for so long belongs to code or a grid that is gone."""


@dataclass(frozen=True)
class Stage:
    """How far a stack is: what the header says."""

    task: str
    cell_ids: tuple[str, ...]
    """In the order they are trained in."""
    mode: str
    purpose: str
    """As `Job.purpose`."""
    step: int = 0
    """Optimiser steps done by the cells in training."""
    steps_planned: int = 0
    cells_done: int = 0
    """Cells of the stack that have ended; they were trained before the others."""

    @property
    def words(self) -> str:
        """`step 5,120 of 8,640`."""
        done = f", {self.cells_done} of {len(self.cell_ids)} cells done" if self.cells_done else ""
        return f"step {self.step:,} of {self.steps_planned:,}{done}"


@dataclass(frozen=True)
class Checkpoint:
    """A file that is there; whether its content is whole is asked by whoever goes on from it."""

    path: Path
    key: str
    stage: Stage

    @property
    def whole(self) -> bool:
        """Whether the content is what was written."""
        match = NAME.fullmatch(self.path.name)
        return match is not None and files.file_digest(self.path) == match["digest"]


def load(layout: Layout) -> list[Checkpoint]:
    """Every checkpoint of a store, the most advanced first; unreadable ones are left out."""
    found = [one for path in layout.checkpoints.glob("*.safetensors") if (one := _read(path)) is not None]
    return sorted(found, key=lambda one: (-one.stage.cells_done, -one.stage.step, one.path.name))


def find(layout: Layout, key: str) -> Checkpoint | None:
    """The most advanced one of that key."""
    return next((one for one in load(layout) if one.key == key), None)


def keep(layout: Layout, key: str, stage: Stage, write: Callable[[Path, dict[str, str]], None]) -> Checkpoint:
    """Put a checkpoint in place of those of its key: written beside them, flushed, renamed.

    `write(path, header)` makes the file. Raises OSError; the former ones are as they were then.
    """
    folder = layout.checkpoints
    folder.mkdir(parents=True, exist_ok=True)
    draft = files.temporary(folder, key)
    try:
        draft.touch()
        rights = draft.stat().st_mode  # the library's files are their owner's alone
        write(draft, {"checkpoint": json.dumps(asdict(stage))})
        draft.chmod(rights)
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        path = folder / f"{key}-{files.file_digest(draft)}.safetensors"
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    files.sync_folder(folder)
    _remove(other for other in folder.glob(f"{key}-*.safetensors") if other != path)
    return Checkpoint(path, key, stage)


def discard(layout: Layout, key: str) -> None:
    """The stack has ended; never raises OSError."""
    _remove(layout.checkpoints.glob(f"{key}-*.safetensors"))


def sweep(layout: Layout, finished: Collection[str]) -> None:
    """Remove what is of no use any more: of cells that have numbers, of code long gone, half written."""
    done = {*finished}
    old = time.time() - KEPT_SECONDS
    for one in load(layout):
        with suppress(OSError):
            if (one.stage.purpose == "run" and done.issuperset(one.stage.cell_ids)) or one.path.stat().st_mtime < old:
                one.path.unlink()
    half = [path for path in layout.checkpoints.glob(".tmp*") if time.time() - path.stat().st_mtime > TEMPORARY_AGE]
    _remove(half)  # the library writes to a name of its own beside the draft
    files.sweep(layout.checkpoints)
    with suppress(OSError):
        layout.checkpoints.rmdir()


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink()


def _read(path: Path) -> Checkpoint | None:
    match = NAME.fullmatch(path.name)
    with suppress(OSError, ValueError, KeyError, TypeError):
        if match is None:
            return None
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(min(length, HEADER_BYTES)))
        values = json.loads(header["__metadata__"]["checkpoint"])
        return Checkpoint(path, match["key"], Stage(**{**values, "cell_ids": tuple(values["cell_ids"])}))
    return None
