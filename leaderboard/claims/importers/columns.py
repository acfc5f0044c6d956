"""What the columns of one block of a table hold, by their headings and by what stands below them."""

from __future__ import annotations

from dataclasses import dataclass, field

from leaderboard.claims.importers.axes import Axes
from leaderboard.claims.importers.facts import ON, Facts, alike, named
from leaderboard.claims.importers.grid import Cell
from leaderboard.claims.importers.labels import Labels
from leaderboard.claims.importers.layout import Readings
from leaderboard.claims.model import Direction
from leaderboard.lexicon import Meaning, read

ATTACHED = ("spread", "bound", "runs")
"""Roles of what belongs to the numbers beside it."""


@dataclass
class Column:
    """One column by its headings."""

    path: str
    """All headings, the lowest last."""
    facts: Facts
    use: str
    """`numbers`, `attached` (to numbers beside it), `description` (of the row), `label`, `text`, `ignored`, `skip`."""
    label: str
    """The lowest heading without arrows and unit."""
    levels: list[tuple[str, str]] = field(default_factory=list)
    """Each heading and the kind of its axis, from the top."""
    attached: Meaning | None = None
    """What the column adds to the numbers beside it: their spread, a bound, the number of runs."""


class Columns:
    """The columns behind the labels of one block."""

    def __init__(self, labels: Labels, axes: Axes, first: int, told: str | None) -> None:
        """`first` is the column behind the labels; `told` is the metric that mapping, corner or caption give."""
        self.labels, self.axes, self.told = labels, axes, told
        self.grid, self.block, self.entry = labels.grid, labels.block, labels.entry
        self.readings: Readings = labels.readings
        self.notes: list[str] = []
        self._misnomers: set[str] = set()
        self.all = {column: self._column(column) for column in range(first, self.grid.columns)}
        self._names_like_metrics()
        if not axes.columns_stated and self.told_by_mapping is None:
            self._own_metrics()
        self._metrics_of_averages()

    @property
    def told_by_mapping(self) -> object:
        return self.entry.metric or self.entry.scope.metric

    def _column(self, column: int) -> Column:
        levels: list[tuple[str, str]] = []
        path: list[str] = []
        last: Cell | None = None
        for depth, row in enumerate(self.block.header):
            cell = self.grid.rows[row][column]
            if cell is last or not cell.text:
                continue
            last = cell
            path.append(cell.text)
            if not self._is_axis_word(cell):
                text = f"{self.axes.head}={cell.text}" if self.axes.head else cell.text
                levels.append((text, self.axes.column(depth)))
        label = read(self.labels.lowest(column)).text
        found = Column(" / ".join(path), self._facts(levels), "", label, levels)
        found.use = self._use(column, found)
        return found

    def _facts(self, levels: list[tuple[str, str]]) -> Facts:
        facts = Facts()
        for text, kind in levels:
            facts = self.labels.facts(text, kind).over(facts)
        return facts

    def _is_axis_word(self, cell: Cell) -> bool:
        return read(cell.text).axis in ("method", "task", "model", "metric") and cell.column_span > 1

    def _use(self, column: int, found: Column) -> str:
        headings = [self.grid.rows[row][column].text for row in self.block.header]
        if any(text in self.entry.skip_columns for text in headings if text):
            return "skip"
        lowest = self.labels.lowest(column)
        if lowest in self.entry.labels or lowest in self.entry.roles or self.labels.is_letter(lowest):
            return "numbers"
        found.attached = self._attached(column, found.label)
        if found.attached is not None:
            return "attached"
        if self._is_switch(column):
            return "description"
        if described := self._described(column, found.label):
            return described
        if self.labels.plain(lowest).metric is not None or self._is_measured(column):
            return "numbers"
        if read(found.label).axis in ("metric", "task", "split"):
            return "label"
        if any(_is_text(self.grid.rows[row][column].text) for row in self.block.rows):
            self.notes.append(f"column {lowest or column + 1!r} holds no numbers and was left out")
        return "text"

    def _is_measured(self, column: int) -> bool:
        return any(self.readings.is_measured(row, column) for row in self.block.rows)

    def _is_switch(self, column: int) -> bool:
        """A column of check marks, a component that is on or off, whatever its heading is called."""
        texts = {self.grid.rows[row][column].text for row in self.block.rows}
        return bool(texts & ON) and not self._is_measured(column)

    def _attached(self, column: int, label: str) -> Meaning | None:
        """What the column adds to the numbers beside it, where its cells can be that."""
        attached = attached_by(label)
        if attached is None:
            return read("±") if self._begins_with_marks(column) else None
        texts = [self.grid.rows[row][column].text for row in self.block.rows]
        given = [text.lstrip("±+-/ ") for text in texts if _is_text(text)]
        if attached.role == "runs" or attached.name == "letter":
            counts = bool(given) and all(text.isdecimal() for text in given)
            return attached if counts and (attached.role == "runs" or self._has_spreads()) else None
        if attached.of and not self._can_be_of(column, attached, label):
            return None
        return attached if any(character.isdigit() for text in given for character in text) else None

    def _can_be_of(self, column: int, attached: Meaning, label: str) -> bool:
        """Whether a heading that names its numbers finds them; `Acc. ± std` alone heads numbers with their spread."""
        others = [other for other in range(self.grid.columns) if other != column and self._names(other, attached.of)]
        apart = "±" not in label and "(" not in label
        return bool(others) or (apart and read(attached.of).is_metric)

    def _names(self, column: int, name: str) -> bool:
        """Whether the lowest heading of a column is this name, or another word for the same metric."""
        return alike([read(self.labels.lowest(column)).text, name])

    def numbers_of(self, column: int) -> list[int]:
        """The columns whose numbers an attached column belongs to: one for a spread, all of its group for runs."""
        attached, levels = self.all[column].attached, self.all[column].levels[:-1]
        numbers = [other for other, found in self.all.items() if found.use == "numbers"]
        beside = [other for other in numbers if self.all[other].levels[:-1] == levels]
        if attached is None or attached.role == "bound":
            return []
        if attached.role != "spread":
            return beside or numbers
        if attached.of:
            named = [other for other in numbers if self._names(other, attached.of)]
            near = [other for other in named if other in beside]
            return near if len(near) == 1 else named if len(named) == 1 else []
        before = [other for other in numbers if other < column]
        ends = any(read(self.all[other].label).text.lower().startswith(("min ", "max ")) for other in before[-1:])
        return [] if ends else before[-1:] or numbers[:1]

    def _begins_with_marks(self, column: int) -> bool:
        """Whether all cells of a column begin with ±, so that it holds spreads."""
        texts = [self.grid.rows[row][column].text for row in self.block.rows]
        marked = [text for text in texts if text.startswith(("±", "+/-", "+-"))]
        return bool(marked) and len(marked) == sum(map(_is_text, texts))

    def _has_spreads(self) -> bool:
        cells = (cell for row in self.block.rows for cell in self.grid.rows[row])
        headings = (read(self.labels.lowest(column)).text for column in range(self.grid.columns))
        return any("±" in cell.text for cell in cells) or any(
            found is not None and found.role == "spread" for found in map(attached_by, headings)
        )

    def _described(self, column: int, label: str) -> str:
        """`ignored` or `description` by the header; decimals say that the column measures something after all."""
        meaning = read(label)
        if meaning.kind == "identifier":
            use, told = "ignored", "says nothing about the numbers and was left out"
        elif meaning.describes and not self._is_one_of_many(label):
            use, told = "description", "was taken to describe its row"
        else:
            return ""
        found = [number for row in self.block.rows for number in self.readings.at(row, column).numbers]
        decimals = sum("." in number.printed and not number.suffix for number in found)
        if decimals * 2 > len(found) and "decimals" not in meaning.flags:
            return ""
        if found:
            self.notes.append(f"column {label!r} {told}")
        return use

    def _is_one_of_many(self, label: str) -> bool:
        """A single letter among single letters, `A D W`, names a domain and not a setting."""
        others = {self.labels.lowest(column) for column in range(self.grid.columns)}
        return len(label) == 1 and sum(len(text) == 1 and text.isalpha() for text in others) > 2

    def runs(self) -> list[int]:
        """Columns of single runs: three or more headings of one stem, `s` or `seed` or `run`, and numbers in order."""
        stems = {
            at: found.label.lower().rstrip("0123456789") for at, found in self.all.items() if found.use == "numbers"
        }
        named = [at for at, stem in stems.items() if stem.strip(" #_-") in ("s", "seed", "run", "trial")]
        numbers = [self.all[at].label.lower().removeprefix(stems[at]) for at in named]
        consecutive = [int(text) for text in numbers if text.isdecimal()]
        first = consecutive[0] if consecutive else 0
        return named if len(named) > 2 and consecutive == list(range(first, first + len(named))) else []

    def numbers(self) -> list[Column]:
        """The columns of numbers, in order."""
        return [column for column in self.all.values() if column.use == "numbers"]

    def _names_like_metrics(self) -> None:
        """`KL` among organs is the left kidney: a short metric word among unknown names with numbers of their size."""
        others = [at for at, found in self.all.items() if found.use == "numbers" and self._level(found) is not None]
        sizes = [size for at in others for size in self._sizes(at)]
        for at, found in self.all.items():
            if found.use != "numbers" or not sizes or not self._may_be_a_name(found):
                continue
            if all(min(sizes) / 2 <= size <= max(sizes) * 2 for size in self._sizes(at)):
                *above, (text, kind) = found.levels
                facts = self._facts(above)
                found.facts = Facts({kind: text}).over(facts)
                self._misnomers.add(text)

    def _may_be_a_name(self, column: Column) -> bool:
        """Whether a heading is a word such as KL, PER, DER, MAE without an arrow or a unit."""
        text, metric = column.label, column.facts.metric
        told = read(column.levels[-1][0]) if column.levels else read("")
        ambiguous = metric is not None and metric.is_plain and not metric.is_cost and metric.printed == text
        bare = (told.text, told.unit, told.arrow) == (text, "", "unknown")
        return ambiguous and bare and text.isupper() and len(text) <= 3

    def _sizes(self, column: int) -> list[float]:
        found = [number for row in self.block.rows for number in self.readings.at(row, column).numbers]
        return [abs(float(number.printed)) for number in found if number.has_value]

    def _own_metrics(self) -> None:
        """Where the headings of a block are metrics, one that no word explains is a metric of its own."""
        unknown = [column for column in self.numbers() if self._level(column) is not None]
        arrows = {_arrow(column.levels[level][0]) for column in unknown for level in [self._level(column) or 0]}
        arrows.discard("unknown")
        conflict = len(arrows) > 1 or self._is_apart(unknown)
        averaged = any(column.facts.is_average for column in self.numbers())
        for column in unknown:
            level = self._level(column) or 0
            known = self._named_beside(level)
            if self.told is not None:
                shown = conflict or any(_is_alike(facts.fields.get("metric", ""), self.told) for facts in known)
            else:
                shown = bool(known) or conflict or (bool(arrows) and not averaged)
            text = column.levels[level][0]
            if not shown:
                continue
            if self.told is not None and conflict and not known and _arrow(text) == "unknown":
                continue
            metric = named(text, "metric")
            facts = Facts()
            for depth, (heading, kind) in enumerate(column.levels):
                facts = (metric if depth == level else self.labels.facts(heading, kind)).over(facts)
            column.facts = facts

    def _named_beside(self, level: int) -> list[Facts]:
        """The headings on one level that are the name of a metric and of nothing else."""
        beside = [column.levels[level] for column in self.numbers() if len(column.levels) > level]
        beside = [level for level in beside if level[0] not in self._misnomers]
        return [facts for text, kind in beside if _is_named_metric(facts := self.labels.facts(text, kind))]

    def _is_apart(self, unknown: list[Column]) -> bool:
        """Whether an arrow stands over some of the columns only, so that it tells them from those without a metric."""
        pointed = [column for column in unknown if column.facts.direction != "unknown"]
        others = [column for column in self.numbers() if column not in pointed and not column.facts.role]
        bare = [column for column in others if "metric" not in column.facts.fields and not column.facts.parts]
        return bool(pointed and bare) and not any(column.facts.is_average for column in bare)

    def _level(self, column: Column) -> int | None:
        """Which of the headings may be a metric that no word explains: the one with an arrow, else the lowest."""
        facts = column.facts
        if facts.metric is not None or "metric" in facts.fields or facts.parts or facts.role or facts.is_average:
            return None
        bare = [
            level for level, (text, kind) in enumerate(column.levels)
            if kind == "task" and text not in self.entry.labels and self.labels.plain(text).residual
        ]  # fmt: skip
        pointed = [level for level in bare if _arrow(column.levels[level][0]) != "unknown"]
        lowest = [level for level in bare if level == len(column.levels) - 1]
        return next(iter(pointed or lowest), None)

    def _metrics_of_averages(self) -> None:
        """An average without a metric under a header of metrics has that of all of the columns beside it."""
        parts = [column.facts for column in self.numbers() if not column.facts.is_average and not column.facts.role]
        measured = [facts for facts in parts if facts.metric is None or not (facts.metric.is_cost or _is_rank(facts))]
        names = {(facts.fields.get("metric"), facts.fields.get("split")) for facts in measured}
        if len(names) != 1 or None in {name for name, _ in names}:
            return
        shared = measured[0]
        fields = {key: value for key, value in shared.fields.items() if key in ("metric", "split")}
        for column in self.numbers():
            if column.facts.is_average and "metric" not in column.facts.fields:
                column.facts = column.facts.over(Facts(fields, shared.metric, shared.direction, shared.percent))


def attached_by(label: str) -> Meaning | None:
    """What a heading such as `± std`, `acc_std`, `95 % CI`, `#seeds` or `n` beside spreads attaches to numbers."""
    meaning = read(label)
    return meaning if meaning.role in ATTACHED or label.strip(" :").lower() == "n" else None


def _is_named_metric(facts: Facts) -> bool:
    """Whether a heading is the name of a metric and of nothing else."""
    metric = facts.metric
    return (
        metric is not None and not metric.is_cost and not _is_rank(facts) and not facts.role and not facts.is_average
        and not {"task", "aggregation"} & set(facts.fields)
    )  # fmt: skip


def _is_alike(a: str, b: str) -> bool:
    """Whether two names are of one metric: `error` and `error rate`."""
    one, other = set(a.lower().split()), set(b.lower().split())
    return bool(one and other) and (one <= other or other <= one)


def _is_rank(facts: Facts) -> bool:
    return facts.metric is not None and facts.metric.entry == "rank"


def _arrow(text: str) -> Direction:
    return read(text).arrow


def _is_text(text: str) -> bool:
    """Whether a cell says something in words (not only `±` or an arrow)."""
    return any(character.isalnum() for character in text)
