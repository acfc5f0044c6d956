"""What travels between the dispatcher, its helpers and the training processes: plain JSON, no objects."""

from __future__ import annotations

import functools
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from benchmark import __version__
from benchmark.cell import PluginFile

if TYPE_CHECKING:
    from pydantic import TypeAdapter


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
    pinned: bool = True
    """Whether the mode is what was asked for; another may give way to one that the machine can execute."""
    checkpoint_seconds: float | None = None
    """Training time between two checkpoints; None without them."""
    keep_models: bool = False
    """Whether the weights of finished cells are kept."""
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
    notes: tuple[str, ...] = ()
    """What the user should know, once a run."""


HALT = b"halt"
"""The line that has a training process keep where it stands, and end; in place of a request."""
EXIT_CLOSED = 97
"""Exit code of a training process whose channel was closed under it."""


def new_attempt_id() -> str:
    """See `benchmark.store`, which the guard of a training process does without."""
    from benchmark import store

    return store.new_attempt_id()


@dataclass(frozen=True)
class Request:
    """What a training process is asked."""

    job: Job
    """On a GPU the process sees only its own, so that its device is `cuda`."""
    kind: Literal["train", "decide", "conform"] = "train"
    """Train the cells, measure which mode pays for their shape, or answer a question of the conformance kit."""
    question: dict[str, Any] = field(default_factory=dict)
    """What `benchmark.conformance.run.respond` is asked."""
    attempt_id: str = field(default_factory=new_attempt_id)
    claimed_at: float = 0.0
    """When the cells were claimed, seconds since the epoch."""


@dataclass(frozen=True)
class Reply:
    """What it answers: first that it is ready, then one of the others."""

    ready: bool = False
    """The imports are done, and the clock of the time limit starts."""
    ended: tuple[Ended, ...] = ()
    note: str = ""
    """What the user should know of how they were trained."""
    decision: dict[str, Any] | None = None
    answer: dict[str, Any] = field(default_factory=dict)
    """Of the conformance kit."""
    halted: bool = False
    """Training was told to end, and where it stood is kept."""
    raised: str = ""
    """Traceback: training the stack raised."""
    refused: str = ""
    """Why no stack can be trained or stored here."""
    spent: tuple[str, ...] = ()
    """What the cells changed for the whole process, which is not used again then."""


@functools.cache
def adapter(kind: type) -> TypeAdapter[Any]:
    """Reads and checks the JSON of `Request` or `Reply`."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def to_line(value: Request | Reply) -> bytes:
    """As one line."""
    return json.dumps(asdict(value)).encode() + b"\n"


def request_from(line: bytes) -> Request:
    """`to_line`'s inverse."""
    request: Request = adapter(Request).validate_json(line)
    return request


def reply_from(line: bytes) -> Reply:
    """`to_line`'s inverse."""
    reply: Reply = adapter(Reply).validate_json(line)
    return reply
