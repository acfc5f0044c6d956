"""Rows of any layout → arrays in a folder, checked against the manifest on the way.

Every function returns the split's content digest and what is worth recording about it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.errors import DataError, DataWriteError
from tasks.data import cifar_binary, folders, hub_parquet
from tasks.data.access import SPACE, reading
from tasks.data.cifar_binary import read_archive
from tasks.data.decode import decode_image, decode_resized
from tasks.data.detect import Found
from tasks.data.hashing import canonical_order, images_sha256, pixel_keys
from tasks.data.manifest import DatasetInfo

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Progress = Callable[[str, int, int | None], None]
"""Told what is being done, how much of it is done, and of how much."""


@dataclass(frozen=True)
class Converted:
    """One split, written."""

    content: str
    """Digest of the decoded content."""
    rows: int
    report: dict[str, Any] = field(default_factory=dict)


def convert_images(
    info: DatasetInfo, found: Found, split: str, out: Path, size: int | None, progress: Progress
) -> Converted:
    """Write `<split>-pixels.npy`, `-labels.npy` and `-source-rows.npy` (place of each row in the source).

    Raises:
        DataError: wrong classes, images, labels or number of rows.
    """
    rows = info.splits[split].rows
    labels: npt.NDArray[np.int64]
    if info.shape is None:
        if size is None:
            raise DataError(f"{info.name}: images vary, so preparing them needs a size")
        labels, order, content = write_resized(info, found, split, out, size, progress)
    else:
        pixels, labels = fixed_size(info, found, split, progress)
        check_rows(info, split, len(labels), rows)
        order = canonical_order(pixel_keys(pixels), labels)
        pixels, labels = pixels[order], labels[order]
        save(out / f"{split}-pixels.npy", pixels)
        content = images_sha256(pixels, labels)
    save(out / f"{split}-labels.npy", labels)
    save(out / f"{split}-source-rows.npy", order)
    return Converted(content, len(labels), {"per_class": class_counts(info, split, labels)})


def fixed_size(info: DatasetInfo, found: Found, split: str, progress: Progress) -> tuple[Any, Any]:
    """All pixels (n, H, W, C) and labels of a split, in the source's order."""
    import numpy as np

    if found.layout.reader == "cifar-binary":
        return cifar(info, found, split)
    rows = info.splits[split].rows
    pixels = np.empty((rows, *require_shape(info)), np.uint8)
    labels = np.empty(rows, np.int64)
    count = 0
    for encoded, label, where in encoded_rows(info, found, split):
        if count == rows:
            raise DataError(f"{info.name} {split}: more than the {rows:,} rows expected")
        image = decode_image(encoded, where, info.channels)
        if image.shape != info.shape:
            raise DataError(f"{where}: image of {shape(image.shape)}, expected {shape(require_shape(info))}")
        pixels[count], labels[count] = image, checked_label(info, label, where)
        count += 1
        progress(f"{info.name} {split}", count, rows)
    return pixels[:count], labels[:count]


def cifar(info: DatasetInfo, found: Found, split: str) -> tuple[Any, Any]:
    """The split's record files, one after the other."""
    import numpy as np

    layout = found.layout
    path = found.files[0][1]
    with reading(path):
        raw = cifar_binary.read_folder(found.unpacked, layout) if found.unpacked else read_archive(path, layout)
    if layout.class_list in raw:
        where = f"{found.unpacked / layout.class_list}" if found.unpacked else f"{path}: {layout.class_list}"
        compare_classes(info, cifar_binary.parse_classes(raw[layout.class_list], where), where)
    parts = []
    for file in layout.members[split]:
        check_digest(f"{path}: {file.path}", raw[file.path], file.sha256, file.md5)
        parts.append(cifar_binary.parse_records(raw[file.path], layout.label_bytes, f"{path}: {file.path}"))
    labels = np.concatenate([labels for _, labels in parts])
    if len(labels) and labels.max() >= len(info.classes):
        row = int(labels.argmax())
        checked_label(info, int(labels[row]), f"{path}, {split} record {row}")
    return np.concatenate([pixels for pixels, _ in parts]), labels


