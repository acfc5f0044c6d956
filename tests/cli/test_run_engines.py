"""Real Dask and Ray on this machine, and a real SLURM on loopback: the same numbers, and what their deaths cost."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
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


def worker_of(pid):
    """The engine's own process that looks after a training process."""
    while b"benchmark.execution.worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
        pid = parent_of(pid)
    return pid


def numbers(project):
    return {(record.initializer, record.seed): (record.finals, record.curve) for record in project.store.records()}


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
    os.kill(worker_of(beat.pid), signal.SIGKILL)
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, out + err
    assert "A worker was lost over" in out, out
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


KEPT = ("--checkpoint", "0.002")


def half_trained(project):
    """The heartbeat of a process that trains what was kept at a point of the curve."""
    beats = [beat for beat in project.store.heartbeats() if beat.steps_planned and beat.is_alive()]
    return beats[0] if beats and project.store.reached(beats[0].cell_ids) > (0, 20) else None


@pytest.mark.parametrize("engine", ENGINES)
def test_another_worker_goes_on_from_the_checkpoint_of_one_that_was_killed(reference, make_project, engine):
    project = make_project(seeds=2, pause=0.7)
    process = project.start(*PINNED, *KEPT, "--backend", engine)
    beat = until(lambda: half_trained(project))
    os.kill(worker_of(beat.pid), signal.SIGKILL)
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, out + err
    assert re.search(r"A worker was lost over 2 cells .*; handing them out again, from step [24]1\n", out), out
    assert numbers(project) == {cell: reference[cell] for cell in numbers(project)}
    assert len(numbers(project)) == 2
    assert not project.store.checkpoints()


@pytest.mark.parametrize("engine", ENGINES[:2])
def test_a_cluster_that_is_not_there_is_a_usage_error(project, engine):
    wait = ("--backend-option", "wait_seconds=1") if engine == "dask" else ()
    said = project.run("--backend", engine, "--backend-option", "address=127.0.0.1:1", *wait, code=2)
    assert "docs/cluster.md" in said
    assert "Traceback" not in said


DASK, RAY = "tcp://127.0.0.1:18786", "127.0.0.1:6399"
ALONE = ("--include-dashboard=false", "--disable-usage-stats", "--node-ip-address=127.0.0.1", "--num-cpus=2")
CLUSTERS = {
    "dask": (DASK, [
        ["dask", "scheduler", "--host=127.0.0.1", "--port=18786", "--no-dashboard"],
        ["dask", "worker", DASK, "--nworkers=2", "--nthreads=1", "--host=127.0.0.1", "--no-dashboard"],
    ]),
    "ray": (RAY, [["ray", "start", "--head", "--port=6399", "--object-store-memory=80000000", "--block", *ALONE]]),
}  # fmt: skip


