"""Tokens of one LaTeX cell to styled text."""

from __future__ import annotations

from leaderboard.claims.importers.bounds import MAX_CELL_CHARACTERS, MAX_DEPTH
from leaderboard.claims.importers.grid import PLAIN, Cell, Piece, Style, clean
from leaderboard.claims.importers.latex.commands import COMMANDS, DINGBATS, Command, styled
from leaderboard.claims.importers.latex.tokens import Token, argument, group_end, option, plain


class CellReader:
    """Collects the pieces of one cell."""

    def __init__(self, macros: dict[str, str]) -> None:
        """`macros` are commands that the file does not define → the style that they set, or `drop`."""
        self._macros = {f"\\{name.removeprefix(chr(92))}": style for name, style in macros.items()}
        self.pieces: list[Piece] = []
        self.spans = (1, 1)
        self.unknown: list[str] = []
        self._length = 0
        self._note = ""

    def read(self, tokens: list[Token], line: int, column: int) -> Cell:
        """The cell whose first character stands at line and column."""
        self._run(list(tokens), PLAIN, False, 0)
        return Cell(tuple(self.pieces), line, column, *self.spans, note=self._note)

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
            self._note = f"groups nest more than {MAX_DEPTH} deep"
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
                self._run(value, styled(style, token.kind), math, depth + 1)
            elif token.kind in ("space", "break", "newline", "align"):
                if not math or token.kind != "space":
                    self._add(" ", style)
            elif token.kind in ("text", "parameter"):
                self._add(token.text, style)

    def _command(
        self, tokens: list[Token], at: int, name: str, style: Style, math: bool, depth: int
    ) -> tuple[int, Style]:
        command = COMMANDS.get(name) or self._own(name)
        if command.kind == "symbol":
            self._add(command.style, style)
            return at, style
        if command.kind == "declare":
            return at, styled(style, command.style)
        values, at = _arguments(tokens, at, command)
        if command.kind == "color":
            named = style._replace(color=plain(values[0])[:40])
            if len(values) == 1:
                return at, named
            self._run(values[1], named, math, depth + 1)
        elif command.kind in ("text", "merge"):
            if command.kind == "merge" and depth < 8:
                self._span(name, plain(values[0]))
            self._run(values[-1], styled(style, command.style), math, depth + 1)
        elif command.kind == "corner":  # \diagbox{rows}{columns} is kept as `rows \ columns`
            self._run(values[0], style, math, depth + 1)
            self._add(" \\ ", style)
            self._run(values[1], style, math, depth + 1)
        elif command.kind == "ding":
            self._add(DINGBATS.get(plain(values[0]), "◦"), style)
        elif command.kind == "number":
            self._number(values, command.style, style, depth)
        elif command.kind == "begin":
            at = _behind_begin(tokens, at, plain(values[0]).rstrip("*"))
        elif command.kind == "unknown" and name[1:].isalpha():
            self.unknown.append(name)
        return at, style

    def _own(self, name: str) -> Command:
        """A command that nothing defines: as the mapping says, else its arguments are read as text and it is noted."""
        preset = self._macros.get(name)
        if preset is None:
            return Command("unknown")
        return Command("drop", 1) if preset == "drop" else Command("text", 1, "" if preset == "plain" else preset)

    def _span(self, name: str, count: str) -> None:
        digits = count.removeprefix("-")
        span = int(count) if digits.isdecimal() and len(digits) <= 4 else 0
        rows, columns = self.spans
        self.spans = (span or rows, columns) if name == "\\multirow" else (rows, max(1, span or columns))

    def _number(self, values: list[list[Token]], parts: str, style: Style, depth: int) -> None:
        """`\\num{1.5}`, `\\SI{5}{\\percent}`, `\\numrange{1}{2}`."""
        for place, value in enumerate(values[: 2 if "range" in parts else 1]):
            self._add("–" if place else "", style)
            self._run(value, style, True, depth + 1)
        if "unit" in parts and ("percent" in plain(values[-1]) or plain(values[-1]).strip("\\") == "%"):
            self._add("%", style)


def _arguments(tokens: list[Token], at: int, command: Command) -> tuple[list[list[Token]], int]:
    """Mandatory arguments, each behind up to two options; a star before them is stepped over."""
    values: list[list[Token]] = []
    if command.kind == "unknown":
        return values, at
    if at < len(tokens) and tokens[at].kind == "text" and tokens[at].text == "*":
        at += 1
    for place in range(max(1, command.arguments)):
        _, at = option(tokens, at)
        _, at = option(tokens, at)
        if place < command.arguments:
            value, at = argument(tokens, at)
            values.append(value)
    return values, at


def _behind_begin(tokens: list[Token], at: int, name: str) -> int:
    """Index behind the options and columns of a nested environment, whose content runs on as text of the cell."""
    _, at = option(tokens, at)
    for _ in range({"tabular": 1, "tabularx": 2, "array": 1, "minipage": 1}.get(name, 0)):
        at = argument(tokens, at)[1]
    return at
