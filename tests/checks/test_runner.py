"""Selecting checks, acknowledging findings, summing up, and the formats reviewers and machines read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.errors import UsageError
from leaderboard.checks import render
from leaderboard.checks.finding import Severity, Verdict
from leaderboard.checks.registry import catalogue, find, select
from leaderboard.checks.runner import Report, check_claims, overrides_of
from leaderboard.claims.model import Claim, ClaimSet

SAME = {"task": "A", "metric": "accuracy", "method": "mine", "budget": "1 epoch", "unit": "percent"}


def pair(make: Callable[..., Claim], **left: Any) -> tuple[Claim, Claim]:
    return make("85.92", **SAME, **left), make("85.82", table="Table 2", **SAME)


def ack(printed: str, check: str = "XT-DUP") -> list[dict[str, str]]:
    return [{"check": check, "printed": printed, "reason": "typing error, erratum sent"}]


def fingerprint(make: Callable[..., Claim]) -> str:
    """Of the two unequal numbers of `pair`."""
    return check_claims([ClaimSet(id="t", claims=pair(make))], ["XT-DUP"]).findings[0].fingerprint


def test_acknowledged_finding_no_longer_counts(make: Callable[..., Claim], run: Callable[..., Report]) -> None:
    report = run("XT-DUP", *pair(make, ack=ack(fingerprint(make))))
    assert report.count(Severity.ERROR) == 0
    assert report.findings[0].acknowledged == "typing error, erratum sent"
    assert "kept because typing error" in render.text(report)


def test_acknowledgement_expires_when_the_number_changes(
    make: Callable[..., Claim], run: Callable[..., Report]
) -> None:
    report = run("XT-DUP", *pair(make, ack=ack("85.93")))
    assert report.count(Severity.ERROR) == 1
    assert "acknowledged as 85.93" in report.findings[0].note


def test_acknowledgement_expires_when_the_other_number_changes(
    make: Callable[..., Claim], run: Callable[..., Report]
) -> None:
    first, second = pair(make, ack=ack(fingerprint(make)))
    report = run("XT-DUP", first, second.model_copy(update={"printed": "85.81"}))
    assert report.count(Severity.ERROR) == 1
    assert "that has expired" in report.findings[0].note


def test_one_number_does_not_acknowledge_a_finding_about_two(
    make: Callable[..., Claim], run: Callable[..., Report]
) -> None:
    report = run("XT-DUP", *pair(make, ack=ack("85.92")))
    assert report.count(Severity.ERROR) == 1
    assert f"its fingerprint does: {fingerprint(make)}" in report.findings[0].note


def test_acknowledgement_expires_with_a_spread(make: Callable[..., Claim], run: Callable[..., Report]) -> None:
    def told(sd: str) -> str:
        spread = {"printed": sd, "kind": "sd"}
        return run("PREC", make("85.9", **SAME, n=5, spread=spread)).findings[0].fingerprint

    assert told("0.123") != told("0.124")


@pytest.mark.parametrize("level", ["cell", "file"])
@pytest.mark.parametrize(
    ("check", "says"), [("XT-DUP", "matches no finding"), ("NOPE", "no check called 'NOPE'"), ("DELTA", "")]
)
def test_acknowledgement_that_matches_nothing_is_told(
    make: Callable[..., Claim], level: str, check: str, says: str
) -> None:
    given: dict[str, Any] = {"ack": ack("12345678", check)}
    claim = make("85.92", **SAME, **(given if level == "cell" else {}))
    claims = ClaimSet.model_validate({"id": "t", "claims": [claim], **(given if level == "file" else {})})
    report = check_claims([claims], ["XT-DUP"])
    assert says in " ".join(report.unmatched)
    assert bool(report.unmatched) == bool(says), "nothing is said of checks that did not run"
    assert report.as_json()["unmatched_acknowledgements"] == report.unmatched
    assert all(f"Note: {told}" in render.text(report) for told in report.unmatched)


def test_acknowledgement_of_a_check_kept_from_some_numbers_is_not_called_unmatched(make: Callable[..., Claim]) -> None:
    claims = ClaimSet(id="t", claims=pair(make, ack=ack(fingerprint(make))))
    assert check_claims([claims], overrides=overrides_of({"XT-DUP": {"severity": "off"}})).unmatched == []


def test_findings_summed_up_are_acknowledged_and_expire_with_any_of_their_numbers(make: Callable[..., Claim]) -> None:
    def claims(last: str = "108.5", **more: Any) -> ClaimSet:
        printed = [*(f"{100 + i}.5" for i in range(8)), last]
        cells = [make(text, row=f"r{i}", **{**SAME, "method": f"m{i}"}) for i, text in enumerate(printed)]
        return ClaimSet.model_validate({"id": "t", "claims": cells, **more})

    given = ack(check_claims([claims()], ["DOMAIN"]).findings[0].fingerprint, "DOMAIN")
    assert check_claims([claims(ack=given)], ["DOMAIN"]).count(Severity.ERROR) == 0
    assert check_claims([claims("108.6", ack=given)], ["DOMAIN"]).count(Severity.ERROR) == 1


def test_acknowledgement_of_another_check_does_not_count(
    make: Callable[..., Claim], run: Callable[..., Report]
) -> None:
    assert run("XT-DUP", *pair(make, ack=ack("85.92", "DELTA"))).count(Severity.ERROR) == 1


def test_finding_about_many_cells_is_acknowledged_by_its_fingerprint(make: Callable[..., Claim]) -> None:
    claims = tuple(make(f"8{i}.0", task=f"T{i}", method="mine", metric="accuracy", n=5) for i in range(4))
    first = check_claims([ClaimSet(id="t", claims=claims)], ["MISS-SD"])
    assert first.count(Severity.WARNING) == 1
    kept = ClaimSet.model_validate({"id": "t", "claims": claims, "ack": ack(first.findings[0].fingerprint, "MISS-SD")})
    assert check_claims([kept], ["MISS-SD"]).count(Severity.WARNING) == 0


def test_findings_of_one_pattern_become_one_with_a_count(
    make: Callable[..., Claim], run: Callable[..., Report]
) -> None:
    claims = [make(f"{100 + i}.5", row=str(i), column="acc", **{**SAME, "method": f"m{i}"}) for i in range(9)]
    report = run("DOMAIN", *claims)
    assert [finding.count for finding in report.findings] == [9]
    assert "... 9 findings in all" in render.text(report)
    assert len(run("DOMAIN", *claims[:6]).findings) == 6


def test_empty_set_is_no_fault() -> None:
    report = check_claims([ClaimSet(id="empty")])
    assert report.findings == []
    assert report.numbers == 0
    assert "0 errors" in render.text(report)


def test_selection_keeps_the_order_of_the_catalogue() -> None:
    assert [check.id for check in select(["delta", "XT-DUP", "REL%"])] == ["XT-DUP", "DELTA", "REL"]
    assert "PREC" not in {check.id for check in select(without=["prec"])}


def test_check_both_wanted_and_not_is_told() -> None:
    with pytest.raises(UsageError, match="DELTA named by --only and by --except"):
        select(["delta", "REL"], ["DELTA"])


@pytest.mark.parametrize("pattern", ["mine", "A", "A × mine", "A × m*", "accuracy"])
def test_exception_may_name_the_pair_that_findings_print(make: Callable[..., Claim], pattern: str) -> None:
    claims = ClaimSet(id="t", claims=pair(make))
    wishes = overrides_of({"XT-DUP": {"except": [pattern]}})
    assert check_claims([claims], ["XT-DUP"], overrides=wishes).findings == []
    other = overrides_of({"XT-DUP": {"except": ["A × other"]}})
    assert len(check_claims([claims], ["XT-DUP"], overrides=other).findings) == 1


def test_unknown_check_is_told_with_a_near_one() -> None:
    with pytest.raises(UsageError, match="did you mean 'DELTA'"):
        find("DLETA")


def test_catalogue_numbers_are_unique() -> None:
    numbers = [check.number for check in catalogue()]
    assert len(set(numbers)) == len(numbers)


def test_json_report_holds_verdicts_power_and_arithmetic(
    make: Callable[..., Claim], run: Callable[..., Report]
) -> None:
    data = json.loads(json.dumps(run("XT-DUP", *pair(make)).as_json(), ensure_ascii=False))
    assert data["errors"] == 1
    assert data["checks"]["XT-DUP"]["verdict"] == Verdict.FAIL
    assert "95 %" in data["checks"]["XT-DUP"]["power"]
    assert "|85.92 − 85.82| = 0.10" in data["findings"][0]["arithmetic"]
    assert data["findings"][0]["acknowledge"].startswith(f"ack: [{{check: XT-DUP, printed: {fingerprint(make)}")


def test_github_annotation_escapes_what_a_command_reserves(make: Callable[..., Claim]) -> None:
    claims = ClaimSet(id="t", path="a,b:c.yaml", claims=pair(make))
    line = render.github(check_claims([claims], ["XT-DUP"])).splitlines()[0]
    assert line.startswith("::error file=a%2Cb%3Ac.yaml,title=XT-DUP::mine on A, accuracy: 85.92 in Table 1")
    assert "%0A" in line


def test_places_are_relative_to_the_working_folder(
    make: Callable[..., Claim], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def places(path: Path) -> tuple[str, str]:
        report = check_claims([ClaimSet(id="t", path=str(path), claims=pair(make))], ["XT-DUP"])
        location = render.sarif(report, "1.0")["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
        return location["artifactLocation"]["uri"], render.github(report).partition(",")[0]

    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    inside, outside = tmp_path / "work" / "my claims.yaml", tmp_path / "claims.yaml"
    assert places(inside) == ("my%20claims.yaml", "::error file=my claims.yaml")
    assert places(outside)[0] == outside.as_uri()
    shipped = render.SHIPPED / "claims" / "paper.yaml"
    assert places(shipped) == ("leaderboard/claims/paper.yaml", "::error file=leaderboard/claims/paper.yaml")


def test_sarif_has_a_rule_for_every_result(make: Callable[..., Claim]) -> None:
    claims = ClaimSet(id="t", path="claims.yaml", claims=pair(make, ack=ack(fingerprint(make))))
    log = render.sarif(check_claims([claims], ["XT-DUP", "DELTA"]), "1.0")
    run = log["runs"][0]
    result = run["results"][0]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "XT-DUP"
    assert result["level"] == "error"
    assert result["suppressions"][0]["justification"] == "typing error, erratum sent"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "claims.yaml"
