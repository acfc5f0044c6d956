import dataclasses
import hashlib
import json
import math
import os
import random
import resource
import struct
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmark.errors import StoreError
from benchmark.records import CellRecord, CurvePoint, ProbeArray, ProbePoint
from benchmark.store import Store, new_attempt_id, schema, shards
from benchmark.store.layout import TEMPORARY_AGE, temporary

HERE = str(Path(__file__).parent)


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


def exact(record: CellRecord) -> tuple:
    """Everything of a record, floats by their bits so that NaN equals NaN and 0.0 differs from -0.0."""
    finals = sorted((name, bits(value)) for name, value in record.finals.items())
    curve = [(point.name, point.step, bits(point.value)) for point in record.curve]
    plain = dataclasses.replace(record, finals={}, curve=(), seconds=0.0)
    return plain, finals, curve, bits(record.seconds)


def only_shard(store: Store):
    (path,) = store.layout.shards.glob("*.parquet")
    return path


# --- round trip --------------------------------------------------------------------------------------------------

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
floats = st.floats(allow_nan=False) | st.sampled_from([math.nan, math.inf, -math.inf, 1e-308, 5e-324, -0.0, 0.1 + 0.2])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    finals=st.dictionaries(words, floats, max_size=5),
    curve=st.lists(st.tuples(words, st.integers(0, 2**62), floats), max_size=8),
    resolved=st.dictionaries(words, json_values, max_size=4),
    texts=st.tuples(words, words, words, st.none() | words),
    seed=st.integers(-(2**63), 2**63 - 1),
    seconds=floats,
)
def test_every_record_comes_back_bit_for_bit(tmp_path_factory, record, finals, curve, resolved, texts, seed, seconds):
    task, initializer, device, error = texts
    written = record(
        1, finals=finals, curve=tuple(CurvePoint(*point) for point in curve), resolved=resolved, provenance=resolved,
        task=task, initializer=initializer, device=device, error=error, seed=seed, seconds=seconds,
    )  # fmt: skip
    store = Store(tmp_path_factory.mktemp("s"))
    store.write_shard([written])
    (read,) = store.records()
    assert exact(read) == exact(written)


def test_a_curve_of_ten_thousand_points_comes_back(store, record):
    curve = tuple(CurvePoint(f"m{i % 3}", i, math.sin(i)) for i in range(10_000))
    store.write_shard([record(1, curve=curve)])
    assert Store(store.root).records()[0].curve == curve
    assert store.connect().execute("select count(*), max(step) from curves").fetchall() == [(10_000, 9_999)]


def test_a_shard_of_many_cells_keeps_each_ones_curve(store, record):
    written = [record(i, curve=tuple(CurvePoint("loss", s, s + i / 7) for s in range(i))) for i in range(20)]
    store.write_shard(written)
    read = {r.cell_id: r for r in store.records()}
    assert [exact(read[w.cell_id]) for w in written] == [exact(w) for w in written]


def test_a_traceback_with_undecodable_file_names_is_stored(store, record):
    store.write_shard([record(1, status="failed", error="no file \udcff")])
    assert store.records()[0].error == "no file \\udcff"


def test_the_name_carries_the_checksum_of_the_whole_file(store, record):
    path = store.write_shard([record()])
    assert path.name.endswith(f"-{hashlib.sha256(path.read_bytes()).hexdigest()[:32]}.parquet")
    assert list(path.parent.iterdir()) == [path]


def test_the_schema_version_is_in_the_file(store, record):
    path = store.write_shard([record()])
    assert pq.read_metadata(path).metadata[schema.VERSION_KEY] == str(schema.SCHEMA_VERSION).encode()


def test_attempt_ids_differ_and_sort_by_time():
    ids = []
    for _ in range(100):
        ids.append(new_attempt_id())
        time.sleep(2e-6)
    assert len(set(ids)) == 100
    assert ids == sorted(ids)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attempt_id": "../../etc"}, "attempt_id"),
        ({"run_id": ""}, "run_id"),
        ({"cell_id": ""}, "no cell id"),
        ({"resolved": {"x": math.nan}}, "resolved of cell"),
        ({"provenance": {"x": object()}}, "provenance of cell"),
    ],
)
def test_a_record_that_cannot_be_stored_is_refused_whole(store, record, changes, message):
    with pytest.raises(StoreError, match=message):
        store.write_shard([record(1), record(2, **changes)])
    assert not store.layout.shards.exists()


def test_no_records_make_no_shard(store):
    with pytest.raises(StoreError, match="at least one"):
        store.write_shard([])


# --- damage ------------------------------------------------------------------------------------------------------


def damaged_store(store: Store, record, damage) -> Store:
    store.write_shard([record(1)])
    victim = store.write_shard([record(2)])
    damage(victim)
    return Store(store.root)


