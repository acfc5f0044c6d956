"""Batches of images for the device: rows of a memory map gathered on the host, copied while the device computes.

Two buffers of page-locked memory take turns: while the device works on one batch, a thread gathers the next one and
its copy runs on a stream of its own. Pixels stay uint8 until they are on the device, a quarter of the bytes of float.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from tasks.data.arrays import Images


def gather(images: Images, index: Any, pixels: torch.Tensor, labels: torch.Tensor) -> int:
    """Copy the rows `index` (B,) into `pixels` (≥ B, H, W, C) uint8 and `labels` (≥ B,) int64; returns B.

    Raises:
        IndexError: a row that is not there (numpy's own check would copy every batch once more).
    """
    import numpy as np

    check_rows(images, index)
    rows = len(index)
    np.take(images.pixels, index, axis=0, out=pixels.numpy()[:rows], mode="clip")
    np.take(images.labels, index, axis=0, out=labels.numpy()[:rows], mode="clip")
    return rows


def check_rows(images: Images, index: Any) -> None:
    """Refuse rows that are not there; negative ones too, which numpy would count from the end.

    Raises:
        IndexError: with the range asked for.
    """
    if len(index) and not 0 <= index.min() <= index.max() < len(images):
        raise IndexError(f"rows {index.min()} to {index.max()} of {len(images)}")


class Batches:
    """Iterates over batches of given rows: pixels (B, H, W, C) uint8 and labels (B,) int64, both on `device`.

    Where there is nothing to overlap (the CPU), each batch is simply gathered when it is asked for.
    """

    def __init__(
        self,
        images: Images,
        index: Iterable[Any],
        batch_size: int,
        device: Any,
        *,
        ahead: bool | None = None,
    ) -> None:
        """`index` gives one integer array of at most `batch_size` rows per batch.

        `ahead` gathers the next batch while one is used, by default on CUDA only; on the CPU a batch is then a buffer
        that is filled anew once the next one is asked for.
        """
        import torch

        self._images, self._index = images, index
        self._device = torch.device(device)
        self._stream: Any = None
        if self._device.type == "cuda":
            self._stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        self._ahead = self._stream is not None if ahead is None else ahead
        self._batch_size = batch_size
        self._copied: list[Any] = [None, None]

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        return self._gathered_ahead() if self._ahead else self._gathered_when_asked()

    def _gathered_when_asked(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        import torch

        for index in self._index:
            check_rows(self._images, index)
            pixels, labels = self._images.pixels[index], self._images.labels[index]
            yield torch.from_numpy(pixels).to(self._device), torch.from_numpy(labels).to(self._device)

    def _buffer(self, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        shape = (rows, *self._images.pixels.shape[1:])
        pinned = self._stream is not None
        return torch.empty(shape, dtype=torch.uint8, pin_memory=pinned), torch.empty(rows, dtype=torch.int64)

    def _gathered_ahead(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        self._buffers = [self._buffer(self._batch_size) for _ in range(2)]
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
