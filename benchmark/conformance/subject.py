"""What is checked: a task or an initialiser with the cells it is tried on, named, in a file or as an object."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.cell import PluginFile
from benchmark.conformance.untouched import Untouched
from benchmark.errors import PluginError, UsageError
from benchmark.execution.job import Job, Request
from benchmark.execution.process import Place
from benchmark.identity import resolved_cell
from benchmark.initializer import Initializer
from benchmark.plan import rebuild
from benchmark.registry import Kind, Registry, default_registry, read_plugin
from benchmark.spec.catalog import Catalog
from benchmark.spec.marks import InvalidSpecError, Mark, Source
from benchmark.spec.models import Selected
from benchmark.spec.resolve import ResolvedInitializer, ResolvedTask, Resolver
from benchmark.spec.source import Node
from benchmark.task import Task
from benchmark.wording import hint


@dataclass(frozen=True)
class Pair:
    """A task and an initialiser that are tried together."""

    task_name: str
    task: Task
    initializer: Initializer


@dataclass(frozen=True)
class Subject:
    """One task or initialiser at one profile."""

    kind: Kind
    name: str
    profile: str
    pair: Pair
    """What it is tried with: an initialiser with one task, a task with the start that changes nothing."""
    others: tuple[Pair, ...] = ()
    """An initialiser with one task of every other family that it says it can start."""
    plugins: tuple[PluginFile, ...] = ()
    """User files that another process must load."""

    @property
    def family(self) -> Task | Initializer:
        """The object that is checked."""
        return self.pair.task if self.kind == "task" else self.pair.initializer

    def to_json(self) -> dict[str, Any]:
        """Plain values that another process can turn back with `from_json`.

        Raises:
            TypeError, ValueError: its parameters are no JSON.
        """
        pairs = [
            {"name": pair.task_name, **resolved_cell(pair.task, pair.initializer, self.profile, 0)}
            for pair in (self.pair, *self.others)
        ]
        return {
            "kind": self.kind,
            "name": self.name,
            "profile": self.profile,
            "pairs": pairs,
            "plugins": [vars(plugin) for plugin in self.plugins],
        }

    def question(self, rule: str, threads: int) -> Request:
        """What a training process is asked about one rule; raises what `to_json` raises."""
        job = Job("", "", "", "", (), "alone", "cpu", threads, self.plugins)
        return Request(job, "conform", {"subject": self.to_json(), "rule": rule})

    def place(self, threads: int) -> Place:
        """Where a training process for it runs."""
        return Place(None, threads, tuple(self.plugins))

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Subject:
        """Raises PluginError when a family is not here, or has another version."""
        plugins = tuple(PluginFile(**plugin) for plugin in value["plugins"])
        registry = Registry.from_plugins(plugins)
        pairs = [remade(pair, registry) for pair in value["pairs"]]
        return cls(value["kind"], value["name"], value["profile"], pairs[0], tuple(pairs[1:]), plugins)


def remade(value: Mapping[str, Any], registry: Registry) -> Pair:
    """A pair from its plain values."""
    started = value["initializer"]
    family = Untouched if started["family"] == Untouched.family else registry.initializer(started["family"])
    task = rebuild(registry.task(value["task"]["family"]), value["task"])
    return Pair(value["name"], task, rebuild(family, started))


class Finder:
    """Resolves names at one profile, with parameters laid over those of the files."""

    def __init__(self, plugins: Iterable[str | Path] = (), profile: str = "compact") -> None:
        self.registry, self.profile = Registry.discover(), profile
        for plugin in plugins:
            self.registry.add_file(Path(plugin))
        self.catalog = Catalog.discover(file.path for file in self.registry.plugin_files)
        self.resolver = Resolver(self.registry, self.catalog)

    def named(self, kind: Kind, name: str, parameters: Mapping[str, Any] | None = None, task: str = "") -> Subject:
        """The subject of that name.

        Raises:
            UsageError, PluginError, SpecError: there is none, it is broken, or no task here can be started by it.
        """
        if kind == "task":
            made = self.task(name, parameters)
            return Subject(kind, name, self.profile, Pair(name, made, Untouched()), (), self.registry.plugin_files)
        wanted = [task] if task else self.names("task")
        tasks = tuple(found for one in wanted if (found := self.resolved_task(one)) and (task or usable(found)))
        node = reference(name, parameters)
        resolved = self.resolver.initializer(Selected.model_validate({"name": name}), node, tasks, self.profile)
        self.no_problems()
        if resolved is None or (resolved.broken and not resolved.by_task):
            raise PluginError(f"initializer '{name}' cannot be used: {resolved and resolved.broken}")
        return self.subject(name, started(resolved, tasks), self.registry.plugin_files)

    def of(self, made: Initializer, name: str, task: Task | str = "") -> Subject:
        """The subject of an initialiser's object; `task` is the one it is tried on, the cheapest here if absent."""
        if isinstance(task, Task):
            pairs = [Pair(task.family or type(task).__name__, task, made)]
        else:
            found = [self.resolved_task(one) for one in ([task] if task else self.names("task"))]
            if task:
                self.no_problems()
            pairs = [Pair(one.name, one.task, made) for one in found if one and one.task and (task or usable(one))]
        return self.subject(name, pairs, files_of(type(made), *(type(pair.task) for pair in pairs)))

    def subject(self, name: str, pairs: list[Pair], plugins: tuple[PluginFile, ...]) -> Subject:
        """An initialiser with the cheapest task it can start, and the cheapest of every other family."""
        refusals = {pair.task_name: refusal(pair) for pair in pairs}
        able = sorted((pair for pair in pairs if not refusals[pair.task_name]), key=price)
        if not able:
            reasons = "; ".join(f"{task}: {reason}" for task, reason in refusals.items())
            raise UsageError(f"initializer '{name}' can start no task that is here ({reasons or 'there is none'})")
        cheapest = {pair.task.family: pair for pair in reversed(able)}
        others = tuple(pair for family, pair in cheapest.items() if family != able[0].task.family)
        return Subject("initializer", name, self.profile, able[0], others, plugins)

    def task(self, name: str, parameters: Mapping[str, Any] | None = None) -> Task:
        """The task of that name at the profile; raises what `named` raises."""
        resolved = self.resolved_task(name, parameters)
        self.no_problems()
        if resolved is None:
            raise InvalidSpecError(self.resolver.without_profile)
        if resolved.task is None:
            raise PluginError(f"task '{name}' cannot be used: {resolved.broken or resolved.skipped}")
        if missing := resolved.task.missing_data():
            raise UsageError(f"task '{name}' cannot be trained here: {missing}")
        return resolved.task

    def resolved_task(self, name: str, parameters: Mapping[str, Any] | None = None) -> ResolvedTask | None:
        """A task as an experiment would resolve it; what is wrong with it is among the resolver's problems."""
        return self.resolver.task(Selected.model_validate({"name": name}), reference(name, parameters), self.profile)

    def no_problems(self) -> None:
        """Raise what the resolver noted."""
        if self.resolver.problems:
            raise InvalidSpecError(self.resolver.problems)

    def names(self, kind: Kind) -> tuple[str, ...]:
        """Specs of one kind, and families that no spec file mentions."""
        return tuple(dict.fromkeys((*self.catalog.names(kind), *sorted(self.brought(kind)))))

    def brought(self, kind: Kind) -> set[str]:
        """What the plugin files bring: specs beside them of their families, families without one."""
        return set(self.resolver.names_from(kind, self.registry.plugin_files))

    def kinds_of(self, name: str) -> list[Kind]:
        """Whether a name is a task's, an initialiser's or both; raises UsageError when it is neither."""
        kinds: tuple[Kind, ...] = ("task", "initializer")
        known = {kind: {*self.names(kind), *self.registry.names(kind)} for kind in kinds}
        found = [kind for kind in kinds if name in known[kind]]
        if not found:
            raise UsageError(f"no task or initializer '{name}'{hint(name, sorted(set().union(*known.values())))}")
        return found


