"""The training process: reads jobs from its standard input, trains, writes one shard per stack, answers in one line.

Run as `python -m benchmark.execution.worker` by `benchmark.execution.process`. It ends when its input does, so it
never outlives its parent, however the parent ends; a shard being written is completed first.
"""

from __future__ import annotations

import faulthandler
import json
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from benchmark.cell import PluginFile
from benchmark.errors import StoreError
from benchmark.execution.job import Ended
from benchmark.wording import placed_reason

if TYPE_CHECKING:
    from benchmark.cell import Cell
    from benchmark.records import CellRecord
    from benchmark.store import Heartbeat, Store
    from benchmark.train.stack import CellOutcome, Progress

BEAT_SECONDS = 0.5
"""Heartbeats are written at most this often."""
TICK_SECONDS = 60.0
"""And at least this often, so that other machines know the process is there."""

writing = threading.Lock()
"""Held while a shard is written; the process does not end meanwhile."""


def main() -> None:
    """Serve requests until the input ends."""
    faulthandler.enable()
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what families print goes to the log, not among the answers
    requests: queue.Queue[str] = queue.Queue()
    threading.Thread(target=receive, args=(sys.stdin, requests), daemon=True).start()
    while True:
        request = json.loads(requests.get())
        answer(channel, respond(request, lambda: answer(channel, {"ready": True})))


def receive(source: IO[str], requests: queue.Queue[str]) -> None:
    """Pass lines on; at the end of the input the parent is done or dead, and so is this process."""
    for line in source:
        requests.put(line)
    with writing:
        os._exit(0)


def answer(channel: IO[str], value: Mapping[str, Any]) -> None:
    """One JSON line to the parent; a parent that is gone ends this process."""
    try:
        channel.write(json.dumps(value) + "\n")
        channel.flush()
    except OSError:
        os._exit(0)


def respond(request: Mapping[str, Any], ready: Callable[[], None]) -> dict[str, Any]:
    """The answer to one request: `{"ended": [...]}`, `{"decision": ...}`, `{"raised": traceback}` when training the
    stack raised, or `{"refused": reason}` when no stack can be trained or stored here."""
    try:
        cells = prepare(request)
    except (Exception, SystemExit) as error:
        return {"refused": f"{type(error).__name__}: {error}"}
    ready()
    try:
        if request["kind"] == "conform":
            return conform(request)
        return decide(request, cells) if request["kind"] == "decide" else train(request, cells)
    except StoreError as error:
        return {"refused": str(error)}
    except (Exception, SystemExit):  # a family that calls sys.exit fails its cell, it does not end this process
        return {"raised": traceback.format_exc()}


def prepare(request: Mapping[str, Any]) -> list[Cell]:
    """Import what training needs, before the clock of the time limit starts, and rebuild the cells."""
    import torch

    import benchmark.train.stack  # noqa: F401
    from benchmark.plan import cell_from_json
    from benchmark.registry import Registry

    torch.set_num_threads(int(request["threads"]))
    registry = Registry.from_plugins(PluginFile(**plugin) for plugin in request["plugins"])
    return [cell_from_json(text, registry) for _, text in request["cells"]]


def decide(request: Mapping[str, Any], cells: Sequence[Cell]) -> dict[str, Any]:
    """Measure which execution mode pays for the cells' shape."""
    from benchmark.train.probe import decide_mode

    decision = decide_mode(cells, device=request["device"], workers=request["workers"])
    return {"decision": decision.to_json()}


def conform(request: Mapping[str, Any]) -> dict[str, Any]:
    """Ask a rule of the conformance kit."""
    from benchmark.conformance.run import respond

    return respond(request)


def train(request: Mapping[str, Any], cells: Sequence[Cell]) -> dict[str, Any]:
    """Train a stack and store it."""
    from benchmark.execution.changes import data_of
    from benchmark.store import Store
    from benchmark.train.mode import Mode
    from benchmark.train.stack import train_stack

    store = Store(Path(request["store"]))
    started_at = utc_now()
    data = [data_of(cell.task) for cell in cells]  # now: another set may be put in place while this one is trained on
    with Beats(store, request, cells) as beats:
        outcomes = train_stack(cells, mode=Mode.parse(request["mode"]), device=request["device"], progress=beats.note)
        records = make_records(request, cells, outcomes, data, started_at)
        with writing:
            store.write_shard(records)
    return {"ended": [ended(record).as_json() for record in records]}


