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

from benchmark.errors import DataError
from tasks.data import dataset, load_images, load_text
from tasks.data import manifest as manifests
from tasks.data.cache import write_arrays
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
    deadline = time.time() + 60
    while not flag.exists() and time.time() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert prepared(dataset("mini")) == []
    leftover = list((tmp_path / "data" / "mini" / "prepared").glob(".*.part"))
    assert len(leftover) == 1
    os.utime(leftover[0], (0, 0))
    assert not prepare("mini", source).reused
    assert not leftover[0].exists()


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
