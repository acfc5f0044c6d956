"""How many cells of a task a GPU holds at once, learnt from stacks that ran out of its memory; kept by this process."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

from benchmark.execution.job import Job

OVERFLOW = re.compile(r"OutOfMemoryError|CUDA out of memory")

_limits: dict[tuple[str, str, str], int] = {}
"""(task, mode, device) → cells that may still fit: half of the fewest that did not."""


def learn(job: Job, traceback: str) -> None:
    """Note that a job's cells together did not fit, if that is what its traceback says."""
    if OVERFLOW.search(traceback):
        _limits[key(job)] = max(1, min(len(job.cells) // 2, _limits.get(key(job), len(job.cells))))


def fitting(job: Job) -> list[Job]:
    """The job in as few, about equal pieces as are known to be needed; itself where nothing is known."""
    limit = _limits.get(key(job), len(job.cells))
    count = -(-len(job.cells) // limit) if job.cells else 1
    edges = [len(job.cells) * k // count for k in range(count + 1)]
    return [replace(job, cells=job.cells[a:b]) for a, b in pairwise(edges)]


def key(job: Job) -> tuple[str, str, str]:
    """What the number holds for."""
    return job.task, job.mode, job.device
