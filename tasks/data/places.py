"""Where data lives, and the quick answer whether it is there.

    ROOT/<name>/source/...               files fetched, exactly as published
    ROOT/<name>/prepared/<key>/meta.json  what was prepared from which files
    ROOT/<name>/prepared/<key>/*.npy      decoded arrays, read as memory maps

ROOT is `--data DIR`, else the environment variable BENCH_DATA, else `~/.cache/initbench`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.errors import DataError
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

    def __str__(self) -> str:
        return f"data set {self.name} is not in {self.where}: {self.command}"


def data_root(folder: str | Path | None = None) -> Path:
    """The folder of all data sets: `folder`, else BENCH_DATA, else ~/.cache/initbench."""
    return Path(folder or os.environ.get(VARIABLE) or "~/.cache/initbench").expanduser()


def is_available(name: str, *, size: int | None = None, root: str | Path | None = None) -> Missing | None:
    """None when `name` is embedded or prepared (images that vary: at `size`), else what is missing.

    Looks at file names and sizes only.

    Raises:
        DataError: no data set of that name.
    """
    info = dataset(name)
    if info.embedded or prepared(info, size=size, root=root):
        return None
    return Missing(name, str(data_root(root) / name), how_to_get(info, size))


def how_to_get(info: DatasetInfo, size: int | None = None) -> str:
    """The commands that put a data set in place."""
    option = f" --size {size}" if size and info.kind == "images" and info.shape is None else ""
    prepare = f"`bench data prepare {info.name} --from PATH{option}`"
    if any(file.urls for layout in info.layouts for file in layout.files):
        return f"{prepare} or `bench data fetch {info.name}{option}`"
    return prepare


def prepared(info: DatasetInfo, *, size: int | None = None, root: str | Path | None = None) -> list[Path]:
    """Folders in which `info` lies prepared by this version and complete, sorted by key."""
    folder = data_root(root) / info.name / "prepared"
    return [path.parent for path in sorted(folder.glob("*/meta.json")) if is_complete(path, info, size)]


def is_complete(path: Path, info: DatasetInfo, size: int | None) -> bool:
    """Whether a meta.json is of this version and image size, and its files have the sizes it says."""
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
        same = meta["version"] == VERSION and (info.shape is not None or meta.get("size") == size or size is None)
        return same and all((path.parent / file).stat().st_size == bytes_ for file, bytes_ in meta["files"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def prepared_folder(info: DatasetInfo, *, size: int | None = None, root: str | Path | None = None) -> tuple[Path, Any]:
    """The prepared folder that is read, and its meta.json.

    Raises:
        DataError: there is none, or there are two of different content.
    """
    folders = prepared(info, size=size, root=root)
    if not folders:
        raise DataError(str(is_available(info.name, size=size, root=root)))
    metas = [json.loads((folder / "meta.json").read_text(encoding="utf-8")) for folder in folders]
    if len({json.dumps(meta["content"], sort_keys=True) for meta in metas}) > 1:
        listed = ", ".join(f"{folder} ({meta['source']})" for folder, meta in zip(folders, metas, strict=True))
        raise DataError(f"{info.name} lies prepared with different content: {listed}; remove all but one, or give size")
    return folders[0], metas[0]
