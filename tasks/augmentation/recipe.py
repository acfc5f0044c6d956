"""What is done to training images and labels, as a spec states it; no torch here, so that planning stays fast."""

from __future__ import annotations

from pydantic import Field, model_validator

from benchmark.parameters import Parameters


class RandAugment(Parameters):
    """RandAugment (arXiv 1909.13719) as timm reads `rand-m9-mstd0.5-inc1`: operations with "increasing" severity."""

    operations: int = Field(default=2, gt=0)
    """Operations drawn per image, with replacement."""
    magnitude: float = Field(default=9.0, ge=0, le=10)
    """Mean severity, of 10."""
    magnitude_std: float = Field(default=0.5, ge=0)
    """Standard deviation of the severity, which is cut to 0 … 10."""
    probability: float = Field(default=0.5, ge=0, le=1)
    """Probability that a drawn operation is applied."""


class Augmentation(Parameters):
    """Steps in their order: crop, flip, RandAugment or colour jitter, mixup or cutmix, normalisation, erasing.

    Names and defaults of what the steps draw follow timm 1.0.31 (timm/data); every step is off by default.
    """

    crop_scale: tuple[float, float] | None = None
    """Share of the area that a random crop keeps, least and most; the crop is scaled to the input size (bilinear;
    timm draws bilinear or bicubic). The whole image, scaled, when absent."""
    crop_ratio: tuple[float, float] = (3 / 4, 4 / 3)
    """Width over height of that crop, least and most."""
    flip: float = Field(default=0.0, ge=0, le=1)
    """Probability of a mirror image, left to right."""
    rand_augment: RandAugment | None = None
    """RandAugment after crop and flip."""
    color_jitter: float = Field(default=0.0, ge=0, lt=1)
    """Brightness, contrast and saturation are multiplied by factors from 1 ± this, in random order."""
    color_jitter_with_rand_augment: bool = False
    """Whether there is jitter beside RandAugment; timm's loader leaves it out although recipes state both."""
    mixup: float = Field(default=0.0, ge=0)
    """α of mixup's Beta(α, α) (arXiv 1710.09412)."""
    cutmix: float = Field(default=0.0, ge=0)
    """α of cutmix's Beta(α, α) (arXiv 1905.04899)."""
    switch_to_cutmix: float = Field(default=0.5, ge=0, le=1)
    """Probability of cutmix where both are on."""
    mix_probability: float = Field(default=1.0, ge=0, le=1)
    """Probability that a batch is mixed at all."""
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    """Share of a label that is spread over all classes."""
    erasing: float = Field(default=0.0, ge=0, le=1)
    """Probability that a rectangle is replaced by normal noise (arXiv 1708.04896)."""
    erasing_area: tuple[float, float] = (0.02, 1 / 3)
    """Share of the image that is erased, least and most."""
    erasing_aspect: float = Field(default=0.3, gt=0, le=1)
    """Least height over width of the rectangle; the greatest is its inverse."""

    @model_validator(mode="after")
    def _ranges_rise(self) -> Augmentation:
        for name in ("crop_scale", "crop_ratio", "erasing_area"):
            found = getattr(self, name)
            if found is not None and not 0 < found[0] <= found[1]:
                raise ValueError(f"{name} needs two numbers above 0, the smaller first; found {list(found)}")
        return self

    @property
    def mixes(self) -> bool:
        """Whether labels of two examples are mixed."""
        return (self.mixup > 0 or self.cutmix > 0) and self.mix_probability > 0

    @property
    def changes_images(self) -> bool:
        """Whether anything beside the labels' smoothing is on."""
        pixels = self.crop_scale is not None or self.rand_augment is not None or self.color_jitter > 0
        return pixels or self.flip > 0 or self.mixes or self.erasing > 0
