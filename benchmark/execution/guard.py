"""The parent of a training process: whatever that starts ends with it, however either of them or the run ends.

It never imports what it guards: it is forked off before anything but Python's own library is loaded. Linux gives it the
orphans among its descendants (a process that made a session of its own is one), so that none gets away. The run
talks to it over a socket: `?` asks what is alive beside the training process, `A` has that one say where it is and end,
`K` ends everything; the end of the socket is the end of the run. Its last line there tells how training ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

SAID_BYTES = 1 << 14
"""What is kept of the training process's output: its end."""
WRITING_SECONDS = 3.0
"""What a training process whose run is gone has to finish the shard that it is writing."""
ABORT_SECONDS = 2.0
"""And one that is too slow to say where it is."""
LISTS = "*/children"
"""Where Linux lists a process's children, in the folder of its threads."""
SET_PARENT_DEATH_SIGNAL, SET_CHILD_SUBREAPER = 1, 36


def prctl(option: int, value: int) -> None:
    """One of Linux's process settings; nothing on other systems."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


class Guard:
    """Watches one child; `watch` never returns."""

    def __init__(self, child: int, control: socket.socket, output: int) -> None:
        self._child, self._control, self._output = child, control, output
        self._said = b""
        self._status: int | None = None
        self._peak = 0
        self._deadline: float | None = None
        self._oom = oom_kills()
        self._selector = selectors.DefaultSelector()

    def watch(self) -> NoReturn:
        """Until the child has ended, and all that it started."""
        prctl(SET_CHILD_SUBREAPER, 1)
        waked, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake)
        os.set_blocking(self._output, False)
        for handle, act in (
            (waked, lambda: os.read(waked, 512)),
            (self._output, self._listen),
            (self._control, self._obey),
        ):
            self._selector.register(handle, selectors.EVENT_READ, act)
        self._reap()
        while self._status is None:
            left = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
            for key, _ in self._selector.select(left):
                with contextlib.suppress(BlockingIOError):
                    key.data()
            if self._deadline is not None and time.monotonic() >= self._deadline:
                kill(self._child)
                self._deadline = time.monotonic() + 1.0
            self._reap()
        self._end_others()
        while self._listen():
            pass
        oom = oom_kills() > self._oom
        said = self._said.decode(errors="replace")
        self._tell({"status": self._status, "peak": self._peak, "out_of_memory": oom, "said": said})
        os._exit(0)

    def _listen(self) -> bool:
        """Take in what the child prints, so that it never waits for a reader; whether there may be more."""
        try:
            piece = os.read(self._output, 1 << 16)
        except BlockingIOError:
            return False
        if not piece and self._output in self._selector.get_map():
            self._selector.unregister(self._output)
        self._said = (self._said + piece)[-SAID_BYTES:]
        return bool(piece)

    def _obey(self) -> None:
        word = self._control.recv(1)
        if word == b"?":
            others = [pid for pid in descendants(os.getpid()) if pid != self._child]
            self._tell({"others": [name for pid in others if (name := name_of(pid))]})
        elif word == b"A":
            kill(self._child, signal.SIGABRT)
            self._deadline = time.monotonic() + ABORT_SECONDS
        elif word == b"K":
            kill(self._child)
        else:  # the run is gone
            self._selector.unregister(self._control)
            for pid in descendants(os.getpid()):
                if pid != self._child:
                    kill(pid)
            self._deadline = time.monotonic() + WRITING_SECONDS

    def _reap(self) -> None:
        """Collect children that have ended: the one guarded, and orphans."""
        with contextlib.suppress(ChildProcessError):
            while (found := os.wait4(-1, os.WNOHANG))[0]:
                if found[0] == self._child:
                    self._status, self._peak = found[1], found[2].ru_maxrss

    def _end_others(self) -> None:
        """End every descendant; those it started meanwhile too."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child, signal.SIGKILL)  # all that can be done where there is no /proc
        end = time.monotonic() + 5.0
        while (left := descendants(os.getpid())) and time.monotonic() < end:
            for pid in left:
                kill(pid)
            self._reap()
            time.sleep(0.002)

    def _tell(self, value: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._control.sendall(json.dumps(value).encode() + b"\n")


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to a process that may be gone or another user's."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def descendants(pid: int) -> list[int]:
    """Children of a process, their children and so on, as far as /proc tells."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        more = [*children(waiting.pop())]
        found += more
        waiting += more
    return found


def children(pid: int) -> Iterator[int]:
    """A process's children, zombies among them; from all processes where the kernel keeps no list of them."""
    lists = [*Path(f"/proc/{pid}/task").glob(LISTS)]
    for path in lists:
        with contextlib.suppress(OSError):
            yield from (int(word) for word in path.read_text().split())
    for path in () if lists else Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rpartition(") ")[2].split()[1]) == pid:
                yield int(path.parent.name)


def name_of(pid: int) -> str:
    """`sleep (pid 7)`; empty for a process that has ended."""
    with contextlib.suppress(OSError):
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(") ")
        return "" if rest.startswith("Z") else f"{name} (pid {pid})"
    return ""


def oom_kills() -> int:
    """How many processes of this machine and control group were ended for want of memory so far."""
    count = 0
    for path in (Path("/proc/vmstat"), Path("/sys/fs/cgroup/memory.events")):
        with contextlib.suppress(OSError, ValueError):
            count += sum(int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith("oom_kill "))
    return count


def guarded(control: socket.socket, channel: socket.socket) -> None:
    """Go on in a child of this process, in a session of its own, with its output taken in by its parent.

    The parent watches over it and keeps `control`, the child `channel`. Returns in the child only.
    """
    guard = os.getpid()
    output, end = os.pipe()
    child = os.fork()
    if child:
        os.close(end)
        channel.close()
        Guard(child, control, output).watch()
    prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != guard:
        os._exit(1)
    os.setsid()  # a plugin that ends its own process group ends no one else
    control.close()
    os.close(output)
    os.dup2(end, 1)
    os.dup2(end, 2)
    os.close(end)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")  # rather than the run itself
