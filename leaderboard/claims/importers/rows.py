"""What the labels of the rows of one block say."""

from __future__ import annotations

from dataclasses import replace

from leaderboard.claims.importers.axes import Axes, corner_text
from leaderboard.claims.importers.columns import Columns
from leaderboard.claims.importers.facts import OFF, ON, Facts, facts_of, named
from leaderboard.claims.importers.grid import Cell
from leaderboard.claims.importers.labels import Labels
from leaderboard.claims.importers.layout import Block, Layout
from leaderboard.lexicon import Meaning, read


class Rows:
    """The rows of one block."""

    def __init__(self, labels: Labels, layout: Layout, axes: Axes, columns: Columns) -> None:
        self.labels, self.layout, self.axes, self.columns = labels, layout, axes, columns
        self.grid, self.block, self.entry = labels.grid, labels.block, labels.entry
        self.heads = [corner_text(self.grid, self.block, column) for column in range(layout.label_columns)]
        self.is_ablation = self._is_ablation()
        self.names = {
            column
            for column, kind in enumerate(axes.labels[: layout.label_columns])
            if kind in ("method", "model") and self._are_names(column)
        }
        """Label columns in which a metric's word is part of a method's name."""

    def of(self, row: int) -> tuple[str, Facts]:
        """Label and facts of a row: its group heading, its label columns, then what columns say of it."""
        facts, path = Facts(), []
        heading = self.layout.headings.get(row)
        if heading:
            path.append(heading)
            facts = self._heading(heading)
        if self.is_ablation:
            name = self._switches(row)
            return " / ".join([*path, name]), self._described(_stack(facts, Facts({"method": name})), row)
        last: Cell | None = None
        for column in range(self.layout.label_columns):
            cell = self.grid.rows[row][column]
            if cell is last or not cell.text:
                continue
            last = cell
            path.append(cell.text)
            facts = _stack(facts, self._label(cell.text, column))
        return " / ".join(path), self._described(facts, row)

    def _switches(self, row: int) -> str:
        """An ablation row of check marks, `✓ ✓ –` under `Mask QK Pos.`, is the method `Mask + QK`."""
        on = [head for column, head in enumerate(self.heads) if self.grid.rows[row][column].text in ON]
        return " + ".join(on) or "none"

    def _is_ablation(self) -> bool:
        columns = range(self.layout.label_columns)
        texts = {self.grid.rows[row][column].text for row in self.block.rows for column in columns}
        return len(columns) > 1 and all(self.heads) and bool(texts & ON) and texts <= ON | OFF

    def _are_names(self, column: int) -> bool:
        """Whether the labels of a column are methods even where one is called like a metric, `DER` or `Dice loss`.

        They are when the numbers have their metric from elsewhere, or when most of the labels name no metric.
        """
        numbers = self.columns.numbers()
        if numbers and all("metric" in found.facts.fields for found in numbers):
            return True
        found = [facts_of(text) for text in {self.grid.rows[row][column].text for row in self.block.rows} if text]
        metrics = [facts.metric for facts in found if facts.metric is not None]
        others = [facts for facts in found if facts.residual or ("task" in facts.fields and not facts.is_average)]
        if self.columns.told is not None and all(map(_is_ambiguous, metrics)):
            return True
        return len(metrics) < len([facts for facts in others if facts.metric is None])

    def _label(self, text: str, column: int) -> Facts:
        kind = self.axes.labels[column] if column < len(self.axes.labels) else "subset"
        if kind in ("subset", "budget") and text not in self.entry.labels:
            return self._subset(text, kind, self.heads[column])
        facts = self.labels.facts(text, kind)
        told = text in self.entry.labels or text in self.entry.roles
        if column in self.names and facts.metric is not None and not told and not _is_marked(text, facts.metric):
            return replace(named(text, kind), role=facts.role)
        return facts

    def _subset(self, text: str, kind: str, head: str) -> Facts:
        plain = facts_of(text)
        if plain.metric is not None or plain.parts or "split" in plain.fields:
            return replace(plain, residual="")
        return Facts({kind: f"{text} {head}".strip() if kind == "budget" else f"{head}={text}".strip("=")})

    def _heading(self, text: str) -> Facts:
        """A group heading: a data set, metric or split when it is one, otherwise only a subset."""
        facts = self.labels.facts(text, "subset")
        if "task" in facts.fields and "task" in self.axes.labels:
            return replace(facts, fields={"subset": text})
        return facts

    def _described(self, facts: Facts, row: int) -> Facts:
        """Add `epochs = 300`, `resolution = 224` and the like to the scope of a row."""
        for column, found in self.columns.all.items():
            value = self.grid.rows[row][column].text
            if found.use == "label" and value:
                facts = _stack(facts, self.labels.facts(value, read(found.label).axis or "subset"))
            missing = self.labels.readings.at(row, column).missing
            if found.use != "description" or not value or missing or len(value) > 80:
                continue
            if read(found.label).kind == "budget":
                facts = replace(facts, fields={**facts.fields, "budget": f"{value} {found.label}"})
            else:
                facts = _stack(facts, Facts({"subset": f"{found.label}={value}"}))
        return facts


def corner_facts(labels: Labels, layout: Layout, told: str | None) -> Facts:
    """A metric written over the labels, such as `Top-1 (%)` in an empty corner; one over check marks is none."""
    block: Block = labels.block
    heads = {column: corner_text(labels.grid, block, column) for column in range(layout.label_columns)}
    facts = Facts()
    for column, head in heads.items():
        found = facts_of(head)
        if found.metric is None and not found.parts:
            continue
        texts = {labels.grid.rows[row][column].text for row in block.rows}
        elsewhere = any(other and read(other).axis for at, other in heads.items() if at != column)
        ambiguous = found.metric is not None and _is_ambiguous(found.metric)
        if texts & ON or elsewhere or (ambiguous and told is not None):
            continue
        facts = replace(found, residual="").over(facts)
    return facts


def _is_ambiguous(metric: Meaning) -> bool:
    """Whether the word may be the name of a component or method: `Dice loss`, `error`, `DER`."""
    return (metric.is_plain and not metric.is_cost) or metric.name == "loss"


def _is_marked(text: str, metric: Meaning) -> bool:
    """Whether a label says itself that numbers of that metric follow: by an arrow, a unit, or a word for costs."""
    label = read(text)
    return metric.is_cost or metric.entry == "rank" or label.arrow != "unknown" or label.unit != ""


def _stack(facts: Facts, more: Facts) -> Facts:
    """Add a label of the same row; two labels of one field are joined in reading order."""
    fields = dict(facts.fields)
    for key, value in more.fields.items():
        joined = key in fields and key in ("method", "subset", "task", "model") and fields[key] != value
        fields[key] = (
            f"{fields[key]}; {value}" if joined and key == "subset" else f"{fields[key]} / {value}" if joined else value
        )
    return replace(more.over(facts), fields=fields)
