"""What a check says: a verdict with the cells, the arithmetic and every innocent explanation that was tried."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from leaderboard.claims.model import Claim


class Severity(StrEnum):
    """How sure a finding is: an error is impossible as printed, a warning needs an explanation, info is context."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Verdict(StrEnum):
    """Outcome of one comparison."""

    PASS = "PASS"
    PASS_IF_ROUNDING = "PASS_IF_ROUNDING"
    FAIL = "FAIL"
    NOT_TESTABLE = "NOT_TESTABLE"


@dataclass(frozen=True, slots=True)
class Cell:
    """A number in its place."""

    printed: str
    table: str
    row: str = ""
    column: str = ""
    label: str = ""
    """What it is a measurement of: method, task, metric."""
    line: int | None = None
    """Line of the file it was read from."""

    @property
    def where(self) -> str:
        """Its place as text."""
        return ", ".join(part for part in (self.table, self.row, self.column) if part)

    def __str__(self) -> str:
        label = f" ({self.label})" if self.label else ""
        return f"{self.printed} in {self.where}{label}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """One innocent way the numbers could have come about, and whether the arithmetic allows it."""

    title: str
    arithmetic: str = ""
    fits: bool = False

    def __str__(self) -> str:
        shown = f": {self.arithmetic}" if self.arithmetic else ""
        return f"{self.title}{shown}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a check has to say."""

    message: str
    """One sentence with the numbers in it."""
    cells: tuple[Cell, ...] = ()
    arithmetic: str = ""
    explanations: tuple[Explanation, ...] = ()
    """Innocent explanations tried, those that fit first."""
    pattern: str = ""
    """Same for findings of one kind; many of them in one table become one."""
    severity: Severity = Severity.WARNING
    verdict: Verdict = Verdict.FAIL
    check: str = ""
    """Id of the check; whoever runs it fills it in."""
    policy: str = ""
    """Rounding the verdict assumes."""
    nearest: tuple[str, ...] = ()
    """Values that would be consistent."""
    source: str = ""
    """Id of the claims, or the store, it is about."""
    path: str = ""
    """File of the claims, or folder of the store."""
    count: int = 1
    """Findings summed up in this one."""
    acknowledged: str | None = None
    """Reason somebody gave for keeping the number."""
    note: str = ""
    basis: str = ""
    """Digest of stored numbers it stands on beyond the cells shown."""
    kept_in: str = ""
    """File in which it is acknowledged, where that is not the file of the claims."""

    @property
    def fingerprint(self) -> str:
        """Changes when one of its numbers does."""
        text = "|".join(sorted(f"{cell.where}={cell.printed}" for cell in self.cells)) or self.arithmetic
        text += self.basis
        return hashlib.sha256(f"{self.check}|{self.pattern}|{text}".encode()).hexdigest()[:8]

    def as_json(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        return {**asdict(self), "fingerprint": self.fingerprint, "acknowledge": how_to_acknowledge(self)}


def how_to_acknowledge(finding: Finding) -> str:
    """The line to add to the claims file to keep the number and silence the finding until it changes."""
    if finding.kept_in:
        return f"in {finding.kept_in}: ack: [{{check: {finding.check}, finding: {finding.fingerprint}, reason: ...}}]"
    if stands_on_one(finding):
        first = finding.cells[0]
        parts = (("table", first.table), ("row", first.row), ("column", first.column))
        place = ", ".join(f"{name}: {quoted(value)}" for name, value in parts if value)
        number = quoted(first.printed)
        return f"ack: [{{check: {finding.check}, {place}, printed: {number}, reason: ...}}]"
    return f"ack: [{{check: {finding.check}, printed: {finding.fingerprint}, reason: ...}}]"


def stands_on_one(finding: Finding) -> bool:
    """Whether it is about one printed number and no other, so that this number alone can pin it."""
    return len(finding.cells) == 1 and finding.count == 1 and not finding.basis


def quoted(text: str) -> str:
    """Text as a YAML flow scalar."""
    plain = text and all(character.isalnum() or character in " ._/@-" for character in text) and text[0].isalnum()
    return text if plain else "'" + text.replace("'", "''") + "'"


class Placed(Protocol):
    """A number that knows its place."""

    @property
    def cell(self) -> Cell:
        """Where it stands."""


def say(
    message: str,
    *of: Cell | Placed,
    could: Iterable[Explanation] = (),
    severity: Severity = Severity.WARNING,
    **fields: Any,
) -> Finding:
    """A finding about some numbers, and what else could be the case."""
    cells = tuple(one if isinstance(one, Cell) else one.cell for one in of)
    return Finding(message, cells, explanations=ranked(could), severity=severity, **fields)


def cell(claim: Claim, printed: str | None = None) -> Cell:
    """The cell of a claim; `printed` where it is about another number of it, such as its delta."""
    scope = claim.scope
    label = " · ".join(part for part in (scope.method, scope.task, scope.metric) if part)
    where = claim.where
    shown = claim.printed if printed is None else printed
    return Cell(shown, where.table, where.row, where.column, label, where.line)


def ranked(explanations: Iterable[Explanation]) -> tuple[Explanation, ...]:
    """Those that fit first, otherwise in the order tried."""
    return tuple(sorted(explanations, key=lambda explanation: not explanation.fits))


@dataclass(slots=True)
class Tally:
    """What a check compared, for the summary and for verdicts that make no noise."""

    passed: int = 0
    related: int = 0
    """Of those that passed: comparisons with other numbers, not only with a range or with being finite."""
    untestable: dict[str, int] = field(default_factory=dict)
    """Reason → how often."""

    def ok(self, count: int = 1) -> None:
        """Count comparisons between numbers that agree."""
        self.passed += count
        self.related += count

    def in_range(self, count: int = 1) -> None:
        """Count numbers that are what their kind must be: finite, within bounds, stated."""
        self.passed += count

    def skip(self, reason: str, count: int = 1) -> None:
        """Count numbers that could not be tested."""
        self.untestable[reason] = self.untestable.get(reason, 0) + count
