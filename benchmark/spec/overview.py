"""What is on offer and what one thing looks like in full, as plain data for `bench list` and `bench show`."""

from __future__ import annotations

import inspect
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from benchmark.errors import BenchError, PluginError
from benchmark.identity import parameters_of
from benchmark.registry import Entry, Kind, Registry
from benchmark.spec.catalog import Catalog, SpecFile, SpecKind
from benchmark.spec.marks import Mark, Problem, Source
from benchmark.spec.models import Experiment, InitializerSpec, Selected, TaskSpec
from benchmark.spec.problems import validated
from benchmark.spec.resolve import Resolver, initializer_parameters
from benchmark.spec.source import Node, read_file
from benchmark.wording import reason_of, shown_path


@dataclass(frozen=True)
class Summary:
    """One line of `bench list`."""

    kind: SpecKind
    name: str
    title: str
    family: str
    """Empty for an experiment."""
    origin: str
    """The file, or where a family without a file comes from."""
    problem: str | None = None
    """Why it cannot be used."""


def summaries(kind: SpecKind, registry: Registry, catalog: Catalog) -> list[Summary]:
    """Everything of one kind by name, what cannot be used included. Families are imported to find out."""
    files = catalog.files(kind)
    found = [summary(file, registry, catalog) for file in files]
    if kind != "experiment":
        taken = {one.family for one in found} | {one.name for one in found}
        found += [of_family(entry) for entry in registry.entries(kind) if entry.name not in taken]
    return sorted(found, key=lambda one: one.name)


def summary(file: SpecFile, registry: Registry, catalog: Catalog) -> Summary:
    """The line of a spec file."""
    tree, problems = read_file(file.path, file.shown)
    text = {key: node.value for key, node in tree.items()} if tree else {}
    title, family = (text[key] if isinstance(text.get(key), str) else "" for key in ("title", "family"))
    problem = first_line(problems[0]) if problems else None
    try:
        catalog.get(file.kind, file.name)
        if family and not problem and file.kind != "experiment":
            registry.get(file.kind, str(family))
    except BenchError as error:
        problem = str(error)
    return Summary(file.kind, file.name, str(title), str(family), file.shown, problem)


def first_line(problem: Problem) -> str:
    """A problem without its excerpt."""
    return str(problem).splitlines()[0]


def of_family(entry: Entry) -> Summary:
    """The line of a family that has no file."""
    try:
        title = summary_line(entry.get())
    except PluginError:
        title = ""
    return Summary(entry.kind, entry.name, title, entry.name, entry.origin, entry.reason)


def summary_line(family: type) -> str:
    """First line of a class's docstring."""
    return (inspect.getdoc(family) or "").partition("\n")[0].rstrip(".")


def families(registry: Registry) -> list[dict[str, Any]]:
    """Every registered family with its origin and, when it cannot be used, the traceback."""
    lines = []
    for kind in get_args(Kind):
        for entry in registry.entries(kind):
            with suppress(PluginError):
                entry.get()
            error = {"problem": entry.reason, "traceback": entry.error}
            lines.append({"kind": kind, "name": entry.name, "origin": entry.origin, **error})
    listed = {line["origin"] for line in lines}
    for path, trace in registry.broken_files.items():
        if path not in listed:  # no name can be read from its text
            error = {"problem": reason_of(trace), "traceback": trace}
            lines.append({"kind": "file", "name": Path(path).name, "origin": path, **error})
    return lines


# --- one thing in full -------------------------------------------------------------------------------------------


def detail(kind: SpecKind, name: str, registry: Registry, catalog: Catalog) -> dict[str, Any] | None:
    """Everything about one task, initialiser or experiment; None when there is none of that name.

    Raises:
        SpecError: its file cannot be used.
    """
    file = catalog.get(kind, name)
    if file is None and (kind == "experiment" or name not in registry.names(kind)):
        return None
    if file and kind == "experiment":
        return of_experiment(file)
    return of_probe(name, registry) if kind == "probe" else of_spec(kind, name, file, registry, catalog)  # type: ignore[arg-type]


