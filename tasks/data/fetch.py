"""Download the files of one layout from their pinned addresses: resumable, verified, never overwriting what is good.

A file grows as `<name>.part`, which an interrupted fetch leaves and the next one continues (HTTP Range, RFC 9110 §14);
it gets its name only when its size and sha256 are right.
"""

from __future__ import annotations

import fcntl
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from io import FileIO
from pathlib import Path
from typing import IO, Any

from benchmark import __version__
from benchmark.errors import DataError, DataWriteError
from tasks.data.access import reading, writing
from tasks.data.convert import Progress
from tasks.data.hashing import file_digest
from tasks.data.manifest import DatasetInfo, File, Layout, dataset
from tasks.data.places import how_to_get, root_to_fill
from tasks.data.prepare import quiet

CHUNK = 1 << 18
TIMEOUT_SECONDS = 30
ATTEMPTS = 4
"""Connections tried at one address, each continuing where the last one broke off."""
PAUSE_SECONDS = 1.0
"""Wait before the second connection; doubled for each further one."""
MAX_UNSTATED = 16 << 30
"""Bytes taken of a file whose size neither the manifest nor the server states."""


class ChangedError(Exception):
    """What was downloaded is not what the manifest says, or the server cannot be used; try the next address."""


def fetch(
    name: str,
    *,
    layout: str | None = None,
    size: int | None = None,
    root: str | Path | None = None,
    progress: Progress = quiet,
) -> Path:
    """Bring every file of a layout (the first that has addresses) into ROOT/<name>/source and return that folder.

    `size` is what the files are to be prepared at; it is checked before anything is downloaded.

    Raises:
        DataError: no such data set, layout or size, no addresses, or no address gave the right file.
    """
    info = dataset(name)
    size = info.side(size)
    folder = root_to_fill(root) / name / "source"
    for file in fetchable(info, layout, size).files:
        fetch_file(file, folder / file.path, progress)
    return folder


def fetchable(info: DatasetInfo, name: str | None, size: int | None) -> Layout:
    """The layout to fetch.

    Raises:
        DataError: there is none.
    """
    if info.embedded:
        raise DataError(f"{info.name} is part of this package; there is nothing to fetch")
    layouts = [layout for layout in info.layouts if layout.files and all(file.urls for file in layout.files)]
    if name is not None and name not in (layout.name for layout in info.layouts):
        raise DataError(f"{info.name} has no layout '{name}'; layouts: {', '.join(item.name for item in info.layouts)}")
    chosen = [layout for layout in layouts if name in (None, layout.name)]
    if not chosen:
        raise DataError(
            f"{info.name} is not fetched ({info.licence}): get it from {info.layouts[0].source} and run "
            f"{how_to_get(info, size)}"
        )
    return chosen[0]


def fetch_file(file: File, target: Path, progress: Progress = quiet) -> None:
    """Bring one file into place; a good one that is there is kept.

    Raises:
        DataError: another process is at it, or every address failed, each with its reason.
        DataWriteError: a full disk, missing rights; what came is kept and continued next time.
    """
    with reading(target):
        if target.is_file() and fault(file, target) is None:
            return
    part = target.with_name(target.name + ".part")
    reasons = []
    with locked(part):
        for url in file.urls:
            try:
                download(url, file, part, progress)
            except (ChangedError, HTTPException, OSError) as error:
                reasons.append(f"{url}: {error}")
                continue
            except DataWriteError as error:
                raise DataWriteError(f"{error}{kept(part)}") from None
            with writing(target.parent):
                part.replace(target)
            return
    listed = "\n".join(f"  {reason}" for reason in reasons)
    raise DataError(f"{file.path} could not be fetched{kept(part)}:\n{listed}")


def kept(part: Path) -> str:
    """What remains of a download that did not end, in words."""
    return f"; {part.stat().st_size:,} bytes are kept in {part} and continued next time" if has_bytes(part) else ""


