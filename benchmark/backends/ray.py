"""Tasks of a Ray cluster: a given one, or a small one of this machine that ends with the run."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import Any

from benchmark.backends.contract import Backend, BackendError, Function, Lost, Options, Wanted, WorkerError
from benchmark.backends.local import default_threads, default_workers
from benchmark.backends.work import perform
from benchmark.errors import BenchError
from benchmark.execution.devices import gpus, resolve_device
from benchmark.execution.job import Job

OWN = {"include_dashboard": False, "object_store_memory": 80 * 2**20, "_node_ip_address": "127.0.0.1"}
"""A cluster of this machine: on loopback, and small, since jobs and answers are a few kilobytes each."""

KNOCK_SECONDS = 10.0


class RayOptions(Options):
    """Options of `--backend ray`."""

    address: str = ""
    """`auto` or `HEAD:6379` for a running cluster; without one a cluster of this machine is started."""
    cpus: int = 1
    """Cores of a stack on a given cluster, and its torch threads; on this machine cores are shared out."""


class Ray(Backend):
    """A lost worker is one whose process or node died; Ray itself does not try again. On a GPU, one stack takes one."""

    Options = RayOptions

    def __init__(self, options: RayOptions, wanted: Wanted) -> None:
        self._numbers: dict[Any, int] = {}
        if options.address:
            self.device = "cpu" if wanted.device == "auto" else wanted.device
            self.threads = options.cpus
            self._ray = started(options.address)
        else:
            self.device = resolve_device(wanted.device)
            self.workers = wanted.workers or default_workers(self.device)
            self.threads = default_threads(self.workers)
            self._ray = started("local", num_cpus=self.workers, **OWN)
        on_gpu = self.device.startswith("cuda")
        room = self._ray.cluster_resources()
        if on_gpu and not room.get("GPU"):
            self.close()
            raise BackendError("The Ray cluster has no GPU; use --device cpu, or start its nodes with --num-gpus.")
        if options.address:
            self.workers = wanted.workers or max(1, int(room["GPU"] if on_gpu else room["CPU"] // options.cpus))
        needs = {"num_cpus": options.cpus if options.address else 1, "num_gpus": int(on_gpu)}
        self._perform = self._ray.remote(max_retries=0, **needs)(at_ray_worker)

    def submit(self, function: Function, jobs: Mapping[int, Job]) -> None:
        """See `Backend.submit`."""
        for number, job in jobs.items():
            self._numbers[self._perform.remote(function, job)] = number

    def collect(self, seconds: float) -> list[tuple[int, Any]]:
        """See `Backend.collect`."""
        done, _ = self._ray.wait([*self._numbers], num_returns=1, timeout=seconds)
        return [(self._numbers.pop(reference), self._answer(reference)) for reference in done]

    def _answer(self, reference: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.OutOfMemoryError as error:
            return Lost("out of memory", str(error))
        except (errors.WorkerCrashedError, errors.NodeDiedError, errors.LocalRayletDiedError) as error:
            return Lost("died", first_sentence(error))
        except errors.TaskCancelledError:
            return Lost("cancelled")
        except errors.RayTaskError as error:
            return error.cause if isinstance(error.cause, BenchError) else WorkerError(str(error))

    def close(self) -> None:
        """See `Backend.close`."""
        self._numbers.clear()
        self._ray.shutdown()


def started(address: str, **own: Any) -> Any:
    """Ray, connected to the cluster at the address, or with one of its own."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    try:
        if ":" in address:  # Ray itself would knock for minutes
            host, _, port = address.rpartition("/")[2].rpartition(":")
            socket.create_connection((host, int(port)), KNOCK_SECONDS).close()
        ray.init(address, log_to_driver=False, logging_level="ERROR", **own)
    except (OSError, RuntimeError, ValueError) as error:
        raise BackendError(
            f"No Ray cluster at {address}: {error}. Start one with `ray start --head` on one machine and "
            "`ray start --address HEAD:6379` on the others; RAY_AUTH_MODE=token has Ray send its token, where it asks "
            "for one (docs/cluster.md)."
        ) from None
    return ray


def at_ray_worker(function: Function, job: Job) -> Any:
    """`perform`, on the GPU that Ray has given to this task: its worker may have had another one before."""
    gpus.cache_clear()
    return perform(function, job)


def first_sentence(error: Exception) -> str:
    """Ray's messages go on for a page."""
    return str(error).strip().split(". ")[0].replace("\n", " ")