def assert_set_aside(fresh: Store, record) -> None:
    assert set(fresh.finished()) == {record(1).cell_id}
    assert any("damaged" in warning and "will run again" in warning for warning in fresh.warnings)
    (reason,) = fresh.layout.quarantine.glob("*.reason")
    assert json.loads(reason.read_text())["reason"]
    assert len(list(fresh.layout.quarantine.glob("*.parquet"))) == 1
    assert fresh.connect().execute("select count(*) from cells").fetchall() == [(1,)]


def flip(path, position: int, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1 << bit
    path.write_bytes(data)


def test_every_flipped_bit_is_caught(store, record):
    path = store.write_shard([record()])
    sound = path.read_bytes()
    shards.verify(path)
    numbers = random.Random(7)
    for position in numbers.sample(range(len(sound)), 400):
        flip(path, position, numbers.randrange(8))
        with pytest.raises(shards.DamagedError, match="checksum"):
            shards.verify(path)
        path.write_bytes(sound)
    assert Store(store.root).finished()


def test_a_flipped_bit_sets_one_shard_aside_and_leaves_the_rest(store, record):
    fresh = damaged_store(store, record, lambda path: flip(path, path.stat().st_size // 2, 3))
    assert_set_aside(fresh, record)


@pytest.mark.parametrize("keep", [0, 1, 7, 0.5, 0.99])
def test_a_truncated_shard_is_set_aside(store, record, keep):
    def cut(path):
        data = path.read_bytes()
        path.write_bytes(data[: keep if isinstance(keep, int) else int(keep * len(data))])

    assert_set_aside(damaged_store(store, record, cut), record)


def test_a_bit_that_flips_without_a_new_time_stamp_never_gives_a_number(store, record, monkeypatch):
    path = store.write_shard([record()])
    assert store.records()  # from here on the file is known as verified
    sound, stat = path.read_bytes(), path.stat()
    monkeypatch.setattr(shards, "quarantine", lambda layout, path, reason: f"damaged: {reason}")
    numbers = random.Random(3)
    for position in numbers.sample(range(len(sound)), 200):
        flip(path, position, numbers.randrange(8))
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        fresh = Store(store.root)
        assert fresh.records() == []
        assert fresh.finished() == {}
        assert "checksum" in fresh.warnings[0]


def test_the_index_never_takes_in_a_shard_that_was_damaged_after_it_was_verified(store, record):
    path = store.write_shard([record()])
    store.finished()
    stat = path.stat()
    flip(path, stat.st_size - 40, 1)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert store.connect().execute("select count(*) from cells").fetchall() == [(0,)]
    assert any("damaged" in warning for warning in store.warnings)


def test_damage_in_a_store_that_may_not_be_changed_is_left_out_and_left_there(store, record):
    victim = store.write_shard([record(1)])
    store.write_shard([record(2)])
    store.finished()
    stat = victim.stat()
    flip(victim, 50, 2)
    os.utime(victim, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    before = sorted(store.root.rglob("*"))
    looker = Store(store.root, read_only=True)
    assert looker.connect().execute("select seed from cells").fetchall() == [(2,)]
    assert len(looker.finished()) == len(looker.records()) == 1
    assert "damaged" in looker.warnings[0]
    assert sorted(store.root.rglob("*")) == before


def test_verifying_all_finds_what_the_cache_would_pass_over(store, record):
    path = store.write_shard([record()])
    stat = path.stat()
    assert len(store.shards().shards) == 1
    flip(path, 100, 1)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert len(store.shards().shards) == 1
    assert store.shards(verify_all=True).shards == ()


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"version": 1, "shards": {"x": 3}}', b"\xff\x00"])
def test_a_damaged_cache_is_ignored(store, record, content):
    store.write_shard([record()])
    store.layout.verified.write_bytes(content)
    assert len(store.finished()) == 1


def test_foreign_files_are_named_and_left_alone(store, record):
    store.write_shard([record()])
    for name in ("notes.txt", "copy of a.parquet", ".DS_Store"):
        (store.layout.shards / name).write_text("mine")
    (store.layout.shards / "folder").mkdir()
    assert len(store.finished()) == 1
    assert sum("was ignored" in warning for warning in store.warnings) == 3
    assert (store.layout.shards / "notes.txt").read_text() == "mine"


def test_a_file_with_the_right_checksum_that_is_no_shard_is_set_aside(store, record):
    store.write_shard([record()])
    for data in (b"not parquet at all", foreign_parquet()):
        name = f"x-{hashlib.sha256(data).hexdigest()[:32]}.parquet"
        (store.layout.shards / name).write_bytes(data)
    assert len(store.finished()) == 1
    assert len(list(store.layout.quarantine.glob("*.parquet"))) == 2


def foreign_parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [1]}), sink)
    return bytes(sink.getvalue())


