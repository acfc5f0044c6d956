"""`bench run` through the real command line: what it trains, says, keeps and how it ends."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

NO_HEAVY_IMPORTS = """
import sys
from benchmark.cli import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    print("CODE", ended.code)
print("TORCH", "torch" in sys.modules)
"""


def until(condition, seconds=60):
    """Wait for a condition; the value it returned."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError("the condition never came true")


def running_heartbeat(project):
    """A heartbeat written by a training process, not by the dispatcher's claim."""
    return lambda: next((beat for beat in project.store.heartbeats() if beat.steps_planned), None)


def test_a_run_trains_every_cell_and_says_how_it_ended(project):
    said = project.run()
    assert project.statuses() == {("toy_plain", 0): "finished", ("toy_plain", 1): "finished"}
    assert "2 cells to train" in said
    assert said.rstrip().endswith("Exit 0: complete; 2 cells trained, 0 reused.")
    (run,) = project.store.runs()
    assert run.status == "complete"
    assert run.counts == {"planned": 2, "reused": 0, "trained": 2}
    assert run.argv[:3] == ("bench", "run", "toy.yaml")
    assert not project.store.heartbeats()


def test_a_raising_cell_costs_that_cell_alone(finished):
    assert finished.statuses() == {
        ("toy_plain", 0): "finished", ("toy_plain", 1): "finished",
        ("toy_raising", 0): "finished", ("toy_raising", 1): "failed",
    }  # fmt: skip
    assert "seed 1: failed: RuntimeError: this initialiser dislikes odd seeds (toy.py:" in finished.said
    assert "Traceback" in next(r.error for r in finished.store.records() if r.status == "failed")


def test_without_a_terminal_a_run_prints_a_line_per_cell_the_table_and_the_exit_code(finished):
    assert "[1/4] toy_regression × toy_plain, seed 0: accuracy" in finished.said
    assert "[4/4] toy_regression × toy_raising, seed 1: failed" in finished.said
    assert "toy_plain" in finished.said.partition("Primary metric")[2]
    assert finished.said.rstrip().endswith("Exit 3: incomplete: 1 failed.")


def test_cells_carry_their_provenance(finished):
    record = finished.store.records()[0]
    assert record.device == "cpu"
    assert record.execution == "stack[3]"
    assert set(record.provenance) >= {"initbench", "code", "python", "platform", "packages", "cpu", "cores", "threads"}
    digest = hashlib.sha256((finished.folder / "toy.py").read_bytes()).hexdigest()
    assert record.provenance["families"]["task"] == {"digest": digest, "files": {"toy.py": digest[:16]}}
    assert record.provenance["data"] == {"line": "1"}
    home = str(Path.home())
    assert home == "/" or home not in json.dumps(record.provenance)


def test_the_second_run_is_a_no_op_that_imports_no_torch(finished):
    before = sorted(finished.store.layout.shards.iterdir())
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", NO_HEAVY_IMPORTS, "run", "toy.yaml", "--initializer", "toy_plain"],
        cwd=finished.folder, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "Exit 0: nothing to do, 2 cells reused." in done.stdout
    assert "CODE 0" in done.stdout
    assert "TORCH False" in done.stdout
    assert time.monotonic() - began < 10  # about 0.7 s on an idle machine
    assert sorted(finished.store.layout.shards.iterdir()) == before


def test_what_was_asked_for_is_what_is_shown_without_a_spec(finished):
    """A run with nothing to do is a run too; the same once more leaves no second record."""
    for _ in range(2):
        assert "0 errors" in finished.run("--initializer", "toy_plain", "--seed", "0")
    first, second = finished.store.runs()
    assert (first.status, len(first.cell_ids)) == ("incomplete", 4)
    assert (second.status, len(second.cell_ids)) == ("complete", 1)
    assert second.selection == {"tasks": [], "initializers": ["toy_plain"], "seeds": [0]}
    assert "Incomplete: 3 of 4 cells" in finished.bench("leaderboard")  # a narrower run hides nothing
    assert "Incomplete: 3 of 4 cells" in finished.bench("leaderboard", "toy.yaml")


def test_more_seeds_train_only_the_new_cells(finished):
    said = finished.run("--seeds", "3", "--initializer", "toy_plain")
    assert "1 cell to train" in said
    assert "2 reused" in said
    assert len(finished.store.attempts()) == 5


def test_failed_cells_are_tried_again_unless_told_not_to(finished):
    assert "nothing to do, 3 cells reused; incomplete: 1 failed" in finished.run("--no-retry-failed", code=3)
    assert "1 cell to train" in finished.run("--dry-run")


def test_force_trains_finished_cells_again_and_the_first_numbers_keep_counting(finished):
    counting = {r.cell_id: r.attempt_id for r in finished.store.records() if r.status == "finished"}
    said = finished.run("--force", "--initializer", "toy_plain")
    assert "Exit 0: complete; 2 cells trained" in said
    assert len(finished.store.attempts()) == 6
    assert {r.cell_id: r.attempt_id for r in finished.store.records() if r.status == "finished"} == counting


