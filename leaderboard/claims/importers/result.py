"""What an import gives back: the claims, what could not be read, and a summary of each table."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from leaderboard.claims.model import Claim
from leaderboard.lexicon import read

NO_METRIC = "no header and no caption names the metric"
"""How the note on a table with numbers of unknown metric begins."""


def is_unmeasured(claim: Claim) -> bool:
    """Whether a number has no metric where it should have one: an average over unlike metrics has none of its own."""
    scope = claim.scope
    return scope.metric is None and claim.role is None and read(scope.task or "").role != "average"


@dataclass(frozen=True, slots=True)
class Unread:
    """Something in a table that was not turned into a claim, and why."""

    table: str
    line: int
    column: int
    text: str
    reason: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.table}: {self.text!r}: {self.reason}"


@dataclass(frozen=True, slots=True)
class UnreadSentence:
    """A sentence outside of the tables that compares results: nothing holds it against them."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.line}: “{self.text}”"


@dataclass(frozen=True, slots=True)
class Place:
    """Line and column, from 1, of a claim in the source file; 0 where the format has none."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class TableSummary:
    """What was read from one table."""

    name: str
    line: int
    label: str
    caption: str
    rows: int
    columns: int
    numbers: int
    missing: int
    axes: str
    """What the rows and columns were taken to be, for example `rows: method; columns: task, metric`."""
    assumed: bool
    """Whether nothing in the table says which axis holds the methods and rows were taken by convention."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The claims of one file. `places[i]` is where `claims[i]` stands."""

    path: str
    format: str
    claims: tuple[Claim, ...] = ()
    places: tuple[Place, ...] = ()
    unread: tuple[Unread, ...] = ()
    tables: tuple[TableSummary, ...] = ()
    notes: tuple[str, ...] = field(default=())
    unread_sentences: tuple[UnreadSentence, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        return {
            "path": self.path,
            "format": self.format,
            "tables": [asdict(table) for table in self.tables],
            "claims": [claim.model_dump(mode="json", exclude_defaults=True) for claim in self.claims],
            "places": [asdict(place) for place in self.places],
            "unread": [asdict(item) for item in self.unread],
            "notes": list(self.notes),
            "unread_sentences": [asdict(item) for item in self.unread_sentences],
        }
