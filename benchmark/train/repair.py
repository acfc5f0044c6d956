"""Libraries that a compiler killed half-way left in inductor's cache on disk.

Such a file is taken for a finished one for ever after: an empty one cannot be loaded, and one cut short ends the
process (SIGBUS). It is removed before anything is compiled, so that it is made again.
"""

from __future__ import annotations

import time
from pathlib import Path

BEING_WRITTEN_SECONDS = 60.0
"""A file changed since then may be another process's that is still at work."""


def repair_cache(folder: Path | None = None, *, settled_seconds: float = BEING_WRITTEN_SECONDS) -> list[Path]:
    """Remove the broken libraries of a cache (inductor's own if None) that nobody is writing; returns them."""
    if folder is None:
        from torch._inductor.runtime.cache_dir_utils import cache_dir

        folder = Path(cache_dir())
    broken = [path for path in folder.glob("*/*.so") if _is_settled(path, settled_seconds) and is_cut_short(path)]
    for path in broken:
        path.unlink(missing_ok=True)
    return broken


def is_cut_short(path: Path) -> bool:
    """Whether a library is empty, or an ELF file that ends before its table of sections does."""
    try:
        with path.open("rb") as file:
            header = file.read(64)
        size = path.stat().st_size
    except OSError:
        return False
    if not header:
        return True
    if header[:5] != b"\x7fELF\x02":  # another format, or 32 bits
        return False
    if len(header) < 64:
        return True
    offset = int.from_bytes(header[0x28:0x30], "little")
    entry, count = (int.from_bytes(header[at : at + 2], "little") for at in (0x3A, 0x3C))
    return offset == 0 or size < offset + entry * count


def _is_settled(path: Path, seconds: float) -> bool:
    try:
        return time.time() - path.stat().st_mtime >= seconds
    except OSError:
        return False