def test_fail_fast_stops_at_the_first_failure(make_project):
    project = make_project(initializers="[toy_raising]", seeds="[1, 0, 2, 4]")
    said = project.run("--execution", "alone", "--workers", "1", "--fail-fast", code=3)
    assert "stopped at 1 failure" in said
    assert len(project.store.attempts()) < 4


def test_a_process_killed_from_within_costs_the_guilty_cell_alone(make_project):
    project = make_project(initializers="[toy_plain, toy_killing]")
    said = project.run(code=3)
    assert project.statuses() == {
        ("toy_plain", 0): "finished", ("toy_plain", 1): "finished",
        ("toy_killing", 0): "finished", ("toy_killing", 1): "killed",
    }  # fmt: skip
    assert "killed by SIGKILL (often: the machine ran out of memory; it held up to" in said


def test_a_single_death_from_outside_costs_nothing(make_project):
    project = make_project(initializers="[toy_once]")
    project.run()
    assert set(project.statuses().values()) == {"finished"}
    assert {record.execution for record in project.store.records()} == {"stack[2]"}


def test_a_hanging_cell_is_ended_by_the_time_limit(make_project):
    project = make_project(initializers="[toy_hanging]", seeds="[1]")
    said = project.run("--cell-timeout", "2", code=3)
    assert project.statuses() == {("toy_hanging", 1): "timeout"}
    assert "The time limit of 2 s per cell passed" in said


def test_ctrl_c_keeps_what_is_finished_and_the_next_run_goes_on(make_project):
    project = make_project(seeds=6, pause=0.2)
    process = project.start("run", "toy.yaml", "--execution", "stack:1", "--workers", "1")
    until(project.store.finished)
    beat = until(running_heartbeat(project))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, out + err
    assert "Exit 130: interrupted" in out
    assert "Traceback" not in err
    until(lambda: not beat.is_alive(), seconds=10)
    kept = set(project.store.finished())
    assert 0 < len(kept) < 6
    assert project.store.runs()[-1].status == "interrupted"
    project.run("--execution", "stack:3")
    assert set(project.store.finished()) >= kept
    assert len(project.store.attempts()) == len(project.store.finished()) == 6


def test_training_processes_end_when_their_parent_is_killed(make_project):
    project = make_project(seeds=2, pause=5.0)
    process = project.start("run", "toy.yaml", "--execution", "stack:2")
    beat = until(running_heartbeat(project))
    assert beat.pid != process.pid
    process.kill()
    process.communicate(timeout=30)
    until(lambda: not beat.is_alive(), seconds=10)


def test_two_runs_at_once_train_no_cell_twice(make_project):
    project = make_project(seeds=8, pause=0.2)
    arguments = ("run", "toy.yaml", "--execution", "stack:2", "--workers", "1")
    first = project.start(*arguments)
    until(running_heartbeat(project))
    second = project.start(*arguments)
    outputs = [process.communicate(timeout=120) for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), outputs
    assert len(project.store.attempts()) == len(project.store.finished()) == 8
    assert "by another run" in outputs[0][0] + outputs[1][0]
    assert {attempt.run_id for attempt in project.store.attempts()} == {run.run_id for run in project.store.runs()}


def test_a_dry_run_does_nothing(project):
    said = project.run("--dry-run")
    assert said.rstrip().endswith("Exit 0: dry run; 2 cells would be trained.")
    assert not project.store.root.exists()


def test_events_are_one_strict_json_object_per_line(finished):
    events = finished.events("--seeds", "3", code=3)
    assert [event["event"] for event in events] == ["plan", "note", "cell", "cell", "cell", "end"]
    assert events[-1]["exit_code"] == 3
    assert events[-1]["missing"] == {"failed": 1}
    assert {event["status"] for event in events if event["event"] == "cell"} == {"finished", "failed"}


def test_nothing_selected_is_a_usage_error(project):
    assert "nothing selected: --task 'nope' matches nothing" in project.run("--task", "nope", code=2)


def test_a_store_that_cannot_be_written_to_is_no_usage_error(project):
    (project.folder / "results").mkdir()
    (project.folder / "results" / "runs").write_text("a file where a folder should be")
    assert "cannot write" in project.run(code=1)


def test_an_initialiser_that_calls_exit_fails_with_its_traceback(make_project):
    project = make_project(initializers="[toy_exiting]", seeds=1)
    project.run(code=3)
    (record,) = project.store.records()
    assert record.status == "failed"
    assert "SystemExit: 3" in record.error


