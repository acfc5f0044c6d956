"""`bench sql`, and what it says when a query is wrong."""

import json

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from benchmark.cli.shell import main
from benchmark.identity import hash_resolved
from benchmark.records import CellRecord, CurvePoint
from benchmark.store import Store, new_attempt_id


@pytest.fixture
def store(tmp_path):
    filled = Store(tmp_path / "results")
    for seed in range(3):
        resolved = {"seed": seed}
        filled.write_shard([CellRecord(
            hash_resolved(resolved), new_attempt_id(), "run-1", "2parity", "mask", seed, "compact", resolved,
            "finished", {"loss": seed / 3}, (CurvePoint("loss", 1, 0.5),),
        )])  # fmt: skip
    return filled


@pytest.fixture
def bench(store, capsys):
    def call(*arguments, code=0):
        with pytest.raises(SystemExit) as ended:
            main(["sql", "--store", str(store.root), *map(str, arguments)])
        assert ended.value.code == code
        return capsys.readouterr()

    return call


def test_a_query_prints_a_table(bench):
    lines = bench("select seed, value from finals order by seed").out.splitlines()
    assert lines == ["seed  value", "0     0.0", "1     0.3333333333333333", "2     0.6666666666666666"]


def test_every_format_prints_what_it_names(bench):
    query = "select seed, task from cells where seed = 1"
    assert json.loads(bench(query, "--json").out) == [{"seed": 1, "task": "2parity"}]
    assert bench(query, "--format", "csv").out == "seed,task\n1,2parity\n"
    assert bench(query, "--format", "markdown").out.splitlines()[1:] == ["| ---- | ------- |", "| 1    | 2parity |"]


def test_the_ending_of_the_file_names_the_format(bench, tmp_path):
    for ending in ("csv", "json", "md", "parquet"):
        assert "3 rows written" in bench("from cells", "--output", tmp_path / f"x.{ending}").err
    assert pq.read_table(tmp_path / "x.parquet")["seed"].to_pylist() == [0, 1, 2]
    assert "--format" in bench("from cells", "--output", tmp_path / "x.xls", code=2).err


def test_no_query_shows_the_views_and_their_columns(bench):
    out = bench().out
    assert "finals" in out
    assert "is_finite" in out


def test_a_wrong_query_shows_duckdb_s_message_and_the_views(bench):
    err = bench("select x from results", code=2).err
    assert "Table with name results does not exist" in err
    assert "Views: cells, attempts, finals, curves, curve_ends, probes, heat_maps, runs, store_info" in err


@pytest.mark.parametrize(
    "query", ["delete from runs", "drop view cells", "create table x (a int)", "copy cells to 'x'"]
)
def test_a_statement_that_writes_is_refused(bench, query):
    assert "only reads" in bench(query, code=2).err


@pytest.mark.parametrize("query", ["", "select 1; select 2", "/* nothing */"])
def test_anything_but_one_statement_is_refused(bench, query):
    assert "expected one SQL statement" in bench(query, code=2).err


def test_parquet_on_the_terminal_is_refused(bench):
    assert "--output" in bench("from cells", "--format", "parquet", code=2).err


def test_a_damaged_index_is_mended_on_the_way(store, bench):
    assert bench("select count(*) from curves").out.splitlines()[1] == "3"
    data = bytearray(store.layout.index.read_bytes())
    for position in range(12_500, len(data), 50):  # the headers stay whole: found only when a query reads a block
        data[position] ^= 1
    store.layout.index.write_bytes(data)
    answer = bench("select count(*), sum(value) from curves")
    assert answer.out.splitlines()[1].split() == ["3", "1.5"]
    assert "rebuilt from the shards" in answer.err


def test_a_missing_store_is_said_and_answers_nothing(capsys, tmp_path):
    with pytest.raises(SystemExit) as ended:
        main(["sql", "--store", str(tmp_path / "no"), "select count(*) from cells"])
    told = capsys.readouterr()
    assert ended.value.code == 0
    assert "no result store" in told.err
    assert not (tmp_path / "no").exists()


def test_a_query_can_come_from_standard_input(store):
    from benchmark.cli.sql import command

    result = CliRunner().invoke(command, ["-", "--store", str(store.root), "--format", "csv"], input="select 7 as x")
    assert result.output == "x\n7\n"
