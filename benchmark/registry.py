"""Where task families, initialisers and probes are registered and found, whether built in, installed or in a file.

A class says its name with `@task("name")` or `@initializer("name")`; that only notes a declaration. A `Registry`
knows what is on offer (entry points, the checkout's own folders, plugin files) without importing any of it,
imports on first use, and keeps what cannot be imported listed with the reason.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import io
import re
import sys
import tokenize
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from benchmark import __version__
from benchmark.cell import PluginFile
from benchmark.errors import PluginError, UsageError
from benchmark.origin import ENGINE, Module, Origin, find, trace
from benchmark.wording import hint, reason_of, shown_path

if TYPE_CHECKING:
    from benchmark.initializer import Initializer
    from benchmark.probe import Probe
    from benchmark.task import Task

Kind = Literal["task", "initializer", "probe"]
Family = TypeVar("Family", bound=type)

GROUPS: dict[Kind, str] = {"task": "bench.tasks", "initializer": "bench.initializers", "probe": "bench.probes"}
"""Entry point group of each kind."""
FOLDERS: dict[Kind, str] = {"task": "tasks", "initializer": "initializers", "probe": "benchmark/probes"}
"""Folder of the project's own families."""


@dataclass(frozen=True)
class Declaration:
    """A class under the name its decorator gave it."""

    kind: Kind
    name: str
    family: type[Any]
    place: str
    """File and line."""


_declared: dict[str, dict[tuple[Kind, str], Declaration]] = {}
"""Module name → what it declares. Modules run once per process; registries read here what they declared."""


_origins: dict[str, Origin] = {}
"""Module name → the code it was made of: that of a plugin as it was run, that of an installed one when first asked."""
_imported: dict[str, str] = {}
"""Module that plugin files import → sha256 of its file then."""
_distributions: dict[str, tuple[str, str]] = {}
"""Module of an entry point, and its top-level package → name and version of its distribution."""


def origin_of(family: type) -> Origin:
    """The code a family is, now for one that is installed, as it was run for one of a plugin file.

    Raises:
        PluginError: see `benchmark.origin.trace`.
    """
    name = family.__module__
    if name not in _origins:
        top = name.partition(".")[0]
        product = "initbench" if top in ENGINE else ""
        distribution = _distributions.get(name) or _distributions.get(top) or (product, product and __version__)
        path = inspect.getsourcefile(family) or ""
        found = [module for module in find(name) if module.name == name]
        _origins[name] = trace(found[0] if found else Module(name, Path(path)), *distribution)
    return _origins[name]


def task(name: str) -> Callable[[Family], Family]:
    """Register a subclass of `benchmark.task.Task` under `name`."""
    return declarer("task", name)


def initializer(name: str) -> Callable[[Family], Family]:
    """Register a subclass of `benchmark.initializer.Initializer` under `name`."""
    return declarer("initializer", name)


def probe(name: str) -> Callable[[Family], Family]:
    """Register a subclass of `benchmark.probe.Probe` under `name`."""
    return declarer("probe", name)


def declarer(kind: Kind, name: str) -> Callable[[Family], Family]:
    """The decorator that notes a declaration."""

    def declare(family: Family) -> Family:
        place = place_of(family)
        check_family(kind, name, family, place)
        declared = _declared.setdefault(family.__module__, {})
        earlier = declared.get((kind, name))
        if earlier is not None and earlier.family.__qualname__ != family.__qualname__:
            raise PluginError(f"{kind} '{name}' is registered twice: at {earlier.place} and at {place}")
        family.family = name  # type: ignore[attr-defined]
        declared[kind, name] = Declaration(kind, name, family, place)
        return family

    return declare


