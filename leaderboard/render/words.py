"""What every format says alike: the text of an entry, a heading, and the legend. Plain text, not yet escaped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from leaderboard import rounding
from leaderboard.stats import MIN_SEEDS, Scale
from leaderboard.tables import Column, Entry, Leaderboard, Published, Table

NOTHING = "–"
"""An entry without a value."""

ARROWS = {"max": "↑", "min": "↓", "none": ""}
UNTESTED = "†"
SCALES = {"log": "logarithms", "logit": "logits"}
"""What a test is made of."""


@dataclass(frozen=True)
class Words:
    """The parts of one entry; `spread` only from three seeds, `detail` is n, troubles and rank."""

    value: str
    spread: str | None = None
    detail: str = ""
    bold: bool = False
    mark: str = ""
    published: tuple[str, ...] = ()
    values: str = ""

    @property
    def number(self) -> str:
        return self.value if self.spread is None else f"{self.value} ± {self.spread}"


def heading(column: Column) -> tuple[str, str]:
    """The task, and its metric with unit and direction."""
    unit = " (%)" if column.metric.unit == "percent" and "%" not in column.metric.title else ""
    return column.task, f"{column.metric.title}{unit} {ARROWS[column.metric.direction]}".rstrip()


def decimals(table: Table, index: int) -> int:
    """The common decimal of a column, from its measured entries; from the computed ones where none is measured."""
    entries = [entry for row in table.rows if (entry := row.entries[index]) is not None and entry.mean is not None]
    if any(entry.computed is None for entry in entries):
        return table.columns[index].decimals
    return rounding.column_decimals([(e.computed or 0.0, None) for e in entries], table.columns[index].metric.unit)


def entry_words(entry: Entry | None, column: Column, places: int) -> Words:
    """An entry as text, rounded to the column's decimals."""
    if entry is None:
        return Words(NOTHING)
    unit = column.metric.unit
    if entry.computed is not None:
        return Words(rounding.mean_and_std(entry.computed, None, places, unit)[0], detail="computed")
    published = tuple(_published_words(item) for item in entry.published)
    if entry.mean is None:
        return Words(NOTHING, detail=_detail(entry, column), published=published)
    value, spread = rounding.mean_and_std(entry.mean, entry.shown_std, places, unit)
    each = [rounding.mean_and_std(entry.values[seed], None, places, unit)[0] for seed in sorted(entry.values)]
    value = ", ".join(each) if entry.n == 2 else value
    mark = UNTESTED if entry.untested else ""
    return Words(
        value, spread, _detail(entry, column), entry.bold, mark, published, ", ".join(each) if entry.n > 2 else ""
    )


def _detail(entry: Entry, column: Column) -> str:
    if entry.skipped is not None and not entry.planned:
        return "skipped"
    count = f"n={entry.n}" if entry.n == entry.planned else f"n={entry.n}/{entry.planned}"
    parts = [count, *(f"{number} {status}" for status, number in entry.counts.items())]
    if entry.n == 1:
        parts.append("single run")
    if entry.solved is not None and entry.n:
        parts.append(f"solved {entry.solved}/{entry.n}")
    parts += [words] if (words := humps_words(entry, column)) else []
    if entry.rank is not None:
        parts.append(rank_words(entry.rank))
    return "; ".join(parts)


def humps_words(entry: Entry, column: Column) -> str:
    """`two humps: 3 near 75.00, 2 near 100.00`; nothing where they print alike, or one unit of the last place apart."""
    if entry.humps is None:
        return ""
    near = [rounding.round_to(sum(hump) / len(hump), column.decimals) for hump in entry.humps]
    if near[1] - near[0] <= rounding.exact(10.0**-column.decimals):
        return ""
    return "two humps: " + ", ".join(
        f"{len(hump)} near {value:f}" for hump, value in zip(entry.humps, near, strict=True)
    )


def rank_words(rank: tuple[int, int]) -> str:
    low, high = rank
    return f"#{low}" if low == high else f"#{low}–{high}"


def _published_words(item: Published) -> str:
    verdict = "" if item.verdict == "other scale" else f": {item.verdict}"
    place = f" ({item.table})" if item.table else ""
    return f"published {item.printed}{place}{verdict}"


def result(table: Table) -> str:
    """What the table shows, a sentence a column: who leads, what cannot be told apart, what is solved."""
    said = [text for index in range(len(table.columns)) if (text := _column_result(table, index))]
    return ". ".join(said) + "." * bool(said)


