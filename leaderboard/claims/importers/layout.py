"""Find the header rows, the label columns and the blocks of a grid."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from leaderboard.claims.importers.grid import Grid, cell_of
from leaderboard.claims.importers.mapping import TableMapping
from leaderboard.claims.importers.numbers import Number, Reading, is_failure, read_cell
from leaderboard.lexicon import default, read

MAX_HEADER_ROWS = 6
_COUNTED = re.compile(
    r"(?:#|(?:num(?:ber)?|no)\b\.?(?: of)?|avg\.? ?#) ?[\w. ()-]{1,30}"
    r"|(?:\|[a-z]\|)|(?:nodes|edges|classes|features|images|samples|sentences|train|test|size|homophily)(?: size)?"
)
"""What a header row counts below the names of data sets."""


@dataclass
class Block:
    """A header and the rows that it heads; a table may stack several."""

    header: list[int]
    rows: list[int] = field(default_factory=list)


@dataclass
class Layout:
    """Where labels and numbers stand in a grid."""

    blocks: list[Block]
    label_columns: int
    headings: dict[int, str]
    """Row → the group heading above it."""
    counts: list[int] = field(default_factory=list)
    """Header rows such as `#Nodes 183 251`, which are no part of the columns' names."""


class Readings:
    """The parsed cells of a grid, each parsed once."""

    def __init__(self, grid: Grid, entry: TableMapping) -> None:
        self.grid = grid
        self._entry = entry
        self._known: dict[int, Reading] = {}

    def at(self, row: int, column: int) -> Reading:
        cell = self.grid.rows[row][column]
        reading = self._known.get(id(cell))
        if reading is None:
            reading = self._known[id(cell)] = read_cell(cell, self._entry.brackets, self._entry.decimal_comma)
        return reading

    def marked(self, row: int, column: int) -> Number | None:
        """The one number of a cell, also behind a ± of its own."""
        cell = self.grid.rows[row][column]
        bare = re.sub(r"^(?:±|\+/-|\+-)\s*", "", cell.text)
        if bare != cell.text:
            cell = cell_of(bare, cell.line, cell.column)
        found = read_cell(cell, self._entry.brackets, self._entry.decimal_comma).numbers
        return found[0] if len(found) == 1 and found[0].finite else None

    def is_number(self, row: int, column: int) -> bool:
        return bool(self.at(row, column).numbers)

    def is_measured(self, row: int, column: int) -> bool:
        """Whether a cell holds a number, NaN or infinity; words such as `failed` alone make no column of numbers."""
        return any(number.finite or not is_failure(number.printed) for number in self.at(row, column).numbers)


def find_layout(grid: Grid, readings: Readings, entry: TableMapping) -> Layout:
    """Header rows, label columns, stacked blocks and group headings of a grid with at least one row and column."""
    heads = _header_rows(grid, readings, entry)
    labels = _label_columns(grid, readings, entry, heads)
    counts = [row for row in range(heads) if _counts_items(grid, readings, row, labels)]
    again = _repeated_headers(grid, heads)
    layout = Layout([Block([row for row in range(heads) if row not in counts])], labels, {}, counts)
    heading = ""
    for row in range(heads, len(grid.rows)):
        kind = "header" if row in again else _row_kind(grid, readings, row, labels)
        below = bool(heads) and not layout.blocks[-1].rows
        heads_on = not below or not any(cell.text for cell in grid.rows[row][:labels])
        if kind == "heading":
            heading = next(cell.text for cell in grid.rows[row] if cell.text)
        elif row in again or (kind == "header" and heads_on and _heads_numbers(grid, readings, row, labels)):
            if layout.blocks[-1].rows or row == heads == 0:
                layout.blocks.append(Block([]))
                heading = ""
            layout.blocks[-1].header.append(row)
        elif kind != "blank":
            layout.blocks[-1].rows.append(row)
            if heading:
                layout.headings[row] = heading
    return layout


def _repeated_headers(grid: Grid, heads: int) -> frozenset[int]:
    """Rows of numbers in bold throughout that come again word for word: headers of the parts of a table."""
    found: dict[tuple[str, ...], list[int]] = {}
    for at in range(heads, len(grid.rows)):
        row = grid.rows[at]
        pieces = [piece for cell in row for piece in cell.pieces if piece.text.strip()]
        if len({id(cell) for cell in row}) > 2 and pieces and all(piece.style.bold for piece in pieces):
            found.setdefault(tuple(cell.text for cell in row), []).append(at)
    return frozenset(at for rows in found.values() if len(rows) > 1 for at in rows)


def _header_rows(grid: Grid, readings: Readings, entry: TableMapping) -> int:
    if entry.header_rows is not None:
        return min(entry.header_rows, len(grid.rows))
    count = grid.header_rows or 0
    if count > MAX_HEADER_ROWS or any(_has_decimals(readings, row) for row in range(min(count, len(grid.rows)))):
        count = 0
    return min(_leading_text_rows(grid, readings, count), len(grid.rows))


def _has_decimals(readings: Readings, row: int) -> bool:
    """Whether a row can be no header: it holds numbers with a decimal point besides its first cell."""
    found = [readings.at(row, column) for column in range(1, readings.grid.columns)]
    return sum("." in number.printed for reading in found for number in reading.numbers) > len(found) / 2


