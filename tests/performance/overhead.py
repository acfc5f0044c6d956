"""What the harness itself costs, as whole processes: many trivial cells, a large store, a long past.

    python tests/performance/overhead.py trivial            # 200 cells trained, `auto` and pinned
    python tests/performance/overhead.py large              # no-op run, check, report, leaderboard: 10,000 cells × 500
    python tests/performance/overhead.py index              # index of 40,000 cells in 4,000 shards
    python tests/performance/overhead.py past               # one claim in a store with 100 runs × 16,000 cells

Stores are made under --folder (kept, and found again) without training: their values are full-precision noise. It
asserts nothing; timings are the machine's, so compare only what one call printed.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmark.plan import Plan, build_plan, load_experiment
from benchmark.records import CellRecord, CurvePoint
from benchmark.store import RunRecord, Store, new_attempt_id, new_run_id

PLUGIN = Path(__file__).parent / "trivial.py"
METRICS, STEPS, FINALS = 5, 100, 10


def spec(folder: Path, tasks: int, initializers: int, seeds: int) -> Path:
    """An experiment of so many trivial cells."""
    (folder / "trivial_task.yaml").write_text(
        "task: trivial\nfamily: trivial\ntitle: Trivial\nprofiles: {compact: {}}\n"
    )
    (folder / "scaled.yaml").write_text("initializer: scaled\nfamily: scaled\ntitle: Scaled\n")
    path = folder / f"grid_{tasks}x{initializers}x{seeds}.yaml"
    lines = [f"experiment: {path.stem}", "title: Trivial", f"seeds: {seeds}", "tasks:"]
    lines += [f"  - {{name: trivial, as: task{k}, parameters: {{slope: {k + 1}.0}}}}" for k in range(tasks)]
    lines.append("initializers:")
    lines += [f"  - {{name: scaled, as: init{k}, parameters: {{factor: {1 + k / 10}}}}}" for k in range(initializers)]
    path.write_text("\n".join(lines) + "\n")
    return path


def median(values: Sequence[float]) -> float:
    """The middle one (a neighbour of this file has the name of the module that has it)."""
    return sorted(values)[len(values) // 2]


def bench(*words: object) -> list[str]:
    """A command line of the program."""
    return [sys.executable, "-m", "benchmark.cli", *map(str, words)]


def measured(name: str, command: Sequence[str], repeats: int, before: Callable[[], object] = lambda: None) -> None:
    """Median wall and processor time and largest memory of a whole process, its children included."""
    times, busy, sizes = [], [], []
    for _ in range(repeats):
        before()
        start = time.perf_counter()
        pid = os.posix_spawn(
            command[0], [*command], os.environ,
            file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
        )  # fmt: skip
        _, status, usage = os.wait4(pid, 0)
        times.append(time.perf_counter() - start)
        busy.append(usage.ru_utime + usage.ru_stime)
        sizes.append(usage.ru_maxrss / 1024)
        if os.waitstatus_to_exitcode(status) not in (0, 4):
            raise SystemExit(f"{name}: exit code {os.waitstatus_to_exitcode(status)}")
    spread = f"{min(times):.2f} to {max(times):.2f}, n {repeats}"
    cpu = median(busy)
    print(f"{name:36} {median(times):7.2f} s ({spread}), {cpu:6.2f} s CPU, {max(sizes):5.0f} MB", flush=True)


# --- stores --------------------------------------------------------------------------------------------------------


def noise(draw: random.Random) -> tuple[CurvePoint, ...]:
    """A curve of full-precision noise."""
    return tuple(CurvePoint(f"metric{m}", step, draw.random()) for step in range(STEPS) for m in range(METRICS))


def records(plan: Plan, run_id: str) -> Iterator[CellRecord]:
    """A finished record for each cell of a plan."""
    from benchmark.execution.records import record_of

    draw = random.Random(0)
    request = {"threads": 1, "device": "cpu", "purpose": "run", "attempt_id": new_attempt_id(), "run_id": run_id}
    for line in plan.cells:
        assert line.cell is not None
        yield record_of(
            line.cell, request, status="finished", finals={f"metric{k}": draw.random() for k in range(FINALS)},
            curve=noise(draw), seconds=1.0, steps_planned=STEPS, steps_done=STEPS, parameters=5,
            execution="stack[20]", device="cpu",
        )  # fmt: skip


def fill(store: Store, path: Path, per_shard: int) -> None:
    """Write a plan's cells as if a run had trained them."""
    plan = build_plan(load_experiment(str(path), plugins=[PLUGIN]))
    run = RunRecord(run_id=new_run_id(), status="complete", started_at="2026-01-01T00:00:00+00:00")
    batch: list[CellRecord] = []
    for record in records(plan, run.run_id):
        batch.append(record)
        if len(batch) == per_shard:
            attempt = new_attempt_id()
            store.write_shard([replace(each, attempt_id=attempt) for each in batch])
            batch = []
    store.save_run(run)


