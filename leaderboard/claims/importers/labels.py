"""What the labels of one block of a table mean: its own abbreviations, the mapping, then the words of the field."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from leaderboard.claims.importers import captions
from leaderboard.claims.importers.facts import Facts, facts_of, named, relative_cost
from leaderboard.claims.importers.grid import Grid
from leaderboard.claims.importers.layout import Block, Readings
from leaderboard.claims.importers.mapping import TableMapping
from leaderboard.claims.importers.mentions import metric_named
from leaderboard.lexicon import default, read


class Labels:
    """Facts of the labels of one block."""

    def __init__(self, grid: Grid, block: Block, readings: Readings, entry: TableMapping) -> None:
        self.grid, self.block, self.readings, self.entry = grid, block, readings, entry
        self._letters = default().letters(self._texts()) | self._errors() | self._relative() | self._told_errors()

    def is_letter(self, text: str) -> bool:
        """Whether a heading stands for a metric beside the others of its table only."""
        return text in self._letters

    def plain(self, text: str) -> Facts:
        """Facts of a label that no axis and no mapping explains."""
        return facts_of(self._letters.get(text, text))

    def facts(self, text: str, kind: str) -> Facts:
        """Facts of a label on an axis of the given kind; the mapping's `labels` and `roles` come first."""
        role = self.entry.roles.get(text)
        given = self.entry.labels.get(text)
        if given is not None:
            fields = {key: value for key, value in given.model_dump().items() if value is not None}
            return Facts(fields, default().metric(fields.get("metric", "")), role=role)
        meaning = read(text)
        if kind == "skip" or meaning.kind == "value":
            return Facts()
        facts = self.plain(text)
        if (
            meaning.name == "cost"
            and meaning.unit not in ("", "%")
            and kind in ("task", "metric")
            and facts.metric is not None
        ):
            facts = replace(facts, fields={**facts.fields, "metric": f"{meaning.text} ({meaning.unit})"})
        if facts.metric is not None and facts.metric.is_cost and facts.percent:
            facts = relative_cost(facts)
        plain = facts.metric is None and not facts.parts
        if plain and (kind == "metric" or (kind in ("method", "model") and facts.role != "delta")):
            facts = replace(named(text, kind), role=facts.role)
        elif facts.residual:
            fields = {**facts.fields, kind: facts.residual} if kind not in facts.fields else facts.fields
            facts = replace(facts, fields=fields, residual="")
        return replace(facts, role=role) if role else facts

    def lowest(self, column: int) -> str:
        """The lowest header over a column."""
        texts = (self.grid.rows[row][column].text for row in reversed(self.block.header))
        return next((text for text in texts if text), "")

    def _told_errors(self) -> dict[str, str]:
        """`Top 1` is an error where the caption says that errors are told."""
        said = metric_named(self.grid.caption)
        if said is None or said.found.name not in ("error", "error rate"):
            return {}
        names = {text: read(text) for text in self._texts()}
        return {
            text: f"{found.name} error" for text, found in names.items()
            if found.name in ("top-1", "top-5") and "acc" not in text.lower()
        }  # fmt: skip

    def _texts(self) -> set[str]:
        return {cell.text for row in self.block.header for cell in self.grid.rows[row]}

    def _relative(self) -> dict[str, str]:
        """Short headings that the caption defines as a relative change."""
        names = {text: read(text).text for text in self._texts() if 1 < len(text) < 25}
        return {
            text: "rel. change"
            for text, name in names.items()
            if len(name) > 1 and read(name).role != "delta" and captions.defines_as_relative(self.grid.caption, name)
        }

    def _errors(self) -> dict[str, str]:
        """A bare `Error` is the error rate where it stands beside accuracy and most rows add up to a whole."""
        found: dict[str, dict[str, int]] = {"accuracy": {}, "error": {}}
        for column in range(self.grid.columns):
            facts = facts_of(self.lowest(column))
            if facts.metric is not None and facts.metric.name in found and "task" not in facts.fields:
                found[facts.metric.name].setdefault(facts.fields.get("split", ""), column)
        letters = {}
        for split, wrong in found["error"].items():
            right = found["accuracy"].get(split)
            if right is not None and self._add_up(right, wrong):
                text = self.lowest(wrong)
                letters[text] = f"{text.partition('(')[0].strip()} rate"
        return letters

    def _add_up(self, right: int, wrong: int) -> bool:
        """Whether the numbers of two columns add up to a whole in most rows."""
        rows = self.block.rows
        pairs = [(self.readings.at(row, right).numbers, self.readings.at(row, wrong).numbers) for row in rows]
        sums = [
            Decimal(a[0].printed) + Decimal(b[0].printed)
            for a, b in pairs
            if a and b and a[0].has_value and b[0].has_value
        ]
        whole = sum(any(abs(total - one) <= one / 200 for one in (1, 100)) for total in sums)
        return bool(sums) and whole * 2 >= len(sums)
