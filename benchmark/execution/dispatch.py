"""joblib's part: handing jobs to threads or processes of any backend, and stopping them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from benchmark.errors import UsageError
from benchmark.execution.supervise import STOPPING
from benchmark.wording import counted

REDISPATCHES = 5
"""How often what is left is handed out again after joblib's own workers died."""

SHARED = ("threading", "sequential")
"""Backends whose workers see this process's memory, `STOPPING` among it."""


def dispatched(
    function: Callable[[Any], Any], jobs: Sequence[Any], backend: str, workers: int, note: Callable[[str], None]
) -> Iterator[tuple[int, Any]]:
    """`(position, function(job))` as they come; jobs whose joblib worker died are handed out again.

    Raises:
        UsageError: the backend is not there.  Whatever `function` raises.
    """
    left = dict(enumerate(jobs))
    for attempt in range(REDISPATCHES + 1):
        try:
            for number, result in in_parallel(function, left, backend, workers):
                del left[number]
                yield number, result
        except Exception as error:
            if not died(error) or attempt == REDISPATCHES or STOPPING.is_set():
                raise
            note(f"A worker of the {backend} backend died; handing out {counted(len(left), 'stack')} again")
        else:
            return


def died(error: Exception) -> bool:
    """Whether joblib's own worker was killed (loky, Dask or Ray), as against an error of ours."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"TerminatedWorkerError", "BrokenProcessPool", "KilledWorker", "WorkerCrashedError"})


def in_parallel(
    function: Callable[[Any], Any], jobs: Mapping[int, Any], backend: str, workers: int
) -> Iterator[tuple[int, Any]]:
    """`(number, function(job))` by joblib, unordered."""
    from joblib import Parallel, delayed, parallel_config

    with ExitStack() as context:
        if backend == "dask":
            context.enter_context(dask_client(workers))
        elif backend == "ray":
            register_ray()
        context.enter_context(parallel_config(backend=backend, n_jobs=workers))
        run = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
        yield from run(delayed(numbered)(number, function, job) for number, job in dict(jobs).items())


def numbered(number: int, function: Callable[[Any], Any], job: Any) -> tuple[int, Any]:
    """The result with its job's number, since results come in any order."""
    return number, function(job)


def require_backend(name: str) -> None:
    """Refuse a backend that joblib does not know or whose package cannot be imported.

    Raises:
        UsageError: with the names that are known, or the package to install.
    """
    from joblib.parallel import BACKENDS, EXTERNAL_BACKENDS

    known = sorted({*BACKENDS, *EXTERNAL_BACKENDS, "dask", "ray"})
    if name not in known:
        raise UsageError(f"--backend '{name}' is not known to joblib; known: {', '.join(known)}.")
    package = {"dask": "distributed", "ray": "ray"}.get(name)
    if package is None:
        return
    try:
        __import__(package)
    except ImportError as error:
        raise UsageError(f"--backend {name} needs the package '{package}' ({error}): pip install {package}") from None


def dask_client(workers: int) -> Any:
    """A client of the scheduler at DASK_SCHEDULER_ADDRESS, or of a cluster of this machine; closes with its block."""
    from dask.distributed import Client  # type: ignore[import-not-found,unused-ignore]

    address = os.environ.get("DASK_SCHEDULER_ADDRESS")
    own = {} if address else {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    return Client(address, **own)


def register_ray() -> None:
    """Tell joblib about Ray."""
    from ray.util.joblib import register_ray as register  # type: ignore[import-not-found,unused-ignore]

    register()


@contextmanager
def stopping_on_signals(backend: str, interrupted: Callable[[], None]) -> Iterator[None]:
    """The first SIGINT or SIGTERM lets running stacks be ended in order and the block go on, the second ends it.

    Workers in other processes cannot see the flag; there the first signal ends the block, and training processes end
    because their parents do. An exception stops running stacks too.
    """
    STOPPING.clear()
    seen = []

    def stop(number: int, _: object) -> None:
        interrupted()
        seen.append(number)
        STOPPING.set()
        if len(seen) > 1 or backend not in SHARED:
            raise KeyboardInterrupt

    with handled(stop):
        try:
            yield
        except BaseException as error:
            STOPPING.set()
            if not (seen and isinstance(error, KeyboardInterrupt)):
                raise


@contextmanager
def handled(stop: Callable[[int, Any], None]) -> Iterator[None]:
    """Both signals go to `stop` meanwhile; only the main thread may do that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
