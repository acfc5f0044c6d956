"""The store as polars frames, for notebooks: full precision, one row per number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from benchmark.errors import UsageError
from benchmark.store import Store

if TYPE_CHECKING:
    import polars as pl

View = Literal["cells", "attempts", "finals", "curves", "runs"]
VIEWS: tuple[str, ...] = get_args(View)


def frame(store: Store | Path | str, view: View = "finals") -> pl.DataFrame:
    """One view of a store as a frame.

    `cells` has a row per cell (the attempt that counts), `attempts` one per attempt, `finals` one per cell and metric,
    `curves` one per cell, metric and step, `runs` one per run. NaN stays NaN, a missing value null.

    Raises UsageError for another view, StoreError when the store cannot be read.
    """
    import polars as pl

    if view not in VIEWS:
        raise UsageError(f"a store has the views {', '.join(VIEWS)}; found {view!r}")
    opened = store if isinstance(store, Store) else Store(store, read_only=True)
    connection = opened.connect()
    try:
        arrow = connection.sql(f"select * from {view}").to_arrow_table()
    finally:
        connection.close()
    found = pl.from_arrow(arrow)
    assert isinstance(found, pl.DataFrame)  # a table, not a column
    return found
