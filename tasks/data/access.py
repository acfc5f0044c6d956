"""Files and folders that the system refuses to read or write: what it says, where, and what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmark.errors import DataError, DataWriteError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, None)
"""No space, beyond the quota, beyond the largest file; numpy tells a short write without a number."""
NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)
"""There is nothing of that name, and there cannot be."""
SPACE = "Free some space, or choose another folder with --data"


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn a refusal to read `path`, or something in it, into an error.

    Raises:
        DataError: with the place and the system's reason.
    """
    try:
        yield
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> DataError:
    """The error for a refusal to read `path`, or something in it."""
    return DataError(f"cannot read {error.filename or path}: {reason(error)}. Make it readable, or give another path")


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn a refusal to write into `folder` into an error.

    Raises:
        DataWriteError: with the place and the system's reason.
    """
    try:
        yield
    except OSError as error:
        advice = SPACE if error.errno in FULL else "Make it writable, or choose another folder with --data"
        raise DataWriteError(f"cannot write in {folder}: {reason(error)}. {advice}") from None


def reason(error: OSError) -> str:
    """What the system says, without number and path."""
    return error.strerror or str(error) or type(error).__name__


def listing(folder: Path) -> list[Path]:
    """What lies in a folder, sorted; nothing where there is no such folder.

    Raises:
        DataError: it may not be read.
    """
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        if error.errno in NOWHERE:
            return []
        raise unreadable(folder, error) from None
