"""The text of one table cell: a number, maybe with its spread, its printed difference and its typography."""

from __future__ import annotations

import re
from typing import NamedTuple

MISSING = frozenset({"", "-", "--", "---", "–", "—", "n/a", "N/A", "NA"})
"""Cell texts that stand for "no number here"."""

NUMBER = r"[+\-−]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][+-]?\d+)?"
CELL = re.compile(
    rf"(?P<printed>{NUMBER})\s*%?"
    rf"(?:\s*(?:±|\+/-|\+-)\s*(?P<spread>{NUMBER}))?"
    rf"(?:\s*\(\s*(?P<delta>[+\-−]?{NUMBER})\s*(?P<relative>%)?\s*\))?"
)


class Cell(NamedTuple):
    """A cell taken apart; every number still as printed."""

    printed: str
    spread: str | None = None
    delta: str | None = None
    relative: bool = False
    bold: bool = False
    underline: bool = False


def parse_cell(text: str | None) -> Cell | None:
    """`**85.82 (+2.44)**`, `_90.9 ± 0.5_` or `74.00` taken apart; None for a missing cell.

    Text that is no number comes back whole as `printed`, for the checks to count as unreadable.
    """
    text, bold = _unwrapped((text or "").strip(), "**")
    text, underline = _unwrapped(text, "_")
    text, bold = (text, True) if bold else _unwrapped(text, "**")
    if text in MISSING:
        return None
    match = CELL.fullmatch(text)
    if match is None or not match["printed"]:
        return Cell(text, bold=bold, underline=underline)
    return Cell(match["printed"], match["spread"], match["delta"], match["relative"] is not None, bold, underline)


def _unwrapped(text: str, mark: str) -> tuple[str, bool]:
    """The text without the marks around its number, `**85.82 ± 0.15** (+2.34)`, and whether there were any."""
    inside, found, behind = text.removeprefix(mark).partition(mark)
    if not text.startswith(mark) or not found or not inside.strip() or mark in behind:
        return text, False
    return f"{inside.strip()} {behind.strip()}".strip(), True
