"""Which code a family is: its own modules with their digests, its distribution, and the packages they import.

Imports are read from the source (those inside functions too), so nothing is run, and a module that is only imported
where training happens is found when planning. Blind spots: modules named at run time, and files that code reads.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmark.errors import PluginError

ENGINE = ("benchmark", "tasks", "initializers", "leaderboard", "specs")
"""This product's packages, which no file beside a plugin replaces; its engine is told by version and commit."""

PACKAGES = ("torch", "numpy", "pydantic", "duckdb", "pyarrow", "polars", "joblib", "scipy", "triton")
"""Packages whose version can change a number or the way it is stored; kept with every cell, whatever it imports."""


@dataclass(frozen=True)
class Module:
    """A source file under the name it is imported by."""

    name: str
    path: Path
    is_package: bool = False

    @property
    def file(self) -> str:
        """`mypkg/sub.py`: the same wherever it is installed."""
        return self.name.replace(".", "/") + ("/__init__.py" if self.is_package else self.path.suffix)


@dataclass(frozen=True)
class Origin:
    """The code of one family."""

    modules: Mapping[Module, str]
    """Module → sha256 of its file; the family's own comes first."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Distributions that these import → version, but for `PACKAGES`."""
    distribution: str = ""
    """That which brings the family; empty for a user's file."""
    version: str = ""

    @property
    def digest(self) -> str:
        """Of all modules; that of the file itself when there is but one."""
        if len(self.modules) == 1:
            return next(iter(self.modules.values()))
        lines = sorted(f"{module.file} {sha256}\n" for module, sha256 in self.modules.items())
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """As it is kept with a cell; empty entries are left out."""
        files = {module.file: sha256[:16] for module, sha256 in self.modules.items()}
        values = {"distribution": self.distribution, "version": self.version, "packages": dict(self.packages)}
        return {"digest": self.digest, "files": files, **{name: value for name, value in values.items() if value}}


def trace(root: Module, distribution: str = "", version: str = "") -> Origin:
    """The code that `root` is and imports; what cannot be found or parsed is left to its import to complain of.

    Raises:
        PluginError: it imports a module that lies beside it, and Python would take another of that name.
    """
    own = root.name.partition(".")[0]
    near = root.path.parent
    modules: dict[Module, str] = {}
    packages: dict[str, str] = {}
    waiting = [root, *parents(root)]
    while waiting:
        module = waiting.pop(0)
        if module in modules:
            continue
        try:
            source = module.path.read_bytes()
        except OSError:
            continue
        modules[module] = hashlib.sha256(source).hexdigest()
        for name in imports(source, module) if module.path.suffix == ".py" else ():
            top = name.partition(".")[0]
            if top in sys.stdlib_module_names or (top == ENGINE[0] != own):
                continue
            found = find(name)
            if found and top not in ENGINE:
                check_neighbour(root, top, found[0].path)
            if found and (top == own or found[0].path.parent == near or not is_installed(found[0].path, top)):
                waiting += found
            elif found and own not in ENGINE and top not in PACKAGES:  # what this product needs is told with every cell
                packages |= distribution_of(top)
    return Origin(modules, dict(sorted(packages.items())), distribution, version)


def check_neighbour(root: Module, top: str, taken: Path) -> None:
    """Refuse a name for which Python takes `taken` though the author, who ran the file alone, had the one beside it."""
    near = next((path for path, _ in candidates(root.path.parent, top) if path.is_file()), taken)
    if "." not in root.name and near.resolve() != taken.resolve():
        raise PluginError(
            f"{root.path} imports '{top}', which lies beside it ({near.name}), but Python takes {taken}; "
            "rename the one beside it"
        )


def parents(module: Module) -> list[Module]:
    """The packages a module lies in, which are run before it."""
    return find(module.name.rpartition(".")[0]) if "." in module.name else []


def imports(source: bytes, module: Module) -> Iterator[str]:
    """Absolute names that import statements ask for; `from a import b` may mean a module `a.b`."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    package = module.name if module.is_package else module.name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join(filter(None, (*above, node.module)))
            yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names)


def find(name: str) -> list[Module]:
    """The module of a dotted name and the packages around it, as far as they are files; imports nothing."""
    top, *rest = name.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError, AttributeError):
        return []
    if spec is None:
        return []
    package = spec.submodule_search_locations is not None
    found = [Module(top, Path(spec.origin), package)] if spec.origin and spec.has_location else []
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    for part in rest:
        top = f"{top}.{part}"
        files = (Module(top, path, package) for folder in folders for path, package in candidates(folder, part))
        if (module := next((module for module in files if module.path.is_file()), None)) is not None:
            found.append(module)
        folders = [folder / part for folder in folders if (folder / part).is_dir()]
    return found


def candidates(folder: Path, name: str) -> Iterator[tuple[Path, bool]]:
    """Where a module of that name would lie, in the order of the import system, and whether it is a package."""
    yield folder / name / "__init__.py", True
    yield folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX') or '.so'}", False
    yield folder / f"{name}.py", False


def is_installed(path: Path, top: str) -> bool:
    """Whether the file of a module belongs to an installed distribution; one that is installed editable is local."""
    parts = path.parts
    folder = Path(*parts[: len(parts) - 1 - parts[::-1].index(top)]) if top in parts else path.parent
    return folder.name in ("site-packages", "dist-packages") or holds_distributions(folder)


@cache
def holds_distributions(folder: Path) -> bool:
    """Whether distributions were put into a folder (`pip install --target`)."""
    return any(folder.glob("*.dist-info"))


@cache
def distribution_of(top: str) -> dict[str, str]:
    """Distribution that brings a top-level module → version; empty when none says so."""
    for name in (top, *metadata.packages_distributions().get(top, ())):
        with suppress(metadata.PackageNotFoundError):
            return {name: metadata.version(name)}
    return {}
