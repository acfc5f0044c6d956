import math
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from benchmark.errors import StoreError
from benchmark.store import RunRecord, Store, tables
from benchmark.store.exchange import export_records, merge, take_in


@pytest.fixture
def other(tmp_path):
    return Store(tmp_path / "other")


def files(store: Store) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(store.root.rglob("*")) if path.is_file()}


def test_merging_copies_what_is_missing_and_only_reads_the_other_store(store, other, record):
    store.write_shard([record(1)])
    other.write_shard([record(2), record(3, status="failed")])
    other.save_run(RunRecord("run-2", started_at="2", status="complete"))
    other.decide_execution("shape", {"mode": "stack"})
    before = files(other)
    intake = merge(store, other.root)
    assert (intake.new, intake.duplicate, intake.cells, intake.files, intake.runs) == (2, 0, 1, 1, 1)
    assert intake.conflicts == intake.warnings == []
    assert files(other) == before
    assert len(store.finished()) == 2
    assert store.runs()[0].run_id == "run-2"
    assert store.execution() == {"shape": {"mode": "stack"}}


def test_merging_twice_changes_nothing(store, other, record):
    other.write_shard([record(2)])
    merge(store, other.root)
    before = files(store)
    intake = merge(store, other.root)
    assert (intake.new, intake.duplicate, intake.files, intake.runs) == (0, 1, 0, 0)
    assert files(store).keys() == before.keys()


def test_merging_either_way_round_gives_the_same_answer(tmp_path, record):
    stores = [Store(tmp_path / name) for name in "ab"]
    for number, store in enumerate(stores):
        store.write_shard([record(1, finals={"loss": 0.5 + number}), record(2 + number)])
    merge(stores[0], stores[1].root)
    merge(stores[1], stores[0].root)
    answers = [
        store.connect().execute("select cell_id, metric, value::varchar from finals order by all").fetchall()
        for store in stores
    ]
    assert answers[0] == answers[1]
    assert len(answers[0]) == 1 + 3 + 3


def test_other_numbers_for_the_same_cell_are_named_and_both_kept(store, other, record):
    store.write_shard([record(1, finals={"loss": 0.25, "slope": math.nan, "here": 1.0})])
    other.write_shard([record(1, finals={"loss": 0.5, "slope": math.nan})])
    intake = merge(store, other.root)
    assert [(c.metric, c.here, c.incoming) for c in intake.conflicts] == [("here", 1.0, None), ("loss", 0.25, 0.5)]
    assert len(store.attempts()) == 2
    assert len(store.finished()) == 1


def test_an_earlier_attempt_coming_in_is_compared_too(store, other, record):
    other.write_shard([record(1, finals={"loss": 0.5})])
    store.write_shard([record(1, finals={"loss": 0.25})])
    (conflict,) = merge(store, other.root).conflicts
    assert (conflict.here, conflict.incoming, conflict.counts_now) == (0.25, 0.5, True)
    assert store.records()[0].finals["loss"] == 0.5


def test_cells_that_show_other_numbers_now_are_named_first(store, other, record):
    store.write_shard([record(1, finals={"loss": 0.25})])
    other.write_shard([record(1, finals={"loss": 0.5})])
    other.write_shard([record(2, finals={"loss": 0.5})])
    store.write_shard([record(2, finals={"loss": 0.25})])
    assert [c.counts_now for c in merge(store, other.root).conflicts] == [True, False]


def test_the_same_numbers_from_two_machines_are_no_conflict(store, other, record):
    store.write_shard([record(1)])
    other.write_shard([record(1)])
    intake = merge(store, other.root)
    assert (intake.new, intake.conflicts) == (1, [])


def test_a_damaged_shard_of_the_other_store_stays_there_and_is_named(store, other, record):
    other.write_shard([record(1)])
    victim = other.write_shard([record(2)])
    victim.write_bytes(victim.read_bytes()[:-1])
    intake = merge(store, other.root)
    assert intake.new == 1
    assert victim.name in intake.warnings[0]
    assert victim.exists()
    assert len(store.finished()) == 1


def test_a_compacted_store_merges_into_an_uncompacted_one(store, other, record):
    for i in range(4):
        path = other.write_shard([record(i)])
        if i < 2:
            store.layout.shards.mkdir(parents=True, exist_ok=True)
            (store.layout.shards / path.name).write_bytes(path.read_bytes())
    other.compact(threshold=0)
    intake = merge(store, other.root)
    assert (intake.new, intake.duplicate) == (2, 2)
    assert len(store.attempts()) == 4
    assert store.connect().execute("select count(*) from attempts").fetchall() == [(4,)]


def test_a_store_is_not_merged_into_itself_and_a_folder_is_no_store(store, record, tmp_path):
    store.write_shard([record()])
    with pytest.raises(StoreError, match="the store itself"):
        merge(store, store.root)
    with pytest.raises(StoreError, match="no folder 'shards'"):
        merge(store, tmp_path)


