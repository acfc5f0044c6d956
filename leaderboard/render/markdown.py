"""GitHub-flavoured Markdown, with the data's digest in comments around it."""

from __future__ import annotations

import re

from leaderboard.digest import stamped
from leaderboard.render.words import Words, decimals, entry_words, heading, legend, result
from leaderboard.tables import Leaderboard, Table


def render(board: Leaderboard, *, show_values: bool = False) -> str:
    parts = [f"### {escape(board.title or board.experiment)} ({escape(board.profile)})"]
    for table in board.tables:
        parts += ([f"**{escape(table.title)}**"] if len(board.tables) > 1 else []) + [table_text(table, show_values)]
        parts += [escape(said)] if (said := result(table)) else []
    parts.append("\n".join(f"- {escape(line)}" for line in legend(board)))
    return stamped("\n\n".join(parts), board, ("<!-- ", " -->"))


def table_text(table: Table, show_values: bool = False) -> str:
    """One table, without title or legend."""
    heads = [heading(column) for column in table.columns]
    lines = [["initializer", *(f"{escape(task)}<br>{escape(metric)}" for task, metric in heads)]]
    lines.append([":--", *("--:" for _ in heads)])
    places = [decimals(table, index) for index in range(len(heads))]
    for row in table.rows:
        texts = [entry_words(*item) for item in zip(row.entries, table.columns, places, strict=True)]
        name = f"*{escape(row.name)}*" if row.kind == "computed" else escape(row.name)
        lines.append([name, *(_entry(words, show_values) for words in texts)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    text = re.sub(r"([\\|`*<>\[\]])", r"\\\1", " ".join(text.split()))
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)


def _entry(words: Words, show_values: bool) -> str:
    number = f"**{words.number}**" if words.bold else words.number
    detail = f" ({escape(words.detail)})" if words.detail else ""
    values = [f"[{words.values}]".replace("[", "\\[").replace("]", "\\]")] if show_values and words.values else []
    return "<br>".join([f"{number}{words.mark}{detail}", *values, *(escape(text) for text in words.published)])
