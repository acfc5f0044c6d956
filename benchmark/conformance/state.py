"""What a process shares between its cells, and which of it a plugin's call has changed."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Shared:
    """One piece of it: how to read it, and how to put it back (None: it cannot be)."""

    name: str
    get: Callable[[], Any]
    put: Callable[[Any], object] | None = None


def shared() -> list[Shared]:
    """Everything that is watched: what a cell's world watches, and what only a process that goes on is left with."""
    from benchmark.train.world import SHARED

    return [
        *(Shared(one.name, one.read, one.write) for one in SHARED if one.name != "the environment"),
        Shared("os.environ", environment, put_environment),
        Shared("sys.stdout or sys.stderr", lambda: (sys.stdout, sys.stderr), put_streams),
        Shared("a thread that still runs", lambda: {thread.ident for thread in threading.enumerate()}),
        Shared("a child process that still runs", children),
    ]


def environment() -> dict[str, str]:
    """The environment, without what torch sets for itself when it first needs its compiler."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TORCHINDUCTOR_")}


def put_environment(values: dict[str, str]) -> None:
    """Make the environment what it was."""
    for name in set(environment()) - set(values):
        del os.environ[name]
    os.environ.update(values)


def put_streams(streams: tuple[Any, Any]) -> None:
    """Give back the standard streams."""
    sys.stdout, sys.stderr = streams


def children() -> set[str]:
    """Ids of this process's children, as far as the system tells."""
    found: set[str] = set()
    for listed in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            found.update(listed.read_text().split())
    return found


@contextmanager
def watched(changes: list[str]) -> Iterator[None]:
    """Append what the block changed, and put it back as far as possible."""
    pieces = shared()
    before = [piece.get() for piece in pieces]
    try:
        yield
    finally:
        for piece, was in zip(pieces, before, strict=True):
            now = piece.get()
            if isinstance(was, set):  # what has ended meanwhile is no change
                now, was = now - was, set()
            if now != was:
                changes.append(f"{piece.name}{shown(was, now)}")
                if piece.put is not None:
                    piece.put(was)


def shown(was: Any, now: Any) -> str:
    """What became of a value, where that is short."""
    if isinstance(was, dict):
        names = sorted(name for name in {*was, *now} if was.get(name) != now.get(name))
        return f" ({', '.join(names[:3])})"
    return f" (from {was} to {now})" if not isinstance(was, set | tuple) else ""
