"""Findings that somebody has looked at and keeps: under `ack` in a claims file, or in `acknowledged.yaml`.

The latter lies in the folder of a store, or beside the file that the tables were read from, whatever its format.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import Field, ValidationError

from benchmark.errors import UsageError
from benchmark.parameters import Parameters
from leaderboard.checks.evidence import Evidence
from leaderboard.checks.finding import Finding, stands_on_one
from leaderboard.checks.registry import find
from leaderboard.claims.model import Claim

FILE = "acknowledged.yaml"
"""Its name in the folder of the store or of the file."""


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


@dataclass(frozen=True, slots=True)
class Entry:
    """An acknowledgement, wherever it was written."""

    check: str
    token: str
    """The finding's fingerprint, or the one number that it is about."""
    reason: str
    source: str
    place: str = ""
    """Cell it is written at; empty for one that names a fingerprint."""
    why: str = "a number of it has changed"
    """What to say where it matches nothing."""

    def covers(self, finding: Finding) -> bool:
        """Whether it is about this finding as it is now; by its number only where the finding stands on no other."""
        by_number = self.place and stands_on_one(finding) and self.token == finding.cells[0].printed
        return self.check == finding.check and (bool(by_number) or self.token == finding.fingerprint)


def id_of(check: str) -> str:
    """The id of a check that may be an alias or unknown."""
    try:
        return find(check).id
    except UsageError:
        return check


def read_kept(path: Path) -> list[Entry]:
    """The entries of a file; none without a file or in an empty one.

    Raises:
        SpecError: not YAML, or not laid out as `KeptFile`; each problem with line and column.
    """
    if not path.is_file() or not path.read_text(encoding="utf-8").strip():
        return []
    from benchmark.spec.marks import InvalidSpecError, Problem
    from leaderboard.claims.loader import compose, place

    try:
        root = compose(path)
    except InvalidSpecError as error:
        raise InvalidSpecError(error.problems, FILE) from None
    try:
        kept = KeptFile.model_validate(root.plain()).ack
    except ValidationError as error:
        problems = [(entry["loc"], entry["msg"]) for entry in error.errors()]
        raise InvalidSpecError(
            [Problem(place(root, loc), f"{'.'.join(map(str, loc))}: {message}") for loc, message in problems], FILE
        ) from None
    why = "its numbers are others now, or it is about another experiment"
    return [Entry(id_of(one.check), one.finding, one.reason, FILE, why=why) for one in kept]


def entries_of(evidence: Evidence) -> list[Entry]:
    """The acknowledgements of a set: at its numbers, for the whole of it, and in the file beside it."""
    claims, source = evidence.set, evidence.set.id
    found = [
        Entry(id_of(ack.check), ack.printed, ack.reason, source, str(claim.where))
        for claim in claims.claims
        for ack in claim.ack
    ]
    found += [Entry(id_of(ack.check), ack.printed, ack.reason, source) for ack in claims.ack]
    return found + (read_kept(Path(claims.path).parent / FILE) if claims.path else [])


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


def acknowledged(findings: Iterable[Finding], entries: Sequence[Entry]) -> list[Finding]:
    """The findings, each with the reason somebody gave for it, or with a note why the reason counts no more."""
    known = list(findings)
    if not entries:
        return known
    expired = [entry for entry in entries if not any(entry.covers(finding) for finding in known)]
    return [_one(finding, entries, expired) for finding in known]


def _one(finding: Finding, entries: Sequence[Entry], expired: Sequence[Entry]) -> Finding:
    if reason := next((entry.reason for entry in entries if entry.covers(finding)), None):
        return replace(finding, acknowledged=reason)
    places, note = {cell.where for cell in finding.cells}, ""
    for entry in entries:
        if entry.check == finding.check and entry.place in places:
            note = f"acknowledged as {entry.token} ({entry.reason}); that has expired, the number is another now"
            if any(entry.token == cell.printed for cell in finding.cells):
                note = (
                    f"acknowledged as {entry.token} ({entry.reason}); a number alone does not cover a finding about "
                    f"several, its fingerprint does: {finding.fingerprint}"
                )
    for entry in expired:
        if entry.check == finding.check and entry.source == FILE:
            note = f"an acknowledgement of {entry.check} ({entry.reason}) has expired: the numbers are others now"
    if not note or note in finding.note:
        return finding
    return replace(finding, note=" ".join(part for part in (finding.note, note) if part))


def unmatched(findings: Collection[Finding], entries: Sequence[Entry], ran: Collection[str]) -> list[str]:
    """Acknowledgements that concern none of the findings, and those of checks that do not exist.

    Args:
        findings: all that the checks said, acknowledged or not, before and after summing up.
        ran: ids of the checks that were run in full; nothing is said of others.
    """
    touched = {(finding.check, cell.where) for finding in findings for cell in finding.cells}
    told: Callable[[Entry], bool] = lambda e: (e.check, e.place) in touched or any(e.covers(f) for f in findings)  # noqa: E731
    texts = [_unmatched(entry, ran) for entry in entries if not told(entry)]
    return list(dict.fromkeys(text for text in texts if text))


def _unmatched(entry: Entry, ran: Collection[str]) -> str:
    try:
        find(entry.check)
    except UsageError as error:
        return f"{entry.source}: ack of {entry.check} ({entry.reason}): {error}"
    place = f" in {entry.place}" if entry.place else ""
    text = f"{entry.source}: ack of {entry.check} {entry.token}{place} ({entry.reason}) matches no finding: {entry.why}"
    return text if entry.check in ran else ""
