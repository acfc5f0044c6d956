"""A real training process: answers, deaths, time limits, and that it never outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from benchmark.execution import guard
from benchmark.execution.job import Job, Request
from benchmark.execution.process import DeathError, Place, ProcessPool, StoppedError, TimeLimitError, TrainingProcess
from benchmark.store import Store
from benchmark.store.layout import process_start

BAD_REQUEST = Request(Job("store", "run-1", "0", "toy", (("x", "{}"),), "alone", "cpu", 1))


@pytest.fixture(scope="module")
def pool():
    pool = ProcessPool()
    yield pool
    pool.close()


def place(**fields):
    return Place(None, 1, **fields)


def gone(pid):
    end = time.monotonic() + 10
    while process_start(pid) is not None and time.monotonic() < end:
        time.sleep(0.02)
    return process_start(pid) is None


def test_a_process_trains_a_job_and_is_used_again(pool, toy_cells, toy_job):
    pids = set()
    for count in (2, 3):
        job = toy_job(toy_cells(count))
        with pool.process(place()) as process:
            reply = process.ask(Request(job))
            pids.add(process.pid)
        assert {ended.status for ended in reply.ended} == {"finished"}
        assert set(Store(job.store).finished()) == set(job.cell_ids)
        assert not Store(job.store).heartbeats()
    assert len(pids) == 1


def test_cells_that_cannot_be_rebuilt_are_refused(pool):
    with pool.process(place()) as process:
        assert "KeyError" in process.ask(BAD_REQUEST).refused


def test_a_store_that_cannot_be_written_to_is_refused(pool, toy_cells, toy_job, tmp_path):
    (tmp_path / "shards").write_text("not a folder")
    request = Request(toy_job(toy_cells(1), store=str(tmp_path)))
    with pool.process(place()) as process:
        assert "cannot write a result" in process.ask(request).refused


def test_a_plugin_that_changed_since_the_run_began_is_refused(pool, toy_cells, toy_job):
    job = toy_job(toy_cells(1))
    request = Request(replace(job, plugins=tuple(replace(plugin, sha256="0" * 64) for plugin in job.plugins)))
    with pool.process(place()) as process:
        assert "has changed since the run began" in process.ask(request).refused


def trainer_of(process):
    """The training process, once the guard has forked it off."""
    end = time.monotonic() + 30
    while not (found := [*guard.children(process.pid)]) and time.monotonic() < end:
        time.sleep(0.01)
    return found[0]


def test_a_death_tells_the_signal_and_the_memory_it_held():
    process = TrainingProcess(place())
    os.kill(trainer_of(process), signal.SIGKILL)
    with pytest.raises(DeathError, match=r"SIGKILL \(often: the machine ran out of memory; it held up to 0\.\d GiB\)"):
        process.ask(BAD_REQUEST)
    assert gone(process.pid)


def test_the_death_of_its_guard_ends_the_process_too():
    process = TrainingProcess(place())
    trainer = trainer_of(process)
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(DeathError, match=r"process was lost"):
        process.ask(BAD_REQUEST)
    assert gone(trainer)


def test_a_process_that_cannot_even_begin_says_why(monkeypatch, tmp_path):
    (tmp_path / "benchmark").mkdir()
    (tmp_path / "benchmark" / "__init__.py").write_text("raise RuntimeError('another benchmark')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(DeathError, match=r"(?s)ended before it began.*It last wrote:.*another benchmark"):
        TrainingProcess(place()).ask(BAD_REQUEST)


def test_a_family_that_calls_sys_exit_fails_with_its_traceback(pool, toy_cells, toy_job):
    with pool.process(place()) as process:
        raised = process.ask(Request(toy_job(toy_cells(1, "toy_exiting")))).raised
    assert raised.startswith("Traceback")
    assert raised.endswith("SystemExit: 3\n")


def test_the_time_limit_kills_the_process(toy_cells, toy_job):
    process = TrainingProcess(place())
    job = toy_job(toy_cells(2, "toy_hanging"))
    with pytest.raises(TimeLimitError):
        process.ask(Request(job), seconds=0.5)
    assert gone(process.pid)


def test_a_stop_kills_the_process(toy_cells, toy_job):
    process = TrainingProcess(place())
    end = time.monotonic() + 0.3
    with pytest.raises(StoppedError):
        process.ask(Request(toy_job(toy_cells(2))), stopped=lambda: time.monotonic() > end)
    assert gone(process.pid)


def test_device_and_threads_are_set_before_torch_is_imported():
    environment = Place("GPU-7", 3).environment()
    assert environment["CUDA_VISIBLE_DEVICES"] == "GPU-7"
    assert environment["OMP_NUM_THREADS"] == environment["MKL_NUM_THREADS"] == "3"
    assert place().environment()["CUDA_VISIBLE_DEVICES"] == ""


def test_a_process_ends_with_its_parent():
    code = (
        "from benchmark.execution.process import Place, TrainingProcess\n"
        "import time; print(TrainingProcess(Place(None, 1)).pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    assert gone(pid)


def test_a_process_that_failed_is_not_used_again():
    pool = ProcessPool()
    with pytest.raises(RuntimeError, match="bad"), pool.process(place()) as process:
        raise RuntimeError("bad")
    assert gone(process.pid)
    assert not pool.idle[place()]


def test_children_are_found_where_the_kernel_keeps_no_list_of_them(monkeypatch):
    child = subprocess.Popen(["sleep", "60"])
    listed = [*guard.children(os.getpid())]
    monkeypatch.setattr(guard, "LISTS", "*/there-is-none")
    assert child.pid in guard.descendants(os.getpid())
    child.kill()
    child.wait()
    assert child.pid in listed
