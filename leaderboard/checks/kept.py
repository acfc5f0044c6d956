"""Findings on a store that somebody has looked at and keeps: `acknowledged.yaml` beside its results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import Field, ValidationError

from benchmark.errors import UsageError
from benchmark.parameters import Parameters
from leaderboard.checks.finding import Finding

FILE = "acknowledged.yaml"
"""Its name in the folder of the store."""


class Kept(Parameters):
    """One entry; it expires when a number of its finding changes."""

    check: str
    """Id of the check."""
    finding: str
    """The finding's fingerprint, as `bench check` prints it under "to keep it"."""
    reason: str = Field(min_length=1)
    """Why the numbers stay as they are."""


def read_kept(path: Path) -> tuple[Kept, ...]:
    """The entries of a file; none without a file or in an empty one.

    Raises:
        SpecError: no YAML.
        UsageError: no list of entries, or one with other keys; the message names it.
    """
    if not path.is_file() or not path.read_text(encoding="utf-8").strip():
        return ()
    from leaderboard.claims.loader import compose

    entries = compose(path).plain()
    if not isinstance(entries, list):
        raise UsageError(f"{path}: expected a list of {{check, finding, reason}}, found {type(entries).__name__}")
    return tuple(_entry(path, number, entry) for number, entry in enumerate(entries, start=1))


def _entry(path: Path, number: int, entry: object) -> Kept:
    try:
        return Kept.model_validate(entry)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the entry"
        raise UsageError(f"{path}: entry {number}: {where}: {first['msg']}; keys: check, finding, reason") from None


def acknowledged(findings: Iterable[Finding], entries: Sequence[Kept]) -> list[Finding]:
    """The findings, each with the reason somebody gave for it, or with a note that the reason has expired."""
    known = list(findings)
    reasons = {(entry.check.upper(), entry.finding): entry.reason for entry in entries}
    present = {(finding.check, finding.fingerprint) for finding in known}
    expired = {check: reason for (check, finding), reason in reasons.items() if (check, finding) not in present}
    return [_one(finding, reasons.get((finding.check, finding.fingerprint)), expired) for finding in known]


def _one(finding: Finding, reason: str | None, expired: dict[str, str]) -> Finding:
    if reason is not None:
        return replace(finding, acknowledged=reason)
    if finding.check not in expired:
        return finding
    note = f"an acknowledgement of {finding.check} ({expired[finding.check]}) has expired: the numbers are others now"
    return replace(finding, note=" ".join(part for part in (finding.note, note) if part))
