"""From a store, and an experiment where there is one, to a `Grid`. Works while a run is going."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.errors import BenchError, StoreError
from benchmark.parameters import Metric
from leaderboard.aggregate import MISSING, Grid, Layout, PlannedCell, SeedResult, TaskFacts, build_grid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from benchmark.plan import PlannedCell as Line
    from benchmark.plan import Selection
    from benchmark.registry import Registry
    from benchmark.spec.load import LoadedExperiment
    from benchmark.spec.models import Experiment
    from benchmark.store import RunRecord, Store
    from benchmark.task import Task

RUNNING = "running"


def load_grid(
    store: Store,
    experiment: LoadedExperiment | None = None,
    profile: str | None = None,
    plugins: Sequence[Path] = (),
    part: Selection | None = None,
) -> Grid:
    """What the experiment asks for and what the store has of it; without one, that of the last run, and of it what any
    run was asked for, so that a narrower run hides nothing.

    `part` leaves cells of the experiment out, whatever runs were asked for.

    `plugins` are files with the families of that run's tasks, needed only without an experiment.

    Raises StoreError when the store has neither runs nor cells (of that profile).
    """
    if experiment is not None:
        return grid_of_experiment(store, experiment, part)
    run = last_run(store, profile)
    same = [one for one in store.runs() if run and origin_of(one) == origin_of(run)]
    again = None if run is None else experiment_of_run(run, plugins, seeds_of(same))
    if again is not None:
        return grid_of_experiment(store, again, part_of(same) if part is None else part)
    return grid_of_store(store, run, profile, registry_with(plugins))


def registry_with(plugins: Sequence[Path]) -> Registry:
    """What is installed, and these files."""
    from benchmark.registry import Registry

    registry = Registry.discover()
    for path in plugins:
        registry.add_file(path)
    return registry


# --- an experiment ---------------------------------------------------------------------------------------------


def origin_of(run: RunRecord) -> tuple[str, str, str]:
    """What runs of one and the same experiment share."""
    return run.experiment, run.profile, run.source


def part_of(runs: Sequence[RunRecord]) -> Selection:
    """The part of their experiment that runs were asked for, all together."""
    from benchmark.plan import Selection

    asked = [vars(Selection.from_json(run.selection)) for run in runs]
    axes = {name: [one[name] for one in asked] for name in ("tasks", "initializers", "seeds")}
    return Selection(**{name: tuple(dict.fromkeys(chain(*each))) if all(each) else () for name, each in axes.items()})


def seeds_of(runs: Sequence[RunRecord]) -> list[int]:
    """The seeds of runs of one experiment."""
    named = [run.spec.get("seeds") or () for run in runs]
    return sorted({seed for seeds in named for seed in (range(seeds) if isinstance(seeds, int) else seeds)})


def grid_of_experiment(store: Store, experiment: LoadedExperiment, part: Selection | None = None) -> Grid:
    """Every cell the experiment plans, or of a part of it, joined with the store by cell id."""
    from benchmark.plan import build_plan

    plan = build_plan(experiment, selection=part)
    stored = read_results(store, [line.cell.id for line in plan.cells if line.cell is not None])
    planned, skipped = planned_and_skipped(plan.cells, stored)
    tasks = {line.task for line in plan.cells}
    spec = experiment.experiment
    folder = experiment.path.parent
    return build_grid(
        planned,
        stored,
        [
            facts(task.name, task.task, task.title, task.primary, task.broken)
            for task in experiment.tasks
            if task.name in tasks
        ],
        experiment=spec.name,
        profile=experiment.profile,
        skipped=skipped,
        title=spec.title,
        layouts=layouts(spec),
        claims=[claims_named(name, folder) for name in spec.claims],
        part=plan.selection,
        questions=spec.compare,
        notes=[f"Part of the experiment ({part}); name the spec to see all of it"] if part else (),
    )


def planned_and_skipped(
    lines: Sequence[Line], stored: Collection[str]
) -> tuple[list[PlannedCell], dict[tuple[str, str], str]]:
    """Cells with a place in a mean, and (task, initialiser) → why cells have none.

    Cells that lack only their data here have one as soon as another seed of theirs was trained anywhere: what is
    shown is what the store has, and what its mean lacks.
    """
    begun = {(line.task, line.initializer) for line in lines if line.cell is not None and line.cell.id in stored}
    planned, skipped = [], {}
    for line in lines:
        pair = (line.task, line.initializer)
        if line.action == "skip" and not (line.cell is not None and pair in begun):
            skipped[pair] = line.reason
            continue
        state = ("broken", line.reason) if line.action == "broken" else (MISSING, None)
        planned.append(PlannedCell(*pair, line.seed, line.cell.id if line.cell else "", *state))
    return planned, skipped


def layouts(spec: Experiment) -> list[Layout]:
    """The tables an experiment asks for."""
    return [Layout(t.title, t.tasks, t.initializers, t.metrics, t.claims_table) for t in spec.tables]


def claims_named(name: str, folder: Path) -> str:
    """A shipped id as it is; a file relative to the spec that names it."""
    beside = folder / name
    return str(beside) if beside.is_file() else name


def facts(
    name: str, task: Task | None, title: str = "", primary: str | None = None, broken: str | None = None
) -> TaskFacts:
    """A task's metrics and reference rows; none of either when its plugin is broken.

    References that fail are left out and the reason is kept: the cells are shown all the same, and the other tasks.
    """
    if task is None:
        return TaskFacts(name, (), {}, title, trouble=broken)
    try:
        return TaskFacts(name, task.metrics(), task.references(), title, primary)
    except Exception as error:  # a family's own code may raise anything
        reason = str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
        return TaskFacts(name, task.metrics(), {}, title, primary, f"no reference rows ({reason})")


def experiment_of_run(
    run: RunRecord, plugins: Sequence[Path] = (), seeds: Sequence[int] = ()
) -> LoadedExperiment | None:
    """The experiment of a run, if its file is still what it was and still plans the run's cells.

    `seeds`: those that count, when they are not the run's own.
    """
    words = [word for word in run.argv if word.endswith((".yaml", ".yml")) and Path(word).is_file()]
    found = (_unchanged(name, run, plugins, seeds) for name in (*words, run.experiment))
    return next((experiment for experiment in found if experiment is not None), None)


def _unchanged(name: str, run: RunRecord, plugins: Sequence[Path], seeds: Sequence[int]) -> LoadedExperiment | None:
    from benchmark.plan import build_plan
    from benchmark.spec.load import load_experiment

    try:
        found = load_experiment(
            name, profile=run.profile or None, seeds=seeds or run.spec.get("seeds"), plugins=plugins
        )
        planned = {line.cell.id for line in build_plan(found).cells if line.cell is not None}
    except BenchError:
        return None
    return found if found.text == run.source and planned >= set(run.cell_ids) else None


def last_run(store: Store, profile: str | None) -> RunRecord | None:
    """The latest run, of that profile when one is given."""
    runs = [run for run in store.runs() if run.experiment and profile in (None, run.profile)]
    return runs[-1] if runs else None


# --- a store alone ---------------------------------------------------------------------------------------------


def grid_of_store(store: Store, run: RunRecord | None, profile: str | None, registry: Registry) -> Grid:
    """What can be said without the spec: the run's cells (or all of one profile), tasks rebuilt as they were stored."""
    from leaderboard import claims

    spec = stored_spec(run)
    rows = _cells(store, run, profile)
    if not rows:
        raise StoreError(f"{store.root} has no results{f' at profile {profile}' if profile else ''}; run a spec first")
    used = run.profile if run and run.profile else rows[0][4]
    cells = [
        PlannedCell(task, initializer, seed, cell_id) for cell_id, task, initializer, seed, p, _ in rows if p == used
    ]
    resolved = {task: text for _, task, _, _, p, text in rows if p == used}
    tasks = [_stored_facts(store, name, text, registry) for name, text in resolved.items()]
    return build_grid(
        _even(cells),
        read_results(store, [cell.cell_id for cell in cells]),
        tasks,
        experiment=run.experiment if run else "all results",
        profile=used,
        title=spec.title if spec else "",
        layouts=layouts(spec) if spec else (),
        claims=[name for name in spec.claims if name in claims.names()] if spec else (),
        questions=spec.compare if spec else {},
        notes=_store_notes(len(set(run.cell_ids)) - len(cells) if run else 0, tasks),
    )


