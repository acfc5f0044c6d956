"""Markdown: pipe tables (GitHub's dialect) and HTML tables, named after the heading and the line above them."""

from __future__ import annotations

import html
import re

from benchmark.errors import DataError
from leaderboard.claims.importers.bounds import MAX_COLUMNS, MAX_ROWS, MAX_TABLES
from leaderboard.claims.importers.grid import PLAIN, Cell, Piece, SourceTable, Style, clean
from leaderboard.claims.importers.html import read_html
from leaderboard.claims.importers.latex.cells import CellReader
from leaderboard.claims.importers.latex.tokens import tokenize
from leaderboard.claims.importers.mapping import Mapping

_DELIMITER_CELL = re.compile(r"\s*:?-+:?\s*")
_INLINE = re.compile(
    r"""(?P<escape>\\[!-/:-@\[-`{-~])
       |(?P<math>\$[^$\n]{1,300}\$)
       |(?P<strong>\*\*|__) |(?P<emphasis>\*|_)
       |(?P<tag></?(?:b|strong|u|ins|i|em|sup|sub|small|font|span|br|p|div)(?:\s[^<>]{0,200})?/?>)
       |(?P<anytag></?[a-zA-Z][^<>]{0,300}>)
       |(?P<image>!\[[^\[\]\n]{0,300}\]\([^()\n]{0,500}\))
       |(?P<link>\[(?P<shown>[^\[\]\n]{1,300})\](?:\([^()\s]{0,500}\)|\[[^\[\]\n]{0,100}\]))
       |(?P<footnote>\[\^[^\[\]\s]{1,20}\])
       |(?P<strike>~~) |(?P<code>`+)
       |(?P<text>[^\\$*_<!\[~`]+|.)""",
    re.VERBOSE | re.DOTALL,
)
_TAGS: dict[str, dict[str, object]] = {
    "b": {"bold": True}, "strong": {"bold": True}, "u": {"underline": True}, "ins": {"underline": True},
    "i": {"italic": True},
    "em": {"italic": True}, "sup": {"level": "sup"}, "sub": {"level": "sub"}, "small": {"small": True},
}  # fmt: skip


def read_markdown(source: str, path: str, mapping: Mapping) -> tuple[list[SourceTable], list[str]]:
    """Pipe tables and HTML tables in the order of the source."""
    lines = source.split("\n")
    found: list[SourceTable] = []
    at = 0
    while at < len(lines):
        if _starts_table(lines, at):
            end = _table_end(lines, at)
            found.append(_pipe_table(lines, at, end, path))
            at = end
        else:
            at += 1
        if len(found) > MAX_TABLES:
            raise DataError(f"{path}: expected at most {MAX_TABLES} tables in one file; split it")
    found += _html_tables(lines, source, path, mapping)
    found.sort(key=lambda table: table.line)
    for number, table in enumerate(found, start=1):
        table.name = _said_name(table.caption) or f"Table {number}"
    return found, []


_NAME = re.compile(r"\b(Table|Tab\.) ?(\d{1,3}[a-z]?)\b")


def _said_name(caption: str) -> str:
    match = _NAME.search(caption)
    return f"Table {match.group(2)}" if match else ""


def _starts_table(lines: list[str], at: int) -> bool:
    """A line with a pipe above a line of dashes with as many cells (GitHub's rule)."""
    if at + 1 >= len(lines) or "|" not in lines[at] or "-" not in lines[at + 1]:
        return False
    rule = lines[at + 1].strip()
    if not rule or set(rule) - set("|-: \t") or len(rule) > 20_000:
        return False
    cells = _split(rule)
    return all(_DELIMITER_CELL.fullmatch(cell) for _, cell in cells) and len(cells) == len(_split(lines[at]))


def _table_end(lines: list[str], at: int) -> int:
    end = at + 2
    while end < len(lines) and "|" in lines[end] and lines[end].strip():
        end += 1
    return end


def _split(line: str) -> list[tuple[int, str]]:
    """Cells of one pipe row with the column of each; `\\|` and pipes inside of code do not split."""
    parts: list[tuple[int, str]] = []
    start = 0
    at = 0
    while True:
        at = line.find("|", at)
        if at < 0:
            break
        backslashes = 0
        while at - backslashes > start and line[at - backslashes - 1] == "\\":
            backslashes += 1
        if backslashes % 2 == 0:
            parts.append((start, line[start:at]))
            start = at + 1
        at += 1
    parts.append((start, line[start:]))
    if parts and not parts[0][1].strip():
        parts = parts[1:]
    if parts and not parts[-1][1].strip():
        parts = parts[:-1]
    return parts


def _pipe_table(lines: list[str], at: int, end: int, path: str) -> SourceTable:
    if end - at > MAX_ROWS:
        raise DataError(f"{path}:{at + 1}: expected at most {MAX_ROWS} rows in one table, found {end - at}; split it")
    rows: list[list[Cell]] = []
    for number in (at, *range(at + 2, end)):
        cells = _split(lines[number])
        if len(cells) > MAX_COLUMNS:
            raise DataError(f"{path}:{number + 1}: expected at most {MAX_COLUMNS} columns, found {len(cells)}")
        rows.append([_cell(text, number + 1, start + 1) for start, text in cells])
    return SourceTable(rows, "", at + 1, 1, _caption(lines, at, end))


