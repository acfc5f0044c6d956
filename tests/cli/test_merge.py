"""`bench export`, `bench import` and `bench merge`: results leaving one store and entering another."""

import csv
import json
import math

import pyarrow.parquet as pq
import pytest

from benchmark.cli.shell import main
from benchmark.identity import hash_resolved
from benchmark.records import CellRecord, CurvePoint
from benchmark.store import Store, new_attempt_id


def fill(store: Store, seeds, shift=0.0) -> Store:
    for seed in seeds:
        resolved = {"seed": seed}
        curve = (CurvePoint("loss", 1, 0.5), CurvePoint("loss", 2, 0.1 + 0.2))
        store.write_shard([CellRecord(
            hash_resolved(resolved), new_attempt_id(), "run-1", "2parity", "mask", seed, "compact", resolved,
            "finished", {"loss": seed / 3 + shift, "slope": math.nan}, curve,
        )])  # fmt: skip
    return store


@pytest.fixture
def store(tmp_path):
    return fill(Store(tmp_path / "results"), range(3))


@pytest.fixture
def bench(capsys):
    def call(*arguments, code=0):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        told = capsys.readouterr()
        assert ended.value.code == code, told.err
        return told

    return call


def test_export_writes_tidy_tables_of_full_precision(bench, store, tmp_path):
    bench("export", "--store", store.root, "--format", "csv", "--output", tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["cells.csv", "curves.csv", "finals.csv"]
    with (tmp_path / "out" / "finals.csv").open() as file:
        values = [float(row["value"]) for row in csv.DictReader(file) if row["metric"] == "loss"]
    assert values == [0.0, 1 / 3, 2 / 3]
    with (tmp_path / "out" / "curves.csv").open() as file:
        assert {float(row["value"]) for row in csv.DictReader(file)} == {0.5, 0.1 + 0.2}


def test_export_of_one_file(bench, store, tmp_path):
    bench("export", "--store", store.root, "--output", tmp_path / "x.json")
    rows = json.loads((tmp_path / "x.json").read_text())
    assert [row["value"] for row in rows if row["metric"] == "slope"] == ["NaN"] * 3
    bench("export", "--store", store.root, "--table", "curves", "--output", tmp_path / "x.parquet")
    assert pq.read_table(tmp_path / "x.parquet").num_rows == 6


def test_export_says_what_does_not_fit(bench, store, tmp_path):
    two = ("--table", "cells", "--table", "finals")
    assert "name a folder" in bench("export", "--store", store.root, *two, "--output", tmp_path / "x.csv", code=2).err
    records = ("--table", "records", "--format", "csv")
    assert "Parquet only" in bench("export", "--store", store.root, *records, "--output", tmp_path / "x", code=2).err


def test_what_was_exported_comes_in_again(bench, store, tmp_path):
    written = json.loads(bench("export", "--store", store.root, "--output", tmp_path / "out", "--json").out)
    assert {entry["table"]: entry["rows"] for entry in written} == {"finals": 6, "curves": 6, "cells": 3, "records": 3}
    other = Store(tmp_path / "other")
    (intake,) = json.loads(bench("import", tmp_path / "out", "--store", other.root, "--json").out)
    assert (intake["new"], intake["cells"]) == (3, 3)
    assert repr(other.records()) == repr(store.records())


def test_import_of_something_else_is_refused(bench, store, tmp_path):
    bench("export", "--store", store.root, "-o", tmp_path / "finals.parquet")
    told = bench("import", tmp_path / "finals.parquet", "--store", tmp_path / "other", code=2)
    assert "no InitBench schema version" in told.err
    (tmp_path / "q.yaml").write_text("a: 1")
    assert ".." not in bench("import", tmp_path / "q.yaml", "--store", tmp_path / "other", code=2).err
    bench("import", tmp_path / "nothing", "--store", tmp_path / "other", code=2)


def test_merge_counts_new_duplicate_and_differing(bench, store, tmp_path):
    other = fill(Store(tmp_path / "other"), range(2, 5), shift=1.0)
    out = bench("merge", other.root, "--store", store.root).out
    assert "3 new attempts (2 cells that had no numbers), 0 already here, differing values: 1" in out
    assert "differs: 2parity × mask" in out
    assert "no number shown before has changed" in out
    again = json.loads(bench("merge", other.root, "--store", store.root, "--json").out)[0]
    assert (again["new"], again["duplicate"], again["conflicts"]) == (0, 3, [])
    assert len(store.finished()) == 5


def test_merge_says_which_shown_numbers_change(bench, store, tmp_path):
    """An earlier attempt that comes in counts from then on."""
    late = fill(Store(tmp_path / "late"), range(2), shift=1.0)
    out = bench("merge", store.root, "--store", late.root).out
    assert "loss: now counts: 0.0 (was 1.0)" in out
    assert "2 cells now show other numbers than before" in out


def test_merge_names_damaged_files_and_ends_incomplete(bench, store, tmp_path):
    other = fill(Store(tmp_path / "other"), [7, 8])
    victim = next(other.layout.shards.iterdir())
    victim.write_bytes(b"")
    told = bench("merge", other.root, "--store", store.root, code=3)
    assert victim.name in told.err
    assert "1 new attempts" in told.out


def test_merge_of_a_folder_that_is_no_store_is_refused(bench, store, tmp_path):
    assert "no folder 'shards'" in bench("merge", tmp_path, "--store", store.root, code=2).err
