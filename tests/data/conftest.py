"""Small data sets of real pixels and real text in the true container formats, each with a manifest of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.data import load_text
from tasks.data import manifest as manifests
from tasks.data.tokenizers import END, byte_alphabet

sys.path.insert(0, str(Path(__file__).parent))

from data_containers import CLASSES, NAMES, WNIDS, Cifar, png, real_pixels, records, sha, write_parquet


@pytest.fixture(scope="session")
def train():
    return real_pixels("train", 400)


@pytest.fixture(scope="session")
def test_part():
    return real_pixels("test", 200)


@pytest.fixture
def catalogue(tmp_path, monkeypatch):
    """Writes manifests into a folder of the test; data lives below it too."""
    folder = tmp_path / "manifests"
    folder.mkdir()
    for path in manifests.FOLDER.glob("*.yaml"):
        (folder / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(manifests, "FOLDER", folder)
    monkeypatch.setenv("BENCH_DATA", str(tmp_path / "data"))
    manifests.dataset.cache_clear()

    def write(values):
        (folder / f"{values['name']}.yaml").write_text(json.dumps(values))
        manifests.dataset.cache_clear()
        return manifests.dataset(values["name"])

    yield write
    manifests.dataset.cache_clear()


@pytest.fixture
def cifar(catalogue, train, test_part, tmp_path):
    """A small data set in CIFAR-10's three layouts; the Parquet rows lie in another order than the records."""
    (pixels, labels), (test_pixels, test_labels) = train, test_part
    batches = {
        "data_batch_1.bin": records(pixels[:200], labels[:200]),
        "data_batch_2.bin": records(pixels[200:], labels[200:]),
        "test_batch.bin": records(test_pixels, test_labels),
    }
    entries = {name: {"path": name, "size": len(raw), "sha256": sha(raw)} for name, raw in batches.items()}
    catalogue({
        "name": "mini", "title": "Mini", "kind": "images", "licence": "MIT", "homepage": "x", "shape": [32, 32, 3],
        "order": "pixels", "splits": {"train": {"rows": 400}, "test": {"rows": 200}}, "classes": CLASSES,
        "layouts": [
            {"name": "huggingface", "reader": "parquet-images", "source": "hub", "image_column": "img", "files": [
                {"path": "plain_text/train-0.parquet", "split": "train"},
                {"path": "plain_text/test-0.parquet", "split": "test"}]},
            {"name": "binary", "reader": "cifar-binary", "source": "toronto", "folder": "batches-bin",
             "class_list": "batches.meta.txt",
             "files": [{"path": "mini-binary.tar.gz"}],
             "members": {"train": [entries["data_batch_1.bin"], entries["data_batch_2.bin"]],
                         "test": [entries["test_batch.bin"]]}},
        ],
    })  # fmt: skip
    return Cifar(tmp_path / "sources", batches, pixels, labels, test_pixels, test_labels)


@pytest.fixture
def stories(catalogue, tmp_path):
    """The embedded text as a data set that has to be prepared; some rows empty, one mis-encoded."""
    rows = [*load_text("alice", "train")[:20], "", "  ", "Lily said â€œhiâ€"]
    catalogue({
        "name": "stories", "title": "Stories", "kind": "text", "licence": "x", "homepage": "x",
        "splits": {"train": {"rows": len(rows)}, "validation": {"rows": 5}},
        "layouts": [{"name": "huggingface", "reader": "parquet-text", "source": "hub", "files": [
            {"path": "data/train-0.parquet", "split": "train"},
            {"path": "data/validation-0.parquet", "split": "validation"}]}],
    })  # fmt: skip
    folder = tmp_path / "sources" / "data"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"text": rows}), folder / "train-0.parquet")
    pq.write_table(pa.table({"text": rows[:5]}), folder / "validation-0.parquet")
    return folder.parent, rows


@pytest.fixture
def photos(catalogue, tmp_path):
    """Three classes of pictures of several sizes, as folders and as Parquet; returns both places."""
    catalogue({
        "name": "photos", "title": "Photos", "kind": "images", "licence": "x", "homepage": "x", "order": "encoded",
        "size": 24, "splits": {"train": {"rows": 12}, "validation": {"rows": 6}}, "wnids": WNIDS,
        "classes": ("truck", "fish", "dog"),
        "layouts": [
            {"name": "huggingface", "reader": "parquet-images", "source": "hub", "files": [
                {"path": "data/train-*.parquet", "split": "train"},
                {"path": "data/validation-*.parquet", "split": "validation"}]},
            {"name": "folders", "reader": "image-folder", "source": "disk",
             "folders": {"train": ["train"], "validation": ["val", "validation"]}}],
    })  # fmt: skip
    folders, hub = tmp_path / "folders", tmp_path / "hub"
    for split, name, count in (("train", "train", 12), ("validation", "val", 6)):
        pixels, _ = real_pixels("train" if split == "train" else "test", count)
        encoded = [png(image[: 32 - row % 5, : 20 + row % 7], "JPEG") for row, image in enumerate(pixels)]
        labels = [row % 3 for row in range(count)]
        for row, raw in enumerate(encoded):
            place = folders / name / WNIDS[labels[row]]
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{row}.JPEG").write_bytes(raw)
        half = count // 2
        for part, rows in enumerate((slice(0, half), slice(half, count))):
            path = hub / "data" / f"{split}-0000{part}-of-00002.parquet"
            write_parquet(path, encoded[rows], labels[rows], image="image", classes=NAMES)
    return folders, hub


@pytest.fixture
def bpe(catalogue, tmp_path):
    """A tokenizer of 257 tokens, in two files."""
    catalogue({
        "name": "bpe", "title": "BPE", "kind": "tokenizer", "licence": "x", "homepage": "x",
        "splits": {"vocabulary": {"rows": 257}},
        "layouts": [{"name": "bpe", "reader": "bpe-files", "source": "x",
                     "files": [{"path": "encoder.json"}, {"path": "vocab.bpe"}]}],
    })  # fmt: skip
    folder = tmp_path / "tokenizer"
    folder.mkdir()
    ids = {letter: number for number, letter in enumerate((*byte_alphabet(), END))}
    (folder / "encoder.json").write_text(json.dumps(ids))
    (folder / "vocab.bpe").write_text("#version: 0.2\n")
    return folder


@pytest.fixture
def small_disk(tmp_path):
    """A folder with room for one megabyte."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting needs rights")
    yield folder
    subprocess.run(["umount", folder], check=True)
