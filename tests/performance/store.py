"""Measure the store: latency of a write, planning over many shards, building and updating the index.

Run it as `python tests/performance/store.py [SHARDS] [CELLS]`. Timings depend on the machine: it asserts nothing.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmark.records import CellRecord, CurvePoint
from benchmark.store import Store, new_attempt_id

EPOCHS, METRICS = 100, 5


def record(number: int) -> CellRecord:
    curve = tuple(
        CurvePoint(f"metric{m}", step, 1 / (number + m + step + 1)) for m in range(METRICS) for step in range(EPOCHS)
    )
    return CellRecord(
        cell_id=f"{number:064x}", attempt_id=new_attempt_id(), run_id="run", task=f"task{number % 8}",
        initializer=f"init{number % 5}", seed=number, profile="compact", resolved={"seed": number, "width": 64},
        status="finished", finals={f"metric{m}": 1 / (number + m + 1) for m in range(10)}, curve=curve, seconds=1.0,
    )  # fmt: skip


def timed(name: str, action: Callable[[], object], repeats: int = 1) -> None:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    print(f"{name:48} {statistics.median(times) * 1e3:10.1f} ms  (min {min(times) * 1e3:.1f}, n {repeats})")


def process(name: str, code: str, root: Path) -> None:
    timed(name, lambda: subprocess.run([sys.executable, "-c", code, str(root)], check=True), 5)


def main(shards: int, cells: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "results")
        batches = [[record(i * cells + j) for j in range(cells)] for i in range(shards)]
        latencies = []
        for batch in batches:
            start = time.perf_counter()
            store.write_shard(batch)
            latencies.append(time.perf_counter() - start)
        size = sum(path.stat().st_size for path in store.layout.shards.iterdir())
        print(f"{shards} shards of {cells} cells, {METRICS * EPOCHS} points each: {size / 1e6:.1f} MB")
        latencies.sort()
        print(
            f"write_shard p50 {latencies[shards // 2] * 1e3:.2f} ms, p95 {latencies[shards * 95 // 100] * 1e3:.2f} ms"
        )
        timed("finished(), first time (every file hashed)", store.finished)
        timed("finished(), again", store.finished, 5)
        process("process: import and finished()", FINISHED, store.root)
        timed("connect(), index built", lambda: store.connect().close())
        timed("connect(), index current", lambda: store.connect().close(), 5)
        for i in range(100):
            store.write_shard([record(10**9 + i)])
        timed("connect(), 100 shards added", lambda: store.connect().close())
        con = store.connect()
        query = "select task, initializer, metric, avg(value), stddev(value), count(*) from finals group by all"
        timed("leaderboard query", lambda: con.execute(query).fetchall(), 5)
        con.close()
        timed("compact()", lambda: store.compact(threshold=0))
        timed("finished() after compaction", store.finished, 5)
        timed("connect(), index built from segments", lambda: store.connect().close())


FINISHED = "import sys; from benchmark.store import Store; Store(sys.argv[1]).finished()"

if __name__ == "__main__":
    arguments = [int(text) for text in sys.argv[1:]]
    main(*(arguments or [1000]), *([] if len(arguments) > 1 else [1]))
