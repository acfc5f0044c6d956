"""Full disks, folders that cannot be written and files that cannot be read: one line, and nothing half made."""

from __future__ import annotations

import pytest
from data_child import error, run

from tasks.data import is_available
from tasks.data.prepare import prepare


@pytest.fixture
def locked():
    """Takes all rights from a place; gives them back at the end, so that it can be removed."""
    places = []

    def lock(path, mode=0o000):
        places.append((path, path.stat().st_mode))
        path.chmod(mode)
        return path

    yield lock
    for path, mode in reversed(places):
        path.chmod(mode)


def nothing_is_left(data):
    assert not [path for path in data.rglob("*") if path.is_file()]
    assert not list(data.rglob("*.part"))


SPACE = "Free some space, or choose another folder with --data"


@pytest.mark.parametrize("layout", ["tar", "unpacked", "parquet"])
def test_images_that_do_not_fit_are_one_line_and_nothing_is_left(cifar, tmp_path, layout):
    line = error("prepare", "mini", "--from", getattr(cifar, layout)(), largest_file=100_000, code=1)
    assert str(tmp_path / "data" / "mini") in line
    assert SPACE in line
    nothing_is_left(tmp_path / "data")
    assert is_available("mini") is not None


def test_resized_images_text_and_tokenizers_that_do_not_fit_too(photos, stories, bpe, tmp_path):
    for name, source, limit in (("photos", photos[0], 5000), ("stories", stories[0], 2000), ("bpe", bpe, 1000)):
        assert SPACE in error("prepare", name, "--from", source, largest_file=limit, code=1)
    nothing_is_left(tmp_path / "data")


def test_a_full_disk_is_told_and_left_as_it_was(cifar, photos, small_disk):
    assert SPACE in error("prepare", "mini", "--from", cifar.tar(), "--data", small_disk, code=1)
    line = error("prepare", "photos", "--from", photos[0], "--size", 512, "--data", small_disk, code=1)
    assert "GB are needed" in line
    assert SPACE in line
    nothing_is_left(small_disk)


def test_space_that_vanishes_after_the_question_does_not_kill_the_process(photos, small_disk):
    arguments = ("prepare", "photos", "--from", photos[0], "--size", 512, "--data", small_disk)
    assert SPACE in error(*arguments, largest_file=-1, code=1)
    nothing_is_left(small_disk)


ELSEWHERE = "choose another folder with --data"


def test_a_folder_that_may_not_be_written_is_named(cifar, tmp_path, locked):
    data = tmp_path / "data"
    data.mkdir()
    locked(data, 0o555)
    line = error("prepare", "mini", "--from", cifar.tar(), code=1)
    assert f"cannot write in {data}" in line
    assert "Permission denied" in line
    assert ELSEWHERE in line


@pytest.mark.parametrize("place", ["/proc/no/such", "x" * 300, "file/below"])
def test_a_place_that_cannot_be_is_named(cifar, tmp_path, place):
    (tmp_path / "file").touch()
    data = place if place.startswith("/") else tmp_path / place
    line = error("prepare", "mini", "--from", cifar.tar(), "--data", data, code=1)
    assert str(data) in line
    assert ELSEWHERE in line


