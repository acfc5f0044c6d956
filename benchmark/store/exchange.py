"""Results coming in from other stores and files.

No attempt that is here is changed or removed. Which attempt counts may change: the earliest with numbers does (see
`benchmark.store.selection`), and that may be an incoming one; such cells are named.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.errors import StoreError
from benchmark.identity import hash_resolved
from benchmark.store import execution, runs, schema, shards
from benchmark.store.layout import SHARD_NAME, digest, new_attempt_id, storing, whole, write_bytes
from benchmark.store.selection import Attempt
from benchmark.store.shards import DamagedError, Shard
from benchmark.store.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

RECORDS = "records"
"""Name of the exported table that holds everything."""
Key = tuple[str, str]
"""Cell id and attempt id."""


@dataclass(frozen=True)
class Conflict:
    """One cell with other numbers in the incoming results than here; both attempts are kept."""

    cell_id: str
    task: str
    initializer: str
    metric: str
    here: float | None
    incoming: float | None
    counts_now: bool = False
    """Whether the incoming attempt is the earlier one and counts from now on."""


@dataclass
class Intake:
    """What came in from one source."""

    source: str
    files: int = 0
    """Files taken in."""
    new: int = 0
    """Attempts that were not here."""
    duplicate: int = 0
    """Attempts that were here already."""
    cells: int = 0
    """Cells that had no numbers here and now have."""
    runs: int = 0
    """Records of runs taken in."""
    conflicts: list[Conflict] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def merge(target: Store, source_root: Path) -> Intake:
    """Copy what another store has and this one has not; the other store is only read.

    Raises StoreError when `source_root` is no store, when it is the target, or when writing fails.
    """
    source = Store(source_root, read_only=True)
    if not source.layout.shards.is_dir():
        raise StoreError(f"{source_root} is no result store: it has no folder 'shards'")
    if source.layout.shards.resolve() == target.layout.shards.resolve():
        raise StoreError(f"{source_root} is the store itself; name another one")
    intake = _take(target, str(source_root), source.shards().shards)
    intake.warnings = source.warnings + intake.warnings
    intake.runs = _merge_runs(target, source)
    execution.merge(target.layout, source.execution())
    return intake


def take_in(target: Store, path: Path) -> Intake:
    """Take in a store, a folder of shards, one shard, or a Parquet file that `export` wrote as `records`.

    Raises StoreError when there is nothing of the kind at `path`.
    """
    if (path / "shards").is_dir():
        return merge(target, path)
    if path.is_dir():
        return _take_folder(target, path)
    if not path.is_file():
        raise StoreError(f"{path} does not exist")
    return _take(target, str(path), [_file(path)])


def _take_folder(target: Store, path: Path) -> Intake:
    whole = path / f"{RECORDS}.parquet"
    files = [whole] if whole.is_file() else sorted(path.glob("*.parquet"))
    good, warnings = [], []
    for file in files:
        try:
            good.append(_file(file))
        except StoreError as error:
            warnings.append(str(error))
    if not good:
        found = "; ".join(warnings) or "it holds no .parquet file"
        raise StoreError(f"{path} holds no results to take in: {found}")
    intake = _take(target, str(path), good)
    intake.warnings = warnings + intake.warnings
    return intake


def _file(path: Path) -> Shard:
    """A file outside a store as a shard; checked against its digest when its name carries one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if SHARD_NAME.fullmatch(path.name):
            shards.verify(path)
        metadata = pq.read_metadata(path)
        version = schema.version_of(metadata.metadata, path.name)
    except (DamagedError, ValueError, OSError, pa.ArrowException) as error:
        hint = "Expected a shard, or records.parquet of `bench export --format parquet`."
        raise StoreError(f"{path} cannot be taken in: {str(error).rstrip('.')}. {hint}") from error
    stat = path.stat()
    return Shard(path, stat.st_size, stat.st_mtime_ns, version, int(metadata.num_rows))


def _take(target: Store, name: str, files: Sequence[Shard]) -> Intake:
    intake = Intake(name)
    before = target.counting()
    present = {(attempt.cell_id, attempt.attempt_id) for attempt in target.attempts()}
    arrived: set[Key] = set()
    for file in files:
        keys = _keys(file)
        fresh = keys - present
        intake.new, intake.duplicate = intake.new + len(fresh), intake.duplicate + len(keys) - len(fresh)
        if fresh:
            _store(target, file, fresh, keys)
            intake.files += 1
            present |= fresh
            arrived |= fresh
    after = target.counting()
    had = {cell for cell, attempt in before.items() if attempt.done}
    intake.cells = sum(attempt.done and cell not in had for cell, attempt in after.items())
    intake.conflicts = _conflicts(target, arrived, before, after)
    return intake


