"""Every check of published numbers finds a planted fault and passes its innocent twin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from leaderboard.checks.finding import Severity, Verdict
from leaderboard.checks.registry import catalogue
from leaderboard.checks.runner import Report, check_claims
from leaderboard.claims.model import Claim, ClaimSet

Row = dict[str, Any]
T = {"task": "A", "metric": "accuracy", "budget": "1 epoch", "unit": "percent", "direction": "max"}


def mine(printed: str, **fields: Any) -> Row:
    return {"printed": printed, "method": "mine", **T, **fields}


def base(printed: str, **fields: Any) -> Row:
    return {"printed": printed, "method": "base", **T, **fields}


def part(role: str, printed: str, group: str = "g", **fields: Any) -> Row:
    return {"printed": printed, "role": role, "group": group, "unit": "percent", "column": role, **fields}


@dataclass
class Plant:
    """A faulty set of claims and one that differs from it only in being right."""

    fault: list[Row]
    twin: list[Row]
    severity: Severity
    both: dict[str, Any] = field(default_factory=dict)
    fault_set: dict[str, Any] = field(default_factory=dict)
    twin_set: dict[str, Any] = field(default_factory=dict)


E, W, I = Severity.ERROR, Severity.WARNING, Severity.INFO  # noqa: E741
SAYS = {"text_claims": [{"text": "improves", "method": "mine", "baseline": "base"}]}
ALWAYS = {"text_claims": [{"text": "consistently", "kind": "consistent", "method": "mine", "baseline": "base"}]}
SETTINGS = (
    "model",
    "epochs",
    "batch size",
    "optimizer",
    "learning rate",
    "schedule",
    "weight decay",
    "seed",
    "selection",
)


def settings(*names: str) -> dict[str, Any]:
    return {"settings": [{"where": "Table 7", "stated": dict.fromkeys(names, "x")}]}


def sd(printed: str, kind: str = "sd") -> dict[str, str]:
    return {"printed": printed, "kind": kind}


PLANTS: dict[str, Plant] = {
    "XT-DUP": Plant([mine("85.92"), mine("85.82", table="T2")], [mine("85.92"), mine("85.9", table="T2")], E),
    "DELTA": Plant(
        [mine("85.92", delta={"printed": "+2.44", "baseline": "base"}), base("83.38")],
        [mine("85.92", delta={"printed": "+2.53", "baseline": "base"}), base("83.38")],
        E,
    ),
    "DB-NONFINITE": Plant([mine("nan")], [mine("12.3")], W),
    "DB-N": Plant([mine("80.1", n=3), base("79.0", n=5)], [mine("80.1", n=5), base("79.0", n=5)], W),
    "SINGLE": Plant([mine("80.1", n=1), base("79.0", n=1)], [mine("80.1", n=5), base("79.0", n=5)], W, SAYS),
    "NOISE": Plant(
        [mine("80.1", n=5, spread=sd("0.9")), base("79.9", n=5, spread=sd("0.8"))],
        [mine("85.1", n=5, spread=sd("0.9")), base("79.9", n=5, spread=sd("0.8"))],
        W,
        SAYS,
    ),
    "CONSIST": Plant(
        [mine("80.1", n=5, spread=sd("0.1")), base("81.0", n=5, spread=sd("0.1"))],
        [mine("82.1", n=5, spread=sd("0.1")), base("81.0", n=5, spread=sd("0.1"))],
        W,
        ALWAYS,
    ),
    "AVG-RANGE": Plant(
        [part("average", "8.4"), part("part", "12.9", task="a"), part("part", "14.7", task="b")],
        [part("average", "12.9"), part("part", "12.9", task="a"), part("part", "14.7", task="b")],
        E,
    ),
    "AVG": Plant(
        [part("average", "14.0"), part("part", "12.9", task="a"), part("part", "14.7", task="b")],
        [part("average", "13.8"), part("part", "12.9", task="a"), part("part", "14.7", task="b")],
        E,
    ),
    "BOLD": Plant(
        [mine("80.1", bold=True), base("81.0", bold=False)], [mine("81.1", bold=True), base("81.0", bold=False)], E
    ),
    "DIR": Plant([mine("80.1"), base("79.0", direction="min")], [mine("80.1"), base("79.0")], E),
    "DB-TESTSEL": Plant(
        [mine("80.1", split="test", aggregation="best epoch")],
        [mine("80.1", split="test", aggregation="last epoch")],
        W,
    ),
    "MISS-SD": Plant([mine("80.1", n=5)], [mine("80.1", n=5, spread=sd("0.3"))], W),
    "SD-KIND": Plant(
        [mine("2.0", n=3, values=["1.0", "2.0", "3.0"], spread=sd("0.8"))],
        [mine("2.0", n=3, values=["1.0", "2.0", "3.0"], spread=sd("1.0"))],
        W,
    ),
    "F-BOUND": Plant(
        [part("precision", "34.0"), part("recall", "12.5"), part("f1", "29.4")],
        [part("precision", "34.0"), part("recall", "12.5"), part("f1", "18.3")],
        E,
    ),
    "F-HARM": Plant(
        [part("precision", "85.5"), part("recall", "85.5"), part("f1", "71.0")],
        [part("precision", "85.5"), part("recall", "80.2"), part("f1", "82.8")],
        W,
    ),
    "REL": Plant(
        [mine("26.22", delta={"printed": "10.71", "baseline": "base", "relative": True}), base("23.41")],
        [mine("26.22", delta={"printed": "12.00", "baseline": "base", "relative": True}), base("23.41")],
        E,
    ),
    "ORDER": Plant([part("top1", "91.2"), part("top5", "90.9")], [part("top1", "90.9"), part("top5", "91.2")], E),
    "COMPL": Plant(
        [part("accuracy", "76.15"), part("error", "23.58")], [part("accuracy", "98.648"), part("error", "1.351")], E
    ),
    "GRIM-ACC": Plant([mine("87.45", items=1000, n=1)], [mine("87.40", items=1000, n=1)], W),
    "DEBIT-SE": Plant(
        [mine("88.93", items=1319, spread=sd("0.43", "se"))], [mine("88.93", items=1319, spread=sd("0.86", "se"))], W
    ),
    "PPL": Plant(
        [part("loss", "2.35", n=1, unit="nats"), part("perplexity", "12.48", n=1, unit="perplexity")],
        [part("loss", "2.35", n=1, unit="nats"), part("perplexity", "10.48", n=1, unit="perplexity")],
        W,
    ),
    "SD-MAX": Plant([mine("99.0", n=3, spread=sd("13.0"))], [mine("99.0", n=3, spread=sd("12.0"))], E),
    "SD-ZERO": Plant([mine("74.34", n=5, spread=sd("0.00"))], [mine("74.34", n=5, spread=sd("0.01"))], W),
    "DOMAIN": Plant([mine("103.2")], [mine("100.0")], E),
    "PREC": Plant([mine("74.34", spread=sd("0.3"))], [mine("74.3", spread=sd("0.3"))], I),
    "GRIMMER-SEED": Plant(
        [mine("50.0", items=10, n=2, spread=sd("5.0"))], [mine("50.0", items=10, n=2, spread=sd("14.1"))], W
    ),
    "ESTIM": Plant(
        [
            part("average", "60.0", spread=sd("0.46", "se")),
            part("part", "50.0", task="a", items=100, spread=sd("5.03", "se")),
            part("part", "70.0", task="b", items=10000, spread=sd("0.46", "se")),
        ],
        [
            part("average", "60.0", spread=sd("2.53", "se")),
            part("part", "50.0", task="a", items=100, spread=sd("5.03", "se")),
            part("part", "70.0", task="b", items=10000, spread=sd("0.46", "se")),
        ],
        W,
    ),
    "ARTEFACT": Plant(
        [mine("83.0", artefact="sha"), base("68.3", artefact="sha")],
        [mine("83.0", artefact="sha"), base("68.3", artefact="other")],
        W,
    ),
    "HPARAM": Plant([mine("1.0")], [mine("1.0")], W, {}, settings(*SETTINGS[:-1]), settings(*SETTINGS)),
}


def report(id: str, rows: list[Row], make: Callable[..., Claim], **fields: Any) -> Report:
    return check_claims([ClaimSet.model_validate({"id": "t", "claims": [make(**row) for row in rows], **fields})], [id])


CLAIM_CHECKS = [check.id for check in catalogue() if check.on_claims]


def test_every_check_of_published_numbers_has_a_plant() -> None:
    assert sorted(PLANTS) == sorted(CLAIM_CHECKS)


@pytest.mark.parametrize("id", PLANTS)
def test_planted_fault_is_found(id: str, make: Callable[..., Claim]) -> None:
    plant = PLANTS[id]
    found = report(id, plant.fault, make, **plant.both, **plant.fault_set)
    assert [finding.verdict for finding in found.findings] == [Verdict.FAIL]
    finding = found.findings[0]
    assert finding.severity is plant.severity
    assert finding.message
    assert finding.check == id
    assert finding.severity is not Severity.ERROR or finding.arithmetic


@pytest.mark.parametrize("id", PLANTS)
def test_innocent_twin_passes(id: str, make: Callable[..., Claim]) -> None:
    plant = PLANTS[id]
    found = report(id, plant.twin, make, **plant.both, **plant.twin_set)
    assert [finding.message for finding in found.findings if finding.severity is not Severity.INFO] == []
    if plant.severity is Severity.INFO:
        assert found.findings == []
    assert found.verdict(id) in {Verdict.PASS, Verdict.NOT_TESTABLE}


@pytest.mark.parametrize("id", PLANTS)
def test_innocent_twin_is_no_error_to_any_check(id: str, make: Callable[..., Claim]) -> None:
    plant = PLANTS[id]
    claims = [make(**row) for row in plant.twin]
    everything = check_claims([ClaimSet.model_validate({"id": "t", "claims": claims, **plant.both, **plant.twin_set})])
    assert [f.message for f in everything.findings if f.severity is Severity.ERROR] == []


@pytest.mark.parametrize("check", catalogue(), ids=lambda check: check.id)
def test_every_check_tells_its_formula_source_power_and_blind_spot(check: Any) -> None:
    for heading in ("Formula:", "Source:", "Power:", "Blind spot:"):
        assert heading in check.text, heading


def test_a_bold_cell_beside_the_bold_best_is_taken_for_one_not_told_apart(make: Callable[..., Claim]) -> None:
    rows = [base("80.1", bold=True), mine("81.0", bold=True), base("79.0", bold=False)]
    assert report("BOLD", rows, make).findings == []


@pytest.mark.parametrize(
    ("way", "told"),
    [
        ("max", "the metric's direction is the other way: the source says higher is better"),
        ("unknown", "the metric's direction is the other way: that higher is better is guessed from its name"),
    ],
)
def test_bold_tells_where_the_direction_comes_from(make: Callable[..., Claim], way: str, told: str) -> None:
    rows = [mine("80.1", bold=True, direction=way), base("81.0", bold=False, direction=way)]
    explanations = report("BOLD", rows, make).findings[0].explanations
    assert [e.fits for e in explanations if str(e) == told] == [way == "unknown"]
