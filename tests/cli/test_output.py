"""What a verb prints may be lost, and what it writes appears whole: real processes, real pipes, real limits."""

from __future__ import annotations

import os
import pty
import re
import resource
import shutil
import subprocess
import sys

import pytest

BENCH = [sys.executable, "-m", "benchmark.cli"]


def shell(project, script, **environment):
    """A shell in the project's folder in which `bench` is a command."""
    return subprocess.run(
        ["bash", "-c", f'bench() {{ "{sys.executable}" -m benchmark.cli "$@"; }}\n{script}'],
        cwd=project.folder, capture_output=True, text=True, timeout=120, env={**os.environ, **environment},
    )  # fmt: skip


@pytest.mark.parametrize("form", ["", "--json"])
def test_a_run_whose_reader_has_gone_trains_on_and_ends_by_its_result(make_project, form):
    project = make_project(initializers="[toy_plain, toy_raising]", pause=0.2)
    done = shell(project, f'(bench run toy.yaml --execution alone {form}; echo "code $?" >&2) | head -1')
    assert project.statuses()["toy_plain", 1] == "finished"
    assert len(project.store.records()) == 4
    assert done.stderr.splitlines()[-1] == "code 3"
    assert done.stderr.count("the output cannot be written: Broken pipe; the work goes on without it") == 1


@pytest.mark.parametrize("where", ["> /dev/full", ">&-", ">&- 2>&-"])
def test_a_run_whose_output_is_full_or_closed_trains_everything(make_project, where):
    project = make_project()
    done = shell(project, f"bench run toy.yaml --execution alone {where}")
    assert done.returncode == 0, done.stderr
    assert set(project.statuses().values()) == {"finished"}
    assert "bug" not in done.stderr
    assert ("the work goes on without it" in done.stderr) == ("2>&-" not in where)


@pytest.mark.parametrize(("where", "why"), [("> /dev/full", "No space left"), (">&-", "it is closed")])
def test_a_verb_that_only_prints_says_that_it_could_not(project, where, why):
    done = shell(project, f"bench list tasks {where}")
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: the output cannot be written: {why}")
    assert len(done.stderr.splitlines()) == 1


def test_a_log_stays_a_log_whatever_the_environment_says_of_colours(project):
    said = shell(
        project, "bench run toy.yaml --execution alone && bench status", FORCE_COLOR="1", TTY_COMPATIBLE="1"
    ).stdout
    assert re.search(r"\[2/2\] toy_regression × toy_plain, seed [01]: accuracy", said)
    assert "\x1b" not in said


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["leaderboard", "toy.yaml", "--output", "out.html"], "out.html"),
        (["report", "toy.yaml", "-o", "out.html"], "out.html"),
        (["sql", "select * from curves, range(99)", "--output", "out.csv"], "out.csv"),
        (["sql", "select * from curves, range(99)", "--output", "out.parquet"], "out.parquet"),
        (["export", "--format", "json", "-o", "out"], "out/curves.json"),
        (["export", "-o", "out", "--table", "records"], "out/records.parquet"),
        (["claims", "import", "out.md", "-o", "out.yaml"], "out.yaml"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_an_output_that_cannot_be_written_leaves_the_good_file_that_was_there(finished, words, file):
    finished.bench("sql", "select 1")  # the index is made, before files are limited
    table = "| method | accuracy |\n|---|---|\n" + "| a | 81.2 |\n" * 40
    (finished.folder / "out.md").write_text(table)
    target = finished.folder / file
    target.parent.mkdir(exist_ok=True)
    target.write_text("good")
    done = subprocess.run(
        [*BENCH, *words], cwd=finished.folder, capture_output=True, text=True, timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500)),
    )  # fmt: skip
    assert target.read_text() == "good"
    assert done.returncode in (1, 2), done.stderr
    assert "File too large" in done.stderr
    assert {path.name for path in target.parent.iterdir() if path.name.startswith(".")} <= {".pytest_cache"}
    finished.bench(*words)
    assert target.read_bytes() != b"good"