def check_family(kind: Kind, name: str, family: type, place: str) -> None:
    """Refuse what could not serve as a family, at the line where it is declared."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", name):
        raise PluginError(f"{place}: '{name}' is no name; use letters, digits and _ . + -")
    base = base_class(kind)
    if not (isinstance(family, type) and issubclass(family, base)):
        raise PluginError(f"{place}: {kind} '{name}' must be a subclass of {base.__module__}.{base.__name__}")
    missing = sorted(getattr(family, "__abstractmethods__", ()))
    if missing:
        raise PluginError(f"{place}: {kind} '{name}' does not implement {', '.join(missing)}")


def base_class(kind: Kind) -> type[Task] | type[Initializer] | type[Probe]:
    """The interface a family of that kind implements."""
    if kind == "task":
        from benchmark.task import Task

        return Task
    if kind == "probe":
        from benchmark.probe import Probe

        return Probe
    from benchmark.initializer import Initializer

    return Initializer


def place_of(family: type) -> str:
    """File and line of a class, as far as Python knows them."""
    try:
        return f"{inspect.getsourcefile(family)}:{inspect.getsourcelines(family)[1]}"
    except (OSError, TypeError):
        return f"{family.__module__}.{family.__qualname__}"


DECORATOR = re.compile(r"""^[ \t]*@(?:\w+\.)*(task|initializer|probe)\(\s*["']([^"'\n]+)["']\s*,?\s*\)""", re.MULTILINE)


def names_in(text: str) -> list[tuple[Kind, str]]:
    """Names a Python text registers, read without running it, so that it works on broken files too."""
    return [(kind, name) for kind, name in DECORATOR.findall(text)]


@dataclass
class Entry:
    """One name on offer."""

    kind: Kind
    name: str
    origin: str
    """Distribution and version, or file."""
    load: Callable[[], type[Any]] = field(repr=False)
    """Import and return the class; raises anything."""
    family: type[Any] | None = None
    """The class once imported."""
    error: str | None = None
    """Traceback or reason why it cannot be used."""
    module: str = ""
    """Name of the module an entry point names."""

    @property
    def reason(self) -> str | None:
        """Why, in a line."""
        return reason_of(self.error) if self.error else None

    def get(self) -> type[Any]:
        """The class, imported if need be.

        Raises:
            PluginError: it cannot be used.
        """
        if self.family is None and self.error is None:
            try:
                self.family = self.load()
            except PluginError as error:
                self.error = str(error)
            except (Exception, SystemExit):
                self.error = traceback.format_exc()
        if self.family is None:
            raise PluginError(f"{self.kind} '{self.name}' ({self.origin}) cannot be used: {self.reason}")
        return self.family


class Registry:
    """Task families and initialisers by name."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries: dict[Kind, dict[str, Entry]] = {kind: {} for kind in FOLDERS}
        self._brought: dict[PluginFile, tuple[tuple[Kind, str], ...]] = {}
        self.broken_files: dict[str, str] = {}
        """Plugin files that could not be run → traceback."""
        for entry in entries:
            self.offer(entry)

    @classmethod
    def discover(cls) -> Registry:
        """What is installed and, in a checkout, what its folders hold beyond that. Nothing is imported."""
        registry = cls()
        for entry in installed():
            registry.offer(entry)
        for entry in checked_out():
            if registry.entry(entry.kind, entry.name) is None:
                registry.offer(entry)
        return registry

    @classmethod
    def from_plugins(cls, plugin_files: Iterable[PluginFile]) -> Registry:
        """`discover()` and these files, each refused when it is not the file it was.

        Raises:
            PluginError: a file is gone, has changed, cannot be run or registers a name that is taken.
        """
        return _from_plugins(tuple(plugin_files))

    @property
    def plugin_files(self) -> tuple[PluginFile, ...]:
        """Files added with `add_file`, in that order; workers load them again."""
        return tuple(self._brought)

    def brought_by(self, plugin: PluginFile) -> tuple[tuple[Kind, str], ...]:
        """Kinds and names a plugin file registers."""
        return self._brought[plugin]

    def offer(self, entry: Entry) -> None:
        """Add an entry; of two with one name neither can be used, and the reason names both origins.

        Two that name one module are one.
        """
        known = self._entries[entry.kind]
        if entry.name in known:
            first = known[entry.name]
            if entry.module and entry.module == first.module:
                return
            first.family, first.error = None, twice(entry.kind, entry.name, first.origin, entry.origin)
        else:
            known[entry.name] = entry

    def register(self, kind: Kind, name: str, family: type[Any], origin: str) -> None:
        """Add a class. One that is on offer already, with the same code, is left as it is: an installed family is met
        again as a file where its own project is worked on.

        Raises:
            PluginError: the name is taken by other code; both origins are named.
        """
        known = self._entries[kind]
        if name not in known:
            known[name] = Entry(kind, name, origin, lambda: family, family)
        elif not same_code(known[name], family):
            raise PluginError(twice(kind, name, known[name].origin, origin))

    def entries(self, kind: Kind) -> tuple[Entry, ...]:
        """Everything on offer, by name, broken entries too; imports nothing."""
        return tuple(self._entries[kind][name] for name in sorted(self._entries[kind]))

    def names(self, kind: Kind) -> tuple[str, ...]:
        """Names on offer."""
        return tuple(sorted(self._entries[kind]))

    def entry(self, kind: Kind, name: str) -> Entry | None:
        """The entry of that name."""
        return self._entries[kind].get(name)

    def get(self, kind: Kind, name: str) -> type[Any]:
        """The class of that name, imported if need be.

        Raises:
            PluginError: no such name (near ones are named), or it cannot be used.
        """
        entry = self.entry(kind, name)
        if entry is None:
            raise PluginError(f"no {kind} family '{name}'{self.hint(kind, name)}")
        return entry.get()

    def task(self, name: str) -> type[Task]:
        """The task family of that name (see `get`)."""
        return self.get("task", name)

    def initializer(self, name: str) -> type[Initializer]:
        """The initialiser of that name (see `get`)."""
        return self.get("initializer", name)

    def hint(self, kind: Kind, name: str) -> str:
        """What to say after an unknown name: near names, and plugin files that could not be run."""
        return hint(name, self.names(kind)) + "".join(f"; {notice}" for notice in self.broken_notices())

    def broken_notices(self) -> tuple[str, ...]:
        """For each plugin file that could not be run, that it could not and why."""
        return tuple(
            f"plugin {shown_path(Path(path))} could not be run ({reason_of(error)})"
            for path, error in self.broken_files.items()
        )

    def add_file(self, path: Path, sha256: str | None = None) -> PluginFile:
        """Run a user's Python file and register what it declares. Adding the same file again changes nothing.

        A file that fails is kept: the names found in its text are listed as broken, with the traceback.

        Raises:
            UsageError: no such file.
            PluginError: it is not the file whose digest is given, registers nothing, or registers a taken name.
        """
        plugin, origin, source = read_plugin(path, sha256)
        if plugin in self._brought:
            return plugin
        try:
            declared = run_plugin(plugin, origin, source)
        except (Exception, SystemExit) as error:
            if isinstance(error, PluginError) and not isinstance(error, EncodingError):
                raise
            told = str(error) if isinstance(error, EncodingError) else traceback.format_exc()
            self._brought[plugin] = self.keep_broken(plugin, source.decode(errors="replace"), told)
            return plugin
        for declaration in declared:
            self.register(declaration.kind, declaration.name, declaration.family, declaration.place)
        self._brought[plugin] = tuple((declaration.kind, declaration.name) for declaration in declared)
        return plugin

    def keep_broken(self, plugin: PluginFile, text: str, error: str) -> tuple[tuple[Kind, str], ...]:
        """List what a file that cannot be run would have registered."""
        self.broken_files[plugin.path] = error
        names = tuple(names_in(text))
        for kind, name in names:
            self.offer(Entry(kind, name, plugin.path, raiser(error), error=error))
        return names


