"""The DuckDB index: rebuilt from the shards, made anew beside the old one and renamed over it, never the only copy."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.store import schema, views
from benchmark.store.layout import Layout, sweep, sync_folder, temporary
from benchmark.store.shards import DamagedError, Scan, Shard, StaleError, quarantine, read_table

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # In DuckDB 2.0.1 this optimizer made a grouping over one large sorted table fifteen times slower.
    "disabled_optimizers": "partitioned_execution",
}
BATCH_SHARDS = 100
READERS = 2
"""Shards read at once: their bytes are hashed and taken apart without Python."""


def open_index(layout: Layout, found: Scan, warnings: list[str]) -> tuple[duckdb.DuckDBPyConnection, str]:
    """A connection with the index attached as `idx`, and how it came about: current, updated, rebuilt, in memory.

    The connection is a database in memory, the file is attached read-only: nobody is shut out.
    """
    if (con := current(layout, found)) is not None:
        return con, "current"
    _, present = _opened(layout)
    state = update(layout, found, present, warnings)
    con, present = _opened(layout) if state != "in memory" else (None, None)
    if con is not None and present is not None and present >= found.names:  # not one that a slower process put there
        return con, state
    con = con or connect()
    con.execute("attach or replace ':memory:' as idx")
    _fill(con, found.shards, layout, warnings)
    return con, "in memory"


def current(layout: Layout, found: Scan) -> duckdb.DuckDBPyConnection | None:
    """`open_index` when the index is of exactly these shards; otherwise None, and nothing is made."""
    con, present = _opened(layout)
    return con if present == found.names else None


def connect(path: str = ":memory:") -> duckdb.DuckDBPyConnection:
    """A DuckDB connection with this project's settings."""
    import duckdb

    return duckdb.connect(path, config={**SETTINGS, "temp_directory": str(Path(tempfile.gettempdir()) / "initbench")})


def _duckdb_error() -> type[Exception]:
    import duckdb

    return duckdb.Error


def _opened(layout: Layout) -> tuple[duckdb.DuckDBPyConnection | None, frozenset[str] | None]:
    """The index attached read-only and the shards it holds; None and None when there is no usable index."""
    if not layout.index.exists():
        return None, None
    con = connect()
    with suppress(_duckdb_error()):
        con.execute(f"attach {_quoted(layout.index)} as idx (read_only)")
        if con.execute("select value from idx.meta where key = 'version'").fetchall() == [(_version(),)]:
            return con, frozenset(name for (name,) in con.execute("select shard from idx.loaded").fetchall())
    con.close()
    return None, None


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def discard_if_damaged(layout: Layout, error: Exception) -> bool:
    """Remove the index when an error of DuckDB says that its file is damaged; returns whether it was removed."""
    text = str(error).lower()
    if "corrupt" not in text and "checksum" not in text:
        return False
    with suppress(OSError):
        layout.index.unlink()
        return True
    return False


def _version() -> str:
    return f"{views.INDEX_VERSION}.{schema.SCHEMA_VERSION}"


def update(layout: Layout, found: Scan, present: frozenset[str] | None, warnings: list[str]) -> str:
    """Make an index of exactly these shards: from the old one when shards were only added, else from nothing.

    `present` names the shards of the old index, None when there is none that can be used.
    Returns `updated` or `rebuilt`, or `in memory` when the store cannot be written to. Raises StaleError.
    """
    if layout.read_only or not os.access(layout.root, os.W_OK):
        return "in memory"
    if present is None and layout.index.exists():
        warnings.append("the index was unusable and is rebuilt from the shards")
    sweep(layout.root)
    draft = temporary(layout.root, layout.index.name)
    try:
        if present is not None and present <= found.names:
            shutil.copyfile(layout.index, draft)
            state, new = "updated", [s for s in found.shards if s.name not in present]
        else:
            state, new = "rebuilt", list(found.shards)
        _build(draft, new, layout, warnings)
        draft.replace(layout.index)
        sync_folder(layout.root)
    except (OSError, _duckdb_error()) as error:
        # After "disk full" a DuckDB connection is dead: it is closed, the draft goes, this reader works in memory.
        warnings.append(f"the index could not be written ({error}); the answer was made from the shards alone")
        return "in memory"
    finally:
        for leftover in (draft, draft.with_name(draft.name + ".wal")):
            with suppress(OSError):
                leftover.unlink()
    return state


def _build(path: Path, shards: Sequence[Shard], layout: Layout, warnings: list[str]) -> None:
    con = connect()
    try:
        con.execute(f"attach {_quoted(path)} as idx")
        _fill(con, shards, layout, warnings)
        con.execute("checkpoint idx")
        con.execute("detach idx")
    finally:
        con.close()


def _fill(con: duckdb.DuckDBPyConnection, shards: Sequence[Shard], layout: Layout, warnings: list[str]) -> None:
    """Load shards into `idx`, which is empty or holds earlier ones, and choose the attempts that count."""
    if _scalar(con, "select count(*) from duckdb_tables() where database_name = 'idx'") == 0:
        con.execute(views.TABLES)
        con.execute("insert into idx.meta values ('version', ?)", [_version()])
    with ThreadPoolExecutor(READERS) as pool:
        for start in range(0, len(shards), BATCH_SHARDS):
            batch = pool.map(lambda shard: _sound(shard, layout, warnings), shards[start : start + BATCH_SHARDS])
            if found := [table for table in batch if table is not None]:
                _load(con, found)
    con.execute(views.SELECT)


def _sound(shard: Shard, layout: Layout, warnings: list[str]) -> pa.Table | None:
    """A shard's rows; None, and a warning, when it was damaged since it was verified. Raises StaleError."""
    import pyarrow as pa

    try:
        table = read_table(shard.path, views.LOADED)
    except FileNotFoundError as error:
        raise StaleError from error
    except DamagedError as damage:
        warnings.append(quarantine(layout, shard.path, str(damage)))
        return None
    return table.append_column("shard", pa.array([shard.name] * len(table), pa.string()))


def _load(con: duckdb.DuckDBPyConnection, batch: Sequence[pa.Table]) -> None:
    import pyarrow as pa

    table = pa.concat_tables(batch)
    first = _scalar(con, "select coalesce(max(record) + 1, 0) from idx.records")
    table = table.append_column("record", pa.array(range(first, first + len(table)), pa.int64()))
    con.register("incoming", table)
    con.execute(views.LOAD)
    con.execute("insert into idx.loaded select shard, count(*) from incoming group by shard")
    con.unregister("incoming")


def _scalar(con: duckdb.DuckDBPyConnection, query: str) -> Any:
    return con.execute(query).fetchall()[0][0]  # drained: DuckDB 2 refuses new work over an unfinished result
