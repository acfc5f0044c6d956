"""Run checks over claims and gather what they say."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase as fnmatch
from typing import Any

from benchmark.errors import UsageError
from leaderboard.checks.acknowledgements import acknowledge, pinned, unmatched
from leaderboard.checks.evidence import Evidence
from leaderboard.checks.finding import Cell, Finding, Severity, Tally, Verdict
from leaderboard.checks.registry import CATALOGUE, Check, catalogue, find, select
from leaderboard.claims.model import ClaimSet

AT_MOST = 6
"""Findings of one pattern told one by one; more become one with a count."""
SHOWN = 5
RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
WORST = (Verdict.FAIL, Verdict.PASS_IF_ROUNDING)


@dataclass
class Report:
    """Findings, worst first, and what was compared."""

    findings: list[Finding] = field(default_factory=list)
    tallies: dict[str, Tally] = field(default_factory=dict)
    """Check → what it passed and could not test."""
    sources: list[str] = field(default_factory=list)
    numbers: int = 0
    unreadable: list[str] = field(default_factory=list)
    """Cells with text that is no number, and what an importer could not read."""
    unmatched: list[str] = field(default_factory=list)
    """Acknowledgements that match no finding any more, and why."""
    notes: list[str] = field(default_factory=list)
    """What could not be looked at, and why."""
    seconds: float = 0.0

    def count(self, severity: Severity) -> int:
        """Findings of that severity that nobody has acknowledged."""
        return sum(finding.severity is severity and finding.acknowledged is None for finding in self.findings)

    def verdict(self, check: str) -> Verdict:
        """The worst thing a check said; NOT_TESTABLE when it compared nothing."""
        said = {finding.verdict for finding in self.findings if finding.check == check}
        for verdict in WORST:
            if verdict in said:
                return verdict
        return Verdict.PASS if self.tallies[check].passed else Verdict.NOT_TESTABLE

    def as_json(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        return {
            "sources": self.sources,
            "numbers": self.numbers,
            "errors": self.count(Severity.ERROR),
            "warnings": self.count(Severity.WARNING),
            "seconds": round(self.seconds, 3),
            "unreadable": self.unreadable,
            "notes": self.notes,
            "unmatched_acknowledgements": self.unmatched,
            "checks": {
                id: {
                    "verdict": self.verdict(id),
                    "passed": tally.passed,
                    "related": tally.related,
                    "not_testable": tally.untestable,
                    "power": CATALOGUE[id].power,
                }
                for id, tally in self.tallies.items()
            },
            "findings": [finding.as_json() for finding in self.findings],
        }


@dataclass(frozen=True)
class Override:
    """How an experiment wants one check to be run."""

    severity: str | None = None
    """`error`, `warning`, `info`, or `off`; None: the check's own."""
    exceptions: tuple[str, ...] = ()
    """Names of tasks, methods or metrics, or `task × method`, that the check leaves alone, `*` and `?` allowed."""
    threshold: float | None = None
    """Replaces the check's threshold, in its unit; None: the check's own."""


def overrides_of(checks: Mapping[str, Any]) -> dict[str, Override]:
    """What `checks` of an experiment asks for, by the id of the check.

    Args:
        checks: id → mapping (as stored with a run) with `severity`, `threshold` and `except` (or `exceptions`).

    Raises:
        UsageError: no such check, a threshold for one that has none, or one below zero.
    """
    wishes = {}
    for id, wish in checks.items():
        entry = find(id)
        threshold = wish.get("threshold")
        if threshold is not None and entry.threshold is None:
            others = ", ".join(
                f"{other.id} ({other.threshold:g})" for other in catalogue() if other.threshold is not None
            )
            raise UsageError(f"check '{entry.id}' has no threshold to set; these have: {others}")
        if threshold is not None and not 0 <= threshold < math.inf:
            raise UsageError(f"threshold of check '{entry.id}' is {threshold:g}; expected a finite number, 0 or more")
        exceptions = wish.get("except") or wish.get("exceptions") or ()
        listed = (exceptions,) if isinstance(exceptions, str) else tuple(map(str, exceptions))
        wishes[entry.id] = Override(wish.get("severity"), listed, threshold)
    return wishes


def overridden(finding: Finding, override: Override | None) -> Finding | None:
    """The finding as the experiment wants it; None when it is not to be told.

    Remarks that a check makes beside its findings are never raised: what is no fault stays none.
    """
    if override is None:
        return finding
    names = {name for cell in finding.cells for name in names_of(cell)}
    if override.severity == "off" or any(fnmatch(name, pattern) for name in names for pattern in override.exceptions):
        return None
    remark = finding.severity is Severity.INFO and find(finding.check).severity is not Severity.INFO
    if override.severity is None or remark:
        return finding
    return replace(finding, severity=Severity(override.severity))


def names_of(cell: Cell) -> Iterator[str]:
    """What an exception may call a number: method, task or metric, or `task × method` as findings print it."""
    parts = cell.label.split(" · ")
    yield from parts
    if len(parts) > 1:
        yield f"{parts[1]} × {parts[0]}"


