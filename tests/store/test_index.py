import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import pytest

from benchmark.store import RunRecord, Store, index, now

HERE = str(Path(__file__).parent)


def state(store: Store) -> str:
    con = store.connect()
    try:
        return con.execute("select index_state from store_info").fetchall()[0][0]
    finally:
        con.close()


def rows(store: Store, query: str) -> list[tuple]:
    con = store.connect()
    try:
        return con.execute(query).fetchall()
    finally:
        con.close()


def everything(store: Store) -> list:
    views = ("cells", "attempts", "finals", "curves")
    con = store.connect()
    try:
        return [list(map(repr, con.execute(f"select * from {view} order by all").fetchall())) for view in views]
    finally:
        con.close()


def test_an_empty_store_answers_every_view(store):
    for view in ("cells", "attempts", "finals", "curves", "runs"):
        assert rows(store, f"from {view}") == []
    assert rows(store, "select schema_version, shards, cells from store_info") == [(2, 0, 0)]
    assert not store.root.exists()


def test_the_views_hold_what_was_written(store, record):
    store.write_shard([record(1), record(2, status="failed", finals={}, curve=(), error="ValueError: no")])
    store.save_run(RunRecord("run-1", argv=("bench", "run"), started_at=now(), experiment="paper", profile="compact"))
    cell = record(1).cell_id
    assert rows(store, f"select * from finals where cell_id = '{cell}' and metric = 'loss'") == [
        (cell, "2parity", "mask", 1, "compact", "loss", 0.1, True)
    ]
    assert rows(store, "select step, value from curves order by step")[1] == (1, 0.5)
    assert rows(store, "select status, error from cells order by status") == [
        ("failed", "ValueError: no"),
        ("finished", None),
    ]
    assert rows(store, "select run_id, experiment, status from runs") == [("run-1", "paper", "running")]
    assert rows(store, "select resolved->>'$.task' from cells where seed = 1") == [("2parity",)]


def test_nan_and_infinity_stay_what_they_are_and_are_no_null(store, record):
    store.write_shard([record(finals={"a": math.nan, "b": math.inf, "c": -math.inf, "d": 1e-308, "e": 0.1 + 0.2})])
    found = {
        metric: (value, finite) for metric, value, finite in rows(store, "select metric, value, is_finite from finals")
    }
    assert math.isnan(found["a"][0])
    assert [found[name] for name in "bcde"] == [
        (math.inf, False), (-math.inf, False), (1e-308, True), (0.30000000000000004, True),
    ]  # fmt: skip
    assert found["a"][1] is False


def test_an_index_is_built_once_then_added_to(store, record):
    store.write_shard([record(1)])
    assert state(store) == "rebuilt"
    assert state(store) == "current"
    store.write_shard([record(2)])
    assert state(store) == "updated"
    assert state(Store(store.root)) == "current"


def test_an_index_added_to_equals_one_built_anew(store, record):
    for i in range(6):
        store.write_shard([record(i), record(i + 3, status="failed")])
        store.connect().close()
    added = everything(store)
    store.layout.index.unlink()
    assert everything(store) == added
    assert state(store) == "current"


def test_a_removed_shard_leaves_the_index(store, record):
    store.write_shard([record(1)])
    path = store.write_shard([record(2)])
    assert len(rows(store, "from cells")) == 2
    path.unlink()
    assert len(rows(store, "from cells")) == 1


def test_a_reader_keeps_its_answer_while_the_index_is_replaced(store, record):
    store.write_shard([record(1)])
    old = store.connect()
    store.write_shard([record(2)])
    assert len(rows(store, "from cells")) == 2
    assert old.execute("select count(*) from cells").fetchall() == [(1,)]


@pytest.mark.parametrize("damage", ["empty", "text", "flipped", "cut", "other tables", "other version"])
def test_a_damaged_index_is_rebuilt_with_a_note(store, record, damage):
    store.write_shard([record(1), record(2)])
    expected = everything(store)
    break_index(store, damage)
    fresh = Store(store.root)
    assert everything(fresh) == expected
    assert state(fresh) == "current"
    assert fresh.warnings == ["the index was unusable and is rebuilt from the shards"]


