"""Findings on a store that somebody has looked at and keeps: `acknowledged.yaml` beside its results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import Field, ValidationError

from benchmark.parameters import Parameters
from leaderboard.checks.acknowledgements import unmatched_text
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


class KeptFile(Parameters):
    """`ack: [{check, finding, reason}, ...]`"""

    ack: tuple[Kept, ...] = ()


def read_kept(path: Path) -> tuple[Kept, ...]:
    """The entries of a file; none without a file or in an empty one.

    Raises:
        SpecError: not YAML, or not laid out as `KeptFile`; each problem with line and column.
    """
    if not path.is_file() or not path.read_text(encoding="utf-8").strip():
        return ()
    from benchmark.spec.marks import InvalidSpecError, Problem
    from leaderboard.claims.loader import compose, place

    try:
        root = compose(path)
    except InvalidSpecError as error:
        raise InvalidSpecError(error.problems, FILE) from None
    try:
        return KeptFile.model_validate(root.plain()).ack
    except ValidationError as error:
        problems = [(entry["loc"], entry["msg"]) for entry in error.errors()]
        raise InvalidSpecError(
            [Problem(place(root, loc), f"{'.'.join(map(str, loc))}: {message}") for loc, message in problems], FILE
        ) from None


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


def unmatched(findings: Iterable[Finding], entries: Sequence[Kept], checks: Iterable[str]) -> list[str]:
    """Entries that are about none of the findings, and those of checks that do not exist.

    Args:
        checks: ids of the checks that were run in full; nothing is said of others.
    """
    ran, present = set(checks), {(finding.check, finding.fingerprint) for finding in findings}
    why = "its numbers are others now, or it is about another experiment"
    told = [
        unmatched_text(entry.check, entry.finding, entry.reason, ran, why)
        for entry in entries
        if (entry.check.upper(), entry.finding) not in present
    ]
    return [f"{FILE}: {text}" for text in told if text]
