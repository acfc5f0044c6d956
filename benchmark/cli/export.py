"""`bench export`: results as files, at full precision."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmark.cli.common import emit_json, json_option, store_option
from benchmark.cli.stores import ask, open_store, tell
from benchmark.errors import UsageError

if TYPE_CHECKING:
    import duckdb

VIEWS = ("finals", "curves", "cells", "attempts", "runs")
RECORDS = "records"
ORDER = {"finals": "order by task, initializer, seed, profile, cell_id, metric",
         "curves": "order by task, initializer, seed, profile, cell_id, metric, step",
         "runs": "order by started_at, run_id"}  # fmt: skip


@click.command()
@click.option(
    "--format", "form", type=click.Choice(["parquet", "csv", "json"]), help="Default: parquet, or FILE's ending."
)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), required=True, metavar="DIR|FILE",
    help="A folder gets one file per table; a name ending in .parquet, .csv or .json gets one table.",
)  # fmt: skip
@click.option(
    "--table", "chosen", multiple=True, type=click.Choice([*VIEWS, RECORDS]),
    help="Which tables (repeatable)  [default: finals, curves and cells; with Parquet also records; one FILE: finals]",
)  # fmt: skip
@store_option()
@json_option("Print what was written as JSON.")
def command(form: str | None, output: Path, chosen: tuple[str, ...], store: Path, as_json: bool) -> None:
    """Write tidy tables: finals (one row per cell and metric), curves (and step), cells, attempts, runs.

    Floats keep every digit; NaN and infinity stay what they are (in JSON as strings). `records` holds everything
    of every attempt, and `bench import` reads it back.
    """
    targets = plan_files(form, output, chosen)
    opened = open_store(store)
    written = ask(opened, lambda con: [
        {"table": table, "file": str(path), "rows": write(opened, con, table, kind, path)}
        for table, kind, path in targets
    ])  # fmt: skip
    tell(opened.warnings)
    if as_json:
        emit_json(written)
        return
    for entry in written:
        click.echo(f"{entry['rows']:>9} rows  {entry['file']}")


def plan_files(form: str | None, output: Path, chosen: tuple[str, ...]) -> list[tuple[str, str, Path]]:
    """(table, format, path) of every file to write."""
    suffix = output.suffix.removeprefix(".")
    if suffix in ("parquet", "csv", "json") and not output.is_dir():
        return [one_file(form or suffix, output, chosen)]
    kind = form or "parquet"
    names = chosen or ("finals", "curves", "cells", *([RECORDS] if kind == "parquet" else []))
    refuse_records(kind, names)
    return [(name, kind, output / f"{name}.{kind}") for name in dict.fromkeys(names)]


def one_file(kind: str, output: Path, chosen: tuple[str, ...]) -> tuple[str, str, Path]:
    """The single file to write."""
    if len(chosen) > 1:
        raise UsageError(f"{output} is one file; for {len(chosen)} tables name a folder")
    refuse_records(kind, chosen)
    return (chosen[0] if chosen else "finals", kind, output)


def refuse_records(kind: str, names: tuple[str, ...]) -> None:
    """Only Parquet can hold whole records."""
    if RECORDS in names and kind != "parquet":
        raise UsageError("`records` (everything, to be imported again) exists as Parquet only: use --format parquet")


def write(opened: Any, con: duckdb.DuckDBPyConnection, table: str, kind: Any, path: Path) -> int:
    """Write one table; returns its rows."""
    from benchmark.store import exchange, tables

    if table == RECORDS:
        return exchange.export_records(opened, path)
    order = ORDER.get(table, "order by task, initializer, seed, profile, cell_id, attempt_id")
    return tables.save(con, f"select * from {table} {order}", kind, path)
