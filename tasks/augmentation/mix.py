"""Soft labels, mixup and cutmix of a batch with itself in reverse order (timm 1.0.31:timm/data/mixup.py)."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from tasks.augmentation.recipe import Augmentation


def soft_labels(labels: Tensor, classes: int, smoothing: float) -> Tensor:
    """One-hot labels with `smoothing` spread over all classes, (B, classes), each row summing to 1."""
    hot = (labels.unsqueeze(-1) == torch.arange(classes, device=labels.device)).float()
    return hot * (1 - smoothing) + smoothing / classes


def mixed(images: Tensor, labels: Tensor, recipe: Augmentation, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Images (B, C, H, W), 0 … 255, and soft labels (B, classes), mixed with those of the reversed batch."""
    if not recipe.mixes or rng.random() >= recipe.mix_probability:
        return images, labels
    cuts = recipe.cutmix > 0 and (recipe.mixup == 0 or rng.random() < recipe.switch_to_cutmix)
    alpha = recipe.cutmix if cuts else recipe.mixup
    share = float(rng.beta(alpha, alpha))
    if cuts:
        images, share = cut_mixed(images, share, rng)
    else:
        images = (images * share + images.flip(0) * (1 - share)).round()
    return images, labels * share + labels.flip(0) * (1 - share)


def cut_mixed(images: Tensor, share: float, rng: np.random.Generator) -> tuple[Tensor, float]:
    """A rectangle of about 1 − share of the area from the reversed batch, and the share that is really left."""
    height, width = images.shape[-2:]
    side = math.sqrt(1 - share)
    high, wide = int(height * side), int(width * side)
    y, x = int(rng.integers(height)), int(rng.integers(width))
    top, bottom = max(0, y - high // 2), min(height, y + high // 2)
    left, right = max(0, x - wide // 2), min(width, x + wide // 2)
    images = images.clone()
    images[..., top:bottom, left:right] = images.flip(0)[..., top:bottom, left:right]
    return images, 1 - (bottom - top) * (right - left) / (height * width)