def test_an_unknown_execution_mode_backend_or_device_is_a_usage_error(project):
    for wrong in (("--execution", "fast"), ("--backend", "nope")):
        said = project.run(*wrong, "--dry-run", code=2)
        assert ("execution must be" in said) == (wrong[0] == "--execution")
        assert ("--backend 'nope' is not known; known: dask, local, ray, slurm" in said) == (wrong[0] == "--backend")
        assert "to train" not in said
    assert "--device is auto, cpu" in project.run("--device", "tpu", code=2)


def test_so_many_failures_stop_the_run(make_project):
    project = make_project(initializers="[toy_raising]", seeds="[1, 3, 5, 7, 9]")
    said = project.run("--execution", "stack:1", "--workers", "1", "--max-failures", "2", code=3)
    assert "stopped at 2 failures" in said
    assert len(project.statuses()) == 2


def test_suggested_commands_can_be_copied_as_they_are(make_project):
    """They carry the spec, the store, the plugins and the seeds that were given, quoted where need be."""
    project = make_project(initializers="[toy_plain, toy_raising]")
    (project.folder / "my spec.yaml").write_text((project.folder / "toy.yaml").read_text())
    (project.folder / "none.py").write_text(
        "from benchmark.initializer import Initializer\nfrom benchmark.registry import initializer\n"
        "@initializer('none')\nclass No(Initializer):\n    def apply(self, model, context):\n        pass\n"
    )
    more = ["--store", "else where", "--plugin", "none.py", "--seeds", "2", "--execution", "stack:8"]
    said = project.bench("run", "my spec.yaml", *more, code=3)
    hints = [line.strip().partition("   ")[0] for line in said.splitlines() if line.startswith("  bench")]
    status, board, check = hints
    assert status == "bench status --store 'else where'"
    assert board == "bench leaderboard 'my spec.yaml' --seeds 2 --store 'else where' --plugin none.py --format markdown"
    assert check == "bench check --store 'else where' --plugin none.py"
    for command in hints:  # the check finds that a cell failed
        project.bench(*shlex.split(command)[1:], code=4 if command == check else 0)


def test_the_users_file_gives_defaults_and_the_command_line_wins(make_project, tmp_path):
    project, file = make_project(seeds=1), tmp_path / "own.yaml"
    file.write_text("execution:\n  execution: alone\n  workers: 1\n  backend: nope\n")
    assert "'nope' is not known" in project.bench("run", "toy.yaml", "--profile-file", str(file), code=2)
    project.bench("run", "toy.yaml", "--profile-file", str(file), "--backend", "local")
    assert [record.execution for record in project.store.records()] == ["alone"]


def test_what_is_wrong_in_the_users_file_is_shown_at_its_place(project, tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text("execution:\n  seeds: 3\n  workers: many\n")
    said = project.run("--profile-file", str(file), code=2)
    assert "own.yaml:2:3" in said
    assert "own.yaml:3:12" in said
    assert "nowhere.yaml:1:1: cannot be read" in project.run("--profile-file", "nowhere.yaml", code=2)


THIRD_PARTY = '''
from benchmark.backends.contract import Backend, Options
from benchmark.backends.work import perform

class Polite(Options):
    greeting: str = "hello"

class Mine(Backend):
    """One job after the other, here."""
    Options = Polite

    def __init__(self, options, wanted):
        self.jobs, self.greeting = [], options.greeting

    def submit(self, function, jobs):
        self.jobs += [(number, function, job) for number, job in jobs.items()]

    def collect(self, seconds):
        number, function, job = self.jobs.pop(0)
        print(self.greeting, number)
        return [(number, perform(function, job))]
'''


def test_a_package_that_is_installed_brings_its_backend(make_project):
    project = make_project(seeds=4)
    info = project.folder / "mine-1.0.dist-info"
    info.mkdir()
    (project.folder / "mine.py").write_text(THIRD_PARTY)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[bench.backends]\nmine = mine:Mine\nlocal = mine:Mine\n")
    environment = {**os.environ, "PYTHONPATH": str(project.folder)}
    command = [sys.executable, "-m", "benchmark.cli", "run", "toy.yaml", "--execution", "stack:2", "--backend", "mine"]
    more = ["--backend-option", "greeting=42"]
    done = subprocess.run([*command, *more], cwd=project.folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("42 ")] == ["42 0", "42 1"]
    assert len(project.store.finished()) == 4
    other = subprocess.run(
        [*command, "--backend-option", "greting=1"], cwd=project.folder, env=environment, capture_output=True, text=True
    )
    assert other.returncode == 2
    assert "'greting' is not known; did you mean 'greeting'? (backend mine)" in other.stderr


def test_a_compiled_mode_that_is_asked_for_is_refused_where_nothing_compiles(project, monkeypatch):
    monkeypatch.setenv("CXX", "/nonexistent/g++")
    said = project.bench("run", "toy.yaml", "--device", "cpu", "--execution", "compiled", code=2)
    assert "--execution compiled: there is no C++ compiler (/nonexistent/g++), so nothing can be compiled here." in said
    assert not project.store.root.exists()
