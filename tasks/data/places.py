"""Where data lives, and the quick answer whether it is there.

    ROOT/<name>/source/...               files fetched, exactly as published
    ROOT/<name>/prepared/<key>/meta.json  what was prepared from which files
    ROOT/<name>/prepared/<key>/*.npy      decoded arrays, read as memory maps

ROOT is `--data DIR`, else the environment variable BENCH_DATA, else `~/.cache/initbench`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from benchmark.errors import DataError, DataWriteError
from tasks.data.access import NOWHERE, listing, unreadable
from tasks.data.manifest import DatasetInfo, dataset

VARIABLE = "BENCH_DATA"
VERSION = 1
"""Raised whenever preparing the same files gives different arrays; part of every cache key."""


@dataclass(frozen=True)
class Missing:
    """A data set that is not there, and what gets it."""

    name: str
    where: str
    """Folder in which it was looked for."""
    command: str
    """What prepares it."""
    size: int | None = None
    """Side of the images that are wanted, where they vary."""
    sizes: tuple[int, ...] = ()
    """Sides that are there instead."""
    problem: str = ""
    """Why nobody can tell whether it is there."""

    def __str__(self) -> str:
        if self.problem:
            return f"data set {self.name}: {self.problem}"
        return f"data set {self.name} is not in {self.where}{self.at()}: {self.command}"

    @property
    def state(self) -> Literal["missing", "unreadable"]:
        """In a word."""
        return "unreadable" if self.problem else "missing"

    def at(self) -> str:
        """The wanted size, and those that are there instead, in words; nothing where images do not vary."""
        wanted = f" at {squares(self.size)}" if self.size else ""
        return f"{wanted}, only at {squares(*self.sizes)}" if self.sizes else wanted


def squares(*sizes: int) -> str:
    """`224×224 and 256×256`."""
    return " and ".join(f"{size}×{size}" for size in sizes)


def data_root(folder: str | Path | None = None) -> Path:
    """The folder of all data sets: `folder`, else BENCH_DATA, else ~/.cache/initbench.

    For a user without a home folder the sign stays, and nothing is there.
    """
    root = Path(folder or os.environ.get(VARIABLE) or "~/.cache/initbench")
    try:
        return root.expanduser()
    except RuntimeError:
        return root


def root_to_fill(folder: str | Path | None = None) -> Path:
    """`data_root`, for those who write. Raises DataWriteError where there is no home folder to put it in."""
    root = data_root(folder)
    if root.parts[:1] == ("~",):
        raise DataWriteError(f"{root}: this user has no home folder; name another place with --data or {VARIABLE}")
    return root


def is_available(name: str, *, size: int | None = None, root: str | Path | None = None) -> Missing | None:
    """None when `name` is embedded or prepared (images that vary: at `size`, else the manifest's), or what is missing.

    Looks at file names and sizes only.

    Raises:
        DataError: no data set of that name.
    """
    info = dataset(name)
    side = size or info.size
    missing = Missing(name, str(data_root(root) / name), how_to_get(info, size), side if info.size else None)
    try:
        if info.embedded or prepared(info, size=side, root=root):
            return None
        return replace(missing, sizes=sizes_there(info, root))
    except DataError as error:
        return replace(missing, problem=str(error))


def how_to_get(info: DatasetInfo, size: int | None = None) -> str:
    """The commands that put a data set in place, at `size` or else the manifest's."""
    option = f" --size {size or info.size}" if info.size else ""
    prepare = f"`bench data prepare {info.name} --from PATH{option}`"
    if any(file.urls for layout in info.layouts for file in layout.files):
        return f"{prepare} or `bench data fetch {info.name}{option}`"
    return prepare


def prepared(info: DatasetInfo, *, size: int | None = None, root: str | Path | None = None) -> list[Path]:
    """Folders in which `info` lies prepared by this version and complete (at `size`, or any), sorted by key.

    Raises:
        DataError: something there may not be read.
    """
    folders = listing(data_root(root) / info.name / "prepared")
    return [path for path in folders if path.name[0] != "." and is_complete(path / "meta.json", info, size)]


def size_of(folder: Path) -> int | None:
    """Side of the images in a prepared folder; None where they do not vary."""
    size: int | None = json.loads((folder / "meta.json").read_text(encoding="utf-8"))["size"]
    return size


def sizes_there(info: DatasetInfo, root: str | Path | None = None) -> tuple[int, ...]:
    """Sides at which images that vary lie prepared, sorted."""
    return tuple(sorted({size for folder in prepared(info, root=root) if (size := size_of(folder))}))


def is_complete(path: Path, info: DatasetInfo, size: int | None) -> bool:
    """Whether a meta.json is of this version and image size, and its files have the sizes it says.

    Raises:
        DataError: it is there, but may not be read.
    """
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
        same = meta["version"] == VERSION and (info.shape is not None or meta.get("size") == size or size is None)
        return same and all((path.parent / file).stat().st_size == bytes_ for file, bytes_ in meta["files"].items())
    except OSError as error:
        if error.errno in NOWHERE:
            return False
        raise unreadable(path, error) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def prepared_folder(info: DatasetInfo, *, size: int | None = None, root: str | Path | None = None) -> tuple[Path, Any]:
    """The prepared folder that is read (images that vary: at `size`, else the manifest's), and its meta.json.

    Raises:
        DataError: there is none, or there are two of different content.
    """
    folders = prepared(info, size=size or info.size, root=root)
    if not folders:
        raise DataError(str(is_available(info.name, size=size, root=root)))
    metas = [json.loads((folder / "meta.json").read_text(encoding="utf-8")) for folder in folders]
    if len({json.dumps(meta["content"], sort_keys=True) for meta in metas}) > 1:
        listed = ", ".join(f"{folder} ({meta['source']})" for folder, meta in zip(folders, metas, strict=True))
        raise DataError(f"{info.name} lies prepared with different content: {listed}; remove all but one")
    return folders[0], metas[0]
