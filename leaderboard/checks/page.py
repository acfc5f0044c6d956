"""The catalogue as a page: `python -m leaderboard.checks.page > docs/checks.md`."""

from __future__ import annotations

import sys

from leaderboard.checks.registry import Check, catalogue

HEAD = """# Checks

Generated from the docstrings of the checks; `bench check --explain ID` prints one, `bench check --list` all.
Severity is the worst a check reports: an error is impossible as printed, a warning needs explaining, info is context.

`bench check` looks at the last run in the store and at the claims its experiment names. An experiment may change a
check under `checks: {ID: {severity: ..., threshold: ..., except: [...]}}`; thresholds are named in the formulas below.
A finding that is looked into and kept is acknowledged under `ack:`, for claims in their file, for a store in
`acknowledged.yaml` in its folder: `ack: [{check: ID, finding: FINGERPRINT, reason: ...}]`, as printed with the
finding. It expires when one of its numbers changes.

| id | at worst | looks at | finds |
|---|---|---|---|
"""


def page() -> str:
    """The page as Markdown."""
    checks = catalogue()
    rows = [f"| [{c.id}](#{c.id.lower()}) | {c.severity} | {' and '.join(c.needs)} | {c.title} |" for c in checks]
    return HEAD + "\n".join(rows) + "\n" + "".join(f"\n{entry(check)}\n" for check in checks)


def entry(check: Check) -> str:
    """One check: its title and its text, as preformatted as it is written."""
    return f"## {check.id}\n\n{check.title.capitalize()}.\n\n```text\n{check.text}\n```"


if __name__ == "__main__":
    sys.stdout.write(page())
