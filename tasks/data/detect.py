"""A file or folder the user names → the layout it is in, and where each of its files lies."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from benchmark.errors import DataError
from tasks.data.access import listing
from tasks.data.cifar_binary import USE_BINARY
from tasks.data.folders import PICKLED, refuse_other_lists
from tasks.data.manifest import DatasetInfo, File, Layout


@dataclass(frozen=True)
class Found:
    """A layout and its files on disk."""

    layout: Layout
    files: tuple[tuple[File, Path], ...]
    """Manifest entry and place; unpacked CIFAR folders: the record files."""
    folders: tuple[tuple[str, Path], ...] = ()
    """Image folders: split and place."""
    unpacked: Path | None = None
    """Folder of an unpacked CIFAR archive."""


PYTHON_CIFAR = ("cifar-10-python", "cifar-100-python", "cifar-10-batches-py")


def detect(info: DatasetInfo, source: Path) -> Found:
    """The layout of `source`.

    Raises:
        DataError: nothing there, pickles, another data set, an incomplete layout, or none that is known.
    """
    if not source.exists():
        raise DataError(f"{source}: no such file or folder")
    refuse_pickles(info, source)
    if source.is_dir():
        refuse_other_lists(info, source)
    partial: list[str] = []
    for layout in info.layouts:
        found, missing = locate(layout, source)
        if found:
            return found
        if missing:
            partial.append(f"{layout.name}: {', '.join(missing)} missing")
    if source.is_dir() and any(path.name.startswith(PYTHON_CIFAR) for path in source.iterdir()):
        raise DataError(f"{source}: holds the Python version of CIFAR, which is made of pickles; {USE_BINARY}")
    if partial:
        raise DataError(f"{source}: incomplete for {info.name}: {'; '.join(partial)}")
    for path in listing(source):
        refuse_pickles(info, path)
    raise DataError(f"{source}: not {info.name} in a known layout; {expected(info)}")


def refuse_pickles(info: DatasetInfo, path: Path) -> None:
    """Refuse what is known to hold pickles.

    Raises:
        DataError: with what to take instead.
    """
    if path.name.startswith(PYTHON_CIFAR):
        raise DataError(f"{path}: the Python version of CIFAR is made of pickles, which are not read; {USE_BINARY}")
    if path.is_file() and (PICKLED.intersection(map(str.lower, path.suffixes)) or starts_as_pickle(path)):
        raise DataError(f"{path}: may hold pickles, which can run code when read; they are not read; {expected(info)}")


def starts_as_pickle(path: Path) -> bool:
    """Whether a file begins like a pickle of protocol 2 or later: PROTO and its number."""
    with path.open("rb") as stream:
        first = stream.read(2)
    return first[:1] == b"\x80" and first[1:] in (b"\x02", b"\x03", b"\x04", b"\x05")


def locate(layout: Layout, source: Path) -> tuple[Found | None, list[str]]:
    """The layout if `source` has all of it; else what is missing, empty when there is no sign of it."""
    if layout.reader == "image-folder":
        return locate_folders(layout, source)
    if layout.reader == "cifar-binary" and (unpacked := unpacked_folder(layout, source)):
        files = [(file, unpacked / file.path) for group in layout.members.values() for file in group]
        if absent := [file.path for file, path in files if not path.exists()]:
            return None, absent
        return Found(layout, tuple(files), unpacked=unpacked), []
    places = [(file, place(file, source)) for file in layout.files]
    absent = [file.path for file, paths in places if not paths]
    if absent:
        return None, absent if len(absent) < len(places) else []
    return Found(layout, tuple((file, path) for file, paths in places for path in paths)), []


def place(file: File, source: Path) -> list[Path]:
    """Where a file of a layout lies: `source` itself, below it at its path, or in it; a pattern finds several."""
    name = file.path.rpartition("/")[2]
    if source.is_file():
        return [source] if source.match(name) else []
    for pattern in (file.path, name):
        folder, _, last = pattern.rpartition("/")
        if found := [path for path in listing(source / folder) if fnmatchcase(path.name, last) and path.is_file()]:
            return found
    return []


def unpacked_folder(layout: Layout, source: Path) -> Path | None:
    """The folder of CIFAR record files in or at `source`, if one of them is there."""
    first = [group[0].path for group in layout.members.values()]
    for folder in (source, source / layout.folder):
        if any((folder / name).exists() for name in first):
            return folder
    return None


def locate_folders(layout: Layout, source: Path) -> tuple[Found | None, list[str]]:
    """Class folders below one folder per split."""
    found = []
    absent = []
    for split, names in layout.folders.items():
        there = [source / name for name in names if (source / name).is_dir()]
        if there:
            found.append((split, there[0]))
        else:
            absent.append(f"folder {' or '.join(names)}")
    if absent:
        return None, absent if found else []
    return Found(layout, (), tuple(found)), []


def expected(info: DatasetInfo) -> str:
    """Every layout that is read, in words."""
    return f"expected {'; or '.join(map(describe, info.layouts))}"


def describe(layout: Layout) -> str:
    """A layout in words."""
    if layout.reader == "image-folder":
        return f"folders {', '.join(f'{names[0]}/<class>/' for names in layout.folders.values())}"
    names = ", ".join(file.path for file in layout.files)
    return f"{names} or its unpacked folder {layout.folder}" if layout.folder else names
