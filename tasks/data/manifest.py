"""What a data set must be: the committed manifests, validated, one YAML file per data set under `manifests/`."""

from __future__ import annotations

import difflib
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, model_validator

from benchmark.errors import DataError
from benchmark.parameters import Parameters

FOLDER = Path(__file__).parent / "manifests"
EMBEDDED = Path(__file__).parent / "embedded"

SMALLEST, LARGEST = 8, 1024
"""Sides that images which vary can be prepared at."""
SHA256 = Field(default=None, pattern="^[0-9a-f]{64}$")


class File(Parameters):
    """One file of a source."""

    path: str
    """Path below the source's root, with forward slashes."""
    split: str | None = None
    """Split whose rows it holds; None for an archive or tokenizer file."""
    size: int | None = Field(default=None, gt=0)
    """Bytes; None when not known."""
    sha256: str | None = SHA256
    """Hex digest; None when not known, then the digest is recorded when the file is first used."""
    md5: str | None = Field(default=None, pattern="^[0-9a-f]{32}$")
    """Published MD5, checked where no sha256 is known; it tells damage, not forgery."""
    urls: tuple[str, ...] = ()
    """Where the file can be had, tried in order."""


class Layout(Parameters):
    """One form in which the data set is published."""

    name: str
    """Name of the layout, for example `huggingface`."""
    reader: Literal["parquet-images", "parquet-text", "cifar-binary", "image-folder", "bpe-files"]
    """Module that reads it."""
    source: str
    """Who publishes it."""
    revision: str | None = None
    """Commit or version of the source."""
    row_order: str = ""
    """How this source orders its rows, where that differs between sources."""
    files: tuple[File, ...] = ()
    """Its files; empty for image folders."""
    image_column: str = "image"
    """Parquet column of struct<bytes, path>."""
    label_column: str = "label"
    """Parquet column of integers."""
    folder: str = ""
    """CIFAR archives: folder of the members."""
    members: dict[str, tuple[File, ...]] = Field(default_factory=dict)
    """CIFAR archives: split → record files below `folder`, in order."""
    class_list: str = ""
    """CIFAR archives: text file below `folder` with one class a line, in label order; compared where it is there."""
    folders: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Image folders: split → names its folder may have."""
    label_bytes: int = 1
    """CIFAR archives: label bytes before the pixels; the last one is the label used."""


class Split(Parameters):
    """One part of a data set."""

    rows: int = Field(gt=0)
    """Images, stories or articles in it."""
    content_sha256: str | None = SHA256
    """Digest of the decoded content (`tasks.data.hashing`); None when not known."""


class DatasetInfo(Parameters):
    """Everything that is known about one data set."""

    name: str
    """Name in specs and on the command line."""
    title: str
    """Name in tables."""
    kind: Literal["images", "text", "tokenizer"]
    """What the loaders return."""
    licence: str
    """SPDX identifier or, in words, what the source says."""
    homepage: str
    """Where it is described."""
    embedded: bool = False
    """Whether it is part of this package."""
    shape: tuple[int, int, int] | None = None
    """Height, width, channels of every image; None when images vary and are resized when prepared."""
    size: int | None = Field(default=None, ge=SMALLEST, le=LARGEST)
    """Side of the prepared images where they vary, unless another is asked for: what the shipped task reads."""
    channels: int = 3
    """Channels after decoding."""
    order: Literal["pixels", "encoded", "source"] = "source"
    """Rows are stored sorted by the digest of their pixels or of their encoded bytes, or as the source has them."""
    splits: dict[str, Split]
    """Parts, by name."""
    classes: tuple[str, ...] = ()
    """Class names, in label order."""
    wnids: tuple[str, ...] = ()
    """WordNet ids of the classes, in label order, where folders are named by them."""
    layouts: tuple[Layout, ...]
    """Forms in which it is published; any of them will do."""
    traps: tuple[str, ...] = ()
    """Known ways to get a different data set under the same name."""

    @model_validator(mode="after")
    def _consistent(self) -> DatasetInfo:
        if self.kind == "images" and not self.classes:
            raise ValueError("an image data set needs its class list")
        if self.kind == "images" and (self.shape is None) != (self.size is not None):
            raise ValueError("images that vary need a size" if self.size is None else "size is for images that vary")
        if self.wnids and len(self.wnids) != len(self.classes):
            raise ValueError(f"{len(self.wnids)} wnids for {len(self.classes)} classes")
        for layout in self.layouts:
            strange = {file.split for file in layout.files if file.split}
            strange |= {*layout.members, *layout.folders}
            if strange - {*self.splits}:
                raise ValueError(f"layout {layout.name} has splits {sorted(strange)}, expected {sorted(self.splits)}")
        return self

    def split(self, name: str) -> Split:
        """The split of that name.

        Raises:
            DataError: there is none.
        """
        if name not in self.splits:
            raise DataError(f"{self.name} has no split '{name}'; splits: {', '.join(self.splits)}")
        return self.splits[name]

    def side(self, size: int | None = None) -> int | None:
        """Side of prepared images, `size` or else the manifest's; None where there is no choice.

        Raises:
            DataError: a size where there is no choice, or one that is not between 8 and 1024.
        """
        if self.size is None:
            if size is not None:
                raise DataError(f"{self.name} has no choice of size")
            return None
        if size is not None and not SMALLEST <= size <= LARGEST:
            raise DataError(f"size {size}: expected {SMALLEST} to {LARGEST} pixels")
        return self.size if size is None else size

    @property
    def bytes(self) -> int | None:
        """Size of the first layout's files; None when one is not known."""
        sizes = [file.size for file in self.layouts[0].files]
        return sum(size for size in sizes if size) if sizes and all(sizes) else None


def names() -> tuple[str, ...]:
    """Every data set that has a manifest, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


@cache
def dataset(name: str) -> DatasetInfo:
    """The manifest of one data set.

    Raises:
        DataError: no data set of that name, or its manifest is not valid.
    """
    known = names()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise DataError(f"no data set '{name}'.{hint} Data sets: {', '.join(known)}")
    return read_manifest(FOLDER / f"{name}.yaml")


def read_manifest(path: Path) -> DatasetInfo:
    """A manifest file.

    Raises:
        DataError: not YAML, or not what `DatasetInfo` describes.
    """
    from benchmark.spec.source import read_file

    node, problems = read_file(path, path.name)
    if node is None or problems:
        raise DataError("\n".join(map(str, problems)) or f"{path.name}: empty")
    try:
        return DatasetInfo.model_validate_json(_as_json(node.plain()))
    except ValidationError as error:
        raise DataError(f"{path.name}: {error}") from None


def _as_json(value: object) -> str:
    import json

    return json.dumps(value)
