"""`bench leaderboard`, `bench compare` and `bench report` as a user calls them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmark.cli.shell import main
from benchmark.identity import resolved_cell
from benchmark.plan import build_plan
from benchmark.records import CellRecord, CurvePoint
from benchmark.spec.load import load_experiment
from benchmark.store import RunRecord, Store, new_attempt_id

PLUGIN = """
from benchmark.initializer import Initializer
from benchmark.parameters import Metric
from benchmark.registry import initializer, task
from benchmark.task import Geometry, Task


@task("board-toy")
class Toy(Task):
    def metrics(self):
        return (
            Metric(name="accuracy", title="Accuracy", direction="max", unit="percent"),
            Metric(name="loss", title="Loss", direction="min"),
        )

    def geometry(self):
        return Geometry(layers=1, heads=1, tokens=2)

    def references(self):
        return {"chance": {"accuracy": 50.0}}

    def build_model(self): ...
    def training_examples(self, seed): ...
    def loss(self, outputs, targets): ...
    def evaluation_examples(self, seed, *, final): ...
    def observe(self, outputs, targets): ...
    def summarize(self, observed, examples, *, final): ...


@initializer("board-plain")
class Plain(Initializer):
    strength: float = 1.0

    def apply(self, model, context): ...
"""

SPEC = """
experiment: boards
title: Boards
seeds: 4
plugins: [plugin.py]
claims: [published.yaml]
tasks:
  - {name: board-toy, as: toy, parameters: {optimizer: {learning_rate: 0.1}, budget: {batch_size: 4, steps: 10}}}
initializers:
  - {name: board-plain, as: default}
  - {name: board-plain, as: mask, parameters: {strength: 2.0}}
"""

CLAIMS = """
id: published
source: arXiv:0000.00000
shared: {n: 1, unit: percent, direction: max}
claims:
  - {printed: 91.50, where: {table: Table 1}, scope: {task: Toy, method: Mask, metric: accuracy}}
aliases:
  tasks: {toy: Toy}
  initializers: {mask: Mask}
