"""683 rows of sound leaderboards: every pair is tested and passes, and a swapped pair is found in its row."""

from __future__ import annotations

import csv
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from leaderboard.checks.finding import Severity, Verdict
from leaderboard.checks.runner import Report, check_claims
from leaderboard.claims import load
from leaderboard.claims.model import ClaimSet

HERE = Path(__file__).parent
ROWS = {"squad": 451, "hotpotqa": 71, "cmrc": 54, "coqa": 43, "snli": 64}
HELD = {"squad": ("ORDER", 451), "hotpotqa": ("ORDER", 71 * 8), "cmrc": ("ORDER", 47 * 2), "coqa": ("AVG-RANGE", 43)}
"""File → the check that knows its relation, and how many instances of it the file has."""
SWAPS = [
    ("squad", "EM", "F1"),
    ("hotpotqa", "ANS-EM", "ANS-F1"),
    ("hotpotqa", "SUP-EM", "SUP-F1"),
    ("hotpotqa", "JOINT-EM", "JOINT-F1"),
    ("hotpotqa", "JOINT-F1", "ANS-F1"),
    ("hotpotqa", "JOINT-F1", "SUP-F1"),
    ("cmrc", "TEST-EM", "TEST-F1"),
    ("cmrc", "CHALLENGE-EM", "CHALLENGE-F1"),
    ("coqa", "IN-DOMAIN", "OVERALL"),
]


def claims(name: str) -> ClaimSet:
    return load(HERE / f"35-{name}.yaml")


def checked(claims: ClaimSet) -> Report:
    return check_claims([claims])


def texts(claims: ClaimSet) -> dict[tuple[str, str], str]:
    """Row and column → as printed."""
    return {(claim.where.row, claim.where.column): claim.printed for claim in claims.claims}


def printed_as(claims: ClaimSet, printed: dict[tuple[str, str], str]) -> ClaimSet:
    """The claims with other numbers in some cells."""
    changed = tuple(
        claim.model_copy(update={"printed": printed.get((claim.where.row, claim.where.column), claim.printed)})
        for claim in claims.claims
    )
    return claims.model_copy(update={"claims": changed})


def swapped(claims: ClaimSet, rows: list[str], a: str, b: str) -> ClaimSet:
    """The claims with the numbers of two columns exchanged in some rows."""
    cells = texts(claims)
    return printed_as(claims, {(row, x): cells[row, y] for row in rows for x, y in ((a, b), (b, a))})


def told_apart(claims: ClaimSet, a: str, b: str) -> list[str]:
    """Rows in which two columns differ by more than rounding."""
    cells = texts(claims)
    pairs = [(row, Decimal(text), Decimal(cells[row, b])) for (row, column), text in cells.items() if column == a]
    return [row for row, x, y in pairs if abs(x - y) > Decimal(1).scaleb(int(y.as_tuple().exponent))]


@pytest.mark.parametrize("name", ROWS)
def test_every_row_of_the_source_is_there(name: str) -> None:
    with (HERE / "sota-extractor" / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == ROWS[name]
    sizes = Counter(row.get("dataset") for row in rows)
    positions = [int(row["position"]) for row in rows]
    assert positions == [position for size in sizes.values() for position in range(1, size + 1)]
    assert len({claim.where.row for claim in claims(name).claims}) == ROWS[name]


@pytest.mark.parametrize("name", HELD)
def test_every_pair_is_tested_and_none_is_an_error(name: str) -> None:
    report = checked(claims(name))
    check, count = HELD[name]
    assert (report.verdict(check), report.tallies[check].passed) == (Verdict.PASS, count)
    assert report.count(Severity.ERROR) == 0
    assert not report.unreadable
    assert {finding.check for finding in report.findings} <= {"AVG"}


@pytest.mark.parametrize(("name", "a", "b"), SWAPS)
def test_one_swapped_pair_is_found_in_its_row(name: str, a: str, b: str) -> None:
    sound = claims(name)
    row = told_apart(sound, a, b)[35]
    report = checked(swapped(sound, [row], a, b))
    errors = [f for f in report.findings if f.severity is Severity.ERROR and f.check == HELD[name][0]]
    assert errors
    assert {cell.row for finding in errors for cell in finding.cells} == {row}


@pytest.mark.parametrize(("name", "a", "b"), SWAPS)
def test_columns_swapped_throughout_are_told_in_every_row(name: str, a: str, b: str) -> None:
    sound = claims(name)
    rows = told_apart(sound, a, b)
    report = checked(swapped(sound, rows, a, b))
    check = HELD[name][0]
    assert len(rows) > 40
    assert sum(f.count for f in report.findings if f.check == check and f.severity is Severity.ERROR) >= len(rows)


def test_training_accuracy_below_test_accuracy_is_information() -> None:
    report = checked(claims("snli"))
    assert {finding.severity for finding in report.findings} == {Severity.INFO}
    told = {tuple(cell.printed for cell in finding.cells) for finding in report.findings}
    assert told == {("50.4", "49.4"), ("83.4", "82.5")}
    assert report.tallies["ORDER"].passed == 63 - 2, "one row has no training accuracy"


def test_a_wrong_average_within_its_parts_stands_out_from_the_common_weights() -> None:
    sound = claims("coqa")
    first = sound.claims[0].where.row
    report = checked(printed_as(sound, {(first, "OVERALL"): "89.7"}))
    found = {finding.severity: finding for finding in report.findings}
    assert {severity: finding.count for severity, finding in found.items()} == {Severity.ERROR: 1, Severity.INFO: 1}
    assert found[Severity.ERROR].cells[0].printed == "89.7"
