"""One digest for everything a data set holds here, so that numbers made from other content can be told apart."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tasks.data.manifest import DatasetInfo, dataset
from tasks.data.places import prepared, prepared_folder

SHOWN = 16
"""Hex digits kept: enough to tell data sets apart, not to resist forgery."""


def content_digests(*names: str, size: int | None = None, root: str | Path | None = None) -> dict[str, str]:
    """Name → digest of the decoded content of all splits, for those of the data sets that are here.

    The same content has the same digest whichever container it was prepared from. Reads no images and no text: the
    digests of the splits were noted when they were prepared.

    Raises:
        DataError: no data set of that name, or it lies prepared with different content.
    """
    found = {name: split_digests(dataset(name), size, root) for name in names}
    return {name: summary(content) for name, content in found.items() if content}


def split_digests(info: DatasetInfo, size: int | None, root: str | Path | None) -> dict[str, str]:
    """Split → digest of its decoded content; empty where the data set is not here."""
    if info.embedded:
        return {name: split.content_sha256 for name, split in info.splits.items() if split.content_sha256}
    if not prepared(info, size=size or info.size, root=root):
        return {}
    content: dict[str, str] = prepared_folder(info, size=size, root=root)[1]["content"]
    return content


def summary(content: dict[str, str]) -> str:
    """The digests of the splits in one."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:SHOWN]