def _leading_text_rows(grid: Grid, readings: Readings, start: int) -> int:
    """Rows from `start` on that are text through and through, so still header."""
    row = start
    while row < min(len(grid.rows), MAX_HEADER_ROWS):
        kind = _row_kind(grid, readings, row, 1)
        leading_title = kind == "heading" and row == 0 and start == 0
        if kind not in ("header", "blank") and not leading_title:
            break
        first = next((at for at, cell in enumerate(grid.rows[row]) if cell.text), 0)
        labels = not any(readings.is_number(below, first) for below in range(row + 1, len(grid.rows)))
        if start and kind == "header" and labels and grid.rows[row][first] is not grid.rows[row - 1][first]:
            break
        row += 1
    return row


def _row_kind(grid: Grid, readings: Readings, row: int, labels: int) -> str:
    """`blank`, `heading` (one text over the row), `header` (several texts, no number) or `data`."""
    cells = grid.rows[row]
    distinct = {id(cell): column for column, cell in enumerate(cells) if cell.text}
    if not distinct:
        return "blank"
    if len(distinct) == 1:
        column = next(iter(distinct.values()))
        spans = cells[column].column_span > 1
        return "heading" if spans or not readings.is_number(row, column) else "data"
    body = [column for column in distinct.values() if column >= labels]
    if any(readings.is_number(row, column) for column in body):
        return "data"
    if not body or any(readings.at(row, column).missing for column in body):
        return "data"
    return "header"


def _heads_numbers(grid: Grid, readings: Readings, row: int, labels: int) -> bool:
    """Whether numbers follow below the columns with text, so that the row is a new header and not a row of text."""
    columns = [column for column in range(labels, grid.columns) if grid.rows[row][column].text]
    for below in range(row + 1, min(row + 4, len(grid.rows))):
        numbers = sum(readings.is_number(below, column) for column in columns)
        if numbers:
            return numbers * 2 >= len(columns) and len(columns) > 1
    return False


def _label_columns(grid: Grid, readings: Readings, entry: TableMapping, heads: int) -> int:
    """Leading columns without numbers; at least one, even when its labels are numbers."""
    if entry.label_columns is not None:
        return min(entry.label_columns, grid.columns)
    body = range(heads, len(grid.rows))
    count = 0
    while count < grid.columns and (
        not _mostly_numbers(grid, readings, body, count, heads) or _numbers_settings(grid, readings, body, count, heads)
    ):
        count += 1
    if count == 0 and grid.columns > 1 and heads and _describes(_head(grid, heads, 0)):
        count = 1
        while count < grid.columns and not _mostly_numbers(grid, readings, body, count, heads):
            count += 1
    return max(1, min(count, grid.columns - 1)) if grid.columns > 1 else 0


def _numbers_settings(grid: Grid, readings: Readings, body: range, column: int, heads: int) -> bool:
    """Whether a column behind labels holds horizons 96, 192, 336: the corner spans it, or `Avg` is one of them."""
    if not column or not are_settings(readings, body, column):
        return False
    corners = [grid.rows[row][column] for row in range(heads) if grid.rows[row][column].text]
    spanned = any(cell is grid.rows[row][column - 1] for row in range(heads) for cell in corners)
    return spanned or any(read(grid.rows[row][column].text).role == "average" for row in body)


def are_settings(readings: Readings, body: Iterable[int], column: int) -> bool:
    """Whether the numbers of a column are several bare whole ones."""
    found = [number for row in body for number in readings.at(row, column).numbers if number.finite]
    return len({number.printed for number in found}) > 1 and all(
        number.printed.isdecimal() and not (number.style.bold or number.percent or number.spread) for number in found
    )


def _describes(head: str) -> bool:
    return read(head).describes


def _counts_items(grid: Grid, readings: Readings, row: int, labels: int) -> bool:
    """Whether a header row tells how many items each column has: `#Nodes`, `# classes`, `Number of params`."""
    named = _COUNTED.fullmatch(grid.rows[row][0].text.strip().lower()) is not None
    cells = {id(cell): at for at, cell in enumerate(grid.rows[row]) if at >= labels and cell.text}
    return named and row > 0 and bool(cells) and all(readings.is_number(row, at) for at in cells.values())


def _head(grid: Grid, heads: int, column: int) -> str:
    texts = [grid.rows[row][column].text for row in range(heads)]
    return next((text for text in reversed(texts) if text), "")


def _mostly_numbers(grid: Grid, readings: Readings, body: range, column: int, heads: int) -> bool:
    """Whether a column holds numbers (or marks of missing ones) and not labels."""
    named = column > 0 and heads and default().metric(read(_head(grid, heads, column)).text) is not None
    if named and any(character.isdigit() for row in body for character in grid.rows[row][column].text):
        return True
    if all(not grid.rows[row][column].text for row in body):
        return column > 0 and not _followed_by_text(grid, readings, body, column)
    numbers = sum(readings.is_number(row, column) for row in body)
    labels = sum(_is_label(grid, readings, row, column) for row in body)
    return numbers > labels or (numbers == labels == 0 and not any(_is_cross(grid, row, column) for row in body))


def _is_cross(grid: Grid, row: int, column: int) -> bool:
    """Whether a cell says that a component is off, as in a column of ✓ and ✗."""
    return grid.rows[row][column].text in ("✗", "✘", "❌")


def _is_label(grid: Grid, readings: Readings, row: int, column: int) -> bool:
    """Whether a cell of the body holds words of its own: neither a number, a mark of a missing one, nor a heading."""
    cell = grid.rows[row][column]
    reading = readings.at(row, column)
    return bool(cell.text) and cell.column_span == 1 and not reading.numbers and not reading.missing


def _followed_by_text(grid: Grid, readings: Readings, body: range, column: int) -> bool:
    return column + 1 < grid.columns and not any(readings.is_number(row, column + 1) for row in body)
