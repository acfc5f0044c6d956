"""Results of queries as text and files: nothing rounded, NaN and infinity kept apart from "no value"."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from benchmark.store.layout import whole

if TYPE_CHECKING:
    import duckdb

FileFormat = Literal["parquet", "csv", "json", "markdown"]
CHUNK = 50_000


@dataclass(frozen=True)
class Result:
    """Columns and rows of a query; the rows may be read once."""

    headings: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


def query(con: duckdb.DuckDBPyConnection, text: str) -> Result:
    """Run a query; its rows are fetched in portions as they are asked for. Raises duckdb.Error."""
    answer = con.execute(text)
    return Result(tuple(column[0] for column in answer.description or ()), _portions(answer))


def _portions(answer: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while rows := answer.fetchmany(CHUNK):
        yield from rows


def write_csv(result: Result, file: TextIO) -> None:
    """CSV with a heading; floats with the fewest digits that give the same float back, NULL as nothing."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(result.headings)
    writer.writerows([_cell(value) for value in row] for row in result.rows)


def _cell(value: Any) -> Any:
    return json.dumps(plain(value), ensure_ascii=False) if isinstance(value, dict | list | tuple) else value


def write_json(result: Result, file: TextIO) -> None:
    """A JSON array with one object a line; NaN and infinities are the strings "NaN", "Infinity", "-Infinity"."""
    opening = "["
    for row in result.rows:
        item = dict(zip(unique(result.headings), map(plain, row), strict=True))
        file.write(f"{opening}\n{json.dumps(item, ensure_ascii=False, allow_nan=False)}")
        opening = ","
    file.write("[]\n" if opening == "[" else "\n]\n")


def write_markdown(result: Result, file: TextIO) -> None:
    """A GitHub table, columns padded."""
    headings, *rows = [
        [text(value).replace("|", "\\|").replace("\n", "<br>") for value in row]
        for row in (result.headings, *result.rows)
    ]
    widths = [max(3, *(len(row[i]) for row in [headings, *rows])) for i in range(len(headings))]
    for row in [headings, ["-" * width for width in widths], *rows]:
        file.write("| " + " | ".join(item.ljust(width) for item, width in zip(row, widths, strict=True)) + " |\n")


def text(value: Any) -> str:
    """One value for a reader; NULL is empty, a float has all its digits."""
    if value is None:
        return ""
    return json.dumps(plain(value), ensure_ascii=False) if isinstance(value, dict | list | tuple) else str(value)


def plain(value: Any) -> Any:
    """A value in JSON's own types."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Decimal):
        return float(value)
    return value.total_seconds() if isinstance(value, timedelta) else str(value)


def unique(headings: Sequence[str]) -> list[str]:
    """Headings made distinct: a, a_2, a_3."""
    seen: dict[str, int] = {}
    named = []
    for heading in headings:
        seen[heading] = seen.get(heading, 0) + 1
        named.append(heading if seen[heading] == 1 else f"{heading}_{seen[heading]}")
    return named


WRITERS = {"csv": write_csv, "json": write_json, "markdown": write_markdown}


def as_text(result: Result, form: Literal["csv", "json", "markdown"]) -> str:
    """A result as one string."""
    buffer = io.StringIO()
    WRITERS[form](result, buffer)
    return buffer.getvalue()


def save(con: duckdb.DuckDBPyConnection, text: str, form: FileFormat, path: Path) -> int:
    """Write a query's result to a file, seen only when it is whole; returns the number of rows.

    Raises duckdb.Error, StoreError (disk full ...).
    """
    with whole("the result", path) as draft:
        return _save_parquet(con, text, draft) if form == "parquet" else _save_text(con, text, form, draft)


def _save_text(con: duckdb.DuckDBPyConnection, text: str, form: str, path: Path) -> int:
    result = query(con, text)
    counter = _Counter(result.rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        WRITERS[form](Result(result.headings, iter(counter)), file)
    return counter.count


@dataclass
class _Counter:
    rows: Iterable[tuple[Any, ...]]
    count: int = 0

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for row in self.rows:
            self.count += 1
            yield row


def _save_parquet(con: duckdb.DuckDBPyConnection, text: str, path: Path) -> int:
    import pyarrow.parquet as pq

    table = con.sql(text).to_arrow_table()
    table = table.rename_columns(unique(table.column_names))
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)
    return int(table.num_rows)
