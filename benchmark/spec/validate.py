"""One spec file of any kind, checked at every profile and override without running it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from benchmark.errors import PluginError
from benchmark.plan import left_out
from benchmark.registry import Kind, Registry
from benchmark.spec.catalog import Catalog
from benchmark.spec.load import add_plugins
from benchmark.spec.marks import InvalidSpecError, Mark, Problem, Source, in_order
from benchmark.spec.models import Experiment, InitializerSpec, TaskSpec
from benchmark.spec.resolve import (
    ResolvedInitializer,
    ResolvedTask,
    Resolver,
    initializer_parameters,
    task_parameters,
    written_profile,
)
from benchmark.spec.source import Node, load_source, parse
from benchmark.wording import hint, shown_path

Known = Mapping[str, Callable[[], Iterable[str]]]
"""Key of an experiment (`claims`, `checks`) → the names that may stand there."""


def validate_file(path: Path, *, plugins: Iterable[str | Path] = (), known: Known | None = None) -> list[Problem]:
    """Every problem of one spec file of any kind, at every profile and override.

    `known` says which names the keys may hold that belong to other packages; they are asked only where needed.
    """
    try:
        source = load_source(path, shown_path(path))
    except InvalidSpecError as error:
        return list(error.problems)
    root, problems = parse(source)
    if root is None:
        return problems
    registry = Registry.discover()
    problems += add_plugins(registry, root, path)
    for plugin in plugins:
        registry.add_file(Path(plugin))
    beside: list[str | Path] = [path, *(file.path for file in registry.plugin_files)]
    resolver = Resolver(registry, Catalog.discover(beside), problems)
    kind = next(iter(root.keys), "")
    if kind == "experiment":
        experiment = resolver.check(Experiment, root, "the experiment")
        tasks, initializers = resolver.grid(root, written_profile(root))
        check_usable(resolver, root, tasks, initializers)
        if experiment is not None and tasks and initializers:
            check_something_is_left(resolver, root, experiment, tasks, initializers)
        check_names(resolver, root, path, known or {})
    elif kind == "task":
        validate_task(resolver, root)
    elif kind == "initializer":
        validate_initializer(resolver, root)
    else:
        message = f"expected 'task', 'initializer' or 'experiment' as first key, found '{kind}'"
        resolver.note(kind_mark(root, source), message)
    return list(in_order(problems))


def check_usable(
    resolver: Resolver, root: Node, tasks: Sequence[ResolvedTask], initializers: Sequence[ResolvedInitializer]
) -> None:
    """Families that cannot be used; a run would leave their cells out, here they are problems."""
    for key, chosen in (("tasks", tasks), ("initializers", initializers)):
        for one in chosen:
            if one.broken:
                resolver.note(root.key_mark(key), one.broken)


def check_something_is_left(
    resolver: Resolver,
    root: Node,
    experiment: Experiment,
    tasks: Sequence[ResolvedTask],
    initializers: Sequence[ResolvedInitializer],
) -> None:
    """`include` and `exclude` that leave no cell are a mistake."""
    cells = product((task.name for task in tasks), (one.name for one in initializers), experiment.seed_list)
    if all(left_out(experiment, *cell) is not None for cell in cells):
        key = "exclude" if experiment.exclude else "include"
        resolver.note(root.key_mark(key), f"'{key}' leaves no cell of this experiment to run")


def check_names(resolver: Resolver, root: Node, path: Path, known: Known) -> None:
    """Names in `claims` (or files beside the spec) and `checks`."""
    for key, names in known.items():
        section = root.child(key)
        if section is None:
            continue
        valid = list(names())
        marks = section.keys or {str(node.value): node.mark for node in section.elements()}
        for name, mark in marks.items():
            is_file = key == "claims" and ((path.parent / name).is_file() or Path(name).is_file())
            if name not in valid and not is_file:
                resolver.note(mark, f"unknown name '{name}' in {key}{hint(name, valid)}")


def kind_mark(root: Node, source: Source) -> Mark:
    """The first key, or the start of the file."""
    return next(iter(root.keys.values()), Mark(source, 1, 1))


def validate_task(resolver: Resolver, root: Node) -> None:
    """A task file at all of its profiles."""
    spec = resolver.check(TaskSpec, root, "the task")
    family = usable(resolver, "task", root)
    profiles = root.child("profiles")
    for profile in [key for key, _ in profiles.items()] if profiles else [""]:
        tree = task_parameters(root, profile) or Node(root.mark, {})
        at = f" at profile {profile}" if profile else ""
        task = noted(resolver, family, tree, f"the parameters of the task{at}") if family else None
        if task is not None and spec is not None:
            try:
                resolver.check_primary(spec, root, task)
            except PluginError as error:
                resolver.note(tree.mark, str(error))


def validate_initializer(resolver: Resolver, root: Node) -> None:
    """An initialiser file as it stands and with each of its overrides."""
    resolver.check(InitializerSpec, root, "the initializer")
    family = usable(resolver, "initializer", root)
    listed = root.child("overrides")
    overrides = len(listed.elements()) if listed else 0
    for chosen in ((), *((number,) for number in range(overrides))):
        tree = initializer_parameters(root, chosen) or Node(root.mark, {})
        if family:
            noted(resolver, family, tree, "the parameters of the initializer")


def noted(resolver: Resolver, family: type[Any], tree: Node, subject: str) -> Any:
    """A family's object; unlike in a run, a check of its own that raises is a problem here."""
    made, broken = resolver.made(family, tree, subject)
    if broken:
        resolver.note(tree.mark, broken)
    return made


def usable(resolver: Resolver, kind: Kind, root: Node) -> type[Any] | None:
    """The family a spec names; unlike in a run, one that cannot be used is a problem here."""
    node = root.child("family")
    if node is None or not isinstance(node.value, str):
        return None
    family, broken = resolver.family(kind, node.value, root)
    if broken:
        resolver.note(node.mark, broken)
    return family