def _column_result(table: Table, index: int) -> str:
    column = table.columns[index]
    entries = {row.name: e for row in table.rows if (e := row.entries[index]) is not None and e.rank is not None}
    if len(entries) < 2:
        return ""
    where = f"{column.task}, {column.metric.title}"
    leaders = [name for name, entry in entries.items() if entry.bold and entry.rank and entry.rank[1] < column.rows]
    behind = [name for name, entry in entries.items() if entry.rank and entry.rank[0] > 1]
    solving = [f"{name} on {e.solved} of {e.n}" for name, e in entries.items() if e.solved]
    solved = f"; solved by {', '.join(solving)} seeds" if solving else ""
    values = {value for entry in entries.values() for value in entry.values.values()}
    if len(values) == 1:
        return f"{where}: every row has {rounding.text(values.pop(), column.decimals)} on every seed{solved}"
    if not behind:
        return f"{where}: nothing can be told apart{solved}"
    if not leaders:
        return f"{where}: no row can be named best{solved}"
    rest = len(entries) - len(leaders) - len(behind)
    others = f", {rest} cannot be placed" if rest else ""
    return f"{where}: {', '.join(leaders)} in front, shown to be worse: {', '.join(behind)}{others}{solved}"


def legend(board: Leaderboard) -> list[str]:
    """What a reader must know to read the numbers, one sentence or two a line."""
    placed = [
        (e, column)
        for table in board.tables
        for row in table.rows
        for e, column in zip(row.entries, table.columns, strict=True)
        if e is not None
    ]
    entries = [e for e, _ in placed]
    lines = [
        f"Profile {board.profile}. ± is the sample standard deviation (ddof = 1) over n seeds; in brackets n, or n "
        "of those planned with what became of the others, and the ranks a row may hold (#).",
    ]
    if any(e.bold for e in entries):
        lines.append(
            f"Bold: no row is shown to be better ({_test_words(board)}; Holm over all pairs of rows with the same task "
            f"and metric, in whichever table, α = {board.selection.alpha:g})."
        )
    if any(e.untested for e in entries):
        lines.append(
            f"{UNTESTED} no seed variance: t-test undefined for a pair of this row; "
            "placed by a difference that is the same on every seed."
        )
    if any(humps_words(*one) for one in placed):
        lines.append("Two humps: the seeds fall into two groups, and mean ± deviation describes no run.")
    if any(e.n in (1, 2) for e in entries):
        lines.append(f"Fewer than {MIN_SEEDS} seeds: values only, no ±, no rank, never bold.")
    if any(e.published for e in entries):
        lines.append(_published_legend(entries))
    lines.append(
        "Rounded for display only: PDG rule, half to even, one decimal place per column, "
        "more where a number would print as 0."
    )
    lines += [*_column_notes(board), *board.notes, completeness(board), f"Data {board.digest}"]
    return lines


def completeness(board: Leaderboard) -> str:
    """Whether every planned cell is there."""
    if board.complete:
        return f"Complete: {board.planned} of {board.planned} cells."
    troubles = ", ".join(f"{count} {status}" for status, count in sorted(board.unfinished.items()))
    return f"Incomplete: {board.planned - sum(board.unfinished.values())} of {board.planned} cells; {troubles}."


def _test_words(board: Leaderboard) -> str:
    metrics = dict.fromkeys(column.metric for table in board.tables for column in table.columns)
    return f"paired t-test by seed{scaled((board.selection.scale or one.tested_on, one.title) for one in metrics)}"


def scaled(tested: Iterable[tuple[Scale, str]]) -> str:
    """Which metrics are not tested as they are: `, Accuracy as logits; Loss as logarithms`."""
    used: dict[Scale, dict[str, None]] = {}
    for scale, title in tested:
        used.setdefault(scale, {})[title] = None
    said = "; ".join(f"{', '.join(titles)} as {SCALES[scale]}" for scale, titles in used.items() if scale != "raw")
    return f", {said}" if said else ""


def _published_legend(entries: list[Entry]) -> str:
    verdicts = {item.verdict for e in entries for item in e.published}
    if verdicts == {"other scale"}:
        return "Published numbers were made at another scale than this profile: shown for reference, no verdict."
    return (
        "Published numbers: `agrees` means inside the 95 % prediction interval of this many seeds, "
        "`cannot say` that there are too few of them."
    )


def _column_notes(board: Leaderboard) -> list[str]:
    notes = [
        f"{column.task}, {column.metric.title}: {column.note}."
        for table in board.tables
        for column in table.columns
        if column.note and (column.rows or column.metric.direction == "none")  # else nothing was compared
    ]
    skipped = [
        f"{row.name} × {column.task} skipped: {entry.skipped}."
        for table in board.tables
        for row in table.rows
        for column, entry in zip(table.columns, row.entries, strict=True)
        if entry is not None and entry.skipped
    ]
    return list(dict.fromkeys([*notes, *skipped]))
