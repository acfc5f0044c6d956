"""Answers in sentences: verdicts with intervals, what one seed would have told, and a page that the store gives."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmark.cli.shell import load_verb
from benchmark.store import Store
from leaderboard import findings
from leaderboard.aggregate import PlannedCell, SeedResult, TaskFacts, build_grid
from leaderboard.compare import Terms
from tests.leaderboard.conftest import ACCURACY

DOCS = Path(__file__).parents[2] / "docs"
ARMS = {
    "default": (75.0, 75.1, 74.9, 75.0),
    "good": (90.0, 91.0, 89.0, 90.5),
    "same": (75.0, 75.1, 74.9, 75.0),
    "wide": (60.0, 95.0, 70.0, 85.0),
    "never": (),
}


def reports(questions=None):
    cells = [PlannedCell("t", name, seed, f"{name}{seed}") for name in ARMS for seed in range(4)]
    stored = {
        f"{name}{seed}": SeedResult(seed, f"{name}{seed}", "finished", {"accuracy": value})
        for name, values in ARMS.items()
        for seed, value in enumerate(values)
    }
    facts = [TaskFacts("t", (ACCURACY,))]
    grid = build_grid(cells, stored, facts, experiment="e", profile="compact", questions=questions)
    return grid, findings.questions(grid, Terms(margin=1.0))


def test_each_verdict_is_a_sentence_with_its_interval_and_what_single_seeds_say():
    _, found = reports()
    told = {report.first: sentence for report in found for sentence in findings.answers(report)}
    assert "difference +15.1 [13.9, 16.4]: **better**" in told["good"]
    assert told["good"].endswith("this order on 4 of 4 seeds.")
    assert "**practically equal**; equal on 4 of 4 seeds." in told["same"]
    assert "**cannot be told apart**" in told["wide"]
    assert told["wide"].endswith("this order on 2, the other on 2 of 4 seeds.")
    assert "never" not in told


def test_a_task_in_short_names_whom_an_arm_is_better_than_equal_to_and_not_told_from():
    _, found = reports({"good": ("default", "same"), "same": ("default",)})
    assert findings.in_short(found) == [
        "* **t: `good` is better than `default`, `same`.**",
        "* **t: `same` is practically equal to `default`.**",
    ]


def test_many_arms_against_one_are_told_from_its_side():
    _, found = reports()
    (told,) = findings.in_short(found)
    assert told == "* **t: `default` is not to be told from `wide`; practically equal to `same`; worse than `good`.**"


def test_what_has_no_number_is_named():
    assert findings.unmeasured(reports()[0]) == "t (never)"


def bench(verb, *words):
    result = CliRunner().invoke(load_verb(verb), [*map(str, words)], catch_exceptions=False, standalone_mode=False)
    return result.return_value, result.output


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The kept export as a store."""
    store = tmp_path_factory.mktemp("kept")
    bench("import", DOCS / "measured" / "findings.parquet", "--store", store)
    return store


def test_the_page_is_what_its_command_gives_for_the_kept_export_and_an_edit_is_found(kept, tmp_path):
    page = (DOCS / "findings.md").read_text(encoding="utf-8")
    command = shlex.split(re.search(r"^    bench findings (.+)$", page, re.MULTILINE)[1])
    code, said = bench("findings", *command, "--store", kept, "--check", "--output", DOCS / "findings.md")
    assert code == 0, said
    edited = tmp_path / "findings.md"
    edited.write_text(page.replace("**cannot be told apart**", "**better**", 1), encoding="utf-8")
    assert bench("findings", *command, "--store", kept, "--check", "--output", edited)[0] == 4


def test_what_probes_recorded_is_compared_at_the_last_step(kept):
    query = (
        "select avg(value) from probes where probe = 'retention' and metric = 'retention' and layer is null "
        "and head is null and step = 300 and initializer = '{}'"
    )
    con = Store(kept).connect()
    means = [con.execute(query.format(f"{name}[contrast=2]")).fetchone()[0] for name in ("mask", "svd")]
    con.close()
    page = (DOCS / "findings.md").read_text(encoding="utf-8")
    (line,) = [
        line for line in page.splitlines() if "Retention at the end: `mask[contrast=2]`" in line and "svd" in line
    ]
    assert [float(number) for number in re.findall(r"` ([\d.]+) ±", line)] == [round(mean, 2) for mean in means]
