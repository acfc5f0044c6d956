"""Claims files: what is written is what is kept, and what is wrong is shown where it stands."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from benchmark.errors import DataError, SpecError, UsageError
from leaderboard.claims import load
from leaderboard.claims.cells import Cell, parse_cell
from leaderboard.claims.importers.write import write_claims
from leaderboard.claims.library import load_file
from leaderboard.claims.loader import read_csv
from leaderboard.claims.model import Claim, Delta, Where

TABLE = """
id: example
source: a paper
shared: {n: 3, scope: {split: test}}
tables:
  - table: Table 1
    columns: task
    baseline: Default
    shared: {unit: percent, direction: max, scope: {metric: accuracy}}
    header:
      A: {items: 5000}
      B: {scope: {budget: 10 epochs}}
    entries: {Mask: {artefact: mask.pt}}
    cells:
      Default: [85.90, 71.0]
      Mask: ["**86.10 ± 0.20**", "71.5 (+0.5)"]
      Other: ["-", n/a]
"""


def written(folder: Path, text: str, name: str = "claims.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_table_becomes_one_claim_per_number(tmp_path: Path) -> None:
    claims = load(written(tmp_path, TABLE)).claims
    assert [claim.printed for claim in claims] == ["85.90", "71.0", "86.10", "71.5"]
    first, _, mask, last = claims
    assert (first.value, first.decimals) == (Decimal("85.90"), 2)
    assert (first.n, first.items, first.unit, first.scope.split) == (3, 5000, "percent", "test")
    assert (first.scope.task, first.scope.method, first.scope.metric) == ("A", "Default", "accuracy")
    assert str(mask.where) == "Table 1, Mask, A"
    assert mask.spread is not None
    assert (mask.spread.printed, mask.bold, first.bold, mask.artefact) == ("0.20", True, False, "mask.pt")
    assert last.delta is not None
    assert (last.delta.printed, last.delta.baseline, last.scope.budget) == ("+0.5", "Default", "10 epochs")


def test_numbers_keep_their_line(tmp_path: Path) -> None:
    claims = load(written(tmp_path, TABLE)).claims
    lines = TABLE.splitlines()
    assert "Mask: [" in lines[(claims[2].where.line or 0) - 1]


def test_typography_is_unknown_where_nothing_is_marked(tmp_path: Path) -> None:
    claims = load(written(tmp_path, TABLE.replace("**", ""))).claims
    assert {claim.bold for claim in claims} == {None}


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("85.82 (+2.44)", Cell("85.82", delta="+2.44")),
        ("26.22 (10.71%)", Cell("26.22", delta="10.71", relative=True)),
        ("90.9 ± 0.5", Cell("90.9", "0.5")),
        ("90.9 +/- 0.5 (−0.1)", Cell("90.9", "0.5", "−0.1")),
        ("**95.66**", Cell("95.66", bold=True)),
        ("_95.12_", Cell("95.12", underline=True)),
        ("1,014.45", Cell("1,014.45")),
        ("87.4 %", Cell("87.4")),
        (".5886", Cell(".5886")),
        ("Please tell us", Cell("Please tell us")),
        ("-", None),
        ("", None),
        (None, None),
    ],
)
def test_cell_is_taken_apart(text: str | None, cell: Cell | None) -> None:
    assert parse_cell(text) == cell


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("baseline: Default", "basline: Default", "unknown key"),
        ("[85.90, 71.0]", "[85.90]", "row 'Default' has 1 cells, the header has 2"),
        ("{items: 5000}", "{itmes: 5000}", "Table 1, Default, A: itmes"),
        ("{Mask: {artefact: mask.pt}}", "{Msk: {artefact: mask.pt}}", "entries for rows the table does not have: Msk"),
        ("columns: task", "columns: dataset", "Input should be 'task'"),
        ("n: 3", "n: 0", "greater than 0"),
        ("id: example", "id: example\nid: again", "key 'id' is written twice"),
    ],
)
def test_mistake_is_shown_with_its_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    path = written(tmp_path, TABLE.replace(old, new))
    with pytest.raises(SpecError, match=r"claims\.yaml:") as error:
        load(path)
    assert told in str(error.value)


def test_acknowledgement_reaches_its_cell(tmp_path: Path) -> None:
    text = TABLE + "ack: [{check: DELTA, table: Table 1, row: Mask, column: B, printed: 71.5, reason: erratum}]\n"
    claims = load(written(tmp_path, text)).claims
    assert [entry.reason for entry in claims[3].ack] == ["erratum"]
    assert not any(claim.ack for claim in claims[:3])


def test_acknowledgement_of_no_cell_names_the_cells_there_are(tmp_path: Path) -> None:
    text = TABLE + "ack: [{check: DELTA, table: Table 1, row: Mask, column: C, printed: 71.5, reason: erratum}]\n"
    with pytest.raises(SpecError, match=r"no cell Table 1, Mask, C; cells there: .*Table 1, Mask, B"):
        load(written(tmp_path, text))


def test_csv_holds_one_claim_per_row(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "printed,task,metric,method,table,row,unit,n,spread,spread_kind,delta,delta_baseline,values\n"
        "85.90,A,acc,Default,T1,Default,percent,3,0.20,sd,,,\n"
        "86.40,A,acc,Mask,T1,Mask,percent,3,,,+0.50,Default,86.3 86.4 86.5\n",
        "claims.csv",
    )
    first, second = load(path).claims
    assert first.spread is not None
    assert (first.printed, first.spread.kind, first.where.table) == ("85.90", "sd", "T1")
    assert second.delta is not None
    assert (second.delta.baseline, second.values) == ("Default", ("86.3", "86.4", "86.5"))


def test_csv_row_that_is_no_claim_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "printed,unit\n85.9,percent\n86.0,furlong\n", "claims.csv")
    with pytest.raises(DataError, match=r"claims.csv: row 2: unit: Input should be 'percent'"):
        load(path)


def test_parquet_holds_what_csv_holds(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"printed": ["85.90", "86.10"], "method": ["Default", "Mask"], "n": [3, None]})
    pyarrow.parquet.write_table(table, tmp_path / "claims.parquet")
    claims = load(tmp_path / "claims.parquet").claims
    assert [(claim.printed, claim.scope.method, claim.n) for claim in claims] == [
        ("85.90", "Default", 3),
        ("86.10", "Mask", None),
    ]


@pytest.mark.parametrize("content", [b"", b"not parquet at all"])
def test_damaged_parquet_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "claims.parquet").write_bytes(content)
    with pytest.raises(DataError, match=r"claims\.parquet"):
        load(tmp_path / "claims.parquet")


def test_result_file_is_read_row_by_row(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("model,top1,top1_diff\na,80.100,+0.100\nb,79.500,\n")
    text = """
