"""A compile that was killed leaves half a library behind; the next one must not load it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from benchmark.train import program
from benchmark.train.repair import is_cut_short, repair_cache

COMPILE = """
import torch
from benchmark.train import program
def function(x):
    return (x * 2).sin().sum(0)
compiled = program.prepare(function, (torch.ones(64, 64),), "key", compiled=True)
print(float(compiled(torch.ones(64, 64))[0]))
"""


def compiled(folder):
    variables = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder), "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-c", COMPILE], env=variables, capture_output=True, text=True, check=False)


def aged(path, seconds=3600):
    os.utime(path, (time.time() - seconds,) * 2)


@pytest.mark.slow
@pytest.mark.skipif(program.can_compile("cpu") is not None, reason="no C++ compiler")
@pytest.mark.parametrize("kept", [0, 3000], ids=["empty", "cut short"])
def test_half_a_library_in_the_cache_is_made_again(tmp_path, kept):
    first = compiled(tmp_path)
    assert first.returncode == 0, first.stderr
    libraries = [path for path in tmp_path.glob("*/*.so") if not is_cut_short(path)]
    assert libraries
    for path in libraries:
        path.write_bytes(path.read_bytes()[:kept])
        aged(path)
    again = compiled(tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stdout == first.stdout
    assert not [path for path in tmp_path.glob("*/*.so") if is_cut_short(path)]


def test_only_what_is_broken_and_at_rest_is_removed(tmp_path):
    folder = tmp_path / "ab"
    folder.mkdir()
    names = {
        "empty.so": b"",
        "fresh.so": b"",
        "cut.so": b"\x7fELF\x02" + b"\x01" * 20,
        "other.so": b"MZ..",
        "text.txt": b"",
    }
    for name, content in names.items():
        (folder / name).write_bytes(content)
        if name != "fresh.so":
            aged(folder / name)
    assert sorted(path.name for path in repair_cache(tmp_path)) == ["cut.so", "empty.so"]
    assert sorted(path.name for path in folder.iterdir()) == ["fresh.so", "other.so", "text.txt"]


def test_a_sound_library_is_left_alone():
    assert not is_cut_short(Path(torch._C.__file__))


def test_a_cache_that_is_not_there_needs_no_repair(tmp_path):
    assert repair_cache(tmp_path / "none") == []
