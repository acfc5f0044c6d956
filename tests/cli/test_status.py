"""`bench status`: counts, what runs now, what failed."""

import json
import signal
import subprocess
import sys
import time

import pytest

from benchmark.cli.shell import main
from benchmark.identity import hash_resolved
from benchmark.records import CellRecord
from benchmark.store import Heartbeat, RunRecord, Store, new_attempt_id


def record(seed: int, **changes) -> CellRecord:
    resolved = {"seed": seed}
    values = {
        "cell_id": hash_resolved(resolved), "attempt_id": new_attempt_id(), "run_id": "run-1", "task": "2parity",
        "initializer": "mask", "seed": seed, "profile": "compact", "resolved": resolved, "status": "finished",
    }  # fmt: skip
    return CellRecord(**{**values, **changes})


@pytest.fixture
def store(tmp_path):
    filled = Store(tmp_path / "results")
    trace = 'Traceback (most recent call last):\n  File "x.py", line 1\nValueError: the mask is empty\n'
    filled.write_shard([record(0), record(1, status="failed", error=trace)])
    ids = tuple(record(i).cell_id for i in range(4))
    filled.save_run(RunRecord("run-1", experiment="paper", profile="compact", started_at="2026", cell_ids=ids))
    filled.beat(
        Heartbeat("run-1", "s1", task="2parity", cell_ids=ids[2:3], step=30, steps_planned=90, metrics={"loss": 0.25})
    )
    return filled


@pytest.fixture
def bench(store, capsys):
    def call(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["status", "--store", str(store.root), *arguments])
        assert ended.value.code == 0
        return capsys.readouterr()

    return call


def test_the_last_run_is_counted_and_what_trains_is_shown(bench):
    out = bench().out
    lines = [line.split() for line in out.splitlines()]
    assert lines[1] == ["paper", "compact", "run-1", "running", "1", "0", "1", "1", "1", "4"]
    assert "30/90" in out
    assert "loss=0.25" in out


def test_a_failed_cell_shows_the_last_line_and_with_errors_all_of_it(bench):
    short = bench().out
    assert "failed: 2parity × mask, seed 1" in short
    assert "ValueError: the mask is empty (x.py:1)" in short
    assert "Traceback" not in short
    assert "Traceback" in bench("--errors").out


def test_json_holds_the_same(bench):
    data = json.loads(bench("--json").out)
    assert data["experiments"][0]["missing"] == 1
    assert data["stacks"][0]["alive"] is True
    assert data["failures"][0]["reason"] == "ValueError: the mask is empty (x.py:1)"
    assert "Traceback" in data["failures"][0]["error"]


def test_a_damaged_shard_is_named_once_and_then_counted(store, bench):
    path = store.write_shard([record(3)])
    path.write_bytes(path.read_bytes()[:-1])
    assert "was moved to" in bench().err
    told = bench()
    assert told.err == ""
    assert "1 damaged files" in told.out


def test_an_empty_store_says_what_to_do(capsys, tmp_path):
    with pytest.raises(SystemExit):
        main(["status", "--store", str(tmp_path)])
    assert "bench run SPEC" in capsys.readouterr().out


def test_compaction_is_asked_for_by_name(store, bench):
    store.write_shard([record(3)])
    assert "2 files became 1, 3 attempts" in bench("--compact").err
    assert len(store.shards().shards) == 1


def test_watching_goes_on_until_interrupted(store):
    command = [
        sys.executable,
        "-m",
        "benchmark.cli",
        "status",
        "--store",
        str(store.root),
        "--watch",
        "--json",
        "--interval",
        "0.2",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    looks = [json.loads(process.stdout.readline()) for _ in range(2)]
    store.write_shard([record(2)])
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and looks[-1]["experiments"][0]["finished"] < 2:
        looks.append(json.loads(process.stdout.readline()))
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=20)
    assert [looks[0]["experiments"][0]["finished"], looks[-1]["experiments"][0]["finished"]] == [1, 2]
    assert process.returncode == 0, error
    assert error == ""