def check_digest(where: str, raw: bytes, sha256: str | None, md5: str | None) -> None:
    """Compare bytes with the digest that is known.

    Raises:
        DataError: they differ.
    """
    expected = sha256 or md5
    if expected:
        digest = (hashlib.sha256(raw) if sha256 else hashlib.md5(raw, usedforsecurity=False)).hexdigest()
        if digest != expected:
            raise DataError(f"{where} has {'sha256' if sha256 else 'md5'} {digest}, expected {expected}")


def encoded_rows(info: DatasetInfo, found: Found, split: str) -> Iterator[tuple[bytes, int, str]]:
    """Encoded image, label and place of every row."""
    if found.layout.reader == "image-folder":
        for path, label in folders.image_files(info, dict(found.folders)[split]):
            with reading(path):
                encoded = path.read_bytes()
            yield encoded, label, str(path)
        return
    layout = found.layout
    for path in (path for file, path in found.files if file.split == split):
        check_class_list(info, path, layout.label_column)
        rows = hub_parquet.image_rows(path, layout.image_column, layout.label_column)
        for row, (encoded, label) in enumerate(rows):
            yield encoded, label, f"{path}, row {row}"


def check_class_list(info: DatasetInfo, path: Path, label_column: str) -> None:
    """Compare the class names in a Parquet file, if it has them, with the manifest's; the first synonym counts.

    Raises:
        DataError: another list or order.
    """
    with hub_parquet.open_parquet(path) as file:
        names = [name.split(",")[0].strip() for name in hub_parquet.class_names(file, label_column)]
    if names:
        compare_classes(info, names, str(path))


def compare_classes(info: DatasetInfo, names: list[str], where: str) -> None:
    """Compare a source's class names, in label order, with the manifest's.

    Raises:
        DataError: another list or order.
    """
    if len(names) != len(info.classes):
        raise DataError(f"{where}: {len(names)} classes, expected the {len(info.classes)} of {info.name}")
    for label, (name, expected) in enumerate(zip(names, info.classes, strict=True)):
        if name != expected:
            raise DataError(f"{where}: class {label} is '{name}', expected '{expected}': another list than {info.name}")


def write_resized(
    info: DatasetInfo, found: Found, split: str, out: Path, size: int, progress: Progress
) -> tuple[Any, Any, str]:
    """Write resized pixels of images that vary, row by row; two passes, so that they never all lie in memory."""
    import numpy as np

    keys, source_labels = [], []
    for encoded, label, where in encoded_rows(info, found, split):
        keys.append(hashlib.sha256(encoded).digest())
        source_labels.append(checked_label(info, label, where))
        progress(f"{info.name} {split}: order", len(keys), info.splits[split].rows)
    check_rows(info, split, len(keys), info.splits[split].rows)
    order = canonical_order(keys, source_labels)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    check_space(out, len(order) * size * size * 3)
    path = out / f"{split}-pixels.npy"
    pixels = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=(len(order), size, size, 3))
    reserve(path)
    for row, image in enumerate(decoded(encoded_rows(info, found, split), size)):
        pixels[place[row]] = image
        progress(f"{info.name} {split}: decode", row + 1, len(order))
    pixels.flush()
    labels = np.array(source_labels, np.int64)[order]
    return labels, order, images_sha256(pixels, labels)


def check_space(folder: Path, needed: int) -> None:
    """Refuse before anything is written that will not fit.

    Raises:
        DataWriteError: too little space.
    """
    import shutil

    free = shutil.disk_usage(folder).free
    if free < needed:
        sizes = f"{needed / 1e9:.3g} GB are needed, {free / 1e9:.3g} GB are free"
        raise DataWriteError(f"cannot write in {folder.parent}: {sizes}. {SPACE}")


def reserve(path: Path) -> None:
    """Take a file's space from the disk, since a memory map that finds none kills the process instead of raising.

    Raises:
        OSError: there is too little, or a quota forbids it.
    """
    import os

    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as stream:
            os.posix_fallocate(stream.fileno(), 0, path.stat().st_size)


