"""`bench conform`: names and files, what a plugin does to its process, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.conformance import run  # noqa: F401 - it brings what asks the rules
from benchmark.conformance.rules import FINDS, RULES, table

PLUGIN = '''
from benchmark.initializer import Initializer
from benchmark.registry import initializer

@initializer("mine")
class Mine(Initializer):
    """A start of one's own."""

    gain: float = 1.0

    def apply(self, model, context):
        {body}
'''


def bench(folder, *words, code=0):
    done = subprocess.run(
        [sys.executable, "-m", "benchmark.cli", "conform", *words], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def plugin(tmp_path):
    def write(body="pass", head=""):
        (tmp_path / "mine.py").write_text(head + PLUGIN.format(body=body))
        return tmp_path

    return write


def test_a_sound_file_has_no_findings_and_says_what_it_was_tried_on(plugin):
    rules = ["torch-import", "parameters", "apply", "trains", "other-process"]
    said = bench(plugin(), "mine.py", *(word for id in rules for word in ("--rule", id)))
    head, *lines, last = said.strip().splitlines()
    assert head.startswith("initializer mine, on task ")
    marks = [line.split()[:2] for line in lines if not line.strip().startswith("note: ")]  # how long it takes varies
    assert marks == [["ok", id] for id in rules]
    assert last.startswith("5 rules held, 0 do not hold")


def test_findings_come_as_json_with_their_way_out(plugin):
    folder = plugin("raise KeyError(self.gain)", head="import torch\n")
    (report,) = json.loads(bench(folder, "mine.py", "--rule", "torch-import", "--rule", "apply", "--json", code=4))
    light, apply = report["results"]
    assert light["found"] == ["mine.py:1 imports torch while it is loaded"]
    assert light["way_out"] == RULES["torch-import"].way_out
    assert apply["found"] == ["KeyError: 1.0 (mine.py:13)"]
    assert report["findings"] == 2


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "was killed by SIGSEGV"),
        ("import os; os._exit(7)", "ended with exit code 7"),
    ],
)
def test_a_plugin_that_ends_its_process_is_told_of(plugin, body, words):
    said = bench(plugin(body), "mine.py", "--rule", "apply", "--rule", "trains", code=4)
    assert words in said
    assert "the process ended in apply" in said


def test_a_plugin_that_hangs_is_told_of(plugin):
    folder = plugin("\n        while True:\n            pass")
    said = bench(folder, "mine.py", "--rule", "apply", "--timeout", "2", code=4)
    assert "it did not come to an end within 2 s" in said


def test_an_unknown_name_is_refused_with_near_ones(tmp_path):
    assert "no task or initializer 'maskk'; did you mean 'mask'" in bench(tmp_path, "maskk", code=2)


def test_a_broken_file_is_refused_with_its_line(plugin):
    assert "mine.py cannot be run: NameError: name 'name' is not defined (mine.py:2)" in bench(
        plugin(head="\nname\n"), "mine.py", code=2
    )


def test_parameters_are_laid_over_those_of_the_file_and_a_start_that_tries_nothing_is_told_of(plugin):
    folder = plugin("[parameter.mul_(self.gain) for parameter in model.parameters()]")
    asked = ("mine.py", "--rule", "trains", "--parameters")
    assert "its numbers are those of the untouched model" in bench(folder, *asked, "gain: 1")
    assert "its numbers are those of the untouched model" not in bench(folder, *asked, "gain: 2")
    assert "--parameters:1:1: expected keys" in bench(folder, *asked, "[1]", code=2)


def test_an_unknown_rule_and_a_missing_name_are_refused(tmp_path):
    assert "no rule 'twise'; did you mean 'twice'" in bench(tmp_path, "mask", "--rule", "twise", code=2)
    assert "name a task, an initializer or a FILE.py" in bench(tmp_path, code=2)


def test_every_rule_is_asked_and_listed(tmp_path):
    assert sorted(FINDS) == sorted(RULES)
    listed = json.loads(bench(tmp_path, "--list", "--json"))
    assert [one["id"] for one in listed] == list(RULES)
    assert all(one["holds"] and one["why"] and one["way_out"] for one in listed)


def test_the_documentation_lists_every_rule():
    page = Path(__file__).parents[2] / "docs" / "conformance.md"
    between = page.read_text(encoding="utf-8").partition("rules begin -->\n")[2].partition("<!-- rules end")[0]
    assert between.strip() == table(), "put what benchmark.conformance.rules.table() gives between the marks"
