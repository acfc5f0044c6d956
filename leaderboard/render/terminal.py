"""Tables for a terminal; a wide grid is cut into tables that fit the width, never into unreadable columns."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

from leaderboard.render.words import Words, decimals, entry_words, heading, legend, result
from leaderboard.tables import Leaderboard, Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

PADDING = 3
"""Characters between two columns; as many as one column has at the edges."""

LINE = 24
"""Characters after which the notes of an entry go on below."""


def render(board: Leaderboard, *, show_values: bool = False, width: int | None = None, color: bool = False) -> str:
    """Plain text with box lines; ANSI styles only with `color`."""
    from rich.console import Console

    width = width or max(80, shutil.get_terminal_size((100, 24)).columns)
    console = Console(
        file=io.StringIO(), width=width, force_terminal=color, highlight=False, no_color="NO_COLOR" in os.environ
    )
    console.print(f"{board.title or board.experiment} ({board.profile})", style="bold", markup=False)
    for table in board.tables:
        for columns in _fitting(table, width, show_values):
            console.print()
            _print_table(console, table, columns, show_values)
        if said := result(table):
            console.print(said, markup=False)
    console.print()
    for line in legend(board):
        console.print(line.replace("Bold:", "* (bold):", 1), markup=False, style="dim")
    output = console.file
    assert isinstance(output, io.StringIO)
    return output.getvalue()


def _fitting(table: Table, width: int, show_values: bool) -> list[list[int]]:
    """Indices of the columns that go side by side without breaking a line."""
    name = max([len(row.name) for row in table.rows] + [len("initializer")]) + PADDING
    groups: list[list[int]] = []
    left = 0
    for index in range(len(table.columns)):
        needed = _width(table, index, show_values) + PADDING
        if not groups or needed > left:
            groups.append([])
            left = width - name
        groups[-1].append(index)
        left -= needed
    return groups


def _width(table: Table, index: int, show_values: bool) -> int:
    """Characters of the widest line of a column."""
    column, places = table.columns[index], decimals(table, index)
    lines = [*heading(column)]
    for row in table.rows:
        lines += _lines(entry_words(row.entries[index], column, places), show_values)
    return max(map(len, lines))


def _print_table(console: Console, table: Table, columns: Sequence[int], show_values: bool) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(title=Text(table.title), box=SIMPLE_HEAD, title_justify="left", title_style="")
    grid.add_column("initializer", no_wrap=True)
    for index in columns:
        grid.add_column(Text("\n".join(heading(table.columns[index]))), justify="right", no_wrap=True)
    places = {index: decimals(table, index) for index in columns}
    for row in table.rows:
        words = [entry_words(row.entries[index], table.columns[index], places[index]) for index in columns]
        style = "italic" if row.kind == "computed" else ""
        grid.add_row(Text(row.name, style=style), *(_entry(item, show_values) for item in words))
    console.print(grid)


def _entry(words: Words, show_values: bool) -> Text:
    """The number, styled bold where the table may say so, and under it what belongs to it."""
    from rich.text import Text

    first, *rest = _lines(words, show_values)
    text = Text(first, style="bold" if words.bold else "")
    for line in rest:
        text.append(f"\n{line}", style="not bold cyan" if line in words.published else "not bold dim")
    return text


def _lines(words: Words, show_values: bool) -> list[str]:
    """Lines of an entry; a star stands for bold, since a file has none."""
    number = f"{'*' if words.bold else ''}{words.number}{words.mark}"
    detail = _packed(f"({words.detail})".split("; "), "; ") if words.detail else []
    values = _packed(words.values.split(", "), ", ") if show_values and words.values else []
    return [number, *detail, *values, *words.published]


def _packed(parts: Sequence[str], joint: str) -> list[str]:
    """Parts joined into lines of at most `LINE` characters where they fit."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(joint) + len(part) <= LINE:
            lines[-1] += joint + part
        else:
            lines = [*lines[:-1], lines[-1] + joint.rstrip()] if lines else []
            lines.append(part)
    return lines
