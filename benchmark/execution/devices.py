"""Which devices there are, and one training process per GPU. Asks the driver's own tool; torch is not imported."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from benchmark.errors import UsageError

LOCK_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Gpu:
    """One GPU that this process may use."""

    id: str
    """What CUDA_VISIBLE_DEVICES calls it: an index or a UUID."""
    name: str
    uuid: str


@functools.cache
def gpus() -> tuple[Gpu, ...]:
    """GPUs that the driver lists and CUDA_VISIBLE_DEVICES allows, as CUDA reads it; empty without an NVIDIA driver.

    What follows a word that names no device is hidden, a device named twice hides all, indices and UUIDs do not mix
    (CUDA C++ Programming Guide, "CUDA Environment Variables"). A UUID may be cut short while it tells one device.
    """
    listed = [Gpu(index, name, uuid) for index, name, uuid in query_driver()]
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if allowed is None:
        return tuple(listed)
    words = [word.strip() for word in allowed.split(",")]
    kind = words[0][:4]
    if listed and kind == "MIG-":
        listed = mig_devices() or [Gpu(word, "MIG device", word) for word in words]
    found: list[Gpu] = []
    for word in words:
        if kind in ("GPU-", "MIG-"):
            fitting = [gpu for gpu in listed if word.startswith(kind) and gpu.uuid.startswith(word)]
            named = [Gpu(word, gpu.name, gpu.uuid) for gpu in fitting]
        else:
            named = [gpu for gpu in listed if word.isdecimal() and gpu.id == str(int(word))]
        if len(named) != 1:
            break
        if named[0].uuid in {gpu.uuid for gpu in found}:
            return ()
        found += named
    return tuple(found)


def query_driver() -> list[tuple[str, str, str]]:
    """(index, name, UUID) of every GPU that nvidia-smi lists."""
    rows = [line.split(",") for line in nvidia_smi("--query-gpu=index,name,uuid", "--format=csv,noheader")]
    return [(row[0].strip(), row[1].strip(), row[2].strip()) for row in rows if len(row) == 3]


MIG = re.compile(r"\s*MIG (?P<name>.+?)\s+Device\s+\d+:\s*\(UUID: (?P<uuid>MIG-[^)]+)\)")
"""A partition of a GPU, as `nvidia-smi -L` lists it."""


def mig_devices() -> list[Gpu]:
    """Partitions that nvidia-smi lists; older drivers list none that a container was given."""
    found = [match for line in nvidia_smi("-L") if (match := MIG.match(line))]
    return [Gpu(match["uuid"], f"MIG {match['name']}", match["uuid"]) for match in found]


def nvidia_smi(*words: str) -> list[str]:
    """Lines that the driver's tool prints; none where there is no driver."""
    try:
        done = subprocess.run(["nvidia-smi", *words], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return []
    return [line for line in done.stdout.splitlines() if line.strip()]


def why_on_cpu(wanted: str) -> str:
    """Why `auto` ends on the CPU although GPUs are there or named; empty where nothing is amiss."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES", "").strip()
    if wanted != "auto" or resolve_device(wanted) != "cpu":
        return ""
    if not torch_has_cuda():
        there = f"{len(gpus())} GPUs are here" if gpus() else ""
        return f"{there}, but this torch is built without CUDA: training on the CPU" if there else ""
    if named and not named.startswith(("-1", "NoDevFiles")):
        return f"CUDA_VISIBLE_DEVICES={named} names no GPU that nvidia-smi lists: training on the CPU"
    return ""


def torch_has_cuda() -> bool:
    """Whether the installed torch was built with CUDA, read from its version file."""
    try:
        source = metadata.distribution("torch").locate_file("torch/version.py")
        text = Path(str(source)).read_text()
    except (metadata.PackageNotFoundError, OSError):
        return False
    return any(line.startswith("cuda") and not line.rstrip().endswith("None") for line in text.splitlines())


def resolve_device(wanted: str) -> str:
    """`cpu`, `cuda` (any GPU) or GPUs by number for what `--device` says; `auto` takes GPUs when torch can use them.

    Raises:
        UsageError: a GPU is asked for that is not there, or the words are none of these.
    """
    if wanted == "auto":
        return "cuda" if gpus() and torch_has_cuda() else "cpu"
    if wanted == "cpu":
        return wanted
    if not CUDA.fullmatch(wanted):
        raise UsageError(f"--device is auto, cpu, cuda or GPUs by number (cuda:0,cuda:1), not '{wanted}'.")
    if not torch_has_cuda():
        raise UsageError(f"--device {wanted} needs a torch built with CUDA; this one is not. Use --device cpu.")
    if not gpus() or any(number >= len(gpus()) for number in numbers(wanted)):
        names = ", ".join(f"cuda:{k} {gpu.name}" for k, gpu in enumerate(gpus())) or "none"
        raise UsageError(f"--device {wanted}: no such GPU. Found: {names}.")
    return wanted


CUDA = re.compile(r"cuda|cuda:\d+(,cuda:\d+)*")


def numbers(device: str) -> list[int]:
    """The GPUs that a device names, in order and once each; none where it leaves the choice."""
    return list(dict.fromkeys(int(number) for number in re.findall(r":(\d+)", device)))


def candidates(device: str) -> tuple[Gpu, ...]:
    """GPUs a process for `device` may take; empty for the CPU."""
    if not device.startswith("cuda"):
        return ()
    return tuple(gpus()[number] for number in numbers(device)) or gpus()


@contextlib.contextmanager
def gpu_slot(device: str, stopped: Callable[[], bool] = lambda: False) -> Iterator[Gpu | None]:
    """Hold one GPU of `device` for as long as the block runs; None for the CPU.

    The slot is a lock file of this machine, so that every backend and two runs at once
    keep to one training process per GPU. Waits for a free one until `stopped()`; then yields None.
    """
    choices = candidates(device)
    while choices and not stopped():
        for gpu in choices:
            handle = try_lock(lock_file(gpu))
            if handle is not None:
                try:
                    yield gpu
                finally:
                    os.close(handle)
                return
        time.sleep(LOCK_POLL_SECONDS)
    yield None


def lock_file(gpu: Gpu) -> Path:
    """The file whose lock means "this GPU is taken"; one per GPU and user."""
    return Path(tempfile.gettempdir()) / f"initbench-{os.getuid()}-{gpu.uuid}.lock"


def try_lock(path: Path) -> int | None:
    """A handle that holds the lock, or None when someone else does. Closing it, or dying, lets go."""
    import fcntl

    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
