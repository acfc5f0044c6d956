"""Writers killed without warning, many processes at once."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmark.store import Store

HERE = str(Path(__file__).parent)
WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
from conftest import make_record
from benchmark.records import CurvePoint
from benchmark.store import Store
store, first, count = Store(sys.argv[1]), int(sys.argv[3]), int(sys.argv[4])
curve = tuple(CurvePoint("loss", step, step / 7) for step in range(500))
for i in range(first, first + count, 2):
    pair = [make_record(i, curve=curve), make_record(i + 1, curve=curve)]
    store.write_shard(pair)
    for record in pair:
        print(record.cell_id, flush=True)
"""
COMPACTER = """
import sys
from benchmark.store import Store
print("ready", flush=True)
Store(sys.argv[1]).compact(threshold=1)
"""


DIES = """
import os, pathlib, signal, sys
sys.path.insert(0, sys.argv[2])
from conftest import make_record
from benchmark.store import Store, layout

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

class Half:
    def __init__(self, file): self.file = file
    def __enter__(self): return self
    def __exit__(self, *_): self.file.close()
    def write(self, data):
        self.file.write(data[: len(data) // 2])
        self.file.flush()
        die()

store, moment, open_file = Store(sys.argv[1]), sys.argv[3], pathlib.Path.open
store.write_shard([make_record(1)])
print(make_record(1).cell_id, flush=True)
if moment == "half written":
    pathlib.Path.open = lambda path, *mode, **more: Half(open_file(path, *mode, **more))
elif moment == "before the sync":
    os.fsync = die
elif moment == "before the rename":
    pathlib.Path.replace = die
else:
    layout.sync_folder = die
store.write_shard([make_record(2)])
"""


def start(code: str, *arguments: object) -> subprocess.Popen:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def kill_after(process: subprocess.Popen, seconds: float) -> list[str]:
    """Wait for the first line, then that long, then kill -9; returns every line it had printed."""
    lines = [process.stdout.readline().strip()]
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate(timeout=60)
    whole = rest.rpartition("\n")[0]
    return [line for line in [*lines, *whole.splitlines()] if len(line) == 64]


@pytest.mark.parametrize("moment", ["half written", "before the sync", "before the rename", "after the rename"])
def test_a_writer_killed_at_each_step_leaves_a_whole_shard_or_none(tmp_path, record, moment):
    process = start(DIES, tmp_path / "results", HERE, moment)
    _, error = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, error
    store = Store(tmp_path / "results")
    whole = {record(1).cell_id, *([record(2).cell_id] if moment == "after the rename" else [])}
    assert set(store.finished()) == whole
    assert store.warnings == []


@pytest.mark.slow
def test_a_writer_killed_at_any_moment_loses_no_acknowledged_cell_and_leaves_none_torn(tmp_path):
    moments = random.Random(11)
    acknowledged: set[str] = set()
    killed = 0
    for round_ in range(6):  # four writers at once, into one store
        writers = [start(WRITER, tmp_path / "results", HERE, (4 * round_ + i) * 100_000, 100_000) for i in range(4)]
        for writer in writers:
            acknowledged |= set(kill_after(writer, moments.uniform(0, 0.03)))
            killed += writer.returncode == -signal.SIGKILL
        store = Store(tmp_path / "results")
        assert acknowledged <= set(store.finished())
        assert store.warnings == []
    assert killed == 24
    assert len(acknowledged) > 24
    assert all(len(record.curve) == 500 for record in store.records())
    assert store.connect().execute("select count(*) from cells").fetchall() == [(len(store.finished()),)]


def test_writers_and_a_reader_do_not_disturb_each_other(tmp_path):
    writers = [start(WRITER, tmp_path / "results", HERE, i * 1000, 60) for i in range(2)]
    store = Store(tmp_path / "results")
    seen = [0]
    while any(writer.poll() is None for writer in writers):
        con = store.connect()
        cells, points = con.execute("select count(distinct cell_id), count(*) from curves").fetchall()[0]
        con.close()
        assert points == 500 * cells
        seen.append(cells)
        assert len(store.finished()) >= cells
    for writer in writers:
        _, error = writer.communicate(timeout=60)
        assert writer.returncode == 0, error
    assert seen == sorted(seen)
    assert len(store.finished()) == 120
    assert store.warnings == []
    assert store.connect().execute("select count(*) from cells").fetchall() == [(120,)]


@pytest.mark.slow
def test_compaction_killed_at_any_moment_loses_nothing_and_counts_nothing_twice(tmp_path, record):
    moments = random.Random(5)
    store = Store(tmp_path / "results")
    store.layout.shards.mkdir(parents=True)
    number = 0
    for _ in range(20):
        for _ in range(12):
            store.write_shard([record(number)])
            number += 1
        kill_after(start(COMPACTER, store.root), moments.uniform(0, 0.25))
        fresh = Store(store.root)
        assert len(fresh.attempts()) == len(fresh.finished()) == number
    assert fresh.connect().execute("select count(*), count(distinct cell_id) from attempts").fetchall() == [
        (number, number)
    ]
    assert fresh.connect().execute("select count(*) from finals").fetchall() == [(3 * number,)]
    assert fresh.warnings == []
