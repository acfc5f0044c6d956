"""What tasks call: data sets as arrays, text and tokens. Embedded sets are decoded, others are memory maps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.errors import DataError
from tasks.data.manifest import EMBEDDED, DatasetInfo, dataset
from tasks.data.places import prepared_folder

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tasks.data.tokenizers import ByteLevelBPE, Tokenizer


@dataclass(frozen=True)
class Images:
    """Images and labels of one split."""

    pixels: npt.NDArray[np.uint8]  # (n, H, W, C), a read-only memory map when prepared
    labels: npt.NDArray[np.int64]  # (n,)
    classes: tuple[str, ...]
    content_sha256: str

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Tokens:
    """All rows of one split as one run of token ids, each row followed by the tokenizer's end token."""

    ids: npt.NDArray[np.int32]  # (tokens,)
    starts: npt.NDArray[np.int64]  # (rows + 1,), row r is ids[starts[r]:starts[r + 1]], end token included
    vocabulary: int


def load_images(name: str, split: str, *, size: int | None = None, root: str | Path | None = None) -> Images:
    """One split of an image data set; where images vary (ImageNet), at `size`, else the manifest's.

    Raises:
        DataError: unknown name or split, no image data set, not prepared, or prepared twice with other content.
    """
    info = dataset(name)
    expect_kind(info, "images")
    info.split(split)
    if info.embedded:
        return embedded_images(name, split)
    folder, meta = prepared_folder(info, size=size, root=root)
    pixels, labels = mapped(folder / f"{split}-pixels.npy"), mapped(folder / f"{split}-labels.npy")
    return Images(pixels, labels, info.classes, meta["content"][split])


def load_text(
    name: str, split: str, *, first: int = 0, count: int | None = None, root: str | Path | None = None
) -> list[str]:
    """The rows (stories, articles) of one split of a text data set: all, or `count` of them from row `first` on.

    Raises:
        DataError: as `load_images`, or the split has fewer rows.
    """
    info = dataset(name)
    expect_kind(info, "text")
    info.split(split)
    if info.embedded:
        rows = embedded_text(name, split)
        return list(rows[slice(*row_range(f"{name} {split}", len(rows), first, count))])
    folder, _ = prepared_folder(info, root=root)
    return text_in(folder, split, first, count)


def text_in(folder: Path, split: str, first: int = 0, count: int | None = None) -> list[str]:
    """Rows of a split in a prepared folder."""
    starts = mapped(folder / f"{split}-starts.npy")
    begin, end = row_range(f"{folder}: {split}", len(starts) - 1, first, count)
    bounds = starts[begin : end + 1].tolist()
    with (folder / f"{split}.txt").open("rb") as stream:
        stream.seek(bounds[0])
        text = stream.read(bounds[-1] - bounds[0])
    return [text[low - bounds[0] : high - bounds[0]].decode() for low, high in pairwise(bounds)]


def row_range(where: str, rows: int, first: int, count: int | None) -> tuple[int, int]:
    """First row and the row after the last.

    Raises:
        DataError: there are not so many rows.
    """
    end = rows if count is None else first + count
    if not 0 <= first <= end <= rows:
        raise DataError(f"{where} has {rows:,} rows; expected at least {max(first, end):,}")
    return first, end


def load_tokens(
    name: str,
    split: str,
    tokenizer: Tokenizer,
    *,
    first: int = 0,
    count: int | None = None,
    root: str | Path | None = None,
) -> Tokens:
    """One split or some rows of it, tokenised row by row; kept beside prepared data, so that it is done once.

    Where they cannot be kept (a full disk, data that may only be read), they are held in memory.

    Raises:
        DataError: as `load_text`.
    """
    info = dataset(name)
    expect_kind(info, "text")
    if info.embedded:
        return encode_rows(load_text(name, split, first=first, count=count), tokenizer)
    from tasks.data.cache import write_arrays

    folder, _ = prepared_folder(info, root=root)
    part = "" if (first, count) == (0, None) else f"-rows-{first}-{'end' if count is None else first + count}"
    stem = f"{split}{part}-tokens-{tokenizer.key[:16]}"
    if not (folder / f"{stem}-starts.npy").exists():
        tokens = encode_rows(load_text(name, split, first=first, count=count, root=root), tokenizer)
        try:
            write_arrays(folder, {f"{stem}.npy": tokens.ids, f"{stem}-starts.npy": tokens.starts})
        except OSError:  # a full disk, or shared data that may only be read
            return tokens
    return Tokens(mapped(folder / f"{stem}.npy"), mapped(folder / f"{stem}-starts.npy"), tokenizer.vocabulary)


