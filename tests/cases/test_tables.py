"""Small tables, each of a kind that is easily read or judged wrongly: what must be found in them, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaderboard.checks.finding import Severity
from leaderboard.checks.runner import check_claims
from leaderboard.claims import load

TABLES = Path(__file__).parent / "tables"

SILENT = (
    "D1", "D1b", "D2", "D3", "D4", "D5", "D6", "D7-first", "D7-second", "FA01", "FA02", "FA03", "FA04", "FA05", "FA06",
    "FA07", "FA08", "FA09", "FA12", "FA14", "FA15", "FA18", "RD02", "RD15", "RD17", "SLOW01", "T29", "T33",
)  # fmt: skip
"""Tables without a fault."""
FOUND = {
    "D9": ("90.1", "69.8", "94.9"), "D10": ("1.42",), "D11": ("1.102",), "M16": ("0.821", "93.1"), "M17": ("95.9",),
    "M20": ("75.8",), "M21": ("92.7",), "M26": ("92.5",), "M27": ("0.260",), "RD03": ("66.2",), "RD04": ("-30.0",),
    "RD05": ("14.3",), "RD06": ("4.7", "59.9"), "RD07": ("61.80",), "RD08": ("0.38",), "RD09": ("62.8",),
    "RD10": ("66.2",), "RD12": ("2.74",), "RD18": ("77.9",),
}  # fmt: skip
"""Tables with a fault: the numbers that a finding names, each in a finding of its own."""
OPEN: set[str] = set()
"""Tables that are not yet judged rightly."""
NUMBERS = {"RD02": 4, "RD15": 3, "D5": 6, "RD03": 50, "FA09": 8, "RD04": 9}
"""How many numbers are read."""
UNCOUNTED: set[str] = set()
"""Tables of which not yet every number is read."""


def path_of(name: str) -> Path:
    """The file of a case."""
    return next(path for path in sorted(TABLES.iterdir()) if path.stem == name or path.stem.startswith(f"{name}-"))


def cases(names, still_open):
    """The names as parameters; those still open must fail."""
    wrong = pytest.mark.xfail(strict=True, raises=AssertionError, reason="not yet judged rightly")
    return [pytest.param(name, marks=wrong) if name in still_open else name for name in names]


def findings(*names: str):
    """What is found of error and warning level in files checked together."""
    found = check_claims([load(path_of(name)) for name in names]).findings
    told = [finding for finding in found if finding.severity in (Severity.ERROR, Severity.WARNING)]
    return [finding for finding in told if finding.check != "MISS-SD" or "D1b" not in names]


@pytest.mark.parametrize("name", cases(SILENT, OPEN))
def test_a_table_without_a_fault_is_silent(name):
    assert [(finding.check, finding.message) for finding in findings(name)] == []


@pytest.mark.parametrize("name", cases(FOUND, OPEN))
def test_a_fault_is_found_and_nothing_else(name):
    found = findings(name)
    said = [f"{finding.message} {finding.arithmetic}".replace("−", "-") for finding in found]
    assert all(any(number in text for text in said) for number in FOUND[name]), said
    others = [text for text in said if not any(number in text for number in FOUND[name])]
    assert others == []


@pytest.mark.parametrize("name", cases(NUMBERS, UNCOUNTED))
def test_every_number_is_read(name):
    claims = load(path_of(name))
    assert (len(claims.claims), claims.unread) == (NUMBERS[name], ())


def test_two_files_together_contradict_each_other_with_the_transposition_named():
    found = findings("D7-first", "D7-second")
    assert [finding.check for finding in found] == ["XT-DUP"]
    explained = " ".join(str(explanation) for explanation in found[0].explanations if explanation.fits)
    assert "76.15" in found[0].message
    assert "76.51" in found[0].message
    assert "transpos" in explained or "swapped" in explained


def test_the_repair_of_a_copied_number_is_named():
    said = " ".join(" ".join(finding.nearest) + finding.message for finding in findings("RD18"))
    assert "61.3" in said


def test_a_sentence_that_compares_is_listed():
    assert any("not read" in note for note in load(path_of("RD01")).notes)


def test_every_table_of_the_folder_has_an_outcome():
    named = {*SILENT, *FOUND, "RD01"}
    assert [path.name for path in TABLES.iterdir() if path.suffix not in ("", ".md") or path.name != "README.md"
            if not any(path.stem == name or path.stem.startswith(f"{name}-") for name in named)] == []  # fmt: skip
