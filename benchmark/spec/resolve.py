"""Names in an experiment → families with their parameters, collecting every problem on the way."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from benchmark.cell import PluginFile
from benchmark.errors import PluginError, SpecError, UsageError
from benchmark.initializer import Initializer
from benchmark.patterns import meant
from benchmark.probe import Probe
from benchmark.registry import Kind, Registry, names_in
from benchmark.spec.catalog import Catalog, SpecFile, SpecKind
from benchmark.spec.marks import InvalidSpecError, Mark, Problem, Source
from benchmark.spec.models import Experiment, InitializerSpec, Override, Selected, SelectedProbe, TaskSpec, When
from benchmark.spec.problems import validated
from benchmark.spec.source import Node, load_source, merged, parse, read_file
from benchmark.task import Task
from benchmark.wording import hint, shown_path

MOST_ARMS = 200
"""Arms that one grid is expanded into; more is rather a slip than a wish."""

Spec = TypeVar("Spec", TaskSpec, InitializerSpec)


@dataclass(frozen=True)
class ResolvedTask:
    """A task of an experiment at its profile."""

    name: str
    """Name in tables and in the store."""
    spec: TaskSpec
    task: Task | None
    """None when it cannot be used or is not run at this profile."""
    broken: str | None = None
    """Why the family cannot be used."""
    skipped: str | None = None
    """Why it is not run at this profile."""

    @property
    def title(self) -> str:
        """Heading in tables."""
        return self.spec.title or self.name

    @property
    def primary(self) -> str | None:
        """Name of the metric that ranks initialisers; None when the family cannot be used."""
        return self.spec.primary or (self.task.metrics()[0].name if self.task else None)


@dataclass(frozen=True)
class ResolvedInitializer:
    """An initialiser of an experiment, with its parameters on each task."""

    name: str
    spec: InitializerSpec
    by_task: dict[str, Initializer] = field(default_factory=dict)
    """Task name → initialiser, without tasks it cannot be used on; empty when its family cannot be used."""
    broken: str | None = None
    """Why it cannot be used on the tasks that are not in `by_task`."""

    @property
    def title(self) -> str:
        """Heading in tables."""
        return self.spec.title or self.name


class Resolver:
    """Resolves names against a registry and a catalogue, collecting problems as it goes."""

    def __init__(self, registry: Registry, catalog: Catalog, problems: list[Problem] | None = None) -> None:
        self.registry = registry
        self.catalog = catalog
        self.problems: list[Problem] = [] if problems is None else problems
        self.without_profile: list[Problem] = []
        """One problem for each task that lacks the profile and has no stand-in."""
        self.stood_in: list[Problem] = []
        """The same for each task that has one: a problem only when no task has the profile."""
        self.stand_ins: set[str] = set()
        """Their stand-ins."""
        self.profiles: set[str] = set()
        """Profiles of the tasks that lack the asked one."""
        self.notices: list[str] = []
        """What the user should be told beside problems."""
        self.read: dict[tuple[SpecKind, str], tuple[Any, Node] | None] = {}

    def check(self, model: type[Any], node: Node, subject: str) -> Any:
        """The model, or None and its problems noted."""
        value, problems = validated(model, node, subject)
        self.problems += problems
        return value

    def made(self, family: type[Any], node: Node, subject: str) -> tuple[Any, str | None]:
        """A family's object, or why its own checks failed; what the user wrote wrongly is noted as problems."""
        try:
            return self.check(family, node, subject), None
        except PluginError as error:
            return None, str(error)

    def note(self, mark: Mark, message: str, *related: tuple[str, Mark]) -> None:
        """Keep a problem."""
        self.problems.append(Problem(mark, message, related))

    # --- the grid ----------------------------------------------------------------------------------------------

    def grid(
        self, root: Node, profile: str, joined: Mapping[Kind, Mapping[str, str]] | None = None
    ) -> tuple[tuple[ResolvedTask, ...], tuple[ResolvedInitializer, ...]]:
        """Tasks and initialisers an experiment names, and what its other keys say about them.

        `joined`: for each kind, names that join the grid → the file that brings them.
        """
        joined = joined or {}
        wanted = self.joined("task", self.selection(root, "tasks"), joined.get("task", {}))
        tasks = tuple(t for selected, node in wanted if (t := self.task(selected, node, profile)))
        self.check_profile(root, profile, len(wanted))
        chosen = self.joined("initializer", self.selection(root, "initializers"), joined.get("initializer", {}))
        initializers = tuple(i for selected, node in chosen if (i := self.initializer(selected, node, tasks, profile)))
        names = {"task": [one.shown for one, _ in wanted], "initializer": [one.shown for one, _ in chosen]}
        self.check_rules(root, names, tasks)
        return tasks, initializers

    def probes(self, root: Node) -> tuple[Probe, ...]:
        """The probes an experiment names, each once."""
        found: dict[str, Probe] = {}
        listed = root.child("probes")
        for node in listed.elements() if listed else []:
            element = node if isinstance(node.value, dict) else Node(node.mark, {"name": node})
            selected, _ = validated(SelectedProbe, element, "probes")  # its problems are those of the whole experiment
            if selected is None:
                continue
            if self.registry.entry("probe", selected.name) is None:
                near = beside("probe", selected.name, Path(node.mark.source.path))
                self.note(
                    name_mark(element),
                    f"no probe '{selected.name}'{near or self.registry.hint('probe', selected.name)}",
                )
                continue
            family, broken = self.family("probe", selected.name, element)
            tree = element.child("parameters") or Node(node.mark, {})
            made, failed = (
                self.made(family, tree, f"the parameters of probe '{selected.name}'") if family else (None, None)
            )
            if broken or failed:
                self.note(name_mark(element), broken or failed or "")
            elif made is not None and found.setdefault(made.key, made) is not made:
                self.note(node.mark, f"probe '{selected.name}' is listed twice with equal parameters")
        return tuple(found.values())

    def check_profile(self, root: Node, profile: str, tasks: int) -> None:
        """When no task has the profile, it is the profile that is wrong, and said once.

        Raises:
            UsageError: the wrong profile stands not in the experiment but in the command.
        """
        found, written = self.without_profile, root.child("profile")
        lacking = [*found, *self.stood_in]
        if lacking and len(lacking) == tasks:
            message = f"no task of this experiment has a profile '{profile}'{hint(profile, sorted(self.profiles))}"
            if not found:
                verb = "stands" if len(self.stand_ins) == 1 else "stand"
                message += f"; {', '.join(sorted(self.stand_ins))} {verb} in"
            if profile != written_profile(root):
                raise UsageError(f"{root.mark.source.path}: {message}")
            found = [Problem(written.mark if written else root.mark, message)]
        self.problems += found

    def selection(self, root: Node, key: str) -> list[tuple[Selected, Node]]:
        """Well-formed elements of `tasks` or `initializers`; each shown name once."""
        found: list[tuple[Selected, Node]] = []
        seen: dict[str, Mark] = {}
        listed = root.child(key)
        for node in listed.elements() if listed else []:
            element = node if isinstance(node.value, dict) else Node(node.mark, {"name": node})
            selected, _ = validated(Selected, element, key)  # its problems are those of the whole experiment
            if selected is None:
                continue
            for arm, tree in self.arms(selected, element):
                if arm.shown in seen:
                    message = f"'{arm.shown}' is listed twice in {key}; give one of them another name with 'as'"
                    self.note(node.mark, message, ("first listed here", seen[arm.shown]))
                    continue
                seen[arm.shown] = node.mark
                found.append((arm, tree))
        return found

    def arms(self, selected: Selected, node: Node) -> list[tuple[Selected, Node]]:
        """One for each combination of the values on its axes; itself without axes."""
        axes = [(axis, points(axis, values)) for axis, values in (node.child("grid") or node).items()]
        if not selected.grid:
            return [(selected, node)]
        count = math.prod(len(values) for _, values in axes)
        if count > MOST_ARMS:
            self.note(node.mark, f"the grid of '{selected.shown}' has {count} arms; at most {MOST_ARMS} are expanded")
            return []
        found = []
        for combination in product(*(values for _, values in axes)):
            at = ",".join(f"{axis}={label}" for (axis, _), (label, _) in zip(axes, combination, strict=True))
            tree = node.child("parameters")
            for _, parameters in combination:
                tree = merged(tree, parameters)
            arm = selected.model_copy(update={"display": f"{selected.shown}[{at}]", "grid": {}})
            kept = {key: value for key, value in node.items() if key not in ("parameters", "grid")}
            found.append((arm, Node(node.mark, {**kept, **({"parameters": tree} if tree else {})}, node.keys)))
        return found

    def joined(
        self, kind: Kind, chosen: list[tuple[Selected, Node]], names: Mapping[str, str]
    ) -> list[tuple[Selected, Node]]:
        """What an experiment names, and then what joins it unasked."""
        named = {selected.name for selected, _ in chosen}
        for name, path in names.items():
            if name not in named:
                self.notices.append(f"{kind} '{name}' of {path} joins the experiment")
                chosen = [*chosen, (Selected(name=name), reference(name, path))]
        return chosen

    def names_from(self, kind: Kind, plugins: Iterable[PluginFile]) -> dict[str, str]:
        """Names that plugin files bring → file: spec files beside them of their families, families without one."""
        found: dict[str, str] = {}
        for plugin in plugins:
            folder, shown = Path(plugin.path).parent, shown_path(Path(plugin.path))
            families = {name for declared, name in self.registry.brought_by(plugin) if declared == kind}
            beside = [file for file in self.catalog.files(kind) if file.path.parent == folder]
            used = {file.name: family for file in beside if (family := family_of(file)) in families}
            found.update(dict.fromkeys([*used, *sorted(families - {*used.values()})], shown))
        return found

    def task(self, selected: Selected, node: Node, profile: str) -> ResolvedTask | None:
        """One task at one profile."""
        read = self.spec("task", TaskSpec, selected.name, node)
        if read is None:
            return None
        spec, tree = read
        if spec.profiles and profile not in spec.profiles:
            self.profiles |= {*spec.profiles}
            message = f"task '{spec.name}' has no profile '{profile}'{hint(profile, spec.profiles)}"
            if spec.stand_in is None:
                self.without_profile.append(Problem(name_mark(node), message))
                return None
            reason = f"{spec.name} has no {profile} profile; {spec.stand_in} stands in"
            self.stand_ins.add(spec.stand_in)
            self.stood_in.append(Problem(name_mark(node), f"{message}; {spec.stand_in} stands in"))
            return ResolvedTask(selected.shown, spec, None, skipped=reason) if self.check_stand_in(*read) else None
        family, broken = self.family("task", spec.family, tree)
        if family is None:
            return ResolvedTask(selected.shown, spec, None, broken) if broken else None
        tree = merged(task_parameters(tree, profile), node.child("parameters")) or Node(node.mark, {})
        task, broken = self.made(family, tree, f"the parameters of task '{selected.shown}' at profile {profile}")
        if broken:
            return ResolvedTask(selected.shown, spec, None, broken)
        try:
            usable = task is not None and self.check_primary(spec, read[1], task)
        except PluginError as error:
            return ResolvedTask(selected.shown, spec, None, str(error))
        return ResolvedTask(selected.shown, spec, task) if usable else None

    def check_primary(self, spec: TaskSpec, tree: Node, task: Task) -> bool:
        """Whether the primary metric is one the task reports.

        Raises:
            PluginError: the task cannot say what it reports.
        """
        names = metric_names(spec.name, task)
        if spec.primary is None or spec.primary in names:
            return True
        node = tree.child("primary") or tree
        self.note(node.mark, f"task '{spec.name}' reports no metric '{spec.primary}'{hint(spec.primary, names)}")
        return False

    def check_stand_in(self, spec: TaskSpec, tree: Node) -> bool:
        """Whether the task that stands in is a known one."""
        names = {*self.catalog.names("task"), *self.registry.names("task")}
        if spec.stand_in in names:
            return True
        node = tree.child("stand_in") or tree
        self.note(node.mark, f"unknown task '{spec.stand_in}' as stand_in{hint(spec.stand_in or '', names)}")
        return False

    def initializer(
        self, selected: Selected, node: Node, tasks: Sequence[ResolvedTask], profile: str
    ) -> ResolvedInitializer | None:
        """One initialiser with its parameters on each task."""
        read = self.spec("initializer", InitializerSpec, selected.name, node)
        if read is None:
            return None
        spec, tree = read
        family, broken = self.family("initializer", spec.family, tree)
        if family is None:
            return ResolvedInitializer(selected.shown, spec, broken=broken) if broken else None
        made: dict[tuple[int, ...], tuple[Initializer | None, str | None]] = {}
        by_task = {}
        for task in tasks or (None,):  # without a usable task the parameters are checked all the same
            matching = matching_overrides(spec.overrides, task, profile) if task else ()
            if matching not in made:
                parameters = merged(initializer_parameters(tree, matching), node.child("parameters"))
                subject = f"the parameters of initializer '{selected.shown}'"
                made[matching] = self.made(family, parameters or Node(node.mark, {}), subject)
            resolved, failure = made[matching]
            broken = broken or failure
            if task and resolved is not None:
                by_task[task.name] = resolved
        return ResolvedInitializer(selected.shown, spec, by_task, broken)

    def check_rules(self, root: Node, names: Mapping[str, Sequence[str]], tasks: Sequence[ResolvedTask]) -> None:
        """Patterns of include, exclude, tables and compare must match something, or they are typing errors.

        `names` are all that are listed, by kind; `tasks` are those without problems of their own.
        """
        if not all(names.values()):
            return
        complete = len(tasks) == len(names["task"]) and all(task.task or task.skipped for task in tasks)
        metrics = [metric.name for task in tasks if task.task for metric in task.task.metrics()] if complete else []
        known = {**names, "tasks": names["task"], "initializers": names["initializer"], "metrics": metrics}
        for section in ("include", "exclude", "tables"):
            rules = root.child(section)
            for rule in rules.elements() if rules else []:
                for key, value in rule.items():
                    self.check_patterns(key, value, known.get(key, []))
        if asked := root.child("compare"):
            for name, against in asked.items():
                if name not in names["initializer"]:
                    guess = hint(name, names["initializer"])
                    self.note(asked.key_mark(name), f"'{name}' matches no initializer of this experiment{guess}")
                self.check_patterns("initializer", against, names["initializer"])

    def check_patterns(self, key: str, value: Node, known: Sequence[str]) -> None:
        """Note each pattern that matches none of the known names."""
        for pattern in value.elements() if known else []:
            text = pattern.value
            if isinstance(text, str) and not any(meant(name, [text]) for name in known):
                self.note(pattern.mark, f"'{text}' matches no {key.rstrip('s')} of this experiment{hint(text, known)}")

    # --- specs and families ------------------------------------------------------------------------------------

    def spec(self, kind: Kind, model: type[Spec], name: str, node: Node) -> tuple[Spec, Node] | None:
        """The spec of that name and its tree; a family no file mentions serves under its own name."""
        if (kind, name) not in self.read:
            try:
                self.read[kind, name] = self.find(kind, model, name, node)
            except InvalidSpecError as error:
                self.problems += error.problems
                self.read[kind, name] = None
            except SpecError as error:
                self.note(name_mark(node), str(error))
                self.read[kind, name] = None
        return self.read[kind, name]

    def find(self, kind: Kind, model: type[Spec], name: str, node: Node) -> tuple[Spec, Node] | None:
        """Read the spec of that name."""
        file = self.catalog.get(kind, name)
        if file is not None:
            tree, problems = parse(load_source(file.path, file.shown))
            self.problems += problems
            spec = self.check(model, tree, file.shown) if tree else None
            return (spec, tree) if spec is not None and tree is not None else None
        if name in self.registry.names(kind):
            mark = name_mark(node)
            return model.model_validate({kind: name, "family": name}), Node(mark, {"family": Node(mark, name)})
        names = {*self.catalog.names(kind), *self.registry.names(kind)}
        mark = name_mark(node)
        near = beside(kind, name, Path(mark.source.path)) or hint(name, names)
        self.note(mark, f"unknown {kind} '{name}'{near}{self.broken_files()}")
        return None

    def family(self, kind: Kind, name: str, tree: Node) -> tuple[type[Any] | None, str | None]:
        """The class that implements a spec, or why it cannot be used; an unknown name is a problem."""
        if self.registry.entry(kind, name) is None:
            node = tree.child("family") or tree
            near = beside(kind, name, Path(node.mark.source.path)) or self.registry.hint(kind, name)
            self.note(node.mark, f"no {kind} family '{name}'{near}")
            return None, None
        try:
            return self.registry.get(kind, name), None
        except PluginError as error:
            return None, str(error)

    def broken_files(self) -> str:
        """Plugin files that could not be run, which may be why a name is unknown."""
        return "".join(f"; {notice}" for notice in self.registry.broken_notices())