def check_claims(
    sets: Iterable[ClaimSet],
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    overrides: Mapping[str, Override] | None = None,
) -> Report:
    """Run the checks that need claims over every set; `overrides` by id, as `checks` of an experiment gives them.

    Raises:
        UsageError: `only` or `without` names no check.
    """
    start = time.perf_counter()
    wishes = {find(id).id: override for id, override in (overrides or {}).items()}
    checks = [check for check in select(only, without, of_store=False) if check.on_claims is not None]
    report = Report(tallies={check.id: Tally() for check in checks})
    for claims in sets:
        evidence = Evidence(claims)
        report.sources.append(claims.id)
        report.numbers += count_numbers(claims)
        report.unreadable += [f"{claim.printed!r} in {claim.where}" for claim in evidence.unreadable if claim.printed]
        report.unreadable += claims.unread
        heard: list[Finding] = []
        for check in checks:
            told, known = run_and_match(check, evidence, report.tallies[check.id], wishes.get(check.id))
            report.findings += told
            heard += known
        report.unmatched += unmatched(evidence, heard, whole(checks, wishes))
    report.findings = sorted(report.findings, key=order)
    report.notes += untested(report.tallies)
    report.seconds = time.perf_counter() - start
    return report


def untested(tallies: Mapping[str, Tally]) -> list[str]:
    """One line on the printed differences that no check could hold against their values, and why."""
    reasons: Counter[str] = Counter()
    for id in DIFFERENCES & tallies.keys():
        reasons.update(tallies[id].untestable)
    if not (total := sum(reasons.values())):
        return []
    told = "; ".join(f"{reason} ({count})" if len(reasons) > 1 else reason for reason, count in reasons.most_common())
    return [f"{total} printed difference{'s' * (total != 1)} could not be checked: {told}"]


DIFFERENCES = frozenset({"DELTA", "REL"})


def whole(checks: Iterable[Check], wishes: Mapping[str, Override]) -> list[str]:
    """Ids of the checks that an experiment neither turned off nor kept from some of the numbers."""
    limited = {id for id, wish in wishes.items() if wish.severity == "off" or wish.exceptions}
    return [check.id for check in checks if check.id not in limited]


def order(finding: Finding) -> tuple[bool, int]:
    """Worst first, acknowledged ones last."""
    return finding.acknowledged is not None, RANK[finding.severity]


def merged(reports: Sequence[Report]) -> Report:
    """Several reports as one."""
    result = Report()
    for report in reports:
        result.findings += report.findings
        result.sources += report.sources
        result.unreadable += report.unreadable
        result.unmatched += report.unmatched
        result.notes += report.notes
        result.numbers += report.numbers
        result.seconds += report.seconds
        for id, tally in report.tallies.items():
            total = result.tallies.setdefault(id, Tally())
            total.passed += tally.passed
            total.related += tally.related
            for reason, count in tally.untestable.items():
                total.skip(reason, count)
    result.findings.sort(key=order)
    result.tallies = dict(sorted(result.tallies.items(), key=lambda item: CATALOGUE[item[0]].number))
    return result


def count_numbers(claims: ClaimSet) -> int:
    """Printed numbers in a set: values, spreads, differences and single runs."""
    return sum(1 + (c.spread is not None) + len(c.differences) + len(c.values) for c in claims.claims)


def run_one(check: Check, evidence: Evidence, tally: Tally, wish: Override | None = None) -> list[Finding]:
    """One check over one set: acknowledged findings marked, many of one pattern summed up."""
    return run_and_match(check, evidence, tally, wish)[0]


def run_and_match(
    check: Check, evidence: Evidence, tally: Tally, wish: Override | None = None
) -> tuple[list[Finding], list[Finding]]:
    """`run_one`, and also every finding an acknowledgement may be about: one by one, and summed up."""
    if check.on_claims is None:
        return [], []
    source, path = evidence.set.id, evidence.set.path
    said = (replace(finding, check=check.id) for finding in check.on_claims(evidence, tally))
    wished = (overridden(finding, wish) for finding in said)
    findings = [replace(pinned(f, evidence), source=source, path=path) for f in wished if f is not None]
    known = [acknowledge(finding, evidence) for finding in findings]
    told = [acknowledge(finding, evidence) if finding.count > 1 else finding for finding in summed_up(known)]
    return told, [*known, *told]


def summed_up(findings: list[Finding]) -> list[Finding]:
    """Findings of one pattern, more than a reader wants one by one, as one with a count and the first cells."""
    patterns: dict[tuple[Any, ...], list[Finding]] = defaultdict(list)
    for finding in findings:
        table = finding.cells[0].table if finding.cells else ""
        pattern = finding.pattern or id(finding)
        patterns[(finding.severity, finding.verdict, pattern, table, finding.acknowledged)].append(finding)
    result: list[Finding] = []
    for same in patterns.values():
        result += same if len(same) <= AT_MOST else [_sum(same)]
    return result


def _sum(same: list[Finding]) -> Finding:
    first = same[0]
    table = first.cells[0].table
    return replace(
        first,
        message=f"{len(same)} cells of {table}: {first.pattern}; for example {first.message}",
        cells=tuple(finding.cells[0] for finding in same[:SHOWN]),
        arithmetic="; ".join(finding.arithmetic for finding in same[:2]),
        count=len(same),
        basis="".join(finding.fingerprint for finding in same),
    )
