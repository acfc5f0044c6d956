"""The columns of a shard, and the way between them and `CellRecord`."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast, get_type_hints

from benchmark.errors import StoreError
from benchmark.identity import canonical_json
from benchmark.records import CellRecord, CurvePoint, ProbeArray, ProbePoint
from benchmark.store.layout import SAFE_ID

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 2
VERSION_KEY = b"initbench.schema_version"

KINDS = get_type_hints(CellRecord)
ROWS: dict[str, type[Any]] = {"curve": CurvePoint, "points": ProbePoint, "arrays": ProbeArray}
"""Columns that hold a list of these in each row."""
LISTS = ("finals", *ROWS)
JSON = tuple(name for name, kind in KINDS.items() if kind == dict[str, Any])
INTEGERS = tuple(name for name, kind in KINDS.items() if kind is int)
REALS = tuple(name for name, kind in KINDS.items() if kind is float)
TEXT = tuple(name for name in KINDS if name not in (*INTEGERS, *REALS, *LISTS))
SCALARS = (*TEXT, *INTEGERS, *REALS)
"""Columns of one value a row; all that is known of columns is derived from `CellRecord`."""


def _add_probes(table: pa.Table) -> pa.Table:
    """Version 1 had no recordings of probes."""
    import pyarrow as pa

    for name in ("recordings", "points", "arrays"):
        if name not in table.column_names:
            kind = arrow_schema().field(name)
            empty: list[Any] = ["{}" if name in JSON else []] * len(table)
            table = table.append_column(kind, pa.array(empty, kind.type))
    return table


MIGRATIONS: dict[int, Callable[[pa.Table], pa.Table]] = {1: _add_probes}
"""Schema version → function that makes a table of the next version out of one of that version, or out of some of its
columns: so far columns were only added."""


@functools.cache
def arrow_schema() -> pa.Schema:
    """Schema of the present version; only `error` may be NULL."""
    import pyarrow as pa

    kinds = {
        str: pa.string(), int: pa.int64(), float: pa.float64(), int | None: pa.int32(),
        tuple[int, ...]: pa.list_(pa.int32()), tuple[float, ...]: pa.list_(pa.float32()),
    }  # fmt: skip
    final = pa.struct([pa.field("name", pa.string(), False), pa.field("value", pa.float64(), False)])
    fields = [pa.field(name, pa.string(), KINDS[name] == str | None) for name in TEXT]
    fields += [pa.field(name, pa.int64(), False) for name in INTEGERS]
    fields += [pa.field(name, pa.float64(), False) for name in REALS]
    fields += [pa.field("finals", pa.list_(final), False)]
    for name, row in ROWS.items():
        parts = [pa.field(part, kinds[kind], kind == int | None) for part, kind in get_type_hints(row).items()]
        fields.append(pa.field(name, pa.list_(pa.struct(parts)), False))
    return pa.schema(fields, metadata={VERSION_KEY: str(SCHEMA_VERSION).encode()})


def to_table(records: Sequence[CellRecord]) -> pa.Table:
    """One row per record. Raises StoreError when a record cannot be stored as it is."""
    import pyarrow as pa

    for record in records:
        _check(record)
    schema = arrow_schema()
    columns = {name: [_stored(record, name) for record in records] for name in SCALARS}
    arrays = [pa.array(columns[name], schema.field(name).type) for name in SCALARS]
    finals = _lists([list(record.finals.items()) for record in records], schema.field("finals").type)
    rows = [
        _lists([[tuple(vars(item).values()) for item in getattr(record, name)] for record in records], kind.type)
        for name in ROWS
        if (kind := schema.field(name))
    ]
    return pa.Table.from_arrays([*arrays, finals, *rows], schema=schema)


def _check(record: CellRecord) -> None:
    for name in ("attempt_id", "run_id"):
        if not SAFE_ID.fullmatch(getattr(record, name)):
            raise StoreError(f"{name} must be letters, digits, '.', '_' or '-', not {getattr(record, name)!r}")
    if not record.cell_id:
        raise StoreError(f"a record of {record.task} × {record.initializer} has no cell id")


def _stored(record: CellRecord, name: str) -> Any:
    value = getattr(record, name)
    if name in JSON:
        return _json(record, name, value)
    return _text(value) if isinstance(value, str) else value


def _json(record: CellRecord, name: str, value: Any) -> str:
    try:
        return canonical_json(value)
    except (TypeError, ValueError) as error:
        raise StoreError(f"{name} of cell {record.cell_id[:12]} is not plain JSON: {error}") from error


def _text(value: str) -> str:
    """Tracebacks can hold lone surrogates (undecodable file names); Parquet holds UTF-8 only."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def _lists(rows: Sequence[Sequence[tuple[Any, ...]]], kind: pa.ListType) -> pa.Array:
    """A list<struct> array from rows of tuples, built by column (much faster than from dictionaries)."""
    import pyarrow as pa

    offsets = [0]
    for row in rows:
        offsets.append(offsets[-1] + len(row))
    flat = [item for row in rows for item in row]
    fields = [kind.value_type.field(i) for i in range(kind.value_type.num_fields)]
    children = [pa.array([item[i] for item in flat], field.type) for i, field in enumerate(fields)]
    values = pa.StructArray.from_arrays(children, fields=fields)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, type=kind)


def to_records(table: pa.Table) -> list[CellRecord]:
    """The records of a table, equal to those it was made of (NaN for NaN)."""
    return [_record(row) for row in table.to_pylist()]


def _record(row: Mapping[str, Any]) -> CellRecord:
    values = {name: json.loads(row[name]) if name in JSON else row[name] for name in SCALARS}
    finals = {item["name"]: item["value"] for item in row["finals"]}
    rows: dict[str, Any] = {name: tuple(map(partial(_made, kind), row[name])) for name, kind in ROWS.items()}
    return CellRecord(finals=finals, **rows, **values)


def _made(kind: type[Any], item: Mapping[str, Any]) -> Any:
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in item.items()})


def version_of(metadata: Mapping[bytes, bytes] | None, where: str) -> int:
    """Schema version from a file's key-value metadata. Raises StoreError when it is newer than this program."""
    text = (metadata or {}).get(VERSION_KEY)
    if text is None or not text.isdigit():
        raise ValueError(f"{where} carries no InitBench schema version")
    version = int(text)
    require_readable(version, where)
    return version


def require_readable(version: int, where: str) -> None:
    """Raise StoreError when a schema version is newer than this program."""
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{where} has schema version {version}; this InitBench reads versions up to {SCHEMA_VERSION}. "
            "Install a newer InitBench to read this store."
        )


def migrate(table: pa.Table, version: int) -> pa.Table:
    """Bring a table of an older version to the present one."""
    for step in range(version, SCHEMA_VERSION):
        table = MIGRATIONS[step](table)
    return table


def sql_columns() -> dict[str, str]:
    """Scalar columns in the record's order → their types in DuckDB."""
    return {
        name: "bigint" if name in INTEGERS else "double" if name in REALS else "varchar"
        for name in KINDS
        if name not in LISTS
    }


def texts_of(kind: type[Any]) -> list[str]:
    """Fields of text of what a list column holds."""
    return [name for name, of in get_type_hints(kind).items() if of is str]


def narrow(columns: Iterable[str] | None) -> list[str]:
    """The columns to read, in the schema's order."""
    names = cast("list[str]", arrow_schema().names)
    return names if columns is None else [name for name in names if name in set(columns)]
