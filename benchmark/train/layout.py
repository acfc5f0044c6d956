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
            found = ", ".join(sorted(map(str, dtypes))) or "no parameters at all"
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
        pieces = []
        for i, (name, shape) in enumerate(zip(self.names, self.shapes, strict=True)):
            count = math.prod(shape)
            tensor = tensors[name]
            lead = tensor.shape[: tensor.dim() - len(shape)]
            pieces.append(tensor.reshape(*lead, count))
            end = self.offsets[i + 1] if i + 1 < len(self.names) else self.size
            if padding := end - self.offsets[i] - count:
                pieces.append(tensor.new_zeros(*lead, padding))
        return torch.cat(pieces, dim=-1)
