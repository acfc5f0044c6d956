"""CSV and TSV tables: one header row, delimiter found by trying."""

from __future__ import annotations

import csv
import io

from benchmark.errors import DataError
from leaderboard.claims.importers.bounds import MAX_CELL_CHARACTERS
from leaderboard.claims.importers.grid import Cell, SourceTable, cell_of
from leaderboard.claims.importers.mapping import Mapping

_DELIMITERS = (",", ";", "\t", "|")
_SNIFFED_LINES = 20


def read(text: str, path: str, mapping: Mapping) -> tuple[list[SourceTable], list[str]]:
    """The one table of a delimited file. Lines that start with `#` before the header are its caption."""
    lines = text.split("\n")
    comments = 0
    while comments < min(len(lines), 50) and (lines[comments].startswith("# ") or not lines[comments].strip()):
        comments += 1
    caption = " ".join(line.removeprefix("# ").strip() for line in lines[:comments]).strip()
    body = "\n".join(lines[comments:])
    rows = _rows(body, path, comments)
    if not rows:
        return [], []
    name = path.replace("\\", "/").rpartition("/")[2]
    return [SourceTable(rows, name, comments + 1, 1, caption[:2000])], []


def _rows(text: str, path: str, offset: int) -> list[list[Cell]]:
    reader = csv.reader(io.StringIO(text), delimiter=_delimiter(text), skipinitialspace=True)
    rows: list[list[Cell]] = []
    try:
        while True:
            line = reader.line_num + 1 + offset
            values = next(reader, None)
            if values is None:
                return rows
            if values:
                rows.append([cell_of(value, line, column) for column, value in enumerate(values, start=1)])
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num + offset}: expected a delimited row: {error}") from error


def _delimiter(text: str) -> str:
    """The delimiter that splits the first lines into the most columns of equal number."""
    lines = [line[:MAX_CELL_CHARACTERS] for line in text[:200_000].split("\n")[:_SNIFFED_LINES] if line.strip()]
    best, most = ",", 1
    for delimiter in _DELIMITERS:
        widths = []
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        except csv.Error:
            continue
        if widths and widths[0] > most and sum(width == widths[0] for width in widths) * 4 >= len(widths) * 3:
            best, most = delimiter, widths[0]
    return best