# --- versions ----------------------------------------------------------------------------------------------------


def test_a_newer_schema_is_an_error_that_names_the_version(store, record, monkeypatch):
    newer = schema.arrow_schema().with_metadata({schema.VERSION_KEY: b"7"})
    path = shards.write_table(store.layout, "newer", schema.to_table([record()]).cast(newer))
    for ask in (store.finished, store.connect, store.records):
        with pytest.raises(StoreError, match=r"schema version 7; this InitBench reads versions up to 2"):
            ask()
    assert path.exists()


def test_a_newer_schema_is_noticed_although_a_newer_program_verified_the_file(store, record):
    path = store.write_shard([record()])
    store.finished()
    cached = json.loads(store.layout.verified.read_text())
    cached["shards"][path.name][2] = 9
    store.layout.verified.write_text(json.dumps(cached))
    with pytest.raises(StoreError, match="schema version 9"):
        Store(store.root).finished()


def test_an_older_schema_is_brought_up_to_date(store, record, monkeypatch):
    old = schema.to_table([record(1)])
    old = old.drop_columns(["device"]).replace_schema_metadata({schema.VERSION_KEY: b"0"})
    shards.write_table(store.layout, "old", old)

    def add_device(table):
        column = pa.array(["unknown"] * len(table), pa.string())
        return table.append_column(schema.arrow_schema().field("device"), column)

    monkeypatch.setitem(schema.MIGRATIONS, 0, add_device)
    store.write_shard([record(2)])
    assert sorted(r.device for r in store.records()) == ["", "unknown"]
    assert len(store.finished()) == 2
    assert store.connect().execute("select device from cells order by 1").fetchall() == [("",), ("unknown",)]


def test_a_shard_from_before_there_were_probes_is_read_narrowly_and_whole(store, record):
    old = schema.to_table([record(1)]).drop_columns(["recordings", "points", "arrays"])
    shards.write_table(store.layout, "old", old.replace_schema_metadata({schema.VERSION_KEY: b"1"}))
    assert [(a.status, a.recordings) for a in store.attempts()] == [("finished", "{}")]
    (found,) = store.records()
    assert (found.recordings, found.points, found.arrays) == ({}, (), ())
    assert store.connect().execute("select count(*) from probes").fetchall() == [(0,)]
    assert store.connect().execute("select count(*) from curves").fetchall() == [(4,)]


# --- what probes recorded -----------------------------------------------------------------------------------------


def recorded(key, value, **about):
    points = (ProbePoint(key, "drift", "tv", None, None, 3, value), ProbePoint(key, "drift", "tv", 1, 0, 3, value / 2))
    arrays = (ProbeArray(key, "drift", "bias", 0, 3, (1, 2, 2), (value, 0.0, 0.5, -1.0)),)
    return {"recordings": {key: {"family": "drift", **about}}, "points": points, "arrays": arrays}


def test_recordings_come_back_as_they_were(store, record):
    given = record(1, **recorded("k", 0.25))
    store.write_shard([given])
    (found,) = store.records()
    assert (found.recordings, found.points, found.arrays) == (given.recordings, given.points, given.arrays)


def test_a_recording_is_read_from_the_first_attempt_that_has_it_whole_and_the_numbers_from_the_first(store, record):
    store.write_shard([record(1, finals={"loss": 1.0})])
    store.write_shard([record(1, finals={"loss": 2.0}, **recorded("k", 0.1, error="at step 5: broke"))])
    store.write_shard([record(1, finals={"loss": 3.0}, **recorded("k", 0.2))])
    store.write_shard([record(1, finals={"loss": 4.0}, **recorded("k", 0.3))])
    store.write_shard([record(1, finals={"loss": 5.0}, **recorded("other", 0.4))])
    assert store.recorded() == {record(1).cell_id: {"k", "other"}}
    con = store.connect()
    assert con.execute("select value from finals").fetchall() == [(1.0,)]
    assert con.execute("select recording, layer, head, value from probes order by all").fetchall() == [
        ("k", 1, 0, 0.1), ("k", None, None, 0.2), ("other", 1, 0, 0.2), ("other", None, None, 0.4),
    ]  # fmt: skip
    means = "select metric, step, value from curves where metric <> 'loss' order by value"
    assert con.execute(means).fetchall() == [
        ("drift.tv", 3, 0.2), ("drift.tv", 3, 0.4),
    ]  # fmt: skip
    maps = con.execute("select name, layer, shape, values from heat_maps order by recording").fetchall()
    assert [(name, layer, [*shape], round(values[0], 6)) for name, layer, shape, values in maps] == [
        ("bias", 0, [1, 2, 2], 0.2), ("bias", 0, [1, 2, 2], 0.4),
    ]  # fmt: skip


