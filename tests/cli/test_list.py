"""`bench list`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmark.cli.shell import main

TOY = str(Path(__file__).parents[1] / "spec" / "toy_plugin.py")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(capsys, *args):
    with pytest.raises(SystemExit) as ended:
        main(list(args))
    captured = capsys.readouterr()
    return ended.value.code, captured.out, captured.err


def test_built_ins_and_plugins_are_listed_with_family_and_origin(capsys):
    code, out, _ = run(capsys, "list", "initializers", "--plugin", TOY)
    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines() if line}
    assert "toy_plugin.py" in lines["plain"]
    assert "initializers" in lines["default"]


def test_json_has_the_same_lines(capsys):
    _, out, _ = run(capsys, "list", "tasks", "--plugin", TOY, "--json")
    toy = next(line for line in json.loads(out) if line["name"] == "toy")
    assert toy["family"] == "toy"
    assert toy["problem"] is None


def test_everything_is_listed_without_a_kind(capsys):
    _, out, _ = run(capsys, "list", "--json")
    assert set(json.loads(out)) == {"tasks", "initializers", "probes", "specs", "claims"}


def test_claims_are_listed_by_name(capsys):
    assert "arxiv-2608.00418" in run(capsys, "list", "claims")[1]


def test_what_cannot_be_used_is_listed_with_the_reason(capsys, tmp_path):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "orphan.yaml").write_text("task: orphan\nfamily: nowhere\n")
    (tmp_path / "tasks" / "torn.yaml").write_text("task: torn\nfamily: [\n")
    (tmp_path / "bad.py").write_text("import nothing_of_the_kind\n@task('bad')\nclass Bad: ...\n")
    code, out, _ = run(capsys, "list", "tasks", "--plugin", "bad.py")
    assert code == 0
    assert "! orphan: no task family 'nowhere'" in out
    assert "! torn: tasks/torn.yaml:" in out
    assert "! bad: ModuleNotFoundError: No module named 'nothing_of_the_kind'" in out


def test_plugins_are_loaded_to_find_out_whether_they_work(capsys, tmp_path):
    (tmp_path / "bad.py").write_text("1 / 0\n@task('bad')\nclass Bad: ...\n")
    _, out, _ = run(capsys, "list", "plugins", "--plugin", "bad.py", "--json")
    lines = {line["name"]: line for line in json.loads(out)}
    assert "Traceback" in lines["bad"]["traceback"]
    assert lines["default"]["problem"] is None


def test_a_plugin_file_of_which_no_name_can_be_read_is_listed_itself_and_warned_of(capsys, tmp_path):
    (tmp_path / "dead.py").write_text("raise RuntimeError('no licence')\n")
    _, out, err = run(capsys, "list", "plugins", "--plugin", "dead.py")
    assert "! dead.py: RuntimeError: no licence" in out
    for verb in (("list", "tasks"), ("show", "mask"), ("plan", "paper"), ("run", "paper", "--dry-run", "--json")):
        err = run(capsys, *verb, "--plugin", "dead.py")[2]
        assert "plugin dead.py could not be run (RuntimeError: no licence)" in err, verb


def test_an_unknown_kind_is_a_usage_error(capsys):
    code, _, err = run(capsys, "list", "taks")
    assert code == 2
    assert "tasks" in err
