"""Random erasing of normalised images (timm 1.0.31:timm/data/random_erasing.py, mode `pixel`, one rectangle)."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from benchmark.nn import noise
from tasks.augmentation.geometry import Numbers
from tasks.augmentation.recipe import Augmentation


def rectangles(recipe: Augmentation, rng: np.random.Generator, count: int, size: tuple[int, int]) -> Numbers:
    """Top, left, height and width (count, 4); height 0 where nothing is erased. Of ten draws the first that fits."""
    height, width = size
    chosen = rng.random(count) < recipe.erasing
    area = rng.uniform(*recipe.erasing_area, (count, 10)) * height * width
    limit = math.log(recipe.erasing_aspect)
    aspect = np.exp(rng.uniform(limit, -limit, (count, 10)))
    high, wide = np.rint(np.sqrt(area * aspect)), np.rint(np.sqrt(area / aspect))
    fits = (high < height) & (wide < width)
    first, rows = fits.argmax(axis=1), np.arange(count)
    h, w = high[rows, first], wide[rows, first]
    place = rng.random((count, 2))
    top, left = np.floor(place[:, 0] * (height - h + 1)), np.floor(place[:, 1] * (width - w + 1))
    return np.stack((top, left, np.where(chosen & fits.any(axis=1), h, 0), w), axis=1)


def erased(images: Tensor, boxes: Numbers, seed: int) -> Tensor:
    """Images (B, C, H, W) with normal noise in their rectangles (B, 4)."""
    rows = np.flatnonzero(boxes[:, 2] > 0)
    if not len(rows):
        return images
    index = torch.as_tensor(rows, device=images.device)
    place = torch.as_tensor(boxes[rows], device=images.device, dtype=torch.float32)
    top, left, high, wide = place.view(-1, 4, 1, 1, 1).unbind(1)
    y = torch.arange(images.shape[-2], device=images.device).view(1, 1, -1, 1)
    x = torch.arange(images.shape[-1], device=images.device)
    inside = (y >= top) & (y < top + high) & (x >= left) & (x < left + wide)
    chosen = images[index]
    drawn = noise.normal(torch.tensor(seed, device=images.device), tuple(chosen.shape)).to(images.dtype)
    images = images.clone()
    images[index] = torch.where(inside, drawn, chosen)
    return images
