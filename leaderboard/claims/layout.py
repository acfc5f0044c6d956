"""A table written the way it looks in the paper, and its expansion into claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from leaderboard.claims.cells import Cell, parse_cell
from leaderboard.claims.model import Claim, Delta, Record, Scope, Spread, Where

ScopeField = Literal["task", "metric", "method", "split", "model", "budget", "subset", "setting", "aggregation"]
Axis = Literal[ScopeField, "none"]
"""What the headings of an axis name: a field of the scope, or nothing."""


class Table(Record):
    """Rows × columns of printed numbers. `shared`, then the row's, then the column's settings make each claim."""

    table: str
    """Name of the table in the source, `Table 3`."""
    part: str = ""
    """Which part of it, where one printed table is written in several pieces here."""
    rows: Axis = "method"
    """What the row headings are."""
    columns: Axis = "metric"
    """What the column headings are."""
    header: Mapping[str, Mapping[str, Any]] | tuple[str, ...]
    """Column headings in order, each with settings of its claims where it has any."""
    cells: Mapping[str, tuple[str | None, ...]] = {}
    """Row heading → cells as printed, one per heading."""
    entries: Mapping[str, Mapping[str, Any]] = {}
    """Row heading → settings of its claims."""
    shared: Mapping[str, Any] = {}
    """Settings of every claim in the table: `scope`, `unit`, `direction`, `n`, `items`, `rounding` ..."""
    baseline: str | None = None
    """Heading the printed differences of the table refer to."""
    csv: str | None = None
    """A CSV file beside this one that holds the rows; `header` then names its columns."""
    key: tuple[str, ...] = ()
    """CSV columns that together are the row heading."""
    scopes: Mapping[str, ScopeField] = {}
    """CSV columns that state a field of the scope, row by row: column → field; an empty cell states nothing."""
    deltas: Mapping[str, str] = Field(default={})
    """CSV columns of printed differences: column → column of the number they belong to."""

    @model_validator(mode="after")
    def _complete(self) -> Table:
        headings = tuple(self.header)
        for row, cells in self.cells.items():
            if len(cells) != len(headings):
                raise ValueError(f"row '{row}' has {len(cells)} cells, the header has {len(headings)}")
        if unknown := [row for row in self.entries if row not in self.cells and self.csv is None]:
            raise ValueError(f"entries for rows the table does not have: {', '.join(unknown)}")
        if bool(self.csv) == bool(self.cells):
            raise ValueError("expected either cells or csv")
        if self.csv and not self.key:
            raise ValueError("csv needs key: the columns that name a row")
        return self


def expand(table: Table, records: Sequence[Mapping[str, str]] = ()) -> Iterator[Claim]:
    """The claims of a table; `records` are the rows of its CSV file, if it has one.

    Raises:
        ValueError: a setting is no field of a claim, or a CSV column is missing.
    """
    columns = _columns(table)
    if table.csv is not None:
        yield from _from_records(table, columns, records)
        return
    styled = [cell and ("**" in cell or cell.startswith("_")) for cells in table.cells.values() for cell in cells]
    for row, cells in table.cells.items():
        base = _merge(table.shared, _axis(table.rows, row), table.entries.get(row, {}))
        for (column, settings), text in zip(columns.items(), cells, strict=True):
            cell = parse_cell(text)
            if cell is not None:
                yield _claim(table, row, column, _merge(base, settings), cell, typography=any(styled))


def _columns(table: Table) -> dict[str, dict[str, Any]]:
    """Heading → settings, the axis included."""
    named = table.header if isinstance(table.header, Mapping) else {name: {} for name in table.header}
    return {column: _merge(_axis(table.columns, column), settings) for column, settings in named.items()}


def _axis(axis: Axis, heading: str) -> dict[str, Any]:
    return {} if axis == "none" else {"scope": {axis: heading}}


def _merge(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Later layers win; scopes are merged field by field."""
    merged: dict[str, Any] = {}
    for layer in layers:
        scope = {**merged.get("scope", {}), **(layer.get("scope") or {})}
        merged.update(layer)
        merged["scope"] = scope
    return merged