def made(folder: Path, tasks: int, initializers: int, seeds: int, per_shard: int) -> tuple[Store, Path]:
    """A store of that many cells, made unless it is there."""
    path = spec(folder, tasks, initializers, seeds)
    store = Store(folder / path.stem)
    if not (store.root / "made").exists():
        shutil.rmtree(store.root, ignore_errors=True)
        start = time.perf_counter()
        fill(store, path, per_shard)
        (store.root / "made").touch()
        print(f"{path.stem}: made in {time.perf_counter() - start:.0f} s")
    files = [*store.layout.shards.iterdir()]
    size, cells = sum(file.stat().st_size for file in files), tasks * initializers * seeds
    print(f"{cells} cells in {len(files)} shards: {size / cells / METRICS / STEPS:.1f} bytes a curve value")
    return store, path


# --- measurements --------------------------------------------------------------------------------------------------


def trivial(folder: Path, repeats: int) -> None:
    """200 cells, trained from nothing by two workers."""
    path, results = spec(folder, 8, 5, 5), folder / "trained"
    words = ("run", path, "--plugin", PLUGIN, "--store", results, "--workers", 2)
    for mode in ("auto", "stack:25"):
        gone = lambda: shutil.rmtree(results, ignore_errors=True)  # noqa: E731
        measured(f"200 trivial cells, {mode}", bench(*words, "--execution", mode), repeats, gone)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"all of these processes together: {children.ru_utime + children.ru_stime:.1f} s of CPU")


def large(folder: Path, repeats: int) -> None:
    """What is asked of a store of 10,000 cells × 500 points."""
    store, path = made(folder, 20, 25, 20, 20)
    named = (path, "--plugin", PLUGIN, "--store", store.root)
    measured("first leaderboard (index made)", bench("leaderboard", *named), 1, lambda: store.layout.index.unlink(True))
    measured("run (nothing to do)", bench("run", *named), repeats)
    measured("leaderboard", bench("leaderboard", *named), repeats)
    measured("check", bench("check", "--plugin", PLUGIN, "--store", store.root), repeats)
    measured("report", bench("report", *named, "--output", folder / "report.html"), repeats)


def index(folder: Path, repeats: int) -> None:
    """The index of 40,000 cells in 4,000 shards, made anew."""
    store, _ = made(folder, 20, 50, 40, 10)
    store.shards()  # hashed before
    code = "import sys; from benchmark.store import Store; Store(sys.argv[1]).connect().close()"
    command = [sys.executable, "-c", code, str(store.root)]
    measured("index of 40,000 cells", command, repeats, lambda: store.layout.index.unlink(missing_ok=True))
    measured("index current", command, repeats)


def past(folder: Path, repeats: int) -> None:
    """What a stack costs its parent in a store that has seen many runs."""
    from benchmark.execution.job import Job
    from benchmark.execution.supervise import claim

    store = Store(folder / "past")
    shutil.rmtree(store.root, ignore_errors=True)
    ids = tuple(f"{k:064x}" for k in range(16_000))
    job = Job(str(store.root), "now", "0", "task", ((ids[0], "{}"),), "alone", "cpu", 1)
    for runs in (1, 100):
        for _ in range(runs - len(store.runs())):
            store.save_run(RunRecord(new_run_id(), experiment="grid", status="interrupted", cell_ids=ids, ended_at="2"))
        store.save_run(RunRecord("now", started_at="3", cell_ids=ids))
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            claim(Store(store.root), job)
            times.append(time.perf_counter() - start)
        size = sum(path.stat().st_size for path in store.layout.runs.rglob("*.*")) / 1e6
        print(f"claim of a stack, {runs} runs × 16,000: {median(times) * 1e3:.2f} ms; {size:.1f} MB of runs")


MEASUREMENTS = {each.__name__: each for each in (trivial, large, index, past)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", choices=[*MEASUREMENTS])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "initbench-overhead")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for chosen in options.what:
        MEASUREMENTS[chosen](options.folder, options.repeats)
