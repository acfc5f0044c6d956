"""Findings on claims that somebody has looked at and keeps: `ack` in the file of the claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from benchmark.errors import UsageError
from leaderboard.checks.evidence import Evidence
from leaderboard.checks.finding import Finding, stands_on_one
from leaderboard.checks.registry import find
from leaderboard.claims.model import Acknowledgement, Claim


def pinned(finding: Finding, evidence: Evidence) -> Finding:
    """The finding with every number printed in its cells in the fingerprint: spreads, differences and single runs."""
    claims = [claim for cell in finding.cells for claim in evidence.by_where.get(cell.where, ())]
    more = "|".join(text for claim in claims for text in _beside(claim))
    return replace(finding, basis=finding.basis + more) if more else finding


def _beside(claim: Claim) -> Iterator[str]:
    """Numbers printed in a claim's cell beside its value."""
    if claim.spread is not None:
        yield f"±{claim.spread.printed}"
    yield from (f"Δ{delta.printed}" for delta in claim.differences)
    yield from claim.values


def acknowledge(finding: Finding, evidence: Evidence) -> Finding:
    """The finding with the reason somebody gave for it, or with a note why the reason does not count any more."""
    note = ""
    for entry in _of_cells(finding, evidence):
        if not _is_for(entry, finding):
            continue
        if _fits(entry, finding):
            return replace(finding, acknowledged=entry.reason)
        note = _why_not(entry, finding)
    for entry in evidence.set.ack:
        if _is_for(entry, finding) and entry.printed == finding.fingerprint:
            return replace(finding, acknowledged=entry.reason)
    if not note or note in finding.note:
        return finding
    return replace(finding, note=" ".join(part for part in (finding.note, note) if part))


def _of_cells(finding: Finding, evidence: Evidence) -> Iterator[Acknowledgement]:
    for cell in finding.cells:
        for claim in evidence.by_where.get(cell.where, ()):
            yield from claim.ack


def _is_for(entry: Acknowledgement, finding: Finding) -> bool:
    return _id(entry.check) == finding.check


def _id(check: str) -> str:
    try:
        return find(check).id
    except UsageError:
        return check


def _fits(entry: Acknowledgement, finding: Finding) -> bool:
    """By its fingerprint; by its number only where the finding stands on no other."""
    by_number = stands_on_one(finding) and entry.printed == finding.cells[0].printed
    return by_number or entry.printed == finding.fingerprint


def _why_not(entry: Acknowledgement, finding: Finding) -> str:
    if any(entry.printed == cell.printed for cell in finding.cells):
        return (
            f"acknowledged as {entry.printed} ({entry.reason}); a number alone does not cover a finding about several, "
            f"its fingerprint does: {finding.fingerprint}"
        )
    return f"acknowledged as {entry.printed} ({entry.reason}); that has expired, the number is another now"


def unmatched(evidence: Evidence, findings: Sequence[Finding], checks: Iterable[str]) -> list[str]:
    """Acknowledgements in the file that concern none of the findings, and those of checks that do not exist.

    Args:
        findings: all that the checks said, acknowledged or not, before and after summing up.
        checks: ids of the checks that were run in full; nothing is said of others.
    """
    ran = set(checks)
    cells = {(finding.check, cell.where) for finding in findings for cell in finding.cells}
    prints = {(finding.check, finding.fingerprint) for finding in findings}
    told = []
    for claim in evidence.set.claims:
        told += [
            _told(e, ran, f" in {claim.where}") for e in claim.ack if (_id(e.check), str(claim.where)) not in cells
        ]
    told += [_told(e, ran, "") for e in evidence.set.ack if (_id(e.check), e.printed) not in prints]
    return [f"{evidence.set.id}: {text}" for text in dict.fromkeys(told) if text]


def _told(entry: Acknowledgement, ran: set[str], place: str) -> str:
    return unmatched_text(entry.check, f"{entry.printed}{place}", entry.reason, ran, "a number of it has changed")


def unmatched_text(check: str, what: str, reason: str, ran: set[str], why: str) -> str:
    """What to say of an acknowledgement that matches nothing; empty for one of a check that was not run."""
    try:
        id = find(check).id
    except UsageError as error:
        return f"ack of {check} ({reason}): {error}"
    return f"ack of {id} {what} ({reason}) matches no finding: {why}" if id in ran else ""
