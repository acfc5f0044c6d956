"""Random numbers as a function of a seed and a position, so that a stack draws for each of its cells what the cell
would draw alone, on every device.

Each number is a 32-bit mixing function (xor-shifts and odd multipliers, the construction of MurmurHash3's finalizer)
of its position, mixed again with the seed. Multipliers stay below 2³¹ and states below 2³², so that no product leaves
the range of int64. This is noise for regularisation, not for cryptography.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping

import torch
from torch import Tensor, nn

SEED = "noise_seed"
"""Name of the buffer, int64 (), that the engine sets anew for every cell and step."""

WORD = 0xFFFFFFFF
_ROUNDS = ((16, 0x7FEB352D), (15, 0x2C1B3C6D), (12, 0x297A2D39))
_GOLDEN = 0x9E3779B9


def _mixed(state: Tensor) -> Tensor:
    """32-bit integers (held in int64) → 32-bit integers that look unrelated."""
    for shift, factor in _ROUNDS:
        state = ((state ^ (state >> shift)) * factor) & WORD
    return state ^ (state >> 15)


def words(seed: Tensor, count: int, *, stream: int = 0) -> Tensor:
    """`count` integers from 0 to 2³² − 1, int64, of a seed () from the same range; streams are independent."""
    position = torch.arange(count, dtype=torch.int64, device=seed.device)
    return _mixed(_mixed(position + (stream + 1) * _GOLDEN & WORD) ^ seed)


def uniform(seed: Tensor, shape: tuple[int, ...], *, stream: int = 0) -> Tensor:
    """Numbers from [0, 1), float32, of 24 bits each."""
    return ((words(seed, math.prod(shape), stream=stream) >> 8).float() * 2.0**-24).view(shape)


def normal(seed: Tensor, shape: tuple[int, ...], *, stream: int = 0) -> Tensor:
    """Standard normal numbers, float32 (Box and Muller 1958)."""
    radius = (-2 * torch.log1p(-uniform(seed, shape, stream=2 * stream))).sqrt()
    return radius * torch.cos(2 * math.pi * uniform(seed, shape, stream=2 * stream + 1))


def own(seed: Tensor, name: str) -> Tensor:
    """The seed of the noise buffer of that dotted name: a module's own; the model's is the seed as it is."""
    return seed if name == SEED else (seed + zlib.crc32(name.encode()) * _GOLDEN) & WORD


class Dropout(nn.Module):
    """`torch.nn.Dropout` whose mask is the cell's own: a function of the cell's seed, the step and the module's name.

    Each instance draws one mask per step, so that every place in a model needs its own.
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"the probability of dropout must be at least 0 and below 1, found {p}")
        self.p = p
        self.register_buffer(SEED, torch.zeros((), dtype=torch.int64), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Any shape → the same shape; in training zero with probability p, else divided by 1 − p."""
        if not self.training or self.p == 0:
            return x
        return x * (uniform(self.get_buffer(SEED), tuple(x.shape)) >= self.p) / (1 - self.p)


def has_noise(model: nn.Module) -> bool:
    """Whether a model asks the engine for noise."""
    return any(is_seed(name) for name, _ in model.named_buffers())


def is_seed(name: str) -> bool:
    """Whether a buffer of that dotted name holds a noise seed."""
    return name.rpartition(".")[2] == SEED


def shifted(buffers: Mapping[str, Tensor], part: int) -> dict[str, Tensor]:
    """Buffers whose noise seeds are those of another part of the same batch."""
    return {n: (t + part * _GOLDEN) & WORD if part and is_seed(n) else t for n, t in buffers.items()}
