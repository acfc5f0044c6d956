"""Experiment file → everything it names, resolved: every problem of every file involved is reported at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.cell import PluginFile
from benchmark.errors import PluginError, UsageError
from benchmark.probe import Probe
from benchmark.registry import Kind, Registry
from benchmark.seeds import check_seeds, seed_range
from benchmark.spec.catalog import PLURAL, Catalog, first_key
from benchmark.spec.marks import InvalidSpecError, Problem
from benchmark.spec.models import Experiment
from benchmark.spec.resolve import ResolvedInitializer, ResolvedTask, Resolver, written_profile
from benchmark.spec.source import Node, load_source, parse
from benchmark.wording import shown_path

FAMILIES: tuple[Kind, ...] = ("task", "initializer")


@dataclass(frozen=True)
class LoadedExperiment:
    """An experiment with everything it names."""

    experiment: Experiment
    profile: str
    """The profile that counts: the command line's, or the spec's."""
    seeds: tuple[int, ...]
    """The seeds that count."""
    tasks: tuple[ResolvedTask, ...]
    initializers: tuple[ResolvedInitializer, ...]
    probes: tuple[Probe, ...]
    registry: Registry
    path: Path
    text: str
    sha256: str
    """Digest of `text`."""
    notices: tuple[str, ...] = ()
    """What the user should be told, for example that a shipped spec is used."""
    worked_out: dict[tuple[Any, ...], Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What plans of this experiment found out already: its cells, and what cannot be run."""

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.experiment.name

    @property
    def warnings(self) -> tuple[str, ...]:
        """Plugin files that could not be run, and why; what needs them cannot be used."""
        return self.registry.broken_notices()

    @property
    def plugin_files(self) -> tuple[PluginFile, ...]:
        """User files that workers must load."""
        return self.registry.plugin_files

    def task(self, name: str) -> ResolvedTask:
        """The task shown under that name."""
        return next(task for task in self.tasks if task.name == name)

    def initializer(self, name: str) -> ResolvedInitializer:
        """The initialiser shown under that name."""
        return next(initializer for initializer in self.initializers if initializer.name == name)


def load_experiment(
    path_or_name: str | Path,
    *,
    profile: str | None = None,
    seeds: Sequence[int] | int | None = None,
    plugins: Iterable[str | Path] = (),
) -> LoadedExperiment:
    """Read an experiment by path or name and resolve everything it names.

    `profile` and `seeds` (a count or the seeds themselves) replace the spec's. What the files `plugins` register joins
    the grid; what the spec's own `plugins` register is only used where the spec names it.

    Raises:
        InvalidSpecError: with every problem of every file involved.
        SpecError, PluginError, UsageError: no such file; a plugin that cannot serve at all.
    """
    path, notice = Catalog.discover().experiment(path_or_name)
    source = load_source(path, shown_path(path))
    root, problems = parse(source)
    if root is None:
        raise InvalidSpecError(problems)
    if (declared := first_key(path)) and declared[0] != "experiment":
        kind, name = declared
        raise UsageError(
            f"{shown_path(path)} is the file of {'an' if kind == 'initializer' else 'a'} {kind}, '{name}', and no "
            f"experiment: name '{name}' under `{PLURAL[kind]}` in a spec (`bench new spec NAME` "
            f"writes one), or look at it with `bench show {name}`"
        )
    registry = Registry.discover()
    problems += add_plugins(registry, root, path)
    joining = [registry.add_file(Path(plugin)) for plugin in plugins]
    catalog = Catalog.discover([path, *(file.path for file in registry.plugin_files)])
    resolver = Resolver(registry, catalog, problems)
    experiment = resolver.check(Experiment, root, "the experiment")
    used = profile or written_profile(root)
    joined = {kind: resolver.names_from(kind, joining) for kind in FAMILIES}
    tasks, initializers = resolver.grid(root, used, joined)
    probes = resolver.probes(root)
    if problems or experiment is None:
        raise InvalidSpecError(problems)
    notices = (*([notice] if notice else ()), *resolver.notices, *unrecorded(probes, tasks))
    return LoadedExperiment(
        experiment, used, chosen_seeds(seeds, experiment), tasks, initializers, probes, registry,
        path, source.text, source.sha256, notices,
    )  # fmt: skip


def unrecorded(probes: Sequence[Probe], tasks: Sequence[ResolvedTask]) -> list[str]:
    """Which probes do not measure on which tasks, and why."""
    asked = [(p, t.name, p.unsupported(t.task)) for p in probes for t in tasks if t.task is not None]
    return [f"probe '{probe.family}' leaves {name} out: {reason}" for probe, name, reason in asked if reason]


def chosen_seeds(seeds: Sequence[int] | int | None, experiment: Experiment) -> tuple[int, ...]:
    """The seeds asked for, or the experiment's."""
    if seeds is None:
        return experiment.seed_list
    try:
        chosen = tuple(seed_range(0, seeds - 1)) if isinstance(seeds, int) else tuple(dict.fromkeys(seeds))
        check_seeds(chosen)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return chosen


def add_plugins(registry: Registry, root: Node, path: Path) -> list[Problem]:
    """Load the plugin files an experiment file names."""
    problems = []
    listed = root.child("plugins")
    for node in listed.elements() if listed else []:
        if isinstance(node.value, str):
            try:
                registry.add_file(path.parent / node.value)
            except (UsageError, PluginError) as error:
                problems.append(Problem(node.mark, str(error)))
    return problems
