"""What travels between the dispatcher, its helpers and the training processes: plain JSON, no objects."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from benchmark import __version__
from benchmark.cell import PluginFile


@dataclass(frozen=True)
class Job:
    """One stack to train."""

    store: str
    """Absolute path of the store."""
    run_id: str
    stack_id: str
    """Names the heartbeat; unique within the run."""
    task: str
    """Name of the task, as the spec calls it."""
    cells: tuple[tuple[str, str], ...]
    """Cell id, and the cell as `benchmark.plan.cell_to_json` writes it."""
    mode: str
    """Execution mode, as `benchmark.train.mode.Mode.parse` reads it."""
    device: str
    """`cpu`, `cuda` (any free GPU) or GPUs by number."""
    threads: int
    """Torch threads of the training process."""
    plugins: tuple[PluginFile, ...] = ()
    cell_seconds: float | None = None
    """Time limit of one cell; a stack of n cells may take n times as long, since its cells share the wall time."""
    workers: int = 1
    """Stacks trained at once, which counts when a mode is chosen."""
    metric: str = ""
    """The task's primary metric, for the heartbeat."""
    purpose: str = "run"
    """`run`, `forced` for cells that are finished already, or `rerun` for those of the determinism audit."""
    version: str = __version__
    """The dispatcher's; a worker of another one refuses the job."""

    @property
    def cell_ids(self) -> tuple[str, ...]:
        """Ids of its cells."""
        return tuple(id for id, _ in self.cells)


@dataclass(frozen=True)
class Ended:
    """What became of one cell, as far as the screen needs to know; the numbers are in the store."""

    cell_id: str
    status: str
    seconds: float = 0.0
    finals: dict[str, float] = field(default_factory=dict)
    """The metrics of this attempt."""
    error: str | None = None
    """Last line of the error."""

    def as_json(self) -> dict[str, Any]:
        """Field → value."""
        return asdict(self)


@dataclass(frozen=True)
class Outcome:
    """What became of one job."""

    stack_id: str
    ended: tuple[Ended, ...] = ()
    elsewhere: tuple[str, ...] = ()
    """Cells left alone because another living run was training them."""
    already: tuple[str, ...] = ()
    """Cells that another run finished in the meantime."""
    stopped: bool = False
    """Whether the run was being stopped; the job's other cells have no attempt."""
