"""Tables for a terminal; a wide grid is cut into tables that fit the width, never into unreadable columns."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

from leaderboard.render.words import Words, decimals, entry_words, heading, legend
from leaderboard.tables import Leaderboard, Table

if TYPE_CHECKING:
    from rich.text import Text


def render(board: Leaderboard, *, show_values: bool = False, width: int | None = None, color: bool = False) -> str:
    """Plain text with box lines; ANSI styles only with `color`."""
    from rich.console import Console

    width = width or max(80, shutil.get_terminal_size((100, 24)).columns)
    console = Console(
        file=io.StringIO(), width=width, force_terminal=color, highlight=False, no_color="NO_COLOR" in os.environ
    )
    console.print(f"{board.title or board.experiment} ({board.profile})", style="bold", markup=False)
    for table in board.tables:
        for columns in _fitting(table, width):
            console.print()
            _print_table(console, table, columns, show_values)
    console.print()
    for line in legend(board):
        console.print(line.replace("Bold:", "* (bold):", 1), markup=False, style="dim")
    output = console.file
    assert isinstance(output, io.StringIO)
    return output.getvalue()


def _fitting(table: Table, width: int) -> list[Sequence[int]]:
    """Indices of the columns that go side by side."""
    first = max([len(row.name) for row in table.rows] + [12]) + 4
    each = max(1, (width - first) // 24)
    indices = range(len(table.columns))
    return [indices[start : start + each] for start in range(0, len(indices), each)]


def _print_table(console: object, table: Table, columns: Sequence[int], show_values: bool) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    assert isinstance(console, Console)
    grid = Grid(title=Text(table.title), box=SIMPLE_HEAD, title_justify="left", title_style="")
    grid.add_column("initializer")
    for index in columns:
        grid.add_column(Text("\n".join(heading(table.columns[index]))), justify="right")
    places = {index: decimals(table, index) for index in columns}
    for row in table.rows:
        words = [entry_words(row.entries[index], table.columns[index], places[index]) for index in columns]
        style = "italic" if row.kind == "computed" else ""
        grid.add_row(Text(row.name, style=style), *(_entry(item, show_values) for item in words))
    console.print(grid)


def _entry(words: Words, show_values: bool) -> Text:
    """The number, bold where the table may say so (with a star, since a file has no bold), and what belongs to it."""
    from rich.text import Text

    number = f"*{words.number}" if words.bold else words.number
    text = Text(number + words.mark, style="bold" if words.bold else "")
    if words.detail:
        text.append(f"\n({words.detail})", style="not bold dim")
    if show_values and words.values:
        text.append(f"\n{words.values}", style="not bold dim")
    for line in words.published:
        text.append(f"\n{line}", style="not bold cyan")
    return text