def reference(name: str, parameters: Mapping[str, Any] | None = None) -> Node:
    """A name as an experiment would write it; what is wrong with its parameters is said of `--parameters`."""
    values = dict(parameters or {})
    mark = Mark(Source("--parameters", json.dumps(values, default=str)), 1, 1)
    return node_of(mark, {"name": name, **({"parameters": values} if values else {})})


def node_of(mark: Mark, value: Any) -> Node:
    """Plain values as a tree, all of it at one place."""
    if isinstance(value, Mapping):
        return Node(mark, {key: node_of(mark, item) for key, item in value.items()})
    return Node(mark, [node_of(mark, item) for item in value] if isinstance(value, list | tuple) else value)


def started(resolved: ResolvedInitializer, tasks: Iterable[ResolvedTask]) -> list[Pair]:
    """The pairs that can be planned."""
    return [
        Pair(one.name, one.task, resolved.by_task[one.name])
        for one in tasks
        if one.task and one.name in resolved.by_task
    ]


def usable(resolved: ResolvedTask) -> bool:
    """Whether the task and its data are here."""
    try:
        return resolved.task is not None and resolved.task.missing_data() is None
    except Exception:  # a third party's task that cannot say so is not what an initialiser is tried on
        return False


def refusal(pair: Pair) -> str | None:
    """Why an initialiser does not start a task; None too when it cannot say, which is a finding later."""
    try:
        return pair.initializer.unsupported(pair.task)
    except Exception:
        return None


def price(pair: Pair) -> int:
    """What a step costs, roughly: enough to choose the cheapest task."""
    shape = pair.task.geometry()
    return shape.layers * (shape.tokens + shape.extra_tokens) * max(1, shape.dim) ** 2 * pair.task.budget.batch_size


def files_of(*families: type[Task] | type[Initializer]) -> tuple[PluginFile, ...]:
    """Files another process must load to have these classes; none for what is installed under its name."""
    return tuple(dict.fromkeys(file for family in families if (file := file_of(family)) is not None))


def file_of(family: type[Task] | type[Initializer]) -> PluginFile | None:
    """The file a class is written in; None when its name on offer leads to it, or it is in no file."""
    entry = default_registry().entry("task" if issubclass(family, Task) else "initializer", family.family)
    path = inspect.getsourcefile(family)
    if path is None or (entry is not None and entry.get() is family):
        return None
    return read_plugin(Path(path), None)[0]
