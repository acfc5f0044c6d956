"""The training process: reads requests from its channel, trains, writes one shard per stack, answers in one line.

Run as `python -m benchmark.execution.worker CHANNEL CONTROL` by `benchmark.execution.process`, with the descriptors of
two sockets. Requests and answers go over the first, which no child of this process gets; standard input is empty, and
what is printed goes to the guard (`benchmark.execution.guard`), which talks to the run over the second. It ends when
its channel does, so it never outlives its parent, however the parent ends; a shard being written is completed first.
"""

from __future__ import annotations

import faulthandler
import os
import queue
import resource
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.errors import StoreError
from benchmark.execution.guard import guarded
from benchmark.execution.job import EXIT_CLOSED, HALT, Ended, Job, Reply, Request, request_from, to_line
from benchmark.wording import placed_reason

if TYPE_CHECKING:
    from benchmark.cell import Cell
    from benchmark.records import CellRecord
    from benchmark.store import Heartbeat, Store
    from benchmark.train.checkpoint import Checkpoints
    from benchmark.train.mode import Mode
    from benchmark.train.stack import CellOutcome, Progress

BEAT_SECONDS = 0.5
"""Heartbeats are written at most this often."""
TICK_SECONDS = 60.0
"""And at least this often, so that other machines know the process is there."""

LIMITS = [value for name, value in vars(resource).items() if name.startswith("RLIMIT_")]

KEPT_BYTES = int(1.5 * 2**30)
"""A process that holds more than this after a stack trains no other one: programs, compiled code and the compiler's own
caches of each shape stay with a process, so without a limit it would grow with the shapes it has seen."""

writing = threading.Lock()
"""Held while a shard is written; the process does not end meanwhile."""


def main() -> None:
    """Serve requests until the channel ends."""
    channel, control = (socket.socket(fileno=int(word)) for word in sys.argv[1:3])
    for end in (channel, control):
        end.set_inheritable(False)
    guarded(control, channel)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    faulthandler.enable()
    serve(Channel(channel))


class Channel:
    """The way to the run and back. Forked children lose it, and none of them goes on with the work."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._identity = os.fstat(end.fileno())
        self._owner = os.getpid()
        self._requests: queue.Queue[bytes] = queue.Queue()
        self.checkpoints: Checkpoints | None = None
        """Of the stack in training."""
        os.register_at_fork(after_in_child=self._end.close)
        threading.Thread(target=self._receive, daemon=True).start()

    def _receive(self) -> None:
        """Pass lines on; at the end of the channel the run is done or dead, and so is this process."""
        received = b""
        try:
            while piece := self._end.recv(1 << 16):
                *lines, received = (received + piece).split(b"\n")
                for line in lines:
                    if line != HALT:
                        self._requests.put(line)
                    elif not (self.checkpoints and self.checkpoints.halt()):
                        self._finish()
        except OSError:
            self.check()
        self._finish()

    def _finish(self) -> None:
        """Once no shard is being written."""
        with writing:
            os._exit(0)

    def request(self) -> Request:
        """The next one."""
        return request_from(self._requests.get())

    def answer(self, reply: Reply) -> None:
        """One line to the run; a run that is gone ends this process."""
        self.check()
        try:
            self._end.sendall(to_line(reply))
        except OSError:
            os._exit(0)

    def check(self) -> None:
        """End a process that is not to go on: a child that returned from a plugin's fork, or one whose plugin closed
        the descriptors that were not its own."""
        if os.getpid() != self._owner:
            os._exit(0)
        try:
            found = os.fstat(self._end.fileno())
            mine = (found.st_dev, found.st_ino) == (self._identity.st_dev, self._identity.st_ino)
        except OSError:
            mine = False
        if not mine:
            os._exit(EXIT_CLOSED)


def serve(channel: Channel) -> None:
    """Answer requests, one after another."""
    before: dict[str, Any] | None = None
    with suppress(Exception):  # raised again, and told, when a request is prepared
        import_training()
    while True:
        request = channel.request()
        before = before or world()
        reply = respond(request, channel)
        changed = tuple(name for name, value in world().items() if value != before.get(name, value))
        if resident_bytes() > KEPT_BYTES:
            changed = (*changed, "memory")
        channel.answer(replace(reply, spent=changed))


def resident_bytes() -> int:
    """Memory this process holds now; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, ValueError):
        return 0


