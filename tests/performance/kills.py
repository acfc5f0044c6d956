"""Random kills over a fast grid until so many have struck: no finished cell may be lost, counted twice, or other.

    python tests/performance/kills.py --kills 500 --folder kills      # the same command again goes on

Each round fills a store of 200 trivial cells while processes of it are killed (SIGKILL) at random and chosen moments;
after every kill what was finished must still be, from the same run; at a round's end the store's table must be that of
a run nobody disturbed, each cell in it once. It stops at the first fault, and keeps the folder for a look.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from overhead import PLUGIN, bench, spec

from benchmark.records import DONE
from benchmark.store import Store

UPKEEP = {
    "index": "while True: store.connect().close(); random.random() < 0.5 and store.layout.index.unlink(True)",
    "compaction": "while True: store.compact(threshold=0)",
}
"""What a process of its own does until it dies, beside the run."""

CHOSEN = {"index": ("/.index", 2), "compaction": ("/shards/", 60), "shard": ("/shards/.", 6), "claim": ("/claims/", 60)}
"""Moment → what is in the names of files that are opened, renamed or removed then, and at which of them at most."""

MOMENTS = ("parent", "worker", "group", *CHOSEN)
AT_ONCE = 25
"""Kills of one store at most."""
PATIENCE = 60.0
"""Seconds to wait for a moment to come."""

HOOK = """
import os, sys, threading
told, left, delay, marker = os.environ.get("STRIKE", "|0|0|").split("|")
left = [int(left)]

def strike(event, args):
    if told and event in ("open", "os.rename", "os.remove") and told in f"{args[0]} {args[1]}":
        left[0] -= 1
        if left[0] == 0:
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except OSError:
                return
            die = lambda: os.kill(os.getpid(), 9)
            threading.Timer(float(delay), die).start() if float(delay) else die()

