"""The run's side of a training process: start it with the right environment, ask it to train, kill it when need be.

Training never happens in the dispatcher's own process. So a hung, killed or out-of-memory stack takes nothing with it,
a time limit is kept by a kill, and the device and the thread count are set before torch is imported.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from benchmark.cell import PluginFile
from benchmark.execution.job import EXIT_CLOSED, HALT, Reply, Request, reply_from, to_line
from benchmark.execution.stopping import HURRYING
from benchmark.wording import LAST_WORDS, place_in

POLL_SECONDS = 0.1
GRACE_SECONDS = 5.0
"""What a process has to end, and its guard to say how it did."""
HALT_SECONDS = 15.0
"""What training that is told to end has to keep where it stands; SLURM kills 30 s after it has told a job."""
PREPARE_SECONDS = 300.0
"""What imports may take in addition where there is a time limit: a cold disk needs a minute for torch."""
SAID_LENGTH = 4000
"""Characters of what a process wrote last that are kept with its cell."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class DeathError(Exception):
    """The process ended without an answer; the message says why, and ends with the last it wrote."""


class TimeLimitError(Exception):
    """The process was killed because the time limit had passed; `place` says where it was then, as `place_in` does."""

    def __init__(self, place: str = "") -> None:
        super().__init__(f"the time limit passed{place}")
        self.place = place


class StoppedError(Exception):
    """The process was killed because the run is being stopped."""


@dataclass(frozen=True)
class Place:
    """Where a training process runs; processes of equal places can be used again."""

    gpu: str | None
    """Its CUDA_VISIBLE_DEVICES; None for the CPU."""
    threads: int
    """Torch threads."""
    plugins: tuple[PluginFile, ...] = ()
    """The plugin files it loads."""

    def environment(self) -> dict[str, str]:
        """The process's environment: set before torch is imported, so it holds."""
        own = {name: str(self.threads) for name in THREAD_VARIABLES}
        own["CUDA_VISIBLE_DEVICES"] = self.gpu or ""
        own["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))  # it imports what this process would
        return {"TORCHINDUCTOR_COMPILE_THREADS": "1", **os.environ, **own}


class TrainingProcess:
    """One `python -m benchmark.execution.worker` under its guard, in sessions of their own: Ctrl-C reaches the run."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._channel, theirs = socket.socketpair()
        self._control, guards = socket.socketpair()
        self._channel.settimeout(GRACE_SECONDS)
        self._control.settimeout(GRACE_SECONDS)
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - what is said before there is a guard
        handles = (theirs.fileno(), guards.fileno())
        with theirs, guards:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "benchmark.execution.worker", *map(str, handles)],
                stdin=subprocess.DEVNULL,
                stdout=self._stderr,
                stderr=self._stderr,
                pass_fds=handles,
                env=place.environment(),
                start_new_session=True,
            )
        self._received = b""
        self._spent = False

    @property
    def pid(self) -> int:
        """The guard's process id, also the id of its process group; the training process is its child."""
        return self._process.pid

    def ask(
        self, request: Request, *, seconds: float | None = None, stopped: Callable[[], bool] = lambda: False
    ) -> Reply:
        """Send one request and wait for its answer; the process is killed on every exception.

        The time limit counts from the moment the process says that it is ready, that is, after its imports; these
        may take `PREPARE_SECONDS` longer.

        Raises:
            DeathError, TimeLimitError, StoppedError.
        """
        try:
            self._send(to_line(request))
            deadline = None if seconds is None else time.monotonic() + seconds + PREPARE_SECONDS
            patience = HALT_SECONDS if request.job.checkpoint_seconds else 0.0
            while (reply := self._receive(deadline, stopped, patience)).ready:
                deadline = None if seconds is None else time.monotonic() + seconds
            if reply.halted:
                raise StoppedError
        except BaseException:
            self.kill()
            raise
        self._spent = bool(reply.spent)
        return reply

    def _send(self, line: bytes) -> None:
        try:
            self._channel.sendall(line)
        except OSError:
            raise DeathError(self._end_words()) from None

    def _receive(self, deadline: float | None, stopped: Callable[[], bool], patience: float) -> Reply:
        """The next line the process writes, polled so that a stop or a time limit is noticed."""
        end = None
        with selectors.DefaultSelector() as selector:
            selector.register(self._channel, selectors.EVENT_READ)
            selector.register(self._control, selectors.EVENT_READ)
            while b"\n" not in self._received:
                if stopped() and end is None:
                    end = time.monotonic() + patience
                    if patience:
                        self._send(HALT + b"\n")
                if end is not None and (time.monotonic() >= end or HURRYING.is_set()):
                    raise StoppedError
                if deadline is not None and time.monotonic() > deadline:
                    raise TimeLimitError(self._where_it_is())
                ready = {key.fileobj for key, _ in selector.select(POLL_SECONDS)}
                piece = b""
                with contextlib.suppress(ConnectionError):
                    piece = self._channel.recv(1 << 16) if self._channel in ready else b""
                if piece:
                    self._received += piece
                elif ready and end is not None:  # it had nothing to keep
                    raise StoppedError
                elif ready:  # a child that has the channel may live on: the guard knows better than the channel's end
                    raise DeathError(self._end_words())
        line, _, self._received = self._received.partition(b"\n")
        try:
            return reply_from(line)
        except ValueError:
            raise DeathError("The training process was ended: a plugin wrote into its channel.") from None

    def _where_it_is(self) -> str:
        """Have it say where it is, and end."""
        self._order(b"A")
        return place_in(self._report().get("said", ""), innermost_first=True)

    def _end_words(self) -> str:
        """Why it ended, and the last that it wrote."""
        report = self._report()
        if "status" in report:
            code = os.waitstatus_to_exitcode(report["status"])
            why = exit_words(code, report["peak"], out_of_memory=report["out_of_memory"])
            why += place_in(report["said"], innermost_first=True) if code < 0 else ""
            said = report["said"]
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_SECONDS)
            early = self._process.returncode not in (None, 0, -signal.SIGKILL)
            why = "ended before it began" if early else "was lost: its guard is gone, or silent"
            self._stderr.seek(0)
            said = self._stderr.read().decode(errors="replace")
        said = said.strip()[-SAID_LENGTH:]
        return f"The training process {why}." + (f"\n{LAST_WORDS}\n{said}" if said else "")

    def _report(self) -> dict[str, Any]:
        """The guard's next line; empty when it is gone or silent."""
        line = b""
        with contextlib.suppress(OSError):
            while not line.endswith(b"\n"):
                if not (piece := self._control.recv(1 << 16)):
                    return {}
                line += piece
            report: dict[str, Any] = json.loads(line)
            return report
        return {}

    def _order(self, word: bytes) -> None:
        with contextlib.suppress(OSError):
            self._control.sendall(word)

    def reusable(self) -> bool:
        """Whether its last cells left nothing behind: no process, no thread, nothing changed for all."""
        if self._spent:
            return False
        self._order(b"?")
        return self._report() == {"others": []}

    def kill(self) -> None:
        """End it and everything it started, at once."""
        self._order(b"K")
        self._wait()

    def close(self) -> None:
        """Let it end by itself (its channel ends); it is killed when it does not."""
        self._channel.close()
        self._wait()

    def _wait(self) -> None:
        """Until the guard has ended everything."""
        try:
            self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._order(b"K")
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_SECONDS)
            self._process.kill()  # and the training process, which ends with its parent
            self._process.wait()
        for end in (self._channel, self._control, self._stderr):
            end.close()


