"""`bench readings`: rounds that train what they lack, the same answer again, and an interrupted search going on."""

from __future__ import annotations

import json

import pytest

CLAIMS = """
id: printed
title: Printed
source: a paper
shared: {n: 1}
tables:
  - table: Table 1
    columns: method
    rows: task
    shared: {direction: min, scope: {metric: loss}}
    header: [toy_plain]
    cells: {toy_regression: [0.05]}
"""
GRID = ", grid: {rate: {slow: {optimizer: {learning_rate: 1e-9}}, fast: {}}}"
SPEC = f"""
experiment: toy
seeds: 2
plugins: [toy.py]
claims: [claims.yaml]
tasks: [{{name: toy_regression{GRID}}}]
initializers: [toy_plain]
"""


@pytest.fixture
def search(project):
    (project.folder / "claims.yaml").write_text(CLAIMS)
    (project.folder / "toy.yaml").write_text(SPEC)

    def run(*words, code=0):
        return project.bench("readings", "toy.yaml", "--execution", "alone", "--workers", "1", *words, code=code)

    return run


def test_a_search_trains_halves_answers_and_goes_on_from_the_store(search, project):
    said = search("--first", "1")
    assert "Round 1 of 2: 2 readings × 1 seed" in said
    assert "Round 2 of 2: 1 reading × 2 seeds" in said
    assert len(project.statuses()) == 2
    assert "toy_plain × toy_regression" in said
    again = search("--first", "1")
    assert "0 cells to train" in again
    assert again[again.index("Readings, best first") :] == said[said.index("Readings, best first") :]


def test_a_dry_run_trains_nothing_and_says_that_numbers_lack(search, project):
    said = search("--dry-run", "--json", code=3)
    (answer, end) = map(json.loads, said.splitlines())
    assert answer["event"] == "answer"
    assert [reading["agrees"] for reading in answer["readings"]] == [0, 0]
    assert end["why"] == "some readings lack numbers"
    assert not project.statuses()


def test_a_spec_without_choices_is_refused(search, project):
    (project.folder / "toy.yaml").write_text(SPEC.replace(GRID, ""))
    assert "has no `grid:`" in search("--dry-run", code=2)
