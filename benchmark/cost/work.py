"""What a cell asks of a device, counted; no torch here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from benchmark.parameters import Budget
from benchmark.task import Workload


class Operation(NamedTuple):
    """One operation as the device is asked for it."""

    flops: int
    """Floating-point operations if it is a matrix product (2 for a multiply-add), else 0."""
    bytes: int
    """Read and written."""


@dataclass(frozen=True)
class Pass:
    """One run of a program for one cell."""

    operations: tuple[Operation, ...]
    peak: int
    """Most bytes alive at once that the program itself made: activations, gradients, temporaries."""

    @cached_property
    def flops(self) -> int:
        """Floating-point operations of its matrix products."""
        return sum(operation.flops for operation in self.operations)

    @cached_property
    def bytes(self) -> int:
        """Bytes its operations read and write."""
        return sum(operation.bytes for operation in self.operations)


@dataclass(frozen=True)
class Work:
    """What one cell of a task asks for."""

    parameters: int
    """Scalars in the model."""
    row_bytes: int
    """Bytes of one row of the engine's matrices: all parameters, aligned."""
    rows: int
    """Rows held throughout: parameters, two moments, three rows of training rules, the moving average if any."""
    averaged: bool
    """Whether a moving average of the parameters is kept, and scored too."""
    step: Pass
    """One optimiser step: forward, backward, update; micro-batches included."""
    forward: Pass
    """Scoring one chunk of examples."""
    forward_size: int
    """Examples in that chunk."""
    workload: Workload

    @property
    def state_bytes(self) -> int:
        """Memory held from the first step to the last."""
        return self.rows * self.row_bytes

    @property
    def memory_bytes(self) -> int:
        """Memory of one cell at its peak, the data set not counted."""
        return self.state_bytes + max(self.step.peak, self.forward.peak)

    def steps(self, budget: Budget) -> int:
        """Optimiser steps of a cell."""
        return budget.total_steps(self.workload.training)

    def points(self, budget: Budget) -> int:
        """Points of the curve, the one before the first step included."""
        every = budget.evaluate_every or budget.steps_per_epoch(self.workload.training)
        return 1 + -(-self.steps(budget) // every)

    def forwards(self, budget: Budget) -> int:
        """Chunks scored over a cell's life: at each point of the curve and once at the end, twice with an average."""
        chunks = [-(-examples // self.forward_size) for examples in (self.workload.curve, self.workload.final)]
        return (1 + self.averaged) * (self.points(budget) * chunks[0] + chunks[1])

    def flops(self, budget: Budget) -> int:
        """Floating-point operations of a cell, training and scoring."""
        return self.steps(budget) * self.step.flops + self.forwards(budget) * self.forward.flops