def stored_spec(run: RunRecord | None) -> Experiment | None:
    """The experiment as the run kept it; None when this version cannot read it."""
    from benchmark.spec.models import Experiment

    try:
        return Experiment.model_validate(run.spec) if run else None
    except ValueError:
        return None


def _store_notes(unseen: int, tasks: Sequence[TaskFacts]) -> list[str]:
    """What a grid made without its spec cannot show."""
    unknown = [task.name for task in tasks if all(metric.direction == "none" for metric in task.metrics)]
    notes = []
    if unseen > 0:
        notes.append(f"{unseen} planned cells have no attempt yet and are not shown; name the spec to see them")
    if unknown:
        notes.append(f"{', '.join(unknown)}: the task's family is not at hand, so nothing is ranked; give --plugin")
    return notes


def _cells(store: Store, run: RunRecord | None, profile: str | None) -> list[tuple[Any, ...]]:
    """Cells of a run, or all of a profile (of the most frequent one), in the order they were first run."""
    query = (
        "select cell_id, task, initializer, seed, profile, resolved from cells where {} order by attempt_id, cell_id"
    )
    if run is not None and run.cell_ids:
        return store.ask(query.format("cell_id in (select unnest(?))"), [list(run.cell_ids)])
    if profile is None:
        common = store.ask("select profile from cells group by profile order by count(*) desc, profile limit 1")
        profile = common[0][0] if common else ""
    return store.ask(query.format("profile = ?"), [profile])