def test_an_output_keeps_its_rights_and_its_link_and_may_be_no_file(finished):
    board = finished.folder / "board.md"
    board.write_text("old")
    board.chmod(0o640)
    (finished.folder / "link.md").symlink_to("board.md")
    finished.bench("leaderboard", "toy.yaml", "--output", "link.md")
    assert (finished.folder / "link.md").is_symlink()
    assert "toy_plain" in board.read_text()
    assert board.stat().st_mode & 0o777 == 0o640
    assert "toy_plain" in shell(finished, "bench leaderboard toy.yaml --format markdown -o /dev/stdout").stdout


def test_a_user_without_a_home_runs_and_is_told_where_data_could_be(project):
    alone = "unshare --user --map-user=4242 --map-group=4242 env -u HOME -u USER -u LOGNAME -u BENCH_DATA"
    if not shutil.which("unshare") or shell(project, f"{alone} true").returncode:
        pytest.skip("this machine lets nobody be another user")
    done = shell(project, f"cd {project.folder}; {alone} {' '.join(BENCH)} run toy.yaml --execution alone --no-wait")
    assert done.stdout.splitlines()[-1] == "Exit 0: complete; 2 cells trained, 0 reused."
    looked = shell(project, f"{alone} {' '.join(BENCH)} doctor")
    assert "this user has no home folder" in looked.stdout
    assert "bug" not in looked.stderr
    refused = shell(project, f"{alone} {' '.join(BENCH)} data prepare cifar10 --from .")
    assert "bug" not in refused.stderr


BRACKETS = """
from benchmark.registry import initializer, task
from benchmark.initializer import Initializer
from benchmark.parameters import Metric
from toy import ToyRegression


@task("brackets")
class Brackets(ToyRegression):
    def metrics(self):
        return (Metric(name="acc[top5]", title="top [5]", direction="max"),
                Metric(name="map@10", title="map", direction="max"))

    def summarize(self, observed, examples, *, final):
        import time
        time.sleep(0.4)
        return {"acc[top5]": 1.0, "map@10": 2.0}


@initializer("odd")
class Odd(Initializer):
    def apply(self, model, context):
        if context.seed:
            raise RuntimeError("no kernel [/opt/conda/lib/kernel.so:12] [bold]")
"""


@pytest.fixture
def brackets(project):
    text = BRACKETS.replace("from toy import ToyRegression\n", "")
    base = (project.folder / "toy.py").read_text()
    (project.folder / "brackets.py").write_text(base.partition('@initializer("toy_plain")')[0].replace(
        '@task("toy_regression")', "") + text)  # fmt: skip
    (project.folder / "brackets.yaml").write_text(
        "experiment: brackets\nseeds: 2\nplugins: [brackets.py]\ntasks: [brackets]\ninitializers: [odd]\n"
        "tables: [{title: 'a [b]', metrics: ['acc[top5]']}]\n"
    )
    return project


def test_brackets_in_names_and_messages_are_text_on_a_terminal(brackets):
    """The live table, the lines above it, tables and titles: nothing is read as markup, nothing vanishes."""
    said, code = on_a_terminal(brackets, "run", "brackets.yaml", "--execution", "alone")
    assert code == 3
    assert "[/opt/conda/lib/kernel.so:12] [bold]" in said
    assert said.count("acc[top5]") > 1
    assert "top [5]" in said
    said, _ = on_a_terminal(brackets, "sql", "select 'x' || '[y]' as \"[/a]\"")
    assert "[/a]" in said
    assert "x[y]" in said


def test_a_metric_is_found_by_its_exact_name_before_names_are_patterns(brackets):
    brackets.bench("run", "brackets.yaml", "--execution", "alone", "--seeds", "1")
    assert "top [5]" in brackets.bench("leaderboard", "brackets.yaml", "--metric", "acc[top5]")
    assert "map" in brackets.bench("leaderboard", "brackets.yaml", "--metric", "map@10")
    assert "1.0" in brackets.bench("leaderboard", "brackets.yaml", "--metric", "acc*", "--format", "csv")


def on_a_terminal(project, *words):
    """What a verb prints on a terminal 200 wide, without control sequences, and its exit code."""
    main, terminal = pty.openpty()
    environment = {**os.environ, "COLUMNS": "200", "LINES": "40", "TERM": "xterm"}
    process = subprocess.Popen([*BENCH, *words], cwd=project.folder, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)
    chunks = []
    try:
        while chunk := os.read(main, 65536):
            chunks.append(chunk)
    except OSError:  # the other end is closed
        pass
    os.close(main)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(chunks).decode()), process.wait(60)
