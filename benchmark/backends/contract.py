"""What every backend promises, and what its workers do with a job.

A job is plain data; what is done with it is a function that workers import by name. Its numbers go to the store, never
through the backend: all a worker sends back is what became of the cells. So a worker or the dispatcher may die at any
moment, and only what was running then is trained again.

Workers see the store and the plugin files under the dispatcher's absolute paths (a shared folder when they are on other
machines), and import the same version of the project; a worker that does not refuses its job and says what is missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from benchmark.cell import PluginFile
from benchmark.errors import BenchError, ExitCode
from benchmark.execution.job import Job
from benchmark.parameters import Parameters

Function = Callable[[Job, Callable[[], bool]], Any]
"""`(job, stopped) -> answer`; importable, and the answer can be pickled."""

Why = Literal["died", "preempted", "out of memory", "time limit", "cancelled"]


@dataclass(frozen=True)
class Lost:
    """What comes back for a job whose worker does not: it was killed, its node is gone, its queue gave it up."""

    why: Why
    """`died` and `preempted` are nobody's fault; `out of memory` and `time limit` are those of the cells."""
    detail: str = ""
    """What is known, in a line; then the end of the worker's log, where there is one, after `wording.LAST_WORDS`."""


@dataclass(frozen=True)
class Underway:
    """A job that was submitted by a run whose dispatcher left, by intention or not."""

    job: str
    """As the cluster calls it."""
    cell_ids: tuple[str, ...]
    alive: bool
    """Whether it is queued or running."""
    state: str
    """The cluster's word, or why it is gone."""
    detail: str = ""
    """For one that is gone: the end of its log."""


class BackendError(BenchError):
    """A backend or its workers cannot be used as they are set up; the message says what to mend."""


class WorkerError(BenchError):
    """A worker raised what nobody foresaw; the message is its traceback."""

    exit_code = ExitCode.INTERNAL


class Options(Parameters):
    """Options of a backend, each given as `--backend-option NAME=VALUE` or under `backend_options:`."""


@dataclass(frozen=True)
class Wanted:
    """What the run asks of its backend."""

    workers: int | None = None
    """Stacks trained at once; None: as many as there is room for."""
    device: str = "auto"
    """As `--device` says it."""
    folder: Path = Path("results")
    """The store; a backend may keep files of its own in a folder there that bears its name."""
    run_id: str = ""


class Backend(ABC):
    """One way to have jobs done. Made with its options and what is wanted; then it is connected, or has raised.

    Raises:
        BackendError: what it needs is not there. UsageError: an option or a device does not fit.
    """

    Options: ClassVar[type[Options]] = Options
    shares_memory: ClassVar[bool] = False
    """Whether workers are threads of this process, which see `STOPPING` itself."""

    can_detach: ClassVar[bool] = False
    """Whether jobs live on without the dispatcher."""

    workers: int = 1
    """Stacks trained at once."""
    threads: int = 1
    """Torch threads of each."""
    device: str = "cpu"
    """`cpu`, `cuda` (any free GPU of the worker's machine) or GPUs by number."""

    def __init__(self, options: Any, wanted: Wanted) -> None:  # noqa: B027 - the same
        """Connect; `options` are of this class's `Options`."""

    def expect(self, jobs: int, plugins: tuple[PluginFile, ...]) -> None:  # noqa: B027 - many need do nothing
        """At most so many jobs are to come: workers that a run starts for itself may start meanwhile."""

    @abstractmethod
    def submit(self, function: Function, jobs: Mapping[int, Job]) -> None:
        """Have `benchmark.backends.work.perform(function, job)` done for each job, by number; returns at once.

        Each is tried once: what to do about a worker that was lost is the dispatcher's business.
        """

    @abstractmethod
    def collect(self, seconds: float) -> list[tuple[int, Any]]:
        """What came back since the last call: `(number, answer)`, or `Lost`, or a BenchError that ends the run.

        Waits for the first one, at most that long. Every job submitted comes back exactly once, cancelled ones too.
        """

    def cancel(self) -> None:  # noqa: B027 - many need do nothing
        """The run is being stopped: what has not begun comes back `Lost("cancelled")`.

        Nothing to do where a worker asks first: `perform` does, and running jobs are told by `stopped()`.
        """

    def detach(self) -> None:
        """Leave what was submitted to itself; only where `can_detach`."""
        raise NotImplementedError

    @classmethod
    def underway(cls, store: Path) -> list[Underway]:
        """Jobs for cells of this store that do without their dispatcher; gone ones too while their logs are kept."""
        return []

    def close(self) -> None:  # noqa: B027 - the same
        """End every worker of this run, whatever it does, and let go of what was connected; may be called twice."""
