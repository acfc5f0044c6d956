"""The tokens of one cell, each with its style; subscripts and superscripts stand between control characters."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from leaderboard.claims.importers.grid import Cell, Style

_LEXER = re.compile(
    r"""(?P<number>\d{1,3}(?:(?:,|[\u2009\u202f\u00a0])\d{3})+(?:\.\d+)?(?![\d,])|\d+(?:\.\d*)?|\.\d+)
       |(?P<exponent>[eE][+\-−]?\d{1,3}(?![\w.])|[×x·]\s?10(?=\x04))
       |(?P<times>[×✕])
       |(?P<pm>±|\+/-|\+/−|\+-|\\pm)
       |(?P<sign>[+\-−–])
       |(?P<up>[↑⬆⇑▲△]) |(?P<down>[↓⬇⇓▼▽])
       |(?P<open>[(\[{]) |(?P<close>[)\]}])
       |(?P<sub>\x02) |(?P<sup>\x04) |(?P<end>[\x03\x05])
       |(?P<percent>%) |(?P<separator>[/|]) |(?P<relation>[<>≤≥~≈≃∼])
       |(?P<mark>[†‡*∗⋆★☆§¶#•◦◇◆♠♣♥♦]+)
       |(?P<word>[^\W\d_]+)
       |(?P<space>\s+)
       |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(slots=True)
class Token:
    kind: str
    text: str
    style: Style
    spaced: bool
    """Whether white space stands before it."""


def tokens_of(cell: Cell, decimal_comma: bool) -> list[Token]:
    flat, starts, styles = _flatten(cell)
    if decimal_comma:
        flat = flat.replace(".", "\u2009").replace(",", ".")
    tokens: list[Token] = []
    spaced = False
    for match in _LEXER.finditer(flat):
        kind = match.lastgroup or "other"
        if kind == "space":
            spaced = True
            continue
        style = styles[bisect_right(starts, match.start()) - 1]
        tokens.append(Token(kind, match.group(), style, spaced))
        spaced = False
    return tokens


def _flatten(cell: Cell) -> tuple[str, list[int], list[Style]]:
    """All pieces in one string, a run of subscript between \\x02 and \\x03, of superscript between \\x04 and \\x05."""
    parts: list[str] = []
    starts: list[int] = []
    styles: list[Style] = []
    length = 0
    level = "base"
    closing = ""
    for piece in (*cell.pieces, None):
        now = piece.style.level if piece is not None else "base"
        text = piece.text if piece is not None else ""
        if now != level:
            opening = {"base": "", "sub": "\x02", "sup": "\x04"}[now]
            text, closing, level = closing + opening + text, {"base": "", "sub": "\x03", "sup": "\x05"}[now], now
        starts.append(length)
        styles.append(piece.style if piece is not None else Style())
        parts.append(text)
        length += len(text)
    return "".join(parts), starts, styles


def show(tokens: list[Token]) -> str:
    text = "".join((" " if token.spaced else "") + token.text for token in tokens).strip()
    return re.sub(r"[\x02\x04]", "^", re.sub(r"[\x03\x05]", "", text)).replace("^", " ").strip()[:120]
