"""Batches of images for the device: rows of a memory map gathered on the host, copied while the device computes.

Two buffers of page-locked memory take turns: while the device works on one batch, a thread gathers the next one and
its copy runs on a stream of its own. Pixels stay uint8 until they are on the device, a quarter of the bytes of float.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from tasks.data.arrays import Images


def gather(images: Images, index: Any, pixels: torch.Tensor, labels: torch.Tensor) -> int:
    """Copy the rows `index` (B,) into `pixels` (≥ B, H, W, C) uint8 and `labels` (≥ B,) int64; returns B."""
    import numpy as np

    rows = len(index)
    np.take(images.pixels, index, axis=0, out=pixels.numpy()[:rows], mode="clip")
    np.take(images.labels, index, axis=0, out=labels.numpy()[:rows], mode="clip")
    return rows


class Batches:
    """Iterates over batches of given rows: pixels (B, H, W, C) uint8 and labels (B,) int64, both on `device`.

    A batch is valid until the one after the next is asked for.
    """

    def __init__(self, images: Images, index: Sequence[Any] | Iterator[Any], batch_size: int, device: Any) -> None:
        """`index` gives one integer array of at most `batch_size` rows per batch."""
        import torch

        self._images, self._index = images, index
        self._device = torch.device(device)
        self._stream = torch.cuda.Stream(self._device) if self._device.type == "cuda" else None
        shape = (batch_size, *images.pixels.shape[1:])
        pinned = self._stream is not None
        self._buffers = [
            (torch.empty(shape, dtype=torch.uint8, pin_memory=pinned), torch.empty(batch_size, dtype=torch.int64))
            for _ in range(2)
        ]
        self._copied: list[Any] = [None, None]

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        with ThreadPoolExecutor(1) as pool:
            waiting = None
            for number, index in enumerate(self._index):
                following = pool.submit(self._load, number % 2, index)
                if waiting is not None:
                    yield self._arrived(waiting.result())
                waiting = following
            if waiting is not None:
                yield self._arrived(waiting.result())

    def _load(self, which: int, index: Any) -> tuple[torch.Tensor, torch.Tensor, Any]:
        """Gather into one buffer and start its copy; a buffer is filled again only when its last copy is done."""
        import torch

        if self._copied[which] is not None:
            self._copied[which].synchronize()
        pixels, labels = self._buffers[which]
        rows = gather(self._images, index, pixels, labels)
        if self._stream is None:
            return pixels[:rows], labels[:rows], None
        with torch.cuda.stream(self._stream):
            there = pixels[:rows].to(self._device, non_blocking=True), labels[:rows].to(self._device)
            self._copied[which] = self._stream.record_event()
        return *there, self._copied[which]

    def _arrived(self, loaded: tuple[torch.Tensor, torch.Tensor, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """Make the device's work wait for the copy, and the allocator keep the memory while that work needs it."""
        import torch

        pixels, labels, event = loaded
        if event is not None:
            stream = torch.cuda.current_stream(self._device)
            stream.wait_event(event)
            pixels.record_stream(stream)
            labels.record_stream(stream)
        return pixels, labels
