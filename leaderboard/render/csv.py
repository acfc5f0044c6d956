"""Tidy long CSV: one line for each number, measured, computed or published, at full precision."""

from __future__ import annotations

import csv
import io
from typing import Any

from leaderboard.render.words import decimals
from leaderboard.stats import t_interval
from leaderboard.tables import Column, Entry, Leaderboard

COLUMNS = (
    "experiment", "profile", "task", "initializer", "kind", "metric", "unit", "direction", "n", "n_planned", "mean",
    "spread", "spread_kind", "ddof", "lo", "hi", "level", "decimals", "rank_low", "rank_high", "bold", "status",
    "skipped", "values", "source", "source_table", "verdict", "db_digest",
)  # fmt: skip


def render(board: Leaderboard, *, show_values: bool = False) -> str:
    del show_values  # always there
    target = io.StringIO()
    writer = csv.DictWriter(target, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for table in board.tables:
        for index, column in enumerate(table.columns):
            places = decimals(table, index) + 1  # one guard digit beyond what a table shows
            for row in table.rows:
                entry = row.entries[index]
                if entry is not None:
                    writer.writerows(_lines(board, row.name, column, entry, places))
    return target.getvalue()


def _lines(board: Leaderboard, name: str, column: Column, entry: Entry, places: int) -> list[dict[str, Any]]:
    metric = column.metric
    common = {
        "experiment": board.experiment, "profile": board.profile, "task": column.task, "initializer": name,
        "metric": metric.name, "unit": metric.unit, "direction": metric.direction, "db_digest": board.digest,
    }  # fmt: skip
    if entry.computed is not None:
        return [{**common, "kind": "computed", "mean": repr(entry.computed), "decimals": places}]
    published = [
        {
            **common, "kind": "published", "mean": item.printed, "n": item.n or "", "verdict": item.verdict,
            "source": item.source, "source_table": item.table, "profile": "",
        }
        for item in entry.published
    ]  # fmt: skip
    return [{**common, **_measured(entry), "decimals": places}, *published]


def _measured(entry: Entry) -> dict[str, Any]:
    interval = t_interval(list(entry.values.values()))
    low, high = entry.rank or ("", "")
    return {
        "kind": "measured",
        "n": entry.n,
        "n_planned": entry.planned,
        "mean": "" if entry.mean is None else repr(entry.mean),
        "spread": "" if entry.std is None else repr(entry.std),
        "spread_kind": "" if entry.std is None else "sd",
        "ddof": "" if entry.std is None else 1,
        "lo": "" if interval is None else repr(interval.low),
        "hi": "" if interval is None else repr(interval.high),
        "level": "" if interval is None else interval.level,
        "rank_low": low,
        "rank_high": high,
        "bold": str(entry.bold).lower(),
        "status": ";".join(f"{status}={count}" for status, count in sorted(entry.counts.items())),
        "skipped": entry.skipped or "",
        "values": ";".join(f"{seed}={value!r}" for seed, value in sorted(entry.values.items())),
    }