id: results
tables:
  - table: results
    csv: results.csv
    key: [model]
    columns: none
    header: {top1: {role: top1, unit: percent, scope: {metric: top-1, task: T}, delta: {task: S}}}
    deltas: {top1_diff: top1}
"""
    first, second = load(written(tmp_path, text)).claims
    assert first.delta is not None
    assert (first.delta.printed, first.delta.task, first.group) == ("+0.100", "S", "results/a")
    assert (second.delta, second.group, second.scope.method) == (None, "results/b", "b")


SCOPES = """
id: results
tables:
  - table: results
    csv: results.csv
    key: [model]
    columns: none
    scopes: {dataset: task, crop: split}
    shared: {scope: {split: val}}
    header: {top1: {scope: {metric: top-1}}}
"""


def test_result_file_may_state_the_scope_of_each_row(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("model,dataset,crop,top1\na,S,,80.1\na,T,center,79.5\n")
    scopes = [claim.scope for claim in load(written(tmp_path, SCOPES)).claims]
    assert [(s.method, s.task, s.split, s.metric) for s in scopes] == [
        ("a", "S", "val", "top-1"),
        ("a", "T", "center", "top-1"),
    ]


def test_result_file_without_the_column_of_a_scope_is_told(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("model,crop,top1\na,,80.1\n")
    with pytest.raises(SpecError, match=r"results\.csv has no column dataset; it has model, crop, top1"):
        load(written(tmp_path, SCOPES))


def test_result_file_without_a_column_names_those_it_has(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("model,top1\na,80.1\n")
    text = "id: r\ntables: [{table: r, csv: results.csv, key: [model], header: [top5]}]\n"
    with pytest.raises(SpecError, match=r"results\.csv has no column top5; it has model, top1"):
        load(written(tmp_path, text))


def test_csv_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("﻿printed\n1.0\n".encode())
    assert read_csv(tmp_path / "a.csv") == [{"printed": "1.0"}]


def test_unknown_name_is_told_with_a_near_one() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'arxiv-2608\.00418'"):
        load("arxiv-2608.0418")


def test_missing_and_unreadable_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such claims file"):
        load(tmp_path / "nothing.yaml")
    with pytest.raises(DataError, match=r"expected \.csv"):
        load(written(tmp_path, "x", "claims.docx"))


def test_documented_example_is_a_claims_file(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "claims.md").read_text(encoding="utf-8")
    example = page.split("```yaml\n")[1].split("```")[0]
    claims = load(written(tmp_path, example))
    assert [claim.printed for claim in claims.claims] == ["94.20", "83.38", "95.66", "85.82", "84.38"]
    assert claims.find(task="cifar10", initializer="mask", metric="top1")[0].spread is not None


def test_binary_data_is_named_and_not_shown(tmp_path):
    path = tmp_path / "claims.yaml"
    path.write_bytes(b"\xdc\x00\x01\x02 id: x")
    with pytest.raises(DataError, match=r"binary data \(byte 0x00 at offset 1\)"):
        load_file(path)


def test_a_folder_is_called_one(tmp_path):
    with pytest.raises(DataError, match="found a folder"):
        load_file(tmp_path)


def test_notes_of_an_import_come_with_the_claims(tmp_path):
    path = tmp_path / "paper.tex"
    path.write_text("\\input{more}\\begin{tabular}{lcc} Method & Year & Top-1 \\\\ A & 2019 & 71.0 \\\\ \\end{tabular}")
    assert [note.split(" ")[0] for note in load_file(path).notes] == ["\\input{more}", "Table"]


def test_two_columns_of_differences_may_belong_to_one_number(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("model,top1,diff,other\na,80.1,+0.1,+3.2\nb,79.5,,-0.4\nc,79.0,,\n")
    text = """
