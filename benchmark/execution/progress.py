"""How a run is shown: a live table on a terminal, a line per cell elsewhere, NDJSON for programs."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from benchmark.execution.board import Board, Row, shown_seconds, shown_value
from benchmark.execution.job import Ended, Outcome
from benchmark.wording import counted

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from benchmark.execution.stacks import Stack
    from benchmark.store import Heartbeat, Store

REFRESH_PER_SECOND = 2
SILENCE = 60.0
"""Seconds after which a log gets a line although nothing has ended."""


class Screen:
    """A listener that shows nothing; the base of those that do. Used as a context manager around the run."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._measured = False

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Nothing to put away."""

    def deciding(self, shapes: int) -> None:
        """See `benchmark.execution.execute.Listener`."""
        self._measured = True  # and what pays compiled is compiled by now
        self.note(f"Measuring which way of execution pays for {counted(shapes, 'shape')} of model")

    def dispatching(self, stacks: Sequence[Stack]) -> None:
        """See `benchmark.execution.execute.Listener`."""
        if not self.board.over:
            self.board.start_clock()
        modes = Counter(stack.mode.name for stack in stacks)
        listed = ", ".join(f"{count} × {name}" for name, count in modes.most_common())
        cells = sum(len(stack.cells) for stack in stacks)
        self.note(f"Training {counted(cells, 'cell')} in {counted(len(stacks), 'stack')} ({listed})")
        if not self._measured and any(stack.mode.compiled for stack in stacks):
            self.note("Compiling first, unless it was done before: up to two minutes for each shape of model")

    def ended(self, outcome: Outcome) -> None:
        """See `benchmark.execution.execute.Listener`."""
        self.board.note_left(outcome)
        for count, word in ((len(outcome.already), "finished"), (len(outcome.elsewhere), "being trained")):
            if count:
                self.note(f"{counted(count, 'cell')} left out: {word} by another run")
        for ended in outcome.ended:
            self.board.note_ended(ended)
            self.cell(ended, last=ended is outcome.ended[-1])

    def cell(self, ended: Ended, *, last: bool) -> None:
        """One cell has ended; `last` of its stack."""

    def note(self, text: str) -> None:
        """Something worth a line."""


class Brief:
    """A listener for jobs whose cells belong to no board: one line per stack."""

    def __init__(self, stacks: int, write: Callable[[str], None]) -> None:
        self._stacks, self._ended, self._write = stacks, 0, write

    def deciding(self, shapes: int) -> None:
        """See `benchmark.execution.execute.Listener`."""

    def dispatching(self, stacks: Sequence[Stack]) -> None:
        """See `benchmark.execution.execute.Listener`."""

    def ended(self, outcome: Outcome) -> None:
        """See `benchmark.execution.execute.Listener`."""
        self._ended += 1
        counts = Counter(ended.status for ended in outcome.ended)
        listed = ", ".join(f"{count} {status}" for status, count in counts.items()) or "nothing trained"
        self.note(f"[{self._ended}/{self._stacks}] {listed}")

    def note(self, text: str) -> None:
        """The line as it is."""
        self._write(text)


class Log(Screen):
    """Writes from top to bottom, with a sign of life when nothing was written for a while."""

    def __init__(self, board: Board, store: Store, run_id: str, silence: float = SILENCE) -> None:
        super().__init__(board)
        self._store, self._run_id, self._silence = store, run_id, silence
        self._written, self._over = time.monotonic(), threading.Event()
        self._thread = threading.Thread(target=self._break_silence, daemon=True)

    def __enter__(self) -> Log:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _break_silence(self) -> None:
        while not self._over.wait(max(0.1, self._written + self._silence - time.monotonic())):
            if time.monotonic() - self._written >= self._silence:
                beats = [beat for beat in self._store.heartbeats() if beat.run_id == self._run_id]
                self.alive([beat for beat in beats if beat.steps_planned])

    def alive(self, beats: Sequence[Heartbeat]) -> None:
        """How far it is, and the stacks being trained are."""


class Lines(Log):
    """One plain line per finished cell: for logs and pipes."""

    def __init__(self, board: Board, write: Callable[[str], None], *at: Any, **keywords: Any) -> None:
        super().__init__(board, *at, **keywords)
        self._out, self._doing = write, "Starting"

    def _write(self, text: str) -> None:
        self._written = time.monotonic()
        self._out(text)

    def dispatching(self, stacks: Sequence[Stack]) -> None:
        """See `benchmark.execution.pool.Listener`."""
        super().dispatching(stacks)
        self._doing = "Training"

    def cell(self, ended: Ended, *, last: bool) -> None:
        """`[3/70] 2parity × mask, seed 2: accuracy 75.00 % (finished, 1.2 s), 2 min 10 s left`."""
        left = self.board.seconds_left() if last and self.board.over < self.board.planned else None
        ahead = f", about {shown_seconds(left)} left" if left is not None else ""
        self._write(f"[{self.board.over}/{self.board.planned}] {sentence(self.board, ended)}{ahead}")

    def note(self, text: str) -> None:
        """The line as it is."""
        self._doing = text
        self._write(text)

    def alive(self, beats: Sequence[Heartbeat]) -> None:
        """`Training: 3 of 70 cells; 1 min 02 s, about 2 min 10 s left (2parity at step 100/400)`."""
        at = "; ".join(f"{beat.task} at step {beat.step}/{beat.steps_planned}" for beat in beats)
        self._write(headline(self.board, beats, self._doing) + (f" ({at})" if at else ""))


class Events(Log):
    """One JSON object per event, for programs."""

    def __init__(self, board: Board, emit: Callable[[Mapping[str, Any]], None], *at: Any, **keywords: Any) -> None:
        super().__init__(board, *at, **keywords)
        self._out = emit

    def _emit(self, name: str, **values: Any) -> None:
        self._written = time.monotonic()
        self._out({"event": name, **values})

    def counts(self, beats: Sequence[Heartbeat] = ()) -> dict[str, Any]:
        """How far the run is."""
        left = self.board.seconds_left(beats)
        return {"over": self.board.over, "planned": self.board.planned, "seconds_left": left}

    def cell(self, ended: Ended, *, last: bool) -> None:
        """`{"event": "cell", ...}`."""
        cell = self.board.cells[ended.cell_id]
        where = {"task": cell.task_name, "initializer": cell.initializer_name, "seed": cell.seed}
        self._emit("cell", **where, **ended.as_json(), **self.counts())

    def note(self, text: str) -> None:
        """`{"event": "note", "text": ...}`."""
        self._emit("note", text=text)

    def alive(self, beats: Sequence[Heartbeat]) -> None:
        """`{"event": "progress", ...}` with the steps of the stacks being trained."""
        stacks = [{"task": beat.task, "step": beat.step, "steps_planned": beat.steps_planned} for beat in beats]
        self._emit("progress", **self.counts(beats), stacks=stacks)


class Live(Screen):
    """A table repainted in place; failures and notes scroll by above it."""

    def __init__(self, board: Board, store: Store, run_id: str, console: Console) -> None:
        super().__init__(board)
        from rich.live import Live as RichLive

        self._store, self._run_id, self._console = store, run_id, console
        self._doing = "Starting"
        self._live = RichLive(
            get_renderable=self._paint, console=console, refresh_per_second=REFRESH_PER_SECOND, transient=True
        )

    def __enter__(self) -> Live:
        self._live.start(refresh=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._live.stop()

    def dispatching(self, stacks: Sequence[Stack]) -> None:
        """See `benchmark.execution.execute.Listener`."""
        super().dispatching(stacks)
        self._doing = "Training"

    def cell(self, ended: Ended, *, last: bool) -> None:
        """Only failures get a line; the table counts the rest."""
        if ended.error:
            self._console.print(sentence(self.board, ended))

    def note(self, text: str) -> None:
        """A line above the table, and the table's heading until the next one."""
        self._doing = text
        self._console.print(text)

    def _paint(self) -> RenderableType:
        beats = [beat for beat in self._store.heartbeats() if beat.run_id == self._run_id]
        return live_table(self.board, beats, self._doing, max(5, self._console.height - 6), self._console.width)


