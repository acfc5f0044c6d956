"""Opening a store for a reading verb, and saying what its readers should know."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from benchmark.errors import UsageError

if TYPE_CHECKING:
    import duckdb

    from benchmark.store import Store

Answer = TypeVar("Answer")


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


def ask(store: Store, action: Callable[[duckdb.DuckDBPyConnection], Answer]) -> Answer:
    """What `action` makes of a connection to the store; a damaged index is made anew and asked once more.

    Raises UsageError with DuckDB's own message and the views there are.
    """
    import duckdb

    from benchmark.store.views import NAMES

    con = store.connect()
    try:
        return action(con)
    except duckdb.Error as error:
        con.close()
        if store.mend_index(error):
            tell(["the index was damaged and is rebuilt from the shards"])
            return ask(store, action)
        views = f"Views: {', '.join(NAMES)} (`bench sql` without a query shows their columns)"
        raise UsageError(f"{error}\n{views}") from error
    finally:
        con.close()
