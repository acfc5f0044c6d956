"""The shell around the verbs: laziness, help, did-you-mean, and the error boundary."""

from __future__ import annotations

import json
import subprocess
import sys

import click
import pytest

from benchmark.cli.common import emit_json, parse_seeds, plain_table
from benchmark.cli.errors import guarded
from benchmark.cli.shell import VERBS, group, main
from benchmark.errors import BenchError, ExitCode

HEAVY = {"torch", "numpy", "duckdb", "polars", "pyarrow", "pydantic", "rich", "scipy", "joblib", "ruamel"}


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


def exit_code_of(command, args=()):
    with pytest.raises(SystemExit) as ended:
        guarded(command, list(args))
    return ended.value.code


def command_that(action):
    return click.command()(action)


def raise_(error):
    raise error


def test_help_imports_no_verb_and_nothing_heavy():
    code = """
import sys
from benchmark.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
print("MODULES", *{name.split(".")[0] for name in sys.modules}, *(n for n in sys.modules if "benchmark.cli." in n))
"""
    words = set(run_python(code).stdout.rpartition("MODULES")[2].split())
    assert "click" in words
    assert not words & HEAVY
    assert not words & {module for module, _ in VERBS.values()}


def test_help_lists_every_verb_with_its_line(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0
    assert all(f"  {verb} " in shown and summary in shown for verb, (_, summary) in VERBS.items())


def test_python_dash_m_works():
    done = subprocess.run([sys.executable, "-m", "benchmark.cli", "--version"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("bench, version ")


def test_unknown_verb_is_a_usage_error_with_the_nearest_name(capsys):
    assert exit_code_of(group, ["leaderbord"]) == ExitCode.USAGE
    assert "Did you mean 'leaderboard'?" in capsys.readouterr().err


def test_a_verb_without_module_breaks_only_itself(monkeypatch, capsys):
    monkeypatch.setitem(VERBS, "ghost", ("benchmark.cli.ghost", "Not there."))
    assert exit_code_of(group, ["ghost"]) == ExitCode.USAGE
    assert "'bench ghost' is not part of this version" in capsys.readouterr().err
    assert exit_code_of(group, ["--help"]) == 0


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (BenchError("no such spec"), ExitCode.USAGE, "Error: no such spec"),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED, "Interrupted."),
        (click.UsageError("bad flag"), ExitCode.USAGE, "bad flag"),
        (ZeroDivisionError("oops"), ExitCode.INTERNAL, "This is a bug"),
    ],
)
def test_every_ending_has_its_code_and_message(error, code, said, capsys):
    assert exit_code_of(command_that(lambda: raise_(error))) == code
    assert said in capsys.readouterr().err


def test_an_unforeseen_error_shows_its_traceback(capsys):
    exit_code_of(command_that(lambda: raise_(ZeroDivisionError("oops"))))
    assert "ZeroDivisionError: oops" in capsys.readouterr().err


def test_a_command_gives_its_own_exit_code():
    assert exit_code_of(command_that(lambda: ExitCode.FOUND)) == 4
    assert exit_code_of(command_that(lambda: None)) == 0


def test_a_closed_pipe_is_quiet():
    code = """
from benchmark.cli.shell import VerbGroup
from benchmark.cli.errors import guarded
import click
guarded(VerbGroup(callback=lambda: [click.echo("x" * 100) for _ in range(10**5)], invoke_without_command=True), [])
"""
    done = subprocess.run(
        ["bash", "-c", f'set -o pipefail; "{sys.executable}" -c "$CODE" | head -1; echo "codes ${{PIPESTATUS[0]}}"'],
        env={"CODE": code, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.endswith("codes 0\n")


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("1", (0,)), ("5", (0, 1, 2, 3, 4)), ("3,", (3,)), ("7,0,7", (0, 7)), ("2-4", (2, 3, 4)), ("9, 0-1", (0, 1, 9))],
)
def test_seeds_are_a_count_a_list_or_a_range(text, seeds):
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["0", "", "4-2", "five", "1.5", "-3", "1,,x"])
def test_seeds_that_name_nothing_are_refused(text):
    with pytest.raises(ValueError, match=r"seed|expected a count"):
        parse_seeds(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("9" * 20, "at most 10000 seeds"), ("0-9999999999999", "at most 10000 seeds"), ("0-9999,20000", "at most"),
        ("10001", "at most 10000"), (f"{2**63},", "a seed is a whole number"), ("9" * 5000, "expected a count"),
    ],
)  # fmt: skip
def test_too_many_or_too_large_seeds_are_refused_before_anything_is_made_of_them(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_seeds(text)
    assert parse_seeds(f"10000,{2**63 - 1}") == (10_000, 2**63 - 1)


def test_json_is_strict_and_keeps_nan_apart_from_null(capsys):
    emit_json({"a": float("nan"), "b": None, "c": (float("-inf"), 0.1), 3: True})
    shown = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(name))
    assert shown == {"a": "NaN", "b": None, "c": ["-Infinity", 0.1], "3": True}


def test_a_plain_table_never_cuts_a_cell():
    wide = "x" * 300
    assert wide in plain_table(["name", "n"], [[wide, "1"]])