def metric_names(name: str, task: Task) -> list[str]:
    """What a task reports.

    Raises:
        PluginError: its family cannot say, or it reports nothing, or two things by one name.
    """
    try:
        names = [metric.name for metric in task.metrics()]
    except Exception as error:  # third-party code may raise anything; the other tasks can be used
        raise PluginError(f"the metrics of task '{name}' fail with {type(error).__name__}: {error}") from error
    if not names:
        raise PluginError(f"task '{name}' reports no metric")
    if twice := next((metric for metric in names if names.count(metric) > 1), None):
        raise PluginError(f"task '{name}' reports two metrics called '{twice}'; name them apart")
    return names


def written_profile(root: Node) -> str:
    """The profile an experiment file asks for, read from the tree so that a faulty file is checked at it too."""
    written = root.child("profile")
    default = str(Experiment.model_fields["profile"].default)
    return written.value if written and isinstance(written.value, str) else default


def reference(name: str, path: str) -> Node:
    """A selected name that stands in no spec."""
    mark = Mark(Source(path, ""), 1, 1)
    return Node(mark, {"name": Node(mark, name)})


def family_of(file: SpecFile) -> str | None:
    """The family a spec file names."""
    tree, _ = read_file(file.path)
    family = tree.child("family") if tree else None
    return family.value if family and isinstance(family.value, str) else None