def of_probe(name: str, registry: Registry) -> dict[str, Any]:
    """A probe, and its parameters with what each means."""
    entry = registry.entry("probe", name)
    assert entry is not None
    with suppress(PluginError):
        entry.get()
    fields = entry.family.model_fields if entry.family else {}
    return {
        "kind": "probe",
        "name": name,
        "title": summary_line(entry.family) if entry.family else "",
        "origin": entry.origin,
        "documentation": inspect.getdoc(entry.family) if entry.family else None,
        "problem": entry.reason,
        "problems": [],
        "resolved": {"by default": {"parameters": {key: field.get_default() for key, field in fields.items()}}},
        "meaning": {key: field.description for key, field in fields.items()},
    }


def of_experiment(file: SpecFile) -> dict[str, Any]:
    """An experiment as written."""
    tree, problems = read_file(file.path, file.shown)
    experiment, more = validated(Experiment, tree, "the experiment") if tree else (None, [])
    return {
        "kind": "experiment",
        "name": file.name,
        "path": file.shown,
        "title": experiment.title if experiment else "",
        "description": experiment.description if experiment else "",
        "resolved": experiment.model_dump(mode="json", by_alias=True) if experiment else None,
        "problems": [problem.as_json() for problem in (*problems, *more)],
        "yaml": tree.mark.source.text if tree else None,
    }


def of_spec(kind: Kind, name: str, file: SpecFile | None, registry: Registry, catalog: Catalog) -> dict[str, Any]:
    """A task or initialiser with what it resolves to."""
    resolver = Resolver(registry, catalog)
    mark = Mark(Source(name, name), 1, 1)
    reference = Node(mark, {"name": Node(mark, name)})
    model: type[Any] = TaskSpec if kind == "task" else InitializerSpec
    read = resolver.spec(kind, model, name, reference)
    spec: TaskSpec | InitializerSpec | None
    spec, tree = read if read else (None, None)
    entry = registry.entry(kind, spec.family) if spec else None
    variants: dict[str, Any] = {}
    if isinstance(spec, TaskSpec):
        variants = {
            profile: of_profile(resolver, spec, reference, profile) for profile in spec.profiles or ("compact",)
        }
    elif isinstance(spec, InitializerSpec) and tree is not None:
        variants = of_overrides(resolver, spec, tree)
    return {
        "kind": kind,
        "name": name,
        "title": spec.title if spec else "",
        "family": spec.family if spec else "",
        "origin": entry.origin if entry else "",
        "path": file.shown if file else None,
        "source": spec.source if spec else "",
        "description": spec.description if spec else "",
        "documentation": inspect.getdoc(entry.family) if entry and entry.family else None,
        "problem": entry.reason if entry else None,
        "problems": [problem.as_json() for problem in dict.fromkeys(resolver.problems)],
        "resolved": variants,
        "yaml": tree.mark.source.text if file and tree else None,
    }


def of_profile(resolver: Resolver, spec: TaskSpec, reference: Node, profile: str) -> dict[str, Any] | None:
    """A task at one profile: parameters, metrics, shape and reference rows."""
    resolved = resolver.task(Selected(name=spec.name), reference, profile)
    if resolved is not None and resolved.broken:
        resolver.note(reference.mark, resolved.broken)
    if resolved is None or resolved.task is None:
        return None
    task = resolved.task
    return {
        "parameters": parameters_of(task),
        "metrics": [metric.model_dump(mode="json") for metric in task.metrics()],
        "primary": resolved.primary,
        "geometry": asdict(task.geometry()),
        "missing_data": task.missing_data(),
    }


def of_overrides(resolver: Resolver, spec: InitializerSpec, tree: Node) -> dict[str, Any]:
    """An initialiser's parameters, and what they become under each override."""
    family, _ = resolver.family("initializer", spec.family, tree)
    if family is None:
        return {}
    found = {}
    for number in (None, *range(len(spec.overrides))):
        chosen = () if number is None else (number,)
        made, broken = resolver.made(family, initializer_parameters(tree, chosen) or Node(tree.mark, {}), spec.name)
        if broken:
            resolver.note(tree.mark, broken)
        label = "everywhere" if number is None else where(spec.overrides[number].when.model_dump())
        found[label] = {"parameters": parameters_of(made)} if made else None
    return found


def where(when: dict[str, tuple[str, ...]]) -> str:
    """`task 2parity, cyclic3; profile paper`, without what matches everything."""
    parts = [f"{key} {', '.join(globs)}" for key, globs in when.items() if globs != ("*",)]
    return "; ".join(parts) or "every task"


__all__ = ["Summary", "detail", "families", "shown_path", "summaries"]