def _even(cells: Sequence[PlannedCell]) -> list[PlannedCell]:
    """The cells, and a missing one for each seed that other cells have, so that gaps are seen."""
    seeds = sorted({cell.seed for cell in cells})
    have = {(cell.task, cell.initializer, cell.seed) for cell in cells}
    pairs = dict.fromkeys((cell.task, cell.initializer) for cell in cells)
    return [*cells, *(PlannedCell(*pair, seed, "") for pair in pairs for seed in seeds if (*pair, seed) not in have)]


def _stored_facts(store: Store, name: str, resolved: str, registry: Registry) -> TaskFacts:
    """The task as it was stored; when its family cannot be rebuilt, its metrics without a direction."""
    from benchmark.plan import rebuild

    described = json.loads(resolved)["task"]
    try:
        return facts(name, rebuild(registry.task(described["family"]), described))
    except (BenchError, ValueError):
        found = store.ask("select distinct metric from finals where task = ? order by metric", [name])
        return TaskFacts(name, tuple(Metric(name=metric, title=metric, direction="none") for (metric,) in found))


# --- rows ------------------------------------------------------------------------------------------------------


def read_results(store: Store, cell_ids: Collection[str]) -> dict[str, SeedResult]:
    """Cell id → what came of it, for those of the given cells the store knows or that are being trained now."""
    rows = store.ask(
        "select cell_id, seed, status, error, execution, list(metric), list(value) from cells "
        "left join (select cell_id, metric, value from finals where value is not null) using (cell_id) "
        "where cell_id in (select unnest(?)) group by all",
        [list(cell_ids)],
    )
    found = {
        id: SeedResult(seed, id, status, {name: x for name, x in zip(names, values, strict=True) if name}, *how)
        for id, seed, status, *how, names, values in rows
    }
    return {**{cell_id: SeedResult(-1, cell_id, RUNNING) for cell_id in running(store)}, **found}


def running(store: Store) -> Iterable[str]:
    """Cells some living process is training."""
    return [cell_id for beat in store.heartbeats() if beat.is_alive() for cell_id in beat.cell_ids]


Points = tuple["NDArray[np.int64]", "NDArray[np.float64]"]
"""Steps, rising, and the values there."""


def curves(store: Store, cell_ids: Collection[str], metrics: Collection[str]) -> dict[tuple[str, str], Points]:
    """(cell id, metric) → its curve, of these metrics on all inputs or `name@size`."""
    import numpy as np

    wanted = [name.partition("@")[0] for name in metrics]
    found = store.ask(
        "select distinct metric from curve_ends where split_part(metric, '@', 1) in (select unnest(?))", [wanted]
    )
    ids, names = [*cell_ids], sorted(name for (name,) in found)
    if not (ids and names):
        return {}
    con = store.connect()
    try:
        read = con.execute(
            "select c.k * ? + m.k as key, step, value from curves "
            "join (select unnest(?) as cell_id, unnest(?) as k) c using (cell_id) "
            "join (select unnest(?) as metric, unnest(?) as k) m using (metric) order by all",
            [len(names), ids, [*range(len(ids))], names, [*range(len(names))]],
        ).fetchnumpy()
    finally:
        con.close()
    edges = np.flatnonzero(np.diff(read["key"], prepend=-1, append=-1))
    return {
        (ids[key // len(names)], names[key % len(names)]): (read["step"][start:end], read["value"][start:end])
        for start, end, key in zip(edges[:-1], edges[1:], read["key"][edges[:-1]].tolist(), strict=True)
    }
