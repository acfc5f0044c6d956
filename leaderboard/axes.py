"""Arms of a grid along an axis: `mask[contrast=5]` as the row `mask` at contrast 5."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from benchmark.errors import UsageError
from leaderboard.aggregate import Grid
from leaderboard.digest import digest
from leaderboard.render.svg import Series
from leaderboard.stats import summarize
from leaderboard.tables import Column, Entry, Leaderboard, Row, Table

ARM = re.compile(r"(.+)\[([^\[\]]*=[^\[\]]*)\]")


def arm(name: str) -> tuple[str, dict[str, str]]:
    """Name without its grid, and axis → value; no axes for a name that is no arm."""
    found = ARM.fullmatch(name)
    return (found[1], dict(part.split("=", 1) for part in found[2].split(","))) if found else (name, {})


def line(name: str, axis: str) -> tuple[str, str | None]:
    """The line an arm lies on, named by what is left without the axis, and its place on the axis."""
    base, places = arm(name)
    value = places.pop(axis, None)
    rest = ",".join(f"{key}={place}" for key, place in places.items())
    return f"{base}[{rest}]" if rest else base, value


def axes(names: Sequence[str]) -> list[str]:
    """Axes with two values or more among these names."""
    seen: dict[str, set[str]] = {}
    for name in names:
        for axis, value in arm(name)[1].items():
            seen.setdefault(axis, set()).add(value)
    return [axis for axis, values in seen.items() if len(values) > 1]


def along(board: Leaderboard, axis: str) -> Leaderboard:
    """The same tables with the values of an axis as columns, a table for each column of before.

    Rows without the axis stand beside, alike in every column. Tests, ranks and bold stay those over all arms.

    Raises:
        UsageError: no arm has this axis.
    """
    found = axes([row.name for table in board.tables for row in table.rows])
    if axis not in found:
        raise UsageError(f"no initialiser shown has an axis '{axis}'; there are: {', '.join(found) or 'none'}")
    tables = tuple(_along(t, i, axis) for t in board.tables for i in range(len(t.columns)))
    return replace(board, tables=tables, digest=digest(board.experiment, board.profile, tables))


def _along(table: Table, index: int, axis: str) -> Table:
    column = table.columns[index]
    rows: dict[str, dict[str | None, Entry | None]] = {}
    for row in table.rows:
        base, value = line(row.name, axis)
        rows.setdefault(base, {})[value] = row.entries[index]
    kinds = {line(row.name, axis)[0]: row.kind for row in table.rows}
    values = sorted({value for entries in rows.values() for value in entries if value is not None}, key=place)
    columns = tuple(replace(column, task=f"{column.task}, {axis} = {value}") for value in values)
    made = [Row(name, kinds[name], tuple(e.get(v, e.get(None)) for v in values)) for name, e in rows.items()]
    return Table(f"{table.title}: {column.task}, {column.metric.title} by {axis}", columns, tuple(made))


def place(value: str) -> tuple[float, str]:
    """Where a value stands on its axis: numbers by size, then names."""
    try:
        return float(value), ""
    except ValueError:
        return float("inf"), value


def series(grid: Grid, column: Column, axis: str) -> list[Series]:
    """One line for each initialiser along a numeric axis; those without it run across; none for an axis of names."""
    names = [name for name in grid.initializers if grid.group(column.task, name)]
    values = sorted({value for name in names if (value := line(name, axis)[1]) is not None}, key=place)
    if len(values) < 2 or any(place(value)[1] for value in values):
        return []
    points: dict[str, list[tuple[float, float | None, float | None]]] = {}
    for name in names:
        base, value = line(name, axis)
        group = grid.group(column.task, name)
        summary = summarize(list(group.values(column.metric.name).values()) if group else [])
        found = points.setdefault(base, [])
        found += [(place(x)[0], summary.mean, summary.std or 0.0) for x in ([value] if value is not None else values)]
    return [Series(name, tuple(sorted(found, key=lambda point: point[0]))) for name, found in points.items()]
