"""The committed manifests, and the embedded files against them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from benchmark.errors import DataError
from tasks.data import arrays, dataset, is_available, load_images, load_text, names
from tasks.data.build_embedded import Images
from tasks.data.manifest import EMBEDDED, FOLDER, read_manifest
from tasks.data.verify import verify

EMBEDDED_NAMES = ("alice", "digits", "fashion-mnist-mini")


@pytest.mark.parametrize("name", names())
def test_every_manifest_is_valid_and_says_where_the_data_is_from(name):
    info = dataset(name)
    assert info.name == name
    assert info.licence
    assert info.homepage.startswith("https://")
    for layout in info.layouts:
        assert layout.source
        for file in layout.files:
            assert all(url.startswith("https://") for url in file.urls)
            assert not file.urls or file.size
            assert ".." not in file.path
            if layout.revision and file.urls and "huggingface.co" in file.urls[0]:
                assert f"/resolve/{layout.revision}/" in file.urls[0]


@pytest.mark.parametrize(
    ("name", "rows", "classes"),
    [("cifar10", 60_000, 10), ("cifar100", 60_000, 100), ("imagenet100-cmc", 131_689, 100), ("wikitext2", 44_836, 0)],
)
def test_sizes_of_the_published_sets(name, rows, classes):
    info = dataset(name)
    assert sum(split.rows for split in info.splits.values()) == rows
    assert len(info.classes) == classes


def test_cifar_record_files_have_the_size_their_rows_need():
    for name, label_bytes in (("cifar10", 1), ("cifar100", 2)):
        info = dataset(name)
        layout = next(layout for layout in info.layouts if layout.reader == "cifar-binary")
        assert layout.label_bytes == label_bytes
        for split, files in layout.members.items():
            assert sum(file.size for file in files) == info.splits[split].rows * (3072 + label_bytes)


@pytest.mark.parametrize("name", EMBEDDED_NAMES)
def test_embedded_files_and_contents_have_the_recorded_digests(name):
    assert {check.state for check in verify(name)} == {"ok"}


def test_embedded_images_are_balanced_and_complete():
    images = load_images("fashion-mnist-mini", "train")
    assert images.pixels.shape == (2000, 28, 28, 1)
    assert np.bincount(images.labels).tolist() == [200] * 10
    digest = Images(images.pixels[..., 0], images.labels).sha256()
    assert digest == dataset("fashion-mnist-mini").splits["train"].content_sha256 == images.content_sha256
    assert load_images("digits", "test").pixels.max() == 240


def test_embedded_text_is_alice():
    rows = load_text("alice", "train")
    assert len(rows) == 130
    assert rows[0].startswith("Alice was beginning to get very tired")


@pytest.mark.parametrize("name", ["digits", "alice"])
def test_a_changed_embedded_file_is_found(name, tmp_path, monkeypatch):
    """The pixels of one split are put under the name of another: a valid file with the wrong content."""
    folder = tmp_path / "embedded"
    shutil.copytree(EMBEDDED, folder)
    shutil.copy(folder / f"{name}-test.parquet", folder / f"{name}-train.parquet")
    monkeypatch.setattr(arrays, "EMBEDDED", folder)
    arrays.embedded_images.cache_clear()
    arrays.embedded_text.cache_clear()
    with pytest.raises(DataError, match="decoded content has sha256"):
        (load_images if name == "digits" else load_text)(name, "train")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"licence": None}, "licence"),
        ({"classes": []}, "needs its class list"),
        ({"wnids": ["n1"]}, "1 wnids for 10 classes"),
        ({"colour": "red"}, "colour"),
        ({"splits": {"train": {"rows": 0}}}, "rows"),
        ({"splits": {"other": {"rows": 1}}}, "has splits"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(tmp_path, change, message):
    values = json.loads(dataset("cifar10").model_dump_json()) | change
    path = tmp_path / "cifar10.yaml"
    path.write_text(json.dumps(values))
    with pytest.raises(DataError, match=message):
        read_manifest(path)


def test_a_manifest_that_is_no_yaml_is_refused(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("name: [")
    with pytest.raises(DataError, match=r"x\.yaml:"):
        read_manifest(path)


def test_asking_whether_data_is_there_imports_nothing_heavy():
    program = (
        "import sys; from tasks.data import is_available; is_available('cifar10'); is_available('digits');"
        "print(sorted({'torch', 'numpy', 'pyarrow', 'PIL', 'duckdb', 'polars'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"


def test_nothing_is_available_in_an_empty_folder(tmp_path):
    for name in names():
        missing = is_available(name, root=tmp_path)
        assert (missing is None) == (name in EMBEDDED_NAMES)
        if missing:
            assert f"bench data prepare {name} --from PATH" in missing.command
            assert ("bench data fetch" in missing.command) == (name != "imagenet100-cmc")
    assert FOLDER.is_dir()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [({"size": None}, "need a size"), ({"shape": [8, 8, 3]}, "size is for images that vary"), ({"size": 4}, "size")],
)
def test_images_that_vary_and_only_they_have_a_size(catalogue, change, message):
    values = json.loads(dataset("imagenet100-cmc").model_dump_json())
    with pytest.raises(DataError, match=message):
        catalogue(values | {"name": "other"} | change)
