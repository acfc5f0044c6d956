"""Experiment × registry × store → every cell with what will be done about it and why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from benchmark.cell import Cell
from benchmark.errors import PluginError, UsageError
from benchmark.identity import hash_resolved, hashed_by_seed, parameters_of, resolved_cell
from benchmark.initializer import Initializer
from benchmark.patterns import meant
from benchmark.probe import Probe
from benchmark.registry import Kind, Registry
from benchmark.spec.load import LoadedExperiment, load_experiment
from benchmark.spec.models import Experiment
from benchmark.spec.resolve import ResolvedInitializer, ResolvedTask, beside
from benchmark.task import Task
from benchmark.wording import counted, suggestion

__all__ = [
    "Estimate",
    "LoadedExperiment",
    "Plan",
    "PlannedCell",
    "Selection",
    "build_plan",
    "cell_from_json",
    "cell_to_json",
    "load_experiment",
]

Found = TypeVar("Found")
Action = Literal["run", "reuse", "same", "skip", "broken"]
"""`same`: its numbers are those of an earlier line of the plan; `broken`: its plugin cannot be used."""

MOST_CELLS = 1_000_000
"""Cells of one plan; more would take gigabytes to list."""
SEEDS_SHOWN = 20


@dataclass(frozen=True)
class PlannedCell:
    """One line of the plan."""

    task: str
    initializer: str
    seed: int
    profile: str
    action: Action
    reason: str
    """`new`, `failed before (timeout)`, `forced`, `reused from run ...`, or why it is not run."""
    cell: Cell | None = None
    """None when no cell can be made of it (`skip`, `broken`); a cell that only waits for its data is there."""
    before: str | None = None
    """How its last attempt ended that left no numbers (`failed`, `timeout` ...)."""

    @property
    def label(self) -> str:
        """Task × initialiser, seed."""
        return f"{self.task} × {self.initializer}, seed {self.seed}"

    def as_json(self) -> dict[str, Any]:
        """The line as plain data."""
        return {
            "task": self.task,
            "initializer": self.initializer,
            "seed": self.seed,
            "profile": self.profile,
            "action": self.action,
            "reason": self.reason,
            "cell_id": self.cell.id if self.cell else None,
        }


@dataclass(frozen=True)
class Estimate:
    """Cost of what will be run, from cells of the same task and initialiser that ran before."""

    seconds: float
    """Sum over the cells whose cost is known: one worker's time."""
    known: int
    unknown: int
    """Cells of which nothing comparable has run yet."""


@dataclass(frozen=True)
class Selection:
    """Part of the grid; empty means all."""

    tasks: tuple[str, ...] = ()
    """Task name patterns."""
    initializers: tuple[str, ...] = ()
    """Initialiser name patterns."""
    seeds: tuple[int, ...] = ()

    def takes(self, task: str, initializer: str, seed: int) -> bool:
        """Whether a cell is meant."""
        wanted = not self.seeds or seed in self.seeds
        return wanted and named(task, self.tasks) and named(initializer, self.initializers)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Selection:
        """The selection a run's record holds; all of the grid for a record of an earlier version, which has none."""
        return cls(*(tuple(stored.get(name) or ()) for name in ("tasks", "initializers", "seeds")))

    def __bool__(self) -> bool:
        """Whether anything is left out, or could be."""
        return bool(self.tasks or self.initializers or self.seeds)

    def __str__(self) -> str:
        parts = {"tasks": self.tasks, "initialisers": self.initializers, "seeds": self.seeds}
        return "; ".join(f"{name} {', '.join(map(str, asked))}" for name, asked in parts.items() if asked)