def exit_words(code: int, peak: int, *, out_of_memory: bool) -> str:
    """How a process ended, as `subprocess` counts it; `peak` is the most memory it held, in KiB."""
    if code == EXIT_CLOSED:
        return "lost its channel: a plugin closed descriptors that are not its own"
    if code >= 0:
        return f"ended with exit code {code}"
    held = f"it held up to {peak / 2**20:.1f} GiB"
    hints = {
        signal.SIGKILL: f" (the machine ran out of memory; {held})"
        if out_of_memory
        else f" (often: the machine ran out of memory; {held})",
        signal.SIGSEGV: " (a fault in native code)",
        signal.SIGBUS: " (a fault in native code, or a full disk under a mapped file)",
        signal.SIGABRT: " (native code gave up)",
        signal.SIGILL: " (an instruction this processor does not have)",
        signal.SIGFPE: " (a division by zero in native code)",
    }
    return f"was killed by {signal_name(-code)}{hints.get(signal.Signals(-code), '') if -code < signal.NSIG else ''}"


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
        """A process for that place; kept for the next stack when the block ends well and nothing is left of the cells,
        killed otherwise."""
        with self.lock:
            waiting = self.idle.setdefault(place, [])
            process = waiting.pop() if waiting else None
        process = process or TrainingProcess(place)
        try:
            yield process
        except BaseException:
            process.kill()
            raise
        if process.reusable():
            with self.lock:
                self.idle[place].append(process)
        else:
            process.kill()

    def warm(self, place: Place, count: int) -> None:
        """Start processes for that place, which import what they need until they are asked, until so many are idle."""
        with self.lock:
            waiting = self.idle.setdefault(place, [])
            waiting += [TrainingProcess(place) for _ in range(count - len(waiting))]

    def close(self) -> None:
        """End every idle process."""
        with self.lock:
            processes = [process for waiting in self.idle.values() for process in waiting]
            self.idle.clear()
        for process in processes:
            process.close()


POOL = ProcessPool()
"""The pool of this process; a dispatcher's worker on another machine has its own."""
