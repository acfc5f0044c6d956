"""Workers of a Dask cluster: a given scheduler's, or a cluster of this machine that ends with the run."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from benchmark.backends.contract import Backend, BackendError, Function, Lost, Options, Wanted, WorkerError
from benchmark.backends.local import default_threads, default_workers
from benchmark.backends.work import let_go, perform
from benchmark.errors import BenchError
from benchmark.execution.devices import resolve_device
from benchmark.execution.job import Job


class DaskOptions(Options):
    """Options of `--backend dask`."""

    address: str = ""
    """Scheduler, for example `tcp://head:8786`; without one a cluster of this machine is started."""
    gpu: str = "GPU"
    """What the workers call a GPU (`dask worker --resources GPU=1`); one stack takes one."""
    threads: int = 1
    """Torch threads of a stack on a given cluster; on this machine cores are shared out."""
    wait_seconds: float = 60.0
    """How long to wait for the scheduler and its first worker."""


class Dask(Backend):
    """A lost worker is one whose process died or whose connection broke; a cluster of our own does not try again."""

    Options = DaskOptions

    def __init__(self, options: DaskOptions, wanted: Wanted) -> None:
        self._futures: dict[Any, int] = {}
        self._client: Any = None
        self._cluster: Any = None
        if options.address:
            self.device = "cpu" if wanted.device == "auto" else wanted.device
            self.threads = options.threads
            self._client = connected(options)
            self.workers = wanted.workers or sum(self._client.nthreads().values())
        else:
            self.device = resolve_device(wanted.device)
            self.workers = wanted.workers or default_workers(self.device)
            self.threads = default_threads(self.workers)
            self._cluster, self._client = local_cluster(self.workers, options.gpu)
        self._resources = {options.gpu: 1.0} if self.device.startswith("cuda") else {}
        offers = [worker["resources"] for worker in self._client.scheduler_info(n_workers=-1)["workers"].values()]
        if self._resources and not any(options.gpu in offered for offered in offers):
            self.close()
            raise BackendError(
                f"No worker of the Dask cluster offers the resource '{options.gpu}'; start workers with "
                f"`dask worker ADDRESS --resources {options.gpu}=1`, or name theirs with --backend-option gpu=NAME."
            )

    def submit(self, function: Function, jobs: Mapping[int, Job]) -> None:
        """See `Backend.submit`."""
        how = {"resources": self._resources, "retries": 0, "pure": False}
        for number, job in jobs.items():
            key = f"bench-{job.stack_id}-{uuid.uuid4().hex}"
            self._futures[self._client.submit(perform, function, job, key=key, **how)] = number

    def collect(self, seconds: float) -> list[tuple[int, Any]]:
        """See `Backend.collect`."""
        from distributed import wait

        try:
            done = wait([*self._futures], timeout=seconds, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            return []
        return [(self._futures.pop(future), answer(future)) for future in done]

    def close(self) -> None:
        """See `Backend.close`; a given cluster keeps its workers, which let go of their training processes."""
        if self._client is not None and self._cluster is None:
            self._client.run(let_go, on_error="ignore")
        for part in (self._client, self._cluster):
            if part is not None:
                part.close()
        self._client = self._cluster = None


def connected(options: DaskOptions) -> Any:
    """A client of the scheduler at the address, with a worker at least."""
    from distributed import Client

    try:
        client = Client(options.address, timeout=options.wait_seconds)
        client.wait_for_workers(1, timeout=options.wait_seconds)
    except (OSError, ValueError, TimeoutError) as error:
        raise BackendError(
            f"No Dask cluster at {options.address}: {error}. Start one with `dask scheduler` and "
            f"`dask worker {options.address}` where the store is to be seen (docs/cluster.md)."
        ) from None
    return client


def local_cluster(workers: int, gpu: str) -> tuple[Any, Any]:
    """A cluster of processes of this machine, on loopback, and its client."""
    import dask
    from distributed import Client, LocalCluster

    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, host="127.0.0.1",
        resources={gpu: 1}, memory_limit=0, silence_logs=50,
    )  # fmt: skip
    return cluster, Client(cluster)


def answer(future: Any) -> Any:
    """What a future that is over holds, in the words of the contract."""
    from distributed import KilledWorker

    if future.status == "finished":
        return future.result()
    if future.status != "error":
        return Lost("died", "the Dask scheduler lost the job")
    error = future.exception()
    if isinstance(error, KilledWorker):
        return Lost("died", f"Dask worker {getattr(error.last_worker, 'address', '')} is gone")
    return error if isinstance(error, BenchError) else WorkerError(f"a Dask worker raised {error!r}")
