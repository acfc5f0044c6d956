"""Digests of files and of decoded content.

The content digest of images is the sha256 of `repr(shape)`, the pixels row-major and the labels as little-endian
int64; that of text the sha256 of its rows joined by NUL, in UTF-8. Rows in canonical order give the same digest
whichever container and row order they came from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

CHUNK = 1 << 20


def file_digest(path: Path, progress: Callable[[int], None] | None = None, *, algorithm: str = "sha256") -> str:
    """Hex digest of a file, read in pieces; `progress` is told the bytes of each."""
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with path.open("rb") as stream:
        while piece := stream.read(CHUNK):
            digest.update(piece)
            if progress:
                progress(len(piece))
    return digest.hexdigest()


def images_sha256(pixels: Any, labels: Any) -> str:
    """Digest of uint8 pixels (n, H, W) or (n, H, W, C) and labels (n,), in the order given."""
    digest = hashlib.sha256(repr(tuple(map(int, pixels.shape))).encode())
    rows = max(1, CHUNK // max(1, pixels[:1].nbytes))
    for start in range(0, len(pixels), rows):
        digest.update(pixels[start : start + rows].tobytes())
    digest.update(labels.astype("<i8").tobytes())
    return digest.hexdigest()


def text_sha256(rows: Iterable[str]) -> str:
    """Digest of rows of text, in the order given."""
    digest = hashlib.sha256()
    for number, row in enumerate(rows):
        digest.update((b"\0" if number else b"") + row.encode())
    return digest.hexdigest()


def canonical_order(keys: list[bytes], labels: Any) -> Any:
    """Indices that sort rows by key, then label, then position: the same content in the same order from any source."""
    import numpy as np

    return np.array(sorted(range(len(keys)), key=lambda row: (keys[row], int(labels[row]), row)), dtype=np.int64)


def pixel_keys(pixels: Any) -> list[bytes]:
    """The digest of every image, the key of its canonical place."""
    return [hashlib.sha256(image.tobytes()).digest() for image in pixels]
