"""Real Dask and Ray on this machine, and a real SLURM on loopback: the same numbers, and what their deaths cost."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

ENGINES = [pytest.param(name, marks=[pytest.mark.engine(name), pytest.mark.slow]) for name in ("dask", "ray", "slurm")]
PINNED = ("run", "toy.yaml", "--execution", "stack:2", "--workers", "2")


def until(condition, seconds=120):
    """Wait for a condition; the value it returned."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError("the condition never came true")


def training(project):
    """The heartbeat of a process that trains, when there is one and a stack is finished already."""
    beats = [beat for beat in project.store.heartbeats() if beat.steps_planned and beat.is_alive()]
    return beats[0] if beats and project.store.finished() else None


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def numbers(project):
    return {record.cell_id: (record.finals, record.curve) for record in project.store.records()}


@pytest.fixture(scope="session")
def reference(make_project):
    """The numbers of the same spec, trained by threads of this machine."""
    project = make_project(seeds=8)
    project.bench(*PINNED)
    return numbers(project)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_very_numbers_that_threads_give(reference, make_project, engine):
    project = make_project(seeds=8)
    project.bench(*PINNED, "--backend", engine)
    assert numbers(project) == reference


@pytest.mark.parametrize("engine", ENGINES)
def test_a_worker_killed_in_the_middle_costs_only_what_it_ran(reference, make_project, engine):
    project = make_project(seeds=8, pause=0.5)
    process = project.start(*PINNED, "--backend", engine)
    beat = until(lambda: training(project))
    kept = project.store.finished()
    os.kill(parent_of(beat.pid), signal.SIGKILL)
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, out + err
    assert "A worker was lost over 2 cells (died)" in out
    attempts = project.store.attempts()
    assert len(attempts) == len({attempt.cell_id for attempt in attempts}) == 8, "a cell was trained twice"
    assert project.store.finished().items() >= kept.items()
    assert not project.store.heartbeats()


@pytest.mark.parametrize("engine", ENGINES)
def test_ctrl_c_ends_running_stacks_in_order_and_the_next_run_goes_on(make_project, engine):
    project = make_project(seeds=8, pause=0.5)
    process = project.start(*PINNED, "--backend", engine)
    beat = until(lambda: training(project))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 130, out + err
    assert "Traceback" not in err
    assert not beat.is_alive()
    kept = project.store.finished()
    assert 0 < len(kept) < 8
    assert not list((project.folder / "results" / "running").glob("*/*")), "heartbeats or the mark to stop are left"
    project.bench(*PINNED)
    assert project.store.finished().items() >= kept.items()
    assert len(project.store.attempts()) == len(project.store.finished()) == 8


@pytest.mark.parametrize("engine", ENGINES[:2])
def test_a_cluster_that_is_not_there_is_a_usage_error(project, engine):
    wait = ("--backend-option", "wait_seconds=1") if engine == "dask" else ()
    said = project.run("--backend", engine, "--backend-option", "address=127.0.0.1:1", *wait, code=2)
    assert "docs/cluster.md" in said
    assert "Traceback" not in said
