"""Initialisers that do to their process, or with it, what a plugin should not, or merely may."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import itertools
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from benchmark.initializer import Context, Initializer
from benchmark.registry import initializer

NAP = os.environ.get("HOSTILE_NAP", "7654321")
"""Seconds that left-behind processes sleep; tells them apart from others."""


def hostile(act):
    """Register a function as an initialiser that calls it and leaves the model as it is."""

    def apply(self, model, context: Context):
        act()

    return initializer(act.__name__)(type(act.__name__, (Initializer,), {"apply": apply, "__module__": __name__}))


# --- that do not come back ------------------------------------------------------------------------------------------


@hostile
def segfaults():
    print("loading shard 3 of 7, everything is fine", flush=True)
    ctypes.string_at(0)


@hostile
def exits_at_once():
    os._exit(0)


@hostile
def kills_itself():
    print("loading shard 3 of 7, everything is fine", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


@hostile
def aborts():
    os.abort()


@hostile
def loops_in_c():
    collections.deque(itertools.repeat(None), maxlen=0)


@hostile
def loops_deaf():
    for number in (signal.SIGTERM, signal.SIGABRT, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1)


@hostile
def allocates():
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 28), resource.RLIM_INFINITY))  # stands for a machine's end
    hoard = []
    while True:
        hoard.append(bytearray(1 << 24))


@hostile
def closes_descriptors():
    os.closerange(3, 4096)


@hostile
def closes_and_opens():
    os.closerange(0, 4096)
    for _ in range(64):
        os.open(os.devnull, os.O_RDWR)


@hostile
def writes_everywhere():
    for number in range(3, 64):
        with contextlib.suppress(OSError):
            os.write(number, b"garbage\n")


@hostile
def kills_its_parent():
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


@hostile
def kills_its_group():
    os.killpg(0, signal.SIGKILL)


@hostile
def asks():
    input("Go on? ")


@hostile
def breaks():
    breakpoint()


# --- that train -------------------------------------------------------------------------------------------------------


@hostile
def behaves():
    pass


@hostile
def leaves_a_child():
    subprocess.Popen(["sleep", NAP])


@hostile
def leaves_a_daemon():
    code = f"import os, time; os.setsid(); os.fork() and os._exit(0); time.sleep({NAP})"
    subprocess.run([sys.executable, "-c", code], check=True)


KEPT = []


@hostile
def keeps_memory():
    KEPT.append(b"x" * (3 << 29))


@hostile
def leaves_a_thread():
    threading.Thread(target=time.sleep, args=(float(NAP),)).start()


@hostile
def returns_twice():
    os.fork()


@hostile
def prints():
    for _ in range(1000):
        print("x" * 100_000)


@hostile
def starts_a_reader():
    assert subprocess.run(["cat"], check=True, capture_output=True).stdout == b""


@hostile
def uses_a_pool():
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(abs, [-1, 2, -3]) == [1, 2, 3]


@hostile
def loads_with_workers():
    import torch

    data = torch.arange(8.0)
    assert sum(len(batch) for batch in torch.utils.data.DataLoader(data, batch_size=2, num_workers=2)) == 8


@hostile
def changes_the_world():
    import torch

    torch.set_default_dtype(torch.float32)
    torch.set_num_threads(2)
    os.environ["OMP_NUM_THREADS"] = "7"
    os.chdir("/")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.path.insert(0, "/nowhere")
