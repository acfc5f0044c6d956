"""Markdown in GitHub's dialect, by markdown-it-py: pipe tables and HTML tables, named after the lines above them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING

from leaderboard.claims.importers.bounds import MAX_CELL_CHARACTERS
from leaderboard.claims.importers.grid import Cell, Piece, SourceTable, cell_of
from leaderboard.claims.importers.html import parse, pieces_of
from leaderboard.claims.importers.html import read as read_html
from leaderboard.claims.importers.mapping import Mapping

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

_NAME = re.compile(r"\b(Table|Tab\.) ?(\d{1,3}[a-z]?)\b")
_MARKUP = frozenset("\\$*_<![]~`&")
_MATH = re.compile(r"\$[^$\n]{1,300}\$")


@lru_cache(maxsize=2)
def _parser(inlines: bool) -> MarkdownIt:
    """Blocks and inlines are parsed apart: most cells are plain numbers, which need no second pass."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    if not inlines:
        parser.core.ruler.disable("inline")
    parser.inline.ruler.before("escape", "math", _math)
    return parser


def _math(state: StateInline, silent: bool) -> bool:
    """`$85.2_{\\pm 0.3}$` as a span of the class `math`, as other renderers write it."""
    match = _MATH.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        state.push("html_inline", "", 0).content = f'<span class="math">{escape(match.group())}</span>'
    state.pos = match.end()
    return True


def inline(text: str) -> tuple[Piece, ...]:
    """Styled pieces of one line of markdown."""
    if _MARKUP.isdisjoint(text):
        return cell_of(text, 0, 0).pieces if text else ()
    noted = re.sub(r"\[\^([^\[\]\s]{1,20})\]", r"<sup>\1</sup>", text[:MAX_CELL_CHARACTERS])
    root = parse(_parser(inlines=True).renderInline(noted))
    return () if root is None else tuple(pieces_of(root))


def read(source: str, path: str, mapping: Mapping) -> tuple[list[SourceTable], list[str]]:
    """Pipe tables and HTML tables in the order of the source."""
    lines = source.split("\n")
    found = list(_pipe_tables(source, lines))
    for table in read_html(source, path, mapping)[0] if "<table" in source.lower() else ():
        table.caption = table.caption or _caption(lines, table.line - 1, table.line - 1)
        found.append(table)
    found.sort(key=lambda table: table.line)
    for number, table in enumerate(found, start=1):
        said = _NAME.search(table.caption)
        table.name = f"Table {said[2] if said else number}"
    return found, []


def _pipe_tables(source: str, lines: list[str]) -> Iterator[SourceTable]:
    rows: list[list[Cell]] = []
    line = start = at = 0
    for token in _parser(inlines=False).parse(source) if "|" in source else ():
        if token.map is not None and token.type in ("table_open", "tr_open"):
            line, at = token.map[0], 0
            if token.type == "table_open":
                rows, start = [], line
            elif "|" in lines[line]:  # else a paragraph right below, which is no row
                rows.append([])
        elif token.type == "inline" and token.level > 2 and rows and "|" in lines[line]:
            text = token.content
            at = max(lines[line].find(text.replace("|", "\\|"), at), at)
            rows[-1].append(Cell(inline(text), line + 1, at + 1))
        elif token.type == "table_close":
            yield SourceTable(rows, "", start + 1, 1, _caption(lines, start, start + len(rows) + 1))
            rows = []


def _caption(lines: list[str], at: int, end: int) -> str:
    """The last heading and the paragraph above the table, and a line below that begins with `Table`."""
    above = next((row for row in range(at - 1, max(-1, at - 5), -1) if lines[row].strip()), -1)
    nearest = lines[above].strip() if above >= 0 else ""
    first = above
    while first > 0 and above - first < 6 and _continues(lines[first - 1]) and not nearest.startswith("#"):
        first -= 1
        nearest = f"{lines[first].strip()} {nearest}"
    parts = [] if nearest.startswith(("|", "```", "<")) else [nearest]
    if not nearest.startswith("#"):
        headings = (lines[row].strip() for row in range(above, max(-1, above - 60), -1) if lines[row].startswith("#"))
        parts.insert(0, next(headings, ""))
    below = next((line.strip() for line in lines[end : end + 3] if line.strip()), "")
    if re.match(r"[*_]{0,3}(Table|Tab\.) ?\d", below) and not _NAME.search(nearest):
        parts.append(below)
    text = " ".join("".join(piece.text for piece in inline(part.lstrip("#").strip()[:1000])) for part in parts)
    return " ".join(text.split())


def _continues(line: str) -> bool:
    """Whether a line is running text, so that the one below it belongs to the same paragraph."""
    return bool(line.strip()) and not line.lstrip().startswith(("|", "#", "```", "<", "- ", "* ", ">"))
