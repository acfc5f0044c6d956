"""Claims of cells by runs that know nothing of each other but the folder."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from benchmark.store import Heartbeat, RunRecord, Store
from benchmark.store.claims import Arrivals
from benchmark.store.heartbeats import SILENCE

CELLS = ("a", "b", "c")


def beat(store, run, **values):
    store.beat(Heartbeat(run, "0", cell_ids=CELLS, **values))


def test_who_was_first_has_the_cell_whatever_the_clocks_say(store):
    beat(store, "first", started_at=time.time() + 86400)
    assert store.claim("first", "0", CELLS) == set()
    beat(store, "second", started_at=0.0)
    assert store.claim("second", "0", ("b", "d")) == {"b"}
    assert store.claim("first", "0", CELLS) == set()
    store.release("first", "0", CELLS)
    assert store.claim("second", "0", CELLS) == set()


def test_the_claim_says_who_and_when(store):
    beat(store, "first")
    store.claim("first", "0", ("a",))
    run, stack, machine, since = (store.layout.claims / "a").read_text().split("\n")
    assert (run, stack) == ("first", "0")
    assert machine
    assert since.startswith("20")


def test_the_cells_of_a_dead_process_are_taken_over_at_once(store):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    beat(store, "dead", pid=dead.pid, process_start=1.0)
    store.claim("dead", "0", CELLS)
    beat(store, "living")
    assert store.claim("living", "0", CELLS) == set()
    store.release("dead", "0", CELLS)  # it was not dead after all, and lets the new owner's claims be
    beat(store, "third")
    assert store.claim("third", "0", CELLS) == set(CELLS)


def test_another_machine_is_dead_after_its_silence_by_the_clock_of_the_file_system(store):
    for offset in (-86400.0, 86400.0):  # its clock is a day off
        now = time.time()
        beat(store, "far", host="elsewhere", beaten_at=now + offset)
        store.claim("far", "0", CELLS)
        beat(store, "near")
        assert store.claim("near", "0", CELLS) == set(CELLS)
    path = store.layout.running / "far" / "0.json"
    os.utime(path, (now, now - SILENCE - 5))
    assert store.claim("near", "0", CELLS) == set()


def test_claims_of_the_dead_are_swept_and_those_of_the_living_stay(store):
    beat(store, "living")
    store.claim("living", "0", ("a",))
    store.claim("gone", "0", ("b",))
    store.sweep_heartbeats()
    assert [path.name for path in store.layout.claims.iterdir()] == ["a"]


RACE = """
import sys
from benchmark.store import Heartbeat, Store
store, name = Store(sys.argv[1]), sys.argv[2]
store.beat(Heartbeat(name, "0"))
sys.stdin.readline()
cells = [f"cell{i}" for i in range(300)]
print(*sorted(set(cells) - store.claim(name, "0", cells)))
sys.stdin.readline()
"""


def test_of_runs_that_claim_at_once_each_cell_has_one(store):
    command = [sys.executable, "-c", RACE, str(store.root)]
    racers = [
        subprocess.Popen([*command, str(i)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for i in range(3)
    ]
    store.claim("dead", "0", [f"cell{i}" for i in range(0, 300, 3)])  # and some have to be taken over
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    won = [cell for racer in racers for cell in racer.stdout.readline().split()]
    for racer in racers:
        racer.communicate("end\n", timeout=60)
    assert sorted(won) == sorted(f"cell{i}" for i in range(300))


def test_what_another_run_finishes_is_seen_and_nothing_is_read_alone(store, record, monkeypatch):
    store.write_shard([record(0)])
    os.utime(next(store.layout.shards.iterdir()), (1, 1))
    store.save_run(RunRecord("mine"))
    arrivals = Arrivals(store.layout, "mine")
    monkeypatch.setattr("benchmark.store.claims.read_table", None)
    assert arrivals.look() == set()  # and did not look
    monkeypatch.undo()
    store.beat(Heartbeat("other", "0"))
    store.write_shard([record(1), record(2, status="failed", error="no")])
    assert arrivals.look() == {record(1).cell_id}


def test_runs_that_ask_for_the_same_cells_keep_the_list_once(store):
    ids = tuple(f"{k:064x}" for k in range(2000))
    for k in range(20):
        store.save_run(RunRecord(f"run{k}", cell_ids=ids, started_at=str(k)))
    files = [path for path in store.layout.runs.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 200_000
    found = Store(store.root).runs()
    assert len(found) == 20
    assert all(len(run.cell_ids) == 2000 for run in found)
    assert tuple(found[3].cell_ids) == ids
    assert found[0].cell_ids == found[1].cell_ids
