"""Every check of a store finds a planted fault, and passes a store that differs from it only in being right."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from leaderboard.api import render_leaderboard
from leaderboard.checks.api import check_store
from leaderboard.checks.finding import Severity, Verdict
from leaderboard.checks.registry import catalogue
from leaderboard.checks.runner import Report

E, W, I = Severity.ERROR, Severity.WARNING, Severity.INFO  # noqa: E741
World = Any
Build = Callable[[World], Any]

CATALOGUE = (
    "XT-DUP", "DELTA", "DB-NONFINITE", "DB-N", "SINGLE", "NOISE", "CONSIST", "AVG-RANGE", "AVG", "DB-MIXENV",
    "DB-DUPSEED", "DB-NONDET", "DB-SPECDRIFT", "BOLD", "DIR", "DB-TESTSEL", "DB-INCOMPLETE", "DB-BUDGET", "MISS-SD",
    "SD-KIND", "F-BOUND", "F-HARM", "REL", "ORDER", "COMPL", "GRIM-ACC", "DEBIT-SE", "PPL", "SD-MAX", "SD-ZERO",
    "DOMAIN", "PREC", "GRIMMER-SEED", "ESTIM", "ARTEFACT", "HPARAM", "STALE", "OUTLIER",
)  # fmt: skip
"""All of them, in the order of the catalogue."""


@dataclass
class Plant:
    """How to build the faulty store and its innocent twin, and what the finding must say."""

    fault: Build
    twin: Build
    severity: Severity
    says: str
    exported: bool = False


def spec_then_fill(change: dict[Any, Any] | None = None, leave_out: Any = (), **spec: Any) -> Build:
    def build(world: World) -> None:
        world.spec(**spec)
        world.fill(change, leave_out=leave_out)

    return build


def torch(version: str) -> dict[str, Any]:
    return {
        "initbench": "0.1.0", "python": "3.11.7", "machine": "x86_64", "cpu": "one", "gpus": [], "threads": 1,
        "code": {"commit": "a" * 40, "dirty": False}, "packages": {"torch": version, "numpy": "2.0.0"},
    }  # fmt: skip


def attempts(**second: Any) -> Build:
    def build(world: World) -> None:
        world.fill()
        world.again(("mask", 1), **second)

    return build


def drifted(strength: float) -> Build:
    """The experiment was changed and run again."""

    def build(world: World) -> None:
        world.spec(strength=strength)
        world.fill()
        world.spec(strength=2.0)
        world.fill()

    return build


def measured(printed: str) -> Build:
    """Five seeds at the published scale beside a published number."""

    def build(world: World) -> None:
        text = (
            "id: paper\ntables:\n  - table: Table 1\n    columns: task\n"
            "    shared: {unit: percent, direction: max, n: 1, scope: {metric: accuracy}}\n"
            f"    header: [toy]\n    cells: {{mask: [{printed}]}}\n"
        )
        (world.folder / "paper.yaml").write_text(text)
        world.spec(profile="paper", claims="paper.yaml")
        world.fill()

    return build


def exported(and_then_more: bool) -> Build:
    """A table was exported before the last seed was trained, or after."""

    def build(world: World) -> None:
        world.fill(leave_out=[("mask", 4)] if and_then_more else [])
        text = render_leaderboard(world.store, world.loaded, "markdown")
        (world.folder / "table.md").write_text(text)
        if and_then_more:
            world.again(("mask", 4))

    return build


def accuracies(name: str, *values: float) -> dict[Any, Any]:
    return {(name, seed): {"finals": {"accuracy": value}} for seed, value in enumerate(values)}


COPY = {"accuracy": 91.25, "loss": 0.4712837491, "perplexity": math.exp(0.4712837491), "slope": 0.1234567}
SATURATED = {"accuracy": 100.0, "loss": 0.0, "perplexity": 1.0, "slope": 0.25}
NAN = {"accuracy": math.nan, "loss": math.nan}

PLANTS: dict[str, Plant] = {
    "DB-NONFINITE": Plant(
        spec_then_fill({("mask", s): {"status": "diverged", "finals": NAN} for s in (1, 3)}),
        spec_then_fill({("mask", 1): {"finals": {"slope": math.nan}}}),
        E,
        "2 of 5 seeds diverged; any mean of accuracy is over 3",
    ),
    "DB-N": Plant(
        spec_then_fill({("mask", s): {"status": "failed", "finals": {}, "error": "boom"} for s in (3, 4)}),
        spec_then_fill(),
        E,
        "2 failed of 10 planned cells; rows stand on unequal n",
    ),
    "DB-DUPSEED": Plant(
        spec_then_fill({("mask", s): {"finals": COPY} for s in (0, 2)}),
        spec_then_fill({("mask", s): {"finals": SATURATED} for s in range(5)}),
        E,
        "seeds 0, 2 agree to the last bit in all 4 metrics",
    ),
    "SINGLE": Plant(spec_then_fill(seeds=1), spec_then_fill(seeds=3), W, "2 rows stand on one seed each"),
    "DOMAIN": Plant(
        spec_then_fill({("mask", 0): {"finals": {"accuracy": 100.5}}}),
        spec_then_fill({("mask", 0): {"finals": {"accuracy": 100.00000001}}}),
        E,
        "accuracy = 100.5 lies outside [0, 100]",
    ),
    "PPL": Plant(
        spec_then_fill({("mask", 0): {"finals": {"perplexity": 1.9}}}), spec_then_fill(), W, "perplexity 1.9, e^loss"
    ),
    "SD-ZERO": Plant(
        spec_then_fill({("mask", s): {"finals": {"loss": 0.4712837491}} for s in range(5)}),
        spec_then_fill({("mask", s): {"finals": {"accuracy": 87.5}} for s in range(5)}),
        W,
        "loss is 0.4712837491 on all 5 seeds",
    ),
    "OUTLIER": Plant(
        spec_then_fill(accuracies("mask", 90.1, 90.2, 90.3, 90.4, 70.0) | accuracies("default", 1, 2, 3, 4, 5)),
        spec_then_fill(accuracies("mask", 90.1, 90.2, 90.3, 90.4, 90.5) | accuracies("default", 1, 2, 3, 4, 5)),
        I,
        "seed 4 (70) lies far from the other seeds in accuracy; by chance about 0 of 2 rows would",
    ),
    "DB-MIXENV": Plant(
        spec_then_fill({("mask", 4): {"provenance": torch("2.6.0")}}),
        spec_then_fill({("mask", s): {"provenance": torch("2.6.0")} for s in range(5)}),
        W,
        "torch mixed inside 1 mean: torch 2.4.0 (4 cells) and 2.6.0 (1 cells)",
    ),
    "DB-NONDET": Plant(
        attempts(finals={"loss": 0.5123}), attempts(), W, "toy × mask, seed 1: 2 attempts at one cell, loss differs"
    ),
    "DB-SPECDRIFT": Plant(
        drifted(3.0), drifted(2.0), W, "'mask' on toy has 2 specs in this store: strength 3.0 (5 cells) and 2.0 (5"
    ),
    "DB-INCOMPLETE": Plant(
        spec_then_fill({("mask", 2): {"steps_done": 6}}),
        spec_then_fill(),
        W,
        "1 of 5 finished seeds were cut short",
    ),
    "DB-BUDGET": Plant(
        spec_then_fill({("mask", s): {"parameters": 1060} for s in range(5)}),
        spec_then_fill({("mask", s): {"parameters": 1050} for s in range(5)}),
        W,
        "parameters from 1000 to 1060",
    ),
    "DB-TESTSEL": Plant(
        spec_then_fill(tasks=["chosen"]), spec_then_fill(tasks=["held_out"]), E, "declared as the best over training"
    ),
    "DIR": Plant(
        spec_then_fill(tasks=["toy", "upside_down"]), spec_then_fill(tasks=["toy"]), E, "'accuracy' has two directions"
    ),
    "NOISE": Plant(
        spec_then_fill(
            accuracies("mask", 80.1, 79.2, 81.3, 80.4, 79.5) | accuracies("default", 79.9, 80.4, 80.1, 79.6, 80.2)
        ),
        spec_then_fill(),
        I,
        "mask is not shown to be better than default",
    ),
    "XT-DUP": Plant(measured("75.0"), measured("91.0"), W, "75.0 in paper, Table 1"),
    "STALE": Plant(exported(True), exported(False), E, "is not what the store says now", exported=True),
}  # fmt: skip


def checked(world: World, plant: Plant, only: list[str]) -> Report:
    files = [world.folder / "table.md"] if plant.exported else []
    return check_store(world.store, world.loaded, exported=files, only=only)


def test_catalogue_is_complete() -> None:
    checks = catalogue()
    assert tuple(check.id for check in checks) == CATALOGUE
    assert [check.number for check in checks] == list(range(1, 39))
    for check in checks:
        assert check.on_claims or check.on_store, check.id


def test_every_check_of_a_store_has_a_plant() -> None:
    assert sorted(PLANTS) == sorted(check.id for check in catalogue() if check.on_store)


@pytest.mark.parametrize("check", [check for check in catalogue() if check.on_store], ids=lambda check: check.id)
def test_every_check_of_a_store_tells_formula_source_power_and_blind_spot(check: Any) -> None:
    text = check.text.rpartition("On a store. ")[2]
    for heading in ("Formula:", "Source:", "Power:", "Blind spot:"):
        assert heading in text, heading


@pytest.mark.parametrize("id", PLANTS)
def test_fault_planted_in_a_store_is_found(id: str, world: World) -> None:
    plant = PLANTS[id]
    plant.fault(world)
    report = checked(world, plant, [id])
    assert [finding.verdict for finding in report.findings] == [Verdict.FAIL]
    finding = report.findings[0]
    assert finding.severity is plant.severity
    assert finding.check == id
    assert plant.says in finding.message
    assert finding.arithmetic
    assert finding.cells


@pytest.mark.parametrize("id", PLANTS)
def test_innocent_twin_store_passes(id: str, world: World) -> None:
    plant = PLANTS[id]
    plant.twin(world)
    report = checked(world, plant, [id])
    assert [finding.message for finding in report.findings] == []
    assert report.tallies[id].passed > 0


@pytest.mark.parametrize("id", PLANTS)
def test_innocent_twin_store_is_no_error_to_any_check(id: str, world: World) -> None:
    plant = PLANTS[id]
    plant.twin(world)
    report = checked(world, plant, [])
    assert [finding.message for finding in report.findings if finding.severity is Severity.ERROR] == []