def world() -> dict[str, Any]:
    """What cells can change for those that this process trains later. Not among it: code replaced at run time."""
    found: dict[str, Any] = {
        "threads": {thread.ident for thread in threading.enumerate() if thread.is_alive()},
        "working directory": working_directory(),
        "environment": {name: value for name, value in os.environ.items() if not name.startswith(("TORCH", "TRITON"))},
        "signal handlers": [signal.getsignal(n) for n in signal.valid_signals() if n != signal.SIGCHLD],  # torch's own
        "module path": [*sys.path],
        "recursion limit": sys.getrecursionlimit(),
        "resource limits": [resource.getrlimit(limit) for limit in LIMITS],
    }
    if "torch" in sys.modules:
        import torch

        found |= {
            "default dtype": torch.get_default_dtype(),
            "default device": torch.get_default_device(),
            "gradients": torch.is_grad_enabled(),
            "torch threads": torch.get_num_threads(),
            "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
            "matmul precision": torch.get_float32_matmul_precision(),
            "anomaly detection": torch.is_anomaly_enabled(),
        }
    return found


def working_directory() -> str | None:
    """Where this process is; None when that folder is gone."""
    try:
        return os.getcwd()  # noqa: PTH109 - Path.cwd() raises the same
    except OSError:
        return None


def respond(request: Request, channel: Channel) -> Reply:
    """What the run is told: how the cells ended, the traceback that training the stack raised, or why no stack can be
    trained or stored here."""
    try:
        cells = prepare(request)
    except (Exception, SystemExit) as error:
        return Reply(refused=f"{type(error).__name__}: {error}")
    channel.answer(Reply(ready=True))
    try:
        if request.kind == "conform":
            return conform(request)
        return decide(request, cells) if request.kind == "decide" else train(request, cells, channel)
    except StoreError as error:
        return Reply(refused=str(error))
    except (Exception, SystemExit, KeyboardInterrupt):  # a family that calls sys.exit fails its cell, not this process
        return Reply(raised=traceback.format_exc())


def import_training() -> None:
    """What training needs, which takes seconds: before there is a request, so that the run may plan meanwhile."""
    import torch._dynamo  # noqa: F401 - torch itself does so when it first traces

    import benchmark.train.stack  # noqa: F401


def prepare(request: Request) -> list[Cell]:
    """Import what training needs, before the clock of the time limit starts, and rebuild the cells."""
    import torch

    import_training()
    from benchmark.execution.changes import families_of
    from benchmark.plan import cell_from_json
    from benchmark.registry import Registry

    torch.set_num_threads(request.job.threads)
    registry = Registry.from_plugins(request.job.plugins)
    cells = [cell_from_json(text, registry) for _, text in request.job.cells]
    for cell in cells:
        families_of(cell)  # the code as it is imported, whatever becomes of the files while it trains
    return cells


def decide(request: Request, cells: Sequence[Cell]) -> Reply:
    """Measure which execution mode pays for the cells' shape."""
    from benchmark.train.probe import decide_mode

    return Reply(decision=decide_mode(cells, device=request.job.device, workers=request.job.workers).to_json())


def conform(request: Request) -> Reply:
    """Ask a rule of the conformance kit."""
    from benchmark.conformance.run import respond

    return Reply(answer=respond(request.question))


def train(request: Request, cells: Sequence[Cell], channel: Channel) -> Reply:
    """Train a stack from where it was left, and store it."""
    from benchmark.execution.changes import data_of
    from benchmark.store import Store
    from benchmark.train.checkpoint import HaltedError
    from benchmark.train.mode import Mode, no_compiler
    from benchmark.train.stack import train_stack

    job, mode, note = request.job, Mode.parse(request.job.mode), ""
    if mode.compiled and not job.pinned and (reason := no_compiler(job.device)):
        note = f"{mode} was chosen for {job.task} where programs can be compiled; here {reason}, so it is not compiled"
        mode = replace(mode, compiled=False)
    store = Store(Path(job.store))
    started_at = utc_now()
    data = [data_of(cell.task) for cell in cells]  # now: another set may be put in place while this one is trained on
    kept = channel.checkpoints = checkpoints_of(job, store, cells, mode)
    with Beats(store, request, cells, channel.check, kept) as beats:
        try:
            outcomes = train_stack(
                cells,
                mode=mode,
                device=job.device,
                progress=beats.note,
                checkpoints=kept,
                keep=partial(keep_model, request) if job.keep_models else None,
            )
        except HaltedError:
            return Reply(halted=True)
        channel.check()
        records = make_records(request, cells, outcomes, data, started_at)
        with writing:
            store.write_shard(records)
    if kept is not None:
        kept.discard()
        note = note or kept.note
    return Reply(ended=tuple(ended(record) for record in records), note=note)


