"""A seeded slice of tests/fuzz/importers.py: no crash, no hang, bounded memory, clear message."""

from __future__ import annotations

import contextlib
import importlib.util
import random
import sys
from pathlib import Path

import pytest

from benchmark.errors import BenchError
from leaderboard.claims.importers import import_file

SCRIPT = Path(__file__).parents[2] / "fuzz" / "importers.py"
INPUTS = 3_000


@pytest.fixture(scope="module")
def fuzzer():
    spec = importlib.util.spec_from_file_location("importer_fuzzer", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_slice_of_mutated_inputs(fuzzer):
    before = fuzzer.peak_mebibytes()
    outcome = fuzzer.run(INPUTS, seed=7)
    assert outcome.crashes == []
    assert outcome.slow == []
    assert outcome.inputs == INPUTS
    assert outcome.read > INPUTS // 4, "most inputs must get past decoding, or the slice tests nothing"
    assert outcome.numbers > INPUTS
    assert fuzzer.peak_mebibytes() - before < 300


def test_the_same_seed_gives_the_same_inputs(fuzzer):
    assert list(fuzzer.inputs(20, 3)) == list(fuzzer.inputs(20, 3))
    assert list(fuzzer.inputs(20, 3)) != list(fuzzer.inputs(20, 4))


def test_a_planted_crash_is_found(fuzzer, monkeypatch):
    def broken(path, format):
        raise IndexError("planted")

    monkeypatch.setattr(fuzzer, "import_file", broken)
    assert len(fuzzer.run(10, seed=0).crashes) == 10


KINDS = ["latex", "markdown", "html", "csv", "yaml"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_bomb_ends_in_time(fuzzer, kind, tmp_path):
    """Work grows in proportion to the input: 8 times the repetition may cost 24 times as much, never 64 times."""
    for number, make in enumerate(fuzzer.BOMBS[kind]):
        tries = []
        for _ in range(3):  # a busy machine makes single measurements jump; growth that is real shows every time
            small, large = (seconds(fuzzer, make(size)[:150_000], kind, tmp_path) for size in (1_000, 8_000))
            tries.append(f"{small:.3f} s → {large:.3f} s")
            if large < 0.5 or large < 24 * small:
                break
        else:
            pytest.fail(f"{kind} bomb {number}: {', '.join(tries)} for 8 times the input")


def seconds(fuzzer, text, kind, folder):
    path = folder / f"bomb{fuzzer.SUFFIXES[kind]}"
    path.write_bytes(text.encode())
    began = fuzzer.time.process_time()
    with contextlib.suppress(BenchError):
        import_file(path)
    return fuzzer.time.process_time() - began


def test_bounds_hold_for_random_printable_text(tmp_path):
    random_ = random.Random(5)
    for _ in range(50):
        text = "".join(random_.choice("\\{}&|<>[]()$%_^*`\"'#\n -.0123456789abctd±") for _ in range(2_000))
        for suffix in (".tex", ".md", ".html", ".csv"):
            path = tmp_path / f"x{suffix}"
            path.write_text(text, encoding="utf-8")
            with contextlib.suppress(BenchError):
                import_file(path)
