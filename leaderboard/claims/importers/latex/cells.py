"""Tokens of one LaTeX cell to styled text."""

from __future__ import annotations

from leaderboard.claims.importers.bounds import MAX_CELL_CHARACTERS, MAX_DEPTH
from leaderboard.claims.importers.grid import PLAIN, Cell, Piece, Style, clean
from leaderboard.claims.importers.latex.symbols import DINGBATS, DROPPED, SPACES, SYMBOLS, TRANSPARENT
from leaderboard.claims.importers.latex.tokens import Token, argument, group_end, option, plain

_STYLED: dict[str, dict[str, object]] = {
    **{name: {"bold": True} for name in ("\\textbf", "\\mathbf", "\\bm", "\\boldsymbol", "\\pmb", "\\textbfit")},
    **{name: {"underline": True} for name in ("\\underline", "\\uline", "\\ul", "\\uuline", "\\uwave", "\\dashuline")},
    **{name: {"italic": True} for name in ("\\emph", "\\textit", "\\mathit", "\\textsl")},
    "\\textsuperscript": {"level": "sup"}, "\\textsubscript": {"level": "sub"}, "\\tnote": {"level": "sup"},
}  # fmt: skip
_DECLARED: dict[str, dict[str, object]] = {
    **{name: {"bold": True} for name in ("\\bf", "\\bfseries", "\\boldmath")},
    **{name: {"italic": True} for name in ("\\it", "\\itshape", "\\em", "\\slshape")},
    **{name: {"small": True} for name in ("\\tiny", "\\scriptsize", "\\footnotesize", "\\small")},
    **{name: {"bold": False} for name in ("\\normalfont", "\\mdseries")},
}
_NUMBERS = {"\\num", "\\tablenum", "\\SI", "\\qty", "\\SIrange", "\\numrange", "\\unit", "\\si", "\\ang"}
_PRESETS: dict[str, dict[str, object]] = {
    "bold": {"bold": True}, "underline": {"underline": True}, "italic": {"italic": True}, "plain": {},
}  # fmt: skip