@pytest.fixture
def cluster(monkeypatch):
    """`cluster(engine)`: one started as docs/cluster.md says; its address."""
    started = []
    monkeypatch.setenv("RAY_AUTH_MODE", "token")

    def start(engine):
        address, commands = CLUSTERS[engine]
        for program, *words in commands:
            started.append(subprocess.Popen(
                [Path(sys.executable).parent / program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ))  # fmt: skip
        host, _, port = address.rpartition("/")[2].rpartition(":")
        until(lambda: answers(host, int(port)))
        return address

    yield start
    for process in reversed(started):
        process.terminate()
        process.wait(60)


def answers(host, port):
    with contextlib.suppress(OSError), socket.create_connection((host, port)):
        return True
    return False


@pytest.mark.parametrize("engine", ENGINES[:2])
def test_a_given_cluster_trains_and_lives_on(reference, make_project, cluster, engine):
    address = cluster(engine)
    project = make_project(seeds=8)
    for _ in range(2):
        if engine == "ray":
            time.sleep(10)  # the head listens before its node has joined
        project.bench(*PINNED, "--backend", engine, "--backend-option", f"address={address}")
        assert numbers(project) == reference
        project = make_project(seeds=8)
    if engine == "dask":
        said = project.run("--backend", engine, "--backend-option", f"address={address}", "--device", "cuda", code=2)
        assert "No worker of the Dask cluster offers the resource 'GPU'" in said


# --- SLURM: a queue that outlives its dispatcher -------------------------------------------------------------------


def slurm(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout


def jobs_of(project):
    """Job → (cells, names of its answers), of all that was submitted for the project's store."""
    files = (project.folder / "results" / "slurm").glob("*/*.json")
    return {job: entry for file in files for job, entry in json.loads(file.read_text()).items()}


@pytest.mark.slow
@pytest.mark.engine("slurm")
def test_a_detached_run_goes_on_alone_and_is_waited_for_by_the_next(make_project):
    project = make_project(seeds=6, pause=0.3)
    said = project.bench(*PINNED, "--backend", "slurm", "--detach")
    assert "Exit 0: submitted 3 stacks; 6 cells in the queue or running." in said
    assert project.store.runs()[-1].status == "detached"
    assert len(jobs_of(project)) == 3
    queue = json.loads(project.bench("status", "--json"))["queue"]
    assert {cell for job in queue if job["alive"] for cell in job["cell_ids"]} <= set(project.store.runs()[-1].cell_ids)
    assert "--detach: jobs of --backend local end with" in project.run("--detach", code=2)
    said = project.bench(*PINNED)  # by threads: trains nothing that is queued
    assert "Waiting for 6 cells that another run is training or has queued" in said
    assert len(project.store.attempts()) == len(project.store.finished()) == 6
    assert {attempt.run_id for attempt in project.store.attempts()} == {project.store.runs()[0].run_id}
    assert json.loads(project.bench("status", "--json"))["queue"] == []


@pytest.mark.slow
@pytest.mark.engine("slurm")
def test_what_scancel_took_is_said_and_trained_by_the_next_run(make_project):
    project = make_project(seeds=6, pause=0.5)
    process = project.start(*PINNED, "--backend", "slurm")
    until(lambda: training(project))
    kept = project.store.finished()
    for job, entry in jobs_of(project).items():
        if not set(entry["cells"]) & kept.keys():
            slurm("scancel", job)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 3, out + err
    assert "A job was cancelled, its cells are left to another run: SLURM job" in out
    assert "CANCELLED" in out
    assert project.store.finished().items() >= kept.items()
    assert len(project.store.attempts()) == len(project.store.finished()) < 6
    project.bench(*PINNED, "--backend", "slurm")
    assert len(project.store.attempts()) == len(project.store.finished()) == 6


def hurried(job):
    """Whether a requeued job runs again; SLURM would have it wait two minutes."""
    if slurm("squeue", "--noheader", "--jobs", job, "--format=%T").strip() == "RUNNING":
        return True
    time.sleep(2.0)  # a node refuses a job that it is still ending ("already killed, do not launch"), and it is lost
    with contextlib.suppress(subprocess.CalledProcessError):  # it may have started in between, or still be ending
        slurm("scontrol", "update", f"JobId={job}", "StartTime=now")
    return False


@pytest.mark.slow
@pytest.mark.engine("slurm")
def test_a_job_told_of_its_end_or_preempted_goes_back_into_the_queue(make_project):
    """Nothing is lost and nothing trained twice: the watching run waits until SLURM starts the job again."""
    project = make_project(seeds=4, pause=0.7)
    process = project.start(*PINNED, "--backend", "slurm", "--backend-option", "stacks=2")
    until(lambda: training(project))
    (job,) = jobs_of(project)
    kept = project.store.finished()
    slurm("scancel", "--signal=USR1", job)
    until(lambda: "Restarts=1" in slurm("scontrol", "show", "job", job))
    assert not [beat for beat in project.store.heartbeats() if beat.is_alive()]
    until(lambda: process.poll() is not None or hurried(job))
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, out + err
    assert "lost" not in out
    assert project.store.finished().items() >= kept.items()
    assert len(project.store.attempts()) == len(project.store.finished()) == 4


@pytest.mark.slow
@pytest.mark.engine("slurm")
@pytest.mark.parametrize("told", [("scancel", "--signal=USR1"), ("scontrol", "requeue")])
def test_a_job_that_goes_back_into_the_queue_keeps_what_its_stack_has_done(reference, make_project, told):
    project = make_project(seeds=2, pause=0.7)
    process = project.start(*PINNED, "--checkpoint", "0.01", "--backend", "slurm")
    until(lambda: half_trained(project))
    (job,) = jobs_of(project)
    slurm(*told, job)
    until(lambda: "Restarts=1" in slurm("scontrol", "show", "job", job))
    (left,) = project.store.checkpoints()
    steps = []
    until(lambda: process.poll() is not None or steps.append(stage_of(project)) or hurried(job))
    while process.poll() is None:
        steps.append(stage_of(project))
        time.sleep(0.02)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 0, out + err
    assert "lost" not in out
    assert min(filter(None, steps)) >= left.stage.step > 20
    assert numbers(project) == {cell: reference[cell] for cell in numbers(project)}
    assert len(numbers(project)) == 2


def stage_of(project):
    return max((one.stage.step for one in project.store.checkpoints()), default=0)
