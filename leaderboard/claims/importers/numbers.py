"""Read the text of one cell."""

from __future__ import annotations

import re
from dataclasses import replace

from leaderboard.claims.importers.grammar import Brackets, Number, Parser, Reading
from leaderboard.claims.importers.grid import Cell
from leaderboard.claims.importers.lexer import tokens_of

__all__ = ["MISSING", "Brackets", "Number", "Reading", "is_failure", "read_cell"]

MISSING = frozenset({
    "", "-", "--", "---", "–", "—", "−", "n/a", "na", "n.a.", "n/r", "nr", "oom", "o.o.m.", "oot", "t/o", "none",
    "null", "tbd", "✗", "×", "x", "*", "/", ".", "..", "...", "…", "?", "dnf", "skipped",
})  # fmt: skip
"""Cell texts, lower case, that say there is no number."""

INFINITE = frozenset({"nan", "inf", "infinity", "∞"})
FAILED = frozenset({"fail", "failed", "diverged", "diverges", "did not converge"})
"""Cell texts, lower case, that say a run gave no finite number; they are kept as they are printed."""

_COMMA = re.compile(r"[+\-−]?(?:\d+,\d{1,2}|\d{1,3}(?:\.\d{3})+,\d+)")
_SIMPLE = re.compile(r"[+\-−]?\d+(?:\.\d+)?")


def is_failure(printed: str) -> bool:
    """Whether a cell says in words that a run failed."""
    return printed.lower() in FAILED


def read_cell(cell: Cell, brackets: Brackets | None = None, decimal_comma: bool = False) -> Reading:
    """Parse one cell. `brackets` is what a bare number in brackets or in a subscript means; None: nothing says."""
    if cell.pieces and all(piece.style.level != "base" for piece in cell.pieces if piece.text.strip()):
        pieces = tuple(piece._replace(style=piece.style._replace(level="base")) for piece in cell.pieces)
        cell = replace(cell, pieces=pieces)
    pieces = cell.pieces
    if len(pieces) == 1 and pieces[0].style.level == "base":
        text = pieces[0].text.strip()
        if _SIMPLE.fullmatch(text):
            return Reading([Number(text.replace("−", "-"), pieces[0].style)])
    text = cell.text
    if text.strip("()[] ").lower() in MISSING or text.lower().strip("()") in MISSING:
        return Reading(missing=True)
    bare = text.lower().strip("()+-− ")
    if bare in INFINITE or bare in FAILED:
        return Reading([Number(text.strip("() ").replace("−", "-"), pieces[0].style, finite=False)])
    if cell.note and any(character.isdigit() for character in text):
        return Reading(problem=cell.note, problem_text=text)
    if not decimal_comma and _COMMA.fullmatch(text):
        return Reading(problem="a decimal comma; say `decimal_comma: true` in the mapping", problem_text=text)
    tokens = tokens_of(cell, decimal_comma)
    return Parser(tokens, brackets).parse() if tokens else Reading(missing=True)