sys.addaudithook(strike)
"""
"""`sitecustomize.py` of the processes that die at a chosen moment: the first of them to come to its n-th such file."""


def parent_of(pid: int) -> int:
    """The process that started another; 0 when it is gone."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def descendants(pid: int) -> list[int]:
    """A process and all it started, directly or not."""
    parents = {int(entry.name): parent_of(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


def kill(pid: int) -> bool:
    """SIGKILL; whether there was somebody."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


class Round:
    """One store, from empty to full."""

    def __init__(self, folder: Path, path: Path, draw: random.Random) -> None:
        self.folder, self.store, self.draw = folder, folder / "disturbed", draw
        words = ("run", path, "--plugin", PLUGIN, "--store", self.store, "--workers", 2, "--execution", "stack:5")
        self.command = bench(*words)
        self.run: subprocess.Popen[bytes] | None = None
        self.kept: dict[str, str] = {}

    def over(self) -> bool:
        """Whether a run has ended well."""
        return self.run is not None and self.run.poll() == 0

    def running(self, **environment: str) -> subprocess.Popen[bytes]:
        """The run; started when there is none."""
        if self.run is None or self.run.poll() is not None:
            quiet, known = subprocess.DEVNULL, {**os.environ, **environment}
            self.run = subprocess.Popen(self.command, stdout=quiet, stderr=quiet, env=known, start_new_session=True)
        return self.run

    def strike(self, moment: str) -> list[str]:
        """Kill at that moment; which kills have struck, none when the run was over before."""
        struck = self._at_chosen(moment) if moment in CHOSEN else self._at_random(moment)
        self.look()
        return struck

    def _at_random(self, moment: str) -> list[str]:
        run = self.running()
        self._wait(run, lambda: self.draw.random() < 0.02 or self._workers())
        time.sleep(self.draw.uniform(0, 1.5))
        pids = {"parent": [run.pid], "worker": self._workers()[:1], "group": descendants(run.pid)}[moment]
        struck = run.poll() is None and sum(map(kill, pids)) > 0
        if moment != "worker":
            run.wait()
        return [moment] * struck

    def _at_chosen(self, moment: str) -> list[str]:
        """A process that dies by itself, so that it is exactly then: the upkeep's own, or one of the run's."""
        told, most = CHOSEN[moment]
        marker = self.folder / "struck" / f"{self.draw.getrandbits(64):x}"
        delay = self.draw.choice([0.0, 0.0, 0.001, 0.01, 0.05])
        search = os.pathsep.join([str(self.folder), os.environ.get("PYTHONPATH", "")])
        known = {"STRIKE": f"{told}|{self.draw.randint(1, most)}|{delay}|{marker}", "PYTHONPATH": search}
        before = []
        if moment in UPKEEP:
            self.running()
            code = (
                f"import random, sys; from benchmark.store import Store; store = Store(sys.argv[1])\n{UPKEEP[moment]}"
            )
            process = subprocess.Popen([sys.executable, "-c", code, str(self.store)], env={**os.environ, **known})
        else:
            if self.run is not None and self.run.poll() is None:
                before = self._at_random("group")
            process = self.running(**known)
        self._wait(process, lambda: marker.exists() or (moment in UPKEEP and self.over()))
        if moment in UPKEEP:
            time.sleep(2 * delay)
            process.kill()
        if moment != "shard":
            process.wait()
        return [*before, *[moment] * marker.exists()]

    def _workers(self) -> list[int]:
        """Processes that are training."""
        beats = [beat for beat in Store(self.store).heartbeats() if beat.is_alive() and beat.steps_planned]
        self.draw.shuffle(beats)
        return [beat.pid for beat in beats]

    def _wait(self, process: subprocess.Popen[bytes], ready: Callable[[], object]) -> object:
        """What `ready` says as soon as it says something; None when the process ends or nothing comes."""
        until = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < until:
            if found := ready():
                return found
            time.sleep(0.02)
        return None

    def look(self) -> None:
        """What was finished still is, and from the same run."""
        now = Store(self.store).finished()
        lost = {cell: run for cell, run in self.kept.items() if now.get(cell) != run}
        if lost:
            raise SystemExit(f"{len(lost)} finished cells were lost or replaced in {self.store}: {lost}")
        self.kept = now


def table(store: Path, path: Path) -> list[tuple[str, ...]]:
    """Task, initialiser, n and values of the leaderboard, as a reader sees them."""
    words = ("leaderboard", path, "--plugin", PLUGIN, "--store", store, "--metric", "*", "--format", "csv")
    said = subprocess.run(bench(*words), check=True, capture_output=True, text=True).stdout.splitlines()
    rows = csv.reader(line for line in said if not line.startswith("#"))
    return [tuple(row) for row in rows]


def undisturbed(folder: Path, path: Path) -> list[tuple[str, ...]]:
    """The table of a run nobody disturbed."""
    calm = Round(folder, path, random.Random())
    store = folder / "undisturbed"
    command = [str(store) if word == str(calm.store) else word for word in calm.command]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return table(store, path)


def verified(one: Round, path: Path, expected: list[tuple[str, ...]]) -> int:
    """Finish a round and hold it against the undisturbed run; how many cells were trained more than once."""
    if one.running().wait() != 0:
        raise SystemExit(f"the last run of {one.store} did not end well")
    one.look()
    done = Counter(attempt.cell_id for attempt in Store(one.store).attempts() if attempt.status in DONE)
    counted = Store(one.store).ask("select count(*), count(distinct cell_id) from cells")[0]
    if len(done) != 200 or counted != (200, 200):
        raise SystemExit(f"{one.store}: {len(done)} cells are finished and {counted} counted, of 200")
    found = table(one.store, path)
    if found != expected:
        apart = [pair for pair in zip(found, expected, strict=False) if pair[0] != pair[1]]
        raise SystemExit(f"{one.store}: the table is not the undisturbed run's: {apart[:3]}")
    return sum(count > 1 for count in done.values())


def campaign(folder: Path, kills: int, until: float) -> Iterator[str]:
    """Rounds of kills, told as they end; what was done is kept in the folder."""
    path = spec(folder, 8, 5, 5)
    (folder / "sitecustomize.py").write_text(HOOK)
    state_file = folder / "kills.json"
    state = json.loads(state_file.read_text()) if state_file.exists() else {"struck": {}, "rounds": 0, "twice": 0}
    state.setdefault("expected", undisturbed(folder, path))
    expected, struck = [tuple(row) for row in state["expected"]], Counter(state["struck"])
    while struck.total() < kills and time.monotonic() < until:
        for left in ("disturbed", "struck"):
            shutil.rmtree(folder / left, ignore_errors=True)
        (folder / "struck").mkdir()
        draw = random.Random(struck.total())
        one = Round(folder, path, draw)
        for moment in draw.choices(MOMENTS, k=min(AT_ONCE, kills - struck.total())):
            struck.update([] if one.over() else one.strike(moment))
        state |= {"twice": state["twice"] + verified(one, path, expected)}
        state |= {"struck": dict(struck), "rounds": state["rounds"] + 1}
        state_file.write_text(json.dumps(state))
        told = ", ".join(f"{count} {moment}" for moment, count in struck.most_common())
        yield f"{struck.total()} kills in {state['rounds']} stores ({told}): nothing lost, nothing counted twice"
    yield f"{state['twice']} cells were trained more than once (killed between their shard and the answer)"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--folder", type=Path, default=Path("kills"))
    parser.add_argument("--minutes", type=float, default=1e6, help="stop after so long, at the end of a round")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for line in campaign(options.folder.resolve(), options.kills, time.monotonic() + 60 * options.minutes):
        print(line, flush=True)
