"""The three layouts of CIFAR give the same arrays, byte for byte; everything damaged or hostile is refused."""

from __future__ import annotations

import gzip
import io
import pickle
import tarfile

import numpy as np
import pytest
from data_containers import CLASSES, png, records, write_parquet, write_tar

from benchmark.errors import DataError
from tasks.data import dataset, is_available, load_images
from tasks.data.cifar_binary import parse_records
from tasks.data.prepare import prepare


def restored(split, folder):
    """Prepared rows, put back into the source's order."""
    images = load_images("mini", split)
    back = np.argsort(np.load(folder / f"{split}-source-rows.npy"))
    return images.pixels[back], images.labels[back]


@pytest.mark.parametrize("layout", ["tar", "unpacked"])
def test_records_come_back_byte_for_byte_in_their_order(cifar, layout):
    done = prepare("mini", getattr(cifar, layout)())
    pixels, labels = restored("train", done.folder)
    assert pixels.tobytes() == cifar.pixels.tobytes()
    assert labels.tolist() == cifar.labels.tolist()
    pixels, labels = restored("test", done.folder)
    assert pixels.tobytes() == cifar.test_pixels.tobytes()
    assert labels.tolist() == cifar.test_labels.tolist()


def test_every_layout_gives_the_same_rows_in_the_same_order(cifar):
    done = {name: prepare("mini", getattr(cifar, name)()) for name in ("tar", "unpacked", "parquet")}
    contents = [item.meta["content"] for item in done.values()]
    assert contents[0] == contents[1] == contents[2]
    assert len({item.folder for item in done.values()}) == 3
    arrays = [np.load(item.folder / "train-pixels.npy").tobytes() for item in done.values()]
    assert arrays[0] == arrays[1] == arrays[2]
    assert load_images("mini", "train").content_sha256 == contents[0]["train"]
    orders = [np.load(item.folder / "train-source-rows.npy").tolist() for item in done.values()]
    assert orders[0] == orders[1] != orders[2]


def test_pixels_are_a_read_only_memory_map(cifar):
    prepare("mini", cifar.tar())
    images = load_images("mini", "train")
    assert isinstance(images.pixels, np.memmap)
    assert images.pixels.dtype == np.uint8
    assert images.pixels.shape == (400, 32, 32, 3)
    assert images.labels.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        images.pixels[0] = 0


def test_the_second_label_byte_is_the_fine_label(train):
    pixels, labels = train
    found, fine = parse_records(records(pixels, labels, coarse=19 - labels), 2, "x")
    assert found.tobytes() == pixels.tobytes()
    assert fine.tolist() == labels.tolist()


def test_preparing_again_uses_what_is_there(cifar):
    first, second = prepare("mini", cifar.tar()), prepare("mini", cifar.folder)
    assert not first.reused
    assert second.reused
    assert second.folder == first.folder


def test_missing_data_is_told_with_the_command(cifar, tmp_path):
    missing = is_available("mini")
    assert missing is not None
    assert "`bench data prepare mini --from PATH`" in str(missing)
    assert str(tmp_path / "data" / "mini") in str(missing)
    with pytest.raises(DataError, match="bench data prepare mini"):
        load_images("mini", "train")
    prepare("mini", cifar.tar())
    assert is_available("mini") is None


def test_a_folder_cut_short_counts_as_missing(cifar):
    folder = prepare("mini", cifar.tar()).folder
    with (folder / "train-pixels.npy").open("r+b") as stream:
        stream.truncate(1000)
    assert is_available("mini") is not None
    assert not prepare("mini", cifar.tar()).reused
    assert len(load_images("mini", "train")) == 400


def refuse(cifar, path, message):
    with pytest.raises(DataError, match=message):
        prepare("mini", path)
    assert is_available("mini") is not None


def entry(name, kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ((entry("../../evil.bin"), b"x"), "points outside"),
        ((entry("/etc/evil.bin"), b"x"), "points outside"),
        ((entry("batches-bin/../../evil"), b"x"), "points outside"),
        ((entry("a\\..\\evil"), b"x"), "points outside"),
        ((entry("batches-bin/data_batch_1.bin", tarfile.SYMTYPE, "/etc/passwd"), None), "link or device"),
        ((entry("batches-bin/hard", tarfile.LNKTYPE, "batches-bin/test_batch.bin"), None), "link or device"),
        ((entry("batches-bin/fifo", tarfile.FIFOTYPE), None), "link or device"),
        ((entry("cifar-10-batches-py/data_batch_1"), pickle.dumps({"data": 1})), "pickles"),
    ],
)
def test_archives_with_hostile_members_are_refused(cifar, extra, message):
    members = [extra, *((f"batches-bin/{name}", raw) for name, raw in cifar.batches.items())]
    refuse(cifar, write_tar(cifar.folder / "mini-binary.tar.gz", members), message)


