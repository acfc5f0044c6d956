"""Writing so that no reader ever sees half of anything, two writers never disturb each other, and remains are known."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.data.access import listing
from tasks.data.manifest import DatasetInfo
from tasks.data.places import data_root

UNFINISHED = re.compile(r"\..*?(?:\.(?P<host>[^.]+)\.(?P<pid>\d+)-(?P<start>\d+)-[0-9a-f]+)?\.(?:part|damaged)")
"""Names of what is being written or removed, and of the process that does it."""
LEFTOVER_SECONDS = 24 * 3600
"""Age from which what another machine was writing is taken for the remains of a kill."""


def write_arrays(folder: Path, arrays: Mapping[str, Any]) -> None:
    """Write each array as `folder/<name>`, in order, each complete before it is seen under its name."""
    import numpy as np

    for name, array in arrays.items():
        part = folder / f".{name}.{unique()}.part"
        try:
            with part.open("wb") as stream:
                np.save(stream, array, allow_pickle=False)
                flush(stream)
            part.replace(folder / name)
        finally:
            part.unlink(missing_ok=True)


def flush(stream: Any) -> None:
    """Bring a file's bytes to the disk before it gets its name."""
    stream.flush()
    os.fsync(stream.fileno())


def unique() -> str:
    """A name no other writer uses, with the machine, the process and when it started."""
    from benchmark.store.layout import host, process_start

    pid = os.getpid()
    return f"{host()}.{pid}-{process_start(pid) or 0:.0f}-{secrets.token_hex(4)}"


@dataclass(frozen=True)
class Leftover:
    """What a process that was killed left half written."""

    path: Path
    bytes: int
    age_seconds: float


def leftovers(info: DatasetInfo, root: str | Path | None = None) -> list[Leftover]:
    """What killed processes left among the prepared data of a set, sorted by path.

    Raises:
        DataError: the folder may not be read.
    """
    found = []
    for path in unfinished(data_root(root) / info.name / "prepared"):
        with suppress(FileNotFoundError):  # finished or removed in the meantime
            age = time.time() - path.stat().st_mtime
            if is_left(path, age):
                found.append(Leftover(path, size_of(path), age))
    return found


def unfinished(folder: Path) -> Iterator[Path]:
    """What has the name of something half written, in a folder of prepared sets or in one of the sets."""
    for path in listing(folder):
        if UNFINISHED.fullmatch(path.name):
            yield path
        elif path.name[0] != ".":
            yield from (item for item in listing(path) if UNFINISHED.fullmatch(item.name))


def is_left(path: Path, age: float) -> bool:
    """Whether the process that wrote is gone; that of another machine when nothing happened for a day."""
    from benchmark.store.runs import lives

    match = UNFINISHED.fullmatch(path.name)
    writer = match.groupdict() if match else {}
    alive = lives(writer["host"], int(writer["pid"]), float(writer["start"])) if writer.get("host") else None
    return age > LEFTOVER_SECONDS if alive is None else not alive


def size_of(path: Path) -> int:
    """Bytes of a file, or of the files in a folder."""
    return sum(item.stat().st_size for item in (listing(path) if path.is_dir() else [path]))


def remove_leftovers(info: DatasetInfo, root: str | Path | None = None) -> None:
    """Remove what killed processes left; what may not be removed stays."""
    for left in leftovers(info, root):
        if left.path.is_dir():
            shutil.rmtree(left.path, ignore_errors=True)
        else:
            with suppress(OSError):
                left.path.unlink()
