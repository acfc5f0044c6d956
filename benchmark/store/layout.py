"""Where everything of a store lies, and how a file gets there without ever being seen half written."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from benchmark.errors import StoreWriteError

SHARD_NAME = re.compile(r"(?P<attempt>[A-Za-z0-9._-]{1,120})-(?P<digest>[0-9a-f]{32})\.parquet")
SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
DIGEST_LENGTH = 32
TEMPORARY_AGE = 3600.0
"""Seconds after which a temporary file of no living process is taken for the remains of a kill."""


@dataclass(frozen=True)
class Layout:
    """The paths of one store; nothing is created by asking for one."""

    root: Path
    read_only: bool = False
    """Look, but move, sweep and cache nothing: for a store that belongs to somebody else."""

    @property
    def shards(self) -> Path:
        """Folder of the immutable result files."""
        return self.root / "shards"

    @property
    def runs(self) -> Path:
        """Folder with one JSON file per invocation of `bench run`."""
        return self.root / "runs"

    @property
    def running(self) -> Path:
        """Folder of heartbeats."""
        return self.root / "running"

    @property
    def claims(self) -> Path:
        """Folder with one file per cell that is being trained."""
        return self.root / "claims"

    @property
    def checkpoints(self) -> Path:
        """Folder with one file per stack that is half trained."""
        return self.root / "checkpoints"

    @property
    def models(self) -> Path:
        """Folder of the weights that were kept, by cell id."""
        return self.root / "models"

    @property
    def quarantine(self) -> Path:
        """Folder of damaged shards."""
        return self.root / "quarantine"

    @property
    def execution(self) -> Path:
        """Execution mode chosen per shape."""
        return self.root / "execution.json"

    @property
    def index(self) -> Path:
        """The DuckDB index."""
        return self.root / "index.duckdb"

    @property
    def verified(self) -> Path:
        """Which shards were hashed already, so that they are not hashed at every start."""
        return self.root / "verified.json"


def new_attempt_id() -> str:
    """An id no other attempt has; ids sort by the time they were made (UTC, microseconds)."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(6)}"


def new_run_id() -> str:
    """An id for one invocation; sorts by time."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def now() -> str:
    """The present moment as it is stored: ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def digest(data: bytes) -> str:
    """The part of the sha256 that a shard carries in its name (128 bits)."""
    return hashlib.sha256(data).hexdigest()[:DIGEST_LENGTH]


def file_digest(path: Path) -> str:
    """`digest` of a file's content, without holding it in memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:DIGEST_LENGTH]


@cache
def host() -> str:
    """This machine, safe within a file name: its name, and where Linux tells, a digest of its boot and of the namespace
    that process ids count in. Containers and rebooted nodes of one name are so told apart."""
    name = re.sub(r"[^A-Za-z0-9]", "", socket.gethostname())[:40] or "host"
    try:
        marks = Path("/proc/sys/kernel/random/boot_id").read_text() + os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    except OSError:
        return name
    return f"{name}-{hashlib.sha256(marks.encode()).hexdigest()[:8]}"


def temporary(folder: Path, stem: str) -> Path:
    """A name in `folder` for a file being written; tells whose it is, and no reader looks at it."""
    return folder / f".{stem[:120]}.{host()}.{os.getpid()}.{secrets.token_hex(4)}.tmp"


@contextmanager
def storing(what: str, path: Path) -> Iterator[None]:
    """Turn an operating system error into one that says what to do; what was stored before is untouched."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreWriteError(
            f"cannot write {what} at {path}: {reason}. {_advice(error)} Nothing already stored was changed."
        ) from error


@contextmanager
def whole(what: str, path: Path) -> Iterator[Path]:
    """A file to write to, which becomes `path` when the block ends; until then, and if it fails, all is as before.

    Folders are made; a link stays one, and rights stay what they were. What is no file (a pipe, `/dev/stdout`) is
    written to itself.

    Raises:
        StoreWriteError: a full disk, missing rights ...
    """
    with storing(what, path):
        if path.exists() and not path.is_file():
            yield path
            return
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = temporary(target.parent, target.name)
        try:
            yield draft
            if target.exists():
                draft.chmod(target.stat().st_mode)
            draft.replace(target)
        finally:
            with suppress(OSError):
                draft.unlink()


def _advice(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "Free some space (or choose another place with --store) and run again."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "Make the folder writable (or choose another place with --store) and run again."
    return "Mend that (or choose another place with --store) and run again."


def write_bytes(target: Path, data: bytes, *, durable: bool = True) -> None:
    """Put `data` at `target` as a whole: temporary name, write, fsync, rename, fsync of the folder.

    Raises OSError; the temporary file is removed then.
    """
    draft = temporary(target.parent, target.name)
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    if durable:
        sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_json(target: Path, value: Any, *, durable: bool = True) -> None:
    """`write_bytes` of readable JSON."""
    text = json.dumps(value, indent=1, ensure_ascii=True, default=str)
    write_bytes(target, text.encode(), durable=durable)


def read_json(path: Path) -> Any:
    """The content of a JSON file, or None when it is absent, unreadable or damaged."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def sweep(folder: Path) -> int:
    """Remove what killed processes left half written in `folder`; returns how many files."""
    removed = 0
    for path in folder.glob(".*.tmp"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > TEMPORARY_AGE and not _writer_lives(path):
                path.unlink()
                removed += 1
    return removed


def _writer_lives(path: Path) -> bool:
    parts = path.name.rsplit(".", 4)
    return len(parts) == 5 and parts[1] == host() and parts[2].isdigit() and process_start(int(parts[2])) is not None


def process_start(pid: int) -> float | None:
    """When that process of this machine started (clock ticks since boot; 0 where unknown); None when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return _alive_by_signal(pid)
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else float(fields[19])


def _alive_by_signal(pid: int) -> float | None:
    if Path("/proc/self/stat").exists():
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return 0.0
    return 0.0
