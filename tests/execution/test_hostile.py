"""Whatever a plugin does to its process, the cell trains or fails with its reason, and its neighbours never know."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmark.cell import Cell
from benchmark.execution.job import Request
from benchmark.execution.process import DeathError, Place, ProcessPool, TimeLimitError
from benchmark.identity import cell_id
from benchmark.registry import Registry
from benchmark.store import Store

HERE = Path(__file__).parent
NAP = f"76543{os.getpid()}"
BENCH = [sys.executable, "-m", "benchmark.cli"]


@pytest.fixture(scope="module")
def pool():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOSTILE_NAP", NAP)
        pool = ProcessPool()
        yield pool
        pool.close()


@pytest.fixture(scope="module")
def request_for(toy_job):
    """`request_for(initialiser)`: to train one cell with it."""
    registry = Registry.discover()
    for name in ("toy.py", "hostile.py"):
        registry.add_file(HERE / name)
    task = registry.task("toy_regression")()

    def make(name):
        start = registry.initializer(name)()
        cell = Cell(cell_id(task, start, "compact", 0), "toy", name, 0, "compact", task, start)
        return Request(toy_job([cell], plugins=registry.plugin_files))

    return make


@pytest.fixture(scope="module")
def ask(pool, request_for):
    """`ask(initialiser)`: a real process trains one cell with it."""

    def make(name, seconds=20.0):
        with pool.process(Place(None, 1)) as process:
            return process.ask(request_for(name), seconds=seconds)

    return make


def sleeping(nap):
    """Processes that sleep for that long."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [path.parent.name] if nap in path.read_text() else []
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("segfaults", r"killed by SIGSEGV \(a fault in native code\) \(.*hostile\.py:\d+\)\.\n"),
        ("aborts", r"killed by SIGABRT \(native code gave up\) \("),
        ("kills_itself", r"killed by SIGKILL \(often: .*\)\.\nIt last wrote:\nloading shard 3 of 7"),
        ("kills_its_group", r"killed by SIGKILL"),
        ("kills_its_parent", r"was lost: its guard is gone"),
        ("exits_at_once", r"ended with exit code 0\."),
        ("closes_descriptors", r"a plugin closed descriptors that are not its own"),
        ("closes_and_opens", r"a plugin closed descriptors that are not its own"),
        ("writes_everywhere", r"a plugin wrote into its channel"),
    ],
)
def test_a_process_that_does_not_come_back_is_told_by_what_ended_it(ask, name, why):
    with pytest.raises(DeathError, match=rf"(?s){why}"):
        ask(name)


@pytest.mark.parametrize(("name", "place"), [("loops_in_c", r" \(.*hostile\.py:\d+\)$"), ("loops_deaf", "passed$")])
def test_a_loop_is_ended_by_the_time_limit_and_says_where_it_was(ask, name, place):
    began = time.monotonic()
    with pytest.raises(TimeLimitError, match=place):
        ask(name, seconds=5.0)
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("name", "error"), [("asks", "EOFError"), ("breaks", "bdb.BdbQuit"), ("allocates", "MemoryError")]
)
def test_who_asks_a_user_or_for_too_much_fails_with_a_traceback(ask, name, error):
    (ended,) = ask(name).ended
    assert ended.status == "failed"
    assert ended.error.startswith(error)


def test_what_is_ordinary_trains_in_one_process_that_is_used_again(ask, pool):
    finals = {
        name: ask(name).ended[0].finals for name in ("behaves", "prints", "starts_a_reader", "loads_with_workers")
    }
    assert len({tuple(found.items()) for found in finals.values()}) == 1
    assert len(pool.idle[Place(None, 1)]) == 1


@pytest.mark.parametrize(
    ("name", "spent"),
    [
        ("uses_a_pool", ()),  # leaves its resource tracker
        ("leaves_a_thread", ("threads",)),
        ("keeps_memory", ("memory",)),
        ("changes_the_world", ("signal handlers", "module path")),  # a cell's world puts the others back
    ],
)
def test_a_process_in_which_anything_is_left_is_not_used_again(ask, pool, name, spent):
    reply = ask(name)
    assert reply.ended[0].status == "finished"
    assert reply.spent == spent
    assert not pool.idle[Place(None, 1)]