def break_index(store: Store, damage: str) -> None:
    path = store.layout.index
    data = bytearray(path.read_bytes())
    if damage == "other tables":
        path.unlink()
        duckdb.connect(str(path)).execute("create table x (a integer)")
    elif damage == "other version":
        con = duckdb.connect(str(path))
        con.execute("update meta set value = '0.0'")
        con.close()
    elif damage == "flipped":
        for position in range(0, len(data), 997):
            data[position] ^= 4
        path.write_bytes(data)
    else:
        path.write_bytes({"empty": b"", "text": b"not a database", "cut": bytes(data[: len(data) // 2])}[damage])


def test_a_bit_flipped_in_the_index_never_gives_a_wrong_answer_and_is_mended(store, record):
    store.write_shard([record(i) for i in range(5)])
    expected = everything(store)
    sound = store.layout.index.read_bytes()
    mended = 0
    for position in range(100, len(sound), len(sound) // 15):
        data = bytearray(sound)
        data[position] ^= 16
        store.layout.index.write_bytes(data)
        found, mend = answer_or_mend(store)
        mended += mend
        assert found == expected, position
    assert mended > 0


def answer_or_mend(store: Store) -> tuple[list | None, bool]:
    try:
        return everything(store), False
    except duckdb.Error as error:  # DuckDB checks a block when a query needs it
        return everything(store) if store.mend_index(error) else None, True


def test_only_a_damaged_index_is_thrown_away(store, record):
    store.write_shard([record(1)])
    con = store.connect()
    with pytest.raises(duckdb.Error) as wrong:
        con.execute("select nonsense")
    assert not store.mend_index(wrong.value)
    assert store.layout.index.exists()


def test_a_disk_too_full_for_the_index_is_answered_from_the_shards(store, record, monkeypatch):
    store.write_shard([record(1)])

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(index, "_build", full)
    assert state(store) == "in memory"
    assert "No space left on device" in store.warnings[0]
    assert len(rows(store, "from cells")) == 1
    assert sorted(path.name for path in store.root.iterdir()) == ["shards", "verified.json"]


READ_ONLY = """
import os, sys
sys.path.insert(0, sys.argv[2])
from conftest import make_record
from benchmark.store import Store
from benchmark.errors import StoreError
import tempfile
warm = Store(tempfile.mkdtemp())
warm.write_shard([make_record(1)])
warm.connect().close()  # everything is imported before the rights go
os.chdir(sys.argv[1])
os.setuid(65534)
assert not os.access(".", os.W_OK)
store = Store(".")
info = store.connect().execute("select index_state, cells from store_info").fetchall()[0]
print(len(store.finished()), info, store.warnings)
try:
    store.write_shard([make_record(9)])
except StoreError as error:
    print(error)
"""


@pytest.fixture
def open_folder():
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)  # tmp_path lies below a folder only its owner may enter
        yield Path(name)


@pytest.mark.parametrize("indexed", [True, False])
def test_a_store_that_cannot_be_written_to_can_be_read(open_folder, record, indexed):
    if os.geteuid() != 0:
        pytest.skip("giving up rights needs root")
    store = Store(open_folder / "results")
    store.write_shard([record(1), record(2)])
    if indexed:
        store.connect().close()
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, str(store.root), HERE], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    answer, error = done.stdout.splitlines()
    assert answer == f"2 ('{'current' if indexed else 'in memory'}', 2) []"
    assert "Permission denied. Make the folder writable" in error


@pytest.mark.parametrize(
    "attack",
    [
        "copy cells to 'stolen.csv'",
        "copy (select 1) to 'results/shards/x.parquet'",
        "attach 'other.duckdb' as other",
        "select * from read_csv('/etc/passwd')",
        "select * from read_text('/etc/passwd')",
        "insert into idx.records select * from idx.records",
        "drop table idx.records",
        "delete from idx.kept",
        "set enable_external_access = true",
        "install httpfs",
        "load httpfs",
        "set allowed_directories = ['/']",
        "export database 'dump'",
    ],
)
def test_no_statement_reaches_the_store_the_files_or_the_network(store, record, attack, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store.write_shard([record(1)])
    con = store.connect()
    with pytest.raises(duckdb.Error):
        con.execute(attack)
    con.close()
    assert len(rows(store, "from cells")) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results"]


def test_a_hundred_shards_added_one_by_one_are_all_there(store, record):
    for i in range(100):
        store.write_shard([record(i)])
        if i % 25 == 0:
            store.connect().close()
    assert rows(store, "select count(*), count(distinct cell_id) from cells") == [(100, 100)]
