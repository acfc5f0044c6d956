"""`bench validate`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.cli.shell import main

ROOT = Path(__file__).parents[2]
TOY = str(ROOT / "tests" / "spec" / "toy_plugin.py")
GOOD = "task: good\nfamily: toy\n"
BAD = "task: bad\nfamily: toy\nparameters: {sise: 3}\n"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "bad.yaml").write_text(BAD)


def run(capsys, *args):
    with pytest.raises(SystemExit) as ended:
        main(["validate", *args])
    captured = capsys.readouterr()
    return ended.value.code, captured.out, captured.err


def test_valid_files_are_counted(capsys):
    assert run(capsys, "good.yaml", "--plugin", TOY) == (0, "1 file valid\n", "")


def test_all_problems_of_all_files_are_shown_and_the_code_is_2(capsys):
    code, out, err = run(capsys, "bad.yaml", "good.yaml", "none.yaml", "--plugin", TOY)
    assert (code, out) == (2, "")
    assert err.startswith("2 problems in the spec:\nbad.yaml:3:14: unknown key 'sise' in ")
    assert "    parameters: {sise: 3}\n                 ^\n" in err
    assert "none.yaml:1:1: cannot be read: No such file or directory" in err


def test_json_holds_places(capsys):
    code, out, _ = run(capsys, "bad.yaml", "--plugin", TOY, "--json")
    assert code == 2
    (problem,) = json.loads(out)["problems"]
    assert (problem["path"], problem["line"], problem["column"]) == ("bad.yaml", 3, 14)


def test_a_folder_means_the_specs_in_it(capsys, tmp_path):
    (tmp_path / "main.yml").write_text("- not a spec\n")
    code, _, err = run(capsys, ".", "--plugin", TOY)
    assert code == 2
    assert err.startswith("1 problem")


def test_names_of_claims_and_checks_are_known(capsys, tmp_path):
    spec = (
        "experiment: e\ntasks: good\ninitializers: plain\nclaims: [arxiv-2608.0418, bad.yaml]\n"
        "checks: {NO_SUCH_CHECK: {severity: off}}\n"
    )
    (tmp_path / "e.yaml").write_text(spec)
    _, _, err = run(capsys, "e.yaml", "--plugin", TOY)
    assert "e.yaml:4:10: unknown name 'arxiv-2608.0418' in claims; did you mean 'arxiv-2608.00418'?" in err
    assert "e.yaml:5:10: unknown name 'NO_SUCH_CHECK' in checks" in err
    assert err.startswith("2 problems")


def test_a_broken_plugin_is_a_problem_of_the_spec_that_needs_it(capsys, tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n@initializer('broken')\nclass Broken: ...\n")
    (tmp_path / "e.yaml").write_text("experiment: e\ntasks: good\ninitializers: [plain, broken]\nplugins: broken.py\n")
    code, _, err = run(capsys, "e.yaml", "--plugin", TOY)
    assert code == 2
    assert "e.yaml:3:1: initializer 'broken'" in err
    assert "ZeroDivisionError" in err


def test_a_family_in_a_file_beside_the_spec_is_pointed_out(capsys, tmp_path):
    (tmp_path / "mine.py").write_text("@task('toy')\nclass Toy: ...\n")
    assert "mine.py registers it: add --plugin mine.py" in run(capsys, "good.yaml")[2]


def test_every_shipped_spec_is_valid_and_none_needs_torch():
    code = (
        "import sys; from benchmark.cli import main\n"
        "try: main(['validate', 'tasks', 'initializers', 'specs'])\n"
        "except SystemExit as end: print('CODE', end.code)\n"
        "print('HEAVY', {'torch', 'duckdb', 'polars'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert "CODE 0\nHEAVY set()\n" in done.stdout, done.stdout + done.stderr
