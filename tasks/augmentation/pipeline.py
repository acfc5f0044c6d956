"""One batch through the whole recipe."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tasks.augmentation import colour, erase, geometry, mix
from tasks.augmentation.rand_augment import rand_augment
from tasks.augmentation.recipe import Augmentation


@dataclass(frozen=True)
class Pipeline:
    """A recipe for images of one data set; a batch's draws follow from the state of the generator alone."""

    recipe: Augmentation
    size: int
    """Side of the images that are trained on."""
    classes: int
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __call__(self, images: Tensor, labels: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """uint8 (B, H, W, C) and labels (B,) → normalised float (B, C, size, size) and soft labels (B, classes)."""
        rng = np.random.default_rng(int(torch.randint(0, 2**62, (), generator=generator)))
        x = self._pixels(images.movedim(-1, 1).float(), rng)
        y = mix.soft_labels(labels, self.classes, self.recipe.label_smoothing)
        x, y = mix.mixed(x, y, self.recipe, rng)
        mean, std = (x.new_tensor(values).view(-1, 1, 1) for values in (self.mean, self.std))
        x = (x / 255 - mean) / std
        if self.recipe.erasing > 0:
            boxes = erase.rectangles(self.recipe, rng, len(x), (self.size, self.size))
            x = erase.erased(x, boxes, int(rng.integers(2**32)))
        return x, y

    def _pixels(self, x: Tensor, rng: np.random.Generator) -> Tensor:
        recipe, size = self.recipe, (x.shape[-2], x.shape[-1])
        flipped = rng.random(len(x)) < recipe.flip
        crops = np.tile(np.array([0.0, 0.0, *size]), (len(x), 1))
        if recipe.crop_scale is not None:
            crops = geometry.boxes(rng, len(x), size, recipe.crop_scale, recipe.crop_ratio)
        x = geometry.cropped(x, crops, flipped, self.size)
        if recipe.rand_augment is not None:
            x = rand_augment(x, recipe.rand_augment, rng, (255 * x.new_tensor(self.mean)).round())
        if recipe.color_jitter > 0 and (recipe.rand_augment is None or recipe.color_jitter_with_rand_augment):
            x = jittered(x, recipe.color_jitter, rng)
        return x


def jittered(images: Tensor, strength: float, rng: np.random.Generator) -> Tensor:
    """Brightness, contrast and saturation by factors of each image; the order is the batch's."""
    steps = (colour.brightness, colour.contrast, colour.color)
    for number in rng.permutation(len(steps)):
        factor = rng.uniform(1 - strength, 1 + strength, len(images))
        images = steps[number](images, torch.as_tensor(factor, dtype=images.dtype, device=images.device))
    return images
