"""From a grid of cells to claims: every number that can be read, and a list of what cannot."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal

from leaderboard.claims.importers import captions
from leaderboard.claims.importers.axes import Axes, find_axes
from leaderboard.claims.importers.columns import Columns, attached_by
from leaderboard.claims.importers.differences import bind
from leaderboard.claims.importers.drafts import Draft, Spot, context_of, finish
from leaderboard.claims.importers.facts import Facts, of_metric
from leaderboard.claims.importers.grid import Cell, Grid, with_differences_joined
from leaderboard.claims.importers.labels import Labels
from leaderboard.claims.importers.layout import Block, Layout, Readings, find_layout
from leaderboard.claims.importers.mapping import TableMapping
from leaderboard.claims.importers.mentions import metric_named, metrics_in, slashed_in
from leaderboard.claims.importers.numbers import Reading
from leaderboard.claims.importers.result import NO_METRIC, Place, TableSummary, Unread, is_unmeasured
from leaderboard.claims.importers.rows import Rows, corner_facts
from leaderboard.claims.model import Claim, SpreadKind, Where
from leaderboard.lexicon import Meaning, default, read

NOTHING = Facts()
"""What a header adds to the one number of a cell."""


@dataclass
class TableReading:
    """What one table gave."""

    summary: TableSummary
    claims: list[Claim] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)


def read_table(grid: Grid, entry: TableMapping) -> TableReading:
    """Claims of one table under its mapping entry (an empty one when there is none)."""
    reader = _Reader(grid, entry)
    return reader.read()


class _Reader:
    def __init__(self, grid: Grid, entry: TableMapping) -> None:
        self.grid = grid = with_differences_joined(grid)
        self.entry = (
            entry
            if entry.brackets is not None
            else entry.model_copy(update={"brackets": captions.brackets_in(grid.caption)})
        )
        self.name = entry.name or grid.name
        self.readings = Readings(grid, self.entry)
        self.drafts: list[Draft] = []
        self.unread: list[Unread] = []
        self.notes = list(grid.notes)
        self.axes: list[Axes] = []
        self.missing = 0

    def read(self) -> TableReading:
        if self.grid.columns == 0:
            return TableReading(self._summary())
        layout = find_layout(self.grid, self.readings, self.entry)
        for row in layout.counts:
            name = self.grid.rows[row][0].text
            self.notes.append(f"row {name!r} was taken to describe the columns and is no part of their names")
        for block in layout.blocks:
            self._block(layout, block)
        self.drafts, apart = bind(self.name, self.drafts, self.grid.caption, self.entry)
        self.unread += apart
        context = context_of(self.grid, self.entry, self.drafts)
        claims = finish(self.drafts, context, self.entry)
        if count := sum(is_unmeasured(claim) for claim in claims):
            self.notes.append(f"{NO_METRIC} of {count} of {len(claims)} numbers; give `metric:` in a mapping file")
        places = [Place(draft.cell.line, draft.cell.column) for draft in self.drafts]
        return TableReading(self._summary(), claims, places, self.unread)

    def _summary(self) -> TableSummary:
        axes = "; ".join(dict.fromkeys(str(axis) for axis in self.axes)) or "none"
        return TableSummary(
            self.name, self.grid.line, self.grid.label, self.grid.caption[:300], len(self.grid.rows),
                self.grid.columns, len(self.drafts),
            self.missing, axes, any(axis.assumed for axis in self.axes), tuple(dict.fromkeys(self.notes)),
        )  # fmt: skip

    def _block(self, layout: Layout, block: Block) -> None:
        if not block.rows:
            return
        axes = find_axes(self.grid, layout, block, self.readings, self.entry)
        self.axes.append(axes)
        labels = Labels(self.grid, block, self.readings, self.entry)
        told = self._told()
        corner = corner_facts(labels, layout, told)
        columns = Columns(labels, axes, layout.label_columns, told or corner.fields.get("metric"))
        self.notes += columns.notes
        rows = Rows(labels, layout, axes, columns)
        above: int | None = None
        for row in block.rows:
            label, facts = rows.of(row)
            if label in self.entry.skip_rows:
                continue
            attached = attached_by(label)
            if attached is not None and attached.role == "spread" and not attached.of and above is not None:
                for column, found in columns.all.items():
                    if found.use == "numbers":
                        self._attach(row, column, attached, self._at(above, [column]))
                continue
            above = row
            for column, found in columns.all.items():
                if found.use == "numbers" and (row, column) not in self.grid.covered:
                    role: Literal["row", "column"] = "row" if facts.role and not found.facts.role else "column"
                    spot = Spot(row, column, len(self.axes), _difference(found.facts, facts), role)
                    self._cell(spot, label, found.path, _crossed(found.facts, facts).over(corner))
            self._weigh(row, columns)
            self._gather(row, columns)
            for column, found in columns.all.items():
                if found.attached is not None and found.use == "attached":
                    self._attach(row, column, found.attached, self._at(row, columns.numbers_of(column)))

    def _gather(self, row: int, columns: Columns) -> None:
        """Columns of single runs, `s0 s1 s2`, become the values of the one average beside them."""
        runs = [draft for at in columns.runs() for draft in self._at(row, [at])]
        averages = [at for at, found in columns.all.items() if found.facts.is_average]
        mean = self._at(row, averages) if len(runs) > 1 else []
        if len(mean) == 1 and all(draft.number.has_value for draft in runs):
            mean[0].values = tuple(draft.number.printed for draft in runs)
            self.drafts = [draft for draft in self.drafts if draft not in runs]

    def _weigh(self, row: int, columns: Columns) -> None:
        """Weights of the parts of an average, `Retrieval (15)`, where they add up to its own, `Average (56)`."""
        counted = {at: read(found.levels[-1][0]).count for at, found in columns.all.items() if found.levels}
        parts = {at: count for at, count in counted.items() if count and not columns.all[at].facts.is_average}
        wholes = [count for at, count in counted.items() if count and columns.all[at].facts.is_average]
        if wholes and all(whole == sum(parts.values()) for whole in wholes):
            for at, count in parts.items():
                for draft in self._at(row, [at]):
                    draft.weight = count

    def _told(self) -> str | None:
        """The metric that the mapping or the caption gives for the whole table."""
        if self.entry.metric is not None:
            return self.entry.metric if isinstance(self.entry.metric, str) else self.entry.metric[0]
        if self.entry.scope.metric is not None:
            return self.entry.scope.metric
        said = metric_named(self.grid.caption)
        return said.found.called if said is not None else None

    def _at(self, row: int, columns: list[int]) -> list[Draft]:
        """The numbers read from these places of a row."""
        cells = [self.grid.rows[row][column] for column in columns]
        near = self.drafts[-len(self.grid.rows[row]) * 8 :]
        return [draft for draft in near if any(draft.cell is cell for cell in cells)]

    def _cell(self, spot: Spot, label: str, header: str, facts: Facts) -> None:
        cell = self.grid.rows[spot.row][spot.column]
        reading = self.readings.at(spot.row, spot.column)
        where = Where(table=self.name, row=label[:300], column=header[:300])
        if reading.missing:
            self.missing += 1
            return
        if reading.problem:
            self._reject(cell, reading.problem_text or cell.text, reading.problem)
        if not reading.numbers:
            return
        if cell.column_span > 1 or cell.row_span > 1:
            self._reject(
                cell, cell.text, "one number over several rows or columns; which of them it belongs to is not said"
            )
            return
        self._numbers(reading, facts, where, cell, spot)

    def _attach(self, row: int, column: int, attached: Meaning, drafts: list[Draft]) -> None:
        """A spread or a number of runs that stands in a cell of its own goes to its number; else it is listed."""
        cell = self.grid.rows[row][column]
        found = self.readings.marked(row, column)
        if found is None:
            if any(character.isdigit() for character in cell.text):
                self._reject(cell, cell.text, "what stands in a column of spreads or counts is not one number")
        elif attached.role == "bound":
            self._reject(cell, cell.text, "one end of an interval, which a claim cannot say")
        elif attached.role != "spread" and drafts and found.printed.isdecimal() and 0 < int(found.printed) < 10**7:
            for draft in drafts:
                draft.number = replace(draft.number, n=draft.number.n or int(found.printed))
        elif attached.role == "spread" and len(drafts) == 1 and drafts[0].number.spread is None:
            drafts[0].number = replace(drafts[0].number, spread=found.printed)
            drafts[0].spread_kind = kind_of(attached)
        else:
            what = "a spread" if attached.role == "spread" else "a number of runs"
            self._reject(cell, cell.text, f"{what} without one number that it belongs to")

    def _numbers(self, reading: Reading, facts: Facts, where: Where, cell: Cell, spot: Spot) -> None:
        parts = self._parts(facts, len(reading.numbers))
        if parts is None:
            self._reject(
                cell, cell.text, f"{len(reading.numbers)} numbers in one cell and no header says what each one is"
            )
            return
        for number, part in zip(reading.numbers, parts, strict=True):
            if not number.printed:
                self.missing += 1
                continue
            name = next(iter(part.fields.values()), None) if len(parts) > 1 else None
            place = where.model_copy(update={"column": f"{where.column} ({name})"}) if name else where
            self.drafts.append(
                Draft(number, facts if part is NOTHING else replace(part.over(facts), parts=()), place, cell, spot)
            )

    def _parts(self, facts: Facts, count: int) -> tuple[Facts, ...] | None:
        """Facts of the first, second ... number of a cell, from its headers, the mapping, or the caption."""
        if count == 1:
            return (Facts() if facts.parts else NOTHING,)
        if isinstance(self.entry.metric, tuple) and len(self.entry.metric) == count:
            return tuple(Facts({"metric": name}, default().metric(name)) for name in self.entry.metric)
        if len(facts.parts) == count:
            return facts.parts
        said = metrics_in(self.grid.caption)
        if not facts.parts and facts.metric is None and len(said) == count:
            return tuple(of_metric(item.found) for item in said)
        slashed = slashed_in(self.grid.caption, count) if not facts.parts and facts.metric is None else None
        if slashed is not None:
            return tuple(map(of_metric, slashed))
        named = [piece.strip() for piece in re.split(r"[/|]", facts.fields.get("task", ""))]
        if len(named) == count and "w/" not in facts.fields["task"] and all(map(_has_letter, named)):
            return tuple(Facts({"subset": piece}) for piece in named)
        return None

    def _reject(self, cell: Cell, text: str, reason: str) -> None:
        self.unread.append(Unread(self.name, cell.line, cell.column, text[:200], reason))


def _crossed(column: Facts, row: Facts) -> Facts:
    """The column's facts, then the row's; a cost or a count that a row names is one of what its column measures."""
    mine, theirs = row.fields.get("metric"), column.fields.get("metric")
    if mine is None or theirs is None or row.metric is None or not row.metric.is_cost or row.role or column.role:
        return column.over(row)
    fields = {**column.fields, "metric": mine if mine == theirs else f"{mine} ({theirs})"}
    return replace(column, fields=fields, metric=row.metric, direction=row.direction, percent=row.percent).over(row)


def _difference(column: Facts, row: Facts) -> Literal["", "row", "column"]:
    """The axis whose heading says that a number is a difference."""
    return "column" if column.role == "delta" else "row" if row.role == "delta" else ""


def _has_letter(text: str) -> bool:
    return any(character.isalpha() for character in text)


def kind_of(spread: Meaning) -> SpreadKind | None:
    """What a heading says that a spread is; None where it does not say."""
    return next((kind for kind in ("sd", "se", "ci95") if kind in spread.flags), None)
