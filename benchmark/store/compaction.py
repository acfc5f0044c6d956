"""Gathering many small shards into few segments.

A segment is a shard like any other, only larger. The originals go after the segment lies on the disk and was read
back and compared; killed in between, an attempt lies in two files, which every reader counts once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.errors import StoreError
from benchmark.store.layout import Layout, file_digest, new_attempt_id, storing, sync_folder, temporary
from benchmark.store.shards import SEGMENT, DamagedError, Scan, Shard, StaleError, read_table, writer

if TYPE_CHECKING:
    import pyarrow as pa

THRESHOLD = 2000
SEGMENT_SHARDS = 500
"""Shards gathered into one segment: a few dozen megabytes, never one giant file."""
ROW_GROUP_BYTES = 64 << 20
Key = tuple[str, str]
"""Cell id and attempt id."""


@dataclass(frozen=True)
class Compaction:
    """What was done."""

    shards: int = 0
    segments: int = 0
    cells: int = 0


def compact(layout: Layout, found: Scan, threshold: int = THRESHOLD) -> Compaction:
    """Gather the loose shards when there are more than `threshold`. Raises StoreError, StaleError."""
    loose = [shard for shard in found.shards if not shard.is_segment]
    if len(loose) <= threshold:
        return Compaction()
    groups = list(_groups(loose, SEGMENT_SHARDS))
    return Compaction(len(loose), len(groups), sum(_gather(layout, group) for group in groups))


def _groups(loose: Sequence[Shard], size: int) -> Iterator[list[Shard]]:
    remaining = iter(loose)
    while group := list(islice(remaining, size)):
        yield group


def _gather(layout: Layout, group: Sequence[Shard]) -> int:
    keys: list[Key] = []
    segment = _write(layout, group, keys)
    _check(segment, keys)
    for shard in group:
        with storing("the shards folder", shard.path):
            shard.path.unlink(missing_ok=True)
    return len(keys)


def _write(layout: Layout, group: Sequence[Shard], keys: list[Key]) -> Path:
    """Write the rows of every shard, and note in `keys` what they are."""
    stem = SEGMENT + new_attempt_id()
    draft = temporary(layout.shards, stem)
    try:
        with storing("a segment", draft):
            with writer(draft) as file:
                for table in _row_groups(group, keys):
                    file.write_table(table)
            with draft.open("rb") as file:
                os.fsync(file.fileno())
            target = layout.shards / f"{stem}-{file_digest(draft)}.parquet"
            draft.replace(target)
            sync_folder(layout.shards)
    finally:
        draft.unlink(missing_ok=True)
    return target


def _row_groups(group: Sequence[Shard], keys: list[Key]) -> Iterator[pa.Table]:
    """Shards gathered up to a bounded size, so that a segment never needs much memory."""
    import pyarrow as pa

    gathered: list[pa.Table] = []
    size = 0
    for shard in group:
        gathered.append(_content(shard))
        keys += _keys(gathered[-1])
        size += gathered[-1].nbytes
        if size > ROW_GROUP_BYTES:
            yield pa.concat_tables(gathered)
            gathered, size = [], 0
    if gathered:
        yield pa.concat_tables(gathered)


def _content(shard: Shard) -> pa.Table:
    """A shard's rows; one damaged meanwhile must not look sound for being in a segment."""
    try:
        return read_table(shard.path)
    except (FileNotFoundError, DamagedError) as error:
        raise StaleError from error


def _check(segment: Path, keys: list[Key]) -> None:
    """Compare the attempts in the segment as it lies on the disk with those that went in. Raises StoreError."""
    if sorted(_keys(read_table(segment, ("cell_id", "attempt_id")))) != sorted(keys):
        segment.unlink()
        raise StoreError(f"the segment {segment.name} does not hold what went into it; the originals were kept")


def _keys(table: pa.Table) -> list[Key]:
    return list(zip(table["cell_id"].to_pylist(), table["attempt_id"].to_pylist(), strict=True))
