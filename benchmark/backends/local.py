"""Threads of this process, each of which supervises a training process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from benchmark.backends.contract import Backend, Function, Lost, Options, Wanted
from benchmark.backends.work import perform
from benchmark.cell import PluginFile
from benchmark.execution.devices import candidates, resolve_device
from benchmark.execution.job import Job
from benchmark.execution.process import POOL, Place


class Local(Backend):
    """This machine. A worker cannot be lost: what training does to its process is `supervise`'s business."""

    shares_memory = True

    def __init__(self, options: Options | None = None, wanted: Wanted | None = None) -> None:
        wanted = wanted or Wanted(workers=1, device="cpu")
        self.device = resolve_device(wanted.device)
        self.workers = wanted.workers or default_workers(self.device)
        self.threads = default_threads(self.workers)
        self._executor: ThreadPoolExecutor | None = None
        self._futures: dict[Future[Any], int] = {}

    def expect(self, jobs: int, plugins: tuple[PluginFile, ...]) -> None:
        """Training processes import torch while the run plans; on a GPU each is started for its own."""
        if self.device == "cpu":
            POOL.warm(Place(None, self.threads, plugins), min(jobs, self.workers))

    def submit(self, function: Function, jobs: Mapping[int, Job]) -> None:
        """See `Backend.submit`."""
        self._executor = self._executor or ThreadPoolExecutor(self.workers, "stack")
        for number, job in jobs.items():
            self._futures[self._executor.submit(perform, function, job, True)] = number

    def collect(self, seconds: float) -> list[tuple[int, Any]]:
        """See `Backend.collect`; what a job raises is raised here."""
        done = wait(self._futures, seconds, FIRST_COMPLETED).done
        return [
            (self._futures.pop(future), Lost("cancelled") if future.cancelled() else future.result()) for future in done
        ]

    def cancel(self) -> None:
        """See `Backend.cancel`."""
        for future in self._futures:
            future.cancel()

    def close(self) -> None:
        """End idle training processes; busy ones end by `STOPPING`."""
        if self._executor:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None
        self._futures.clear()
        POOL.close()


def default_workers(device: str) -> int:
    """One per GPU, or one per core that this process may use (cgroup and affinity limits respected)."""
    if device.startswith("cuda"):
        return max(1, len(candidates(device)))
    from joblib import cpu_count

    return int(cpu_count())


def default_threads(workers: int) -> int:
    """Cores shared out evenly, at least one each."""
    from joblib import cpu_count

    return max(1, int(cpu_count()) // workers)
