"""One JSON file per invocation of `bench run`: what was asked for, where it ran, how it ended."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

from benchmark.errors import StoreError
from benchmark.store.layout import (
    SAFE_ID,
    Layout,
    digest,
    host,
    process_start,
    read_json,
    storing,
    write_bytes,
    write_json,
)

RunStatus = Literal["running", "complete", "incomplete", "interrupted", "failed", "detached"]
"""`detached`: its jobs are in the queue of a cluster."""


@dataclass(frozen=True)
class RunRecord:
    """One run; written when it starts and again when it ends."""

    run_id: str
    argv: tuple[str, ...] = ()
    started_at: str = ""
    """ISO 8601, UTC."""
    ended_at: str | None = None
    status: RunStatus = "running"
    experiment: str = ""
    """Name of the experiment."""
    profile: str = ""
    spec: dict[str, Any] = field(default_factory=dict)
    """The experiment as resolved."""
    source: str = ""
    """Text of the spec file."""
    selection: dict[str, Any] = field(default_factory=dict)
    """The part of the experiment asked for: patterns of `tasks` and `initializers`, and `seeds`; empty: all of it."""
    cell_ids: Sequence[str] = ()
    """Every cell asked for, those reused from earlier runs included."""
    environment: dict[str, Any] = field(default_factory=dict)
    """Code version, package versions, machine."""
    counts: dict[str, int] = field(default_factory=dict)
    """How many cells were planned, reused, finished, failed ..."""
    pid: int = field(default_factory=os.getpid)
    host: str = field(default_factory=host)
    process_start: float = field(default_factory=lambda: process_start(os.getpid()) or 0.0)

    def is_alive(self) -> bool | None:
        """Whether its process still runs; None when that was on another machine and nobody can tell."""
        if self.status != "running":
            return False
        return lives(self.host, self.pid, self.process_start)


def lives(machine: str, pid: int, started: float) -> bool | None:
    """Whether a process is still the one that wrote its pid and start time; None for another machine's."""
    if machine != host():
        return None
    return process_start(pid) == started


def save_run(layout: Layout, run: RunRecord) -> None:
    """Write or replace the file of a run as a whole. Raises StoreError."""
    if not SAFE_ID.fullmatch(run.run_id):
        raise StoreError(f"run_id must be letters, digits, '.', '_' or '-', not {run.run_id!r}")
    path = layout.runs / f"{run.run_id}.json"
    with storing("the run", path):
        layout.runs.mkdir(parents=True, exist_ok=True)
        values = {item.name: getattr(run, item.name) for item in fields(RunRecord)}
        ids = values.pop("cell_ids")
        write_json(path, {**values, "cells": len(ids), "cell_list": _save_list(layout, ids)})


def _save_list(layout: Layout, ids: Sequence[str]) -> str:
    """Keep a list of cells once, however many runs ask for it; returns its name."""
    text = "\n".join(ids).encode()
    path = layout.runs / "cells" / f"{digest(text)}.txt"
    if ids and not path.exists():
        path.parent.mkdir(exist_ok=True)
        write_bytes(path, text)
    return path.name


class CellList(Sequence[str]):
    """Ids in a file, read when they are asked for; how many they are is known before."""

    def __init__(self, path: Path, count: int) -> None:
        self._path, self._count = path, count

    @cached_property
    def _ids(self) -> tuple[str, ...]:
        with suppress(OSError):
            return tuple(self._path.read_text().split())
        return ()

    def __len__(self) -> int:
        return self._count if "_ids" not in vars(self) else len(self._ids)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self._ids[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._ids == tuple(other)

    __hash__ = None  # type: ignore[assignment]


def load_runs(layout: Layout) -> tuple[list[RunRecord], list[str]]:
    """All runs, oldest first, and a warning for each file that could not be read."""
    runs, warnings = [], []
    for path in sorted(layout.runs.glob("*.json")):
        run = _run(layout, read_json(path))
        if run is None:
            warnings.append(f"{path} is no record of a run and was ignored")
        else:
            runs.append(run)
    return sorted(runs, key=lambda run: (run.started_at, run.run_id)), warnings


def _run(layout: Layout, value: Any) -> RunRecord | None:
    """Keys of a later version are ignored, so that an older program can still list its runs."""
    known = {item.name for item in fields(RunRecord)}
    if not isinstance(value, dict) or not isinstance(value.get("run_id"), str):
        return None
    values = {key: item for key, item in value.items() if key in known}
    for key in ("argv", "cell_ids"):
        values[key] = tuple(values.get(key) or ())
    if isinstance(name := value.get("cell_list"), str) and (path := layout.runs / "cells" / Path(name).name).is_file():
        values["cell_ids"] = CellList(path, int(value.get("cells") or 0))
    return RunRecord(**{"pid": -1, "host": "", "process_start": 0.0, **values})
