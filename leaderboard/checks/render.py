"""Findings for people (text), for pull requests (GitHub annotations) and for code scanning (SARIF)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmark.wording import counted
from leaderboard.checks.finding import Finding, Severity, how_to_acknowledge
from leaderboard.checks.registry import Check, find
from leaderboard.checks.runner import Report

WIDTH = 112
SHIPPED = Path(__file__).parents[1]
"""The package that holds the shipped claims."""
LABEL = 12


def text(report: Report) -> str:
    """Every finding with its arithmetic, then one line that counts."""
    blocks = ["\n".join(block(finding)) for finding in report.findings]
    return "\n\n".join([*blocks, summary(report)])


def block(finding: Finding) -> Iterator[str]:
    """One finding, ready to be pasted into a review."""
    state = "acknowledged" if finding.acknowledged is not None else str(finding.severity)
    yield from wrapped(f"{finding.check} {state}: ", finding.message, indent="  ")
    for position, cell in enumerate(finding.cells):
        line = f", line {cell.line}" if cell.line else ""
        yield field("cells" if position == 0 else "", f"{cell.printed:<9} {cell.where}{line}")
    if finding.count > max(1, len(finding.cells)):
        yield field("", f"... {finding.count} findings in all")
    if finding.arithmetic:
        yield field("arithmetic", finding.arithmetic)
    if finding.policy:
        yield field("rounding", f"{finding.policy}: {finding.verdict}")
    for label, fits in (("could be", True), ("not", False)):
        for explanation in finding.explanations:
            if explanation.fits is fits:
                yield field(label, str(explanation))
    if finding.nearest:
        yield field("consistent", "; ".join(finding.nearest))
    if finding.note:
        yield field("note", finding.note)
    if finding.acknowledged is not None:
        yield field("kept because", finding.acknowledged)
    elif finding.severity is not Severity.INFO:
        yield field("to keep it", how_to_acknowledge(finding))


def field(label: str, value: str) -> str:
    """An indented, labelled line; long ones are continued under their text."""
    return "\n".join(wrapped(f"    {label:<{LABEL}} ", value, indent=" " * (LABEL + 5)))


def wrapped(first: str, value: str, indent: str) -> list[str]:
    """Words within the width, the first line behind its label."""
    return textwrap.wrap(
        value, WIDTH, initial_indent=first, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def summary(report: Report) -> str:
    """What was checked, found, and could not be tested."""
    kept = sum(finding.acknowledged is not None for finding in report.findings)
    counts = [
        counted(report.count(Severity.ERROR), "error"),
        counted(report.count(Severity.WARNING), "warning"),
        counted(report.count(Severity.INFO), "note"),
    ]
    if kept:
        counts.append(f"{kept} acknowledged")
    related = sum(tally.related for tally in report.tallies.values())
    alone = sum(tally.passed for tally in report.tallies.values()) - related
    lines = [
        f"{', '.join(counts)}: {counted(report.numbers, 'number')} of {', '.join(report.sources) or 'nothing'}, "
        f"{counted(len(report.tallies), 'check')}, {counted(related, 'comparison')} that agree{'s' * (related == 1)}, "
        f"{alone} looked at alone, {report.seconds:.2f} s"
    ]
    if report.unreadable:
        shown = "; ".join(report.unreadable[:3])
        more = " ..." if len(report.unreadable) > 3 else ""
        lines.insert(0, f"{counted(len(report.unreadable), 'cell')} not read as a number: {shown}{more}")
    return "\n".join([*(f"Note: {told}" for told in (*report.notes, *report.unmatched)), *lines])


def coverage(report: Report) -> str:
    """Check by check: how many comparisons agree, what could not be tested and why, and the check's power."""
    lines = []
    for id, tally in report.tallies.items():
        reasons = "; ".join(f"{count} not testable: {reason}" for reason, count in tally.untestable.items())
        told = "; ".join(part for part in (f"{tally.passed} agree", reasons) if part)
        lines += [f"{id:<13} {report.verdict(id)}: {told}", *wrapped(" " * 14, f"power: {find(id).power}", " " * 21)]
    return "\n".join(lines)


GITHUB = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def github(report: Report) -> str:
    """Workflow commands that GitHub shows as annotations on the claims file."""
    lines = []
    for finding in report.findings:
        if finding.acknowledged is not None:
            continue
        place = {"file": place_of(finding.path), "line": str(line_of(finding) or ""), "title": finding.check}
        properties = ",".join(f"{key}={escaped(value, ':,')}" for key, value in place.items() if value)
        body = finding.message + (f"\n{finding.arithmetic}" if finding.arithmetic else "")
        lines.append(f"::{GITHUB[finding.severity]} {properties}::{escaped(body)}")
    return "\n".join([*lines, summary(report)])


def place_of(path: str) -> str:
    """A path as a repository knows it: from the working folder, or from the package's own for claims it ships."""
    absolute = Path(path).resolve()
    for part, root in ((Path.cwd(), Path.cwd()), (SHIPPED, SHIPPED.parent)):
        if path and absolute.is_relative_to(part):
            return absolute.relative_to(root).as_posix()
    return path.replace("\\", "/")


def uri_of(path: str) -> str:
    """`place_of` as a reference that SARIF allows."""
    place = place_of(path)
    return Path(place).as_uri() if Path(place).is_absolute() else quote(place)


def escaped(value: str, also: str = "") -> str:
    """Characters a workflow command reserves, as percent escapes."""
    for character in "%\r\n" + also:
        value = value.replace(character, f"%{ord(character):02X}")
    return value


def line_of(finding: Finding) -> int | None:
    """The first line known of its cells."""
    return next((cell.line for cell in finding.cells if cell.line), None)


SARIF = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(report: Report, version: str) -> dict[str, Any]:
    """The findings as a SARIF 2.1.0 log."""
    used = [find(id) for id in report.tallies]
    driver = {"name": "bench check", "version": version, "rules": [rule(check) for check in used]}
    results = [result(finding, [check.id for check in used]) for finding in report.findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def rule(check: Check) -> dict[str, Any]:
    """A check as a SARIF rule."""
    return {
        "id": check.id,
        "shortDescription": {"text": check.title},
        "fullDescription": {"text": check.text},
        "defaultConfiguration": {"level": SARIF[check.severity]},
    }


def result(finding: Finding, rules: list[str]) -> dict[str, Any]:
    """A finding as a SARIF result."""
    entry: dict[str, Any] = {
        "ruleId": finding.check,
        "ruleIndex": rules.index(finding.check),
        "level": SARIF[finding.severity],
        "message": {"text": f"{finding.message}\n{finding.arithmetic}".strip()},
        "partialFingerprints": {"printed/v1": finding.fingerprint},
    }
    if finding.path:
        location: dict[str, Any] = {"artifactLocation": {"uri": uri_of(finding.path)}}
        if line := line_of(finding):
            location["region"] = {"startLine": line}
        entry["locations"] = [{"physicalLocation": location}]
    if finding.acknowledged is not None:
        entry["suppressions"] = [{"kind": "external", "justification": finding.acknowledged}]
    return entry
