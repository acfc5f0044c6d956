"""All parameters of a cell in one row of a matrix, so that an optimiser step is a handful of operations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

_ALIGNMENT = 16
"""Offsets are multiples of this many scalars (64 bytes of float32), so that every view starts on a cache line."""


@dataclass(frozen=True)
class Run:
    """Scalars `start` to `stop` of rows: `values` (..., stop − start), of one parameter alone or of several."""

    start: int
    stop: int
    values: Tensor
    alone: bool


@dataclass(frozen=True)
class Layout:
    """Where each named parameter lies in a row of `size` scalars."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    offsets: tuple[int, ...]
    size: int
    dtype: torch.dtype

    @classmethod
    def of(cls, model: torch.nn.Module) -> Layout:
        """Layout of the model's parameters in their order; ValueError when they are of more than one dtype."""
        named = dict(model.named_parameters())
        dtypes = {parameter.dtype for parameter in named.values()}
        if len(dtypes) != 1:
            first = {parameter.dtype: name for name, parameter in reversed(named.items())}
            found = ", ".join(sorted(f"{kind} ({name})" for kind, name in first.items())) or "no parameters at all"
            raise ValueError(f"a model to train needs parameters of one dtype; found {found}")
        offsets, end = [], 0
        for parameter in named.values():
            offsets.append(end)
            end += -(-parameter.numel() // _ALIGNMENT) * _ALIGNMENT
        shapes = tuple(tuple(parameter.shape) for parameter in named.values())
        return cls(tuple(named), shapes, tuple(offsets), end, dtypes.pop())

    @property
    def scalars(self) -> int:
        """Number of scalars in the model, padding not counted."""
        return sum(math.prod(shape) for shape in self.shapes)

    def split(self, rows: Tensor) -> dict[str, Tensor]:
        """Views of `rows` (..., size) by name, each (..., *shape)."""
        lead = rows.shape[:-1]
        return {
            name: rows.narrow(-1, offset, math.prod(shape)).view(*lead, *shape)
            for name, shape, offset in zip(self.names, self.shapes, self.offsets, strict=True)
        }

    def join(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Rows (..., size) from tensors (..., *shape) by name; the padding is zero."""
        return self._joined(tensors, range(len(self.names)))

    def runs(self, tensors: Mapping[str, Tensor], limit: int) -> list[Run]:
        """The rows of `join` in runs of at most `limit` scalars, padding aside.

        Small neighbours are joined, large tensors cut and not copied. Work on one run after the other stays in the
        processor's cache where the whole rows would not.
        """
        runs, small = [], range(0)
        for i, shape in enumerate(self.shapes):
            if self._end(i) - self.offsets[small.start if small else i] <= limit:
                small = range(small.start if small else i, i + 1)
                continue
            runs += self._together(tensors, small)
            small = range(i, i + 1)
            if math.prod(shape) > limit:
                runs += self._cut(tensors, i, limit)
                small = range(0)
        return runs + self._together(tensors, small)

    def _end(self, i: int) -> int:
        """Where the i-th parameter ends, padding included."""
        return self.offsets[i + 1] if i + 1 < len(self.names) else self.size

    def _joined(self, tensors: Mapping[str, Tensor], which: range) -> Tensor:
        pieces = []
        for i in which:
            flat = self._flat(tensors, i)
            pieces.append(flat)
            if padding := self._end(i) - self.offsets[i] - flat.shape[-1]:
                pieces.append(flat.new_zeros(*flat.shape[:-1], padding))
        return torch.cat(pieces, dim=-1)

    def _flat(self, tensors: Mapping[str, Tensor], i: int) -> Tensor:
        tensor = tensors[self.names[i]]
        return tensor.flatten(tensor.dim() - len(self.shapes[i])) if self.shapes[i] else tensor.unsqueeze(-1)

    def _together(self, tensors: Mapping[str, Tensor], which: range) -> list[Run]:
        if not which:
            return []
        start, stop = self.offsets[which.start], self._end(which.stop - 1)
        return [Run(start, stop, self._joined(tensors, which), alone=False)]

    def _cut(self, tensors: Mapping[str, Tensor], i: int, limit: int) -> list[Run]:
        start = self.offsets[i]
        pieces = torch.split(self._flat(tensors, i), limit, dim=-1)
        return [Run(start + n * limit, start + n * limit + p.shape[-1], p, alone=True) for n, p in enumerate(pieces)]
