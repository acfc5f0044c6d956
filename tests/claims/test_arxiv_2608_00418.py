"""The published numbers of arXiv:2608.00418 and everything that is found in them."""

from __future__ import annotations

import pytest

from leaderboard.checks.finding import Severity, Verdict
from leaderboard.checks.runner import Report, check_claims
from leaderboard.claims import ClaimSet, load


@pytest.fixture(scope="module")
def claims() -> ClaimSet:
    return load("arxiv-2608.00418")


@pytest.fixture(scope="module")
def report(claims: ClaimSet) -> Report:
    return check_claims([claims])


def test_every_number_of_the_six_tables_is_there(claims: ClaimSet) -> None:
    count = {f"Table {i}": sum(c.where.table == f"Table {i}" for c in claims.claims) for i in range(1, 7)}
    assert count == {"Table 1": 28, "Table 2": 24, "Table 3": 12, "Table 4": 21, "Table 5": 9, "Table 6": 12}


def test_printed_text_is_kept(claims: ClaimSet) -> None:
    printed = {claim.printed for claim in claims.claims}
    assert {"75.00", "100.00", "100", "0.0029", "0.00", "3.230", "0.20", "179.70", "10.40"} <= printed


def test_harness_names_find_published_numbers(claims: ClaimSet) -> None:
    found = claims.find(task="imagenet100", initializer="mask", metric="best_accuracy")
    assert [claim.printed for claim in found] == ["85.92", "85.82"]
    assert [claim.printed for claim in claims.find(task="2parity", initializer="default", metric="accuracy")] == [
        "75.00",
        "75.00",
    ]
    assert claims.find(task="imagenet100", initializer="nobody") == []


def test_errors_are_exactly_the_known_contradictions(report: Report) -> None:
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    pairs = {(finding.check, *(cell.printed for cell in finding.cells)) for finding in errors}
    assert pairs == {
        ("XT-DUP", "85.92", "85.82"),
        ("DELTA", "(+2.44)", "85.92", "83.38"),
        ("XT-DUP", "87.45", "87.47"),
        ("XT-DUP", "0.0029", "0.02"),
    }


def test_majority_loss_is_told_and_called_a_rounding(report: Report) -> None:
    found = [f for f in report.findings if {"0.0051", "0.01"} == {cell.printed for cell in f.cells}]
    assert [(f.check, f.severity, f.verdict) for f in found] == [("XT-DUP", Severity.INFO, Verdict.PASS)]


def test_difference_and_its_likely_slip_are_spelled_out(report: Report) -> None:
    finding = next(f for f in report.findings if f.check == "DELTA")
    assert "85.92 − 83.38 = 2.54" in finding.message
    assert "85.82 − 83.38 = 2.44" in finding.explanations[0].arithmetic
    assert "so 85.92 in Table 3 is the likely slip" in finding.explanations[0].arithmetic


def test_warnings_are_single_runs_selection_consistency_and_settings(report: Report) -> None:
    warnings = [finding for finding in report.findings if finding.severity is Severity.WARNING]
    assert sorted(finding.check for finding in warnings) == ["CONSIST", "DB-TESTSEL", "HPARAM", "SINGLE"]
    single = next(finding for finding in warnings if finding.check == "SINGLE")
    assert single.message.startswith("106 of 106 numbers")


def test_the_two_perplexities_are_told_apart_by_their_split(claims):
    found = claims.find(task="wikitext2", initializer="causal_distance", metric="perplexity_validation")
    assert [claim.printed for claim in found] == ["166.76"]
