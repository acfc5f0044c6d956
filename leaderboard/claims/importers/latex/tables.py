"""Find the tables of a LaTeX source and split them into rows and cells."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from leaderboard.claims.importers.bounds import MAX_TABLES
from leaderboard.claims.importers.grid import Cell, SourceTable
from leaderboard.claims.importers.latex.cells import CellReader
from leaderboard.claims.importers.latex.commands import FLOATS, RULES, TABLES
from leaderboard.claims.importers.latex.macros import Expander, collect
from leaderboard.claims.importers.latex.tokens import Positions, Token, argument, option, plain, skip_space, tokenize
from leaderboard.claims.importers.mapping import Mapping

_SUBFLOATS = {"subtable", "subfigure"}
_NUMBERED = {"table", "wraptable", "sidewaystable", "SCtable", "margintable"}
_DEEPEST = 64
"""Environments around one that are looked at; a table deeper than that is not read."""
MAX_CAPTIONS = 8
_LONG_MARKS = ("\\endfirsthead", "\\endhead", "\\endfoot", "\\endlastfoot")


@dataclass(eq=False)
class _Environment:
    name: str
    """Without its star."""
    starred: bool
    start: int
    """Index of the first token behind \\begin{name}."""
    offset: int
    above: tuple[_Environment, ...] = ()
    """The environments around it, the inner ones first."""
    end: int = -1
    """Index of its \\end."""
    captions: list[list[Token]] = field(default_factory=list)
    """Captions that are numbered as tables are."""
    parts: list[list[Token]] = field(default_factory=list)
    """Captions of parts, by \\subcaption."""
    labels: list[str] = field(default_factory=list)

    @property
    def floats(self) -> list[_Environment]:
        """The table itself (a longtable has its own caption) and the floats around it, inner ones first."""
        return [self, *(outer for outer in self.above if outer.name in FLOATS)]

    @property
    def owner(self) -> _Environment:
        """The one whose caption numbers the table: the nearest with a caption, else the outermost float."""
        captioned = (outer for outer in self.floats if outer.captions and outer.name not in _SUBFLOATS)
        return next(captioned, self.floats[-1])

    @property
    def is_read(self) -> bool:
        """Whether it is a table that ends, and within no other one."""
        inside = any(outer.name in TABLES and outer.end > self.start for outer in self.above)
        return self.name in TABLES and self.end >= 0 and not inside and len(self.above) < _DEEPEST


def read(source: str, path: str, mapping: Mapping) -> tuple[list[SourceTable], list[str]]:
    """Tables in the order of the source, and notes on what was left out (files that \\input would add)."""
    tokens = tokenize(source, path)
    expander = Expander(collect(tokens), path)
    positions = Positions(source)
    environments = _environments(tokens)
    found: list[tuple[SourceTable, _Environment]] = []
    for environment in environments:
        if environment.is_read and len(found) <= MAX_TABLES:
            table = _Reader(expander, positions, dict(mapping.macros)).read(tokens, environment)
            found += [(table, environment.owner)] if table is not None else []
    _name_tables(found, environments)
    unclosed = [
        f"\\begin{{{one.name}{'*' * one.starred}}} in line {positions.at(one.offset)[0]} has no \\end and was not read"
        for one in environments
        if one.name in TABLES and one.end < 0
    ]
    return [table for table, _ in found], [*unclosed[:50], *_input_notes(tokens)]


def _name_tables(found: list[tuple[SourceTable, _Environment]], environments: list[_Environment]) -> None:
    """Name the tables as they will be printed: one number per captioned float, letters for the parts of one.

    A float whose rows stand in another file takes its number too. Without any caption the tables are only counted.
    """
    owners = Counter(owner for _, owner in found)
    captioned = [
        one for one in environments
        if one.captions and one.name not in _SUBFLOATS and (one in owners or one.name in _NUMBERED)
    ]  # fmt: skip
    numbers = {owner: number for number, owner in enumerate(captioned or owners, start=1)}
    parts: Counter[_Environment] = Counter()
    for table, owner in found:
        table.name = f"Table {numbers[owner]}" if owner in numbers else f"unnumbered table in line {table.line}"
        if owners[owner] > 1:
            parts[owner] += 1
            table.name += f" ({chr(96 + parts[owner])})" if parts[owner] <= 26 else f" ({parts[owner]})"


def _input_notes(tokens: list[Token]) -> list[str]:
    """\\input and \\include are not followed; the reader is told which files to import as well."""
    notes = []
    for at, token in enumerate(tokens):
        if token.kind == "command" and token.text in ("\\input", "\\include"):
            name = plain(argument(list(tokens[at + 1 : at + 12]), 0)[0])
            notes.append(f"{token.text}{{{name[:80]}}} is not followed; import that file too if it holds tables")
    return notes[:50]


def _environments(tokens: list[Token]) -> list[_Environment]:
    """All environments with ends, captions and labels. An \\end closes the nearest open one of its name."""
    found: list[_Environment] = []
    stack: list[_Environment] = []
    for at, token in enumerate(tokens):
        if token.kind != "command":
            continue
        if token.text in ("\\begin", "\\end"):
            name, behind = _name(tokens, at + 1)
            bare, starred = name.rstrip("*"), name.endswith("*")
            if token.text == "\\begin":
                found.append(_Environment(bare, starred, behind, token.offset, tuple(stack[: -_DEEPEST - 1 : -1])))
                stack.append(found[-1])
                continue
            for depth in range(len(stack) - 1, max(-1, len(stack) - 30), -1):
                if (stack[depth].name, stack[depth].starred) == (bare, starred):
                    stack[depth].end = at
                    del stack[depth:]
                    break
        elif token.text in ("\\caption", "\\captionof", "\\tablecaption", "\\subcaption", "\\label") and stack:
            _attach(tokens, at, stack[-1])
    return found


def _name(tokens: list[Token], at: int) -> tuple[str, int]:
    """The name behind \\begin or \\end, and the index behind it."""
    window = list(tokens[at : at + 8])
    start = skip_space(window, 0)
    if start >= len(window) or window[start].kind != "open" or all(token.kind != "close" for token in window):
        return "", at
    name, behind = argument(window, start)
    return plain(name), at + behind


def _attach(tokens: list[Token], at: int, environment: _Environment) -> None:
    """Store a caption or a label, of each the first few only: a float has one or two."""
    captions = environment.parts if tokens[at].text == "\\subcaption" else environment.captions
    is_label = tokens[at].text == "\\label"
    if len(environment.labels if is_label else captions) >= MAX_CAPTIONS:
        return
    window = list(tokens[at + 1 : at + 1500])
    behind = 1 if window and window[0].kind == "text" and window[0].text == "*" else 0
    if tokens[at].text == "\\captionof":
        behind = argument(window, behind)[1]
    _, behind = option(window, behind)
    content, _ = argument(window, behind)
    if not is_label:
        captions.append(content)
    inner = [index for index, token in enumerate(content) if token.kind == "command" and token.text == "\\label"]
    labels = [content] if is_label else [argument(list(content[index + 1 :]), 0)[0] for index in inner]
    environment.labels += [plain(label)[:200] for label in labels]


class _Reader:
    """Reads one tabular."""

    def __init__(self, expander: Expander, positions: Positions, macros: dict[str, str]) -> None:
        self._expander, self._positions, self._macros = expander, positions, macros
        self._unknown: dict[str, None] = {}

    def read(self, tokens: list[Token], environment: _Environment) -> SourceTable | None:
        body = list(tokens[environment.start : environment.end])
        at = _skip_specification(body, environment)
        line, _ = self._positions.at(tokens[max(0, environment.start - 1)].offset)
        content, open_braces = _without_unclosed(self._expander.expand(body[at:]))
        rows, header = self._rows(content)
        if not rows:
            return None
        notes = [
            f"{command} is not defined in this file; its arguments were read as plain text" for command in self._unknown
        ]
        lines = dict.fromkeys(self._positions.at(offset)[0] for offset in open_braces)
        notes += [f"line {at}: a brace that is never closed was left out" for at in lines]
        captions = [text for outer in reversed(environment.floats) for text in (*outer.captions, *outer.parts)]
        caption = " ".join(" ".join(map(self._plain, captions)).split())[:2000]
        label = next((label for outer in environment.floats for label in outer.labels), "")
        return SourceTable(rows, "", line, header, caption, label, True, notes[:20])

    def _plain(self, tokens: list[Token]) -> str:
        return CellReader(self._macros).read(self._expander.expand(list(tokens)), 0, 0).text

    def _rows(self, tokens: list[Token]) -> tuple[list[list[Cell]], int | None]:
        """Rows of cells, and the number of rows above the first rule that has rows above and below it."""
        rows: list[list[Cell]] = []
        header: int | None = None
        marks: dict[str, int] = {}
        for content in _split_rows(tokens):
            at, rules, mark = _lead(content)
            if mark:
                marks[mark] = len(rows)
            if rules and rows and header is None:
                header = len(rows)
            cells = self._cells(content, at)
            if any(cell.pieces for cell in cells):
                rows.append(cells)
        rows, header = _without_repeats(rows, header, marks)
        return rows, header if header is not None and header < len(rows) else None

    def _cells(self, content: list[Token], at: int) -> list[Cell]:
        cells: list[Cell] = []
        depth = nested = 0
        start = at
        for index in range(at, len(content) + 1):
            token = content[index] if index < len(content) else None
            if token is not None:
                depth += (token.kind == "open") - (token.kind == "close")
                if token.kind == "command":
                    nested += (token.text == "\\begin") - (token.text == "\\end")
            if token is None or (token.kind == "align" and depth <= 0 and nested <= 0):
                cells.append(self._cell(content[start:index]))
                start = index + 1
        return cells

    def _cell(self, tokens: list[Token]) -> Cell:
        first = skip_space(tokens, 0)
        offset = tokens[min(first, len(tokens) - 1)].offset if tokens else 0
        reader = CellReader(self._macros)
        cell = reader.read(tokens, *self._positions.at(offset))
        self._unknown.update(dict.fromkeys(reader.unknown))
        return cell


def _without_unclosed(tokens: list[Token]) -> tuple[list[Token], list[int]]:
    """The tokens without braces that nothing closes, which would swallow the rows behind them; and their offsets."""
    opened: list[int] = []
    for at, token in enumerate(tokens):
        if token.kind == "open":
            opened.append(at)
        elif token.kind == "close" and opened:
            opened.pop()
    if not opened:
        return tokens, []
    left_out = set(opened)
    kept = [token for at, token in enumerate(tokens) if at not in left_out]
    return kept, [tokens[at].offset for at in opened]


def _skip_specification(tokens: list[Token], environment: _Environment) -> int:
    """Index behind the arguments of \\begin{tabular}: position, width, columns."""
    name, at = environment.name, 0
    before = TABLES[name] + (environment.starred and name in ("tabular", "NiceTabular"))
    if name in ("tabu", "longtabu"):
        while at < len(tokens) and tokens[at].kind in ("text", "space", "command"):
            at += 1
    for _ in range(before):
        at = argument(tokens, at)[1]
    _, at = option(tokens, at)
    return argument(tokens, at)[1]


def _split_rows(tokens: list[Token]) -> list[list[Token]]:
    """Split at \\\\ outside of groups and nested environments; `[2pt]` and `*` behind it are dropped."""
    rows: list[list[Token]] = []
    row: list[Token] = []
    depth = nested = 0
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        depth = max(0, depth + (token.kind == "open") - (token.kind == "close"))
        if token.kind == "command":
            nested = max(0, nested + (token.text == "\\begin") - (token.text == "\\end"))
        ends = token.kind == "newline" or (token.kind == "command" and token.text == "\\cr")
        if ends and depth == 0 and nested == 0:
            rows.append(row)
            row = []
            at = _behind_newline(tokens, at)
        else:
            row.append(token)
    rows.append(row)
    return rows


def _behind_newline(tokens: list[Token], at: int) -> int:
    if at < len(tokens) and tokens[at].kind == "text" and tokens[at].text.startswith("*"):
        rest = tokens[at].text[1:]
        tokens[at] = Token("text" if rest else "space", rest or " ", tokens[at].offset)
    if at < len(tokens) and tokens[at].kind == "text" and tokens[at].text.startswith("["):
        length, behind = option(tokens, at)
        if length is not None and _is_length(plain(length)):
            return behind
    return at


def _is_length(text: str) -> bool:
    return (
        text[-2:] in ("pt", "ex", "em", "mm", "cm", "in", "bp")
        or text.startswith("\\")
        or text.endswith(("height", "width", "skip"))
    )


def _lead(tokens: list[Token]) -> tuple[int, bool, str]:
    """Index behind what stands before a row's first cell, whether a full rule was there, and a longtable mark."""
    at, rules, mark = 0, False, ""
    while True:
        at = skip_space(tokens, at)
        if at >= len(tokens) or tokens[at].kind != "command":
            return at, rules, mark
        name = tokens[at].text
        if name in RULES:
            rules = rules or RULES[name].kind == "rule"
            at = _arguments(tokens, at + 1, RULES[name].arguments)
        elif name in _LONG_MARKS:
            mark = name
            at += 1
        else:
            return at, rules, mark


def _arguments(tokens: list[Token], at: int, count: int) -> int:
    """Index behind options, a trim such as `(lr)`, and `count` mandatory arguments."""
    _, at = option(tokens, at)
    if at < len(tokens) and tokens[at].kind == "text" and tokens[at].text.startswith("("):
        text = tokens[at].text
        close = text.find(")")
        if 0 <= close < len(text) - 1:
            tokens[at] = Token("text", text[close + 1 :], tokens[at].offset + close + 1)
        elif close >= 0:
            at += 1
    for _ in range(count):
        _, at = option(tokens, at)
        at = argument(tokens, at)[1]
    return option(tokens, at)[1]


def _without_repeats(
    rows: list[list[Cell]], header: int | None, marks: dict[str, int]
) -> tuple[list[list[Cell]], int | None]:
    """longtable: keep the first head, drop the repeated head and the feet."""
    if not marks:
        return rows, header
    body = max(marks.values())
    first = marks.get("\\endfirsthead", marks.get("\\endhead", 0))
    return rows[:first] + rows[body:], first or header
