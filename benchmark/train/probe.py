"""Choosing a mode, by measuring a few steps of each candidate where the work repays it.

Stacking pays where operations are too small to fill the processor, compiling where they are bound by memory; both
depend on shape and machine. Measuring costs tracing, seconds for each candidate, so it may take `SHARE` of the training
that is expected; how much that is, some plain steps of one cell tell in a fraction of a second. Where it does not pay
the length of a plain step decides. A compiled candidate costs tens of seconds, so just one is tried, at the best stack
size, and only when the eager work left is long enough to repay it. Once made it is in the compiler's cache on disk,
where the workers find it, so it is not counted a second time.
"""

from __future__ import annotations

import copy
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from benchmark.cell import Cell
from benchmark.train.batches import Batches
from benchmark.train.build import Built, build_all
from benchmark.train.decision import PLAIN, Decision, Timing, span
from benchmark.train.grouping import stack_key
from benchmark.train.mode import ALONE, Mode
from benchmark.train.program import can_compile
from benchmark.train.trainer import Trainer
from benchmark.wording import reason_of

COMPILE_FROM_SECONDS = 90.0
"""Eager work per worker from which a compiled candidate is tried: it takes 10 to 40 s to make and saves 20 to 60 %."""

SHARE = 0.05
"""Most that measuring may take of the training expected of a worker."""

PREPARE_SECONDS = 1.0
"""What preparing the first candidate is taken to cost; those after it, twice what it did."""

SMALL_STEPS = ((0.002, 32), (0.005, 8))
"""Unmeasured: plain steps shorter than so many seconds are trained in stacks of so many cells, longer ones alone."""

LOOKS = 4
ROUNDS = 3
ROUND_SECONDS = 0.25
"""Each candidate is timed in turn, this often and at least this long; its least time counts."""

CPU_SIZES = (4, 8)
CUDA_SIZES = (8, 32)


@dataclass
class Candidate:
    """One mode, ready to be timed."""

    mode: Mode
    run: Callable[[int], None]
    """Takes so many optimiser steps of the whole stack."""
    prepare_seconds: float
    clock: Callable[[], float]
    steps: int = 1
    best: float = float("inf")
    """Least seconds per step and cell so far."""

    def time(self) -> None:
        """One round."""
        started = self.clock()
        self.run(self.steps)
        elapsed = self.clock() - started
        self.best = min(self.best, elapsed / self.steps / self.mode.stack_size)
        self.steps = max(1, round(self.steps * min(10.0, ROUND_SECONDS / max(elapsed, 1e-6))))


def decide_mode(cells: Sequence[Cell], device: str = "cpu", *, workers: int | None = None) -> Decision:
    """The mode with the least expected time for these cells of one `shape_key`, shared by `workers` processes.

    Without `workers`, as many as there are GPUs, or as this process's number of threads fits into the cores. Alone is
    among the candidates and is taken unless another is measured to be faster. Raises ValueError for no cells.
    """
    if not cells:
        raise ValueError("decide_mode needs at least one cell")
    counts = sorted(Counter(stack_key(cell) for cell in cells).values())
    workers = workers or _default_workers(device)
    largest = Counter(stack_key(cell) for cell in cells).most_common(1)[0][0]
    error = ""
    for cell in cells:  # one model, repeated, is as fast as many; some initialisers take seconds
        if stack_key(cell) == largest:
            built, errors = build_all([cell], device)
            if built:
                return _Probe(built, counts, workers, device).decide()
            error = error or reason_of(errors[cell.id])
    return Decision(ALONE, device, {}, f"no model could be built: {error}")


