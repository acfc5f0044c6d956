"""From a grid of cells to claims: every number that can be read, and a list of what cannot."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal

from leaderboard.claims.importers import words
from leaderboard.claims.importers.axes import Axes, corner_text, find_axes
from leaderboard.claims.importers.differences import bind
from leaderboard.claims.importers.drafts import Draft, Spot, context_of, finish, of_compound
from leaderboard.claims.importers.facts import Facts, facts_of
from leaderboard.claims.importers.grid import Cell, Grid
from leaderboard.claims.importers.layout import Block, Layout, Readings, find_layout
from leaderboard.claims.importers.mapping import TableMapping
from leaderboard.claims.importers.numbers import Reading
from leaderboard.claims.importers.result import Place, TableSummary, Unread
from leaderboard.claims.importers.vocabulary import OFF, ON, SPREADS, VALUES
from leaderboard.claims.model import Claim, Where


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
        self.grid = grid
        self.entry = (
            entry
            if entry.brackets is not None
            else entry.model_copy(update={"brackets": words.brackets_in(grid.caption)})
        )
        self.name = entry.name or grid.name
        self.readings = Readings(grid, self.entry)
        self.drafts: list[Draft] = []
        self.unread: list[Unread] = []
        self.notes = list(grid.notes)
        self.axes: list[Axes] = []
        self.missing = 0
        self.letters: dict[str, str] = {}

    def read(self) -> TableReading:
        if self.grid.columns == 0:
            return TableReading(self._summary())
        layout = find_layout(self.grid, self.readings, self.entry)
        for block in layout.blocks:
            self._block(layout, block)
        self.drafts, apart = bind(self.name, self.drafts, self.grid.caption, self.entry)
        self.unread += apart
        context = context_of(self.grid, self.entry, self.drafts)
        claims = finish(self.drafts, context, self.entry)
        if any(claim.scope.metric is None for claim in claims):
            self.notes.append(
                "no header and no caption names the metric of some numbers; give `metric:` in a mapping file"
            )
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
        self.letters = self._letters(block)
        columns = {
            column: self._column(layout, block, axes, column)
            for column in range(layout.label_columns, self.grid.columns)
        }
        kinds = {column: self._column_use(block, column) for column in columns}
        corner = self._corner(layout, block)
        for row in block.rows:
            label, facts = self._row(layout, block, axes, row)
            if label in self.entry.skip_rows:
                continue
            facts = self._with_attributes(facts, row, columns, kinds).over(corner)
            for column, (header, column_facts) in columns.items():
                if kinds[column] == "numbers" and (row, column) not in self.grid.covered:
                    spot = Spot(row, column, len(self.axes), _difference(column_facts, facts))
                    self._cell(spot, label, header, column_facts.over(facts))
                elif kinds[column] == "spread":
                    self._attach_spread(row, column, header)

    def _column(self, layout: Layout, block: Block, axes: Axes, column: int) -> tuple[str, Facts]:
        """Header path and facts of a column, its lowest header first in line."""
        facts = Facts()
        path: list[str] = []
        last: Cell | None = None
        for depth, row in enumerate(block.header):
            cell = self.grid.rows[row][column]
            if cell is last or not cell.text:
                continue
            last = cell
            path.append(cell.text)
            if self._is_axis_word(cell, layout):
                continue
            text = f"{axes.head}={cell.text}" if axes.head else cell.text
            facts = self._label(text, axes.column(depth)).over(facts)
        return " / ".join(path), facts

    def _letters(self, block: Block) -> dict[str, str]:
        """`P` and `R` are precision and recall where both stand in a header beside an F-score."""
        texts = {cell.text for row in block.header for cell in self.grid.rows[row]}
        has_score = any(words.metric_of(text) is not None for text in texts if text[:1] in ("F", "f")) or "F" in texts
        letters = {"P": "precision", "R": "recall", "F": "F1"} if {"P", "R"} <= texts and has_score else {}
        return letters | self._errors(block)

    def _errors(self, block: Block) -> dict[str, str]:
        """A bare `Error` is the error rate where it stands beside accuracy and most rows add up to a whole."""
        lowest = [
            next(
                (
                    self.grid.rows[row][column].text
                    for row in reversed(block.header)
                    if self.grid.rows[row][column].text
                ),
                "",
            )
            for column in range(self.grid.columns)
        ]
        metrics = [words.metric_of(words.label_of(text).text) for text in lowest]
        columns = {
            name: [column for column, metric in enumerate(metrics) if metric is not None and metric.name == name]
            for name in ("accuracy", "error")
        }
        if any(len(found) != 1 for found in columns.values()):
            return {}
        right, wrong = columns["accuracy"][0], columns["error"][0]
        pairs = [(self.readings.at(row, right).numbers, self.readings.at(row, wrong).numbers) for row in block.rows]
        sums = [
            Decimal(a[0].printed) + Decimal(b[0].printed) for a, b in pairs if a and b and a[0].finite and b[0].finite
        ]
        whole = sum(any(abs(total - one) <= one / 200 for one in (1, 100)) for total in sums)
        return {lowest[wrong]: "error rate"} if sums and whole * 2 >= len(sums) else {}

    def _is_axis_word(self, cell: Cell, layout: Layout) -> bool:
        kind = words.head_kind(cell.text)
        return kind in ("method", "task", "model", "metric") and cell.column_span > 1

    def _label(self, text: str, kind: str) -> Facts:
        """Facts of a label on an axis of the given kind; the mapping's `labels` and `roles` come first."""
        role = self.entry.roles.get(text)
        given = self.entry.labels.get(text)
        if given is not None:
            fields = {key: value for key, value in given.model_dump().items() if value is not None}
            return Facts(fields, words.metric_of(fields.get("metric", "")), role=role)
        if kind == "skip" or text.lower() in VALUES:
            return Facts()
        facts = facts_of(self.letters.get(text, text))
        label = words.label_of(text)
        if kind in ("method", "model") and not facts.parts and facts.metric is None and facts.role != "delta":
            facts = Facts(
                {kind: text},
                direction=facts.direction,
                percent=facts.percent,
                role=facts.role,
            )
        elif kind == "metric" and facts.metric is None and not facts.parts:
            facts = Facts({"metric": label.text}, direction=facts.direction, percent=facts.percent, role=facts.role)
        elif facts.residual:
            fields = {**facts.fields, kind: facts.residual} if kind not in facts.fields else facts.fields
            facts = replace(facts, fields=fields, residual="")
        return replace(facts, role=role) if role else facts

    def _column_use(self, block: Block, column: int) -> str:
        """`numbers`, `description` (of the row), `text`, `ignored` or `skip`."""
        headers = [self.grid.rows[row][column].text for row in block.header]
        lowest = next((text for text in reversed(headers) if text), "")
        if any(text in self.entry.skip_columns for text in headers if text):
            return "skip"
        if lowest in self.entry.labels:
            return "numbers"
        label = words.label_of(lowest).text
        described = self._described(block, column, label)
        if described:
            return described
        if label.lower().strip(".") in SPREADS:
            return "spread"
        if facts_of(self.letters.get(lowest, lowest)).metric is not None or any(
            self.readings.is_measured(row, column) for row in block.rows
        ):
            return "numbers"
        if words.head_kind(label) in ("metric", "task", "split"):
            return "label"
        if any(_is_text(self.grid.rows[row][column].text) for row in block.rows):
            self.notes.append(f"column {lowest or column + 1!r} holds no numbers and was left out")
        return "text"

    def _described(self, block: Block, column: int, label: str) -> str:
        """`ignored` or `description` by the header; decimals say that the column measures something after all."""
        if words.is_ignored(label):
            use, told = "ignored", "says nothing about the numbers and was left out"
        elif words.is_description(label) and words.metric_of(label) is None:
            use, told = "description", "was taken to describe its row"
        else:
            return ""
        found = [number for row in block.rows for number in self.readings.at(row, column).numbers]
        decimals = sum("." in number.printed and not number.suffix for number in found)
        if decimals * 2 > len(found) and not words.describes_in_decimals(label):
            return ""
        if found:
            self.notes.append(f"column {label!r} {told}")
        return use

    def _corner(self, layout: Layout, block: Block) -> Facts:
        """A metric written over the labels, such as `Top-1 (%)` in an empty corner."""
        facts = Facts()
        for column in range(layout.label_columns):
            found = facts_of(corner_text(self.grid, block, column))
            if found.metric is not None or found.parts:
                facts = replace(found, residual="").over(facts)
        return facts

    def _row(self, layout: Layout, block: Block, axes: Axes, row: int) -> tuple[str, Facts]:
        """Label and facts of a row: its group heading, then its label columns."""
        facts, path = Facts(), []
        heading = layout.headings.get(row)
        if heading:
            path.append(heading)
            facts = self._heading(heading, axes)
        switched = self._switches(layout, block, row)
        if switched is not None:
            return " / ".join([*path, switched]), _stack(facts, Facts({"method": switched}))
        last: Cell | None = None
        for column in range(layout.label_columns):
            cell = self.grid.rows[row][column]
            if cell is last or not cell.text:
                continue
            last = cell
            path.append(cell.text)
            kind = axes.labels[column] if column < len(axes.labels) else "subset"
            facts = _stack(facts, self._row_label(cell.text, kind, corner_text(self.grid, block, column), axes))
        return " / ".join(path), facts

    def _switches(self, layout: Layout, block: Block, row: int) -> str | None:
        """An ablation row of check marks, `✓ ✓ –` under `Mask QK Pos.`, is the method `Mask + QK`."""
        columns = range(layout.label_columns)
        if layout.label_columns < 2 or not self._is_ablation(layout, block):
            return None
        on = [corner_text(self.grid, block, column) for column in columns if self.grid.rows[row][column].text in ON]
        return " + ".join(on) or "none"

    def _is_ablation(self, layout: Layout, block: Block) -> bool:
        texts = {self.grid.rows[row][column].text for row in block.rows for column in range(layout.label_columns)}
        heads = [corner_text(self.grid, block, column) for column in range(layout.label_columns)]
        return all(heads) and bool(texts & ON) and texts <= ON | OFF

    def _row_label(self, text: str, kind: str, head: str, axes: Axes) -> Facts:
        if kind in ("subset", "budget") and text not in self.entry.labels:
            plain = facts_of(text)
            if plain.metric is not None or plain.parts or "split" in plain.fields:
                return replace(plain, residual="")
            return Facts({kind: f"{text} {head}".strip() if kind == "budget" else f"{head}={text}".strip("=")})
        return self._label(text, kind)

    def _heading(self, text: str, axes: Axes) -> Facts:
        """A group heading: a data set, metric or split when it is one, otherwise only a subset."""
        facts = self._label(text, "subset")
        if "task" in facts.fields and "task" in axes.labels:
            return replace(facts, fields={"subset": text})
        return facts

    def _with_attributes(
        self, facts: Facts, row: int, columns: dict[int, tuple[str, Facts]], kinds: dict[int, str]
    ) -> Facts:
        """Add `epochs = 300`, `resolution = 224` and the like to the scope of a row."""
        for column, use in kinds.items():
            value = self.grid.rows[row][column].text
            header = words.label_of(columns[column][0].rpartition(" / ")[2]).text
            if use == "label" and value:
                facts = _stack(facts, self._label(value, words.head_kind(header) or "subset"))
            if use != "description" or not value or self.readings.at(row, column).missing or len(value) > 80:
                continue
            if words.is_budget(header):
                facts = replace(facts, fields={**facts.fields, "budget": f"{value} {header}"})
            else:
                facts = _stack(facts, Facts({"subset": f"{header}={value}"}))
        return facts

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

    def _attach_spread(self, row: int, column: int, header: str) -> None:
        """A column of standard errors or deviations belongs to the number before it."""
        found = self.readings.at(row, column).numbers
        before = [
            draft for draft in self.drafts[-1:] if any(draft.cell is cell for cell in self.grid.rows[row][:column])
        ]
        if len(found) == 1 and before and before[0].number.spread is None:
            before[0].number = replace(before[0].number, spread=found[0].printed)
            before[0].spread_kind = SPREADS[words.label_of(header.rpartition(" / ")[2]).text.lower().strip(".")]
        elif found:
            cell = self.grid.rows[row][column]
            self._reject(cell, cell.text, "a spread without one number before it")

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
            self.drafts.append(Draft(number, replace(part.over(facts), parts=()), place, cell, spot))

    def _parts(self, facts: Facts, count: int) -> tuple[Facts, ...] | None:
        """Facts of the first, second ... number of a cell, from its headers, the mapping, or the caption."""
        if count == 1:
            return (Facts(),)
        if isinstance(self.entry.metric, tuple) and len(self.entry.metric) == count:
            return tuple(self._label(name, "metric") for name in self.entry.metric)
        if len(facts.parts) == count:
            return facts.parts
        said = words.metrics_in(self.grid.caption)
        if not facts.parts and facts.metric is None and len(said) == count:
            return tuple(of_compound(item) for item in said)
        named = [piece.strip() for piece in re.split(r"[/|]", facts.fields.get("task", ""))]
        if len(named) == count and "w/" not in facts.fields["task"] and all(map(_has_letter, named)):
            return tuple(Facts({"subset": piece}) for piece in named)
        return None

    def _reject(self, cell: Cell, text: str, reason: str) -> None:
        self.unread.append(Unread(self.name, cell.line, cell.column, text[:200], reason))


def _stack(facts: Facts, more: Facts) -> Facts:
    """Add a label of the same row; two labels of one field are joined in reading order."""
    fields = dict(facts.fields)
    for key, value in more.fields.items():
        joined = key in fields and key in ("method", "subset", "task", "model") and fields[key] != value
        fields[key] = (
            f"{fields[key]}; {value}" if joined and key == "subset" else f"{fields[key]} / {value}" if joined else value
        )
    return replace(more.over(facts), fields=fields)


def _difference(column: Facts, row: Facts) -> Literal["", "row", "column"]:
    """The axis whose heading says that a number is a difference."""
    return "column" if column.role == "delta" else "row" if row.role == "delta" else ""


def _has_letter(text: str) -> bool:
    return any(character.isalpha() for character in text)


def _is_text(text: str) -> bool:
    """Whether a cell says something in words (not only `±` or an arrow)."""
    return any(character.isalnum() for character in text)
