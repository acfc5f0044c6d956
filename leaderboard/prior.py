"""What probes say of a prior through training: curves over seeds, half-lives, heat maps at the start and the end."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmark.patterns import meant
from leaderboard.charts import Chart, mean_curve
from leaderboard.reading import Points
from leaderboard.render.svg import Series
from leaderboard.rounding import entry_decimals, mean_and_std
from leaderboard.stats import seeds, summarize
from leaderboard.tables import Leaderboard

if TYPE_CHECKING:
    from benchmark.probe import Probe
    from benchmark.store import Store
    from leaderboard.aggregate import Grid, Group

METRICS = ("retention.retention", "drift.attention")
"""What is drawn unless other metrics are asked for: what is left of the pattern, and how far attention has moved."""
HALF_LIFE = "half_life"


@dataclass(frozen=True)
class HeatMap:
    """One matrix of one head."""

    layer: int
    head: int
    rows: tuple[tuple[float, ...], ...]
    """Queries × keys."""


@dataclass(frozen=True)
class HeatRow:
    """All layers and heads of a cell at one step, on one scale of colours with the other steps."""

    name: str
    step: int
    maps: tuple[HeatMap, ...]


@dataclass(frozen=True)
class Prior:
    """Empty where nothing was recorded."""

    sentences: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    maps: Mapping[str, tuple[HeatRow, ...]] = field(default_factory=dict)
    """Task × initialiser, seed → its rows."""


Curves = Mapping[tuple[str, str], Points]
"""(cell id, metric) → its points."""


def read_prior(
    store: Store, grid: Grid, board: Leaderboard, probes: Sequence[Probe] = (), metrics: Sequence[str] = METRICS,
    seed: int | None = None,
) -> Prior:  # fmt: skip
    """What probes recorded of the cells shown: means over layers and heads, and heat maps of one seed, the first with
    any unless `seed` names it. Of `probes`, as an experiment lists them; of all without them."""
    import numpy as np

    shown = {row.name for table in board.tables for row in table.rows}
    groups = [group for group in grid.groups.values() if group.seeds and group.initializer in shown]
    ids = [result.cell_id for group in groups for result in group.seeds]
    con = store.connect()
    try:
        every = con.execute("select distinct recording from idx.recorded").fetchall()
        keys = [probe.key for probe in probes] or [key for (key,) in every]
        points = con.execute(
            "select cell_id, recording, probe || '.' || metric, list(step order by step), list(value order by step) "
            "from probes where layer is null and cell_id in (select unnest(?)) and recording in (select unnest(?)) "
            "group by all", [ids, keys],
        ).fetchall()  # fmt: skip
        if not points:
            return Prior()
        named = names_of(
            con.execute("select distinct recordings from attempts where recordings <> '{}'").fetchall(), keys
        )
        maps = {}
        for group in groups:
            for result in group.seeds if seed is None else [r for r in group.seeds if r.seed == seed]:
                if rows := heat_rows(con.execute(HEAT_MAPS, [result.cell_id, keys]).fetchall()):
                    maps[f"{group.task} × {group.initializer}, seed {result.seed}"] = rows
                    break
    finally:
        con.close()
    curves = {
        (cell, named[key] + metric): (np.array(steps), np.array(values)) for cell, key, metric, steps, values in points
    }
    return Prior((*told(groups, curves),), (*drawn(groups, curves, metrics),), maps)


HEAT_MAPS = """
select name, step, layer, shape, values from heat_maps
where cell_id = ? and recording in (select unnest(?)) order by name, step, layer
"""


def names_of(rows: Iterable[tuple[str]], keys: Collection[str]) -> dict[str, str]:
    """Recording → what tells it from others of its probe: nothing where it is the only one."""
    found = {k: about for (text,) in rows for k, about in json.loads(text).items() if k in keys}
    named = {}
    for key, about in found.items():
        others = [o["parameters"] for k, o in found.items() if o["family"] == about["family"] and k != key]
        own = {n: v for n, v in about["parameters"].items() if any(other.get(n) != v for other in others)}
        named[key] = f"({', '.join(f'{n} = {v}' for n, v in own.items())}) " if own else ""
    return named


def heat_rows(stored: Iterable[tuple[str, int, int, Sequence[int], Sequence[float]]]) -> tuple[HeatRow, ...]:
    """Stored arrays (H, N, N) by name, step and layer as rows of maps."""
    rows: dict[tuple[str, int], list[HeatMap]] = {}
    for name, step, layer, (heads, queries, keys), values in stored:
        for head in range(heads):
            start = head * queries * keys
            lines = (tuple(values[start + i * keys : start + (i + 1) * keys]) for i in range(queries))
            rows.setdefault((name, step), []).append(HeatMap(layer, head, tuple(lines)))
    return tuple(HeatRow(name, step, tuple(maps)) for (name, step), maps in rows.items())


def drawn(groups: Sequence[Group], curves: Curves, metrics: Sequence[str]) -> Iterator[Chart]:
    """A chart for each task and metric, a line for each initialiser."""
    recorded = sorted({name for _, name in curves if not name.endswith(HALF_LIFE)})
    names = dict.fromkeys(name for glob in metrics for name in recorded if meant(name.rpartition(") ")[2], [glob]))
    for task in dict.fromkeys(group.task for group in groups):
        for name in names:
            own = [
                Series(group.initializer, mean_curve(found))
                for group in groups
                if group.task == task
                and (found := [curves[r.cell_id, name] for r in group.seeds if (r.cell_id, name) in curves])
            ]
            if own:
                yield Chart(task, name, tuple(own))


def told(groups: Sequence[Group], curves: Curves) -> Iterator[str]:
    """Retention at the end, and on how many seeds it fell below one half."""
    names = sorted({name for _, name in curves if name.endswith("retention.retention")})
    for group in groups:
        for name in names:
            found = {r.seed: curves[r.cell_id, name] for r in group.seeds if (r.cell_id, name) in curves}
            if found:
                yield f"{group.task} × {group.initializer}: {_told(name, found)}"
            elif any((r.cell_id, name.replace("retention.retention", "retention.mass")) in curves for r in group.seeds):
                yield f"{group.task} × {group.initializer}: the start favours no pattern, so there is none to keep"


def _told(name: str, found: Mapping[int, Points]) -> str:
    last = max(int(steps[-1]) for steps, _ in found.values())
    summary = summarize([float(values[-1]) for _, values in found.values()])
    mean, std = mean_and_std(summary.mean or 0.0, summary.std, entry_decimals(summary.mean or 0.0, summary.std))
    below = {seed: step for seed, points in found.items() if (step := _first_below(points)) is not None}
    steps = ", ".join(f"seed {seed} at step {step:,}" for seed, step in below.items())
    value = mean if std is None else f"{mean} ± {std}"
    many = f"{len(below)} of {seeds(len(found))}"
    fell = f"below one half on {many} ({steps})" if below else f"on none of {seeds(len(found))} below one half"
    return f"retention {name.removesuffix('retention.retention')}{value} (n = {summary.n}) at step {last:,}, {fell}"


def _first_below(points: Points) -> int | None:
    return next((step for step, value in zip(*points, strict=True) if not math.isfinite(value) or value < 0.5), None)
