"""One cell of the grid: a task at a profile, an initialiser and a seed, with everything that determines its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmark.initializer import Initializer
    from benchmark.probe import Probe
    from benchmark.task import Task


@dataclass(frozen=True)
class Cell:
    """A resolved cell. `id` hashes task, initialiser, profile and seed (see `benchmark.identity`), never the names."""

    id: str
    task_name: str
    initializer_name: str
    seed: int
    profile: str
    task: Task
    initializer: Initializer
    probes: tuple[Probe, ...] = ()
    """What is measured on the way; no part of the id, since it changes none of the numbers."""


@dataclass(frozen=True)
class PluginFile:
    """A user's Python file that registers families; workers load it again and refuse it when it changed."""

    path: str
    sha256: str
    """Digest of the file and of the modules of its own that it imports (`benchmark.origin.Origin.digest`)."""
