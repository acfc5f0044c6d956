"""Preparing is atomic: at once in several processes, killed half-way, or on top of something damaged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from data_child import run

from benchmark.errors import DataError
from benchmark.store.layout import host
from tasks.data import dataset, load_images, load_text
from tasks.data import manifest as manifests
from tasks.data.cache import leftovers, write_arrays
from tasks.data.places import prepared
from tasks.data.prepare import prepare
from tasks.data.verify import verify

CHILD = """
import sys, time
from pathlib import Path
from tasks.data import manifest
manifest.FOLDER = Path(sys.argv[1])
from tasks.data import prepare as module
def progress(what, done, total):
    if what.endswith("train") and done == 1:
        Path(sys.argv[3]).touch()
        time.sleep(float(sys.argv[4]))
print(module.prepare("mini", Path(sys.argv[2]), progress=progress).reused)
"""


def child(source, flag, pause):
    arguments = [str(manifests.FOLDER), str(source), str(flag), str(pause)]
    return subprocess.Popen([sys.executable, "-c", CHILD, *arguments], stdout=subprocess.PIPE, text=True)


def wait_for(flag):
    deadline = time.time() + 60
    while not flag.exists() and time.time() < deadline:
        time.sleep(0.05)


def test_two_processes_preparing_at_once_both_succeed_with_one_result(cifar, tmp_path):
    source = cifar.parquet()
    both = [child(source, tmp_path / f"flag{number}", 0.5) for number in range(2)]
    outputs = [process.communicate(timeout=120)[0].strip() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(outputs) in (["False", "True"], ["False", "False"])
    assert len(prepared(dataset("mini"))) == 1
    assert [path.name for path in (tmp_path / "data" / "mini" / "prepared").iterdir()] == [
        prepared(dataset("mini"))[0].name
    ]
    assert len(load_images("mini", "train")) == 400


def test_a_killed_preparation_leaves_nothing_that_is_read_and_can_be_repeated(cifar, tmp_path):
    source, flag = cifar.parquet(), tmp_path / "flag"
    process = child(source, flag, 60)
    wait_for(flag)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert prepared(dataset("mini")) == []
    leftover = list((tmp_path / "data" / "mini" / "prepared").glob(".*.part"))
    assert len(leftover) == 1
    assert not prepare("mini", source).reused
    assert not leftover[0].exists()


def test_what_a_killed_preparation_left_goes_with_the_next_one_even_if_that_has_nothing_to_do(cifar, tmp_path):
    source = cifar.parquet()
    done = prepare("mini", source)
    left = killed(done.folder.parent)
    assert prepare("mini", source).reused
    assert not left.exists()


def test_what_a_living_process_or_another_machine_is_making_is_not_touched(cifar, tmp_path):
    source, flag = cifar.parquet(), tmp_path / "flag"
    process = child(source, flag, 60)
    wait_for(flag)
    (making,) = (tmp_path / "data" / "mini" / "prepared").glob(".*.part")
    elsewhere = making.with_name(making.name.replace(f".{host()}.", ".elsewhere."))
    elsewhere.mkdir()
    assert leftovers(dataset("mini")) == []
    prepare("mini", source)
    assert making.exists()
    assert elsewhere.exists()
    process.kill()
    process.communicate()
    assert [left.path for left in leftovers(dataset("mini"))] == [making]
    os.utime(elsewhere, (0, 0))
    assert {left.path for left in leftovers(dataset("mini"))} == {making, elsewhere}
    prepare("mini", source)
    assert leftovers(dataset("mini")) == []
    assert not making.exists()
    assert not elsewhere.exists()


def test_a_process_number_that_is_used_again_does_not_protect_what_was_left(cifar, tmp_path):
    """The name holds when its process started."""
    done = prepare("mini", cifar.tar())
    left = done.folder.parent / f".x.{host()}.{os.getpid()}-1-00.part"
    left.mkdir()
    assert [item.path for item in leftovers(dataset("mini"))] == [left]


def test_tokens_left_half_written_and_what_was_replaced_count_too(cifar, tmp_path):
    done = prepare("mini", cifar.tar())
    damaged = killed(done.folder.parent, "damaged")
    tokens = killed(done.folder)
    assert {item.path for item in leftovers(dataset("mini"))} == {damaged, tokens}


def killed(folder, ending="part"):
    """A folder with a hundred bytes in it, as a process that is gone left it."""
    process = subprocess.Popen(["true"])
    process.wait()
    left = folder / f".x.{host()}.{process.pid}-1-00.{ending}"
    left.mkdir()
    (left / "train-pixels.npy").write_bytes(bytes(100))
    return left


def test_list_tells_what_was_left_with_its_size_and_age(cifar, tmp_path):
    left = killed(prepare("mini", cifar.tar()).folder.parent)
    os.utime(left, (time.time() - 7200, time.time() - 7200))
    output = run("list", code=0).stdout
    assert f"mini: 100 B left by a process that was killed 2 hours ago in {left}" in output
    assert "the next `bench data prepare mini` removes it" in output
    (line,) = [line for line in json.loads(run("list", "--json", code=0).stdout) if line["name"] == "mini"]
    (item,) = line["leftovers"]
    assert item["path"] == str(left)
    assert item["bytes"] == 100
    assert 7190 < item["age_seconds"] < 7400
    prepare("mini", cifar.tar())
    assert "killed" not in run("list", code=0).stdout


def test_a_cache_of_another_version_is_not_read(cifar):
    folder = prepare("mini", cifar.tar()).folder
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({**meta, "version": 0}))
    assert prepared(dataset("mini")) == []


def test_two_copies_of_different_content_are_not_chosen_between(cifar):
    first = prepare("mini", cifar.tar()).folder
    second = prepare("mini", cifar.unpacked()).folder
    meta = json.loads((second / "meta.json").read_text())
    meta["content"]["train"] = "0" * 64
    (second / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(DataError, match="different content") as caught:
        load_images("mini", "train")
    assert str(first) in str(caught.value)
    assert str(second) in str(caught.value)


def test_verify_finds_a_flipped_bit_in_prepared_pixels(cifar):
    folder = prepare("mini", cifar.tar()).folder
    assert {check.state for check in verify("mini") if check.what.startswith("prepared")} == {"ok"}
    path = folder / "train-pixels.npy"
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    wrong = [check for check in verify("mini") if check.state == "wrong"]
    assert [check.what for check in wrong] == ["prepared train (binary)"]
    assert "prepare again" in wrong[0].detail


def test_verify_says_when_no_hash_is_known(cifar):
    prepare("mini", cifar.tar())
    unknown = [check for check in verify("mini") if check.state == "unknown"]
    assert [check.what for check in unknown] == ["source mini-binary.tar.gz"]
    assert "hash not known: recorded on first use" in unknown[0].detail


def test_verify_finds_changed_text(stories):
    folder, _ = stories
    place = prepare("stories", folder).folder
    text = place / "train.txt"
    text.write_bytes(b"X" + text.read_bytes()[1:])
    assert [check.what for check in verify("stories") if check.state == "wrong"] == ["prepared train (huggingface)"]


def test_pickled_arrays_in_the_cache_are_refused(cifar):
    folder = prepare("mini", cifar.tar()).folder
    path = folder / "train-labels.npy"
    size = path.stat().st_size
    with path.open("wb") as stream:
        np.save(stream, np.array([{}] * 3, object), allow_pickle=True)
        stream.write(bytes(size - stream.tell()))
    with pytest.raises(DataError, match="not a plain array"):
        load_images("mini", "train")


def test_arrays_are_written_whole_or_not_at_all(tmp_path):
    class Broken:
        def __array__(self, *arguments, **keywords):
            raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError):
        write_arrays(tmp_path, {"a.npy": Broken()})
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_published_content_digest_is_refused(cifar, catalogue):
    values = json.loads(dataset("mini").model_dump_json())
    values["splits"]["train"]["content_sha256"] = "0" * 64
    catalogue(values)
    with pytest.raises(DataError, match="decoded content has sha256"):
        prepare("mini", cifar.tar())
    assert prepared(dataset("mini")) == []


def test_embedded_data_cannot_be_changed_by_a_caller():
    with pytest.raises(ValueError, match="read-only"):
        load_images("digits", "train").pixels[0] = 0
    load_text("alice", "train").clear()
    assert len(load_text("alice", "train")) == 130
