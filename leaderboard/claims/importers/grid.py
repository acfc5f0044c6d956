"""What every format is read into: a rectangular grid of styled cells with their place in the source."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

from leaderboard.claims.importers.bounds import MAX_CELL_CHARACTERS, MAX_CELLS, MAX_COLUMNS, MAX_ROWS, Budget

Level = Literal["base", "sub", "sup"]


class Style(NamedTuple):
    """How a piece of text is set."""

    bold: bool = False
    underline: bool = False
    italic: bool = False
    small: bool = False
    color: str | None = None
    level: Level = "base"


PLAIN = Style()


class Piece(NamedTuple):
    """Text in one style."""

    text: str
    style: Style = PLAIN


@dataclass(slots=True)
class Cell:
    """One cell of the source, with the place of its first character (line and column count from 1)."""

    pieces: tuple[Piece, ...] = ()
    line: int = 0
    column: int = 0
    row_span: int = 1
    column_span: int = 1
    header: bool = False
    note: str = ""
    """Why the cell cannot be trusted, for example a macro that the file does not define."""

    @property
    def text(self) -> str:
        """Plain text, white space collapsed; superscripts and subscripts run on, but an exponent is `10^-3`."""
        if len(self.pieces) == 1:
            return " ".join(self.pieces[0].text.split())
        parts: list[str] = []
        for piece in self.pieces:
            raised = (
                piece.style.level == "sup" and piece.text[:1] in "-−0123456789" and parts and parts[-1][-1:].isdigit()
            )
            parts.append(f"^{piece.text}" if raised else piece.text)
        return " ".join("".join(parts).replace("^−", "^-").split())

    @property
    def length(self) -> int:
        return sum(len(piece.text) for piece in self.pieces)


def cell_of(text: str, line: int, column: int) -> Cell:
    """A cell of unstyled text."""
    return Cell((Piece(clean(text)),), line, column)


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u2060\ufeff]")


def clean(text: str) -> str:
    """Text without control and zero-width characters, cut at the longest cell that is read."""
    return _CONTROL.sub("", text[:MAX_CELL_CHARACTERS])


@dataclass(slots=True)
class SourceTable:
    """A table as the source has it: rows of cells with spans, not yet rectangular."""

    rows: list[list[Cell]]
    name: str
    line: int
    header_rows: int | None = None
    """Rows above the rule (LaTeX), the delimiter (markdown) or in thead (HTML); None when the source does not say."""
    caption: str = ""
    label: str = ""
    spans_repeat_cells: bool = False
    """LaTeX: the rows below a merged cell still have an (empty) cell of their own."""
    notes: list[str] = field(default_factory=list)


@dataclass
class Grid:
    """Rectangular: every row has the same number of cells; a merged cell appears at each place that it covers."""

    rows: list[list[Cell]]
    covered: frozenset[tuple[int, int]]
    """(row, column) of the places that repeat a merged cell."""
    name: str
    line: int
    header_rows: int | None
    caption: str
    label: str
    notes: list[str]

    @cached_property
    def columns(self) -> int:
        return len(self.rows[0]) if self.rows else 0


EMPTY = Cell()


def expand(table: SourceTable, budget: Budget) -> Grid:
    """Make a table rectangular. Merged cells are clipped to the table; raises DataError beyond the bounds."""
    rows = [row for row in table.rows if row]
    budget.spend(len(rows), max((len(row) for row in rows), default=0), table.line)
    canvas = _Canvas(len(rows), budget, table.line)
    if table.spans_repeat_cells:
        _place_repeating(canvas, rows)
    else:
        _place_flowing(canvas, rows)
    width = max((len(row) for row in canvas.slots), default=0)
    budget.spend(len(rows), width, table.line)
    grid = [[cell or EMPTY for cell in row] + [EMPTY] * (width - len(row)) for row in canvas.slots]
    return Grid(
        grid,
        frozenset(canvas.covered),
        table.name,
        table.line,
        table.header_rows,
        table.caption,
        table.label,
        table.notes,
    )


def with_differences_joined(grid: Grid) -> Grid:
    """The grid with columns that hold `(+1.1)` behind each number joined to the column of those numbers."""
    rows = [list(row) for row in grid.rows]
    for column in range(1, grid.columns):
        cells = [row[column] for row in rows[grid.header_rows or 0 :]]
        given = [cell.text for cell in cells if any(map(str.isdecimal, cell.text))]
        signed = [text for text in given if text[:1] == "(" and text[1:2] in "+-−↑↓" and text[-1:] == ")"]
        if not given or len(signed) < len(given):
            continue
        for row in rows[grid.header_rows or 0 :]:
            cell, before = row[column], row[column - 1]
            if any(map(str.isdecimal, cell.text)) and before is not cell and any(map(str.isdecimal, before.text)):
                row[column - 1] = replace(before, pieces=(*before.pieces, Piece(" "), *cell.pieces))
                row[column] = EMPTY
    return replace(grid, rows=rows)


class _Canvas:
    """Rows that grow as cells are put into them."""

    def __init__(self, rows: int, budget: Budget, line: int) -> None:
        self.slots: list[list[Cell | None]] = [[] for _ in range(rows)]
        self.covered: set[tuple[int, int]] = set()
        self._budget = budget
        self._line = line
        self._filled = 0

    def at(self, row: int, column: int) -> Cell | None:
        slots = self.slots[row]
        return slots[column] if column < len(slots) else None

    def put(self, row: int, column: int, cell: Cell, repeats: bool) -> None:
        slots = self.slots[row]
        slots.extend([None] * (column + 1 - len(slots)))
        slots[column] = cell
        if repeats:
            self.covered.add((row, column))
        self._filled += 1
        if self._filled > MAX_CELLS:
            self._budget.spend(MAX_ROWS + 1, column + 1, self._line)

    def fill(self, top: int, left: int, height: int, cell: Cell) -> None:
        """Put a merged cell at every free place that it covers."""
        right = min(left + max(1, cell.column_span), MAX_COLUMNS)
        for row in range(top, min(top + max(1, height), len(self.slots))):
            for column in range(left, right):
                if self.at(row, column) is None:
                    self.put(row, column, cell, repeats=row > top or column > left)


def _place_flowing(canvas: _Canvas, rows: list[list[Cell]]) -> None:
    """HTML's rule: a row's cells flow into the places that cells hanging down from above leave free."""
    for top, row in enumerate(rows):
        left = 0
        for cell in row:
            while canvas.at(top, left) is not None:
                left += 1
            canvas.fill(top, left, cell.row_span, cell)
            left += max(1, cell.column_span)


def _place_repeating(canvas: _Canvas, rows: list[list[Cell]]) -> None:
    """LaTeX's rule: every row has all its cells; those below (for a negative span, above) a \\multirow are empty."""
    merged: list[tuple[int, int, Cell]] = []
    for top, row in enumerate(rows):
        left = 0
        for cell in row:
            canvas.fill(top, left, 1, cell)
            if abs(cell.row_span) > 1:
                merged.append((top, left, cell))
            left += max(1, cell.column_span)
    for top, left, cell in merged:
        _hang(canvas, top, left, cell)


def _hang(canvas: _Canvas, top: int, left: int, cell: Cell) -> None:
    step = 1 if cell.row_span > 0 else -1
    for offset in range(1, min(abs(cell.row_span), len(canvas.slots))):
        row = top + step * offset
        if not 0 <= row < len(canvas.slots):
            return
        occupant = canvas.at(row, left)
        if occupant is not None and occupant.text:
            return
        for column in range(left, min(left + max(1, cell.column_span), MAX_COLUMNS)):
            canvas.put(row, column, cell, repeats=True)
