"""`bench import`: read results made elsewhere into the store."""

from __future__ import annotations

from pathlib import Path

import click

from benchmark.cli.common import json_option, store_option
from benchmark.cli.intake import report
from benchmark.errors import ExitCode


@click.command(name="import")
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR...", type=click.Path(exists=True, path_type=Path))
@store_option()
@json_option()
def command(paths: tuple[Path, ...], store: Path, as_json: bool) -> ExitCode:
    """Take in shards, folders of shards, or `records.parquet` as `bench export --format parquet` writes it.

    What is here already is recognised and not counted twice. Of two attempts at a cell the earlier counts, so an
    incoming one can take the place of a number shown before; such cells are listed, and both numbers are kept.
    """
    from benchmark.store import Store
    from benchmark.store.exchange import take_in

    target = Store(store)
    return report(target, [take_in(target, path) for path in paths], as_json)
