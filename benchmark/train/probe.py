"""Choosing a mode by measuring a few steps of each candidate.

Stacking pays where operations are too small to fill the processor, compiling where they are bound by memory; both
depend on shape and machine, so they are measured. Eager candidates cost a second each. A compiled one costs tens of
seconds, so just one is tried, at the best stack size, and only when the eager work left is long enough to repay it.
Once made it is in the compiler's cache on disk, where the workers find it, so it is not counted a second time.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from benchmark.cell import Cell
from benchmark.train.build import Built, build_all
from benchmark.train.decision import Decision, Timing, span
from benchmark.train.grouping import stack_key
from benchmark.train.mode import ALONE, Mode
from benchmark.train.program import can_compile
from benchmark.train.trainer import Trainer
from benchmark.wording import reason_of

COMPILE_FROM_SECONDS = 90.0
"""Eager work per worker from which a compiled candidate is tried: it takes 10 to 40 s to make and saves 20 to 60 %."""

ROUNDS = 3
ROUND_SECONDS = 0.4
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
            built, errors = build_all([cell])
            if built:
                return _Probe(built, counts, workers, device).decide()
            error = error or reason_of(errors[cell.id])
    return Decision(ALONE, device, {}, f"no model could be built: {error}")


class _Probe:
    def __init__(self, built: list[Built], counts: list[int], workers: int, device: str) -> None:
        self.built, self.counts, self.workers, self.device = built, counts, workers, device
        self.steps = 0  # of one cell; known with the first trainer
        self.candidates: list[Candidate] = []
        self.notes: list[str] = []

    def decide(self) -> Decision:
        for size in (1, *(CPU_SIZES if self.device == "cpu" else CUDA_SIZES)):
            if size == 1 or size <= 2 * max(self.counts):
                self._add(Mode(compiled=False, stack_size=size))
        self._measure(self.candidates)
        self._refine()
        self._try_compiled()
        fastest = min(self.candidates, key=self._expected)
        return Decision(fastest.mode, self.device, self._timings(), "; ".join([self._reason(fastest), *self.notes]))

    def _refine(self) -> None:
        """Add the eager stack size that divides the cells best among the workers."""
        size = self._size(min(self.candidates, key=self._expected))
        if size > 1 and all(size != candidate.mode.stack_size for candidate in self.candidates):
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
        started = time.perf_counter()
        try:
            run, self.steps = _runner(self.built, mode, self.device)
            run(1)
        except Exception as error:
            self.notes.append(f"{mode} failed in the probe: {type(error).__name__}: {str(error).strip()[:200]}")
            if mode == ALONE:
                raise
            return
        prepare_seconds = time.perf_counter() - started
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


def _runner(built: Sequence[Built], mode: Mode, device: str) -> tuple[Callable[[int], None], int]:
    tiled = [built[i % len(built)] for i in range(mode.stack_size)]
    trainer = Trainer(tiled, mode, device)
    step = trainer.prepare()

    def run(count: int) -> None:
        trainer.repeat(step, count)
        if device != "cpu":
            torch.cuda.synchronize()

    return run, trainer.total_steps


def clock(device: str) -> Callable[[], float]:
    """What candidates are timed by: with one thread on a CPU the time of this process, which the other processes of
    a busy machine do not change, else the wall's."""
    return time.process_time if device == "cpu" and torch.get_num_threads() == 1 else time.perf_counter


def _default_workers(device: str) -> int:
    if device != "cpu":
        return max(1, torch.cuda.device_count())
    return max(1, (os.cpu_count() or 1) // torch.get_num_threads())