@pytest.mark.parametrize("name", ["leaves_a_child", "leaves_a_daemon"])
def test_what_a_cell_started_ends_with_it(pool, request_for, name):
    with pool.process(Place(None, 1)) as process:
        assert process.ask(request_for(name), seconds=20).ended[0].status == "finished"
        assert sleeping(NAP)
    assert not sleeping(NAP)
    assert not pool.idle[Place(None, 1)]


def test_a_child_that_returns_from_a_plugins_fork_stores_nothing(pool, request_for):
    request = request_for("returns_twice")
    with pool.process(Place(None, 1)) as process:
        assert process.ask(request, seconds=20).ended[0].status == "finished"
        end = time.monotonic() + 20
        while not process.reusable() and time.monotonic() < end:
            time.sleep(0.05)  # the child trains on until it is to say so
        assert process.reusable()
    assert len(Store(request.job.store).attempts()) == 1


# --- whole runs ----------------------------------------------------------------------------------------------------

SPEC = """
experiment: hostile
seeds: {seeds}
plugins: [toy.py, hostile.py]
tasks: [{{name: toy_regression, parameters: {{pause: {pause}}}}}]
initializers: [{names}]
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """`run(names, *options)`: a run's exit code, what it said, and its store; each in a folder of its own."""

    monkeypatch.setenv("HOSTILE_NAP", NAP)

    def make(names, *options, pause=0.0, seeds=1, wait=True):
        folder = tmp_path / str(len([*tmp_path.iterdir()]))
        folder.mkdir()
        for name in ("toy.py", "hostile.py"):
            shutil.copy(HERE / name, folder)
        (folder / "hostile.yaml").write_text(SPEC.format(names=names, pause=pause, seeds=seeds))
        options = options if "--execution" in options else ("--execution", "alone", *options)
        command = [*BENCH, "run", "hostile.yaml", *options]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = process.communicate(timeout=200)[0] if wait else ""
        return process, said, Store(folder / "results")

    return make


@pytest.mark.slow
def test_neighbours_of_hostile_cells_have_the_very_numbers_they_have_alone(run):
    good = "behaves, toy_plain, prints"
    alone = {(r.initializer, r.seed): (r.finals, r.curve) for r in run(good)[2].records()}
    assert len(alone) == 3
    bad = "segfaults, changes_the_world, leaves_a_daemon, loops_in_c, exits_at_once"
    process, said, store = run(f"{bad}, {good}", "--workers", "2", "--cell-timeout", "10")
    records = {(r.initializer, r.seed): r for r in store.records()}
    assert process.returncode == 3
    assert {key: (records[key].finals, records[key].curve) for key in alone} == alone
    for name, status in {"segfaults": "killed", "loops_in_c": "timeout", "exits_at_once": "killed"}.items():
        assert records[name, 0].status == status
    assert "segfaults, seed 0: killed: The training process was killed by SIGSEGV (a fault in native code)" in said
    assert "loops_in_c, seed 0: timeout: The time limit of 10 s per cell passed (" in said
    assert not sleeping(NAP)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_cell_started_ends_with_the_run_however_that_ends(run, number):
    process, _, _ = run("leaves_a_daemon", "--workers", "1", pause=60, wait=False)
    end = time.monotonic() + 60
    while not sleeping(NAP) and time.monotonic() < end:
        time.sleep(0.05)
    assert sleeping(NAP)
    process.send_signal(number)
    process.communicate(timeout=30)
    end = time.monotonic() + 10
    while sleeping(NAP) and time.monotonic() < end:
        time.sleep(0.05)
    assert not sleeping(NAP)


@pytest.mark.slow
def test_a_cell_that_hangs_while_modes_are_measured_is_ended_by_the_time_limit(run):
    process, said, store = run("loops_deaf, behaves", "--execution", "auto", "--workers", "1", "--cell-timeout", "8")
    assert process.returncode == 3
    assert "the measurement failed; its cells run alone" in said
    assert {(r.initializer, r.status) for r in store.records()} == {("loops_deaf", "timeout"), ("behaves", "finished")}
