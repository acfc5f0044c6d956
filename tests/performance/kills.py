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
    "index": "while True: Store(sys.argv[1]).connect().close()",
    "compaction": "while True: Store(sys.argv[1]).compact(threshold=0)",
}
"""What a process of its own does until it is killed, beside the run."""
MOMENTS = ("parent", "worker", "group", "shard", "claim", *(moment for moment in UPKEEP for _ in range(3)))
AT_ONCE = 25
"""Kills of one store at most."""
PATIENCE = 60.0
"""Seconds to wait for a moment to come."""


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


def half_written(folder: Path, stem: str = "") -> Path | None:
    """A file that somebody is writing."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return next((Path(e.path) for e in entries if e.name.startswith(f".{stem}") and e.name.endswith(".tmp")), None)
    return None


class Round:
    """One store, from empty to full."""

    def __init__(self, folder: Path, path: Path, draw: random.Random) -> None:
        self.store, self.draw = folder / "disturbed", draw
        words = ("run", path, "--plugin", PLUGIN, "--store", self.store, "--workers", 2, "--execution", "stack:5")
        self.command = bench(*words)
        self.run: subprocess.Popen[bytes] | None = None
        self.kept: dict[str, str] = {}

    def running(self) -> subprocess.Popen[bytes]:
        """The run; started when there is none."""
        if self.run is None or self.run.poll() is not None:
            quiet = subprocess.DEVNULL
            self.run = subprocess.Popen(self.command, stdout=quiet, stderr=quiet, start_new_session=True)
        return self.run

    def over(self) -> bool:
        """Whether a run has ended well."""
        return self.run is not None and self.run.poll() == 0

    def strike(self, moment: str) -> bool:
        """One kill at that moment; False when the run was over before it came."""
        run = self.running()
        if moment in UPKEEP:
            struck = self._kill_upkeep(moment)
        elif moment == "shard":
            path = self._wait(run, lambda: half_written(self.store / "shards"))
            struck = path is not None and kill(int(path.name.rsplit(".", 3)[1]))
        elif moment == "claim":
            claims = self.store / "claims"
            struck = bool(self._wait(run, lambda: claims.is_dir() and any(claims.iterdir()))) and kill(run.pid)
        else:
            self._wait(run, lambda: self.draw.random() < 0.3 or self._workers())
            time.sleep(self.draw.uniform(0, 1.5))
            pids = {"parent": [run.pid], "worker": self._workers()[:1], "group": descendants(run.pid)}[moment]
            struck = run.poll() is None and sum(map(kill, pids)) > 0
        if moment in ("parent", "group", "claim"):
            run.wait()
        self.look()
        return struck

    def _kill_upkeep(self, moment: str) -> bool:
        """Of a process that makes the index anew or gathers shards, as soon as it writes, or a little later."""
        folder, stem = (self.store, "index") if moment == "index" else (self.store / "shards", "segment")
        if moment == "index" and self.draw.random() < 0.5:
            (self.store / "index.duckdb").unlink(missing_ok=True)
        code = f"import sys; from benchmark.store import Store\n{UPKEEP[moment]}"
        process = subprocess.Popen([sys.executable, "-c", code, str(self.store)])
        struck = self._wait(process, lambda: half_written(folder, stem) or self.over())
        time.sleep(self.draw.choice([0, 0, 0.005, 0.02, 0.05]))
        process.kill()
        return process.wait() == -signal.SIGKILL and isinstance(struck, Path)

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
            time.sleep(0.001)
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
    state_file = folder / "kills.json"
    state = json.loads(state_file.read_text()) if state_file.exists() else {"struck": {}, "rounds": 0, "twice": 0}
    state.setdefault("expected", undisturbed(folder, path))
    expected, struck = [tuple(row) for row in state["expected"]], Counter(state["struck"])
    while struck.total() < kills and time.monotonic() < until:
        shutil.rmtree(folder / "disturbed", ignore_errors=True)
        draw = random.Random(struck.total())
        one = Round(folder, path, draw)
        for moment in draw.choices(MOMENTS, k=min(AT_ONCE, kills - struck.total())):
            struck[moment] += not one.over() and one.strike(moment)
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
    for line in campaign(options.folder, options.kills, time.monotonic() + 60 * options.minutes):
        print(line, flush=True)
