"""What is being trained right now: one small file per stack, replaced as it goes, removed when it ends."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from benchmark.errors import StoreError
from benchmark.store.layout import SAFE_ID, Layout, host, process_start, read_json, sweep, temporary, write_json
from benchmark.store.runs import lives

SILENCE = 600.0
"""Seconds without a sign after which a stack of another machine is taken for dead."""


@dataclass(frozen=True)
class Heartbeat:
    """The state of one stack, as `bench status` shows it."""

    run_id: str
    stack_id: str
    task: str = ""
    cell_ids: tuple[str, ...] = ()
    step: int = 0
    steps_planned: int = 0
    metrics: dict[str, float] = field(default_factory=dict)
    """Latest value of each metric, mean over the cells of the stack or whatever its title says."""
    execution: str = ""
    device: str = ""
    checkpoint: str = ""
    """Where the newest checkpoint stands, its size and what writing it took."""
    started_at: float = field(default_factory=time.time)
    """Seconds since the epoch."""
    beaten_at: float = field(default_factory=time.time)
    """Seconds since the epoch; set anew at each beat."""
    pid: int = field(default_factory=os.getpid)
    host: str = field(default_factory=host)
    process_start: float = field(default_factory=lambda: process_start(os.getpid()) or 0.0)

    def is_alive(self) -> bool:
        """Whether the process that beats still runs; on another machine, whether it beat lately."""
        alive = lives(self.host, self.pid, self.process_start)
        return time.time() - self.beaten_at < SILENCE if alive is None else alive


def beat(layout: Layout, heartbeat: Heartbeat) -> None:
    """Write a heartbeat; never raises OSError, since training must not stop for want of a progress line."""
    path = _path(layout, heartbeat.run_id, heartbeat.stack_id)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, asdict(heartbeat), durable=False)


def remove(layout: Layout, run_id: str, stack_id: str) -> None:
    """The stack has ended."""
    path = _path(layout, run_id, stack_id)
    with suppress(OSError):
        path.unlink()
    with suppress(OSError):
        path.parent.rmdir()


def load(layout: Layout) -> list[Heartbeat]:
    """All heartbeats, dead ones included, by run and start."""
    found = [beat for path in layout.running.glob("*/*.json") if (beat := _heartbeat(layout, path)) is not None]
    return sorted(found, key=lambda beat: (beat.run_id, beat.started_at, beat.stack_id))


def lives_stack(layout: Layout, run_id: str, stack_id: str) -> bool:
    """Whether somebody is training that stack."""
    beat = _heartbeat(layout, layout.running / run_id / f"{stack_id}.json")
    return beat is not None and beat.is_alive()


def sweep_dead(layout: Layout) -> list[Heartbeat]:
    """Remove the heartbeats of processes that are gone; returns them."""
    dead = [beat for beat in load(layout) if not beat.is_alive()]
    for beat in dead:
        remove(layout, beat.run_id, beat.stack_id)
    for folder in layout.running.glob("*"):
        sweep(folder)
        with suppress(OSError):
            folder.rmdir()
    return dead


def _path(layout: Layout, run_id: str, stack_id: str) -> Path:
    for value in (run_id, stack_id):
        if not SAFE_ID.fullmatch(value):
            raise StoreError(f"run and stack ids are letters, digits, '.', '_' or '-', not {value!r}")
    return layout.running / run_id / f"{stack_id}.json"


def _heartbeat(layout: Layout, path: Path) -> Heartbeat | None:
    value: Any = read_json(path)
    known = {item.name for item in fields(Heartbeat)}
    if not isinstance(value, dict) or not {"run_id", "stack_id"} <= set(value):
        return None
    values = {key: item for key, item in value.items() if key in known}
    values["cell_ids"] = tuple(values.get("cell_ids") or ())
    if values.get("host") != host():
        with suppress(OSError):
            values["beaten_at"] = time.time() - (_file_clock(layout) - path.stat().st_mtime)
    return Heartbeat(**values)


def _file_clock(layout: Layout) -> float:
    """The time by which the file system dates files: another machine's clock may be hours off."""
    probe = temporary(layout.running, "clock")
    try:
        probe.touch()
        return probe.stat().st_mtime
    except OSError:
        return time.time()
    finally:
        with suppress(OSError):
            probe.unlink()
