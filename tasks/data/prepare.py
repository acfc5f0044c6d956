"""Files a user has → a verified, decoded copy that loads as memory maps.

The cache key is the sha256 of the source files' digests, the layout, the image size and `places.VERSION`. A copy is
built in a folder of its own and renamed when whole, so a reader never meets half of one, and of two processes that
prepare the same files at once one wins and the other uses its result.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.errors import DataError
from tasks.data.access import reading, writing
from tasks.data.cache import flush, remove_leftovers, unique
from tasks.data.convert import Converted, Progress, convert_images, convert_text, convert_tokenizer
from tasks.data.detect import Found, detect
from tasks.data.hashing import file_digest
from tasks.data.manifest import DatasetInfo, File, dataset
from tasks.data.places import VERSION, is_complete, root_to_fill


@dataclass(frozen=True)
class Prepared:
    """What `prepare` made or found."""

    name: str
    folder: Path
    meta: dict[str, Any]
    """Contents of meta.json: layout, sources with digests, rows, content digests, what was noticed."""
    reused: bool
    """Whether it had been prepared from the same files before."""


def quiet(what: str, done: int, total: int | None) -> None:
    """Progress nobody sees."""


def prepare(
    name: str,
    source: Path,
    *,
    size: int | None = None,
    root: str | Path | None = None,
    progress: Progress = quiet,
) -> Prepared:
    """Verify the files at `source` (a file or folder) and convert them; `size` where images vary, else the manifest's.

    Raises:
        DataError: unknown or embedded data set, unknown layout, damaged or hostile files, or other content.
        DataWriteError: a full disk, missing rights; nothing half made is left.
    """
    info = dataset(name)
    if info.embedded:
        raise DataError(f"{name} is part of this package; there is nothing to prepare")
    size = info.side(size)
    with reading(source):
        found = detect(info, source)
        sources = [verified(file, path, progress) for file, path in found.files]
        sources = sources or images_as_sources(info, found, progress)
    remove_leftovers(info, root)
    key = cache_key(info, found, sources, size)
    folder = root_to_fill(root) / name / "prepared" / key
    if is_complete(folder / "meta.json", info, size):
        return Prepared(name, folder, json.loads((folder / "meta.json").read_text(encoding="utf-8")), reused=True)
    with writing(folder.parent):
        return build(info, found, sources, size, folder, progress)


def verified(file: File, path: Path, progress: Progress) -> dict[str, Any]:
    """Path, size and digest of a source file, compared with what the manifest knows.

    Raises:
        DataError: another size or digest.
    """
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        raise DataError(f"{path}: {size:,} bytes, expected {file.size:,} ({file.path}); cut off, or another file")
    done = 0

    def tell(count: int) -> None:
        nonlocal done
        done += count
        progress(f"hash {path.name}", done, size)

    digest = file_digest(path, tell)
    if file.md5 and not file.sha256 and (md5 := file_digest(path, algorithm="md5")) != file.md5:
        raise DataError(f"{path}: md5 {md5}, expected {file.md5} ({file.path}); damaged, or another version")
    if file.sha256 and digest != file.sha256:
        raise DataError(f"{path}: sha256 {digest}, expected {file.sha256} ({file.path}); damaged, or another version")
    return {"path": file.path, "size": size, "sha256": digest, "known": file.sha256 is not None}


def images_as_sources(info: DatasetInfo, found: Found, progress: Progress) -> list[dict[str, Any]]:
    """For image folders, one digest per split over every image's class, file name and sha256."""
    from hashlib import sha256

    from tasks.data.folders import image_files

    sources = []
    for split, folder in found.folders:
        listing, size = sha256(), 0
        for number, (path, _) in enumerate(image_files(info, folder), 1):
            listing.update(f"{path.parent.name}/{path.name} {file_digest(path)}\n".encode())
            size += path.stat().st_size
            progress(f"hash {info.name} {split}", number, info.splits[split].rows)
        sources.append({"path": f"{folder.name}/*/*", "size": size, "sha256": listing.hexdigest(), "known": False})
    return sources


def cache_key(info: DatasetInfo, found: Found, sources: list[dict[str, Any]], size: int | None) -> str:
    """32 hex digits that change whenever the prepared arrays might."""
    from hashlib import sha256

    parts = [VERSION, info.name, found.layout.name, size, sorted((item["path"], item["sha256"]) for item in sources)]
    return sha256(json.dumps(parts).encode()).hexdigest()[:32]


def build(
    info: DatasetInfo,
    found: Found,
    sources: list[dict[str, Any]],
    size: int | None,
    folder: Path,
    progress: Progress,
) -> Prepared:
    """Convert into a folder of our own, then give it its name."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.parent / f".{folder.name}.{unique()}.part"
    part.mkdir()
    try:
        splits = {split: convert(info, found, split, part, size, progress) for split in info.splits}
        check_content(info, splits)
        meta = describe(info, found, sources, size, splits, part)
        with (part / "meta.json").open("w", encoding="utf-8") as stream:
            json.dump(meta, stream, indent=1)
            flush(stream)
        return publish(info, part, folder, meta, size)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def convert(info: DatasetInfo, found: Found, split: str, out: Path, size: int | None, progress: Progress) -> Converted:
    """One split, by kind."""
    if info.kind == "images":
        return convert_images(info, found, split, out, size, progress)
    if info.kind == "text":
        return convert_text(info, found, split, out, progress)
    return convert_tokenizer(info, found, split, out)


def check_content(info: DatasetInfo, splits: dict[str, Converted]) -> None:
    """Compare decoded content with the manifest, where it knows it.

    Raises:
        DataError: it differs.
    """
    from tasks.data.arrays import expect_content

    for split, converted in splits.items():
        expect_content(info, split, converted.content)


def describe(
    info: DatasetInfo,
    found: Found,
    sources: list[dict[str, Any]],
    size: int | None,
    splits: dict[str, Converted],
    out: Path,
) -> dict[str, Any]:
    """What meta.json says."""
    from importlib.metadata import version

    layout = found.layout
    return {
        "name": info.name,
        "version": VERSION,
        "size": size,
        "layout": layout.name,
        "source": layout.source,
        "revision": layout.revision,
        "source_row_order": layout.row_order,
        "row_order": ORDERS[info.order],
        "sources": sources,
        "rows": {split: converted.rows for split, converted in splits.items()},
        "content": {split: converted.content for split, converted in splits.items()},
        "report": {split: converted.report for split, converted in splits.items()},
        "label_map": {name: label for label, name in enumerate(info.wnids or info.classes)},
        "files": {path.name: path.stat().st_size for path in sorted(out.iterdir())},
        "made_with": {package: version(package) for package in ("numpy", "pillow", "pyarrow")},
    }


ORDERS = {
    "pixels": "sorted by the sha256 of the pixels",
    "encoded": "sorted by the sha256 of the encoded image",
    "source": "as in the source",
}


def publish(info: DatasetInfo, part: Path, folder: Path, meta: dict[str, Any], size: int | None) -> Prepared:
    """Rename the finished folder; when another process was first, use its result; replace a damaged one."""
    for _ in range(3):
        try:
            part.rename(folder)
            return Prepared(info.name, folder, meta, reused=False)
        except OSError:
            if is_complete(folder / "meta.json", info, size):
                found = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
                return Prepared(info.name, folder, found, reused=True)
            if not folder.exists():
                raise
            damaged = folder.parent / f".{folder.name}.{unique()}.damaged"
            folder.rename(damaged)
            shutil.rmtree(damaged, ignore_errors=True)
    raise DataError(f"{folder}: could not be put in place; is another program writing there?")
