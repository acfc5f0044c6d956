"""The store as polars frames: every row, nothing rounded, NaN apart from null."""

from __future__ import annotations

import math

import polars as pl
import pytest

from benchmark.errors import UsageError
from benchmark.records import CellRecord, CurvePoint
from benchmark.store import Store, new_attempt_id
from leaderboard.frames import VIEWS, frame


@pytest.fixture
def store(tmp_path) -> Store:
    store = Store(tmp_path / "results")
    store.write_shard(
        [
            CellRecord(
                cell_id=f"{seed:064x}", attempt_id=new_attempt_id(), run_id="r", task="t", initializer="i", seed=seed,
                profile="compact", resolved={"seed": seed}, status="finished",
                finals={"loss": 0.1 + seed, "odd": math.nan}, curve=(CurvePoint("loss", 1, 0.3),),
            )
            for seed in range(3)
        ]
    )  # fmt: skip
    return store


def test_finals_have_a_row_per_cell_and_metric_at_full_precision(store):
    finals = frame(store).filter(pl.col("metric") == "loss").sort("seed")
    assert finals["value"].to_list() == [0.1, 1.1, 2.1]


def test_nan_is_not_null(store):
    odd = frame(store.root).filter(pl.col("metric") == "odd")["value"]
    assert odd.is_nan().all()
    assert odd.null_count() == 0


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_there(store, view):
    assert {"cell_id", "run_id"} & set(frame(store, view).columns)


def test_an_unknown_view_is_refused_with_the_known_ones(store):
    with pytest.raises(UsageError, match="cells, attempts, finals"):
        frame(store, "final")
