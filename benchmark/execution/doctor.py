"""Questions about this machine, the installation and the store, each with its answer and what to do about it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from benchmark.errors import BenchError
from benchmark.execution.devices import gpus, torch_has_cuda, why_on_cpu
from benchmark.execution.provenance import cpu_model, installed_version
from benchmark.train.mode import no_compiler
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.registry import Registry
    from benchmark.store import Store

Level = Literal["ok", "note", "problem"]

LOW_MEMORY = 2.0
"""GiB below which a run is likely to be killed."""
LOW_DISK = 1.0
"""GiB below which a run is likely to fail on writing."""
CONSTRAINTS = Path(__file__).resolve().parent.parent.parent / "constraints.txt"
"""Pinned versions; only in a checkout."""
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;#]+)")


@dataclass(frozen=True)
class Answer:
    """One line of `bench doctor`."""

    subject: str
    level: Level
    found: str
    advice: str = ""
    """What to do; empty when nothing needs doing."""


def examine(store: Store, registry: Registry, files: Sequence[Path] = ()) -> list[Answer]:
    """Every answer; a question that cannot be asked is answered with the reason."""
    questions: list[tuple[str, Callable[[], Iterator[Answer]]]] = [
        ("python", python),
        ("torch", torch_build),
        ("compiler", compiler),
        ("cores", cores),
        ("memory", memory),
        ("gpu", graphics),
        ("versions", lambda: versions(CONSTRAINTS)),
        ("disk", lambda: disk(store.root)),
        ("store", lambda: store_health(store)),
        ("plugins", lambda: plugins(registry, files)),
    ]
    return [answer for subject, ask in questions for answer in asked(subject, ask)]


def asked(subject: str, ask: Callable[[], Iterator[Answer]]) -> list[Answer]:
    """The answers, or the error as the answer."""
    try:
        return list(ask())
    except (BenchError, OSError, ImportError) as error:
        return [Answer(subject, "problem", str(error))]


def python() -> Iterator[Answer]:
    """Interpreter."""
    old = sys.version_info < (3, 11)
    yield Answer(
        "python", "problem" if old else "ok", platform.python_version(), "install Python ≥ 3.11" if old else ""
    )


def torch_build() -> Iterator[Answer]:
    """Torch and what it was built for."""
    version = installed_version("torch")
    if version is None:
        yield Answer("torch", "problem", "not installed", "pip install torch")
        return
    yield Answer("torch", "ok", f"{version}, {'with' if torch_has_cuda() else 'without'} CUDA")


def compiler() -> Iterator[Answer]:
    """A C++ compiler is what `compiled` modes need on the CPU."""
    name = os.environ.get("CXX", "g++")
    if not no_compiler("cpu"):
        yield Answer("compiler", "ok", Path(name).name)
    else:
        advice = f"install {Path(name).name}: compiled execution is faster on many shapes; without it none is compiled"
        yield Answer("compiler", "note", f"{name} is not there", advice)


def cores() -> Iterator[Answer]:
    """Processor, and how much of it this process may use."""
    from joblib import cpu_count

    usable = int(cpu_count())
    limited = f" ({usable} of them usable here)" if usable != os.cpu_count() else ""
    yield Answer("cores", "ok", f"{os.cpu_count()}{limited}, {cpu_model()}")


def memory() -> Iterator[Answer]:
    """Free memory."""
    free, total = memory_gib()
    if free is None or total is None:
        yield Answer("memory", "note", "unknown on this system")
        return
    low = free < LOW_MEMORY
    advice = "free some, or use fewer --workers" if low else ""
    yield Answer("memory", "note" if low else "ok", f"{free:.1f} of {total:.1f} GiB available", advice)


def memory_gib() -> tuple[float | None, float | None]:
    """Available and total memory in GiB, where Linux tells."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None, None
    values = {name: float(rest.split()[0]) / 2**20 for name, _, rest in (line.partition(":") for line in lines)}
    return values.get("MemAvailable"), values.get("MemTotal")