class _Probe:
    def __init__(self, built: list[Built], counts: list[int], workers: int, device: str) -> None:
        self.built, self.counts, self.workers, self.device = built, counts, workers, device
        self.plain, self.steps = 0.0, 0  # seconds of a plain step, and steps of a cell
        self.left = 0.0  # seconds that measuring may still take
        self.candidates: list[Candidate] = []
        self.notes: list[str] = []

    def decide(self) -> Decision:
        try:
            self.plain, self.steps = plain_step(self.built[0], self.device)
        except Exception as error:  # the cells will say so themselves
            return Decision(ALONE, self.device, {}, f"a plain step failed: {_first_line(error)}")
        self.left = SHARE * span(self.counts, 1, self.workers) * self.steps * self.plain
        if self.left < 3 * PREPARE_SECONDS + 2 * self._rounds(1):  # alone and one stack
            return self._unmeasured()
        for size in (1, *(CPU_SIZES if self.device == "cpu" else CUDA_SIZES)):
            if size == 1 or (size <= 2 * max(self.counts) and self._affords(size)):
                self._add(Mode(compiled=False, stack_size=size))
        self._measure(self.candidates)
        self._refine()
        self._try_compiled()
        fastest = min(self.candidates, key=self._expected)
        return Decision(fastest.mode, self.device, self._timings(), "; ".join([self._reason(fastest), *self.notes]))

    def _unmeasured(self) -> Decision:
        """By the length of a plain step alone."""
        size = next((size for seconds, size in SMALL_STEPS if self.plain < seconds), 1)
        size = min(size, max(self.counts))
        expected = span(self.counts, 1, self.workers) * self.steps * self.plain
        timings = {PLAIN: Timing(self.plain, 0.0, expected)}
        reason = (
            f"{expected:.0f} s of training per worker would not repay measuring; a step takes {self.plain * 1e3:.2f} ms"
        )
        return Decision(Mode(compiled=False, stack_size=size), self.device, timings, reason, provisional=True)

    def _rounds(self, size: int) -> float:
        """Seconds that timing a candidate of that stack size takes."""
        return (ROUNDS + 1) * max(ROUND_SECONDS, size * self.plain)

    def _affords(self, size: int) -> bool:
        """Whether another candidate may be measured, by what the first one took."""
        return self._rounds(size) + 2 * self.candidates[0].prepare_seconds <= self.left

    def _refine(self) -> None:
        """Add the eager stack size that divides the cells best among the workers."""
        size = self._size(min(self.candidates, key=self._expected))
        new = all(size != candidate.mode.stack_size for candidate in self.candidates)
        if size > 1 and new and self._affords(size):
            self._add(Mode(compiled=False, stack_size=size))
            self._measure(self.candidates)

    def _try_compiled(self) -> None:
        fastest = min(self.candidates, key=self._expected)
        left = self._expected(fastest)
        if left < COMPILE_FROM_SECONDS:
            self.notes.append(f"{left:.0f} s of eager work per worker would not repay compiling")
            return
        if reason := can_compile(self.device):
            self.notes.append(reason)
            return
        self._add(Mode(compiled=True, stack_size=fastest.mode.stack_size))
        self._measure(self.candidates)

    def _size(self, candidate: Candidate) -> int:
        """Stack size near the candidate's with the least span."""
        size = candidate.mode.stack_size
        near = range(max(2, size // 2), size * 3 // 2 + 1) if size > 1 else range(1, 2)
        return min(near, key=lambda other: (span(self.counts, other, self.workers), abs(other - size)))

    def _add(self, mode: Mode) -> None:
        started = clock(self.device)()
        try:
            run = _runner(self.built, mode, self.device)
            run(1)
        except Exception as error:
            self.notes.append(f"{mode} failed in the probe: {_first_line(error)}")
            if mode == ALONE:
                raise
            return
        prepare_seconds = clock(self.device)() - started
        self.left -= prepare_seconds + self._rounds(mode.stack_size)
        self.candidates.append(Candidate(mode, run, prepare_seconds, clock(self.device)))

    def _measure(self, candidates: Sequence[Candidate]) -> None:
        for candidate in candidates:
            candidate.time()  # finds how many steps a round takes
        for _ in range(ROUNDS):
            for candidate in candidates:
                candidate.time()

    def _expected(self, candidate: Candidate) -> float:
        """Seconds of training until the last worker is done."""
        return span(self.counts, candidate.mode.stack_size, self.workers) * self.steps * candidate.best

    def _timings(self) -> dict[str, Timing]:
        return {c.mode.name: Timing(c.best, c.prepare_seconds, self._expected(c)) for c in self.candidates}

    def _reason(self, fastest: Candidate) -> str:
        alone = next(candidate for candidate in self.candidates if candidate.mode == ALONE)
        return (
            f"{fastest.mode}: {fastest.best * 1e3:.2f} ms per cell and step against {alone.best * 1e3:.2f} alone, "
            f"{self._expected(fastest):.0f} s expected against {self._expected(alone):.0f}"
        )


def plain_step(built: Built, device: str) -> tuple[float, int]:
    """Seconds of one optimiser step of a cell's own module without the optimiser, and the steps of the cell."""
    task, model = built.cell.task, copy.deepcopy(built.model).to(device).train()
    batches = Batches(task, [built.cell], device)
    size = task.budget.micro_batch or task.budget.batch_size
    inputs, targets = batches.like(1, size)
    now, least = clock(device), float("inf")
    for _ in range(LOOKS):
        started = now()
        torch.autograd.backward(task.loss(model(inputs[0]), targets[0]))
        if device != "cpu":
            torch.cuda.synchronize()
        least = min(least, now() - started)
    return least * (task.budget.batch_size // size), task.budget.total_steps(batches.examples)


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip()[:200]}"


def _runner(built: Sequence[Built], mode: Mode, device: str) -> Callable[[int], None]:
    tiled = [built[i % len(built)] for i in range(mode.stack_size)]
    trainer = Trainer(tiled, mode, device)
    step = trainer.prepare()

    def run(count: int) -> None:
        trainer.repeat(step, count)
        if device != "cpu":
            torch.cuda.synchronize()

    return run


def clock(device: str) -> Callable[[], float]:
    """What candidates are timed by: with one thread on a CPU the time of this process, which the other processes of
    a busy machine do not change, else the wall's."""
    return time.process_time if device == "cpu" and torch.get_num_threads() == 1 else time.perf_counter


def _default_workers(device: str) -> int:
    if device != "cpu":
        return max(1, torch.cuda.device_count())
    return max(1, (os.cpu_count() or 1) // torch.get_num_threads())
