"""The parent's side of a training process: start it with the right environment, ask it to train, kill it when need be.

Training never happens in the dispatcher's own process. So a hung, killed or out-of-memory stack takes nothing with it,
a time limit is kept by a kill, and the device and the thread count are set before torch is imported.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any

POLL_SECONDS = 0.1
GRACE_SECONDS = 5.0
STDERR_TAIL = 4000
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class DeathError(Exception):
    """The process ended without an answer; the message says how, and ends with the last it wrote."""


class TimeLimitError(Exception):
    """The process was killed because the time limit had passed."""


class StoppedError(Exception):
    """The process was killed because the run is being stopped."""


@dataclass(frozen=True)
class Place:
    """Where a training process runs; processes of equal places can be used again."""

    gpu: str | None
    """Its CUDA_VISIBLE_DEVICES; None for the CPU."""
    threads: int
    """Torch threads."""
    plugins: tuple[tuple[str, str], ...] = ()
    """Path and sha256 of the plugin files it loads."""

    def environment(self) -> dict[str, str]:
        """The process's environment: set before torch is imported, so it holds."""
        own = {name: str(self.threads) for name in THREAD_VARIABLES}
        own["CUDA_VISIBLE_DEVICES"] = self.gpu or ""
        own["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))  # it imports what this process would
        return {"TORCHINDUCTOR_COMPILE_THREADS": "1", **os.environ, **own}


class TrainingProcess:
    """One `python -m benchmark.execution.worker`, in a session of its own so that Ctrl-C reaches only the parent."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process is
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "benchmark.execution.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=place.environment(),
            start_new_session=True,
        )
        self._received = b""

    @property
    def pid(self) -> int:
        """Its process id, also the id of its process group."""
        return self._process.pid

    def ask(
        self, request: dict[str, Any], *, seconds: float | None = None, stopped: Callable[[], bool] = lambda: False
    ) -> dict[str, Any]:
        """Send one request and wait for its answer; the process is killed on every exception.

        The time limit counts from the moment the process says that it is ready, that is, after its imports.

        Raises:
            DeathError, TimeLimitError, StoppedError.
        """
        try:
            self._send(request)
            deadline: float | None = None
            while True:
                answer = self._receive(deadline, stopped)
                if not answer.get("ready"):
                    return answer
                deadline = None if seconds is None else time.monotonic() + seconds
        except BaseException:
            self.kill()
            raise

    def _send(self, request: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._death() from None

    def _receive(self, deadline: float | None, stopped: Callable[[], bool]) -> dict[str, Any]:
        """The next line the process writes, polled so that a stop or a time limit is noticed."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._received:
                if stopped():
                    raise StoppedError
                if deadline is not None and time.monotonic() > deadline:
                    raise TimeLimitError
                if selector.select(POLL_SECONDS):
                    piece = os.read(self._process.stdout.fileno(), 1 << 16)
                    if not piece:
                        raise self._death()
                    self._received += piece
        line, _, self._received = self._received.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _death(self) -> DeathError:
        """What is known about the end of the process."""
        with contextlib.suppress(subprocess.TimeoutExpired):  # its pipes close a moment before its exit code is there
            self._process.wait(GRACE_SECONDS)
        how = exit_words(self._process.returncode)
        self._end()
        said = self.last_words()
        self._close_pipes()
        return DeathError(f"The training process {how}." + (f"\nIt last wrote:\n{said}" if said else ""))

    def last_words(self) -> str:
        """The end of what the process wrote to its standard error."""
        with contextlib.suppress(OSError, ValueError):
            size = self._stderr.seek(0, os.SEEK_END)
            self._stderr.seek(max(0, size - STDERR_TAIL))
            return self._stderr.read().decode(errors="replace").strip()
        return ""

    def kill(self) -> None:
        """End it and everything it started, at once."""
        self._end()
        self._close_pipes()

    def _end(self) -> None:
        if self._process.returncode is None:  # once it has been waited for, its id may be another's
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()

    def close(self) -> None:
        """Let it end by itself (its input ends); kill it when it does not."""
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        try:
            self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._close_pipes()

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def exit_words(code: int | None) -> str:
    """How a process ended, as `subprocess` counts it; None for one that had closed its output and ran on."""
    if code is None:
        return "closed its output, ran on and was ended"
    if code >= 0:
        return f"ended with exit code {code}"
    hint = " (often: the machine ran out of memory)" if code == -signal.SIGKILL else ""
    return f"was killed by {signal_name(-code)}{hint}"


def signal_name(number: int) -> str:
    """`SIGKILL` for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@dataclass
class ProcessPool:
    """Idle training processes of this dispatcher, kept warm between stacks (importing torch takes seconds)."""

    idle: dict[Place, list[TrainingProcess]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def process(self, place: Place) -> Iterator[TrainingProcess]:
        """A process for that place; kept for the next stack when the block ends well, killed otherwise."""
        with self.lock:
            waiting = self.idle.setdefault(place, [])
            process = waiting.pop() if waiting else None
        process = process or TrainingProcess(place)
        try:
            yield process
        except BaseException:
            process.kill()
            raise
        with self.lock:
            self.idle[place].append(process)

    def close(self) -> None:
        """End every idle process."""
        with self.lock:
            processes = [process for waiting in self.idle.values() for process in waiting]
            self.idle.clear()
        for process in processes:
            process.close()


POOL = ProcessPool()
"""The pool of this process; a dispatcher's worker on another machine has its own."""