def same_code(entry: Entry, family: type[Any]) -> bool:
    """Whether an entry is the class `family` once more: the same text in its own module."""
    try:
        own = [next(iter(origin_of(each).modules.values())) for each in (entry.get(), family)]
    except (PluginError, StopIteration):
        return False
    return own[0] == own[1]


def twice(kind: Kind, name: str, first: str, second: str) -> str:
    """The message about a name that is taken."""
    return f"{kind} '{name}' is registered twice: by {first} and by {second}; rename one of them"


def raiser(message: str) -> Callable[[], type[Any]]:
    """A loader that can only fail."""

    def fail() -> type[Any]:
        raise PluginError(message)

    return fail


def installed() -> Iterator[Entry]:
    """Entry points of every installed distribution, this one among them."""
    for kind, group in GROUPS.items():
        for point in importlib.metadata.entry_points(group=group):
            version = f"{point.dist.name} {point.dist.version}" if point.dist else "unknown distribution"
            if point.dist:
                for name in (point.module, point.module.partition(".")[0]):
                    _distributions.setdefault(name, (point.dist.name, point.dist.version))
            load = module_loader(kind, point.name, point.module)
            yield Entry(kind, point.name, f"{version} ({point.value})", load, module=point.module)


def module_loader(kind: Kind, name: str, module: str) -> Callable[[], type[Any]]:
    """Import a module and return the class it, or a module of its package, declares under `name`."""

    def load() -> type[Any]:
        importlib.import_module(module)
        package = module.partition(".")[0]
        found = [
            declared[kind, name]
            for owner, declared in list(_declared.items())
            if (kind, name) in declared and (owner == module or owner.partition(".")[0] == package)
        ]
        if not found:
            raise PluginError(f"{module} registers no {kind} '{name}'; decorate a class with @{kind}('{name}')")
        if len(found) > 1:
            raise PluginError(twice(kind, name, found[0].place, found[1].place))
        return found[0].family

    return load


