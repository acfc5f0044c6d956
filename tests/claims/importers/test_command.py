"""`bench claims`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmark.cli.claims import FORMATS, command
from benchmark.errors import DataError, UsageError
from leaderboard.claims.importers import FORMATS as KNOWN_FORMATS
from leaderboard.claims.importers import import_file

TABLES = Path(__file__).parent / "tables"


def invoke(*args):
    result = CliRunner().invoke(command, [str(arg) for arg in args], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result


def test_formats_of_the_command_are_those_of_the_importers():
    assert FORMATS == KNOWN_FORMATS


def test_import_says_what_was_read_from_each_table_and_what_was_not():
    result = invoke("import", TABLES / "styles.tex")
    assert "Table 1  line 8: 9 numbers in 4 × 4 cells; rows: method; columns: task" in result.output
    assert f"{TABLES / 'styles.tex'}:89:24: Table 5: '85.0--87.0': a range" in result.output
    assert result.output.rstrip().endswith("6 not read")
    assert result.return_value == 0


def test_import_writes_claims_that_show_and_import_read_back(tmp_path):
    out = tmp_path / "paper.yaml"
    invoke("import", TABLES / "paper.tex", "--output", out)
    assert import_file(out).claims == import_file(TABLES / "paper.tex").claims
    shown = invoke("show", out, "--table", "Table 5").output
    assert "85.82 (+2.44) bold" in shown
    assert "83.38" in shown
    assert "178.34" not in shown


def test_import_in_json_holds_claims_places_and_unread():
    data = json.loads(invoke("import", TABLES / "styles.tex", "--json").output)
    assert len(data["claims"]) == len(data["places"]) == sum(table["numbers"] for table in data["tables"])
    assert data["unread"][0]["reason"]


def test_several_files_in_one_command():
    data = json.loads(invoke("import", TABLES / "paper.tex", TABLES / "board.html", "--json").output)
    assert [item["format"] for item in data] == ["latex", "html"]


def test_a_file_without_numbers_is_a_usage_error_and_writes_nothing(tmp_path):
    (tmp_path / "a.md").write_text("no table here\n")
    result = invoke("import", tmp_path / "a.md", "-o", tmp_path / "out.yaml")
    assert result.return_value == 2
    assert "no table found" in result.output
    assert not (tmp_path / "out.yaml").exists()


def test_list_and_show_the_shipped_sets():
    assert "arxiv-2608.00418" in invoke("list").output
    listed = json.loads(invoke("list", "--json").output)
    shown = json.loads(invoke("show", "arxiv-2608.00418", "--json").output)
    assert next(item for item in listed if item["id"] == shown["id"])["claims"] == len(shown["claims"])


def test_unknown_sets_and_tables_are_refused_with_what_there_is():
    with pytest.raises(UsageError, match=r"did you mean 'arxiv-2608\.00418'"):
        invoke("show", "arxiv-2608.00419")
    with pytest.raises(DataError, match=r"it has: Table 1, Table 2"):
        invoke("show", "arxiv-2608.00418", "--table", "Table 99")