def make_records(
    request: Mapping[str, Any],
    cells: Sequence[Cell],
    outcomes: Sequence[CellOutcome],
    data: Sequence[Mapping[str, str]],
    started_at: str,
) -> list[CellRecord]:
    """Rows for the store out of what training returned; `data` is what `data_of` said of each cell's task."""
    import torch

    from benchmark.execution.records import record_of

    device = torch.cuda.get_device_name() if request["device"].startswith("cuda") else "cpu"
    return [
        record_of(
            cell,
            request,
            read,
            device=device,
            status=outcome.status,
            finals=outcome.finals,
            curve=outcome.curve,
            error=outcome.error,
            started_at=started_at,
            seconds=outcome.seconds,
            steps_planned=outcome.steps_planned,
            steps_done=outcome.steps_done,
            parameters=outcome.parameters,
            execution=outcome.execution,
        )
        for cell, outcome, read in zip(cells, outcomes, data, strict=True)
    ]


def ended(record: CellRecord) -> Ended:
    """What the parent is told of a stored record."""
    error = placed_reason(record.error) if record.error and record.error.strip() else None
    return Ended(record.cell_id, record.status, record.seconds, record.finals, error)


def utc_now() -> str:
    """The present moment as records keep it."""
    from benchmark.store.layout import now

    return now()


def primary_of(metrics: Mapping[str, float], primary: str) -> tuple[str, float] | None:
    """Name and value of the primary metric; on the curve it may be of a sample of n examples, `accuracy@n`."""
    return next(((name, value) for name, value in metrics.items() if primary in (name, name.rpartition("@")[0])), None)


class Beats:
    """Keeps the heartbeat of the stack in the store while the block runs."""

    def __init__(self, store: Store, request: Mapping[str, Any], cells: Sequence[Cell]) -> None:
        from benchmark.store import Heartbeat

        self._store = store
        self._names = {cell.id: cell.initializer_name for cell in cells}
        self._primary = request["metric"] or cells[0].task.metrics()[0].name
        self._newest: dict[str, tuple[str, float]] = {}
        self._last = 0.0
        self._over = threading.Event()
        self._file = threading.Lock()
        self._beat: Heartbeat = Heartbeat(
            run_id=request["run_id"],
            stack_id=request["stack_id"],
            task=request["task"],
            cell_ids=tuple(cell.id for cell in cells),
            execution=request["mode"],
            device=request["device"],
            started_at=request["claimed_at"],
        )

    def __enter__(self) -> Beats:
        self._write()
        threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        with self._file:
            self._store.end_beat(self._beat.run_id, self._beat.stack_id)

    def note(self, progress: Progress) -> None:
        """Called by training at each step that is worth a word."""
        for cell, metrics in progress.metrics.items():
            if (found := primary_of(metrics, self._primary)) is not None:
                self._newest[cell] = found
        self._beat = replace(self._beat, step=progress.step, steps_planned=progress.total_steps, metrics=self._means())
        if time.monotonic() - self._last > BEAT_SECONDS:
            self._write()

    def _means(self) -> dict[str, float]:
        """The primary metric, mean over the cells of each initialiser."""
        groups: dict[str, list[float]] = {}
        for cell, (name, value) in self._newest.items():
            groups.setdefault(f"{name} ({self._names[cell]})", []).append(value)
        return {name: sum(values) / len(values) for name, values in groups.items()}

    def _write(self) -> None:
        self._last = time.monotonic()
        with self._file:
            if not self._over.is_set():
                self._store.beat(replace(self._beat, beaten_at=time.time()))

    def _tick(self) -> None:
        while not self._over.wait(TICK_SECONDS):
            self._write()


if __name__ == "__main__":
    main()
