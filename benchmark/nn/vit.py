"""A Vision Transformer with a prior slot in every layer and head.

Architecture and initialisation are those of timm 1.0.31:timm/models/vision_transformer.py (`vit_tiny_patch16_224` and
its relatives): patches by a linear map, CLS token, learned positions over all tokens, pre-norm blocks, LayerNorm before
CLS pooling or after mean pooling. Weights of linear layers and positions are N(0, 0.02), their biases 0, the CLS token
N(0, 1e-6), the patch projection PyTorch's default for a convolution.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmark.nn import mixed, noise
from benchmark.nn.transformer import Block
from benchmark.nn.vit_shape import VitShape

WEIGHT_STD = 0.02
CLS_STD = 1e-6


class VisionBlock(Block):
    """A block whose two residual branches may be left out, example by example."""

    def __init__(self, shape: VitShape, tokens: int) -> None:
        super().__init__(shape.encoder(), tokens)
        self.attention_norm.eps = self.mlp_norm.eps = shape.norm_epsilon

    def forward(self, x: Tensor, keep: Tensor | None = None) -> Tensor:
        """(B, N, D) → (B, N, D); `keep` (2, B, 1, 1) is what each branch is multiplied by."""
        attended = self.attention(self.attention_norm(x))
        x = x + (attended if keep is None else keep[0] * attended)
        changed = cast("Tensor", self.mlp(self.mlp_norm(x)))
        return x + (changed if keep is None else keep[1] * changed)


class PatchEmbedding(nn.Module):
    """A convolution whose stride is its width, written as a linear map of each patch so that it batches over cells.

    `proj.weight` (D, C·p·p) is the convolution's (D, C, p, p), flattened.
    """

    def __init__(self, channels: int, patch: int, dim: int) -> None:
        super().__init__()
        self.patch = patch
        self.proj = nn.Linear(channels * patch * patch, dim)

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) → (B, N, D), patches row by row."""
        batch, channels, height, width = images.shape
        rows, columns, p = height // self.patch, width // self.patch, self.patch
        patches = images.reshape(batch, channels, rows, p, columns, p).permute(0, 2, 4, 1, 3, 5)
        return cast("Tensor", self.proj(patches.reshape(batch, rows * columns, channels * p * p)))


class Pixels(nn.Module):
    """Stored images as the patches take them; float images have been through this already.

    uint8 (B, H, W, C) are enlarged or reduced so that `crop` of their side becomes `size`, cut to the centre,
    and normalised channel by channel.
    """

    def __init__(self, size: int, mean: tuple[float, ...], std: tuple[float, ...], crop: float = 1.0) -> None:
        super().__init__()
        self.size, self.crop = size, crop
        self.register_buffer("mean", torch.tensor(mean).view(-1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).view(-1, 1, 1), persistent=False)
        self.mean: Tensor
        self.std: Tensor

    def forward(self, images: Tensor) -> Tensor:
        """(B, H, W, C) uint8, or (B, C, size, size) float as it is → (B, C, size, size) float."""
        if images.dtype != torch.uint8:
            return images
        x = self.cut(images.movedim(-1, 1).to(self.mean.dtype))
        return (x / 255 - self.mean) / self.std

    def cut(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → (B, C, size, size)."""
        side = int(self.size / self.crop)
        if x.shape[-2:] != (side, side):
            reduces = x.shape[-1] > side
            x = functional.interpolate(x, (side, side), mode="bilinear", align_corners=False, antialias=reduces)
        first = (side - self.size) // 2
        return x[..., first : first + self.size, first : first + self.size]


class VisionTransformer(nn.Module):
    """Pixels, patches, CLS token, positions, blocks, pooling, output layer; outputs (B, classes).

    `mixed`: matrix products in bfloat16 on CUDA.
    """

    def __init__(self, shape: VitShape, pixels: Pixels, *, channels: int, classes: int, mixed: bool = False) -> None:
        super().__init__()
        patches = (pixels.size // shape.patch) ** 2
        total = patches + int(shape.cls_token)
        self.pooling, self.extra, self.mixed = shape.pooling, int(shape.cls_token), mixed
        self.pixels = pixels
        self.embedding = PatchEmbedding(channels, shape.patch, shape.dim)
        self.positions = nn.Parameter(torch.empty(total, shape.dim))  # (N_total, D)
        self.cls = nn.Parameter(torch.empty(shape.dim)) if shape.cls_token else None
        self.blocks = nn.ModuleList(VisionBlock(shape, total) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.dim, eps=shape.norm_epsilon)
        self.head = nn.Linear(shape.dim, classes)
        self.drop_rates = _rising(shape.drop_path, shape.layers)
        if shape.drop_path > 0:
            self.register_buffer(noise.SEED, torch.zeros((), dtype=torch.int64), persistent=False)
        self._start()

    def _start(self) -> None:
        nn.init.trunc_normal_(self.positions, std=WEIGHT_STD)
        if self.cls is not None:
            nn.init.normal_(self.cls, std=CLS_STD)
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear) and name != "embedding.proj":
                nn.init.trunc_normal_(module.weight, std=WEIGHT_STD)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, images: Tensor) -> Tensor:
        """Images as `Pixels` takes them → float32 (B, classes)."""
        enabled = self.mixed and mixed.takes_effect(images.device.type)
        with torch.autocast(images.device.type, dtype=torch.bfloat16, enabled=enabled):
            return self.classified(self.pixels(images)).to(self.head.weight.dtype)

    def classified(self, images: Tensor) -> Tensor:
        """(B, C, size, size) → (B, classes)."""
        x = cast("Tensor", self.embedding(images))
        if self.cls is not None:
            x = torch.cat((self.cls.expand(x.shape[0], 1, -1).to(x.dtype), x), dim=1)
        x = x + self.positions
        keep = self.kept(x.shape[0])
        for layer, block in enumerate(self.blocks):
            x = block(x, None if keep is None or self.drop_rates[layer] == 0 else keep[layer])
        return cast("Tensor", self.head(self.pool(x)))

    def kept(self, batch: int) -> Tensor | None:
        """What residual branches are multiplied by, (L, 2, B, 1, 1): 0 or 1/(1 − rate); None when all are kept."""
        seed = getattr(self, noise.SEED, None)
        if not self.training or seed is None:
            return None
        rates = torch.tensor(self.drop_rates, device=seed.device).view(-1, 1, 1)
        drawn = noise.uniform(seed, (len(self.drop_rates), 2, batch))
        return ((drawn >= rates) / (1 - rates))[..., None, None]

    def pool(self, x: Tensor) -> Tensor:
        """(B, N_total, D) → (B, D)."""
        if self.pooling == "cls":
            return cast("Tensor", self.norm(x[:, 0]))
        return cast("Tensor", self.norm(x[:, self.extra :].mean(dim=1)))


def _rising(last: float, count: int) -> tuple[float, ...]:
    return tuple(last * layer / max(1, count - 1) for layer in range(count))
