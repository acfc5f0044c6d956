"""`bench merge`: bring the results of other stores into this one."""

from __future__ import annotations

from pathlib import Path

import click

from benchmark.cli.common import json_option, store_option
from benchmark.cli.intake import report
from benchmark.errors import ExitCode


@click.command()
@click.argument(
    "others", nargs=-1, required=True, metavar="OTHER_STORE...",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)  # fmt: skip
@store_option()
@json_option()
def command(others: tuple[Path, ...], store: Path, as_json: bool) -> ExitCode:
    """Copy the results of OTHER_STORE, verified, into the store; the others are only read.

    Of two attempts at a cell the earlier counts, so an incoming one can take the place of a number shown before.
    Cells whose numbers differ are listed, those that show other numbers now first; both numbers are kept.
    """
    from benchmark.store import Store
    from benchmark.store.exchange import merge

    target = Store(store)
    return report(target, [merge(target, other) for other in others], as_json)
