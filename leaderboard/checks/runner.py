"""Run checks over claims and gather what they say."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path
from typing import Any

from benchmark.errors import UsageError
from benchmark.wording import counted
from leaderboard.checks.acknowledgements import FILE, acknowledged, entries_of, pinned, read_kept, unmatched
from leaderboard.checks.evidence import Evidence
from leaderboard.checks.finding import Cell, Finding, Severity, Tally, Verdict
from leaderboard.checks.registry import CATALOGUE, Check, catalogue, find, select
from leaderboard.claims.model import Claim, ClaimSet

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
        other = Verdict.PASS if self.tallies[check].passed else Verdict.NOT_TESTABLE
        return next((verdict for verdict in WORST if verdict in said), other)

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
            others = ", ".join(f"{c.id} ({c.threshold:g})" for c in catalogue() if c.threshold is not None)
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
    """Run the checks that need claims over every set, and XT-DUP between several sets.

    Args:
        overrides: by id, as `checks` of an experiment gives them.

    Raises:
        UsageError: `only` or `without` names no check.
    """
    start, given = time.perf_counter(), list(sets)
    wishes = {find(id).id: override for id, override in (overrides or {}).items()}
    checks = [check for check in select(only, without, of_store=False) if check.on_claims is not None]
    report = Report(tallies={check.id: Tally() for check in checks})
    for claims in given:
        evidence = Evidence(claims)
        report.sources.append(claims.id)
        report.numbers += count_numbers(claims)
        report.unreadable += [f"{claim.printed!r} in {claim.where}" for claim in evidence.unreadable if claim.printed]
        report.unreadable += claims.unread
        said = [finding for check in checks for finding in run_one(check, evidence, report.tallies[check.id], wishes)]
        entries = entries_of(evidence)
        known = acknowledged(one_cause(said), entries)
        told = acknowledged(summed_up(known), entries)
        report.findings += told
        report.unmatched += unmatched([*said, *known, *told], entries, whole(checks, wishes))
    for check in checks if len(given) > 1 else ():
        if check.id == "XT-DUP":
            report.findings += between(given, check, report.tallies[check.id], wishes)
    report.findings.sort(key=order)
    report.notes += untested(report.tallies)
    report.seconds = time.perf_counter() - start
    return report


def between(sets: Sequence[ClaimSet], check: Check, tally: Tally, wishes: Mapping[str, Override]) -> list[Finding]:
    """What a check says of numbers that stand in different sets."""
    names = [claims.id if len({c.id for c in sets}) == len(sets) else claims.path for claims in sets]

    def named(name: str, claim: Claim) -> Claim:
        where = claim.where.model_copy(update={"table": f"{name}: {claim.where.table}"})
        return claim.model_copy(update={"where": where, "group": None})

    pairs = list(zip(names, sets, strict=True))
    claims = tuple(named(name, claim) for name, one in pairs for claim in one.claims)
    captions = {f"{name}: {table}": text for name, one in pairs for table, text in one.captions.items()}
    together = ClaimSet(id=" and ".join(names), claims=claims, captions=captions, path=sets[0].path)
    found = [f for f in run_one(check, Evidence(together), tally, wishes) if len({_set_of(c) for c in f.cells}) > 1]
    beside = Path(sets[0].path).parent / FILE if sets[0].path else None
    found = [replace(finding, kept_in=str(beside or "")) for finding in found]
    return summed_up(acknowledged(found, read_kept(beside) if beside else []))


def _set_of(cell: Cell) -> str:
    return cell.table.partition(": ")[0]


def one_cause(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without those that only follow from a number which cannot be right by itself."""
    suspects = {f.cells[0]: f for f in findings if f.check == "DOMAIN" and f.verdict is Verdict.FAIL}
    kept: list[Finding] = []
    also: dict[Cell, list[str]] = defaultdict(list)
    for finding in findings:
        cause = next((c for c in finding.cells if c in suspects), None) if finding.check in FOLLOWING else None
        if cause is None:
            kept.append(finding)
        else:
            also[cause].append(finding.check)
    notes = {cell: f"It also breaks {', '.join(dict.fromkeys(checks))}." for cell, checks in also.items()}
    return [
        replace(f, note=f"{f.note} {notes[f.cells[0]]}".strip()) if f.check == "DOMAIN" and f.cells[0] in notes else f
        for f in kept
    ]


FOLLOWING = frozenset({"ORDER", "COMPL", "F-BOUND", "F-HARM", "AVG", "AVG-RANGE", "BOLD", "SD-MAX", "NOISE"})
"""Checks whose findings may follow from one number out of range."""


def untested(tallies: Mapping[str, Tally]) -> list[str]:
    """One line on the printed differences that no check could hold against their values, and why."""
    reasons: Counter[str] = Counter()
    for id in {"DELTA", "REL"} & tallies.keys():
        reasons.update(tallies[id].untestable)
    if not (total := sum(reasons.values())):
        return []
    told = "; ".join(f"{reason} ({count})" if len(reasons) > 1 else reason for reason, count in reasons.most_common())
    return [f"{counted(total, 'printed difference')} could not be checked: {told}"]


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
        for name in ("findings", "sources", "unreadable", "unmatched", "notes", "numbers", "seconds"):
            setattr(result, name, getattr(result, name) + getattr(report, name))
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


def run_one(check: Check, evidence: Evidence, tally: Tally, wishes: Mapping[str, Override]) -> Iterator[Finding]:
    """What one check says of one set, as the experiment wants it told."""
    path = evidence.set.path
    inline = not path or path.endswith((".yaml", ".yml"))
    kept_in = "" if inline else str(Path(path).parent / FILE)
    for finding in check.on_claims(evidence, tally) if check.on_claims else ():
        wished = overridden(replace(finding, check=check.id), wishes.get(check.id))
        if wished is not None:
            yield replace(pinned(wished, evidence), source=evidence.set.id, path=path, kept_in=kept_in)


def summed_up(findings: list[Finding]) -> list[Finding]:
    """Findings of one pattern, more than a reader wants one by one, as one with a count and the first cells."""
    patterns: dict[tuple[Any, ...], list[Finding]] = defaultdict(list)
    for f in findings:
        table = f.cells[0].table if f.cells else ""
        patterns[f.check, f.severity, f.verdict, f.pattern or id(f), table, f.acknowledged].append(f)
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