def test_a_run_that_ended_elsewhere_replaces_its_beginning(store, other):
    run = RunRecord("run-1", started_at="1")
    store.save_run(run)
    other.layout.shards.mkdir(parents=True)
    other.save_run(replace(run, status="complete"))
    assert merge(store, other.root).runs == 1
    assert store.runs()[0].status == "complete"


def test_exported_records_come_back_whole(store, other, record, tmp_path):
    for i in range(3):
        store.write_shard([record(i), record(i, status="failed", finals={}, error="x")])
    assert export_records(store, tmp_path / "out" / "records.parquet") == 6
    intake = take_in(other, tmp_path / "out" / "records.parquet")
    assert (intake.new, intake.cells) == (6, 3)
    assert repr(other.records(every_attempt=True)) == repr(store.records(every_attempt=True))
    assert take_in(other, tmp_path / "out").duplicate == 6


def test_single_shards_and_folders_of_them_are_taken_in(store, other, record):
    first = other.write_shard([record(1)])
    other.write_shard([record(2)])
    assert take_in(store, first).new == 1
    intake = take_in(store, other.layout.shards)
    assert (intake.new, intake.duplicate) == (1, 1)


def test_what_is_no_result_is_refused_with_the_reason(store, other, record, tmp_path):
    shard = other.write_shard([record(1)])
    shard.write_bytes(shard.read_bytes()[:-1])
    (tmp_path / "x.parquet").write_text("no")
    (tmp_path / "empty").mkdir()
    for path, message in [
        (shard, "checksum"), (tmp_path / "x.parquet", "cannot be taken in"), (tmp_path / "empty", "holds no .parquet"),
        (tmp_path / "nothing", "does not exist"),
    ]:  # fmt: skip
        with pytest.raises(StoreError, match=message):
            take_in(store, path)
    assert not store.layout.shards.exists()


def test_records_whose_identity_was_edited_are_refused(store, other, record, tmp_path):
    other.write_shard([record(1, resolved={"seed": 99})])
    export_records(other, tmp_path / "records.parquet")
    with pytest.raises(StoreError, match="changed by hand"):
        take_in(store, tmp_path / "records.parquet")


# --- tables ------------------------------------------------------------------------------------------------------

NUMBERS = """
    select * from (values
        (1, 0.1::double + 0.2::double, 'a|b'), (2, 'nan'::double, null), (3, '-inf'::double, 'ü')
    ) t(id, value, name) order by id
"""


def as_text(store: Store, query: str, form: str) -> str:
    return tables.as_text(tables.query(store.connect(), query), form)


def test_csv_keeps_every_digit_and_tells_nan_from_nothing(store):
    lines = as_text(store, NUMBERS, "csv").splitlines()
    assert lines == ["id,value,name", "1,0.30000000000000004,a|b", "2,nan,", "3,-inf,ü"]
    assert float(lines[1].split(",")[1]) == 0.1 + 0.2


def test_json_is_strict_and_tells_nan_from_nothing(store):
    import json

    text = as_text(store, NUMBERS, "json")
    assert json.loads(text, parse_constant=pytest.fail) == [
        {"id": 1, "value": 0.30000000000000004, "name": "a|b"},
        {"id": 2, "value": "NaN", "name": None},
        {"id": 3, "value": "-Infinity", "name": "ü"},
    ]
    assert json.loads(as_text(store, "from cells", "json")) == []


def test_columns_of_one_name_are_kept_apart(store):
    assert '{"a": 1, "a_2": 2}' in as_text(store, "select 1 as a, 2 as a", "json")


def test_markdown_escapes_what_would_break_the_table(store):
    lines = as_text(store, NUMBERS, "markdown").splitlines()
    assert lines[2].count("|") == 5
    assert "a\\|b" in lines[2]
    assert len({len(line) for line in lines}) == 1


def test_parquet_keeps_every_bit(store, tmp_path):
    assert tables.save(store.connect(), NUMBERS, "parquet", tmp_path / "a" / "x.parquet") == 3
    values = pq.read_table(tmp_path / "a" / "x.parquet")["value"].to_pylist()
    assert values[0] == 0.1 + 0.2
    assert math.isnan(values[1])
    assert values[2] == -math.inf


def test_a_failed_export_leaves_no_file_and_the_old_one_as_it_was(store, tmp_path):
    import duckdb

    path = tmp_path / "x.csv"
    path.write_text("old")
    with pytest.raises(duckdb.Error):
        tables.save(store.connect(), "select error('stop')", "csv", path)
    assert [item.name for item in tmp_path.iterdir()] == ["x.csv"]
    assert path.read_text() == "old"