def load_tokenizer(name: str = "gpt2-tokenizer", *, root: str | Path | None = None) -> ByteLevelBPE:
    """A prepared byte-level BPE tokenizer.

    Raises:
        DataError: unknown name, no tokenizer, not prepared, or damaged files.
    """
    from tasks.data.tokenizers import ByteLevelBPE

    info = dataset(name)
    expect_kind(info, "tokenizer")
    folder, _ = prepared_folder(info, root=root)
    return ByteLevelBPE.read(folder)


def encode_rows(rows: list[str], tokenizer: Tokenizer) -> Tokens:
    """Rows → one run of ids, each row followed by the end token."""
    import numpy as np

    pieces = [np.array([*tokenizer.encode(row), tokenizer.end], np.int32) for row in rows]
    starts = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    return Tokens(np.concatenate([np.empty(0, np.int32), *pieces]), starts, tokenizer.vocabulary)


def expect_kind(info: DatasetInfo, kind: str) -> None:
    """Refuse the wrong sort of data set.

    Raises:
        DataError: with what it is.
    """
    if info.kind != kind:
        raise DataError(f"{info.name} is a data set of {info.kind}, expected {kind}")


@lru_cache(maxsize=16)
def embedded_images(name: str, split: str) -> Images:
    """Images that come with the package, in their file's order."""
    import numpy as np

    from tasks.data.decode import decode_image
    from tasks.data.hashing import images_sha256
    from tasks.data.hub_parquet import image_rows

    info = dataset(name)
    layout = info.layouts[0]
    path = embedded_file(info, split)
    decoded = [
        (decode_image(encoded, f"{path.name}, row {row}", info.channels), label)
        for row, (encoded, label) in enumerate(image_rows(path, layout.image_column, layout.label_column))
    ]
    pixels = frozen(np.stack([image for image, _ in decoded]))
    labels = frozen(np.array([label for _, label in decoded], np.int64))
    digest = images_sha256(pixels[..., 0] if info.channels == 1 else pixels, labels)
    expect_content(info, split, digest)
    return Images(pixels, labels, info.classes, digest)


@lru_cache(maxsize=16)
def embedded_text(name: str, split: str) -> tuple[str, ...]:
    """Text that comes with the package."""
    from tasks.data.hashing import text_sha256
    from tasks.data.hub_parquet import text_rows

    info = dataset(name)
    rows = tuple(text_rows(embedded_file(info, split)))
    expect_content(info, split, text_sha256(rows))
    return rows


def embedded_file(info: DatasetInfo, split: str) -> Path:
    """The package's file of a split."""
    return EMBEDDED / next(file.path for file in info.layouts[0].files if file.split == split)


def expect_content(info: DatasetInfo, split: str, digest: str) -> None:
    """Refuse decoded content that is not what the manifest says.

    Raises:
        DataError: with both digests.
    """
    expected = info.splits[split].content_sha256
    if expected and digest != expected:
        raise DataError(f"{info.name} {split}: decoded content has sha256 {digest}, expected {expected}")


def mapped(path: Path) -> Any:
    """A `.npy` file as a read-only memory map.

    Raises:
        DataError: damaged, or holding Python objects.
    """
    import numpy as np

    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: not a plain array: {error}; remove its folder and prepare again") from None


def frozen(array: Any) -> Any:
    """The array, made read-only, since it is shared."""
    array.flags.writeable = False
    return array
