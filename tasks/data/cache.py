"""Writing arrays so that no reader ever sees half of one, and two writers never disturb each other."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any


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
    """A name no other writer uses."""
    return f"{os.getpid()}-{secrets.token_hex(4)}"
