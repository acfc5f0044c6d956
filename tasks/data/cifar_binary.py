"""CIFAR's binary version: records of label bytes and 3,072 pixel bytes, in a tar.gz or an unpacked folder.

Format: https://www.cs.toronto.edu/~kriz/cifar.html. The archive is read as a stream and nothing is ever unpacked to
disk, so names in it can do no harm; they are still refused, since a true archive has none of that kind.
"""

from __future__ import annotations

import gzip
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from benchmark.errors import DataError
from tasks.data.manifest import File, Layout

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SIDE = 32
PIXELS = 3 * SIDE * SIDE
MAX_MEMBERS = 64
MAX_LIST = 1 << 16
"""Bytes of the longest class list."""
SLACK = 16 << 20
"""Bytes an archive may hold beside its record files (headers, texts)."""


def read_archive(path: Path, layout: Layout) -> dict[str, bytes]:
    """Record files of an archive, and its class list if it has one: member path → its bytes.

    Raises:
        DataError: not a whole tar.gz; a pickle archive; links, devices or paths that leave the folder; a record file
            missing, doubled or of another size; or more data than such an archive holds.
    """
    wanted = {f"{layout.folder}/{file.path}": file for files in layout.members.values() for file in files}
    budget = sum(file.size or 0 for file in wanted.values()) + SLACK
    found: dict[str, bytes] = {}
    try:
        with gzip.open(path) as unpacked:
            stream = Bounded(unpacked, budget, path)
            with opened(stream) as archive:
                for number, member in enumerate(archive):
                    name = checked_name(member, path, number)
                    if name in wanted:
                        read_member(archive, member, wanted[name], path, found)
                    elif layout.class_list and name == f"{layout.folder}/{layout.class_list}":
                        check_list_size(member.size, f"{path}: {member.name}")
                        found[layout.class_list] = contents(archive, member)
            while stream.read(1 << 20):  # to the end, where gzip's checksum is
                pass
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path}: expected a whole tar.gz archive: {error or type(error).__name__}") from None
    if missing := [name for name in wanted if name.partition("/")[2] not in found]:
        raise DataError(f"{path}: expected {', '.join(missing)}, which it does not hold")
    return found


class Bounded:
    """A stream that refuses to give more than it should hold, whatever its headers say."""

    def __init__(self, stream: gzip.GzipFile, budget: int, path: Path) -> None:
        self._stream, self._left, self._path, self._budget = stream, budget, path, budget

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes.

        Raises:
            DataError: the stream is larger than its budget.
        """
        piece = self._stream.read(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(piece)
        if self._left < 0:
            raise DataError(f"{self._path}: unpacks to more than {self._budget:,} bytes, which this archive never does")
        return piece


def opened(stream: Any) -> tarfile.TarFile:
    """A tar archive read from the front, once."""
    return tarfile.open(fileobj=stream, mode="r|")


def checked_name(member: tarfile.TarInfo, path: Path, number: int) -> str:
    """The member's name without a leading `./`.

    Raises:
        DataError: a member no CIFAR archive has.
    """
    name = PurePosixPath(member.name)
    if number >= MAX_MEMBERS:
        raise DataError(f"{path}: more than {MAX_MEMBERS} members")
    if name.is_absolute() or ".." in name.parts or "\\" in member.name:
        raise DataError(f"{path}: member {member.name!r} points outside the archive; not read")
    if not (member.isreg() or member.isdir()):
        raise DataError(f"{path}: member {member.name!r} is a link or device; not read")
    if str(name).startswith(("cifar-10-batches-py", "cifar-100-python")):
        raise DataError(f"{path}: the Python version of CIFAR is made of pickles, which are not read; {USE_BINARY}")
    return str(name)


USE_BINARY = "take the binary version (cifar-10-binary.tar.gz, cifar-100-binary.tar.gz) or the Parquet files"


def read_member(
    archive: tarfile.TarFile, member: tarfile.TarInfo, file: File, path: Path, found: dict[str, bytes]
) -> None:
    """Put one record file into `found`.

    Raises:
        DataError: doubled, of another size, or cut off.
    """
    if file.path in found:
        raise DataError(f"{path}: {member.name} is there twice")
    if member.size != file.size:
        raise DataError(f"{path}: {member.name} has {member.size:,} bytes, expected {file.size:,}")
    raw = contents(archive, member)
    if len(raw) != file.size:
        raise DataError(f"{path}: {member.name} is cut off after {len(raw):,} of {file.size:,} bytes")
    found[file.path] = raw


def contents(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """The bytes of a member; none when it is no file."""
    stream = archive.extractfile(member)
    return stream.read() if stream else b""


def check_list_size(size: int, where: str) -> None:
    """Refuse a class list before it is read.

    Raises:
        DataError: it is too long to be one.
    """
    if size > MAX_LIST:
        raise DataError(f"{where} has {size:,} bytes, expected a list of classes")


def parse_classes(raw: bytes, where: str) -> list[str]:
    """Class names, one a line.

    Raises:
        DataError: not UTF-8.
    """
    try:
        return [name for line in raw.decode().splitlines() if (name := line.strip())]
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: not UTF-8: {error}") from None


def read_folder(folder: Path, layout: Layout) -> dict[str, bytes]:
    """Files of an unpacked archive, as `read_archive`.

    Raises:
        DataError: a file is missing, not a plain file, or of another size.
    """
    found = {}
    for file in (file for files in layout.members.values() for file in files):
        path = folder / file.path
        if not path.is_file():
            raise DataError(f"{path}: expected a record file, found {'something else' if path.exists() else 'nothing'}")
        if path.stat().st_size != file.size:
            raise DataError(f"{path}: {path.stat().st_size:,} bytes, expected {file.size:,}")
        found[file.path] = path.read_bytes()
    if layout.class_list and (folder / layout.class_list).is_file():
        check_list_size((folder / layout.class_list).stat().st_size, str(folder / layout.class_list))
        found[layout.class_list] = (folder / layout.class_list).read_bytes()
    return found


def parse_records(raw: bytes, label_bytes: int, where: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Pixels (n, 32, 32, 3) and labels (n,), the last label byte of each record.

    Raises:
        DataError: not a whole number of records.
    """
    import numpy as np

    record = label_bytes + PIXELS
    if not raw or len(raw) % record:
        raise DataError(f"{where}: {len(raw):,} bytes are not a whole number of records of {record:,} bytes")
    table: Any = np.frombuffer(raw, np.uint8).reshape(-1, record)
    planes = table[:, label_bytes:].reshape(-1, 3, SIDE, SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), table[:, label_bytes - 1].astype(np.int64)
