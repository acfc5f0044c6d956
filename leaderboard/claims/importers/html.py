"""HTML tables, read as a stream: no tree is built, so neither depth nor unclosed tags cost memory."""

from __future__ import annotations

from benchmark.errors import DataError
from leaderboard.claims.importers.bounds import MAX_COLUMNS, MAX_ROWS, MAX_TABLES
from leaderboard.claims.importers.grid import PLAIN, Cell, Piece, SourceTable, Style, clean
from leaderboard.claims.importers.mapping import Mapping
from leaderboard.claims.importers.positions import Positions
from leaderboard.claims.importers.tags import attributes_of, events

_STYLES: dict[str, dict[str, object]] = {
    "b": {"bold": True}, "strong": {"bold": True}, "u": {"underline": True}, "ins": {"underline": True},
    "i": {"italic": True},
    "em": {"italic": True}, "sup": {"level": "sup"}, "sub": {"level": "sub"}, "small": {"small": True}, "font": {},
    "span": {},
}  # fmt: skip
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_MAX_STYLES = 200


def read_html(source: str, path: str, mapping: Mapping) -> tuple[list[SourceTable], list[str]]:
    """Tables in the order of the source; a nested table's text belongs to the cell around it."""
    reader = _Reader(source, path)
    for event in events(source):
        reader.offset = event.offset
        if event.kind == "text":
            reader.text(event.text)
        elif event.kind == "start":
            reader.start(event.text, event.attributes)
        else:
            reader.end(event.text)
    reader.end_table()
    return reader.tables, []


class _Reader:
    def __init__(self, source: str, path: str) -> None:
        self.offset = 0
        self._positions = Positions(source)
        self.tables: list[SourceTable] = []
        self._path = path
        self._depth = 0
        self._rows: list[list[Cell]] = []
        self._header_rows = 0
        self._in_head = False
        self._cell: Cell | None = None
        self._pieces: list[Piece] = []
        self._length = 0
        self._styles: list[tuple[str, Style]] = []
        self._collect: list[str] | None = None
        self._heading = ""
        self._caption = ""
        self._label = ""
        self._line = 1

    def start(self, tag: str, attributes: str) -> None:
        """An opening tag, with its attributes as written."""
        if tag == "table":
            self._begin_table(attributes_of(attributes))
        elif self._depth == 0:
            if tag in _HEADINGS:
                self._collect = []
        elif self._depth > 1:
            self._add(" ")
        elif tag in ("td", "th"):
            self._begin_cell(tag, attributes_of(attributes))
        elif tag == "tr":
            self._end_cell()
            self._begin_row()
        elif tag in ("thead", "tbody", "tfoot"):
            self._end_cell()
            self._in_head = tag == "thead"
        elif tag == "caption":
            self._collect = []
        elif tag in ("br", "p", "div", "li"):
            self._add(" ")
        elif tag in _STYLES:
            self._push(tag, attributes_of(attributes))

    def end(self, tag: str) -> None:
        """A closing tag; one that closes nothing is left out."""
        if tag == "table" and self._depth:
            self._depth -= 1
            if self._depth == 0:
                self.end_table()
        elif tag in _HEADINGS or tag == "caption":
            self._end_collect(tag)
        elif self._depth == 1 and tag in ("td", "th", "tr", "thead", "tbody", "tfoot"):
            self._end_cell()
            if tag == "thead":
                self._in_head = False
        elif tag in _STYLES:
            self._pop(tag)

    def text(self, data: str) -> None:
        """A run of text."""
        if self._collect is not None:
            self._collect.append(data[:2000])
        else:
            self._add(data)

    def _place(self) -> tuple[int, int]:
        return self._positions.at(self.offset)

    def _begin_table(self, attrs: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        if len(self.tables) == MAX_TABLES:
            raise DataError(f"{self._path}: expected at most {MAX_TABLES} tables in one file; split it")
        self._rows, self._header_rows, self._in_head, self._caption = [], 0, False, ""
        self._label = (attrs.get("id") or "")[:200]
        self._line = self._place()[0]
        self._collect = None

    def end_table(self) -> None:
        """Store the table that is open, if one is; also called at the end of a file that does not close it."""
        self._end_cell()
        rows = [row for row in self._rows if row]
        if rows:
            caption = " ".join(f"{self._heading} {self._caption}".split())[:2000]
            name = f"Table {len(self.tables) + 1}"
            self.tables.append(SourceTable(rows, name, self._line, self._headers(rows), caption, self._label))
        self._rows, self._depth = [], 0

    def _headers(self, rows: list[list[Cell]]) -> int | None:
        if self._header_rows:
            return min(self._header_rows, len(rows))
        count = 0
        while count < len(rows) and all(cell.header for cell in rows[count]):
            count += 1
        return count or None

    def _begin_row(self) -> None:
        if len(self._rows) >= MAX_ROWS:
            raise DataError(f"{self._path}:{self._place()[0]}: expected at most {MAX_ROWS} rows in one table; split it")
        if self._in_head and (not self._rows or self._rows[-1]):
            self._header_rows += 1
        self._rows.append([])

    def _begin_cell(self, tag: str, attrs: dict[str, str]) -> None:
        self._end_cell()
        if not self._rows:
            self._begin_row()
        if len(self._rows[-1]) >= MAX_COLUMNS:
            raise DataError(f"{self._path}:{self._place()[0]}: expected at most {MAX_COLUMNS} cells in one row")
        line, column = self._place()
        rows, columns = _span(attrs.get("rowspan"), MAX_ROWS), _span(attrs.get("colspan"), MAX_COLUMNS)
        self._cell = Cell((), line, column, rows, columns, tag == "th")
        self._pieces, self._length = [], 0
        self._styles = [("", _styled(PLAIN, attrs))]

    def _end_cell(self) -> None:
        self._end_collect("caption")
        if self._cell is not None:
            self._cell.pieces = tuple(self._pieces)
            self._rows[-1].append(self._cell)
            self._cell = None

    def _end_collect(self, tag: str) -> None:
        if self._collect is None:
            return
        text = " ".join("".join(self._collect).split())[:1000]
        if self._depth:
            self._caption = text
        elif tag != "caption":
            self._heading = text
        self._collect = None

    def _push(self, tag: str, attrs: dict[str, str]) -> None:
        if self._cell is not None and len(self._styles) < _MAX_STYLES:
            self._styles.append((tag, _styled(self._styles[-1][1]._replace(**_STYLES[tag]), attrs)))  # type: ignore[arg-type]

    def _pop(self, tag: str) -> None:
        for index in range(len(self._styles) - 1, 0, -1):
            if self._styles[index][0] == tag:
                del self._styles[index:]
                return

    def _add(self, text: str) -> None:
        if self._cell is None or self._length > 4000:
            return
        text = clean(text)
        if text:
            self._length += len(text)
            self._pieces.append(Piece(text, self._styles[-1][1]))


def _span(value: str | None, limit: int) -> int:
    text = (value or "1").strip()
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        return 1
    return max(1, min(int(text), limit))


def _styled(style: Style, attrs: dict[str, str]) -> Style:
    """Bold, underline and colour out of a `style` attribute."""
    css = (attrs.get("style") or "")[:500].lower().replace(" ", "")
    if "font-weight:bold" in css or "font-weight:7" in css:
        style = style._replace(bold=True)
    if "text-decoration:underline" in css:
        style = style._replace(underline=True)
    color = attrs.get("color")
    if color is None and "color:" in css and "background-color:" not in css:
        color = css.partition("color:")[2].partition(";")[0]
    return style._replace(color=color[:40]) if color else style
