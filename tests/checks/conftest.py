"""Builders of small claim sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leaderboard.checks.finding import Finding, Severity, Verdict
from leaderboard.checks.runner import Report, check_claims
from leaderboard.claims.model import Claim, ClaimSet

SCOPE = ("task", "metric", "method", "split", "model", "budget", "subset", "aggregation")


def claim(printed: str, table: str = "Table 1", row: str = "", column: str = "", **fields: Any) -> Claim:
    """A claim; fields of the scope may be given directly."""
    scope = {name: fields.pop(name) for name in SCOPE if name in fields}
    return Claim.model_validate(
        {"printed": printed, "where": {"table": table, "row": row, "column": column}, "scope": scope, **fields}
    )


def check(id: str, *claims: Claim, **fields: Any) -> Report:
    """The report of one check over these claims."""
    return check_claims([ClaimSet(id="test", claims=claims, **fields)], only=[id])


def only_finding(report: Report) -> Finding:
    assert len(report.findings) == 1, [finding.message for finding in report.findings]
    return report.findings[0]


@pytest.fixture
def make() -> Callable[..., Claim]:
    return claim


@pytest.fixture
def run() -> Callable[..., Report]:
    return check


@pytest.fixture
def single() -> Callable[[Report], Finding]:
    return only_finding


__all__ = ["Severity", "Verdict"]
