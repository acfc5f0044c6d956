"""Which attempt at a cell counts.

An attempt with numbers beats one without. Among attempts with numbers the first counts, so that a number once
shown never changes because a store was merged or a cell was run again; among attempts without, the last does,
because its error is the news. "First" is by attempt id, whose beginning is the time it was made. The rule depends
on nothing but the set of attempts: not on the order of files, nor on which machine they came from.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from benchmark.records import DONE
from benchmark.wording import placed_reason


class Attempt(NamedTuple):
    """The narrow columns of one attempt, enough to plan with."""

    cell_id: str
    attempt_id: str
    run_id: str
    task: str
    initializer: str
    profile: str
    status: str
    seconds: float
    recordings: str = "{}"
    """What probes recorded, in JSON: `Probe.key` → what it was."""

    @property
    def done(self) -> bool:
        """Whether it has numbers."""
        return self.status in DONE


class Failure(NamedTuple):
    """The last attempt at a cell that has no numbers."""

    cell_id: str
    attempt_id: str
    run_id: str
    task: str
    initializer: str
    seed: int
    profile: str
    status: str
    error: str | None

    @property
    def reason(self) -> str:
        """Why, in a line; the status when there is no error."""
        return placed_reason(self.error or "") or self.status


def counting(attempts: Iterable[Attempt]) -> dict[str, Attempt]:
    """Cell id → the attempt that counts."""
    best: dict[str, Attempt] = {}
    for attempt in attempts:
        present = best.get(attempt.cell_id)
        if present is None or _beats(attempt, present):
            best[attempt.cell_id] = attempt
    return best


def recorded(attempts: Iterable[Attempt]) -> dict[str, set[str]]:
    """Cell id → keys of what probes recorded of it, in any attempt with numbers; what broke off does not count."""
    found: dict[str, set[str]] = {}
    for attempt in attempts:
        if attempt.done and attempt.recordings != "{}":
            keys = {key for key, about in json.loads(attempt.recordings).items() if not about.get("error")}
            found.setdefault(attempt.cell_id, set()).update(keys)
    return found


def _beats(one: Attempt, other: Attempt) -> bool:
    if one.done != other.done:
        return one.done
    return one.attempt_id < other.attempt_id if one.done else one.attempt_id > other.attempt_id


DONE_SQL = "status in (" + ", ".join(f"'{status}'" for status in sorted(DONE)) + ")"

ORDER_SQL = f"""
    ({DONE_SQL}) desc,
    case when {DONE_SQL} then attempt_id end asc,
    attempt_id desc
"""
"""The same rule as an ORDER BY within one cell; the first row counts."""
