"""`bench show`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmark.cli.shell import main
from benchmark.records import CellRecord
from benchmark.store import Store

TOY = str(Path(__file__).parents[1] / "spec" / "toy_plugin.py")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "sized.yaml").write_text(
        "task: sized\ntitle: A size\nfamily: toy\nsource: a paper, Table 1\nparameters: {size: 8}\n"
        "profiles: {compact: {scale: 2}, paper: {scale: 3}}\n"
    )


def run(capsys, *args):
    with pytest.raises(SystemExit) as ended:
        main(["show", *args])
    captured = capsys.readouterr()
    return ended.value.code, captured.out, captured.err


def test_a_task_is_shown_with_file_parameters_metrics_and_documentation(capsys):
    code, out, _ = run(capsys, "sized", "--plugin", TOY)
    assert code == 0
    for part in (
        "task sized — A size", "tasks/sized.yaml", "a paper, Table 1", "A task that is never trained.", "accuracy",
        "profile compact", "  scale: 2.0", "profile paper", "  scale: 3.0", "  profiles: {compact: {scale: 2}, paper:",
    ):  # fmt: skip
        assert part in out


def test_json_holds_what_each_profile_resolves_to(capsys):
    _, out, _ = run(capsys, "sized", "--plugin", TOY, "--json")
    (found,) = json.loads(out)
    assert found["resolved"]["paper"]["parameters"]["scale"] == 3.0
    assert found["resolved"]["paper"]["primary"] == "accuracy"
    assert found["resolved"]["compact"]["geometry"]["tokens"] == 8


def test_an_initializer_s_overrides_are_shown_apart(capsys, tmp_path):
    (tmp_path / "initializers").mkdir()
    (tmp_path / "initializers" / "tuned.yaml").write_text(
        "initializer: tuned\nfamily: plain\noverrides: [{when: {task: [a, b]}, parameters: {gain: 5}}]\n"
    )
    _, out, _ = run(capsys, "tuned", "--plugin", TOY)
    assert "parameters, everywhere:\n  gain: 1.0" in out
    assert "parameters, task a, b:\n  gain: 5.0" in out


def test_an_experiment_is_shown_by_path_or_name(capsys, tmp_path):
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "e.yaml").write_text("experiment: e\ntasks: [sized]\ninitializers: [default]\n")
    assert run(capsys, "e")[1] == run(capsys, "specs/e.yaml")[1]
    assert "  tasks: [sized]" in run(capsys, "e")[1]


def test_a_stored_cell_is_shown_by_the_start_of_its_id(capsys):
    record = CellRecord("ab" * 32, "a1", "r1", "sized", "plain", 0, "compact", {"x": 1}, "finished", {"loss": 0.1})
    Store("results").write_shard([record])
    code, out, _ = run(capsys, "abababab")
    assert code == 0
    assert "cell " + "ab" * 32 in out
    assert "0.1" in out


def test_a_broken_family_is_shown_with_its_reason(capsys, tmp_path):
    (tmp_path / "bad.py").write_text("1 / 0\n@initializer('bad')\nclass Bad: ...\n")
    assert "ZeroDivisionError" in run(capsys, "bad", "--plugin", "bad.py")[1]


def test_an_unknown_name_suggests_a_near_one(capsys):
    code, _, err = run(capsys, "sizd")
    assert code == 2
    assert "did you mean 'sized'" in err


def test_a_file_with_problems_is_shown_with_them_and_ends_with_2(capsys, tmp_path):
    (tmp_path / "tasks" / "sized.yaml").write_text("task: sized\nfamily: toy\nparameters: {size: [8}\n")
    code, out, err = run(capsys, "sized", "--plugin", TOY)
    assert code == 2
    assert "tasks/sized.yaml:3:" in out + err


def test_a_forgotten_plugin_is_guessed(capsys, tmp_path):
    (tmp_path / "my own.py").write_text("@initializer('mine')\nclass Mine: ...\n")
    code, _, err = run(capsys, "mine")
    assert code == 2
    assert "'mine'; my own.py registers it: add --plugin 'my own.py'" in err


def test_a_file_is_shown_by_its_path_and_what_is_wrong_with_it(capsys, tmp_path):
    (tmp_path / "mine.yaml").write_text("experiment: other\ntasks: [sized]\ninitializers: [plain\n")
    code, out, err = run(capsys, "mine.yaml")
    assert code == 2
    assert "mine.yaml:4:1: not valid YAML" in out + err
    (tmp_path / "mine.yaml").write_text("experiment: other\ntitle: A grid\ntasks: [sized]\ninitializers: [plain]\n")
    code, out, _ = run(capsys, "mine.yaml")
    assert (code, out.splitlines()[0]) == (0, "experiment other — A grid")
