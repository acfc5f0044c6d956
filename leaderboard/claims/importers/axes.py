"""Decide which axis of a table holds the methods and which the tasks, by what the table itself says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from leaderboard.claims.importers.facts import facts_of
from leaderboard.claims.importers.grid import Grid
from leaderboard.claims.importers.layout import Block, Layout, Readings, are_settings
from leaderboard.claims.importers.mapping import Axis, TableMapping
from leaderboard.lexicon import read


@dataclass(frozen=True)
class Axes:
    """What labels that no rule explains stand for, per label column and for the column headers."""

    labels: tuple[str, ...]
    """One of method, task, model, metric, split, subset, budget, aggregation, skip per label column."""
    columns: tuple[str, ...]
    """The same per header row; a shorter tuple is continued with its last entry."""
    assumed: bool = False
    head: str = ""
    """What the corner says of numeric column headers, `Layers` over 2, 4, 8; they become `Layers=2` ..."""
    columns_stated: bool = False
    """Whether the mapping or a word across the columns says what they are."""

    def column(self, header_row: int) -> str:
        return self.columns[min(header_row, len(self.columns) - 1)]

    def __str__(self) -> str:
        rows = ", ".join(self.labels) or "none"
        return f"rows: {rows}; columns: {', '.join(dict.fromkeys(self.columns))}"


def find_axes(grid: Grid, layout: Layout, block: Block, readings: Readings, entry: TableMapping) -> Axes:
    """The mapping's word first, then header words such as `Method`, then known names, then where bold stands."""
    heads = [corner_text(grid, block, column) for column in range(layout.label_columns)]
    kinds = _given(entry.rows, layout.label_columns) or [read(text).axis or _attribute_kind(text) for text in heads]
    given_columns = _as_tuple(entry.columns)
    if not entry.rows and not given_columns and _corner_heads_columns(grid, layout, block, heads):
        return Axes(("method",), ("budget" if read(heads[0]).kind == "budget" else "subset",), False, heads[0])
    spanning = _column_word(grid, layout, block, heads) or _stacked_corner(grid, block)
    settings = {column for column in range(1, layout.label_columns) if are_settings(readings, block.rows, column)}
    if "task" in kinds or (spanning == "method" and kinds.count(None) == len(kinds)):
        tasks = settings | ({0} if settings and not any(kinds) else set())
        kinds = ["task" if at in tasks and kind in (None, "subset") else kind for at, kind in enumerate(kinds)]
    rows = _rows_word(kinds) or (_other(spanning) if spanning else None)
    if rows is None and given_columns:
        rows = "task" if "method" in given_columns else "method"
    if rows is not None:
        if not (entry.rows or given_columns or spanning) and _names_the_columns(grid, layout, block, rows):
            return Axes(tuple(_other(rows) for _ in kinds), (rows,), assumed=True)
        return _finish(kinds, rows, given_columns, spanning, assumed=False)
    rows = _by_names(grid, layout, block) or _by_style(grid, layout, block, readings)
    return _finish(kinds, rows or "method", given_columns, spanning, assumed=rows is None)


def _corner_heads_columns(grid: Grid, layout: Layout, block: Block, heads: list[str]) -> bool:
    """A lone corner such as `Layers` over named rows and beside numeric column headers belongs to the columns."""
    if len(heads) != 1 or read(heads[0]).kind not in ("setting", "budget"):
        return False
    columns = [grid.rows[row][column].text for row in block.header for column in range(1, grid.columns)]
    rows = [grid.rows[row][0].text for row in block.rows]
    return all(map(_is_numeral, filter(None, columns))) and any(columns) and not any(map(_is_numeral, rows))


def _is_numeral(text: str) -> bool:
    return text.strip("%KMBk ").replace(".", "").replace("^-", "").isdecimal()


def corner_text(grid: Grid, block: Block, column: int) -> str:
    """The lowest header over a label column; none where the corner names the header rows."""
    if _stacked_corner(grid, block) is not None:
        return ""
    texts = [read(grid.rows[row][column].text).text for row in block.header]
    return next((text for text in reversed(texts) if text), "")


def _stacked_corner(grid: Grid, block: Block) -> str | None:
    """What the columns are where the corner names each header row: `Models` over `Metric`."""
    corner = [grid.rows[row][0] for row in block.header]
    kinds = [read(cell.text).axis or None for cell in corner]
    if len(kinds) < 2 or len({id(cell) for cell in corner}) < len(corner) or None in kinds or kinds[-1] != "metric":
        return None
    return "task" if kinds[0] in ("task", "split") else "method" if kinds[0] in ("method", "model") else None


def _as_tuple(axis: Axis | tuple[Axis, ...] | None) -> tuple[str, ...]:
    if axis is None:
        return ()
    return (axis,) if isinstance(axis, str) else tuple(axis)


def _given(axis: Axis | tuple[Axis, ...] | None, count: int) -> list[str | None] | None:
    given = _as_tuple(axis)
    if not given:
        return None
    kinds: list[str | None] = [None if kind == "auto" else kind for kind in given]
    return (kinds + [None] * count)[: max(count, len(kinds))][:count] if count else []