def decoded(rows: Iterable[tuple[bytes, int, str]], size: int) -> Iterator[Any]:
    """Resized images in order, decoded on every core (Pillow lets other threads run while it decodes)."""
    import os
    from concurrent.futures import ThreadPoolExecutor
    from itertools import islice

    rows = iter(rows)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        while block := list(islice(rows, 256)):
            yield from pool.map(lambda row: decode_resized(row[0], row[2], size), block)


def convert_text(info: DatasetInfo, found: Found, split: str, out: Path, progress: Progress) -> Converted:
    """Write `<split>.txt`, the rows in UTF-8 without separators, and `<split>-starts.npy`, where each begins and ends.

    Raises:
        DataError: wrong columns, encoding or number of rows.
    """
    import numpy as np

    report = hub_parquet.TextReport()
    paths = [path for file, path in found.files if file.split == split]
    starts, digest = [0], hashlib.sha256()
    with (out / f"{split}.txt").open("wb") as stream:
        for row in chain.from_iterable(hub_parquet.text_rows(path, "text", report) for path in paths):
            raw = row.encode()
            digest.update((b"\0" if len(starts) > 1 else b"") + raw)
            stream.write(raw)
            starts.append(starts[-1] + len(raw))
            progress(f"{info.name} {split}", len(starts) - 1, info.splits[split].rows)
    check_rows(info, split, len(starts) - 1, info.splits[split].rows)
    save(out / f"{split}-starts.npy", np.array(starts, np.int64))
    facts = {"empty_rows": report.empty, "misencoded_rows": report.mojibake, "misencoded_examples": report.examples}
    return Converted(digest.hexdigest(), report.rows, facts)


def convert_tokenizer(info: DatasetInfo, found: Found, split: str, out: Path) -> Converted:
    """Copy the two files, under the names `vocab.json` and `merges.txt`.

    Raises:
        DataError: malformed, or another number of tokens.
    """
    from tasks.data.tokenizers import ByteLevelBPE

    files = {("vocab.json" if file.path.endswith(".json") else "merges.txt"): path for file, path in found.files}
    tokenizer = ByteLevelBPE.read_files(files["vocab.json"], files["merges.txt"])  # errors name the user's files
    for name, path in files.items():
        with reading(path):
            raw = path.read_bytes()
        (out / name).write_bytes(raw)
    check_rows(info, split, tokenizer.vocabulary, info.splits[split].rows)
    return Converted(tokenizer.key, tokenizer.vocabulary, {"merges": len(tokenizer.ranks)})


def require_shape(info: DatasetInfo) -> tuple[int, int, int]:
    assert info.shape is not None
    return info.shape


def shape(sizes: tuple[int, ...]) -> str:
    return "×".join(map(str, sizes))


def checked_label(info: DatasetInfo, label: int, where: str) -> int:
    """The label itself.

    Raises:
        DataError: no class has it.
    """
    if not 0 <= label < len(info.classes):
        raise DataError(f"{where}: label {label}, expected 0 to {len(info.classes) - 1}")
    return label


def check_rows(info: DatasetInfo, split: str, found: int, expected: int) -> None:
    """Compare the number of rows.

    Raises:
        DataError: it is another.
    """
    if found != expected:
        raise DataError(f"{info.name} {split}: {found:,} rows, expected {expected:,}")


def class_counts(info: DatasetInfo, split: str, labels: Any) -> list[int]:
    """Rows of each class, in label order.

    Raises:
        DataError: a class has none.
    """
    import numpy as np

    counts = np.bincount(labels, minlength=len(info.classes)).tolist()
    if 0 in counts:
        label = counts.index(0)
        raise DataError(f"{info.name} {split}: no image of class {label} ({info.classes[label]})")
    return [int(count) for count in counts]


def save(path: Path, array: Any) -> None:
    """Write a plain array."""
    import numpy as np

    np.save(path, array, allow_pickle=False)
