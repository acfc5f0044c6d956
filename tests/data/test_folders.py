"""Image folders and images that vary in size: classes by name, refused lists, one result from either layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from data_containers import NAMES, WNIDS, png, write_parquet

from benchmark.errors import DataError
from tasks.data import dataset, is_available, load_images, names
from tasks.data.decode import decode_resized
from tasks.data.prepare import prepare


def test_folders_and_parquet_give_the_same_arrays(photos):
    folders, hub = photos
    first, second = prepare("photos", folders, size=16), prepare("photos", hub, size=16)
    assert first.meta["content"] == second.meta["content"]
    images = load_images("photos", "train", size=16)
    assert images.pixels.shape == (12, 16, 16, 3)
    assert np.bincount(images.labels).tolist() == [4, 4, 4]


def test_labels_follow_the_list_and_not_the_sorted_folders(photos):
    folders, _ = photos
    done = prepare("photos", folders, size=16)
    assert done.meta["label_map"] == {"n03000000": 0, "n01000000": 1, "n02000000": 2}
    truck = {decode_resized(path.read_bytes(), "x", 16).tobytes() for path in (folders / "train" / WNIDS[0]).iterdir()}
    images = load_images("photos", "train", size=16)
    assert {image.tobytes() for image in images.pixels[images.labels == 0]} == truck


def test_each_size_is_prepared_by_itself(photos):
    folders, _ = photos
    prepare("photos", folders, size=16)
    assert is_available("photos", size=16) is None
    assert is_available("photos", size=24) is not None
    prepare("photos", folders, size=24)
    assert is_available("photos", size=24) is None
    assert [load_images("photos", "train", size=size).pixels.shape[1] for size in (16, 24)] == [16, 24]


def test_without_a_size_the_one_of_the_manifest_is_prepared_and_read(photos):
    folders, _ = photos
    prepare("photos", folders, size=16)
    assert is_available("photos") is not None
    with pytest.raises(DataError, match="--size 24"):
        load_images("photos", "train")
    assert prepare("photos", folders).meta["size"] == 24
    assert is_available("photos") is None
    assert load_images("photos", "train").pixels.shape[1] == 24


def test_another_size_than_the_wanted_one_is_named(photos, tmp_path):
    folders, _ = photos
    assert "only" not in str(is_available("photos"))
    prepare("photos", folders, size=16)
    prepare("photos", folders, size=20)
    missing = is_available("photos")
    assert str(missing) == (
        f"data set photos is not in {tmp_path / 'data' / 'photos'} at 24×24, only at 16×16 and 20×20: "
        "`bench data prepare photos --from PATH --size 24`"
    )


@pytest.mark.parametrize("size", [0, -1, 7, 1025])
def test_a_size_out_of_range_is_refused(photos, size):
    with pytest.raises(DataError, match=f"size {size}: expected 8 to 1024 pixels"):
        prepare("photos", photos[0], size=size)


@pytest.mark.parametrize(("height", "width"), [(40, 20), (20, 40), (16, 16), (3, 200)])
def test_the_shorter_side_is_resized_and_the_centre_kept(height, width):
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[height // 2 - 1 : height // 2 + 1, width // 2 - 1 : width // 2 + 1] = 255
    small = decode_resized(png(pixels), "x", 16)
    assert small.shape == (16, 16, 3)
    assert small[6:10, 6:10].mean() > small.mean()


def refuse(place, message):
    with pytest.raises(DataError, match=message):
        prepare("photos", place, size=16)
    assert is_available("photos", size=16) is not None


def test_another_set_of_classes_is_refused_with_what_differs(photos):
    folders, _ = photos
    (folders / "train" / WNIDS[2]).rename(folders / "train" / "n09999999")
    refuse(folders, r"missing 1 \(n02000000\), not of this set 1 \(n09999999\)")


@pytest.mark.parametrize("mark", ["Labels.json", "train.X1", "val.X"])
def test_the_other_imagenet_100_is_refused_by_name(photos, mark):
    folders, _ = photos
    (folders / mark).mkdir()
    refuse(folders, "ambityga/imagenet100, another set of classes")


def test_a_parquet_with_sorted_classes_is_refused(photos):
    _, hub = photos
    path = hub / "data" / "train-00000-of-00002.parquet"
    write_parquet(path, [png(np.zeros((20, 20, 3), np.uint8))] * 6, [0] * 6, image="image", classes=sorted(NAMES))
    refuse(hub, "class 0 is 'dog', expected 'truck'")


@pytest.mark.parametrize(
    ("name", "message"), [("x.pkl", "pickled"), ("x.npy", "pickled"), ("x.exe", "only PNG and JPEG")]
)
def test_other_files_in_a_class_folder_are_refused(photos, name, message):
    folders, _ = photos
    (folders / "train" / WNIDS[0] / name).write_bytes(b"x")
    refuse(folders, message)


def test_a_missing_split_is_named(photos):
    folders, _ = photos
    (folders / "val").rename(folders / "elsewhere")
    refuse(folders, "folder val or validation missing")


def test_a_damaged_picture_is_named(photos):
    folders, _ = photos
    path = next((folders / "train" / WNIDS[1]).iterdir())
    path.write_bytes(path.read_bytes()[:100])
    refuse(folders, path.name)


def test_a_changed_picture_is_another_source(photos):
    folders, _ = photos
    first = prepare("photos", folders, size=16)
    path = folders / "train" / WNIDS[1] / "1.JPEG"
    raw = path.read_bytes()
    path.write_bytes(raw[:-2] + b"\0\0" + raw[-2:])
    assert prepare("photos", folders, size=16).folder != first.folder


def test_too_little_space_is_told_before_anything_is_written(photos, monkeypatch):
    import shutil
    from types import SimpleNamespace

    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))
    refuse(photos[0], "GB are needed")


def test_data_that_the_shipped_tasks_need_is_prepared_at_their_size_without_saying_so():
    """What `bench data prepare NAME --from PATH` makes is what the task reads."""
    from benchmark.spec.source import read_file

    sizes = {}
    for path in (Path(__file__).parents[2] / "tasks").glob("*.yaml"):
        node, _ = read_file(path, path.name)
        parameters = node.plain().get("parameters", {})
        if "data_size" in parameters:
            sizes[parameters["data"]] = parameters["data_size"]
    assert sizes == {name: info.size for name in names() if (info := dataset(name)).size is not None}
    assert sizes["imagenet100-cmc"] == 256


def test_the_imagenet_100_manifest_is_the_cmc_list():
    info = dataset("imagenet100-cmc")
    assert (info.wnids[0], info.classes[0]) == ("n02869837", "bonnet")
    assert (info.wnids[-1], info.classes[-1]) == ("n02090622", "borzoi")
    assert len(set(info.wnids)) == len(set(info.classes)) == 100
    assert list(info.wnids) != sorted(info.wnids)
