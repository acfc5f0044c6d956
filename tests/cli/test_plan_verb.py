"""`bench plan`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.cli.plan import blocks, duration
from benchmark.cli.shell import main
from benchmark.execution.records import record_of
from benchmark.plan import build_plan, load_experiment
from benchmark.records import CellRecord
from benchmark.store import Store

TOY = Path(__file__).parents[1] / "spec" / "toy_plugin.py"
OWN = """from benchmark.initializer import Initializer
from benchmark.registry import initializer


@initializer("own")
class Own(Initializer):
    def apply(self, model, context):
        pass

"""


@pytest.fixture(autouse=True)
def _project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.yaml").write_text(
        f"experiment: e\nplugins: {TOY}\ntasks: [toy, {{name: toy, as: small, parameters: {{size: 2}}}}]\n"
        "initializers: [plain, picky]\nseeds: 2\n"
    )


def run(capsys, *args):
    with pytest.raises(SystemExit) as ended:
        main(["plan", *args])
    captured = capsys.readouterr()
    return ended.value.code, captured.out, captured.err


def finish(count):
    cells = build_plan(load_experiment("e.yaml")).to_run()[:count]
    Store("results").write_shard([
        CellRecord(
            c.id, f"a{n}", "run-1", c.task_name, c.initializer_name, c.seed, c.profile, {}, "finished", seconds=90.0
        )
        for n, c in enumerate(cells)
    ])  # fmt: skip


def test_the_grid_the_reasons_and_the_closing_line(capsys):
    code, out, err = run(capsys, "e.yaml")
    assert (code, err) == (0, "")
    assert out == (
        "e, profile compact, seeds 0, 1\n\n"
        "initializer  toy    small\nplain        2 run  2 run\npicky        2 run  2 skip\n\n"
        "     6  new\n     2  needs at least 4 tokens\n\n"
        "6 cells to train; time unknown, nothing comparable has run yet.\n"
        "`bench plan e.yaml --cost` estimates operations, memory and hours.\n"
    )


@pytest.mark.parametrize("width", [60, 80])
def test_the_grid_is_cut_into_blocks_that_fit(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = run(capsys, "paper")
    grid = out.partition("\n\n   ")[0].splitlines()[2:]
    assert max(map(len, grid)) <= width
    headings = [line.split()[1:] for line in grid if line.startswith("initializer ")]
    assert len(headings) > 1
    loaded = load_experiment("paper")
    assert [name for block in headings for name in block] == [task.name for task in loaded.tasks]
    assert sum(line.startswith("mask ") for line in grid) == len(headings)


def test_a_column_too_wide_for_the_terminal_stands_alone(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    assert blocks([4, 4, 40, 4], first=10) == [[0, 1], [2], [3]]


def test_stored_cells_are_reused_and_give_the_estimate(capsys):
    finish(1)
    _, out, _ = run(capsys, "e.yaml")
    assert "1 reuse, 1 run" in out
    assert "5 cells to train; about 1 min 30 s of one worker for 1 of them, unknown for 4." in out


def test_reused_cells_of_a_plugin_file_that_has_changed_since_are_told(capsys, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "o.yaml").write_text(f"experiment: o\nplugins: [{TOY}, own.py]\ntasks: toy\ninitializers: own\n")
    plan = build_plan(load_experiment("o.yaml"))
    request = {"threads": 1, "device": "cpu", "purpose": "run", "run_id": "r", "attempt_id": "a"}
    Store("results").write_shard([record_of(cell, request, status="finished") for cell in plan.to_run()[:2]])
    assert "differs" not in run(capsys, "o.yaml")[2]
    (tmp_path / "own.py").write_text(OWN.replace("pass", "return"))
    told = run(capsys, "o.yaml")[2]
    assert "own.py differs from the file 2 reused cells were trained with; raise `version` in it or use --force" in told
    assert "differs" not in run(capsys, "o.yaml", "--force")[2]
    (tmp_path / "own.py").write_text(OWN.replace("pass", "return") + "    version = 2\n")
    assert "differs" not in run(capsys, "o.yaml")[2]


def test_reused_cells_made_from_other_data_than_is_here_are_told(capsys, monkeypatch):
    plan = build_plan(load_experiment("e.yaml"))
    request = {"threads": 1, "device": "cpu", "purpose": "run", "run_id": "r", "attempt_id": "a"}
    data = [{"far": "1" * 16}, {"far": "2" * 16, "near": "5" * 16}, {}]
    cells = zip(plan.to_run(), data, strict=False)
    Store("results").write_shard([record_of(cell, request, found, status="finished") for cell, found in cells])
    toy = type(plan.to_run()[0].task)
    assert "data set" not in run(capsys, "e.yaml")[2]
    monkeypatch.setattr(toy, "data_digests", lambda task: {"far": "1" * 16})
    assert run(capsys, "e.yaml")[2] == (
        "data set far here is not the one 1 reused cell was trained on (content 1111111111 here, 2222222222 there); "
        "put that one in place, or train all cells on this one, into another --store\n"
    )
    monkeypatch.setattr(toy, "data_digests", lambda task: {"far": "3" * 16})
    assert (
        "2 reused cells were trained on (content 3333333333 here, 1111111111, 2222222222 there)"
        in (run(capsys, "e.yaml")[2])
    )
    assert "data set" not in run(capsys, "e.yaml", "--force")[2]
    monkeypatch.setattr(toy, "data_digests", lambda task: 1 / 0)
    assert "data set" not in run(capsys, "e.yaml")[2]


def test_when_all_is_finished_there_is_nothing_to_do(capsys):
    finish(6)
    assert run(capsys, "e.yaml")[1].endswith("Nothing to do, 6 cells reused.\n")
    assert "6 cells to train" in run(capsys, "e.yaml", "--force")[1]


def test_every_cell_can_be_listed_and_filtered(capsys):
    _, out, _ = run(capsys, "e.yaml", "--cells", "--task", "small", "--seed", "1", "--init", "p*")
    assert [line.split()[:3] for line in out.splitlines()[3:5]] == [["small", "plain", "1"], ["small", "picky", "1"]]


def test_json_has_every_cell_with_id_and_reason(capsys):
    _, out, _ = run(capsys, "e.yaml", "--json")
    plan = json.loads(out)
    assert plan["counts"] == {"new": 6, "needs at least 4 tokens": 2}
    assert plan["estimate"] is None
    assert len(plan["cells"]) == 8
    assert len(plan["cells"][0]["cell_id"]) == 64


def test_a_broken_plugin_makes_the_plan_incomplete(capsys, tmp_path):
    (tmp_path / "bad.py").write_text("1 / 0\n@initializer('bad')\nclass Bad: ...\n")
    code, out, _ = run(capsys, "e.yaml", "--plugin", "bad.py")
    assert code == 3
    assert "ZeroDivisionError" in out
    assert "6 cells to train" in out


def test_an_invalid_spec_and_an_empty_selection_are_usage_errors(capsys, tmp_path):
    (tmp_path / "bad.yaml").write_text("experiment: bad\ntasks: []\ninitializers: default\n")
    code, _, err = run(capsys, "bad.yaml")
    assert code == 2
    assert "bad.yaml:2:8: 'tasks' should have at least 1 item" in err
    code, _, err = run(capsys, "e.yaml", "--task", "nope")
    assert code == 2
    assert "nothing selected: --task 'nope' matches nothing; known: toy, small" in err


LINEAR = """experiment: c
plugins: {plugin}
tasks: [toy_regression]
initializers: [toy_plain]
seeds: 2
tables: [{{title: t, claims_table: Table 9, tasks: toy_regression}}]
"""


@pytest.fixture
def costed(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_DATA", str(tmp_path / "no-data"))
    plugin = Path(__file__).parents[1] / "execution" / "toy.py"
    (tmp_path / "c.yaml").write_text(LINEAR.format(plugin=plugin))
    return tmp_path


def test_the_cost_is_given_by_task_and_by_table_with_what_it_assumes(capsys, costed):
    code, out, err = run(capsys, "c.yaml", "--gpu", "t4")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert ["toy_regression", "2", "5", "60", "128", "8.96", "k"] in [line[:7] for line in lines]
    assert "Cost on T4" in out
    assert ["Table", "9", "2", "17.9", "k"] in [line[:5] for line in lines]
    assert "T4: 8.1 TFLOP/s float32, 300 GB/s, 16 GB (NVIDIA T4 data sheet)" in out
    assert "10 µs an operation" in out
    assert "Missing data" not in out


def test_the_cost_as_json(capsys, costed):
    cost = json.loads(run(capsys, "c.yaml", "--cost", "--json")[1])["cost"]
    assert cost["device"] == "A100-40GB"
    assert cost["tasks"][0]["counted"]["flops_per_step"] == 128
    assert cost["tasks"][0]["rate"] == "estimated"
    assert cost["total"]["cells"] == 2
    assert cost["missing_data"] == {}


def test_missing_data_is_named_with_its_size_and_its_cells_are_costed(capsys, costed):
    (costed / "v.yaml").write_text("experiment: v\ntasks: cifar10\ninitializers: default\nseeds: 1\n")
    _, out, _ = run(capsys, "v.yaml", "--profile", "paper", "--cost")
    assert "0 cells to train" in out or "Nothing to do" in out
    assert "Missing data: cifar10 (144 MB)" in out
    assert "bench data fetch cifar10" in out
    assert "mixed precision: counted with the casts of torch's autocast" in out


def test_on_a_cpu_without_finished_cells_the_time_is_unknown(capsys, costed):
    _, out, _ = run(capsys, "c.yaml", "--gpu", "cpu")
    assert "worker-hours" in out
    assert "unknown" in out


def test_a_task_without_a_model_is_said_to_be_uncounted(capsys):
    code, out, _ = run(capsys, "e.yaml", "--cost")
    assert code == 0
    assert "toy: not counted: NotImplementedError" in out


def test_an_unknown_gpu_is_a_usage_error(capsys):
    code, _, err = run(capsys, "e.yaml", "--gpu", "H100X")
    assert code == 2
    assert "no GPU 'H100X'. Did you mean 'H100'?" in err


def test_when_all_is_finished_nothing_is_left_to_cost(capsys):
    finish(6)
    assert "Nothing is left to train." in run(capsys, "e.yaml", "--cost")[1]


def test_planning_a_boolean_task_does_not_import_torch(tmp_path):
    (tmp_path / "b.yaml").write_text("experiment: b\ntasks: 2parity\ninitializers: [default, mask]\nseeds: 5\n")
    code = (
        "import sys; from benchmark.cli import main\n"
        "try: main(['plan', 'b.yaml'])\n"
        "except SystemExit as end: print('CODE', end.code)\n"
        "print('HEAVY', {'torch', 'duckdb', 'polars'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert "CODE 0\nHEAVY set()\n" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("seconds", "text"), [(4.24, "4.2 s"), (200, "3 min 20 s"), (7530, "2 h 5 min"), (59.96, "1 min 0 s")]
)
def test_durations_are_given_in_two_units(seconds, text):
    assert duration(seconds) == text


def test_a_plan_says_with_which_parameters_its_cells_ran_before(capsys):
    request = {"threads": 1, "device": "cpu", "purpose": "run", "run_id": "r", "attempt_id": "a"}
    cells = build_plan(load_experiment("e.yaml")).to_run()
    Store("results").write_shard([record_of(cell, request, status="finished") for cell in cells])
    text = Path("e.yaml").read_text()
    Path("e.yaml").write_text(text.replace("[plain,", "[{name: plain, parameters: {gain: 2.0}},"))
    assert "     4  new; ran before with gain 1.0\n" in run(capsys, "e.yaml")[1]
    Path("e.yaml").write_text(text.replace("seeds: 2", "seeds: 3"))
    assert "     3  new\n" in run(capsys, "e.yaml")[1]