def has_bytes(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


@contextmanager
def locked(part: Path) -> Iterator[None]:
    """Hold the right to write `part`; the kernel gives it up when the process ends, however it ends.

    Raises:
        DataError: another process holds it.
        DataWriteError: its folder cannot be made or written.
    """
    with writing(part.parent):
        part.parent.mkdir(parents=True, exist_ok=True)
        stream = part.open("ab")
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(f"{part}: another process is fetching this file") from None
        try:
            yield
        finally:
            if part.exists() and not has_bytes(part):
                part.unlink()


def download(url: str, file: File, part: Path, progress: Progress) -> None:
    """Fill `part` from one address and verify it.

    Raises:
        ChangedError: another size or digest; `part` is emptied, so that it cannot spoil the next attempt.
        OSError: the address did not answer, or broke off too often.
    """
    for attempt in range(ATTEMPTS):
        try:
            receive(url, file, part, progress)
            break
        except ChangedError:
            os.truncate(part, 0)
            raise
        except (HTTPException, OSError) as error:
            hopeless = isinstance(error, urllib.error.HTTPError) or not has_bytes(part)
            if hopeless or attempt == ATTEMPTS - 1:
                raise
            time.sleep(PAUSE_SECONDS * 2**attempt)
    if reason := fault(file, part):
        os.truncate(part, 0)
        raise ChangedError(reason)


def receive(url: str, file: File, part: Path, progress: Progress) -> None:
    """One connection: the rest of the file from where `part` ends, or all of it when the server does no ranges."""
    have = part.stat().st_size
    if file.size is not None and have >= file.size:
        if have > file.size:
            raise ChangedError(f"more than the expected {file.size:,} bytes")
        return
    with opened(url, have) as response:
        start = starting_at(response, have)
        total = total_size(response, start)
        if file.size is not None and total is not None and total != file.size:
            raise ChangedError(f"offers {total:,} bytes, expected {file.size:,}")
        limit = file.size or total or MAX_UNSTATED
        with part.open("r+b", buffering=0) as stream:
            stream.truncate(start)
            stream.seek(start)
            copy(response, stream, start, limit, lambda done: progress(f"fetch {file.path}", done, file.size or total))
        done = part.stat().st_size
        if total is not None and done < total:
            raise ConnectionError(f"broke off after {done:,} of {total:,} bytes")


def opened(url: str, have: int) -> Any:
    """An open response; asks for the rest when there is something already.

    Raises:
        ChangedError: not an address of the web.
        HTTPError: an error status; 416 (nothing left) included.
    """
    if not url.startswith(("https://", "http://")):
        raise ChangedError("expected an http or https address")
    headers = {"User-Agent": f"initbench/{__version__}", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:
            error.close()
            return opened(url, 0)
        raise


def starting_at(response: Any, have: int) -> int:
    """Offset of the first byte that comes: `have` when the server honours the range, else 0.

    Raises:
        ChangedError: it sends another range.
    """
    if response.status != 206:
        return 0
    stated = response.headers.get("Content-Range", "")
    if not stated.startswith(f"bytes {have}-"):
        raise ChangedError(f"asked for bytes from {have}, got '{stated}'")
    return have


def total_size(response: Any, start: int) -> int | None:
    """Size of the whole file, if the server says."""
    length = response.headers.get("Content-Length")
    return start + int(length) if length and length.isdecimal() else None


def copy(response: IO[bytes], stream: FileIO, done: int, limit: int, tell: Any) -> None:
    """Append what comes.

    Raises:
        ChangedError: more than `limit` bytes in all.
        DataWriteError: the disk is full; no other address would help.
    """
    while piece := response.read(CHUNK):
        done += len(piece)
        if done > limit:
            raise ChangedError(f"sends more than the expected {limit:,} bytes")
        append(stream, piece)
        tell(done)


def append(stream: FileIO, piece: bytes) -> None:
    """Write all of a piece, unbuffered, so that what the file holds is known when the disk is full."""
    rest = memoryview(piece)
    with writing(Path(stream.name).parent):
        while rest:
            rest = rest[stream.write(rest) :]


def fault(file: File, path: Path) -> str | None:
    """What is wrong with a finished file; None when nothing is."""
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        return f"has {size:,} bytes, expected {file.size:,}"
    if file.sha256 and (digest := file_digest(path)) != file.sha256:
        return f"has sha256 {digest}, expected {file.sha256}"
    if file.md5 and not file.sha256 and (digest := file_digest(path, algorithm="md5")) != file.md5:
        return f"has md5 {digest}, expected {file.md5}"
    return None
