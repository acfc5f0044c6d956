"""HTML tables, parsed by lxml, which takes unclosed tags, quotes and comments in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, takewhile
from typing import Any

from leaderboard.claims.importers.bounds import MAX_CELL_CHARACTERS, MAX_COLUMNS, MAX_ROWS
from leaderboard.claims.importers.grid import PLAIN, Cell, Piece, SourceTable, Style, clean
from leaderboard.claims.importers.mapping import Mapping

STYLES: dict[str, dict[str, Any]] = {
    "b": {"bold": True}, "strong": {"bold": True}, "u": {"underline": True}, "ins": {"underline": True},
    "i": {"italic": True}, "em": {"italic": True}, "sup": {"level": "sup"}, "sub": {"level": "sub"},
    "small": {"small": True}, "font": {}, "span": {}, "td": {}, "th": {},
}  # fmt: skip
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BREAKS = frozenset({"br", "p", "div", "li", "table", "tr", "td", "th"})
_UNSHOWN = ("script", "style", "template", "noscript", "svg", "textarea", "title")


def parse(source: str) -> Any:
    """The tree of a document or of a fragment, without what is not shown; None for an empty one."""
    from lxml import etree

    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    root = etree.fromstring(source.encode(errors="replace"), parser) if source.strip() else None
    if root is not None:
        etree.strip_elements(root, *_UNSHOWN, with_tail=False)
    return root


def read(source: str, path: str, mapping: Mapping) -> tuple[list[SourceTable], list[str]]:
    """Tables in the order of the source; a nested table's text belongs to the cell around it."""
    root, place = parse(source), _Place(source)
    found: list[SourceTable] = []
    heading = ""
    for element in () if root is None else root.iter("table", *_HEADINGS):
        if element.tag != "table":
            heading = _text(element)[:1000]
        elif not _is_nested(element):
            own = (cell for cell in element.iter("td", "th") if next(cell.iterancestors("table")) is element)
            rows = [(row.getparent(), list(cells)) for row, cells in groupby(own, lambda cell: cell.getparent())]
            cells = [[_cell(cell, place) for cell in row] for _, row in rows]
            head = sum(parent is not None and parent.tag == "thead" for parent, _ in rows)
            caption = f"{heading} {_text(element.find('caption'))[:1000]}".strip()
            label = element.get("id", "")[:200]
            if cells:
                name = f"Table {len(found) + 1}"
                found.append(SourceTable(cells, name, element.sourceline, head or _headers(cells), caption, label))
    return found, []


def _is_nested(table: Any) -> bool:
    return next(table.iterancestors("table"), None) is not None


def _text(element: Any) -> str:
    return "" if element is None else " ".join("".join(piece.text for piece in pieces_of(element)).split())


def _headers(rows: list[list[Cell]]) -> int | None:
    """The leading rows of nothing but th, where no thead says which they are."""
    return sum(1 for _ in takewhile(lambda row: all(cell.header for cell in row), rows)) or None


class _Place:
    """Line and column of one cell after the other."""

    def __init__(self, source: str) -> None:
        self._lines, self._line, self._at = source.split("\n"), 0, 0

    def of(self, text: str, line: int) -> tuple[int, int]:
        """Where a text stands that is behind the last one; a tree keeps lines only."""
        self._line, self._at = line, self._at if line == self._line else 0
        found = self._lines[line - 1].find(text, self._at, self._at + 5000) if line <= len(self._lines) else -1
        self._at = self._at if found < 0 else found + len(text)
        return line, (self._at if found < 0 else found) + 1


def _cell(element: Any, place: _Place) -> Cell:
    pieces = tuple(pieces_of(element))
    shown = next((piece.text.strip() for piece in pieces if piece.text.strip()), "")
    rows, columns = _span(element.get("rowspan"), MAX_ROWS), _span(element.get("colspan"), MAX_COLUMNS)
    return Cell(pieces, *place.of(shown, element.sourceline), rows, columns, element.tag == "th")


def pieces_of(element: Any) -> Iterator[Piece]:
    """The text inside of an element, each piece with its style; a span of the class `math` is LaTeX."""
    from lxml import etree

    styles, length = [PLAIN], 0
    for event, inner in etree.iterwalk(element, events=("start", "end")):
        if event == "start":
            styles.append(_styled(styles[-1]._replace(**STYLES.get(inner.tag, {})), inner))
            text = f"{' ' if inner.tag in _BREAKS else ''}{inner.text or ''}"
        else:
            styles.pop()
            text = (inner.tail or "") if inner is not element else ""
        length += len(text)
        if length > 2 * MAX_CELL_CHARACTERS or not text:
            continue
        if event == "start" and "math" in inner.get("class", "").split():
            yield from (piece._replace(style=_both(styles[-1], piece.style)) for piece in _latex(text))
        else:
            yield Piece(clean(text), styles[-1])


def _latex(text: str) -> tuple[Piece, ...]:
    from leaderboard.claims.importers.latex.cells import CellReader
    from leaderboard.claims.importers.latex.tokens import tokenize

    return CellReader({}).read(tokenize(text), 0, 0).pieces


def _both(outer: Style, inner: Style) -> Style:
    """The style of a piece of LaTeX within styled text."""
    marks = {name: getattr(outer, name) or getattr(inner, name) for name in ("bold", "underline", "italic")}
    return inner._replace(**marks)


def _span(value: str | None, limit: int) -> int:
    text = (value or "1").strip()
    return max(1, min(int(text), limit)) if re.fullmatch(r"\d{1,9}", text, re.ASCII) else 1


def _styled(style: Style, element: Any) -> Style:
    """Bold, underline and colour out of a `style` or `color` attribute."""
    css = element.get("style", "")[:500].lower().replace(" ", "")
    color = element.get("color") or next(iter(re.findall(r"(?<![-\w])color:([^;]+)", css)), "")
    return style._replace(
        bold=style.bold or "font-weight:bold" in css or "font-weight:7" in css,
        underline=style.underline or "text-decoration:underline" in css,
        color=color[:40] or style.color,
    )