def test_a_tar_bomb_is_refused_before_it_is_unpacked(cifar):
    bomb = cifar.folder / "mini-binary.tar.gz"
    cifar.folder.mkdir()
    with gzip.open(bomb, "wb", compresslevel=9) as stream:
        header = tarfile.TarInfo("batches-bin/readme.html")
        header.size = 1 << 30
        stream.write(header.tobuf())
        for _ in range(80):
            stream.write(bytes(1 << 20))
    refuse(cifar, bomb, "unpacks to more than")


def test_an_archive_of_many_members_is_refused(cifar):
    refuse(cifar, write_tar(cifar.folder / "mini-binary.tar.gz", [(f"{n}", b"") for n in range(100)]), "more than 64")


def test_a_record_file_that_is_there_twice_is_refused(cifar):
    name = "batches-bin/data_batch_1.bin"
    members = [(name, cifar.batches["data_batch_1.bin"])] * 2
    refuse(cifar, write_tar(cifar.folder / "mini-binary.tar.gz", members), "twice")


def test_a_missing_record_file_is_named(cifar):
    members = [("batches-bin/data_batch_1.bin", cifar.batches["data_batch_1.bin"])]
    refuse(cifar, write_tar(cifar.folder / "mini-binary.tar.gz", members), "data_batch_2.bin")


@pytest.mark.parametrize("keep", [10, 20_000, -8])
def test_a_truncated_archive_is_refused(cifar, keep):
    path = cifar.tar()
    path.write_bytes(path.read_bytes()[:keep])
    refuse(cifar, path, "whole tar.gz|cut off|does not hold")


def test_a_file_that_is_no_archive_is_refused(cifar):
    cifar.folder.mkdir()
    path = cifar.folder / "mini-binary.tar.gz"
    path.write_bytes(b"<html>moved</html>" * 100)
    refuse(cifar, path, "whole tar.gz")


def test_a_record_file_of_another_size_is_refused(cifar):
    refuse(cifar, cifar.tar(data_batch_1_bin=b"x" * 3073), "has 3,073 bytes, expected")


def test_a_changed_record_is_refused_by_its_digest(cifar):
    raw = bytearray(cifar.batches["data_batch_1.bin"])
    raw[5000] ^= 1
    refuse(cifar, cifar.tar(data_batch_1_bin=bytes(raw)), "has sha256")


def test_half_a_record_is_refused():
    with pytest.raises(DataError, match="whole number of records"):
        parse_records(bytes(3072), 1, "x")


@pytest.mark.parametrize("name", ["cifar-10-python.tar.gz", "data.pkl", "data.npy"])
def test_pickle_carriers_are_refused_by_name(cifar, name):
    cifar.folder.mkdir()
    path = cifar.folder / name
    path.write_bytes(pickle.dumps([1]))
    refuse(cifar, path, "pickle")


@pytest.mark.parametrize("name", ["cifar10.pkl", "mini.pkl.gz", "data_batch_1", "train.pickle"])
@pytest.mark.parametrize("as_folder", [True, False])
def test_pickles_are_told_from_files_of_another_kind_and_what_to_use_instead(cifar, name, as_folder):
    cifar.folder.mkdir()
    path = cifar.folder / name
    path.write_bytes(pickle.dumps({"data": 1}))
    (cifar.folder / "readme.html").touch()
    refuse(cifar, cifar.folder if as_folder else path, rf"{name}: .*pickle.*not read; expected .*mini-binary\.tar\.gz")


def test_a_pickle_beside_a_whole_layout_is_not_looked_at(cifar):
    path = cifar.tar()
    (path.parent / "old.pkl").write_bytes(pickle.dumps([1]))
    assert not prepare("mini", path.parent).reused


ORDER = "\n".join(CLASSES)


@pytest.mark.parametrize("text", [ORDER, ORDER + "\n\n", ORDER.replace("\n", "\r\n")])
@pytest.mark.parametrize("layout", ["tar", "unpacked"])
def test_a_class_list_in_the_archive_that_agrees_is_accepted(cifar, text, layout):
    cifar.batches["batches.meta.txt"] = text.encode()
    assert prepare("mini", getattr(cifar, layout)()).meta["rows"]["train"] == 400


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (CLASSES[::-1], r"batches\.meta\.txt: class 0 is 'truck', expected 'airplane': another list than mini"),
        (sorted(CLASSES, key=len), r"batches\.meta\.txt: class 0 is 'cat', expected 'airplane'"),
        (CLASSES[:9], r"batches\.meta\.txt: 9 classes, expected the 10 of mini"),
        (("\udcff",) * 10, r"batches\.meta\.txt: not UTF-8"),
    ],
)
@pytest.mark.parametrize("layout", ["tar", "unpacked"])
def test_another_class_list_in_the_archive_is_refused_by_name(cifar, classes, message, layout):
    cifar.batches["batches.meta.txt"] = "\n".join(classes).encode(errors="surrogateescape")
    refuse(cifar, getattr(cifar, layout)(), message)


