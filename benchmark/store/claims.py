"""Who trains which cell, among runs of any number of machines: one small file per cell while it is being trained.

To make a file that must not exist yet is atomic without locks, and who made it was first, whatever the clocks say. An
owner lives as long as the heartbeat of its stack does; the claim of a dead one is taken over. Should a file system let
two claim one cell all the same, both train it: that costs time, never numbers.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from benchmark.records import DONE
from benchmark.store import heartbeats
from benchmark.store.layout import Layout, host, now
from benchmark.store.shards import DamagedError, read_table

MARGIN = 60.0
"""Shards that appeared so many seconds before a run's record may hold cells that its plan did not see."""
SETTLE = 0.1
"""Seconds in which a claim that was just made gets its owner's name."""

Owner = tuple[str, str]
"""Run id and stack id."""


def take(layout: Layout, owner: Owner, cells: Collection[str]) -> set[str]:
    """Claim cells for a stack whose heartbeat is written; returns those that a living owner has. Never raises OSError:
    where nothing can be claimed every cell is the stack's."""
    with suppress(OSError):
        layout.claims.mkdir(parents=True, exist_ok=True)
        return {cell for cell in cells if not _take(layout, owner, layout.claims / cell)}
    return set()


def _take(layout: Layout, owner: Owner, path: Path) -> bool:
    while True:
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            if (found := _owner(path)) is None:
                time.sleep(SETTLE)
                found = _owner(path)
            if found == owner:
                return True
            if found is not None and heartbeats.lives_stack(layout, *found):
                return False
            _clear(path, found)
        else:
            with os.fdopen(handle, "w") as file:
                file.write("\n".join((*owner, host(), now())))
            return True


def _owner(path: Path) -> Owner | None:
    """Whose claim it is; None when it is gone or says nothing."""
    with suppress(OSError, ValueError):
        run_id, stack_id, *_ = path.read_text().split("\n")
        return run_id, stack_id
    return None


def _clear(path: Path, dead: Owner | None) -> None:
    """Remove a dead owner's claim: moved aside first, so that of two who do so only one has moved it."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with suppress(FileNotFoundError):
        path.rename(aside)
        if _owner(aside) != dead:  # another took it over between look and move
            with suppress(OSError):
                os.link(aside, path)
        aside.unlink()


def release(layout: Layout, owner: Owner, cells: Iterable[str]) -> None:
    """Give claims back; those that others have meanwhile stay."""
    for cell in cells:
        if _owner(layout.claims / cell) == owner:
            with suppress(OSError):
                (layout.claims / cell).unlink()


def sweep(layout: Layout) -> None:
    """Remove the claims of owners that are gone."""
    for path in layout.claims.glob("*"):
        if (found := _owner(path)) is not None and not heartbeats.lives_stack(layout, *found):
            _clear(path, found)


class Arrivals:
    """What other runs finish while this one goes on, found without looking at what was there before.

    As long as no other run is seen a look costs the same in every store; then each new shard is read once.
    """

    def __init__(self, layout: Layout, run_id: str) -> None:
        self._layout, self._run_id = layout, run_id
        self._company = False
        self._changed = 0
        self._known: set[str] | None = None
        self._done: set[str] = set()

    def look(self) -> set[str]:
        """Cells with numbers in shards that have appeared since the run began."""
        self._company = self._company or self._sees_others()
        if self._company:
            with suppress(OSError):
                self._read(self._new())
        return self._done

    def _sees_others(self) -> bool:
        """Whether another run is training, or has begun or ended since this one began."""
        with suppress(OSError):
            changed = self._layout.runs.stat().st_mtime_ns
            if any(path.name != self._run_id for path in self._layout.running.iterdir()):
                return True
            if changed == self._changed:
                return False
            began = self._began()
            with os.scandir(self._layout.runs) as entries:
                others = (entry for entry in entries if entry.name.endswith(".json") and not self._is_own(entry.name))
                self._changed = changed
                return any(entry.stat().st_mtime >= began for entry in others)
        return True

    def _is_own(self, name: str) -> bool:
        return name == f"{self._run_id}.json"

    def _began(self) -> float:
        """When the run's record was written, by the clock of the file system."""
        return (self._layout.runs / f"{self._run_id}.json").stat().st_mtime

    def _new(self) -> set[str]:
        with os.scandir(self._layout.shards) as entries:
            names = {entry.name: entry for entry in entries if entry.name.endswith(".parquet")}
            if self._known is None:
                since = self._began() - MARGIN
                self._known = {name for name, entry in names.items() if entry.stat().st_mtime < since}
        new, self._known = names.keys() - self._known, set(names)
        return new

    def _read(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(DamagedError, FileNotFoundError):
                table = read_table(self._layout.shards / name, ("cell_id", "status"))
                rows = zip(table["cell_id"].to_pylist(), table["status"].to_pylist(), strict=True)
                self._done |= {cell for cell, status in rows if status in DONE}
