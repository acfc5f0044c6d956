"""Real pixels in the true container formats."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from tasks.data import load_images

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
WNIDS = ("n03000000", "n01000000", "n02000000")
"""Not sorted, as the CMC list."""
NAMES = ("truck, lorry", "fish", "dog")


def real_pixels(split, count):
    """Fashion-MNIST padded to 32×32 and repeated to three channels; channels differ, so that swapping them shows."""
    images = load_images("fashion-mnist-mini", split)
    pixels = np.pad(images.pixels[:count], ((0, 0), (2, 2), (2, 2), (0, 0)))
    return np.concatenate([pixels, pixels // 2, 255 - pixels], axis=3), images.labels[:count]


def records(pixels, labels, coarse=None):
    """CIFAR's binary records."""
    planes = pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1)
    columns = [labels[:, None].astype(np.uint8), planes]
    if coarse is not None:
        columns.insert(0, coarse[:, None].astype(np.uint8))
    return np.concatenate(columns, axis=1).tobytes()


def png(pixels, format="PNG"):
    buffer = io.BytesIO()
    Image.fromarray(pixels.squeeze()).save(buffer, format)
    return buffer.getvalue()


def write_parquet(path, encoded, labels, *, image="img", label="label", classes=CLASSES):
    features = {image: {"_type": "Image"}, label: {"names": list(classes), "_type": "ClassLabel"}}
    schema = pa.schema(
        [(image, pa.struct([("bytes", pa.binary()), ("path", pa.string())])), (label, pa.int64())],
        metadata={"huggingface": json.dumps({"info": {"features": features}})} if classes else None,
    )
    rows = {image: [{"bytes": item, "path": None} for item in encoded], label: [int(item) for item in labels]}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(rows, schema=schema), path)


def write_tar(path, members):
    """A tar.gz of (name or TarInfo, bytes)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, raw in members:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            if raw is not None:
                info.size = len(raw)
            archive.addfile(info, io.BytesIO(raw) if raw is not None else None)
    return path


def sha(raw):
    return hashlib.sha256(raw).hexdigest()


class Cifar:
    """Writers of the three layouts."""

    def __init__(self, folder, batches, pixels, labels, test_pixels, test_labels):
        self.folder, self.batches = folder, batches
        self.pixels, self.labels, self.test_pixels, self.test_labels = pixels, labels, test_pixels, test_labels

    def tar(self, name="mini-binary.tar.gz", **changed):
        raw = {**self.batches, **{key.replace("_bin", ".bin"): value for key, value in changed.items()}}
        return write_tar(self.folder / name, [(f"batches-bin/{key}", value) for key, value in raw.items()])

    def unpacked(self):
        folder = self.folder / "unpacked" / "batches-bin"
        folder.mkdir(parents=True)
        for name, raw in self.batches.items():
            (folder / name).write_bytes(raw)
        return folder.parent

    def parquet(self, **keywords):
        folder = self.folder / "hub"
        order = np.random.default_rng(0).permutation(len(self.labels))
        encoded = [png(image) for image in self.pixels[order]]
        write_parquet(folder / "plain_text" / "train-0.parquet", encoded, self.labels[order], **keywords)
        encoded = [png(image) for image in self.test_pixels]
        write_parquet(folder / "plain_text" / "test-0.parquet", encoded, self.test_labels, **keywords)
        return folder