class CellReader:
    """Collects the pieces of one cell."""

    def __init__(self, macros: dict[str, str]) -> None:
        self._macros = macros
        self.pieces: list[Piece] = []
        self.spans = (1, 1)
        self.unknown: list[str] = []
        self._length = 0
        self.too_deep = False

    def read(self, tokens: list[Token], line: int, column: int) -> Cell:
        """The cell whose first character stands at line and column."""
        self._run(list(tokens), PLAIN, False, 0)
        note = ""
        if self.too_deep:
            note = f"groups nest more than {MAX_DEPTH} deep"
        rows, columns = self.spans
        return Cell(tuple(self.pieces), line, column, rows, columns, note=note)

    def _add(self, text: str, style: Style) -> None:
        text = clean(text)
        if not text or self._length > MAX_CELL_CHARACTERS:
            return
        self._length += len(text)
        if self.pieces and self.pieces[-1].style == style:
            self.pieces[-1] = Piece(self.pieces[-1].text + text, style)
        else:
            self.pieces.append(Piece(text, style))

    def _run(self, tokens: list[Token], style: Style, math: bool, depth: int) -> None:
        if depth > MAX_DEPTH:
            self.too_deep = True
            return
        at = 0
        while at < len(tokens):
            token = tokens[at]
            at += 1
            if token.kind == "command":
                at, style = self._command(tokens, at, token.text, style, math, depth)
            elif token.kind == "open":
                end = group_end(tokens, at - 1)
                stop = end if tokens[end].kind == "close" else end + 1
                self._run(tokens[at:stop], style, math, depth + 1)
                at = end + 1
            elif token.kind == "math":
                math = not math
            elif token.kind in ("sup", "sub"):
                value, at = argument(tokens, at)
                self._run(value, _level(style, "sup" if token.kind == "sup" else "sub"), math, depth + 1)
            elif token.kind in ("space", "break", "newline", "align"):
                if not math or token.kind != "space":
                    self._add(" ", style)
            elif token.kind == "text" or token.kind == "parameter":
                self._add(token.text, style)

    def _command(
        self, tokens: list[Token], at: int, name: str, style: Style, math: bool, depth: int
    ) -> tuple[int, Style]:
        if name in SYMBOLS:
            self._add(SYMBOLS[name], style)
        elif name in SPACES:
            self._add(SPACES[name], style)
        elif name in _STYLED:
            value, at = argument(tokens, at)
            self._run(value, style._replace(**_STYLED[name]), math, depth + 1)  # type: ignore[arg-type]
        elif name in _DECLARED:
            style = style._replace(**_DECLARED[name])  # type: ignore[arg-type]
        elif name in DROPPED:
            at = _drop(tokens, at, DROPPED[name])
        elif name in TRANSPARENT:
            at = self._transparent(tokens, at, TRANSPARENT[name], style, math, depth)
        elif name in ("\\textcolor", "\\colorbox", "\\color", "\\hl"):
            at, style = self._colored(tokens, at, name, style, math, depth)
        elif name in ("\\multicolumn", "\\multirow"):
            at = self._merged(tokens, at, name, style, math, depth)
        elif name in ("\\diagbox", "\\backslashbox", "\\slashbox"):
            at = self._corner(tokens, at, style, math, depth)
        elif name == "\\ding":
            value, at = argument(tokens, at)
            self._add(DINGBATS.get(plain(value), "◦"), style)
        elif name in _NUMBERS:
            at = self._number(tokens, at, name, style, math, depth)
        elif name == "\\begin":
            at = self._environment(tokens, at)
        elif name == "\\end":
            at = argument(tokens, at)[1]
        else:
            at = self._user(tokens, at, name, style, math, depth)
        return at, style

    def _transparent(self, tokens: list[Token], at: int, skip: int, style: Style, math: bool, depth: int) -> int:
        """A command whose last argument is its text, behind `skip` arguments and any options."""
        _, at = option(tokens, at)
        for _ in range(skip):
            at = argument(tokens, at)[1]
            _, at = option(tokens, at)
        value, at = argument(tokens, at)
        self._run(value, style, math, depth + 1)
        return at

    def _colored(
        self, tokens: list[Token], at: int, name: str, style: Style, math: bool, depth: int
    ) -> tuple[int, Style]:
        if name == "\\hl":
            value, at = argument(tokens, at)
            self._run(value, style, math, depth + 1)
            return at, style
        _, at = option(tokens, at)
        color, at = argument(tokens, at)
        named = style._replace(color=plain(color)[:40])
        if name == "\\color":
            return at, named
        value, at = argument(tokens, at)
        self._run(value, style if name == "\\colorbox" else named, math, depth + 1)
        return at, style

    def _merged(self, tokens: list[Token], at: int, name: str, style: Style, math: bool, depth: int) -> int:
        _, at = option(tokens, at)
        count, at = argument(tokens, at)
        span = _integer(plain(count))
        _, at = option(tokens, at)
        _, at = argument(tokens, at)
        _, at = option(tokens, at)
        rows, columns = self.spans
        if depth < 8:
            self.spans = (span or rows, columns) if name == "\\multirow" else (rows, max(1, span or columns))
        value, at = argument(tokens, at)
        self._run(value, style, math, depth + 1)
        return at

    def _corner(self, tokens: list[Token], at: int, style: Style, math: bool, depth: int) -> int:
        """\\diagbox{rows}{columns}: kept as `rows \\ columns`."""
        _, at = option(tokens, at)
        for number in range(2):
            value, at = argument(tokens, at)
            if number:
                self._add(" \\ ", style)
            self._run(value, style, math, depth + 1)
        return at

    def _number(self, tokens: list[Token], at: int, name: str, style: Style, math: bool, depth: int) -> int:
        _, at = option(tokens, at)
        value, at = argument(tokens, at)
        if name in ("\\si", "\\unit"):
            return at
        self._run(value, style, True, depth + 1)
        if name in ("\\numrange", "\\SIrange"):
            value, at = argument(tokens, at)
            self._add("–", style)
            self._run(value, style, True, depth + 1)
        if name in ("\\SI", "\\qty", "\\SIrange"):
            unit, at = argument(tokens, at)
            self._add("%" if "percent" in plain(unit) or plain(unit).strip("\\") == "%" else "", style)
        return at

    def _environment(self, tokens: list[Token], at: int) -> int:
        """A nested tabular or its like: its content runs on as text of this cell."""
        name, at = argument(tokens, at)
        _, at = option(tokens, at)
        kind = plain(name).rstrip("*")
        if kind in ("tabular", "tabularx", "array", "minipage"):
            at = argument(tokens, at)[1]
        if kind == "tabularx":
            at = argument(tokens, at)[1]
        return at

    def _user(self, tokens: list[Token], at: int, name: str, style: Style, math: bool, depth: int) -> int:
        """A command that nothing defines: as the mapping says, else its arguments are read as text and it is noted."""
        preset = self._macros.get(name) or self._macros.get(name[1:])
        if preset == "drop":
            return argument(tokens, at)[1]
        if preset is not None:
            value, at = argument(tokens, at)
            self._run(value, style._replace(**_PRESETS[preset]), math, depth + 1)  # type: ignore[arg-type]
            return at
        if name[1:].isalpha():
            self.unknown.append(name)
        return at


def _level(style: Style, level: str) -> Style:
    return style._replace(level=level if style.level == "base" else style.level)  # type: ignore[arg-type]


def _drop(tokens: list[Token], at: int, count: int) -> int:
    if at < len(tokens) and tokens[at].kind == "text" and tokens[at].text == "*":
        at += 1
    _, at = option(tokens, at)
    _, at = option(tokens, at)
    for _ in range(count):
        at = argument(tokens, at)[1]
    return at


def _integer(text: str) -> int:
    digits = text.removeprefix("-")
    return int(text) if digits.isdecimal() and len(digits) <= 4 else 0
