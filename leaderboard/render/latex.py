"""LaTeX with booktabs; the unrounded values stand in comments beside the rounded ones."""

from __future__ import annotations

import re

from leaderboard.digest import stamped
from leaderboard.render.words import ARROWS, Words, decimals, entry_words, legend
from leaderboard.tables import Column, Entry, Leaderboard, Row, Table

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "±": r"$\pm$", "×": r"$\times$", "−": r"$-$", "–": "--", "†": r"$^\dagger$", "α": r"$\alpha$",
    "↑": r"$\uparrow$", "↓": r"$\downarrow$", "≥": r"$\geq$", "≤": r"$\leq$",
}  # fmt: skip


def render(board: Leaderboard, *, show_values: bool = False) -> str:
    tables = [_table(board, table, show_values) for table in board.tables]
    return stamped("\n\n".join(["% needs \\usepackage{booktabs}", *tables]), board, ("% ", ""))


def escape(text: str) -> str:
    """Text that LaTeX shows as it is, on one line."""
    return re.sub("|".join(map(re.escape, _SPECIAL)), lambda match: _SPECIAL[match[0]], " ".join(text.split()))


def _table(board: Leaderboard, table: Table, show_values: bool) -> str:
    places = [decimals(table, index) for index in range(len(table.columns))]
    title = f"{board.title or board.experiment} ({board.profile}): {table.title}"
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(title)}. {' '.join(escape(line) for line in legend(board)[:-1])}}}",
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
        " & ".join(["Initializer", *(escape(column.task) for column in table.columns)]) + r" \\",
        " & ".join(["", *(_metric(column) for column in table.columns)]) + r" \\",
        r"\midrule",
    ]
    ruled = False
    for row in table.rows:
        if row.kind == "computed" and not ruled:
            lines.append(r"\midrule")
            ruled = True
        lines += _row(row, table, places, show_values)
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])


def _metric(column: Column) -> str:
    unit = " (%)" if column.metric.unit == "percent" and "%" not in column.metric.title else ""
    return escape(f"{column.metric.title}{unit} {ARROWS[column.metric.direction]}".rstrip())


def _row(row: Row, table: Table, places: list[int], show_values: bool) -> list[str]:
    shown, comments = [], []
    for entry, column, place in zip(row.entries, table.columns, places, strict=True):
        shown.append(_entry(entry_words(entry, column, place), show_values))
        if entry is not None:
            comments.append(f"% {' '.join(row.name.split())}, {column.task}, {column.metric.name}: {_unrounded(entry)}")
    name = rf"\emph{{{escape(row.name)}}}" if row.kind == "computed" else escape(row.name)
    return [" & ".join([name, *shown]) + r" \\", *comments]


def _entry(words: Words, show_values: bool) -> str:
    """`$\\mathbf{99.98 \\pm 0.01}$ {\\scriptsize (5; \\#1)}`, published numbers after it."""
    number = words.number.replace("±", r"\pm").replace("–", r"\textrm{--}").replace(", ", r",\ ")
    number = rf"$\mathbf{{{number}}}$" if words.bold else f"${number}$"
    small = [words.detail, *([words.values] if show_values and words.values else []), *words.published]
    notes = "; ".join(part for part in small if part)
    return number + escape(words.mark) + (rf" {{\scriptsize ({escape(notes)})}}" if notes else "")


def _unrounded(entry: Entry) -> str:
    if entry.computed is not None:
        return f"computed {entry.computed!r}"
    spread = "" if entry.std is None else f" sd {entry.std!r}"
    return f"mean {entry.mean!r}{spread} n {entry.n} of {entry.planned}"
