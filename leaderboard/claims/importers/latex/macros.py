"""User macros: collected from \\newcommand and its like, expanded with hard bounds."""

from __future__ import annotations

from dataclasses import dataclass

from benchmark.errors import DataError
from leaderboard.claims.importers.bounds import MAX_EXPANSION, MAX_MACRO_DEPTH
from leaderboard.claims.importers.latex.tokens import Token, argument, option, plain, skip_space

_DEFINERS = {"\\newcommand", "\\renewcommand", "\\providecommand", "\\DeclareRobustCommand", "\\newrobustcmd"}


@dataclass(frozen=True)
class Macro:
    """A user command. `default` is the value of its optional first argument, None when it has none."""

    body: tuple[Token, ...]
    arguments: int = 0
    default: tuple[Token, ...] | None = None


def collect(tokens: list[Token]) -> dict[str, Macro]:
    """Macros that the source defines, by name with the backslash. Arguments #1 to #9 by position; no delimiters."""
    found: dict[str, Macro] = {}
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.kind != "command":
            continue
        if token.text in _DEFINERS:
            at = _newcommand(tokens, at, found)
        elif token.text in ("\\def", "\\gdef", "\\edef"):
            at = _def(tokens, at, found)
        elif token.text in ("\\DeclareMathOperator",):
            name, at = argument(tokens, at)
            body, at = argument(tokens, at)
            found[plain(name)] = Macro(tuple(body))
    return found


def _newcommand(tokens: list[Token], at: int, found: dict[str, Macro]) -> int:
    if at < len(tokens) and tokens[at].kind == "text" and tokens[at].text == "*":
        at += 1
    name, at = argument(tokens, at)
    count, at = option(tokens, at)
    default, at = option(tokens, at)
    body, at = argument(tokens, at)
    number = plain(count) if count is not None else "0"
    if len(number) == 1 and number.isdecimal() and plain(name).startswith("\\"):
        found[plain(name)] = Macro(tuple(body), int(number), None if default is None else tuple(default))
    return at


def _def(tokens: list[Token], at: int, found: dict[str, Macro]) -> int:
    if at >= len(tokens) or tokens[at].kind != "command":
        return at
    name = tokens[at].text
    at += 1
    count = 0
    while at < len(tokens) and tokens[at].kind == "parameter":
        count += 1
        at += 1
    if at < len(tokens) and tokens[at].kind == "open":
        body, at = argument(tokens, at)
        found[name] = Macro(tuple(body), min(count, 9))
    return at


class Expander:
    """Replaces user macros by their bodies. All expansions of one file share one budget."""

    def __init__(self, macros: dict[str, Macro], source: str) -> None:
        self.macros = macros
        self._source = source
        self._left = MAX_EXPANSION

    def expand(self, tokens: list[Token]) -> list[Token]:
        """Tokens without user macros; raises DataError when they recurse or grow beyond the bound."""
        if not any(token.kind == "command" and token.text in self.macros for token in tokens):
            return tokens
        return self._expand(list(tokens), 0)

    def _expand(self, tokens: list[Token], depth: int) -> list[Token]:
        if depth > MAX_MACRO_DEPTH:
            raise DataError(
                f"{self._source}: macros nest more than {MAX_MACRO_DEPTH} deep or define themselves; "
                "import the table with its macros written out"
            )
        out: list[Token] = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            macro = self.macros.get(token.text) if token.kind == "command" else None
            at += 1
            if macro is None:
                out.append(token)
                continue
            values, at = _values(tokens, at, macro)
            body = _fill(macro.body, values, token.offset)
            self._spend(len(body) + 1)
            out.extend(self._expand(body, depth + 1))
        return out

    def _spend(self, tokens: int) -> None:
        self._left -= tokens
        if self._left < 0:
            raise DataError(
                f"{self._source}: its macros expand to more than {MAX_EXPANSION} tokens; write the table out"
            )


def _values(tokens: list[Token], at: int, macro: Macro) -> tuple[list[list[Token]], int]:
    values: list[list[Token]] = []
    if macro.default is not None and macro.arguments:
        given, at = option(tokens, at)
        values.append(list(macro.default) if given is None else given)
    while len(values) < macro.arguments:
        if skip_space(tokens, at) < len(tokens) and tokens[skip_space(tokens, at)].kind in ("align", "newline"):
            break
        value, at = argument(tokens, at)
        values.append(value)
    return values, at


def _fill(body: tuple[Token, ...], values: list[list[Token]], offset: int) -> list[Token]:
    """The body with #1 ... replaced. Body tokens take the place of the call, argument tokens keep their own."""
    out: list[Token] = []
    for token in body:
        number = int(token.text[1:]) if token.kind == "parameter" and len(token.text) == 2 else 0
        if number:
            out.extend(values[number - 1] if number <= len(values) else [])
        else:
            out.append(Token(token.kind, token.text, offset))
    return out