def beside(kind: Kind, family: str, path: Path) -> str:
    """A hint when a Python file in the same folder, or where the command was given, registers the family."""
    for python in dict.fromkeys((*sorted(path.parent.glob("*.py")), *sorted(Path().glob("*.py")))):
        with suppress(OSError):
            if (kind, family) in names_in(python.read_text(encoding="utf-8", errors="replace")):
                return f"; {shown_path(python)} registers it: add --plugin {shlex.quote(shown_path(python))}"
    return ""


def points(axis: str, values: Node) -> list[tuple[str, Node]]:
    """Label and parameters of each value on an axis."""
    if isinstance(values.value, dict):
        return list(values.items())
    *outer, last = axis.split(".")
    found = []
    for value in values.elements():
        tree = Node(value.mark, {last: value}, {last: value.mark})
        for key in reversed(outer):
            tree = Node(value.mark, {key: tree}, {key: value.mark})
        found.append((label(value.plain()), tree))
    return found


def label(value: Any) -> str:
    """A value in the name of an arm: `0.001`, `true`, `0+1`."""
    if isinstance(value, list):
        return "+".join(map(label, value))
    if isinstance(value, dict):
        return "+".join(f"{key}:{label(item)}" for key, item in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def name_mark(node: Node) -> Mark:
    """Where the name of a selected task or initialiser is written."""
    return (node.child("name") or node).mark


def task_parameters(tree: Node, profile: str) -> Node | None:
    """A task's shared parameters with those of a profile on top."""
    profiles = tree.child("profiles")
    return merged(tree.child("parameters"), profiles.child(profile) if profiles else None)


def initializer_parameters(tree: Node, overrides: Iterable[int]) -> Node | None:
    """An initialiser's parameters with the overrides of those numbers on top."""
    parameters, listed = tree.child("parameters"), tree.child("overrides")
    for number in overrides:
        if listed and isinstance(listed.value, list):
            parameters = merged(parameters, listed.value[number].child("parameters"))
    return parameters


def matching_overrides(overrides: Sequence[Override], task: ResolvedTask, profile: str) -> tuple[int, ...]:
    """Numbers of the overrides that apply to a task."""
    return tuple(n for n, override in enumerate(overrides) if applies(override.when, task, profile))


def applies(when: When, task: ResolvedTask, profile: str) -> bool:
    """Whether an override is for this task."""
    names = {task.name, task.spec.name}
    return (
        any(meant(name, when.task) for name in names)
        and meant(task.spec.family, when.family)
        and meant(profile, when.profile)
    )
