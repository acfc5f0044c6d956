"""The execution mode chosen per shape: decided once, then kept, because bit-equality holds within one mode only."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from benchmark.store.layout import Layout, read_json, storing, write_json


def load(layout: Layout) -> dict[str, dict[str, Any]]:
    """Shape key → what was decided; empty when nothing was, or the file is damaged (then shapes are probed again)."""
    value = read_json(layout.execution)
    return {k: v for k, v in value.items() if isinstance(v, dict)} if isinstance(value, dict) else {}


def decide(layout: Layout, key: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Keep `entry` for `key` unless the present one `holds`; returns the one that does. Raises StoreError."""
    return merge(layout, {key: entry})[key]


def merge(layout: Layout, entries: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Add entries for shapes nobody has decided for good; returns all that hold. Raises StoreError."""
    with storing("execution modes", layout.execution):
        layout.root.mkdir(parents=True, exist_ok=True)
        with _locked(layout):
            present = load(layout)
            new = {key: dict(value) for key, value in entries.items()}
            merged = {**new, **{key: value for key, value in present.items() if holds(value, new.get(key))}}
            if merged != present:
                write_json(layout.execution, merged)
    return merged


def holds(present: Mapping[str, Any], new: Mapping[str, Any] | None) -> bool:
    """Whether a decision stays: the first one does, but a provisional one only until one was measured."""
    return new is None or not present.get("provisional") or bool(new.get("provisional"))


@contextmanager
def _locked(layout: Layout) -> Iterator[None]:
    """Keep two processes of one machine apart; where locks are not supported the worst is a shape probed twice."""
    handle = os.open(layout.root / ".execution.lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
