"""Immutable result files: writing, verifying, reading, setting damaged ones aside."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.errors import StoreError
from benchmark.records import CellRecord
from benchmark.store import schema
from benchmark.store.layout import (
    SHARD_NAME,
    Layout,
    digest,
    file_digest,
    now,
    read_json,
    storing,
    sweep,
    write_bytes,
    write_json,
)

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

CACHE_VERSION = 1
SEGMENT = "segment."
"""Beginning of the name of a shard that came from compaction."""
LISTED_NAMES = [
    "finals.list.element.name",
    *(f"{name}.list.element.{part}" for name, kind in schema.ROWS.items() for part in schema.texts_of(kind)),
]
LISTED_VALUES = [f"{name}.list.element.value" for name in ("finals", "curve", "points")]
LISTED_VALUES.append("arrays.list.element.values.list.element")
LISTED_NUMBERS = [f"points.list.element.{part}" for part in ("layer", "head")]
STEPS = ["curve.list.element.step", "points.list.element.step"]
LONG = [*LISTED_NAMES, *LISTED_VALUES, *LISTED_NUMBERS, *STEPS, "resolved", "provenance", "error"]
FORM: dict[str, Any] = {
    "compression": dict.fromkeys(LONG, "zstd"),
    "use_dictionary": [*LISTED_NAMES, *LISTED_NUMBERS],
    "column_encoding": {
        **dict.fromkeys(LISTED_VALUES, "BYTE_STREAM_SPLIT"),
        **dict.fromkeys(STEPS, "DELTA_BINARY_PACKED"),
    },
    "store_schema": False,
    "write_statistics": False,
    "write_page_checksum": True,
}
"""How a file of records is written, for pyarrow: a checksum per page; only what is long or repeats is compressed or
given a dictionary (half the time to open a small file again). Exponents are alike and mantissas are not, so the bytes
of values lie apart; steps are kept as differences; the Arrow schema, which the Parquet one says too, is left out."""


@dataclass(frozen=True)
class Shard:
    """One verified file of the store."""

    path: Path
    size: int
    mtime_ns: int
    schema_version: int
    rows: int

    @property
    def name(self) -> str:
        """File name, unique in the store and bound to the content."""
        return self.path.name

    @property
    def is_segment(self) -> bool:
        """Whether it came from compaction."""
        return self.path.name.startswith(SEGMENT)


@dataclass(frozen=True)
class Scan:
    """What a look at the shards folder found."""

    shards: tuple[Shard, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """Names of all good shards."""
        return frozenset(shard.name for shard in self.shards)


def encode(table: pa.Table) -> bytes:
    """A Parquet file as bytes."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with writer(sink, table.schema) as file:
        file.write_table(table)
    return bytes(sink.getvalue())


def writer(sink: Any, columns: pa.Schema | None = None) -> pq.ParquetWriter:
    """A writer of records, in `FORM` and with the schema version in the file's metadata."""
    import pyarrow.parquet as pq

    columns = columns or schema.arrow_schema()
    file = pq.ParquetWriter(sink, columns, **FORM)
    file.add_key_value_metadata(columns.metadata)
    return file


def write_shard(layout: Layout, records: Sequence[CellRecord]) -> Path:
    """Store records for good; once this returns they survive a kill and a power cut.

    Raises StoreError (bad record, disk full, no permission); nothing is left behind then.
    """
    if not records:
        raise StoreError("a shard needs at least one record")
    return write_table(layout, records[0].attempt_id, schema.to_table(records))


def write_table(layout: Layout, stem: str, table: pa.Table) -> Path:
    """Store a table of the shard schema under `<stem>-<digest>.parquet`."""
    data = encode(table)
    target = layout.shards / f"{stem}-{digest(data)}.parquet"
    with storing("a result", target):
        layout.shards.mkdir(parents=True, exist_ok=True)
        write_bytes(target, data)
    return target


def scan(layout: Layout, *, verify_all: bool = False) -> Scan:
    """Look at every file in the shards folder; each new one is hashed, damaged ones go to quarantine.

    Raises StoreError when a shard was written by a newer InitBench, or when the folder cannot be listed.
    """
    return _Scanner(layout, verify_all).run()


@dataclass
class _Scanner:
    layout: Layout
    verify_all: bool
    warnings: list[str] = field(default_factory=list)
    learned: bool = False

    def run(self) -> Scan:
        known = {} if self.verify_all else _known(self.layout)
        shards = [shard for entry in self._entries() if (shard := self._shard(entry, known))]
        shards.sort(key=lambda shard: shard.name)
        if self.learned or len(known) > 2 * len(shards) + 100:
            _remember(self.layout, shards)
        return Scan(tuple(shards), tuple(self.warnings))

    def _entries(self) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.layout.shards) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"cannot list {self.layout.shards}: {error.strerror}") from error
        if not self.layout.read_only and any(entry.name.endswith(".tmp") for entry in found):
            sweep(self.layout.shards)
        return [entry for entry in found if self._is_shard_name(entry.name)]

    def _is_shard_name(self, name: str) -> bool:
        if SHARD_NAME.fullmatch(name):
            return True
        if not name.startswith("."):
            self.warnings.append(
                f"{self.layout.shards / name} is no shard of this store and was ignored "
                "(results from elsewhere come in with `bench import`)"
            )
        return False

    def _shard(self, entry: os.DirEntry[str], known: dict[str, Any]) -> Shard | None:
        path = self.layout.shards / entry.name
        try:
            stat = path.stat()
            found = known.get(entry.name)
            if found is not None and found[:2] == [stat.st_size, stat.st_mtime_ns]:
                schema.require_readable(found[2], path.name)
                return Shard(path, *found)
            version, rows = inspect(path)
        except FileNotFoundError:
            return None  # compacted or merged away since the folder was listed
        except DamagedError as damage:
            self.warnings.append(quarantine(self.layout, path, str(damage)))
            return None
        except OSError as error:
            self.warnings.append(f"{path} cannot be read now ({error.strerror}); its cells are not counted")
            return None
        self.learned = True
        return Shard(path, stat.st_size, stat.st_mtime_ns, version, rows)