def graphics() -> Iterator[Answer]:
    """GPUs, and whether torch can use them."""
    if not gpus():
        notice = why_on_cpu("auto")
        yield Answer("gpu", "note" if notice else "ok", notice or "none", "mend CUDA_VISIBLE_DEVICES" if notice else "")
        return
    for gpu in gpus():
        idle = not torch_has_cuda()
        yield Answer("gpu", "note" if idle else "ok", gpu.name, "install a torch built with CUDA" if idle else "")


def versions(constraints: Path) -> Iterator[Answer]:
    """Installed versions against the pinned ones; local labels such as `+cpu` do not count."""
    pins = [match for line in read_lines(constraints) if (match := PIN.match(line))]
    if not pins:
        yield Answer("versions", "note", "no constraints.txt here to compare with")
        return
    other = [
        f"{name} {found} (pinned {wanted})"
        for name, wanted in (match.groups() for match in pins)
        if (found := installed_version(name)) is not None and found.partition("+")[0] != wanted.partition("+")[0]
    ]
    if other:
        yield Answer("versions", "note", ", ".join(other), "pip install -c constraints.txt -e .")
    else:
        yield Answer("versions", "ok", f"as pinned ({len(pins)} packages)")


def add_plugin(registry: Registry, path: Path) -> Iterator[Answer]:
    """Load a plugin file; no answer when that goes well."""
    registry.add_file(path)
    yield from ()


def read_lines(path: Path) -> list[str]:
    """Lines of a text file, none when it is not there."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def disk(root: Path) -> Iterator[Answer]:
    """Free space where the store is or will be."""
    place = next(folder for folder in (root.resolve(), *root.resolve().parents) if folder.exists())
    free = shutil.disk_usage(place).free / 2**30
    low = free < LOW_DISK
    writable = os.access(place, os.W_OK)
    if not writable:
        yield Answer("disk", "problem", f"{root} cannot be written to", "choose another place with --store")
    yield Answer("disk", "problem" if low else "ok", f"{free:.1f} GiB free", "free some, or use --store" if low else "")


def store_health(store: Store) -> Iterator[Answer]:
    """Every shard is hashed anew; remains of killed runs are named."""
    if not store.root.exists():
        yield Answer("store", "ok", f"{store.root} is empty")
        return
    scan = store.shards(verify_all=True)
    done = len(store.finished())
    attempts = counted(sum(shard.rows for shard in scan.shards), "attempt")
    yield Answer("store", "ok", f"{counted(done, 'cell')} with numbers, {attempts}, checksums verified")
    for warning in store.warnings:
        yield Answer("store", "problem", warning)
    yield from set_aside(store)
    dead = [beat for beat in store.heartbeats() if not beat.is_alive()]
    if dead:
        killed = f"{counted(len(dead), 'stack')} killed while training"
        yield Answer("store", "note", killed, "bench run goes on")


def set_aside(store: Store) -> Iterator[Answer]:
    """Damaged files, whenever they were found."""
    names = sorted(path.name for path in store.layout.quarantine.glob("*.parquet"))
    if names:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield Answer(
            "store",
            "problem",
            f"{len(names)} damaged files in {store.layout.quarantine} ({names[0]}{more}), each with its .reason",
            "copy them anew into shards/ from where they came, or run the spec again; then remove that folder",
        )


def plugins(registry: Registry, files: Sequence[Path]) -> Iterator[Answer]:
    """Families that cannot be used, those of plugin files among them."""
    for path in files:
        yield from asked("plugins", lambda path=path: add_plugin(registry, path))  # type: ignore[misc]
    entries = [*registry.entries("task"), *registry.entries("initializer")]
    broken = 0
    for entry in entries:
        try:
            entry.get()
        except BenchError as error:
            broken += 1
            yield Answer("plugins", "problem", str(error), "mend or uninstall it; other cells are not affected")
    if not broken:
        yield Answer("plugins", "ok", f"{len(entries)} families can be used")
