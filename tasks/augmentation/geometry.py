"""Crops, flips and affine maps of a batch: each output pixel samples one place of its image, bilinearly.

Images are float (n, C, H, W) with whole values 0 … 255. Places are in pixels, the centre of the first pixel at 0.5.
Values become whole again as in Pillow: its affine transform cuts them (src/libImaging/Geometry.c), its resizing rounds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

Numbers = NDArray[np.float64]

_ROUNDING = 1e-3
"""Added before values are cut: float32 reaches a whole number only to about this."""


def sampled(images: Tensor, x: Tensor, y: Tensor, fill: Tensor | None = None) -> Tensor:
    """Values at places x, y (n, h, w) → (n, C, h, w), not whole; with `fill` (C,) places off the image get it."""
    height, width = images.shape[-2:]
    grid = torch.stack((2 * x / width - 1, 2 * y / height - 1), dim=-1)
    found = functional.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)
    if fill is None:
        return found
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    return torch.where(inside.unsqueeze(1), found, fill.view(1, -1, 1, 1))


def affine(images: Tensor, matrices: Numbers, fill: Tensor) -> Tensor:
    """Output pixel (x, y) shows the input at (a x + b y + c, d x + e y + f); matrices (n, 6) as Pillow's AFFINE."""
    height, width = images.shape[-2:]
    a, b, c, d, e, f = torch.as_tensor(matrices, dtype=images.dtype, device=images.device).view(-1, 6, 1, 1).unbind(1)
    x = torch.arange(width, device=images.device) + 0.5
    y = (torch.arange(height, device=images.device) + 0.5).unsqueeze(-1)
    return (sampled(images, a * x + b * y + c, d * x + e * y + f, fill) + _ROUNDING).floor()


def rotation(degrees: Numbers, height: int, width: int) -> Numbers:
    """Counter-clockwise about the centre, (n, 6)."""
    angle = -np.radians(degrees)
    cos, sin = np.cos(angle), np.sin(angle)
    x, y = width / 2, height / 2
    return np.stack((cos, sin, x - cos * x - sin * y, -sin, cos, y + sin * x - cos * y), axis=1)


def shear_x(factor: Numbers) -> Numbers:
    """Rows shifted in proportion to their number, (n, 6)."""
    return _matrices(b=factor)


def shear_y(factor: Numbers) -> Numbers:
    """Columns shifted in proportion to their number, (n, 6)."""
    return _matrices(d=factor)


def shift_x(pixels: Numbers) -> Numbers:
    """To the left by so many pixels, (n, 6)."""
    return _matrices(c=pixels)


def shift_y(pixels: Numbers) -> Numbers:
    """Upwards by so many pixels, (n, 6)."""
    return _matrices(f=pixels)


def _matrices(**columns: Numbers) -> Numbers:
    """Identities with the given columns, named a to f."""
    count = len(next(iter(columns.values())))
    matrices = np.tile(np.array([1.0, 0, 0, 0, 1, 0]), (count, 1))
    for name, values in columns.items():
        matrices[:, "abcdef".index(name)] = values
    return matrices


def boxes(
    rng: np.random.Generator, count: int, size: tuple[int, int], scale: tuple[float, float], ratio: tuple[float, float]
) -> Numbers:
    """Top, left, height and width of random crops, whole numbers (count, 4).

    Area and log aspect ratio are uniform; of ten draws the first that fits is taken, else the largest centred crop of
    an allowed ratio, as in timm 1.0.31:timm/data/transforms.py (RandomResizedCropAndInterpolation).
    """
    height, width = size
    area = rng.uniform(*scale, (count, 10)) * height * width
    aspect = np.exp(rng.uniform(math.log(ratio[0]), math.log(ratio[1]), (count, 10)))
    wide, high = np.rint(np.sqrt(area * aspect)), np.rint(np.sqrt(area / aspect))
    fits = (wide <= width) & (high <= height) & (wide > 0) & (high > 0)
    first, rows = fits.argmax(axis=1), np.arange(count)
    w, h = wide[rows, first], high[rows, first]
    whole_w, whole_h = _largest(height, width, ratio)
    w, h = (np.where(fits.any(axis=1), drawn, whole) for drawn, whole in ((w, whole_w), (h, whole_h)))
    place = rng.random((count, 2))
    top = np.where(fits.any(axis=1), np.floor(place[:, 0] * (height - h + 1)), (height - h) // 2)
    left = np.where(fits.any(axis=1), np.floor(place[:, 1] * (width - w + 1)), (width - w) // 2)
    return np.stack((top, left, h, w), axis=1)


def _largest(height: int, width: int, ratio: tuple[float, float]) -> tuple[int, int]:
    if width / height < ratio[0]:
        return width, round(width / ratio[0])
    if width / height > ratio[1]:
        return round(height * ratio[1]), height
    return width, height


def cropped(images: Tensor, crops: Numbers, flipped: NDArray[Any], size: int) -> Tensor:
    """Crops (n, 4), mirrored where `flipped` (n,), scaled to (n, C, size, size).

    Neighbours outside a crop are not seen, as if it were cut out first. No antialiasing: the crops of small images are
    enlarged, those of large ones hardly reduced.
    """
    top, left, height, width = torch.as_tensor(crops, dtype=images.dtype, device=images.device).view(-1, 4, 1).unbind(1)
    place = (torch.arange(size, device=images.device, dtype=images.dtype) + 0.5) / size
    across = torch.as_tensor(flipped, device=images.device).view(-1, 1)
    along = torch.where(across, 1 - place, place)
    x = left + torch.minimum((along * width).clamp(min=0.5), width - 0.5)
    y = top + torch.minimum((place * height).clamp(min=0.5), height - 0.5)
    count = len(images)
    return sampled(images, x[:, None, :].expand(count, size, size), y[:, :, None].expand(count, size, size)).round()
