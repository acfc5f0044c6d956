"""The names that a file's tables give their rows and columns, to be found again in its sentences."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from leaderboard.claims.importers import words
from leaderboard.claims.importers.result import TableSummary
from leaderboard.claims.model import Claim

_OWN_LABEL = re.compile(r"(?:(?:our|the proposed|proposed) ?(?:\w+)?|ours)(?: \((?:full|final)\))?", re.IGNORECASE)
_OWN_MARK = re.compile(r"\s*[(\[](?:ours?|proposed|our method|our model)[)\]]$", re.IGNORECASE)
_MARKS = re.compile(r"[\s*†‡§¶∗⋆★]+$|\s*\[\d[\d, ]*\]$|^[*†‡]+\s*")
_OWN_SIZED = re.compile(r"ours?\b(?!.*(?:w/|without|with\b|[+−]|\bno\b| - )).*", re.IGNORECASE)
"""`Ours (r=4)`, `Ours-B`: the own row with a size, not one that leaves something out."""
MOST_WORDS = 6


def exact(text: str) -> str:
    """How a method's label is compared: as printed, blanks collapsed."""
    return " ".join(text.replace("‑", "-").split())


def loose(text: str) -> str:
    """How a data set's name is compared: `CIFAR-10`, `CIFAR 10` and `cifar10` are one."""
    return re.sub(r"[\s_\-‑.]+", "", text).casefold()


def bare(label: str) -> str:
    """A method's label without `(ours)`, footnote marks and citations."""
    return exact(_MARKS.sub("", _OWN_MARK.sub("", _MARKS.sub("", label))))


def is_own(label: str) -> bool:
    """Whether a label says that the row is the authors' own."""
    return _OWN_LABEL.fullmatch(label.strip()) is not None or _OWN_MARK.search(label) is not None


@dataclass
class Table:
    """What one table holds."""

    name: str
    label: str = ""
    caption: str = ""
    methods: dict[str, None] = field(default_factory=dict)
    tasks: set[str] = field(default_factory=set)
    metrics: set[str] = field(default_factory=set)

    @property
    def float(self) -> str:
        """`Table 2` for `Table 2 (a)`."""
        return re.sub(r" \(\w+\)$", "", self.name)

    def rows_called(self, name: str) -> list[str]:
        """Labels of rows that a name in a sentence can mean."""
        return [label for label in self.methods if name in (exact(label), bare(label))]


@dataclass
class Names:
    """All tables of a file, and an index of their names."""

    tables: dict[str, Table]
    methods: dict[str, str] = field(default_factory=dict)
    tasks: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, str] = field(default_factory=dict)
    captions: dict[str, set[str]] = field(default_factory=dict)
    """Word of a caption → tables."""
    parts: set[str] = field(default_factory=set)
    """Names that a sentence about the tables may have beside those of whole rows: models, what `+ X` adds."""

    def find(self, text: str) -> tuple[str, str] | None:
        """What a phrase names, a method (`m`), task (`t`) or metric (`x`), and its name in the tables."""
        if text in self.methods:
            return "m", self.methods[text]
        if text.casefold() == "baseline" and (label := self._baseline()):
            return "m", label
        folded = loose(text)
        if folded in self.metrics:
            return "x", self.metrics[folded]
        if folded in self.tasks and (not text.isalpha() or not text.islower()):
            return "t", self.tasks[folded]
        metric = words.metric_of(text) if len(text) > 3 or text[:1].isupper() else None
        if metric is not None and words.split_of(text) is None:
            return "x", metric.name
        return None

    def _baseline(self) -> str:
        found = {label for label in self.methods if label.casefold() == "baseline"}
        return found.pop() if len(found) == 1 else ""

    def caption_word(self, word: str) -> bool:
        """Whether a word with a capital or a digit stands in a caption."""
        return word[:1].isupper() and loose(word) in self.captions


def names_of(claims: Sequence[Claim], summaries: Iterable[TableSummary], said: dict[str, str]) -> Names:
    """Index the tables; `said` has the captions in full."""
    tables = {table.name: Table(table.name, table.label, said.get(table.name, "")) for table in summaries}
    parts: set[str] = set()
    for claim in claims:
        table = tables.setdefault(claim.where.table, Table(claim.where.table))
        scope = claim.scope
        if scope.method:
            table.methods[scope.method] = None
        table.tasks |= set(task_names(scope.task))
        if scope.metric:
            table.metrics.add(scope.metric)
        parts |= {part for part in (scope.model, bare((scope.method or "").lstrip("+ "))) if part}
    names = Names(tables, parts=parts)
    for table in tables.values():
        for label in table.methods:
            for text in (exact(label), bare(label)):
                if text and not (is_own(text) and text == exact(label)):
                    names.methods.setdefault(text, text)
        for task in table.tasks:
            names.tasks.setdefault(loose(task), task)
        for metric in table.metrics:
            names.metrics.setdefault(loose(metric), metric)
        for word in re.findall(r"[^\s,;:()/]+", table.caption):
            names.captions.setdefault(loose(word.strip(".")), set()).add(table.name)
    return names


def task_names(task: str | None) -> list[str]:
    """A task's name, and its parts where it has some: `STS-B / Pearson`."""
    if not task:
        return []
    parts = [part.strip() for part in task.split(" / ")]
    return [task, *parts] if len(parts) > 1 else [task]


def own_rows(names: Names, text: str) -> dict[str, str]:
    """Table → its row that is the authors' own, where there is exactly one.

    A row says so (`Ours`, `SegHyp (ours)`), or the text does: `we propose SegHyp`.
    """
    proposed = {
        match.group(1)
        for match in re.finditer(
            r"\b[Ww]e (?:\w+ly )?(?:propose|introduce|present|develop|design|call|name|dub|term)\b[^.]{0,120}", text
        )
        for match in re.finditer(r"([A-Z][\w+\-]{1,40})", match.group())
    }
    found: dict[str, set[str]] = defaultdict(set)
    for table in names.tables.values():
        said = {label for label in table.methods if is_own(label)}
        sized = {label for label in table.methods if _OWN_SIZED.fullmatch(label)}
        found[table.name] = said or sized or {label for label in table.methods if bare(label) in proposed}
    return {name: labels.pop() for name, labels in found.items() if len(labels) == 1}