class DamagedError(Exception):
    """A shard's content is not what was written; the message says how it shows."""


class StaleError(Exception):
    """The shards changed while they were read; look again."""


def inspect(path: Path) -> tuple[int, int]:
    """Verify a shard's checksum and footer; returns its schema version and number of rows.

    Raises DamagedError, OSError, or StoreError for a newer schema.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    verify(path)
    try:
        metadata = pq.read_metadata(path)
        return schema.version_of(metadata.metadata, path.name), int(metadata.num_rows)
    except (pa.ArrowException, ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DamagedError(f"is not a shard: {error}") from error


def verify(path: Path) -> None:
    """Compare a shard's content with the digest in its name. Raises DamagedError, OSError."""
    compare(file_digest(path), path, path.stat().st_size)


def compare(found: str, path: Path, size: int) -> None:
    """Raise DamagedError unless a digest is the one in the shard's name."""
    if found != (expected := expected_digest(path)):
        raise DamagedError(f"checksum is {found}, expected {expected} ({size} bytes)")


def expected_digest(path: Path) -> str:
    """The digest a shard's name promises."""
    match = SHARD_NAME.fullmatch(path.name)
    if match is None:
        raise DamagedError(f"{path.name} is not named <attempt>-<digest>.parquet")
    return match["digest"]


def read_table(path: Path, columns: Iterable[str] | None = None) -> pa.Table:
    """A shard as a table of the present schema, made from the very bytes whose checksum was compared.

    A file without a digest in its name (an export) is checked page by page.
    Raises DamagedError, FileNotFoundError, StoreError for a newer schema.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = path.read_bytes()
    if SHARD_NAME.fullmatch(path.name):
        compare(digest(data), path, len(data))
    try:
        with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True, pre_buffer=False) as file:
            version = schema.version_of(file.schema_arrow.metadata, path.name)
            table = file.read(columns=schema.narrow(columns), use_threads=False)
    except (pa.ArrowException, ValueError, OSError) as error:
        raise DamagedError(f"is damaged: {error}") from error
    return schema.migrate(table, version).select(schema.narrow(columns))


def dataset(found: Scan) -> pa.dataset.Dataset:
    """The rows of all shards with the name of each row's in `shard`, read from the files whenever it is asked.

    Pages are checked against their checksums; a question about some shards opens no others.
    """
    import pyarrow as pa
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    form = ds.ParquetFileFormat(default_fragment_scan_options=ds.ParquetFragmentScanOptions(
        page_checksum_verification=True, pre_buffer=False
    ))  # fmt: skip
    return ds.FileSystemDataset.from_paths(
        [str(shard.path) for shard in found.shards],
        schema=schema.arrow_schema().append(pa.field("shard", pa.string())),
        format=form,
        filesystem=LocalFileSystem(),
        partitions=[ds.field("shard") == shard.name for shard in found.shards],
    )


def quarantine(layout: Layout, path: Path, reason: str) -> str:
    """Set a damaged shard aside with its reason; returns the warning to show. Never raises."""
    target = layout.quarantine / path.name
    if layout.read_only:
        return f"shard {path} is damaged ({reason}); not counted"
    try:
        layout.quarantine.mkdir(parents=True, exist_ok=True)
        path.replace(target)
        write_json(target.with_name(target.name + ".reason"), {"shard": path.name, "reason": reason, "found_at": now()})
    except OSError as error:
        return f"shard {path.name} is damaged ({reason}) and was left where it is ({error.strerror}); not counted"
    return f"shard {path.name} is damaged ({reason}) and was moved to {layout.quarantine}; its cells will run again"


def _known(layout: Layout) -> dict[str, Any]:
    cached = read_json(layout.verified)
    if not isinstance(cached, dict) or cached.get("version") != CACHE_VERSION:
        return {}
    shards = cached.get("shards")
    return {k: v for k, v in shards.items() if _is_entry(v)} if isinstance(shards, dict) else {}


def _is_entry(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 4 and all(isinstance(item, int) for item in value)


def _remember(layout: Layout, shards: Sequence[Shard]) -> None:
    """Best effort: a store that cannot be written to is hashed again next time."""
    if layout.read_only:
        return
    entries = {s.name: [s.size, s.mtime_ns, s.schema_version, s.rows] for s in shards}
    with suppress(OSError):
        write_json(layout.verified, {"version": CACHE_VERSION, "shards": entries}, durable=False)