def test_a_file_where_a_folder_has_to_be_is_named(cifar, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mini").touch()
    line = error("prepare", "mini", "--from", cifar.tar(), code=1)
    assert str(tmp_path / "data" / "mini") in line
    assert ELSEWHERE in line


@pytest.mark.parametrize("command", ["list", "where", "verify"])
def test_reading_verbs_bear_a_place_that_cannot_be(cifar, tmp_path, command):
    names = () if command == "list" else ("mini",)
    for place in ("/proc/no/such", "x" * 5000):
        done = run(command, *names, "--data", place, code={"verify": 3}.get(command, 0))
        assert "bench data prepare mini" in done.stdout or command == "list"


READ = "Make it readable, or give another path"


def test_a_file_that_may_not_be_read_is_named(cifar, tmp_path, locked):
    path = locked(cifar.tar())
    line = error("prepare", "mini", "--from", path, code=2)
    assert f"cannot read {path}: Permission denied" in line
    assert READ in line
    assert f"cannot read {path}" in error("prepare", "mini", "--from", cifar.folder, code=2)
    nothing_is_left(tmp_path / "data")


@pytest.mark.parametrize("layout", ["unpacked", "parquet"])
def test_a_file_of_several_that_may_not_be_read_is_named(cifar, locked, layout):
    folder = getattr(cifar, layout)()
    path = locked(sorted(path for path in folder.rglob("*") if path.is_file())[0])
    assert f"cannot read {path}" in error("prepare", "mini", "--from", folder, code=2)


def test_folders_that_may_not_be_read_are_named(photos, cifar, locked):
    folders, hub = photos
    place = locked(folders / "train" / "n01000000")
    assert f"cannot read {place}" in error("prepare", "photos", "--from", folders, code=2)
    place = locked(folders / "train")
    assert f"cannot read {place}" in error("prepare", "photos", "--from", folders, code=2)
    place = locked(hub / "data")
    assert f"cannot read {place}" in error("prepare", "photos", "--from", hub, code=2)
    place = locked(folders)
    assert f"cannot read {place}" in error("prepare", "photos", "--from", folders, code=2)
    path = cifar.tar()
    locked(path.parent)
    assert f"cannot read {path}" in error("prepare", "mini", "--from", path, code=2)


def test_a_picture_that_may_not_be_read_is_named(photos, locked, tmp_path):
    path = locked(next((photos[0] / "train" / "n01000000").iterdir()))
    assert f"cannot read {path}" in error("prepare", "photos", "--from", photos[0], code=2)
    nothing_is_left(tmp_path / "data")


def test_a_device_that_fails_is_named(cifar):
    """Reading the first byte of a process's memory is an input error, whoever asks."""
    cifar.folder.mkdir()
    path = cifar.folder / "mini-binary.tar.gz"
    path.symlink_to("/proc/self/mem")
    assert "Input/output error" in error("prepare", "mini", "--from", path, code=2)


def test_verify_goes_on_after_a_file_that_may_not_be_read(cifar, locked):
    folder = prepare("mini", cifar.tar()).folder
    locked(folder / "train-pixels.npy")
    done = run("verify", "mini", "digits", code=4)
    (line,) = [line for line in done.stdout.splitlines() if " wrong " in line]
    assert "Permission denied" in line
    assert "prepared train" in line
    assert "prepared test" in done.stdout
    assert done.stderr == ""


def test_verify_names_a_fetched_file_that_may_not_be_read(cifar, tmp_path, locked):
    source = tmp_path / "data" / "mini" / "source"
    source.mkdir(parents=True)
    path = source / "mini-binary.tar.gz"
    path.write_bytes(cifar.tar().read_bytes())
    prepare("mini", path)
    locked(path)
    done = run("verify", "mini", code=4)
    (line,) = [line for line in done.stdout.splitlines() if " wrong " in line]
    assert f"cannot read {path}: Permission denied" in line


def test_prepared_data_that_may_not_be_read_are_not_called_missing(cifar, locked):
    folder = locked(prepare("mini", cifar.tar()).folder.parent)
    assert f"cannot read {folder}: Permission denied" in run("verify", "mini", code=4).stdout
    assert f"cannot read {folder}: Permission denied" in run("verify", code=4).stdout
    done = run("list", code=0)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("mini ")]
    assert "unreadable" in line
    assert f"cannot read {folder}" in run("where", "mini", code=0).stdout


def test_a_prepared_folder_or_its_description_that_may_not_be_read_is_named(cifar, locked):
    folder = prepare("mini", cifar.tar()).folder
    for place in (folder / "meta.json", folder):
        locked(place)
        assert f"cannot read {folder / 'meta.json'}" in run("where", "mini", code=0).stdout
