"""Ten thousand numbers of real result files: silent where they are sound, exact where they are not, and fast."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from leaderboard.checks.finding import Severity
from leaderboard.checks.runner import Report, check_claims
from leaderboard.claims import load

HERE = Path(__file__).parent / "timm"


@pytest.fixture(scope="module")
def timm() -> Report:
    return check_claims([load(HERE / "timm.yaml")])


@pytest.fixture(scope="module")
def imagenet_a() -> Report:
    return check_claims([load(HERE / "imagenet-a.yaml")])


def test_accuracies_and_errors_give_no_finding(timm: Report) -> None:
    about = {cell.column for finding in timm.findings for cell in finding.cells}
    assert about <= {"top5"}
    assert {finding.check for finding in timm.findings} == {"DELTA"}
    for id in ("GRIM-ACC", "COMPL", "ORDER", "DOMAIN"):
        assert timm.tallies[id].passed > 3000


def test_top5_differences_to_another_row_are_counted_in_each_file(timm: Report) -> None:
    errors = [finding for finding in timm.findings if finding.severity is Severity.ERROR]
    assert {(f.cells[0].table, f.count) for f in errors} == {
        ("results-imagenet-real", 197),
        ("results-sketch", 197),
    }
    rounding = [f for f in timm.findings if f.severity is Severity.INFO]
    assert len(rounding) == 2, "the 198th row of each file is off by two last digits only"
    assert all("same top1" in finding.message for finding in errors)


def test_broken_column_of_imagenet_a_is_found_with_its_pattern(imagenet_a: Report) -> None:
    assert len(imagenet_a.findings) == 1
    finding = imagenet_a.findings[0]
    assert (finding.check, finding.count) == ("DELTA", 860)
    assert "the difference is to another row with the same top1" in finding.message
    assert finding.cells[0].printed == "(-4.233)", "the difference at fault comes first"
    assert "95.667 − 99.820 = −4.153" in finding.arithmetic


def reconstruct() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reconstruct", HERE / "reconstruct.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["reconstruct"] = module
    spec.loader.exec_module(module)
    return module


def test_rebuilt_baseline_agrees_with_every_printed_rank_and_top1() -> None:
    module = reconstruct()
    puzzle = module.chosen()
    assert puzzle.consistent()
    assert puzzle.wrong() == 860
    rebuilt = puzzle.baseline()
    with (HERE / "results-imagenet-a-baseline.csv").open() as stream:
        shipped = [line.rstrip().split(",") for line in stream][1:]
    ordered = sorted(puzzle.moves, key=puzzle.place)
    assert [(puzzle.rows[i]["model"], f"{rebuilt[i] / 1000:.3f}") for i in ordered] == [(r[0], r[3]) for r in shipped]