def test_one_that_only_broke_off_is_shown_as_far_as_it_got_and_counts_as_missing(store, record):
    store.write_shard([record(1, **recorded("k", 0.1, error="at step 5: broke"))])
    assert store.recorded() == {record(1).cell_id: set()}
    assert len(store.connect().execute("select * from probes").fetchall()) == 2


# --- a full disk, no permission -----------------------------------------------------------------------------------


def run_python(code: str, *arguments: str, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **options)


FILL = """
import sys
sys.path.insert(0, sys.argv[2])
from conftest import make_record
from benchmark.errors import StoreError
from benchmark.records import CurvePoint
from benchmark.store import Store
import os
store = Store(sys.argv[1])
acknowledged = []
try:
    for i in range(200):
        noise = os.urandom(400).hex()
        curve = tuple(CurvePoint("m", int.from_bytes(os.urandom(7), "big"), float(s)) for s in range(4000))
        store.write_shard([make_record(i, error=noise, curve=curve)])
        acknowledged.append(make_record(i).cell_id)
except StoreError as error:
    print(error)
    print(sorted(os.listdir(store.layout.shards)) == sorted(p.name for p in store.layout.shards.glob("*.parquet")))
    print(len(acknowledged), len(Store(sys.argv[1]).finished()), set(acknowledged) == set(store.finished()))
    con = store.connect()
    print(con.execute("select count(*) from cells").fetchall()[0][0])
    try:
        store.write_shard([make_record(999, curve=curve)])
    except StoreError:
        print("still full")
"""


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small file system needs root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def assert_survived_full(done: subprocess.CompletedProcess, reason: str) -> int:
    assert done.returncode == 0, done.stderr
    message, clean, counts, indexed, *still = done.stdout.splitlines()
    assert reason in message
    assert "Free some space" in message
    assert clean == "True"
    written, found, same = counts.split()
    assert (written, same) == (found, "True")
    assert int(indexed) == int(found)
    assert still == ["still full"]
    return int(written)


def test_a_full_disk_is_a_clear_error_and_loses_nothing(small_disk, record):
    done = run_python(FILL, str(small_disk / "results"), HERE)
    written = assert_survived_full(done, "No space left on device")
    assert written > 2
    store = Store(small_disk / "results")
    victim = next(store.layout.shards.glob("*.parquet"))
    victim.unlink()  # space again
    store.write_shard([record(500)])
    assert len(Store(store.root).finished()) == written


def test_a_file_size_limit_is_a_clear_error_and_leaves_no_remains(tmp_path):
    limit = 20_000

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = run_python(FILL, str(tmp_path / "results"), HERE, preexec_fn=limited)
    assert assert_survived_full(done, "File too large") == 0


def test_a_store_below_a_file_is_a_clear_error(tmp_path, record):
    (tmp_path / "results").write_text("a file")
    with pytest.raises(StoreError, match=r"cannot write a result .* Nothing already stored was changed"):
        Store(tmp_path / "results").write_shard([record()])


# --- remains of killed writers -------------------------------------------------------------------------------------


def test_old_remains_are_swept_and_young_or_living_ones_are_not(store, record):
    store.write_shard([record()])
    folder = store.layout.shards
    mine = temporary(folder, "mine")
    gone = folder / mine.name.replace(f".{os.getpid()}.", ".4194305.")
    young = folder / mine.name.replace(f".{os.getpid()}.", ".4194306.")
    for path in (mine, gone, young):
        path.write_text("half")
    past = time.time() - TEMPORARY_AGE - 10
    for path in (mine, gone):
        os.utime(path, (past, past))
    assert len(store.finished()) == 1
    assert mine.exists()
    assert young.exists()
    assert not gone.exists()


# --- size --------------------------------------------------------------------------------------------------------


def test_a_shard_written_as_before_reads_the_same(store, record):
    table = schema.to_table([record(1), record(2, status="failed", finals={}, curve=(), error="ValueError: no")])
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="snappy", write_page_checksum=True)
    data = bytes(sink.getvalue())
    store.layout.shards.mkdir(parents=True)
    (store.layout.shards / f"old-{hashlib.sha256(data).hexdigest()[:32]}.parquet").write_bytes(data)
    assert sorted(map(repr, store.records())) == sorted(map(repr, schema.to_records(table)))
    assert store.connect().execute("select count(*) from curves").fetchall() == [(4,)]


def test_noise_of_full_precision_takes_at_most_ten_bytes_a_value(store, record):
    draw = random.Random(0)
    curve = tuple(CurvePoint(f"m{k}", step, draw.gauss(0, 1)) for step in range(100) for k in range(5))
    path = store.write_shard([record(i, curve=curve) for i in range(10)])
    assert path.stat().st_size / (10 * len(curve)) < 10
