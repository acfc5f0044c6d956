import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from benchmark.errors import StoreError
from benchmark.store import Heartbeat, RunRecord, Store, heartbeats, new_run_id, now
from benchmark.store.layout import process_start
from benchmark.store.overview import overview


def dead_process() -> tuple[int, float]:
    """Pid and start time of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = process_start(process.pid)
    process.communicate(b"\n")
    return process.pid, started


def test_a_run_comes_back_as_it_was(store):
    run = RunRecord(
        new_run_id(), argv=("bench", "run", "a b.yaml"), started_at=now(), experiment="paper", profile="compact",
        spec={"seeds": [0, 1], "rate": 1e-3}, source="name: paper\n# ü\n", cell_ids=("a", "b"),
        environment={"python": "3.11"}, counts={"planned": 2},
    )  # fmt: skip
    store.save_run(run)
    assert store.runs() == [run]
    store.save_run(replace(run, status="complete", ended_at=now()))
    (ended,) = store.runs()
    assert ended.status == "complete"
    assert {path.suffix for path in store.layout.runs.rglob("*") if path.is_file()} == {".json", ".txt"}  # no drafts


def test_runs_are_listed_oldest_first(store):
    for moment in ("2026-01-02", "2026-01-01", "2026-01-03"):
        store.save_run(RunRecord(f"run-{moment}", started_at=moment))
    assert [run.started_at for run in store.runs()] == ["2026-01-01", "2026-01-02", "2026-01-03"]


def test_a_damaged_run_file_is_named_and_the_rest_is_read(store):
    store.save_run(RunRecord("good"))
    (store.layout.runs / "bad.json").write_text('{"run_id": ')
    assert [run.run_id for run in store.runs()] == ["good"]
    assert "bad.json" in store.warnings[0]


def test_a_run_of_a_later_version_is_read_without_what_is_unknown(store):
    store.save_run(RunRecord("later"))
    path = store.layout.runs / "later.json"
    path.write_text(path.read_text().replace('"run_id"', '"colour": "red", "run_id"'))
    assert store.runs()[0].run_id == "later"


def test_a_run_id_that_is_no_file_name_is_refused(store):
    with pytest.raises(StoreError, match="run_id"):
        store.save_run(RunRecord("../x"))


def test_a_run_whose_process_is_gone_has_died(store):
    pid, started = dead_process()
    store.save_run(RunRecord("alive", experiment="a", started_at="1"))
    store.save_run(RunRecord("gone", experiment="b", started_at="2", pid=pid, process_start=started))
    store.save_run(RunRecord("away", experiment="c", started_at="3", host="elsewhere"))
    assert [experiment.state for experiment in overview(store).experiments] == ["running", "died", "running"]


def test_a_pid_used_again_is_not_mistaken_for_the_old_process():
    assert RunRecord("r").is_alive()
    assert RunRecord("r", process_start=(process_start(os.getpid()) or 0) - 1).is_alive() is False


def test_heartbeats_come_and_go(store):
    beat = Heartbeat("run-1", "stack-1", task="2parity", cell_ids=("a", "b"), step=3, metrics={"loss": float("inf")})
    store.beat(beat)
    store.beat(replace(beat, step=4))
    (found,) = store.heartbeats()
    assert found == replace(beat, step=4)
    store.end_beat("run-1", "stack-1")
    store.end_beat("run-1", "stack-1")
    assert store.heartbeats() == []
    assert list(store.layout.running.iterdir()) == []


def test_heartbeats_of_dead_processes_are_swept_and_others_stay(store):
    pid, started = dead_process()
    store.beat(Heartbeat("r", "mine"))
    store.beat(Heartbeat("r", "dead", pid=pid, process_start=started))
    store.beat(Heartbeat("r", "away", host="elsewhere", pid=pid))
    store.beat(Heartbeat("r", "silent", host="elsewhere"))
    path, long_ago = store.layout.running / "r" / "silent.json", time.time() - heartbeats.SILENCE - 5
    os.utime(path, (long_ago, long_ago))
    assert {beat.stack_id for beat in store.sweep_heartbeats()} == {"dead", "silent"}
    assert {beat.stack_id for beat in store.heartbeats()} == {"mine", "away"}


def test_a_heartbeat_never_stops_training(tmp_path):
    (tmp_path / "file").write_text("")
    Store(tmp_path / "file").beat(Heartbeat("r", "s"))


def test_a_half_written_heartbeat_is_passed_over(store):
    store.beat(Heartbeat("r", "s"))
    (store.layout.running / "r" / "t.json").write_text('{"run_id": "r"')
    assert len(store.heartbeats()) == 1


def test_the_first_execution_mode_decided_for_a_shape_holds(store):
    assert store.execution() == {}
    assert store.decide_execution("shape", {"mode": "stack", "seconds": {"stack": 0.1}})["mode"] == "stack"
    assert store.decide_execution("shape", {"mode": "alone"})["mode"] == "stack"
    store.decide_execution("other", {"mode": "compiled"})
    assert {key: entry["mode"] for key, entry in Store(store.root).execution().items()} == {
        "shape": "stack", "other": "compiled",
    }  # fmt: skip


def test_a_damaged_execution_file_means_probing_again(store):
    store.decide_execution("shape", {"mode": "stack"})
    store.layout.execution.write_text("{")
    assert store.execution() == {}
    assert store.decide_execution("shape", {"mode": "alone"})["mode"] == "alone"


def test_a_provisional_decision_holds_until_one_was_measured(store):
    assert store.decide_execution("shape", {"mode": "alone", "provisional": True})["mode"] == "alone"
    assert store.decide_execution("shape", {"mode": "stack:2", "provisional": True})["mode"] == "alone"
    assert store.decide_execution("shape", {"mode": "stack:4"})["mode"] == "stack:4"
    assert store.decide_execution("shape", {"mode": "compiled"})["mode"] == "stack:4"


def test_processes_deciding_at_once_agree(store):
    code = """