@dataclass(frozen=True)
class Plan:
    """Every selected cell, in the order of tasks, initialisers and seeds."""

    loaded: LoadedExperiment
    cells: tuple[PlannedCell, ...]
    seconds: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """(task, initialiser) → seconds a cell took before."""
    selection: Selection = field(default_factory=Selection)
    """The part of the experiment that was asked for."""

    def to_run(self) -> tuple[Cell, ...]:
        """Cells to train, each once."""
        return tuple(planned.cell for planned in self.with_action("run") if planned.cell)

    def with_action(self, action: Action) -> tuple[PlannedCell, ...]:
        """Lines with that action."""
        return tuple(planned for planned in self.cells if planned.action == action)

    def counts(self) -> dict[str, int]:
        """Reason → number of cells, most frequent first; runs and seeds are left out of the reasons."""
        return dict(Counter(kind_of_reason(planned) for planned in self.cells).most_common())

    def estimate(self) -> Estimate | None:
        """Cost of what will be run; None when nothing comparable has run yet."""
        wanted = self.with_action("run")
        known = [s for planned in wanted if (s := self.seconds.get((planned.task, planned.initializer))) is not None]
        return Estimate(sum(known), len(known), len(wanted) - len(known)) if known or not wanted else None


def kind_of_reason(planned: PlannedCell) -> str:
    """The reason without what differs from cell to cell."""
    if planned.action == "reuse":
        return "reused"
    if planned.action == "same":
        return "same as another cell"
    return planned.reason


def build_plan(
    loaded: LoadedExperiment,
    finished: Mapping[str, str] | None = None,
    failed: Mapping[str, str] | None = None,
    *,
    recorded: Mapping[str, Collection[str]] | None = None,
    force: bool = False,
    selection: Selection | None = None,
    seconds: Mapping[tuple[str, str], float] | None = None,
) -> Plan:
    """What a run would do with each selected cell of an experiment.

    Args:
        loaded: from `load_experiment`.
        finished: cell id → run id of the attempt that counts.
        failed: cell id → status of the last attempt of a cell that has no numbers.
        recorded: cell id → keys of what probes recorded of it.
        force: train finished cells too.
        selection: the part of the grid that is wanted.
        seconds: (task name, initialiser name) → seconds per cell, as far as known.

    Raises:
        UsageError: nothing is selected, or more than can be planned.
    """
    planner = Planner(loaded, finished or {}, failed or {}, recorded or {}, force)
    chosen = selection or Selection()
    tasks = [task for task in loaded.tasks if named(task.name, chosen.tasks)]
    initializers = [one for one in loaded.initializers if named(one.name, chosen.initializers)]
    seeds = [seed for seed in loaded.seeds if not chosen.seeds or seed in chosen.seeds]
    if (size := len(tasks) * len(initializers) * len(seeds)) > MOST_CELLS:
        raise UsageError(
            f"{loaded.name} has {size} cells ({counted(len(tasks), 'task')} × "
            f"{counted(len(initializers), 'initializer')} × {counted(len(seeds), 'seed')}); at most {MOST_CELLS} "
            "can be planned at once: ask for fewer with --task, --initializer or --seeds"
        )
    if not size:
        raise UsageError(nothing_selected(loaded, chosen))
    cells = tuple(planner.plan(task, one, seed) for task in tasks for one in initializers for seed in seeds)
    return Plan(loaded, cells, seconds or {}, chosen)


def named(name: str, globs: Sequence[str]) -> bool:
    """Whether a name matches one of the patterns; without any, every name does."""
    return not globs or meant(name, globs)


def nothing_selected(loaded: LoadedExperiment, chosen: Selection) -> str:
    """The error about an empty selection, with what there is."""
    tasks = [task.name for task in loaded.tasks]
    initializers = [one.name for one in loaded.initializers]
    parts = [*unmatched("task", chosen.tasks, tasks), *unmatched("initializer", chosen.initializers, initializers)]
    if chosen.seeds and not set(chosen.seeds) & set(loaded.seeds):
        asked = ", ".join(map(str, chosen.seeds))
        parts.append(f"--seed {asked} is none of the seeds {shown_seeds(loaded.seeds)}")
    return f"nothing selected: {'; '.join(parts)}"


def unmatched(option: Kind, globs: Sequence[str], known: Sequence[str]) -> list[str]:
    """What is wrong with the patterns of one filter when none of them matches; nothing when one does."""
    if any(named(name, globs) for name in known):
        return []
    listed = f"; known: {', '.join(known)}"
    return [
        f"--{option} '{glob}' matches nothing{beside(option, glob, Path()) or suggestion(glob, known) or listed}"
        for glob in globs
    ]


