"""`bench sql`: query the store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from benchmark.cli.common import json_option, print_table, store_option
from benchmark.cli.stores import ask, open_store, tell
from benchmark.errors import UsageError

if TYPE_CHECKING:
    import duckdb

FORMATS = ("table", "csv", "json", "markdown", "parquet")
SUFFIXES = {".csv": "csv", ".json": "json", ".md": "markdown", ".parquet": "parquet"}
READING = {"SELECT", "EXPLAIN", "PRAGMA"}
COLUMNS = """
    select table_name as view, column_name as column, data_type as type from duckdb_columns()
    where database_name = 'memory' and schema_name = 'main' and not internal order by table_name, column_index
"""


@click.command()
@click.argument("query", required=False)
@click.option("--format", "form", type=click.Choice(FORMATS), help="Default: by the ending of --output, else table.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write to a file.")
@store_option()
@json_option("The same as --format json.")
def command(query: str | None, form: str | None, output: Path | None, store: Path, as_json: bool) -> None:
    """Ask the store in SQL (DuckDB's). QUERY is one statement; `-` reads it from standard input.

    Views: cells (the attempt that counts), attempts (all), finals, curves, curve_ends, probes, heat_maps, runs,
    store_info; without QUERY their columns are shown. Nothing a query does can change the store.

    \b
    bench sql "select task, initializer, avg(value), count(*) from finals where metric = 'accuracy' group by all"
    """
    text = COLUMNS if query is None else sys.stdin.read() if query == "-" else query
    chosen = "json" if as_json else form or form_of(output)
    opened = open_store(store)
    ask(opened, lambda con: answer(con, text, chosen, output))
    tell(opened.warnings)


def answer(con: duckdb.DuckDBPyConnection, text: str, form: str, output: Path | None) -> None:
    """Check a query and show its result."""
    refuse_writing(con, text)
    show(con, text, form, output)


def form_of(output: Path | None) -> str:
    """The format an output file's name asks for."""
    if output is None:
        return "table"
    if output.suffix not in SUFFIXES:
        raise UsageError(f"the ending of {output} names no format; end it in {', '.join(SUFFIXES)} or give --format")
    return SUFFIXES[output.suffix]


def refuse_writing(con: duckdb.DuckDBPyConnection, text: str) -> None:
    """Raise UsageError for anything but one reading statement."""
    statements = con.extract_statements(text)
    if len(statements) != 1:
        raise UsageError(f"expected one SQL statement, found {len(statements)}")
    kind = statements[0].type.name.removesuffix("_STATEMENT")
    if kind not in READING:
        raise UsageError(f"`bench sql` only reads, and this is a statement of kind {kind}; nothing was changed")


def show(con: duckdb.DuckDBPyConnection, text: str, form: str, output: Path | None) -> None:
    """Print a query's result, or write it to a file."""
    from benchmark.store import tables

    if form == "parquet" and output is None:
        raise UsageError("Parquet is no text: name a file with --output FILE.parquet")
    if form == "table" and output is None:
        result = tables.query(con, text)
        print_table(result.headings, [[tables.text(value) for value in row] for row in result.rows])
    elif output is None:
        printed = tables.as_text(tables.query(con, text), cast(Literal["csv", "json", "markdown"], form))
        click.echo(printed, nl=False)
    else:
        saved: Any = "markdown" if form == "table" else form
        rows = tables.save(con, text, saved, output)
        click.echo(f"{rows} rows written to {output}", err=True)