def _keys(file: Shard) -> set[Key]:
    table = _read(file, ("cell_id", "attempt_id"))
    return set(zip(table["cell_id"].to_pylist(), table["attempt_id"].to_pylist(), strict=True))


def _read(file: Shard, columns: Iterable[str] | None = None) -> pa.Table:
    try:
        return shards.read_table(file.path, columns)
    except (DamagedError, FileNotFoundError) as error:
        raise StoreError(f"{file.path} cannot be taken in: {error}") from error


def _store(target: Store, file: Shard, fresh: set[Key], keys: set[Key]) -> None:
    """A shard is copied byte for byte; of anything else the new rows are written as a shard."""
    if SHARD_NAME.fullmatch(file.path.name) and (len(fresh) == len(keys) or file.is_segment):
        _copy(target, file)
        return
    table = _rows(_read(file), fresh)
    _check_identity(table, file.path)
    shards.write_table(target.layout, f"import.{new_attempt_id()}", table)


def _rows(table: pa.Table, keys: set[Key]) -> pa.Table:
    """The rows of some attempts, each attempt once."""
    import pyarrow as pa

    remaining = set(keys)
    chosen = []
    for row, key in enumerate(zip(table["cell_id"].to_pylist(), table["attempt_id"].to_pylist(), strict=True)):
        if key in remaining:
            remaining.discard(key)
            chosen.append(row)
    return table.take(pa.array(chosen, pa.int64()))


def _check_identity(table: pa.Table, path: Path) -> None:
    for cell_id, resolved in zip(table["cell_id"].to_pylist(), table["resolved"].to_pylist(), strict=True):
        expected = hash_resolved(json.loads(resolved))
        if cell_id != expected:
            raise StoreError(
                f"{path}: cell {cell_id[:12]} is not the cell its resolved parameters describe ({expected[:12]}); "
                "the file was changed by hand and is not taken in"
            )


def _copy(target: Store, file: Shard) -> None:
    folder = target.layout.shards
    destination = folder / file.path.name
    with storing("a result", destination):
        folder.mkdir(parents=True, exist_ok=True)
        data = file.path.read_bytes()
        if digest(data) != shards.expected_digest(file.path):
            raise StoreError(f"{file.path} changed while it was read; nothing of it was taken in")
        write_bytes(destination, data)


def _conflicts(
    target: Store, arrived: set[Key], before: Mapping[str, Attempt], after: Mapping[str, Attempt]
) -> list[Conflict]:
    """Cells that had numbers here and got other ones: every metric whose value is not exactly the same.

    Those that count from now on come first.
    """
    disputed = {key for key in arrived if key[0] in before and before[key[0]].done}
    ours = {before[cell][:2] for cell, _ in disputed}
    finals = _finals(target, disputed | ours)
    found: list[Conflict] = []
    for key in sorted(disputed):
        attempt, here, incoming = before[key[0]], finals[before[key[0]][:2]], finals[key]
        for name in sorted(here.keys() | incoming.keys()) if incoming else ():
            if not _same(here.get(name), incoming.get(name)):
                place = (attempt.cell_id, attempt.task, attempt.initializer)
                now = after[key[0]][:2] == key
                found.append(Conflict(*place, name, here.get(name), incoming.get(name), now))
    return sorted(found, key=lambda conflict: not conflict.counts_now)


def _finals(store: Store, keys: set[Key]) -> dict[Key, dict[str, float]]:
    """Final values of some attempts, curves left unread."""
    found: dict[Key, dict[str, float]] = {}
    for shard in store.shards().shards if keys else ():
        for row in _read(shard, ("cell_id", "attempt_id", "finals")).to_pylist():
            if (key := (row["cell_id"], row["attempt_id"])) in keys:
                found[key] = {item["name"]: item["value"] for item in row["finals"]}
    return found


def _same(one: float | None, other: float | None) -> bool:
    return one == other or (one is not None and other is not None and one != one and other != other)


def _merge_runs(target: Store, source: Store) -> int:
    """Records of runs not here yet, or here only as still running."""
    present = {run.run_id: run for run in target.runs()}
    taken = 0
    for run in source.runs():
        ours = present.get(run.run_id)
        if ours is None or (ours.status == "running" and run.status != "running"):
            runs.save_run(target.layout, run)
            taken += 1
    return taken


def export_records(store: Store, path: Path) -> int:
    """Write every attempt with everything it holds to one Parquet file that `take_in` reads back; returns the rows.

    Raises StoreError (disk full ...).
    """
    remaining = {attempt[:2] for attempt in store.attempts()}
    total = len(remaining)
    with whole("the records", path) as draft, shards.writer(draft) as file:
        for shard in store.shards().shards:
            table = _rows(_read(shard), remaining)
            remaining -= set(zip(table["cell_id"].to_pylist(), table["attempt_id"].to_pylist(), strict=True))
            file.write_table(table)
    return total - len(remaining)