id: results
tables:
  - table: results
    csv: results.csv
    key: [model]
    columns: none
    header: {top1: {scope: {metric: top-1}}}
    deltas: {diff: top1, other: top1}
"""
    claims = load(written(tmp_path, text)).claims
    assert [[delta.printed for delta in claim.differences] for claim in claims] == [["+0.1", "+3.2"], ["-0.4"], []]


@pytest.mark.parametrize("suffix", [".yaml", ".csv", ".parquet"])
def test_all_differences_of_a_number_come_back(tmp_path: Path, suffix: str) -> None:
    first = Delta(printed="+2.40", to="best")
    more = (Delta(printed="2.57", baseline="Default", relative=True), Delta(printed="+1.0", task="B", inferred=True))
    claims = [
        Claim(printed="95.78", where=Where(table="T", row="Ours"), delta=first, deltas=more),
        Claim(printed="95.70", where=Where(table="T", row="A"), deltas=more),
        Claim(printed="95.60", where=Where(table="T", row="B")),
    ]
    write_claims(claims, tmp_path / f"claims{suffix}", "a paper")
    assert list(load(tmp_path / f"claims{suffix}").claims) == claims


def test_differences_that_are_no_json_are_told(tmp_path: Path) -> None:
    (tmp_path / "claims.csv").write_text("printed,deltas\n85.9,+2.4\n")
    with pytest.raises(DataError, match="deltas"):
        load(tmp_path / "claims.csv")