def checked_out() -> Iterator[Entry]:
    """Families in the product's own folders; in a checkout there may be more than the installed metadata knows."""
    root = Path(__file__).resolve().parent.parent
    for folder in FOLDERS.values():
        for path in sorted((root / folder).glob("[!_]*.py")):
            module = f"{folder.replace('/', '.')}.{path.stem}"
            for kind, name in names_in(path.read_text(encoding="utf-8", errors="replace")):
                yield Entry(kind, name, f"{folder}/{path.name}", module_loader(kind, name, module))


class EncodingError(PluginError):
    """A plugin file whose bytes are not the text they are declared to be."""


def read_plugin(path: Path, sha256: str | None) -> tuple[PluginFile, Origin, bytes]:
    """What identifies a plugin file, the code it is, and its bytes; from here on it can import what lies beside it."""
    path = path.resolve()
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UsageError(f"plugin file {path} cannot be read: {error.strerror or error}") from None
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # last: what lies there replaces nothing that is installed
    importlib.invalidate_caches()
    origin = trace(Module(path.stem, path))
    if sha256 is not None and origin.digest != sha256:
        raise PluginError(f"plugin file {path}, or what it imports, has changed since the run began; start it again")
    return PluginFile(str(path), origin.digest), origin, source


def check_encoding(plugin: PluginFile, source: bytes) -> None:
    """Refuse bytes that are not text, as Python would read them: UTF-8, or what the file's first lines declare."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    try:
        source.decode(encoding)
    except UnicodeDecodeError as error:
        before = source[: error.start]
        line, column = before.count(b"\n") + 1, len(before.rpartition(b"\n")[2].decode(errors="replace")) + 1
        raise EncodingError(
            f"{plugin.path}:{line}:{column}: byte 0x{source[error.start]:02x} is not {encoding.upper()}; "
            "save the file as UTF-8"
        ) from None


def run_plugin(plugin: PluginFile, origin: Origin, source: bytes) -> tuple[Declaration, ...]:
    """Run a file under a module name of its own, once per process and content; what it declares.

    Raises:
        PluginError: it declares nothing or not properly. Anything else the file itself raises.
    """
    name = f"bench_plugin_{hashlib.sha256(plugin.path.encode()).hexdigest()[:8]}_{plugin.sha256[:12]}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, plugin.path)
        if spec is None or spec.loader is None:
            raise PluginError(f"plugin {plugin.path} is no Python file; its name must end in .py")
        check_encoding(plugin, source)
        forget_changed(origin)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        _origins[name] = origin
        try:
            exec(compile(source, plugin.path, "exec", dont_inherit=True), module.__dict__)
        except BaseException:
            del sys.modules[name]
            _declared.pop(name, None)
            raise
    declared = tuple(_declared.get(name, {}).values())
    if not declared:
        raise PluginError(f"{plugin.path} registers nothing; decorate a class with @task(...), @initializer(...) or "
                          "@probe(...)")  # fmt: skip
    return declared


def forget_changed(origin: Origin) -> None:
    """Have modules that a plugin imports read again if they were edited since an earlier plugin imported them."""
    now = {m.name: sha256 for m, sha256 in origin.modules.items() if m.name.partition(".")[0] not in ENGINE}
    changed = {name.partition(".")[0] for name, sha256 in now.items() if _imported.get(name, sha256) != sha256}
    for name in [name for name in _imported if name.partition(".")[0] in changed]:
        sys.modules.pop(name, None)
    _imported.update(now)


@lru_cache(maxsize=1)
def default_registry() -> Registry:
    """What is installed, shared by the process; add no plugin to it, use `Registry.discover()` for that."""
    return Registry.discover()


@lru_cache(maxsize=16)
def _from_plugins(plugin_files: tuple[PluginFile, ...]) -> Registry:
    registry = Registry.discover()
    for plugin in plugin_files:
        registry.add_file(Path(plugin.path), plugin.sha256)
    return registry
