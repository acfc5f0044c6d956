"""Strict JSON at full precision: every seed, every comparison, nothing rounded."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from leaderboard.digest import document
from leaderboard.ranking import Pair
from leaderboard.render.words import decimals, result
from leaderboard.stats import t_interval
from leaderboard.tables import Entry, Leaderboard, Table


def render(board: Leaderboard, *, show_values: bool = False) -> str:
    del show_values  # always there
    return json.dumps(as_document(board), ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_document(board: Leaderboard) -> dict[str, Any]:
    """The leaderboard in JSON's own types."""
    return {
        "experiment": board.experiment,
        "profile": board.profile,
        "title": board.title,
        "complete": board.complete,
        "planned": board.planned,
        "unfinished": dict(board.unfinished),
        "spread": {"kind": "sd", "ddof": 1, "over": "seeds"},
        "notes": list(board.notes),
        "tables": [_table(table) for table in board.tables],
        "digest": board.digest,
        "stamp": document(board),
    }


def _table(table: Table) -> dict[str, Any]:
    columns = [
        {
            "task": column.task,
            "metric": column.metric.name,
            "title": column.metric.title,
            "unit": column.metric.unit,
            "direction": column.metric.direction,
            "decimals": decimals(table, index) + 1,  # one guard digit beyond what a table shows
            "note": column.note,
            "scale": column.metric.tested_on,
            "solved": column.metric.solved,
            "pairs": [_pair(pair) for pair in column.pairs],
        }
        for index, column in enumerate(table.columns)
    ]
    rows = [
        {"name": row.name, "kind": row.kind, "entries": [entry and _entry(entry) for entry in row.entries]}
        for row in table.rows
    ]
    return {"title": table.title, "result": result(table), "columns": columns, "rows": rows}


def _entry(entry: Entry) -> dict[str, Any]:
    if entry.computed is not None:
        return {"computed": entry.computed}
    interval = t_interval(list(entry.values.values()))
    return {
        "mean": entry.mean,
        "std": entry.std,
        "n": entry.n,
        "planned": entry.planned,
        "interval": interval and asdict(interval),
        "values": {str(seed): value for seed, value in sorted(entry.values.items())},
        "unfinished": dict(entry.counts),
        "skipped": entry.skipped,
        "bold": entry.bold,
        "rank": entry.rank,
        "untested": entry.untested,
        "solved": entry.solved,
        "humps": entry.humps,
        "published": [asdict(item) for item in entry.published],
    }


def _pair(pair: Pair) -> dict[str, Any]:
    return {"first": pair.first, "second": pair.second, "p_holm": pair.p_holm, **asdict(pair.comparison)}
