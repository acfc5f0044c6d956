"""Opening a store for a reading verb, and saying what its readers should know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmark.errors import UsageError

if TYPE_CHECKING:
    import duckdb

    from benchmark.store import Store


def open_store(path: Path) -> Store:
    """The store at `path`; a note on stderr when there is none yet."""
    from benchmark.store import Store

    if not path.is_dir():
        click.echo(f"Note: there is no result store at {path} yet (--store names another place).", err=True)
    return Store(path)


def tell(warnings: Iterable[str]) -> None:
    """Warnings of the store, on stderr."""
    for warning in warnings:
        click.echo(f"Warning: {warning}", err=True)


@contextmanager
def explained(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """An error of DuckDB as a usage error: its own message, and the views there are."""
    import duckdb

    from benchmark.store.views import NAMES

    try:
        yield
    except duckdb.Error as error:
        raise UsageError(
            f"{error}\nViews: {', '.join(NAMES)} (`bench sql` without a query shows their columns)"
        ) from error
    finally:
        con.close()