def shown_seeds(seeds: Sequence[int]) -> str:
    """The first seeds, and how many more."""
    more = f" and {len(seeds) - SEEDS_SHOWN} more" if len(seeds) > SEEDS_SHOWN else ""
    return ", ".join(map(str, seeds[:SEEDS_SHOWN])) + more


class Planner:
    """Decides cell by cell."""

    def __init__(
        self, loaded: LoadedExperiment, finished: Mapping[str, str], failed: Mapping[str, str],
        recorded: Mapping[str, Collection[str]], force: bool,
    ) -> None:  # fmt: skip
        self.loaded = loaded
        self.finished = finished
        self.failed = failed
        self.recorded = recorded
        self.force = force
        self.seen: dict[str, PlannedCell] = {}
        self.resolved: dict[tuple[str, str], Callable[[int], str]] = {}
        self.data: dict[str, tuple[Action, str] | None] = {}

    def plan(self, task: ResolvedTask, initializer: ResolvedInitializer, seed: int) -> PlannedCell:
        """One line."""
        key = (task.name, initializer.name)
        if (reason := left_out(self.loaded.experiment, *key, seed)) is not None:
            return self.line(task, initializer, seed, "skip", reason)
        if (found := self.once(("obstacle", *key), lambda: obstacle(task, initializer))) is not None:
            return self.line(task, initializer, seed, *found)
        cell = self.cell(task, initializer, seed)
        action, reason = self.decide(cell)
        if action == "run" and (lacking := self.lacking_data(task)) is not None:
            return self.line(task, initializer, seed, *lacking, cell)
        planned = self.line(task, initializer, seed, action, reason, cell)
        self.seen.setdefault(cell.id, planned)
        return planned

    def once(self, key: tuple[Any, ...], make: Callable[[], Found]) -> Found:
        """What `make` returns, asked once for all plans of an experiment: a run, its tables and its checks make one."""
        if key not in self.loaded.worked_out:
            self.loaded.worked_out[key] = make()
        found: Found = self.loaded.worked_out[key]
        return found

    def lacking_data(self, task: ResolvedTask) -> tuple[Action, str] | None:
        """Why nothing can be trained on a task here; asked for cells without numbers alone, once for each task.

        Numbers are shown and reused wherever the data is that they were made from.
        """
        if task.name not in self.data:
            self.data[task.name] = no_data(task)
        return self.data[task.name]

    def cell(self, task: ResolvedTask, initializer: ResolvedInitializer, seed: int) -> Cell:
        """A resolved cell with its id; of a pair's cells only the seed differs."""
        return self.once((task.name, initializer.name, seed), lambda: self.make_cell(task, initializer, seed))

    def make_cell(self, task: ResolvedTask, initializer: ResolvedInitializer, seed: int) -> Cell:
        """`cell`, for the first time."""
        assert task.task is not None
        key, started, profile = (task.name, initializer.name), initializer.by_task[task.name], self.loaded.profile
        if key not in self.resolved:
            self.resolved[key] = hashed_by_seed(resolved_cell(task.task, started, profile, seed))
        probes = self.once(("probes", task.name), lambda: usable_probes(self.loaded.probes, task.task))
        return Cell(self.resolved[key](seed), task.name, initializer.name, seed, profile, task.task, started, probes)

    def line(
        self, task: ResolvedTask, initializer: ResolvedInitializer, seed: int,
        action: Action, reason: str, cell: Cell | None = None,
    ) -> PlannedCell:  # fmt: skip
        """A line of the plan."""
        before = self.failed.get(cell.id) if cell else None
        return PlannedCell(task.name, initializer.name, seed, self.loaded.profile, action, reason, cell, before)

    def decide(self, cell: Cell) -> tuple[Action, str]:
        """What to do with a cell that can be run."""
        if cell.id in self.seen:
            return "same", f"same as {self.seen[cell.id].label}"
        if cell.id in self.finished:
            if lacking := lacking_recordings(cell, self.recorded):
                return "run", f"finished, but not recorded: {', '.join(lacking)}"
            return ("run", "forced") if self.force else ("reuse", f"reused from run {self.finished[cell.id]}")
        if cell.id in self.failed:
            return "run", f"failed before ({self.failed[cell.id]})"
        return "run", "new"