def sentence(board: Board, ended: Ended) -> str:
    """What became of a cell, in one line."""
    cell = board.cells[ended.cell_id]
    row = board.row_of(cell)
    name = f"{cell.task_name} × {cell.initializer_name}, seed {cell.seed}"
    if ended.error:
        return f"{name}: {ended.status}: {ended.error}"
    value = ended.finals.get(row.metric.name, float("nan"))
    return f"{name}: {row.metric.name} {shown_value(value, row.metric)} ({ended.status}, {ended.seconds:.1f} s)"


def live_table(board: Board, beats: Sequence[Heartbeat], doing: str, height: int, width: int = 120) -> Table:
    """Task × initialiser with done, running, failed, the metric now, and how far the running stacks are.

    Where the width does not suffice, columns are left out before names and values are cut.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    running = running_cells(board, beats)
    table = Table(title=headline(board, beats, doing), box=SIMPLE_HEAD, title_justify="left", title_style="bold")
    rows = sorted(board.rows.values(), key=lambda row: urgency(row, running))
    shown = rows[:height] if len(rows) > height else list(board.rows.values())
    cells = [row_cells(row, running.get((row.task, row.initializer), []), beats_of(row, beats, board)) for row in shown]
    kept = fitting(cells, width)
    for name in kept:
        table.add_column(name, justify="left" if name in NAMES else "right", no_wrap=True)
    for texts in cells:
        table.add_row(*(texts[HEADINGS.index(name)] for name in kept))
    if len(rows) > len(shown):
        table.caption = f"and {len(rows) - len(shown)} more rows"
    return table


NAMES = ("Task", "Initialiser")
HEADINGS = (*NAMES, "Seeds", "Running", "Failed", "Metric", "Now", "Step")
DISPENSABLE = ("Metric", "Step", "Running", "Failed")
"""Columns to do without, the first one first."""
PADDING = 3
"""Characters beside each column's text."""