def keep_model(request: Request, cell_id: str, weights: Mapping[str, Any], averaged: Mapping[str, Any] | None) -> None:
    """Write a finished cell's weights."""
    from benchmark.execution.models import path_of, write_model

    about = {"cell_id": cell_id, "attempt_id": request.attempt_id, "task": request.job.task}
    store = Path(request.job.store)
    write_model(path_of(store, cell_id), weights, about)
    if averaged is not None:
        write_model(path_of(store, cell_id, averaged=True), averaged, about)


def checkpoints_of(job: Job, store: Store, cells: Sequence[Cell], mode: Mode) -> Checkpoints | None:
    """Where these cells were left, and are kept; None without checkpoints."""
    from benchmark.execution.resume import key_of
    from benchmark.store.checkpoints import Stage
    from benchmark.train.checkpoint import Checkpoints

    if job.checkpoint_seconds is None:
        return None
    stage = Stage(job.task, job.cell_ids, mode.name, job.purpose)
    key = key_of(cells, mode.name, job.purpose, job.device, job.threads)
    return Checkpoints(store.layout, key, stage, job.checkpoint_seconds)


def make_records(
    request: Request,
    cells: Sequence[Cell],
    outcomes: Sequence[CellOutcome],
    data: Sequence[Mapping[str, str]],
    started_at: str,
) -> list[CellRecord]:
    """Rows for the store out of what training returned; `data` is what `data_of` said of each cell's task."""
    import torch

    from benchmark.execution.records import record_of

    device = torch.cuda.get_device_name() if request.job.device.startswith("cuda") else "cpu"
    made = {**vars(request.job), "attempt_id": request.attempt_id}
    return [
        record_of(
            cell,
            made,
            read,
            device=device,
            status=outcome.status,
            finals=outcome.finals,
            curve=outcome.curve,
            recordings=outcome.recorded.about,
            points=tuple(outcome.recorded.points),
            arrays=tuple(outcome.recorded.arrays),
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
    """What the run is told of a stored record."""
    error = placed_reason(record.error) if record.error else None
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

    def __init__(
        self,
        store: Store,
        request: Request,
        cells: Sequence[Cell],
        check: Callable[[], None],
        kept: Checkpoints | None = None,
    ) -> None:
        from benchmark.store import Heartbeat

        job = request.job
        self._store, self._check, self._kept = store, check, kept
        self._names = {cell.id: cell.initializer_name for cell in cells}
        self._primary = job.metric or cells[0].task.metrics()[0].name
        self._newest: dict[str, tuple[str, float]] = {}
        self._last = 0.0
        self._over = threading.Event()
        self._file = threading.Lock()
        self._thread = threading.Thread(target=self._tick, daemon=True)
        self._beat: Heartbeat = Heartbeat(
            run_id=job.run_id,
            stack_id=job.stack_id,
            task=job.task,
            cell_ids=tuple(cell.id for cell in cells),
            execution=job.mode,
            device=job.device,
            started_at=request.claimed_at,
        )

    def __enter__(self) -> Beats:
        self._write()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        with self._file:
            self._store.end_beat(self._beat.run_id, self._beat.stack_id)

    def note(self, progress: Progress) -> None:
        """Called by training at each step that is worth a word."""
        self._check()
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
                told = self._kept.told if self._kept else ""
                self._store.beat(replace(self._beat, beaten_at=time.time(), checkpoint=told))

    def _tick(self) -> None:
        while not self._over.wait(TICK_SECONDS):
            self._write()


if __name__ == "__main__":
    main()
