"""Ctrl-C and SIGTERM: the first lets running stacks end in order, the second ends the run at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

STOPPING = threading.Event()
"""Set when the run is being stopped; jobs then end at once, without recording the cells they were training."""

HURRYING = threading.Event()
"""Set by the second signal: nothing is waited for any more, no checkpoint either."""


@contextmanager
def stopping_on_signals(interrupted: Callable[[], None]) -> Iterator[None]:
    """The first SIGINT or SIGTERM sets `STOPPING`, and the block goes on; the second ends it. So does an exception."""
    STOPPING.clear()
    HURRYING.clear()
    seen = []

    def stop(number: int, _: object) -> None:
        interrupted()
        seen.append(number)
        STOPPING.set()
        if len(seen) > 1:
            HURRYING.set()
            raise KeyboardInterrupt

    with handled(stop):
        try:
            yield
        except BaseException as error:
            STOPPING.set()
            if not (seen and isinstance(error, KeyboardInterrupt)):
                raise


@contextmanager
def handled(
    stop: Callable[[int, Any], None], numbers: Sequence[int] = (signal.SIGINT, signal.SIGTERM)
) -> Iterator[None]:
    """These signals go to `stop` meanwhile; only the main thread may do that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
