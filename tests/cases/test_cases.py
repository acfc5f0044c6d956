"""Every real case gives the verdict it is known to have, with the explanation that turned out right."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaderboard.checks.finding import Severity
from leaderboard.checks.runner import Report, check_claims
from leaderboard.claims import load
from leaderboard.claims.loader import Expectation, compose, read_claims_file

HERE = Path(__file__).parent
CASES = sorted([*HERE.glob("*.yaml"), *HERE.glob("timm/*.yaml")])


def name(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", CASES, ids=name)
def test_case_gives_its_known_verdicts(path: Path) -> None:
    expected = read_claims_file(compose(path)).expect
    assert expected, "a case needs an expected verdict"
    report = check_claims([load(path)])
    for expectation in expected:
        compare(report, expectation)


def compare(report: Report, expected: Expectation) -> None:
    found = [finding for finding in report.findings if finding.check == expected.check]
    told = "\n".join(f"{f.severity} {f.verdict} {f.message} | {f.arithmetic}" for f in found)
    assert report.verdict(expected.check) == expected.verdict, told
    if expected.severity is not None:
        worst = min(found, key=lambda finding: list(Severity).index(finding.severity))
        assert worst.severity == expected.severity, told
    if expected.count is not None:
        assert sum(finding.count for finding in found) == expected.count, told
    if expected.says is not None:
        assert any(expected.says in f"{f.message} {f.arithmetic} {f.nearest}" for f in found), told
    if expected.explanation is not None:
        fitting = [str(e) for finding in found for e in finding.explanations if e.fits]
        assert any(expected.explanation in text for text in fitting), fitting


def is_sound(path: Path) -> bool:
    return all(expected.verdict != "FAIL" for expected in read_claims_file(compose(path)).expect)


@pytest.mark.parametrize("path", [path for path in CASES if is_sound(path)], ids=name)
def test_sound_case_is_never_called_an_error(path: Path) -> None:
    assert check_claims([load(path)]).count(Severity.ERROR) == 0
