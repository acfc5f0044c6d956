"""The next step's batch, gathered on the host and copied while the device works on the one before.

For training sets that do not fit on the device. Two buffers of page-locked memory take turns: a thread fills one while
the other's copy runs on a stream of its own. Images stay uint8 until they are on the device, a quarter of the bytes of
float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor


class Prefetch:
    """Rows of tensors on the host, as tensors on the device, one step after the other."""

    def __init__(self, tensors: Sequence[Tensor], index: Callable[[], Tensor], device: str) -> None:
        """`index()` gives the rows of the next step, int64 (C, B); each of `tensors` is (n, ...)."""
        self._tensors, self._index, self._device = tensors, index, device
        self._stream = torch.cuda.Stream(device) if device != "cpu" else None  # type: ignore[no-untyped-call]
        self._buffers: list[list[Tensor]] = [[], []]
        self._copied: list[Any] = [None, None]
        self._turn = 0
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="prefetch")
        self._next: Future[tuple[list[Tensor], Any]] | None = None

    def take(self) -> list[Tensor]:
        """The tensors of the next step, each (C, B, ...), on the device."""
        ready = self._next or self._pool.submit(self._load)
        batch, event = ready.result()
        self._next = self._pool.submit(self._load)
        if event is not None:
            stream = torch.cuda.current_stream(self._device)
            stream.wait_event(event)
            for tensor in batch:
                tensor.record_stream(stream)
        return batch

    def _load(self) -> tuple[list[Tensor], Any]:
        """Gather into the buffers whose turn it is, once their last copy is done, and start the copy."""
        turn, self._turn = self._turn, 1 - self._turn
        if self._copied[turn] is not None:
            self._copied[turn].synchronize()
        index = self._index()
        buffers = self._buffers_for(turn, index)
        for tensor, buffer in zip(self._tensors, buffers, strict=True):
            torch.index_select(tensor, 0, index.flatten(), out=buffer.flatten(0, 1))
        with torch.cuda.stream(self._stream):  # without one, on the CPU, this does nothing
            batch = [buffer.to(self._device, non_blocking=True, copy=True) for buffer in buffers]
            self._copied[turn] = self._stream.record_event() if self._stream else None
        return batch, self._copied[turn]

    def _buffers_for(self, turn: int, index: Tensor) -> list[Tensor]:
        if not self._buffers[turn]:
            pinned = self._stream is not None
            self._buffers[turn] = [
                torch.empty(*index.shape, *tensor.shape[1:], dtype=tensor.dtype, pin_memory=pinned)
                for tensor in self._tensors
            ]
        return self._buffers[turn]
