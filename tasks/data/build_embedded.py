"""Builds the embedded data files from their public packages; run once, the outputs are committed.

    python -m tasks.data.build_embedded --fashion DIR --digits digits.csv.gz --alice alice29.txt --output DIR

DIR of `--fashion` holds the four IDX files of the Debian package `dataset-fashion-mnist`; `digits.csv.gz` is
`sklearn/datasets/data/digits.csv.gz` of the scikit-learn 1.9.1 wheel; `alice29.txt` is
`tests/testdata/alice29.txt` of the Brotli 1.2.1 source distribution. Archives are recompressed by packagers,
so what is hashed and recorded is the decoded content. PNG bytes depend on the Pillow version; pixels do not.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

FASHION_CLASSES = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
DIGIT_CLASSES = tuple(str(digit) for digit in range(10))
DIGIT_SCALE = 15
"""Counts of 0 to 16 are stored as grey values 0 to 240, which PNG keeps exactly."""
DIGITS_TRAIN = 1437
STORY_CHARACTERS = 800


@dataclass(frozen=True)
class Images:
    """Grey images and their labels, as decoded."""

    pixels: npt.NDArray[np.uint8]  # (n, H, W)
    labels: npt.NDArray[np.int64]  # (n,)

    def take(self, index: npt.NDArray[np.int64]) -> Images:
        return Images(self.pixels[index], self.labels[index])

    def sha256(self) -> str:
        """Hash of the decoded array: shape, pixels row-major, labels as int64 little-endian."""
        digest = hashlib.sha256(repr(self.pixels.shape).encode())
        digest.update(np.ascontiguousarray(self.pixels).tobytes())
        digest.update(self.labels.astype("<i8").tobytes())
        return digest.hexdigest()


def read_idx(path: Path) -> npt.NDArray[np.uint8]:
    """The array in a gzipped IDX file of unsigned bytes (header: two zero bytes, type 8, rank, sizes)."""
    raw = gzip.decompress(path.read_bytes())
    if raw[:3] != b"\0\0\x08":
        raise ValueError(f"{path.name}: expected an IDX file of unsigned bytes, found header {raw[:4]!r}")
    rank = raw[3]
    shape = tuple(int.from_bytes(raw[4 + 4 * axis : 8 + 4 * axis], "big") for axis in range(rank))
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * rank).reshape(shape)


def read_fashion(folder: Path, part: str) -> Images:
    """One part (`train` or `t10k`) of Fashion-MNIST."""
    pixels = read_idx(folder / f"{part}-images-idx3-ubyte.gz")
    return Images(pixels, read_idx(folder / f"{part}-labels-idx1-ubyte.gz").astype(np.int64))


def read_digits(path: Path) -> Images:
    """The 1,797 digits: 64 counts and the class on each line."""
    table = np.loadtxt(io.StringIO(gzip.decompress(path.read_bytes()).decode()), delimiter=",", dtype=np.int64)
    return Images((table[:, :64].reshape(-1, 8, 8) * DIGIT_SCALE).astype(np.uint8), table[:, 64])


def first_per_class(images: Images, count: int) -> Images:
    """The first `count` images of every class, in their original order."""
    index = np.concatenate([np.flatnonzero(images.labels == label)[:count] for label in np.unique(images.labels)])
    return images.take(np.sort(index))


def write_images(path: Path, images: Images, classes: tuple[str, ...]) -> None:
    """Parquet in the layout of the Hugging Face hub: `image` struct<bytes, path>, `label` int64."""
    encoded = [{"bytes": png(pixels), "path": f"{row}.png"} for row, pixels in enumerate(images.pixels)]
    features = {
        "image": {"_type": "Image"},
        "label": {"names": list(classes), "_type": "ClassLabel"},
    }
    schema = pa.schema(
        [
            ("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
            ("label", pa.int64()),
        ],
        metadata={"huggingface": json.dumps({"info": {"features": features}})},
    )
    pq.write_table(
        pa.table({"image": encoded, "label": images.labels.tolist()}, schema=schema), path, compression="zstd"
    )


def png(pixels: npt.NDArray[np.uint8]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def read_chapters(path: Path) -> list[str]:
    """The chapters' text without headings, lines joined into paragraphs."""
    text = path.read_bytes().decode("ascii").replace("\r\n", "\n")
    body = text[text.index("CHAPTER I") :].split("THE END")[0]
    return [part.split("\n\n", 1)[1] for part in re.split(r"\n *CHAPTER [IVX]+ *\n", "\n" + body)[1:]]


def stories(chapter: str) -> list[str]:
    """Consecutive paragraphs of a chapter joined until each story has at least `STORY_CHARACTERS`."""
    paragraphs = [" ".join(block.split()) for block in re.split(r"\n\s*\n", chapter) if block.strip(" *\n")]
    found: list[str] = []
    current: list[str] = []
    for paragraph in paragraphs:
        current.append(paragraph)
        if sum(map(len, current)) >= STORY_CHARACTERS:
            found.append("\n".join(current))
            current = []
    if current:
        found.append("\n".join(current))
    return found


def write_text(path: Path, rows: list[str]) -> str:
    """One story a row, column `text`, as TinyStories; returns the sha256 of the rows joined by NUL."""
    pq.write_table(pa.table({"text": rows}), path, compression="zstd")
    return hashlib.sha256("\0".join(rows).encode()).hexdigest()


def build_images(name: str, train: Images, test: Images, classes: tuple[str, ...], output: Path) -> dict[str, object]:
    parts: dict[str, object] = {}
    for part, images in (("train", train), ("test", test)):
        file = f"{name}-{part}.parquet"
        write_images(output / file, images, classes)
        parts[part] = {"file": file, "rows": len(images.labels), "content_sha256": images.sha256()}
    return parts


def build_text(alice: Path, output: Path) -> dict[str, object]:
    chapters = [stories(chapter) for chapter in read_chapters(alice)]
    splits = {"train": chapters[:10], "validation": chapters[10:11], "test": chapters[11:]}
    parts: dict[str, object] = {}
    for part, group in splits.items():
        rows = [story for chapter in group for story in chapter]
        file = f"alice-{part}.parquet"
        parts[part] = {"file": file, "rows": len(rows), "content_sha256": write_text(output / file, rows)}
    return parts


@click.command()
@click.option("--fashion", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--digits", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--alice", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--output", type=click.Path(path_type=Path), required=True)
def main(fashion: Path, digits: Path, alice: Path, output: Path) -> None:
    """Write every embedded file and print their hashes as JSON."""
    output.mkdir(parents=True, exist_ok=True)
    ten = read_digits(digits)
    everything = np.arange(len(ten.labels))
    parts = {
        "fashion-mnist-mini": build_images(
            "fashion-mnist-mini",
            first_per_class(read_fashion(fashion, "train"), 200),
            first_per_class(read_fashion(fashion, "t10k"), 100),
            FASHION_CLASSES,
            output,
        ),
        "digits": build_images(
            "digits", ten.take(everything[:DIGITS_TRAIN]), ten.take(everything[DIGITS_TRAIN:]), DIGIT_CLASSES, output
        ),
        "alice": build_text(alice, output),
    }
    sys.stdout.write(json.dumps(parts, indent=2) + "\n")


if __name__ == "__main__":
    main()
