"""Where spec files are: shipped, in folders of the current directory, beside the experiment and beside plugins."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmark.errors import SpecError
from benchmark.wording import hint, shown_path

SpecKind = Literal["task", "initializer", "probe", "experiment"]
"""Probes have no files: they are called by the name they are registered under."""

FOLDERS: dict[SpecKind, str] = {"task": "tasks", "initializer": "initializers", "experiment": "specs"}
"""Folder of each kind, in the product and in a user's own project."""
PLURAL: dict[SpecKind, str] = {"task": "tasks", "initializer": "initializers", "experiment": "specs"}
PRODUCT = Path(__file__).resolve().parent.parent.parent
"""Folder that holds `benchmark`, `tasks`, `initializers` and `specs`: the checkout or site-packages."""

SUFFIXES = (".yaml", ".yml")
FIRST_KEY = re.compile(r"(task|initializer|experiment)[ \t]*:[ \t]*([\"']?)([^\s\"'#]+)\2")


@dataclass(frozen=True)
class SpecFile:
    """A file whose first key says its kind and name."""

    kind: SpecKind
    name: str
    path: Path
    shipped: bool = False
    """Whether it is part of the product."""

    @property
    def shown(self) -> str:
        """The path as shown to the user."""
        return shown_path(self.path)


class Catalog:
    """Spec files by kind and name. A name two files claim cannot be used, and the error names both.

    Files of the same content are one: an installed product finds its own once more inside a clone.
    """

    def __init__(self, files: Iterable[SpecFile]) -> None:
        self._files: dict[tuple[SpecKind, str], list[SpecFile]] = {}
        for file in files:
            known = self._files.setdefault((file.kind, file.name), [])
            if not any(file.path.read_bytes() == other.path.read_bytes() for other in known):
                known.append(file)

    @classmethod
    def discover(cls, beside: Iterable[str | Path] = (), here: Path | None = None) -> Catalog:
        """Shipped files, those of `./tasks`, `./initializers` and `./specs`, and those beside the files `beside`."""
        here = here or Path.cwd()
        folders = [PRODUCT / name for name in FOLDERS.values()] + [here / name for name in FOLDERS.values()]
        folders += [Path(path).resolve().parent for path in beside]
        unique = dict.fromkeys(folder.resolve() for folder in folders)
        return cls(file for folder in unique for file in files_in(folder))

    def files(self, kind: SpecKind) -> tuple[SpecFile, ...]:
        """All files of one kind by name; a name claimed twice appears twice."""
        return tuple(file for key in sorted(self._files) if key[0] == kind for file in self._files[key])

    def names(self, kind: SpecKind) -> tuple[str, ...]:
        """Names of one kind."""
        return tuple(name for known, name in sorted(self._files) if known == kind)

    def get(self, kind: SpecKind, name: str) -> SpecFile | None:
        """The file of that name, if there is one.

        Raises:
            SpecError: several files claim the name.
        """
        files = self._files.get((kind, name), [])
        if len(files) > 1:
            places = " and ".join(file.shown for file in files)
            raise SpecError(f"{kind} '{name}' is defined twice: in {places}; rename one of them")
        return files[0] if files else None

    def experiment(self, wanted: str | Path) -> tuple[Path, str | None]:
        """The experiment file meant by a path or name, and what to tell the user when it is not the path they gave.

        Raises:
            SpecError: neither such a file nor an experiment of that name.
        """
        path = Path(wanted)
        if path.is_file():
            return path, None
        if named := self.get("experiment", str(wanted)):
            return named.path, None
        alike = self.get("experiment", path.stem)
        if alike and path.parts[-2:] == alike.path.parts[-2:]:  # specs/paper.yaml, as in a clone, from anywhere
            return alike.path, f"no file {wanted} here; using the shipped {alike.path}"
        known = "" if alike else f" and no experiment '{path.stem}'"
        raise SpecError(f"no file {wanted}{known}{hint(path.stem, self.names('experiment'))}")


def files_in(folder: Path) -> list[SpecFile]:
    """Spec files directly in a folder; other YAML is left alone."""
    if not folder.is_dir():
        return []
    shipped = folder.parent == PRODUCT
    paths = (path for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES and path.is_file())
    return [SpecFile(*named, path, shipped) for path in paths if (named := first_key(path))]


def first_key(path: Path) -> tuple[SpecKind, str] | None:
    """Kind and name a file's first key declares, read without parsing the rest; None when it is no spec."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as stream:
            for line in stream:
                if line.strip() and not line.startswith(("#", "---", "%")):
                    match = FIRST_KEY.match(line)
                    return (match[1], match[3]) if match else None  # type: ignore[return-value]
    except OSError:
        return None
    return None