def _claim(table: Table, row: str, column: str, settings: dict[str, Any], cell: Cell, typography: bool) -> Claim:
    """One cell as a claim.

    Raises:
        ValueError: naming the cell, when a setting is no field of a claim.
    """
    fields = dict(settings)
    where = Where(table=table.table, row=row, column=f"{table.part}: {column}" if table.part else column)
    if cell.spread is not None:
        fields["spread"] = {**(fields.get("spread") or {}), "printed": cell.spread}
    elif not (fields.get("spread") or {}).get("printed"):
        fields.pop("spread", None)
    if cell.delta is not None:
        stated = {"baseline": table.baseline, "relative": cell.relative}
        fields["delta"] = {**stated, **(fields.get("delta") or {}), "printed": cell.delta}
    elif not (fields.get("delta") or {}).get("printed"):
        fields.pop("delta", None)
    if typography:
        fields |= {"bold": cell.bold, "underline": cell.underline}
    if fields.get("role") and not fields.get("group"):
        fields["group"] = f"{table.table}/{row}"
    try:
        return Claim.model_validate({**fields, "printed": cell.printed, "where": where})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{where}: {field}: {first['msg']}") from None


def _from_records(
    table: Table, columns: Mapping[str, dict[str, Any]], records: Sequence[Mapping[str, str]]
) -> Iterator[Claim]:
    """Claims of a result file: settings are checked on the first row, the rest are copies with their own numbers."""
    if not records:
        return
    wanted = [*columns, *table.key, *table.scopes, *table.deltas]
    if missing := [name for name in wanted if name not in records[0]]:
        raise ValueError(f"{table.csv} has no column {', '.join(missing)}; it has {', '.join(records[0])}")
    deltas_of: dict[str, list[str]] = defaultdict(list)
    for column, number in table.deltas.items():
        deltas_of[number].append(column)
    first = " @ ".join(records[0][name] for name in table.key)
    base = _merge(table.shared, _axis(table.rows, first))
    templates = {
        column: _claim(table, first, column, _merge(base, settings), _zero(column in deltas_of), typography=False)
        for column, settings in columns.items()
    }
    for record in records:
        row = " @ ".join(record[name] for name in table.key)
        scoped: dict[str, str] = {field: record[column] for column, field in table.scopes.items() if record[column]}
        if table.rows != "none":
            scoped[table.rows] = row
        for column, template in templates.items():
            if (cell := parse_cell(record[column])) is not None:
                deltas = [record[name] for name in deltas_of.get(column, ()) if record[name]]
                yield _copy(table, template, row, scoped, cell, deltas)


def _zero(with_delta: bool) -> Cell:
    """A stand-in by which a column's settings are checked."""
    return Cell("0", delta="0" if with_delta else None)


def _copy(table: Table, template: Claim, row: str, scoped: Mapping[str, str], cell: Cell, deltas: list[str]) -> Claim:
    """`template` with the numbers and the scope of another row (validated through it, so constructed directly)."""
    scope = template.scope.model_copy(update=scoped)
    where = Where.model_construct(table=template.where.table, row=row, column=template.where.column)
    update: dict[str, Any] = {"printed": cell.printed, "scope": scope, "where": where}
    if template.role:
        update["group"] = f"{table.table}/{row}"
    if cell.spread is not None:
        update["spread"] = Spread(printed=cell.spread)
    printed = deltas or ([cell.delta] if cell.delta else [])
    stated = template.delta or Delta(printed="", baseline=table.baseline)
    copies = [stated.model_copy(update={"printed": text}) for text in printed]
    update |= {"delta": copies[0] if copies else None, "deltas": tuple(copies[1:])}
    return template.model_copy(update=update)


def scope_fields() -> tuple[str, ...]:
    """Names of the scope's fields, in order."""
    return tuple(Scope.model_fields)
