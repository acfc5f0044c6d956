"""kill -9 of the dispatcher or of a training process at random moments loses nothing and counts nothing twice."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmark.store import Store

KILLS = 20
SPEC = """
experiment: kills
seeds: 8
plugins: [toy.py]
tasks: [{name: toy_regression, parameters: {pause: 0.1}}]
initializers: [toy_plain, {name: toy_plain, as: scaled, parameters: {scale: 2.0}}]
"""
COMMAND = [sys.executable, "-m", "benchmark.cli"]
RUN = [*COMMAND, "run", "kills.yaml", "--execution", "stack:2", "--workers", "2", "--checkpoint", "0.0005"]


def new_project(folder):
    folder.mkdir()
    shutil.copy(Path(__file__).parent / "toy.py", folder)
    (folder / "kills.yaml").write_text(SPEC)
    return folder


def finish(folder):
    done = subprocess.run(RUN, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def table(folder):
    command = [*COMMAND, "leaderboard", "kills.yaml", "--format", "csv"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def numbers(folder):
    return {record.cell_id: (record.finals, record.curve) for record in Store(folder / "results").records()}


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class Assassin:
    """Starts runs in a project and kills one of their processes at a random moment."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.victims = {"dispatcher": 0, "training": 0}
        self.process = None

    def strike(self, folder):
        """One kill, if the run has not ended by then; whether it had ended well."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(RUN, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        victim = self.random.choice(["dispatcher", "training"])
        if victim == "training" or self.random.random() < 0.7:
            while not self.training(folder) and self.process.poll() is None:
                time.sleep(0.02)
        time.sleep(self.random.uniform(0.0, 0.8))
        pids = [self.process.pid] if victim == "dispatcher" else self.training(folder)
        if self.process.poll() is not None or not pids:
            return self.process.poll() == 0
        kill(self.random.choice(pids))
        self.victims[victim] += 1
        if victim == "dispatcher":
            self.process.wait()
        return False

    def training(self, folder):
        """Ids of the processes that are training now."""
        beats = Store(folder / "results").heartbeats()
        return [beat.pid for beat in beats if beat.is_alive() and beat.steps_planned]

    def rest(self):
        if self.process is not None:
            kill(self.process.pid)
            self.process.wait()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kills_at_random_moments_lose_nothing_and_count_nothing_twice(tmp_path):
    reference = new_project(tmp_path / "undisturbed")
    finish(reference)
    expected, shown = numbers(reference), table(reference)
    assert len(expected) == 16
    assassin, folders = Assassin(seed=8), []
    while sum(assassin.victims.values()) < KILLS:
        folder = new_project(tmp_path / f"disturbed{len(folders)}")
        folders.append(folder)
        kept, over = {}, False
        while not over and sum(assassin.victims.values()) < KILLS:
            over = assassin.strike(folder)
            now = Store(folder / "results").finished()
            assert set(now) >= set(kept), "a finished cell was lost"
            assert all(now[cell] == run for cell, run in kept.items()), "a finished cell was trained anew"
            kept = now
        assassin.rest()
    assert assassin.victims["dispatcher"] >= 5
    assert assassin.victims["training"] >= 5
    for folder in folders:
        finish(folder)
        store = Store(folder / "results")
        done = [attempt.cell_id for attempt in store.attempts() if attempt.done]
        assert len(done) == len(set(done)) == 16, "a cell was trained twice"
        assert set(store.finished()) == set(expected)
        assert table(folder).splitlines()[1:] == shown.splitlines()[1:]
        assert numbers(folder).keys() == expected.keys()
        for cell, (finals, _) in numbers(folder).items():
            assert finals == pytest.approx(expected[cell][0], rel=1e-5)