def test_a_class_list_that_is_none_is_not_read(cifar):
    cifar.batches["batches.meta.txt"] = b"x" * 2_000_000
    refuse(cifar, cifar.tar(), r"batches\.meta\.txt has 2,000,000 bytes, expected a list of classes")


def test_the_published_archives_name_their_class_lists():
    lists = {name: dataset(name).layouts[1].class_list for name in ("cifar10", "cifar100")}
    assert lists == {"cifar10": "batches.meta.txt", "cifar100": "fine_label_names.txt"}


def test_a_folder_of_pickles_says_what_to_take_instead(cifar):
    (cifar.folder / "cifar-10-batches-py").mkdir(parents=True)
    refuse(cifar, cifar.folder, "cifar-10-binary.tar.gz")


def test_one_of_two_files_is_not_enough(cifar):
    folder = cifar.parquet()
    refuse(cifar, folder / "plain_text" / "train-0.parquet", "test-0.parquet missing")


def test_a_label_no_class_has_is_refused(cifar):
    cifar.labels = cifar.labels.copy()
    cifar.labels[7] = 10
    refuse(cifar, cifar.parquet(), "label 10, expected 0 to 9")


def test_another_class_list_is_refused(cifar):
    names = ("automobile", "airplane", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
    refuse(cifar, cifar.parquet(classes=names), "class 0 is 'automobile', expected 'airplane'")


def test_a_parquet_without_class_names_uses_the_manifest(cifar):
    prepare("mini", cifar.parquet(classes=()))
    assert load_images("mini", "train").classes[3] == "cat"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw[:-60], "whole PNG or JPEG"),
        (lambda raw: b"GIF89a" + raw, "whole PNG or JPEG"),
        (lambda raw: pickle.dumps(raw), "pickle"),
        (lambda raw: b"", "whole PNG or JPEG"),
        (lambda raw: png(np.zeros((32, 31, 3), np.uint8)), "32×31×3, expected 32×32×3"),
        (lambda raw: png(np.zeros((32, 32, 3), np.uint8), "BMP"), "whole PNG or JPEG"),
        (lambda raw: bomb(9_000), "9000×9000 pixels; at most"),
        (lambda raw: bomb(100_000), "10000000000 pixels"),
    ],
)
def test_images_that_are_not_whole_32_by_32_pngs_are_refused(cifar, change, message):
    encoded = [png(image) for image in cifar.pixels]
    encoded[3] = change(encoded[3])
    folder = cifar.parquet()
    write_parquet(folder / "plain_text" / "train-0.parquet", encoded, cifar.labels)
    refuse(cifar, folder, message)


def bomb(side):
    """A PNG whose header declares side × side pixels."""
    raw = bytearray(png(np.zeros((32, 32, 3), np.uint8)))
    raw[16:24] = side.to_bytes(4, "big") * 2
    import zlib

    raw[29:33] = zlib.crc32(raw[12:29]).to_bytes(4, "big")
    return bytes(raw)


def test_too_few_and_too_many_rows_are_refused(cifar):
    folder = cifar.parquet()
    encoded = [png(image) for image in cifar.pixels]
    path = folder / "plain_text" / "train-0.parquet"
    write_parquet(path, encoded[:-1], cifar.labels[:-1])
    refuse(cifar, folder, "399 rows, expected 400")
    write_parquet(path, [*encoded, encoded[0]], [*cifar.labels, 0])
    refuse(cifar, folder, "more than the 400 rows")


def test_wrong_columns_are_refused_with_those_that_are_there(cifar):
    refuse(cifar, cifar.parquet(image="picture"), r"expected columns img .* found picture \(struct")


def test_a_damaged_parquet_is_refused(cifar):
    folder = cifar.parquet()
    path = folder / "plain_text" / "train-0.parquet"
    raw = bytearray(path.read_bytes())
    path.write_bytes(raw[: len(raw) // 2])
    refuse(cifar, folder, "expected a Parquet file")


def test_an_unknown_split_and_kind_are_refused(cifar):
    with pytest.raises(DataError, match="splits: train, test"):
        load_images("mini", "validation")
    with pytest.raises(DataError, match="expected images"):
        load_images("alice", "train")
    with pytest.raises(DataError, match="Did you mean 'cifar10'"):
        load_images("cifar1O", "train")


def test_reading_an_archive_writes_nothing_beside_it(cifar):
    path = cifar.tar()
    prepare("mini", path)
    assert sorted(item.name for item in cifar.folder.iterdir()) == [path.name]
    assert io.BytesIO(path.read_bytes()).getbuffer().nbytes == path.stat().st_size
