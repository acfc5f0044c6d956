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
    """Everything that is watched."""
    import torch

    return [
        Shared("torch's default dtype", torch.get_default_dtype, torch.set_default_dtype),
        Shared("torch's number of threads", torch.get_num_threads, torch.set_num_threads),
        Shared("torch.set_grad_enabled", torch.is_grad_enabled, torch._C._set_grad_enabled),
        Shared(
            "torch.use_deterministic_algorithms",
            torch.are_deterministic_algorithms_enabled,
            torch.use_deterministic_algorithms,
        ),
        Shared(
            "torch's precision of float32 products",
            torch.get_float32_matmul_precision,
            torch.set_float32_matmul_precision,
        ),
        Shared("the current folder", folder, os.chdir),
        Shared("os.environ", environment, put_environment),
        Shared("sys.stdout or sys.stderr", lambda: (sys.stdout, sys.stderr), put_streams),
        Shared("a thread that still runs", lambda: {thread.ident for thread in threading.enumerate()}),
        Shared("a child process that still runs", children),
    ]


def folder() -> str | None:
    """The current folder, None when it is gone."""
    with suppress(OSError):
        return str(Path.cwd())
    return None


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
