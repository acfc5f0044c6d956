"""Read everything again and compare: fetched files with the manifest, prepared arrays with their recorded digests."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmark.errors import DataError
from tasks.data.access import reading
from tasks.data.convert import Progress
from tasks.data.hashing import file_digest, images_sha256, text_sha256
from tasks.data.manifest import EMBEDDED, DatasetInfo, File, dataset
from tasks.data.places import data_root, is_available, prepared
from tasks.data.prepare import quiet

NOT_KNOWN = "hash not known: recorded on first use"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    what: str
    state: Literal["ok", "unknown", "wrong", "missing"]
    """`unknown`: read in full, but there is nothing published to compare it with."""
    detail: str = ""


def verify(name: str, *, root: str | Path | None = None, progress: Progress = quiet) -> list[Check]:
    """Everything of one data set, compared with what is known of it.

    Raises:
        DataError: no data set of that name.
    """
    info = dataset(name)
    if info.embedded:
        return [check_file(EMBEDDED / file.path, file, None, progress) for file in info.layouts[0].files] + [
            check_embedded(info, split) for split in info.splits
        ]
    try:
        folders = prepared(info, root=root)
    except DataError as error:
        return [Check("prepared", "wrong", str(error))]
    checks = [*fetched_files(info, data_root(root) / name / "source", recorded(folders), progress)]
    for folder in folders:
        checks += prepared_arrays(info, folder)
    return checks if folders else [*checks, Check("prepared", "missing", str(is_available(name, root=root)))]


def recorded(folders: list[Path]) -> dict[str, str]:
    """Digests of source files that were recorded when they were prepared."""
    metas = [json.loads((folder / "meta.json").read_text(encoding="utf-8")) for folder in folders]
    return {item["path"]: item["sha256"] for meta in metas for item in meta["sources"]}


def fetched_files(info: DatasetInfo, folder: Path, known: dict[str, str], progress: Progress) -> Iterator[Check]:
    """The files that `fetch` put in place, if any."""
    for layout in info.layouts:
        for file in layout.files:
            if "*" not in file.path and os.path.lexists(folder / file.path):
                yield check_file(folder / file.path, file, known.get(file.path), progress)


def check_file(path: Path, file: File, known: str | None, progress: Progress) -> Check:
    """Size and digest of one file; `wrong` when it may not be read."""
    try:
        with reading(path):
            return compared_file(path, file, known, progress)
    except DataError as error:
        return Check(f"file {file.path}", "wrong", str(error))


def compared_file(path: Path, file: File, known: str | None, progress: Progress) -> Check:
    """Size and digest of one file that may be read."""
    what = f"file {file.path}"
    if not path.is_file():
        return Check(what, "missing", str(path))
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        return Check(what, "wrong", f"{size:,} bytes, expected {file.size:,}")
    done = 0

    def tell(count: int) -> None:
        nonlocal done
        done += count
        progress(f"hash {path.name}", done, size)

    digest, expected = file_digest(path, tell), file.sha256 or known
    if expected and digest != expected:
        return Check(what, "wrong", f"sha256 {digest}, expected {expected}")
    return Check(what, "ok", f"sha256 {digest}") if expected else Check(what, "unknown", f"{NOT_KNOWN}: {digest}")


def check_embedded(info: DatasetInfo, split: str) -> Check:
    """Decoded content of an embedded split."""
    from tasks.data.arrays import load_images, load_text

    try:
        rows = len(load_images(info.name, split) if info.kind == "images" else load_text(info.name, split))
    except DataError as error:
        return Check(f"content {split}", "wrong", str(error))
    if rows != info.splits[split].rows:
        return Check(f"content {split}", "wrong", f"{rows:,} rows, expected {info.splits[split].rows:,}")
    return Check(f"content {split}", "ok", f"{rows:,} rows, content sha256 {info.splits[split].content_sha256}")


def prepared_arrays(info: DatasetInfo, folder: Path) -> Iterator[Check]:
    """Every split of a prepared folder, its content digest computed anew."""
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    size = f" at {meta['size']}" if meta["size"] else ""
    for split in info.splits:
        yield prepared_split(info, split, folder, meta, f"prepared {split}{size} ({meta['layout']})")
    for item in meta["sources"]:
        if not item["known"]:
            yield Check(f"source {item['path']}", "unknown", f"{NOT_KNOWN}: {item['sha256']}")


def prepared_split(info: DatasetInfo, split: str, folder: Path, meta: dict[str, Any], what: str) -> Check:
    """One split's digest against the recorded and the published one."""
    try:
        digest = content_digest(info, split, folder)
    except (DataError, OSError, ValueError) as error:
        return Check(what, "wrong", str(error))
    expected = info.splits[split].content_sha256 or meta["content"][split]
    if digest != expected:
        return Check(what, "wrong", f"content sha256 {digest}, expected {expected}; remove {folder} and prepare again")
    return Check(what, "ok", f"{meta['rows'][split]:,} rows, content sha256 {digest}")


def content_digest(info: DatasetInfo, split: str, folder: Path) -> str:
    """Content digest of what lies in a prepared folder."""
    from tasks.data.arrays import mapped, text_in
    from tasks.data.tokenizers import ByteLevelBPE

    if info.kind == "images":
        return images_sha256(mapped(folder / f"{split}-pixels.npy"), mapped(folder / f"{split}-labels.npy"))
    if info.kind == "text":
        return text_sha256(text_in(folder, split))
    return ByteLevelBPE.read(folder).key
