"""A real training process: answers, deaths, time limits, and that it never outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from benchmark.execution import worker
from benchmark.execution.process import DeathError, Place, ProcessPool, StoppedError, TimeLimitError, TrainingProcess
from benchmark.execution.supervise import request_of
from benchmark.store import Store
from benchmark.store.layout import process_start

BAD_REQUEST = {"kind": "train", "threads": 1, "plugins": [], "cells": [["x", "{}"]]}


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
            reply = process.ask(request_of(job, time.time()))
            pids.add(process.pid)
        assert {ended["status"] for ended in reply["ended"]} == {"finished"}
        assert set(Store(job.store).finished()) == set(job.cell_ids)
        assert not Store(job.store).heartbeats()
    assert len(pids) == 1


def test_cells_that_cannot_be_rebuilt_are_refused(pool):
    with pool.process(place()) as process:
        assert "KeyError" in process.ask(BAD_REQUEST)["refused"]


def test_a_store_that_cannot_be_written_to_is_refused(pool, toy_cells, toy_job, tmp_path):
    (tmp_path / "shards").write_text("not a folder")
    request = request_of(toy_job(toy_cells(1), store=str(tmp_path)), time.time())
    with pool.process(place()) as process:
        assert "cannot write a result" in process.ask(request)["refused"]


def test_a_plugin_that_changed_since_the_run_began_is_refused(pool, toy_cells, toy_job):
    changed = [{"path": plugin.path, "sha256": "0" * 64} for plugin in toy_job(toy_cells(1)).plugins]
    request = {**request_of(toy_job(toy_cells(1)), time.time()), "plugins": changed}
    with pool.process(place()) as process:
        assert "has changed since the run began" in process.ask(request)["refused"]


def test_a_death_tells_the_signal_and_the_last_words(tmp_path):
    process = TrainingProcess(place())
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(DeathError, match=r"SIGKILL \(often: the machine ran out of memory\)"):
        process.ask(BAD_REQUEST)


def test_a_death_tells_the_exit_code_of_a_process_that_ends_itself():
    """Its pipes close before the exit code can be collected; killing it at once would hide the code."""
    slow = "import os, time; os.close(0); os.close(1); time.sleep(0.3); os._exit(3)"
    process = TrainingProcess(place())
    process.kill()
    process._process = subprocess.Popen(
        [sys.executable, "-c", slow], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    with pytest.raises(DeathError, match=r"ended with exit code 3\."):
        process.ask(BAD_REQUEST)


def test_a_family_that_calls_sys_exit_fails_with_its_traceback(monkeypatch):
    def leave(*_):
        sys.exit(3)

    monkeypatch.setattr(worker, "prepare", lambda request: [])
    monkeypatch.setattr(worker, "train", leave)
    reply = worker.respond({"kind": "train"}, lambda: None)
    assert reply["raised"].startswith("Traceback")
    assert "SystemExit: 3" in reply["raised"]


def test_the_time_limit_kills_the_process(toy_cells, toy_job):
    process = TrainingProcess(place())
    job = toy_job(toy_cells(2, "toy_hanging"))
    with pytest.raises(TimeLimitError):
        process.ask(request_of(job, time.time()), seconds=0.5)
    assert gone(process.pid)


def test_a_stop_kills_the_process(toy_cells, toy_job):
    process = TrainingProcess(place())
    end = time.monotonic() + 0.3
    with pytest.raises(StoppedError):
        process.ask(request_of(toy_job(toy_cells(2)), time.time()), stopped=lambda: time.monotonic() > end)
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
