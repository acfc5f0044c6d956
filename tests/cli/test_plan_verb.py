"""`bench plan`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.cli.plan import duration
from benchmark.cli.shell import main
from benchmark.plan import build_plan, load_experiment
from benchmark.records import CellRecord
from benchmark.store import Store

TOY = Path(__file__).parents[1] / "spec" / "toy_plugin.py"


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
    )


def test_stored_cells_are_reused_and_give_the_estimate(capsys):
    finish(1)
    _, out, _ = run(capsys, "e.yaml")
    assert "1 reuse, 1 run" in out
    assert "5 cells to train; about 1 min 30 s of one worker for 1 of them, unknown for 4." in out


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
    assert "nothing selected by nope; tasks: toy, small" in err


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
