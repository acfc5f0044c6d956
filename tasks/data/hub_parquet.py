"""Parquet files in the layout of the Hugging Face hub: images as struct<bytes, path> with a label, or a text column."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.errors import DataError

BATCH = 1024


def open_parquet(path: Path) -> Any:
    """A Parquet file, footer read.

    Raises:
        DataError: not Parquet, truncated, or unreadable.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: expected a Parquet file: {first_line(error)}") from None


def class_names(file: Any, label_column: str) -> tuple[str, ...]:
    """Class names from the schema's `huggingface` metadata; empty when it has none."""
    raw = (file.schema_arrow.metadata or {}).get(b"huggingface")
    try:
        feature = json.loads(raw or b"{}")["info"]["features"][label_column]
        return tuple(map(str, feature.get("names", ())))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ()


def image_rows(path: Path, image_column: str, label_column: str) -> Iterator[tuple[bytes, int]]:
    """Encoded bytes and label of every row.

    Raises:
        DataError: a column is missing or of another type, or a row has no bytes or label.
    """
    with open_parquet(path) as file:
        check_image_columns(path, file.schema_arrow, image_column, label_column)
        row = 0
        for batch in batches(path, file, [image_column, label_column]):
            encoded = batch.column(image_column).field("bytes")
            for image, label in zip(encoded, batch.column(label_column).to_pylist(), strict=True):
                if label is None or not image.is_valid:
                    raise DataError(f"{path}, row {row}: no {'label' if label is None else 'image bytes'}")
                yield image.as_py(), label
                row += 1


def check_image_columns(path: Path, schema: Any, image_column: str, label_column: str) -> None:
    """Refuse a file whose columns are not struct<bytes, path> and integer.

    Raises:
        DataError: with the columns that are there.
    """
    import pyarrow as pa

    found = {item.name: item.type for item in schema}
    image, label = found.get(image_column), found.get(label_column)
    is_image = image is not None and pa.types.is_struct(image) and has_bytes(image)
    if not is_image or label is None or not pa.types.is_integer(label):
        raise DataError(
            f"{path}: expected columns {image_column} (struct<bytes, path>) and {label_column} (integer), "
            f"found {columns(schema)}"
        )


def has_bytes(struct: Any) -> bool:
    """Whether a struct type has a binary field `bytes`."""
    import pyarrow as pa

    index = struct.get_field_index("bytes")
    return bool(index >= 0) and struct[index].type in (pa.binary(), pa.large_binary())


@dataclass
class TextReport:
    """What was found in text rows; nothing is dropped or repaired."""

    rows: int = 0
    empty: int = 0
    """Rows with nothing but white space."""
    mojibake: int = 0
    """Rows with UTF-8 that was once read as cp1252 (for example `â€™` for `’`)."""
    examples: list[str] = field(default_factory=list)
    """First mis-encoded rows, cut."""


MOJIBAKE = ("â€", "Ã©", "Ã¨", "Â ", "ï»¿", "\ufffd")


def text_rows(path: Path, column: str = "text", report: TextReport | None = None) -> Iterator[str]:
    """Every row's text, as it is; `report` counts the empty and the mis-encoded ones.

    Raises:
        DataError: no such column of strings, a null row, or bytes that are not UTF-8.
    """
    import pyarrow as pa

    with open_parquet(path) as file:
        found = {item.name: item.type for item in file.schema_arrow}.get(column)
        if found is None or not (pa.types.is_string(found) or pa.types.is_large_string(found)):
            raise DataError(f"{path}: expected a column {column} of strings, found {columns(file.schema_arrow)}")
        row = 0
        for batch in batches(path, file, [column]):
            for text in strings(path, batch.column(column), row):
                if report is not None:
                    note(report, text)
                yield text
            row += batch.num_rows


def strings(path: Path, array: Any, first: int) -> list[str]:
    """A batch of strings as Python text.

    Raises:
        DataError: a null, or bytes that are not UTF-8.
    """
    try:
        rows: list[str | None] = array.to_pylist()
    except UnicodeDecodeError as error:
        raise DataError(f"{path}, rows {first} to {first + len(array) - 1}: not UTF-8: {error}") from None
    if None in rows:
        raise DataError(f"{path}, row {first + rows.index(None)}: expected text, found null")
    return rows  # type: ignore[return-value]


def note(report: TextReport, text: str) -> None:
    """Count one row."""
    report.rows += 1
    report.empty += not text.strip()
    if any(mark in text for mark in MOJIBAKE):
        report.mojibake += 1
        if len(report.examples) < 3:
            report.examples.append(text[:80])


def batches(path: Path, file: Any, names: list[str]) -> Iterator[Any]:
    """Record batches of some columns.

    Raises:
        DataError: damaged pages.
    """
    import pyarrow as pa

    try:
        yield from file.iter_batches(BATCH, columns=names)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: damaged: {first_line(error)}") from None


def columns(schema: Any) -> str:
    """Columns and their types, for messages."""
    return ", ".join(f"{item.name} ({item.type})" for item in schema) or "none"


def first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