"""

VALUES = {"default": [80.0, 80.4, 79.9, 80.1], "mask": [91.0, 91.6, 91.1, 90.9]}


@pytest.fixture
def bench(tmp_path, monkeypatch, capsys):
    """Calls `bench` in a folder with a spec; gives exit code, standard output and standard error."""
    for name, text in (("plugin.py", PLUGIN), ("boards.yaml", SPEC), ("published.yaml", CLAIMS)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BENCH_STORE", raising=False)
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments):
        with pytest.raises(SystemExit) as end:
            main(list(map(str, arguments)))
        return end.value.code, *capsys.readouterr()

    return call


def fill(folder, values=VALUES, statuses=None, selection=None):
    """Store the values and a run of the experiment."""
    experiment, store = load_experiment("boards.yaml"), Store(folder)
    cells = {(line.initializer, line.seed): line.cell for line in build_plan(experiment).cells}
    records = [
        CellRecord(
            cell.id, new_attempt_id(), "run1", "toy", name, seed, cell.profile,
            resolved_cell(cell.task, cell.initializer, cell.profile, seed),
            (statuses or {}).get((name, seed), "finished"),
            {"accuracy": values[name][seed], "loss": 1.0},
            tuple(CurvePoint("accuracy", step, values[name][seed] * step / 10) for step in (0, 5, 10)),
            provenance={"initbench": "0.1.0", "packages": {"torch": "2.9"}}, device="cpu", execution="alone",
        )
        for (name, seed), cell in cells.items()
        if seed < len(values[name])
    ]  # fmt: skip
    store.write_shard(records)
    store.save_run(
        RunRecord(
            "run1", ("bench", "run", "boards.yaml"), "2026-01-01T00:00:00Z", experiment="boards", profile="compact",
            spec=experiment.experiment.model_dump(mode="json", by_alias=True), source=experiment.text,
            cell_ids=tuple(cell.id for cell in cells.values()), selection=selection or {},
        )
    )  # fmt: skip


def test_the_leaderboard_of_a_spec(bench):
    fill("results")
    code, out, err = bench("leaderboard", "boards.yaml", "--format", "markdown")
    assert (code, err) == (0, "")
    assert "| mask | **91.15 ± 0.31** (n=4; #1)<br>published 91.50 (Table 1) |" in out
    assert "| *chance* | 50.00 (computed) |" in out
    assert "Complete: 8 of 8 cells." in out


def test_without_a_spec_the_last_run_is_shown_alike(bench):
    fill("results")
    _, with_spec, _ = bench("leaderboard", "boards.yaml", "--format", "csv")
    code, without, _ = bench("leaderboard", "--format", "csv")
    assert code == 0
    assert without == with_spec


def test_the_last_run_shows_the_part_that_was_asked_for(bench):
    """With the spec named, the cells nobody asked for are missing."""
    part = {"tasks": [], "initializers": ["mask"], "seeds": [0, 1]}
    fill("results", {"default": [], "mask": VALUES["mask"][:2]}, selection=part)
    _, out, _ = bench("leaderboard")
    assert "Complete: 2 of 2 cells." in out
    assert "Part of the experiment (initialisers mask; seeds 0, 1)" in out
    assert "default" not in out
    assert "Complete: 2 of 2 cells." in bench("report", "--format", "markdown", "--output", "-")[1]
    assert "DB-N" not in bench("check")[1]
    _, out, _ = bench("leaderboard", "boards.yaml")
    assert "Incomplete: 2 of 8 cells; 6 missing." in out


def test_a_written_table_is_checked_on_its_own_part_whatever_ran_last(bench):
    fill("results")
    bench("leaderboard", "--output", "whole.md")
    fill("results", selection={"tasks": [], "initializers": ["mask"], "seeds": [0, 1]})
    bench("leaderboard", "--output", "part.md")
    assert bench("leaderboard", "--check", "whole.md")[0] == 0
    assert bench("leaderboard", "--check", "part.md")[0] == 0
    assert bench("leaderboard", "boards.yaml", "--check", "part.md")[0] == 0


def test_a_spec_that_changed_since_is_not_taken_for_the_one_that_ran(bench, tmp_path):
    fill("results")
    (tmp_path / "boards.yaml").write_text(SPEC.replace("seeds: 4", "seeds: 9"))
    code, out, _ = bench("leaderboard", "--plugin", "plugin.py", "--format", "markdown")
    assert code == 0
    assert "Complete: 8 of 8 cells." in out
    assert "### Boards (compact)" in out


def test_the_terminal_gets_text_without_styles_when_it_is_no_terminal(bench):
    fill("results")
    code, out, _ = bench("leaderboard", "boards.yaml")
    assert code == 0
    assert "\x1b" not in out
    assert "*91.15 ± 0.31" in out


def test_incomplete_is_said_and_fails_only_when_strict(bench):
    fill("results", {"default": [80.0, 81.0], "mask": VALUES["mask"]}, {("mask", 0): "diverged"})
    code, out, _ = bench("leaderboard", "boards.yaml")
    assert code == 0
    assert "Incomplete: 5 of 8 cells; 1 diverged, 2 missing." in " ".join(out.split())
    assert bench("leaderboard", "boards.yaml", "--strict")[0] == 3


def test_an_empty_store_and_no_spec_say_what_to_do(bench):
    code, _, err = bench("leaderboard")
    assert code == 2
    assert "run a spec first" in err


def test_json_is_one_document(bench):
    fill("results")
    code, out, _ = bench("leaderboard", "boards.yaml", "--json")
    entries = json.loads(out)["tables"][0]["rows"][1]["entries"]
    assert code == 0
    assert entries[0]["published"][0]["printed"] == "91.50"
    assert entries[0]["values"]["1"] == 91.6


def test_contradicting_formats_are_refused(bench):
    code, _, err = bench("leaderboard", "boards.yaml", "--json", "--format", "csv")
    assert code == 2
    assert "exclude each other" in err


@pytest.mark.parametrize("name", ["table.md", "table.tex", "table.csv", "table.json", "table.html"])
def test_a_written_table_is_held_to_the_store(bench, name):
    fill("results")
    assert bench("leaderboard", "boards.yaml", "--output", name, "--no-published")[0] == 0
    code, out, _ = bench("leaderboard", "boards.yaml", "--check", name)
    assert (code, out) == (0, f"{name} agrees with results.\n")
    fill("other", {"default": VALUES["default"], "mask": [91.0, 91.6, 91.1, 92.9]})
    code, out, _ = bench("leaderboard", "boards.yaml", "--check", name, "--store", "other")
    assert code == 4
    assert "toy / mask / accuracy: file 91.15" in out
    assert "toy / default" not in out


def test_a_table_of_another_profile_is_not_compared(bench, tmp_path):
    fill("results")
    bench("leaderboard", "boards.yaml", "--output", "table.md")
    text = (tmp_path / "table.md").read_text().replace('"profile": "compact"', '"profile": "paper"')
    (tmp_path / "table.md").write_text(text)
    code, _, err = bench("leaderboard", "boards.yaml", "--check", "table.md")
    assert code == 2
    assert "profile paper" in err


def test_the_leaderboard_does_not_import_torch(bench, tmp_path):
    fill("results")
    program = (
        "import sys\nfrom benchmark.cli.shell import group\n"
        "group(['leaderboard', 'boards.yaml', '--format', 'html'], standalone_mode=False)\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, cwd=tmp_path)


def test_compare_says_it_in_words_and_gates(bench):
    fill("results")
    code, out, _ = bench("compare", "mask", "default", "--spec", "boards.yaml")
    assert code == 0
    assert "better" in out
    assert out.rstrip().endswith("mask against default: of 1 comparison, 1 better.")
    assert bench("compare", "default", "mask", "--spec", "boards.yaml")[0] == 0
    assert bench("compare", "default", "mask", "--spec", "boards.yaml", "--gate")[0] == 4
    assert bench("compare", "mask", "default", "--spec", "boards.yaml", "--gate")[0] == 0


def test_compare_as_json_and_markdown(bench):
    fill("results")
    _, out, _ = bench("compare", "mask", "default", "--spec", "boards.yaml", "--json", "--metric", "*")
    assert [line["verdict"] for line in json.loads(out)["lines"]] == ["better", "practically equal"]
    _, out, _ = bench("compare", "mask", "default", "--spec", "boards.yaml", "--markdown")
    assert out.startswith("| task | metric | mask | default |")


def test_compare_needs_two_names_or_two_stores(bench):
    fill("results")
    code, _, err = bench("compare", "mask", "--spec", "boards.yaml")
    assert (code, "name two initialisers" in err) == (2, True)
    code, _, err = bench("compare", "msak", "default", "--spec", "boards.yaml")
    assert (code, "did you mean 'mask'" in err) == (2, True)


def test_two_stores_are_compared_cell_by_cell(bench):
    fill("results")
    fill("other", {"default": VALUES["default"], "mask": [93.0, 93.6, 93.3, 93.9]})
    code, out, _ = bench("compare", "--other-store", "other", "--spec", "boards.yaml", "--gate", "--json")
    found = {line["initializer"]: line["verdict"] for line in json.loads(out)["lines"]}
    assert code == 4
    assert found == {"default": "practically equal", "mask": "worse"}


def test_the_report_is_one_file_with_everything(bench, tmp_path):
    fill("results")
    code, out, err = bench("report", "boards.yaml")
    page = (tmp_path / "report.html").read_text()
    assert (code, out, err) == (0, "", "wrote report.html\n")
    for part in ("<svg", "Questions", "1 better", "Findings", "torch 2.9", "experiment: boards"):
        assert part in page, part
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page


def test_the_report_says_readings_and_false_discoveries(bench, tmp_path):
    fill("results")
    spec = tmp_path / "boards.yaml"
    spec.write_text(spec.read_text() + "readings: {mask above default: the pattern matters}\n")
    code, out, _ = bench("report", "boards.yaml", "--fdr", "--format", "markdown", "-o", "-")
    assert code == 0
    assert "## Readings, written before\n\n- mask above default: the pattern matters" in out
    assert "q: false-discovery rate over all tests" in out
    assert "(q " in out


def test_the_report_as_markdown(bench):
    fill("results", {"default": VALUES["default"], "mask": [91.0]}, {("mask", 0): "failed"})
    code, out, _ = bench("report", "boards.yaml", "--format", "markdown", "--output", "-")
    assert code == 0
    assert "## Failed and diverged cells\n\n- toy × mask, seed 0: failed" in out


def test_help_needs_nothing_heavy():
    program = (
        "import sys\nfrom benchmark.cli.shell import load_verb\n"
        "for name in ('leaderboard', 'compare', 'report'):\n    load_verb(name)\n"
        "assert not {'torch', 'duckdb', 'polars', 'scipy', 'numpy', 'rich'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