import sys
from benchmark.store import Store
store = Store(sys.argv[1])
print([store.decide_execution(f"shape{i}", {"mode": sys.argv[2]})["mode"] for i in range(20)])
"""
    command = [sys.executable, "-c", code, str(store.root)]
    deciders = [subprocess.Popen([*command, str(i)], stdout=subprocess.PIPE, text=True) for i in range(3)]
    answers = {decider.communicate(timeout=60)[0] for decider in deciders}
    assert len(answers) == 1
    assert len(store.execution()) == 20


def test_the_overview_counts_the_last_run_of_each_experiment(store, record):
    ids = tuple(record(i).cell_id for i in range(6))
    store.save_run(RunRecord("old", experiment="paper", started_at="1", cell_ids=ids[:1]))
    store.save_run(RunRecord("new", experiment="paper", started_at="2", cell_ids=ids))
    store.write_shard(
        [
            record(0),
            record(1, status="diverged"),
            record(2, status="failed", error="Traceback (most recent call last)\nE: no"),
        ]
    )
    store.write_shard([record(3, status="killed"), record(9)])
    store.beat(Heartbeat("new", "s", cell_ids=(ids[3], ids[4])))
    found = overview(store)
    (experiment,) = found.experiments
    counts = (experiment.finished, experiment.diverged, experiment.failed, experiment.running, experiment.missing)
    assert counts == (1, 1, 1, 2, 1)
    assert experiment.total == sum(counts)
    assert [failure.reason for failure in found.failures] == ["E: no", "killed"]
    assert found.cells == 3


def test_machines_of_one_name_are_told_apart_by_boot_and_process_namespace(monkeypatch):
    from benchmark.store import layout

    names = set()
    for boot, namespace in (("a", "pid:[1]"), ("a", "pid:[2]"), ("b", "pid:[1]")):
        layout.host.cache_clear()
        monkeypatch.setattr(layout.Path, "read_text", lambda _, boot=boot: boot)
        monkeypatch.setattr(layout.os, "readlink", lambda _, namespace=namespace: namespace)
        names.add(layout.host())
    layout.host.cache_clear()
    assert len(names) == 3
    assert len({name.partition("-")[0] for name in names}) == 1