def usable_probes(probes: Sequence[Probe], task: Task | None) -> tuple[Probe, ...]:
    """Those that can measure on a task."""
    return tuple(p for p in probes if task is not None and p.unsupported(task) is None)


def lacking_recordings(cell: Cell, recorded: Mapping[str, Collection[str]]) -> list[str]:
    """Probes of a cell of which the store has no recording."""
    return [probe.family for probe in cell.probes if probe.key not in recorded.get(cell.id, ())]


def left_out(experiment: Experiment, task: str, initializer: str, seed: int) -> str | None:
    """The spec's reason for leaving a cell out."""
    if experiment.include and not any(matches(rule, task, initializer, seed) for rule in experiment.include):
        return "not among the cells the spec includes"
    return next((rule.reason for rule in experiment.exclude if matches(rule, task, initializer, seed)), None)


def matches(rule: Any, task: str, initializer: str, seed: int) -> bool:
    """Whether a rule means a cell."""
    return meant(task, rule.task) and meant(initializer, rule.initializer) and (not rule.seed or seed in rule.seed)


def obstacle(task: ResolvedTask, initializer: ResolvedInitializer) -> tuple[Action, str] | None:
    """Why a task cannot be run with an initialiser, at any seed and wherever its data is; None when it can."""
    if task.skipped is not None:
        return "skip", task.skipped
    trained, started = task.task, initializer.by_task.get(task.name)
    if trained is None or started is None:
        return "broken", f"broken plugin: {task.broken or initializer.broken}"
    try:
        for family in (trained, started):
            parameters_of(family)
    except (TypeError, ValueError) as error:  # a set, say: no id can be made of it
        return "broken", f"broken plugin: {error}"
    return told(lambda: started.unsupported(trained))


def no_data(task: ResolvedTask) -> tuple[Action, str] | None:
    """Why a task cannot be trained for want of data; None when it can."""
    return None if task.task is None else told(task.task.missing_data)


def told(ask: Callable[[], str | None]) -> tuple[Action, str] | None:
    """What a family answers as an action; third-party code may raise anything and must not stop the other cells."""
    try:
        reason = ask()
    except Exception as error:
        return "broken", f"failed while planning with {type(error).__name__}: {error}"
    return None if reason is None else ("skip", reason)


# --- to workers and back ---------------------------------------------------------------------------------------


def cell_to_json(cell: Cell) -> str:
    """A cell as text that a worker can turn back with `cell_from_json`; plugin classes do not survive pickling."""
    resolved = resolved_cell(cell.task, cell.initializer, cell.profile, cell.seed)
    names = {"id": cell.id, "task": cell.task_name, "initializer": cell.initializer_name}
    probes = [probe.described() for probe in cell.probes]
    return json.dumps({**names, "resolved": resolved, "probes": probes}, allow_nan=False)


def cell_from_json(text: str, registry: Registry) -> Cell:
    """The cell of `cell_to_json`, rebuilt from the families of `registry`.

    Raises:
        PluginError: a family is missing or broken, has another version here, or resolves to another id.
    """
    data = json.loads(text)
    resolved = data["resolved"]
    task: Task = rebuild(registry.task(resolved["task"]["family"]), resolved["task"])
    initializer: Initializer = rebuild(registry.initializer(resolved["initializer"]["family"]), resolved["initializer"])
    profile, seed = resolved["profile"], resolved["seed"]
    found = hash_resolved(resolved_cell(task, initializer, profile, seed))
    if found != data["id"]:
        raise PluginError(
            f"{data['task']} × {data['initializer']}, seed {seed} was planned as cell {data['id'][:12]} and is "
            f"{found[:12]} here: the code of its task or initialiser has changed; start the run again"
        )
    probes = tuple(rebuild(registry.get("probe", one["family"]), one) for one in data["probes"])
    return Cell(found, data["task"], data["initializer"], seed, profile, task, initializer, probes)


def rebuild(family: type[Any], resolved: Mapping[str, Any]) -> Any:
    """A family's object from its resolved parameters."""
    if family.version != resolved["version"]:
        raise PluginError(
            f"'{resolved['family']}' was planned at version {resolved['version']} and is version {family.version} here"
        )
    return family.model_validate(resolved["parameters"])
