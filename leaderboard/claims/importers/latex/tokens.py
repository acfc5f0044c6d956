"""LaTeX source to tokens, in one linear pass."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Literal, NamedTuple

from benchmark.errors import DataError
from leaderboard.claims.importers.bounds import MAX_TOKENS

Kind = Literal[
    "command", "open", "close", "math", "align", "newline", "sup", "sub", "parameter", "space", "break", "text"
]


class Token(NamedTuple):
    """One token with the offset of its first character; expanded tokens keep the offset of the macro's call."""

    kind: Kind
    text: str
    offset: int


class Positions:
    """Offsets to line and column, both from 1."""

    def __init__(self, source: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", source))]

    def at(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


_SCANNER = re.compile(
    r"""(?P<comment>%[^\n]*(?:\n[ \t]*)?)
       |(?P<newline>\\\\|\\tabularnewline(?![a-zA-Z]))
       |(?P<command>\\(?:[a-zA-Z@]+|[^a-zA-Z]|$))
       |(?P<open>\{) |(?P<close>\}) |(?P<math>\$\$?) |(?P<align>&)
       |(?P<sup>\^) |(?P<sub>_)
       |(?P<parameter>\#\d|\#)
       |(?P<break>\n[ \t]*\n\s*) |(?P<space>[ \t\n\r\f\v~]+)
       |(?P<text>[^\\%{}$&^_\#\s~]+)
       |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_VERBATIM = re.compile(r"\\begin\s{0,4}\{(verbatim\*?|lstlisting|minted|comment|filecontents\*?)\}")
_CONDITIONAL = re.compile(r"\\(iffalse|if(?!f\b|thenelse)[a-zA-Z@]*|else|fi)(?![a-zA-Z@])")
_COMMENT_TAIL = re.compile(r"(?<!\\)(?:\\\\){0,8}%")


def tokenize(source: str, path: str = "<text>") -> list[Token]:
    """Tokens without comments; white space after a command is dropped, as TeX does; verbatim environments are left out.

    Raises:
        DataError: more tokens than the bound.
    """
    tokens: list[Token] = []
    start = 0
    for begin, end in _verbatim_spans(source):
        _scan(source, start, begin, tokens)
        start = end
    _scan(source, start, len(source), tokens)
    if len(tokens) > MAX_TOKENS:
        raise DataError(
            f"{path}: expected at most {MAX_TOKENS} LaTeX tokens; import the tables from a file of their own"
        )
    return tokens


def _scan(source: str, start: int, end: int, tokens: list[Token]) -> None:
    after_word = False
    for match in _SCANNER.finditer(source, start, end):
        kind = match.lastgroup
        if kind == "comment":
            continue
        if len(tokens) > MAX_TOKENS:
            return
        text = match.group()
        if kind == "space" and after_word and "~" not in text:
            after_word = False
            continue
        after_word = kind == "command" and text[-1].isalpha()
        tokens.append(Token("text" if kind == "other" else kind, text, match.start()))  # type: ignore[arg-type]


def _verbatim_spans(source: str) -> list[tuple[int, int]]:
    """Spans of verbatim environments and of \\iffalse that are not inside a comment; an unclosed one is no span."""
    spans: list[tuple[int, int]] = []
    done = 0
    for match in _VERBATIM.finditer(source):
        if match.start() < done or _is_commented(source, match.start()):
            continue
        end = source.find(f"\\end{{{match.group(1)}}}", match.end())
        if end < 0:
            return spans
        done = end + len(match.group(1)) + 6
        spans.append((match.start(), done))
    return _with_false_branches(source, spans)


def _with_false_branches(source: str, verbatim: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans of verbatim environments and what stands between \\iffalse and its \\else or \\fi, in order."""
    false: list[tuple[int, int]] = []
    starts = [begin for begin, _ in verbatim]
    start, level = -1, 0
    for match in _CONDITIONAL.finditer(source):
        around = bisect_right(starts, match.start()) - 1
        if (around >= 0 and match.start() < verbatim[around][1]) or _is_commented(source, match.start()):
            continue
        word = match.group(1)
        if start < 0:
            start, level = (match.start(), 0) if word == "iffalse" else (-1, 0)
        elif word.startswith("if"):
            level += 1
        elif level:
            level -= word == "fi"
        else:
            false.append((start, match.end()))
            start = -1
    return sorted([*false, *(span for span in verbatim if not any(a <= span[0] < b for a, b in false[:200]))])


def _is_commented(source: str, at: int) -> bool:
    line_start = source.rfind("\n", 0, at) + 1
    return _COMMENT_TAIL.search(source[max(line_start, at - 500) : at]) is not None


def group_end(tokens: list[Token], start: int, limit: int | None = None) -> int:
    """Index of the token that closes the group opened at `start`; the last index when nothing closes it."""
    depth = 0
    stop = len(tokens) if limit is None else min(limit, len(tokens))
    for index in range(start, stop):
        kind = tokens[index].kind
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
            if depth <= 0:
                return index
    return stop - 1


def skip_space(tokens: list[Token], at: int) -> int:
    while at < len(tokens) and tokens[at].kind in ("space", "break"):
        at += 1
    return at


def argument(tokens: list[Token], at: int) -> tuple[list[Token], int]:
    """The mandatory argument at or behind `at`, a group or a single token, and the index behind it."""
    at = skip_space(tokens, at)
    if at >= len(tokens):
        return [], at
    if tokens[at].kind == "open":
        end = group_end(tokens, at)
        closed = tokens[end].kind == "close"
        return tokens[at + 1 : end if closed else end + 1], end + 1
    token = tokens[at]
    if token.kind == "text" and len(token.text) > 1:
        rest = Token("text", token.text[1:], token.offset + 1)
        tokens[at : at + 1] = [Token("text", token.text[0], token.offset), rest]
    return [tokens[at]], at + 1


def option(tokens: list[Token], at: int) -> tuple[list[Token] | None, int]:
    """The optional argument `[...]` at or behind `at`, None when there is none, and the index behind it."""
    start = skip_space(tokens, at)
    if start >= len(tokens) or tokens[start].kind != "text" or not tokens[start].text.startswith("["):
        return None, at
    depth = 0
    found: list[Token] = []
    for index in range(start, min(start + 400, len(tokens))):
        token = tokens[index]
        depth += (token.kind == "open") - (token.kind == "close")
        text = token.text[1:] if index == start else token.text
        close = text.find("]") if token.kind == "text" and depth == 0 else -1
        if close < 0:
            found.append(Token(token.kind, text, token.offset))
            continue
        found.append(Token("text", text[:close], token.offset))
        rest = text[close + 1 :]
        if rest:
            tokens[index] = Token("text", rest, token.offset + len(token.text) - len(rest))
            return found, index
        return found, index + 1
    return None, at


def plain(tokens: list[Token]) -> str:
    """The tokens' own text, for arguments that are names or lengths."""
    return "".join(token.text for token in tokens).strip()