def fitting(cells: Sequence[Sequence[str]], width: int) -> list[str]:
    """The headings of the columns that fit into the width."""
    widths = {name: max(map(len, (name, *(row[k] for row in cells)))) for k, name in enumerate(HEADINGS)}
    kept = [*HEADINGS]
    for name in DISPENSABLE:
        if sum(widths[heading] + PADDING for heading in kept) + 1 > width:
            kept.remove(name)
    return kept


def headline(board: Board, beats: Sequence[Heartbeat], doing: str) -> str:
    """Counts and times of the whole run."""
    left = board.seconds_left(beats)
    ahead = f"about {shown_seconds(left)} left" if left is not None else "time left: not known yet"
    failed = f", {board.count('failed')} failed" if board.count("failed") else ""
    reused = f", {board.count('reused')} reused" if board.count("reused") else ""
    done = f"{board.over} of {counted(board.planned, 'cell')}"
    return f"{doing}: {done}{failed}{reused}; {shown_seconds(board.elapsed)}, {ahead}"


def running_cells(board: Board, beats: Sequence[Heartbeat]) -> dict[tuple[str, str], list[str]]:
    """(task, initialiser) → ids of its cells being trained now."""
    found: dict[tuple[str, str], list[str]] = {}
    for id in (id for beat in beats for id in beat.cell_ids if id in board.cells):
        cell = board.cells[id]
        found.setdefault((cell.task_name, cell.initializer_name), []).append(id)
    return found


def beats_of(row: Row, beats: Sequence[Heartbeat], board: Board) -> list[Heartbeat]:
    """Heartbeats of stacks that hold cells of a row."""
    keys = {beat.stack_id: {(c.task_name, c.initializer_name) for id in beat.cell_ids if (c := board.cells.get(id))}
            for beat in beats}  # fmt: skip
    return [beat for beat in beats if (row.task, row.initializer) in keys[beat.stack_id]]


def urgency(row: Row, running: Mapping[tuple[str, str], Sequence[str]]) -> tuple[bool, bool, bool]:
    """Rows to keep when not all fit: running, then failed, then waiting, then done."""
    return ((row.task, row.initializer) not in running, not row.failed, not row.waiting)


def row_cells(row: Row, running: Sequence[str], beats: Sequence[Heartbeat]) -> list[str]:
    """The texts of one line of the live table."""
    step = min((beat for beat in beats if beat.steps_planned), key=lambda beat: beat.step, default=None)
    return [
        row.task,
        row.initializer,
        f"{row.reused + row.done}/{row.total}",
        str(len(running) or ""),
        str(row.failed or ""),
        row.metric.name,
        metric_now(row, beats),
        f"{step.step}/{step.steps_planned}" if step else "",
    ]


def metric_now(row: Row, beats: Sequence[Heartbeat]) -> str:
    """The primary metric: of the running cells when there are some, else the mean of those finished in this run."""
    running = [value for beat in beats for name, value in beat.metrics.items() if is_metric_of(name, row)]
    values = running or row.values
    return shown_value(sum(values) / len(values), row.metric) if values else ""


def is_metric_of(name: str, row: Row) -> bool:
    """Whether a heartbeat's `accuracy@2048 (mask)` is the row's metric."""
    metric, _, initializer = name.partition(" (")
    return row.metric.name in (metric, metric.rpartition("@")[0]) and initializer == f"{row.initializer})"
