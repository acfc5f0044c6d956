"""Each malformed spec is told with the right file, line and column: the texts beside the files were checked by hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmark.spec.marks import describe
from benchmark.spec.validate import validate_file

HERE = Path(__file__).parent
CASES = sorted(path.name for path in (HERE / "malformed").glob("*.yaml"))
KNOWN = {"claims": lambda: ["paper"], "checks": lambda: ["NMULT"]}


@pytest.mark.parametrize("name", CASES)
def test_problems_are_told_at_their_places(name, monkeypatch):
    monkeypatch.chdir(HERE / "malformed")
    problems = validate_file(Path(name), plugins=[HERE / "toy_plugin.py"], known=KNOWN)
    told = describe(problems) + "\n"
    expected = Path(name).with_suffix(".expected")
    if "BENCH_WRITE_EXPECTED" in os.environ:
        expected.write_text(told, encoding="utf-8")
    assert told == expected.read_text(encoding="utf-8")


def test_every_file_has_problems_and_every_text_a_file():
    told = {path.stem for path in (HERE / "malformed").glob("*.expected")}
    assert told == {Path(name).stem for name in CASES}
    assert len(told) >= 12
