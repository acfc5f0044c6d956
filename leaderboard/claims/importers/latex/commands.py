"""LaTeX commands and environments by what they do to a cell, from `commands.tsv`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from leaderboard.claims.importers.grid import Style


class Command(NamedTuple):
    """What a command does (`kind`), with how many mandatory arguments, in which style."""

    kind: str
    arguments: int = 0
    style: str = ""


STYLES: dict[str, dict[str, object]] = {
    **{name: {name: True} for name in ("bold", "underline", "italic", "small")},
    "plain": {"bold": False}, "sup": {"level": "sup"}, "sub": {"level": "sub"}, "": {},
}  # fmt: skip
DINGBATS = {"51": "✓", "52": "✓", "53": "✗", "54": "✗", "55": "✗", "56": "✗"}
"""Number of a pifont \\ding → the mark that it prints; any other is an ornament."""
COMMANDS: dict[str, Command] = {"\\ ": Command("symbol", 0, " "), "\\\n": Command("symbol", 0, " ")}
"""Command with its backslash → what it does inside of a cell; a symbol's style is what it prints."""
RULES: dict[str, Command] = {}
"""What may stand before the first cell of a row; `rule` ends the header."""
TABLES: dict[str, int] = {}
"""Environment (without its star) → arguments before the column specification."""
FLOATS: set[str] = set()


def _load() -> None:
    spaces = {"thin": "\u2009", "wide": " ", "none": ""}
    for line in Path(__file__).with_name("commands.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        kind, count, style, text = line.split("\t")
        names = text.split()
        if kind == "symbol":
            COMMANDS.update({f"\\{a}": Command(kind, 0, b) for a, b in zip(names[::2], names[1::2], strict=True)})
        elif kind == "space":
            COMMANDS.update({f"\\{name}": Command("symbol", 0, spaces[style]) for name in names})
        elif kind in ("rule", "halfrule"):
            RULES.update({f"\\{name}": Command(kind, int(count)) for name in names})
        elif kind == "table":
            TABLES.update(dict.fromkeys(names, int(count)))
        elif kind == "float":
            FLOATS.update(names)
        else:
            COMMANDS.update({f"\\{name}": Command(kind, int(count), style) for name in names})


def styled(style: Style, name: str) -> Style:
    """A style with another one on top; subscripts and superscripts do not nest."""
    changed = style._replace(**STYLES[name])  # type: ignore[arg-type]
    return changed if style.level == "base" else changed._replace(level=style.level)


_load()