def _caption(lines: list[str], at: int, end: int) -> str:
    """The last heading and the paragraph line above the table, and a line below that begins with `Table`."""
    parts: list[str] = []
    above = at - 1
    while above >= 0 and at - above < 4 and not lines[above].strip():
        above -= 1
    nearest = lines[above].strip() if above >= 0 else ""
    first = above
    while first > 0 and above - first < 6 and _continues(lines[first - 1]) and not nearest.startswith("#"):
        first -= 1
        nearest = f"{lines[first].strip()} {nearest}"
    if nearest and not nearest.startswith(("|", "```", "<")):
        parts.append(nearest)
    if not nearest.startswith("#"):
        heading = next(
            (lines[row].strip() for row in range(above, max(-1, above - 60), -1) if lines[row].startswith("#")), ""
        )
        parts.insert(0, heading)
    below = next((lines[row].strip() for row in range(end, min(end + 3, len(lines))) if lines[row].strip()), "")
    if re.match(r"[*_]{0,3}(Table|Tab\.) ?\d", below) and not _NAME.search(nearest):
        parts.append(below)
    text = " ".join("".join(piece.text for piece in inline(part.lstrip("#").strip()[:1000])) for part in parts)
    return " ".join(text.split())


def _continues(line: str) -> bool:
    """Whether a line is running text, so that the one below it belongs to the same paragraph."""
    return bool(line.strip()) and not line.lstrip().startswith(("|", "#", "```", "<", "- ", "* ", ">"))


def _html_tables(lines: list[str], source: str, path: str, mapping: Mapping) -> list[SourceTable]:
    if "<table" not in source.lower():
        return []
    tables, _ = read_html(source, path, mapping)
    for table in tables:
        if not table.caption:
            table.caption = _caption(lines, min(table.line - 1, len(lines) - 1), min(table.line - 1, len(lines) - 1))
    return tables


def _cell(text: str, line: int, start: int) -> Cell:
    lead = len(text) - len(text.lstrip())
    return Cell(tuple(inline(text.strip()[:4000].replace("\\|", "|"))), line, start + lead)


_MARKUP = frozenset("\\$*_<![]~`&")


class _Inline:
    """Emphasis toggles. A lone `*` or `_` that nothing closes is itself."""

    def __init__(self, text: str) -> None:
        self.pieces: list[Piece] = []
        self.style = PLAIN
        self._tags: list[tuple[str, Style]] = []
        self._tokens = list(_INLINE.finditer(text))
        self._left = {
            mark: sum(match.group() == mark and self._is_mark(match) for match in self._tokens)
            for mark in ("*", "_", "**", "__")
        }
        self._open: set[str] = set()

    def _is_mark(self, match: re.Match[str]) -> bool:
        """Underscores inside of words (`vit_base_patch16`) and `*` between spaces are no emphasis."""
        mark, text = match.group(), match.string
        before = text[match.start() - 1 : match.start()]
        after = text[match.end() : match.end() + 1]
        if mark[0] == "_":
            return not (before.isalnum() and after.isalnum())
        return not ((not before or before.isspace()) and (not after or after.isspace()))

    def run(self) -> list[Piece]:
        for match in self._tokens:
            kind = match.lastgroup if match.lastgroup != "shown" else "link"
            self._handle(kind or "text", match)
        return self.pieces

    def _handle(self, kind: str, match: re.Match[str]) -> None:
        text = match.group()
        if kind == "escape":
            self._add(text[1:])
        elif kind == "math":
            self._math(text)
        elif kind in ("strong", "emphasis"):
            self._toggle(text, match)
        elif kind == "tag":
            self._tag(text)
        elif kind == "link":
            self.pieces += [Piece(piece.text, self._merge(piece.style)) for piece in inline(match["shown"])]
        elif kind == "footnote":
            self.pieces.append(Piece(text[2:-1], self.style._replace(level="sup")))
        elif kind == "text":
            self._add(html.unescape(text))

    def _merge(self, style: Style) -> Style:
        return style._replace(
            bold=style.bold or self.style.bold,
            underline=style.underline or self.style.underline,
            italic=style.italic or self.style.italic,
        )

    def _add(self, text: str) -> None:
        text = clean(text)
        if text:
            self.pieces.append(Piece(text, self.style))

    def _toggle(self, mark: str, match: re.Match[str]) -> None:
        if not self._is_mark(match):
            self._add(mark)
            return
        self._left[mark] -= 1
        field = "bold" if len(mark) == 2 else "italic"
        if mark in self._open:
            self._open.discard(mark)
            self.style = self.style._replace(**{field: False})  # type: ignore[arg-type]
        elif self._left[mark] > 0:
            self._open.add(mark)
            self.style = self.style._replace(**{field: True})  # type: ignore[arg-type]
        else:
            self._add(mark)

    def _tag(self, text: str) -> None:
        name = re.split(r"[\s/>]", text.lstrip("</"), maxsplit=1)[0].lower()
        if name in ("br", "p", "div"):
            self._add(" ")
        elif text.startswith("</"):
            while self._tags:
                opened, before = self._tags.pop()
                self.style = before
                if opened == name:
                    break
        elif len(self._tags) < 50:
            self._tags.append((name, self.style))
            color = re.search(r"color\s{0,3}[=:]\s{0,3}[\"']?([#\w]{1,30})", text)
            self.style = self.style._replace(**_TAGS.get(name, {}))  # type: ignore[arg-type]
            if color:
                self.style = self.style._replace(color=color.group(1))

    def _math(self, text: str) -> None:
        cell = CellReader({}).read(tokenize(text), 0, 0)
        self.pieces += [Piece(piece.text, self._merge(piece.style)) for piece in cell.pieces]


def inline(text: str) -> list[Piece]:
    """Styled pieces of one line of markdown."""
    if _MARKUP.isdisjoint(text):
        return [Piece(clean(text))] if text else []
    return _Inline(text).run()
