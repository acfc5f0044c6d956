"""The mapping file: what the headers of a table mean when the table itself does not say."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from benchmark.spec.marks import InvalidSpecError, Problem
from benchmark.spec.source import Node, read_file
from leaderboard.claims.importers.grid import Grid
from leaderboard.claims.loader import place
from leaderboard.claims.model import Direction, Record, Rounding, Scope, SpreadKind

Axis = Literal[
    "method", "task", "metric", "split", "model", "budget", "subset", "setting", "aggregation", "auto", "skip"
]
LatexStyle = Literal["bold", "underline", "italic", "plain", "drop"]


class TableMapping(Record):
    """What one table's headers mean. Everything is optional; what is left out is inferred."""

    match: int | str = "*"
    """Number of the table in the file from 1, its exact label, or a regular expression found in its name or caption."""
    name: str | None = None
    """What to call the table, for example `Table 3`."""
    rows: Axis | tuple[Axis, ...] | None = None
    """What the row labels are; one entry per label column if there are several."""
    columns: Axis | tuple[Axis, ...] | None = None
    """What the column headers are; one entry per header row if there are several."""
    metric: str | tuple[str, ...] | None = None
    """Metric of every number, or of the first, second ... number of a cell such as `1.38 / 75.00`."""
    scope: Scope = Scope()
    """Scope fields of every number of the table; a header overrides them."""
    labels: dict[str, Scope] = Field(default_factory=dict)
    """Header as printed → the scope fields that it stands for."""
    roles: dict[str, str] = Field(default_factory=dict)
    """Header as printed → role of its numbers (`average`, `precision`, `delta` ...)."""
    directions: dict[str, Direction] = Field(default_factory=dict)
    """Metric → which way is better."""
    unit: Literal["percent", "fraction", "raw", "nats", "perplexity"] | None = None
    rounding: Rounding = "nearest"
    n: int | None = Field(default=None, gt=0)
    """Number of runs behind each number."""
    items: int | None = Field(default=None, gt=0)
    """Number of evaluated items."""
    spread: SpreadKind | None = None
    """What the number after ± is."""
    ddof: int | None = None
    brackets: Literal["spread", "delta", "ignore"] | None = None
    """What a bare number in brackets or in a subscript behind a value is."""
    baseline: str | None = None
    """Method that printed differences are taken to."""
    relative: bool = False
    """Whether printed differences are a percentage of the baseline."""
    deltas: dict[str, str] = Field(default_factory=dict)
    """Heading of a column or row of differences → heading of the one whose numbers they belong to."""
    header_rows: int | None = Field(default=None, ge=0)
    label_columns: int | None = Field(default=None, ge=0)
    skip_columns: tuple[str, ...] = ()
    skip_rows: tuple[str, ...] = ()
    decimal_comma: bool = False

    def matches(self, grid: Grid, number: int) -> bool:
        """Whether this entry is for the table, the `number`-th of its file from 1."""
        if isinstance(self.match, int):
            return self.match == number
        if self.match in ("*", grid.label, grid.name):
            return True
        return re.search(self.match, f"{grid.name}\n{grid.caption}"[:4000], re.IGNORECASE) is not None


class Mapping(Record):
    """A mapping file. The first entry that matches a table is used."""

    tables: tuple[TableMapping, ...] = ()
    macros: dict[str, LatexStyle] = Field(default_factory=dict)
    """LaTeX commands of one argument that the file does not define → the style they set, for example `best: bold`."""

    def entry(self, grid: Grid, number: int) -> TableMapping:
        """The entry for a table; an empty one when none matches."""
        return next((table for table in self.tables if table.matches(grid, number)), TableMapping())


def load_mapping(path: Path) -> Mapping:
    """Read a mapping file.

    Raises:
        SpecError: it cannot be read, or has problems; each is shown with its line and column.
    """
    root, problems = read_file(path)
    if root is None or problems:
        raise InvalidSpecError(problems)
    try:
        mapping = Mapping.model_validate(root.plain())
    except ValidationError as error:
        raise InvalidSpecError(_problem(root, entry) for entry in error.errors()) from None
    for position, table in enumerate(mapping.tables):
        if (message := _pattern_problem(table.match)) is not None:
            raise InvalidSpecError([Problem(place(root, ("tables", position, "match")), message)])
    return mapping


def _problem(root: Node, entry: Any) -> Problem:
    """A pydantic error at its place, with the keys that would be right when one is unknown."""
    loc = entry["loc"]
    message = entry["msg"].removeprefix("Value error, ")
    if entry["type"] == "extra_forbidden":
        known = list(TableMapping.model_fields) if loc[0] == "tables" else list(Mapping.model_fields)
        near = difflib.get_close_matches(str(loc[-1]), known, n=1)
        message = (
            f"unknown key; did you mean '{near[0]}'?" if near else f"unknown key; expected one of {', '.join(known)}"
        )
    return Problem(place(root, loc), f"{'.'.join(str(part) for part in loc)}: {message}")


def _pattern_problem(match: int | str) -> str | None:
    if isinstance(match, str) and match != "*":
        try:
            re.compile(match)
        except re.error as error:
            return f"{match!r} is no regular expression: {error}"
    return None
