"""What is read out of SLURM's words, and a job's end in order; the real SLURM is in tests/cli/test_run_engines.py."""

from __future__ import annotations

import pickle
import signal
import threading
import time

import pytest

from benchmark.backends import slurm
from benchmark.backends.contract import Lost
from benchmark.backends.slurm import Slurm, Work, answer_file, queue, what_became_of
from benchmark.execution.job import Outcome
from benchmark.execution.stopping import STOPPING
from benchmark.execution.supervise import supervise
from benchmark.store import Store
from benchmark.store.layout import write_json

SHOWN = "JobId=7 ArrayJobId=5 ArrayTaskId=2 JobName=initbench JobState={} Reason=None Requeue=1 ExitCode=0:9 RunTime=1"


@pytest.fixture
def said(monkeypatch):
    """`said(scontrol=..., squeue=...)`: what SLURM's commands print; None for those that fail."""

    def install(**printed):
        monkeypatch.setattr(slurm, "ask", lambda command, *_: printed.get(command))

    return install


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("CANCELLED", "cancelled"),
        ("PREEMPTED", "preempted"),
        ("OUT_OF_MEMORY", "out of memory"),
        ("TIMEOUT", "time limit"),
        ("NODE_FAIL", "died"),
        ("FAILED", "died"),
    ],
)
def test_lost_jobs_are_told_apart_with_the_end_of_their_log(said, tmp_path, state, why):
    said(scontrol=SHOWN.format(state))
    (tmp_path / "5_2_0_log.err").write_text("\n".join(f"line {k}" for k in range(40)))
    (tmp_path / "5_20_0_log.err").write_text("of another job")
    lost = what_became_of("5_2", tmp_path)
    assert lost.why == why
    first, _, *log = lost.detail.splitlines()
    assert first == f"SLURM job 5_2: {state}, exit code 0:9"
    assert log == [f"line {k}" for k in range(28, 40)]


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0", "out of memory"),
        ("Job not requeued because: timed-out too many times.", "time limit"),
        ("ModuleNotFoundError: No module named 'benchmark'", "died"),
    ],
)
def test_what_only_the_log_knows_counts(said, tmp_path, log, why):
    said(scontrol=SHOWN.format("FAILED"))
    (tmp_path / "5_2_0_log.err").write_text(log)
    assert what_became_of("5_2", tmp_path).why == why


def test_a_job_that_slurm_has_forgotten_is_looked_up_in_the_accounts(said, tmp_path):
    said(sacct="CANCELLED by 1000\n")
    assert what_became_of("5_2", tmp_path).why == "cancelled"
    said()
    assert what_became_of("5_2", tmp_path) == Lost("died", "SLURM job 5_2: not known to SLURM any more")


def test_a_queue_that_does_not_answer_is_no_empty_queue(said):
    said(squeue="5_1|RUNNING\n5_2|PENDING\n")
    assert queue() == {"5_1": "RUNNING", "5_2": "PENDING"}
    said(squeue="")
    assert queue() == {}
    said()
    assert queue() is None


def test_where_jobs_of_an_earlier_run_stand(said, tmp_path):
    folder = tmp_path / "slurm" / "run"
    folder.mkdir(parents=True)
    entries = {f"5_{k}": {"cells": [f"cell{k}"], "answers": [f"1-{k}"]} for k in range(3)}
    write_json(folder / "5_0.json", entries)
    answer_file(folder, "1-0").touch()
    said(squeue="5_1|PENDING\n", scontrol=SHOWN.format("CANCELLED"))
    waiting, gone = Slurm.underway(tmp_path)
    assert (waiting.job, waiting.alive, waiting.state, waiting.cell_ids) == ("5_1", True, "PENDING", ("cell1",))
    assert (gone.job, gone.alive, gone.state) == ("5_2", False, "cancelled")
    said()
    assert {job.state for job in Slurm.underway(tmp_path)} == {"not known: SLURM does not answer here"}


def test_a_job_that_starts_again_trains_only_what_has_no_answer(toy_cells, toy_job, tmp_path):
    jobs = {"1-0": toy_job(toy_cells(2)), "1-1": toy_job(toy_cells(2), stack_id="1")}
    answer_file(tmp_path, "1-0").touch()
    Work(supervise, jobs, str(tmp_path))()
    assert not Store(jobs["1-0"].store).attempts()
    assert len(Store(jobs["1-1"].store).attempts()) == 2
    assert isinstance(pickle.loads(answer_file(tmp_path, "1-1").read_bytes()), Outcome)


def test_sigterm_ends_the_stack_in_order_and_leaves_no_answer(toy_cells, toy_job, tmp_path):
    job = toy_job(toy_cells(2, pause=5.0))

    def tell():
        while not [beat for beat in Store(job.store).heartbeats() if beat.steps_planned]:
            time.sleep(0.05)
        signal.raise_signal(signal.SIGTERM)

    threading.Thread(target=tell, daemon=True).start()
    try:
        with pytest.raises(SystemExit):
            Work(supervise, {"1-0": job}, str(tmp_path))()
    finally:
        STOPPING.clear()
    assert not list(tmp_path.iterdir())
    assert not Store(job.store).heartbeats()
    assert not Store(job.store).attempts()
