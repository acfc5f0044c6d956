"""Colour operations on a batch, with the arithmetic of Pillow (ImageEnhance, ImageOps; src/libImaging).

Images are float (n, C, H, W) with whole values 0 … 255, C 1 or 3; arguments are (n,), one per image.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

_LUMA = (19595, 38470, 7471)
"""Weights of red, green and blue, in units of 2⁻¹⁶ (ITU-R 601-2)."""


def grey(images: Tensor) -> Tensor:
    """Luma, (n, 1, H, W)."""
    if images.shape[1] == 1:
        return images
    weighted = sum(weight * images[:, i : i + 1] for i, weight in enumerate(_LUMA))
    return torch.div(weighted + 32768, 65536, rounding_mode="floor")


def blended(degenerate: Tensor, images: Tensor, factor: Tensor) -> Tensor:
    """degenerate + factor · (images − degenerate), cut to 0 … 255 and to whole numbers."""
    mixed = degenerate + factor.view(-1, 1, 1, 1) * (images - degenerate)
    return (mixed.clamp(0, 255) + 1e-4).floor()


def color(images: Tensor, factor: Tensor) -> Tensor:
    """Saturation: 0 is grey, 1 the image."""
    return blended(grey(images), images, factor)


def contrast(images: Tensor, factor: Tensor) -> Tensor:
    """0 is the mean grey, 1 the image."""
    mean = (grey(images).mean(dim=(1, 2, 3), keepdim=True) + 0.5).floor()
    return blended(mean, images, factor)


def brightness(images: Tensor, factor: Tensor) -> Tensor:
    """0 is black, 1 the image."""
    return blended(torch.zeros_like(images), images, factor)


def sharpness(images: Tensor, factor: Tensor) -> Tensor:
    """0 is smoothed (3×3, centre weight 5 of 13, border as it is), 1 the image."""
    kernel = torch.ones(1, 1, 3, 3, device=images.device, dtype=images.dtype)
    kernel[..., 1, 1] = 5
    flat = images.flatten(0, 1).unsqueeze(1)
    smooth = (functional.conv2d(flat, kernel) / 13 + 0.5).floor().clamp(0, 255)
    degenerate = images.clone()
    degenerate[..., 1:-1, 1:-1] = smooth.reshape(degenerate[..., 1:-1, 1:-1].shape)
    return blended(degenerate, images, factor)


def invert(images: Tensor) -> Tensor:
    """Negative."""
    return 255 - images


def posterize(images: Tensor, bits: Tensor) -> Tensor:
    """Only the highest bits kept."""
    step = torch.pow(2.0, 8 - bits).view(-1, 1, 1, 1)
    return torch.div(images, step, rounding_mode="floor") * step


def solarize(images: Tensor, threshold: Tensor) -> Tensor:
    """Values from the threshold on inverted."""
    return torch.where(images < threshold.view(-1, 1, 1, 1), images, 255 - images)


def solarize_add(images: Tensor, amount: Tensor) -> Tensor:
    """Values below 128 raised by the amount."""
    return torch.where(images < 128, (images + amount.view(-1, 1, 1, 1)).clamp(max=255), images)


def auto_contrast(images: Tensor) -> Tensor:
    """Each channel stretched to 0 … 255; a channel of one value stays."""
    low, high = images.amin(dim=(2, 3)).double(), images.amax(dim=(2, 3)).double()
    scale = 255 / (high - low).clamp(min=1)
    values = torch.arange(256, device=images.device, dtype=torch.float64)
    table = (values * scale.unsqueeze(-1) - (low * scale).unsqueeze(-1) + 1e-9).floor().clamp(0, 255)
    table = torch.where((high > low).unsqueeze(-1), table, values)
    return looked_up(images, table)


def equalize(images: Tensor) -> Tensor:
    """Each channel's histogram made even."""
    count, channels = images.shape[:2]
    levels = images.long().flatten(2).flatten(0, 1)  # (n·C, H·W)
    first = torch.arange(len(levels), device=images.device).unsqueeze(-1) * 256
    histogram = torch.bincount((levels + first).flatten(), minlength=len(levels) * 256).view(count, channels, 256)
    values = torch.arange(256, device=images.device)
    largest = torch.where(histogram > 0, values, 0).amax(dim=-1, keepdim=True)
    step = (histogram.sum(-1, keepdim=True) - histogram.gather(-1, largest)) // 255
    before = histogram.cumsum(-1) - histogram
    table = ((step // 2 + before) // step.clamp(min=1)).clamp(max=255)
    return looked_up(images, torch.where(step > 0, table, values))


def looked_up(images: Tensor, table: Tensor) -> Tensor:
    """Values replaced by those of a table (n, C, 256)."""
    index = images.long().flatten(2)
    return table.to(images.dtype).gather(-1, index).view_as(images)
