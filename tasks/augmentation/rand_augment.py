"""RandAugment as timm 1.0.31:timm/data/auto_augment.py reads `rand-m9-mstd0.5-inc1`.

Fifteen operations; severity v of 10 gives each its argument: rotation ±3v°, shears ±0.03v, shifts ±0.045v of the width
or height, posterising to 4 − ⌊0.4v⌋ bits, solarising from 256 − ⌊25.6v⌋, raising by ⌊11v⌋, and 1 ± 0.09v (at least
0.1) for colour, contrast, brightness and sharpness; signs are equally likely. Off the image is the mean colour.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tasks.augmentation import colour, geometry
from tasks.augmentation.geometry import Numbers
from tasks.augmentation.recipe import RandAugment

Operation = Callable[[Tensor, Numbers, Numbers, Tensor], Tensor]
"""images (n, C, H, W), severity 0 … 10 (n,), sign ±1 (n,), colour off the image (C,) → images."""


def _plain(function: Callable[[Tensor], Tensor]) -> Operation:
    return lambda images, level, sign, fill: function(images)


def _argument(
    function: Callable[[Tensor, Tensor], Tensor], argument: Callable[[Numbers, Numbers], Numbers]
) -> Operation:
    def apply(images: Tensor, level: Numbers, sign: Numbers, fill: Tensor) -> Tensor:
        values = torch.as_tensor(argument(level, sign), dtype=images.dtype, device=images.device)
        return function(images, values)

    return apply


def _map(matrices: Callable[[Numbers, int, int], Numbers], per_level: float) -> Operation:
    def apply(images: Tensor, level: Numbers, sign: Numbers, fill: Tensor) -> Tensor:
        return geometry.affine(images, matrices(per_level * level * sign, *images.shape[-2:]), fill)

    return apply


def enhancement(level: Numbers, sign: Numbers) -> Numbers:
    """Factor of the four enhancements."""
    return np.maximum(0.1, 1 + sign * level * 0.09)


OPERATIONS: dict[str, Operation] = {
    "auto_contrast": _plain(colour.auto_contrast),
    "equalize": _plain(colour.equalize),
    "invert": _plain(colour.invert),
    "rotate": _map(geometry.rotation, 3.0),
    "posterize": _argument(colour.posterize, lambda level, sign: 4 - np.floor(level * 0.4)),
    "solarize": _argument(colour.solarize, lambda level, sign: 256 - np.minimum(256, np.floor(level * 25.6))),
    "solarize_add": _argument(colour.solarize_add, lambda level, sign: np.minimum(128, np.floor(level * 11))),
    "color": _argument(colour.color, enhancement),
    "contrast": _argument(colour.contrast, enhancement),
    "brightness": _argument(colour.brightness, enhancement),
    "sharpness": _argument(colour.sharpness, enhancement),
    "shear_x": _map(lambda factor, height, width: geometry.shear_x(factor), 0.03),
    "shear_y": _map(lambda factor, height, width: geometry.shear_y(factor), 0.03),
    "shift_x": _map(lambda share, height, width: geometry.shift_x(share * width), 0.045),
    "shift_y": _map(lambda share, height, width: geometry.shift_y(share * height), 0.045),
}


def rand_augment(images: Tensor, settings: RandAugment, rng: np.random.Generator, fill: Tensor) -> Tensor:
    """Every image (n, C, H, W) through its own operations."""
    names, count = list(OPERATIONS), len(images)
    images = images.clone()
    for _ in range(settings.operations):
        chosen: NDArray[np.int64] = rng.integers(len(names), size=count)
        applied = rng.random(count) < settings.probability
        level = np.clip(rng.normal(settings.magnitude, settings.magnitude_std, count), 0, 10)
        sign = np.where(rng.random(count) < 0.5, -1.0, 1.0)
        for number, name in enumerate(names):
            rows = np.flatnonzero(applied & (chosen == number))
            if len(rows):
                index = torch.as_tensor(rows, device=images.device)
                images[index] = OPERATIONS[name](images[index], level[rows], sign[rows], fill)
    return images
