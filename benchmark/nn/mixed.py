"""Where mixed precision takes effect: on CUDA, and where the work that CUDA would do is being counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_counting: ContextVar[bool] = ContextVar("counting", default=False)


def takes_effect(device: str) -> bool:
    """Whether a model that asks for bfloat16 gets it on this type of device."""
    return device == "cuda" or _counting.get()


@contextmanager
def counted_as_on_cuda() -> Iterator[None]:
    """Within it a model that asks for bfloat16 gets it everywhere: its operations are counted, not run."""
    token = _counting.set(True)
    try:
        yield
    finally:
        _counting.reset(token)