def _attribute_kind(head: str) -> str | None:
    return {"budget": "budget", "setting": "subset", "identifier": "skip"}.get(read(head).kind)


def _rows_word(kinds: list[str | None]) -> str | None:
    """The axis that the label columns state: method wins, a lone model column is the method."""
    if "method" in kinds or "model" in kinds:
        return "method"
    return "task" if "task" in kinds else None


def _other(kind: str) -> str:
    return "task" if kind == "method" else "method"


def _column_word(grid: Grid, layout: Layout, block: Block, heads: list[str]) -> str | None:
    """`Method` or `Data set` written across the columns, or behind the backslash of a corner, `Task \\\\ Method`."""
    for row in block.header:
        for column in range(layout.label_columns, grid.columns):
            kind = read(grid.rows[row][column].text).axis
            if kind in ("method", "task", "model") and grid.rows[row][column].column_span > 1:
                return "task" if kind == "task" else "method"
    for head in heads:
        left, slash, right = head.partition("\\")
        if slash and read(left).axis and read(right).axis:
            return "task" if read(right).axis == "task" else "method"
    return None


def _names_the_columns(grid: Grid, layout: Layout, block: Block, corner: str) -> bool:
    """Whether a lone corner word heads the columns: `Method` over known data sets, `Domain` over a row `Ours`."""
    if layout.label_columns != 1:
        return False
    rows, columns = _row_labels(grid, layout, block), _column_labels(grid, layout, block)
    if corner == "method":
        known = (
            len(rows) > 1
            and all(read(row).is_dataset for row in rows)
            and not any(read(column).is_dataset for column in columns)
        )
        return known and any(read(label).is_own or read(label).is_method for label in columns)
    return any(read(row).is_own for row in rows) and not any(read(column).is_own for column in columns)


def _by_names(grid: Grid, layout: Layout, block: Block) -> str | None:
    """Compare how many labels of each axis are known data sets and how many are known methods."""
    rows = _row_labels(grid, layout, block)
    columns = _column_labels(grid, layout, block)
    lean = _lean(columns) - _lean(rows)
    if abs(lean) < 1e-9:
        return None
    return "method" if lean > 0 else "task"


def _lean(labels: list[str]) -> float:
    """+1 when every label is a known data set, −1 when every one is a known method."""
    if not labels:
        return 0.0
    found = [read(label) for label in labels]
    return sum(one.is_dataset - (one.is_method and not one.is_dataset) for one in found) / len(labels)


def _row_labels(grid: Grid, layout: Layout, block: Block) -> list[str]:
    texts = (grid.rows[row][column].text for row in block.rows for column in range(layout.label_columns))
    return _unexplained(texts)


def _column_labels(grid: Grid, layout: Layout, block: Block) -> list[str]:
    columns = range(layout.label_columns, grid.columns)
    texts = (
        grid.rows[row][column].text
        for row in block.header
        for column in columns
        if read(grid.rows[row][column].text).kind not in ("setting", "budget")
    )
    return _unexplained(texts)


def _unexplained(texts: Iterable[str]) -> list[str]:
    """Distinct labels that are a task or a method: neither metric (an arrow says so), split, average nor difference."""
    kept = []
    for text in dict.fromkeys(text for text in texts if text):
        facts = facts_of(text)
        pointed = facts.direction != "unknown" and "task" not in facts.fields
        if (facts.residual and not pointed) or ("task" in facts.fields and not facts.is_average):
            kept.append(facts.residual or facts.fields["task"])
    return kept


def _by_style(grid: Grid, layout: Layout, block: Block, readings: Readings) -> str | None:
    """One bold number per column, several per row: methods are in the rows; and vice versa. Differences likewise."""
    bold: list[tuple[int, int]] = []
    deltas: list[tuple[int, int]] = []
    for row in block.rows:
        for column in range(layout.label_columns, grid.columns):
            for number in readings.at(row, column).numbers[:1]:
                if number.style.bold:
                    bold.append((row, column))
                if number.delta is not None:
                    deltas.append((row, column))
    for marked in (bold, deltas):
        if marked:
            per_row = max(Counter(row for row, _ in marked).values())
            per_column = max(Counter(column for _, column in marked).values())
            if per_column == 1 < per_row:
                return "method"
            if per_row == 1 < per_column:
                return "task"
    return None


def _finish(kinds: list[str | None], rows: str, given: tuple[str, ...], spanning: str | None, assumed: bool) -> Axes:
    """Fill in what the label columns without a word of their own are: one holds `rows`, the others describe it."""
    filled = list(kinds)
    if rows == "method" and "method" not in filled and "model" in filled:
        filled[filled.index("model")] = "method"
    if rows not in filled and None in filled:
        filled[filled.index(None)] = rows
    columns = given or (spanning or _other(rows),)
    return Axes(tuple(kind or "subset" for kind in filled), columns, assumed, columns_stated=bool(given or spanning))
