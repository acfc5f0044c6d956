"""Six hundred accuracies printed in two places: silent where both agree, both places told when one digit is changed."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from leaderboard.checks.finding import Finding, Severity
from leaderboard.checks.runner import Report, check_claims
from leaderboard.claims import load
from leaderboard.claims.model import Claim, ClaimSet

HERE = Path(__file__).parent
DATA = HERE / "mmpretrain"


@pytest.fixture(scope="module")
def claims() -> ClaimSet:
    return load(HERE / "34-mmpretrain.yaml")


@pytest.fixture(scope="module")
def report(claims: ClaimSet) -> Report:
    return check_claims([claims])


def rows_of(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_both_files_hold_the_same_rows() -> None:
    files = rows_of("readme.csv"), rows_of("metafile.csv")
    readme, metafile = ([(row["family"], row["dataset"], row["row"]) for row in rows] for rows in files)
    assert len(readme) == len(set(readme)) == 301
    assert sorted(readme) == sorted(metafile)


def test_every_accuracy_is_compared_and_none_is_called_wrong(report: Report) -> None:
    assert report.findings == []
    assert report.unreadable == []
    tally = report.tallies["XT-DUP"]
    assert (tally.passed, tally.untestable, report.verdict("XT-DUP")) == (593, {}, "PASS")


def test_each_data_set_is_a_task_of_its_own(claims: ClaimSet) -> None:
    tasks = {claim.scope.task for claim in claims.claims}
    assert tasks == {"ImageNet-1k", "CIFAR-10", "CIFAR-100", "CUB-200-2011"}


def planted(claims: ClaimSet, index: int, printed: str) -> list[Finding]:
    """What is said when one number is printed as another."""
    edited = list(claims.claims)
    edited[index] = edited[index].model_copy(update={"printed": printed})
    return check_claims([claims.model_copy(update={"claims": tuple(edited)})], only=["XT-DUP"]).findings


def edited(claim: Claim, position: int) -> str:
    """The number with one digit moved by three."""
    text = claim.printed
    return text[:position] + str((int(text[position]) + 3) % 10) + text[position + 1 :]


@pytest.mark.parametrize("position", [0, 1, 3, 4])
@pytest.mark.parametrize("table", ["README", "metafile"])
def test_an_edited_digit_is_told_with_both_places(claims: ClaimSet, table: str, position: int) -> None:
    places = [i for i, c in enumerate(claims.claims) if c.where.table == table and len(c.printed) == 5]
    for index in places[:: len(places) // 5]:
        claim = claims.claims[index]
        wrong = edited(claim, position)
        (finding,) = planted(claims, index, wrong)
        other = {"README": "metafile", "metafile": "README"}[table]
        assert finding.severity is Severity.ERROR
        assert {(cell.table, cell.row, cell.column) for cell in finding.cells} == {
            (name, claim.where.row, claim.where.column) for name in (table, other)
        }
        assert {cell.table: cell.printed for cell in finding.cells}[table] == wrong
        assert any("one digit" in str(e) for e in finding.explanations if e.fits), finding.explanations


def test_a_last_digit_off_by_one_is_the_known_blind_spot(claims: ClaimSet) -> None:
    index = next(i for i, claim in enumerate(claims.claims) if claim.printed == "76.74")
    assert planted(claims, index, "76.73") == []
    assert len(planted(claims, index, "76.72")) == 1


METAFILE = """
Models:
  - {Name: a, Config: configs/f/one.py, Metadata: {Parameters: 5288548, FLOPs: 420592480},
     Results: [{Dataset: S, Metrics: {Top 1 Accuracy: 76.70, Top 5 Accuracy: 93.1}}]}
  - {Name: b, Config: configs/f/one.py, Metadata: {Parameters: 21800000},
     Results: [{Dataset: T, Metrics: {Top 1 Accuracy: 80}}]}
  - {Name: c, Config: configs/f/two.py, Metadata: {}, Results: null}
  - {Name: d, Config: configs/f/two.py, Metadata: {},
     Results: [{Dataset: S, Metrics: {Top 1 Accuracy: 9.50}}, {Dataset: S, Metrics: {mAP: 1}}]}
"""


def extract() -> ModuleType:
    spec = importlib.util.spec_from_file_location("extract", DATA / "extract.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_metafile_is_read_as_printed(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "metafile.yml").write_text(METAFILE)
    module = extract()
    found = module.named(list(module.rows(tmp_path / "f" / "metafile.yml")))
    assert [tuple(row.values()) for row in found] == [
        ("f", "S", "one @ a", "a", "76.70", "93.1", "5.288548", "0.420592480"),
        ("f", "T", "one @ b", "b", "80", "", "21.800000", ""),
        ("f", "S", "two", "d", "9.50", "", "", ""),
    ]


def test_families_are_those_of_the_readme() -> None:
    assert extract().families()[:2] == ["efficientnet", "convnext"]
