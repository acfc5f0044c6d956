"""Image classification by a Vision Transformer with a structural prior.

Model and recipe of the `paper` profiles follow arXiv 2608.00418 Tables 9 to 11 and the README of
osiriszjq/structured_initialization@2623dcc, whose training script is timm's. Images stay uint8 until they are on the
device; each batch is augmented there.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from benchmark.nn.vit_shape import VitShape
from benchmark.parameters import Metric
from benchmark.registry import task
from benchmark.task import Array, Examples, Geometry, Task, Workload
from tasks import data as datasets
from tasks.augmentation.recipe import Augmentation
from tasks.data.naming import check_split, named
from tasks.vision_pattern import ImpulsePattern

if TYPE_CHECKING:
    import torch

    from benchmark.initializer import ParameterRule
    from benchmark.records import CurvePoint


@task("vision")
class Vision(Task):
    """Top-1 classification of a data set of images."""

    data: str
    """Name of the data set (`bench data list`)."""
    train_split: str = Field(default="train", validate_default=True)
    """Split that is trained on."""
    test_split: str = Field(default="test", validate_default=True)
    """Split that is scored, whole, at each point of the curve and at the end."""
    data_size: int | None = Field(default=None, gt=0)
    """Side of the prepared images, for data sets whose images vary in size."""
    image_size: int = Field(gt=0)
    """Side of the images the model sees; others are scaled to it."""
    test_crop: float = Field(default=1.0, gt=0, le=1)
    """Share of a test image's side that is kept, cut to the centre after scaling."""
    mean: tuple[float, ...] = (0.5,)
    """Mean of the pixels (0 to 1) that is subtracted: one for all channels, or one each."""
    std: tuple[Annotated[float, Field(gt=0)], ...] = (0.5,)
    """Standard deviation that is divided by, in the same way."""
    model: VitShape
    """The Transformer."""
    augmentation: Augmentation = Augmentation()
    """What is done to training images and labels."""
    interaction: ImpulsePattern | None = ImpulsePattern()
    """The interaction pattern that priors may encode."""
    decay_positions: bool = False
    """Whether weight decay applies to the position embeddings; timm leaves them out."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Arithmetic of forward and backward pass; `bfloat16` is mixed precision and takes effect on CUDA alone."""

    @field_validator("data")
    @classmethod
    def _images(cls, name: str) -> str:
        return named(name, "images").name

    @field_validator("train_split", "test_split")
    @classmethod
    def _splits(cls, split: str, found: ValidationInfo) -> str:
        if "data" in found.data:  # otherwise it is the data set that is wrong
            check_split(datasets.dataset(found.data["data"]), split)
        return split

    @model_validator(mode="after")
    def _check(self) -> Vision:
        if self.image_size % self.model.patch:
            raise ValueError(f"image_size {self.image_size} is no multiple of patch {self.model.patch}")
        if self.augmentation.mixes and (self.budget.batch_size) % 2:
            raise ValueError(f"mixup and cutmix pair examples: batch_size must be even; found {self.budget.batch_size}")
        for name in ("mean", "std"):
            if len(getattr(self, name)) not in (1, self.channels):
                raise ValueError(f"{name} needs 1 or {self.channels} numbers; found {len(getattr(self, name))}")
        return self

    # --- facts ---------------------------------------------------------------------------------------------------

    @property
    def channels(self) -> int:
        """1 for grey images, 3 for colour."""
        return datasets.dataset(self.data).channels

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(datasets.dataset(self.data).classes)

    def metrics(self) -> tuple[Metric, ...]:
        """Accuracy after the last epoch first; the averaged parameters' own where there is an average."""
        found: tuple[Metric, ...] = _METRICS
        if self.optimizer.ema_decay is not None:
            found = (*found, *(_averaged(metric) for metric in _METRICS))
        return found

    def geometry(self) -> Geometry:
        """One token per patch, and CLS."""
        side = self.image_size // self.model.patch
        return Geometry(
            layers=self.model.layers,
            heads=self.model.heads,
            tokens=side * side,
            extra_tokens=int(self.model.cls_token),
            dim=self.model.dim,
            head_dim=self.model.head_dim,
            grid=(side, side),
            classes=self.classes,
        )

    def has_pattern(self) -> bool:
        """Whether an interaction pattern is given."""
        return self.interaction is not None

    def missing_data(self) -> str | None:
        """The command that puts the data set in place, unless it is there."""
        missing = datasets.is_available(self.data, size=self.data_size)
        return None if missing is None else str(missing)

    def data_digests(self) -> Mapping[str, str]:
        """That of the images, once they are in place."""
        return datasets.content_digests(self.data, size=self.data_size)

    def training_size(self) -> int:
        """Rows of the training split."""
        return datasets.dataset(self.data).splits[self.train_split].rows

    def workload(self) -> Workload:
        """From the manifest: uint8 images as stored, normalised ones with soft labels where images are augmented."""
        info = datasets.dataset(self.data)
        side = info.side(self.data_size) or self.image_size
        stored = (Array(info.shape or (side, side, self.channels), "uint8"), Array((), "int64"))
        augmented = (
            Array((self.channels, self.image_size, self.image_size), "float32"),
            Array((self.classes,), "float32"),
        )
        rows = info.split(self.test_split).rows
        return Workload(
            training=self.training_size(),
            curve=rows,
            final=rows,
            trained=augmented if self.augments() else stored,
            scored=stored,
            precision=self.precision,
            missing={} if self.missing_data() is None else {self.data: info.bytes},
        )

    def parameter_rules(self) -> tuple[ParameterRule, ...]:
        """Positions are not decayed unless asked for."""
        from benchmark.initializer import ParameterRule

        return () if self.decay_positions else (ParameterRule(match="positions", weight_decay=0.0),)

    def references(self) -> Mapping[str, Mapping[str, float]]:
        """Guessing every class with equal probability."""
        guess = 100 / self.classes
        return {"chance": {"accuracy": guess, "best_accuracy": guess, "loss": math.log(self.classes)}}

    # --- tensors -------------------------------------------------------------------------------------------------

    def pattern(self, layer: int, head: int) -> torch.Tensor | None:
        """Bool (patches, patches), True = open; a row whose patch has no such neighbour is closed everywhere."""
        if self.interaction is None:
            return None
        import torch

        grid = self.geometry().grid
        assert grid is not None
        matrix = torch.zeros(self.geometry().tokens, self.geometry().tokens, dtype=torch.bool)
        for query, key in self.interaction.open_entries(grid, layer, head):
            matrix[query, key] = True
        return matrix

    def build_model(self) -> torch.nn.Module:
        """A Vision Transformer that takes stored or augmented images."""
        from benchmark.nn.vit import Pixels, VisionTransformer

        pixels = Pixels(self.image_size, self.mean, self.std, self.test_crop)
        half = self.precision == "bfloat16"
        return VisionTransformer(self.model, pixels, channels=self.channels, classes=self.classes, mixed=half)

    def training_examples(self, seed: int) -> Examples:
        """uint8 (n, H, W, C) and int64 (n,); the same for every seed."""
        return _examples(self.data, self.train_split, self.data_size)

    def training_key(self, seed: int) -> Hashable:
        """All seeds share one training set."""
        return None

    def augments(self) -> bool:
        """Whether the recipe changes images. If not, the model scales them as it does in tests, and smoothing is part
        of the loss."""
        return self.augmentation.changes_images

    def augment(
        self, inputs: torch.Tensor, targets: torch.Tensor, generator: torch.Generator
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Normalised float (B, C, size, size) and soft labels (B, classes)."""
        from tasks.augmentation.pipeline import Pipeline

        pipeline = Pipeline(self.augmentation, self.image_size, self.classes, self.mean, self.std)
        return pipeline(inputs, targets, generator)

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Cross-entropy with soft labels (B, classes), or smoothed labels (B,)."""
        import torch

        from tasks.augmentation.mix import soft_labels

        if targets.dim() == 1:
            targets = soft_labels(targets, outputs.shape[-1], self.augmentation.label_smoothing)
        return -(targets * torch.log_softmax(outputs, dim=-1)).sum(dim=-1).mean()

    def evaluation_examples(self, seed: int, *, final: bool) -> Examples:
        """The whole test split."""
        return _examples(self.data, self.test_split, self.data_size)

    def observe(self, outputs: torch.Tensor, targets: torch.Tensor) -> dict[str, torch.Tensor]:
        """Whether each image is right, and its cross-entropy, (B,)."""
        import torch

        right = outputs.argmax(dim=-1) == targets
        loss = -torch.log_softmax(outputs, dim=-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        return {"right": right, "loss": loss}

    def summarize(self, observed: Mapping[str, torch.Tensor], examples: Examples, *, final: bool) -> dict[str, float]:
        """Accuracy in percent and mean cross-entropy."""
        right, loss = observed["right"].double(), observed["loss"].double()
        return {"accuracy": 100.0 * float(right.mean()), "loss": float(loss.mean())}

    def summarize_curve(self, curve: Sequence[CurvePoint]) -> dict[str, float]:
        """The best accuracy of the curve, and that of the averaged parameters."""
        found = {}
        for name in ("accuracy", "ema_accuracy"):
            values = [point.value for point in curve if point.name == name]
            if values:
                found[name.replace("accuracy", "best_accuracy")] = max(values)
        return found


_METRICS = (
    Metric(
        name="accuracy", title="Accuracy", direction="max", unit="percent", lower=0, upper=100,
        description="top-1 on the test split after the last epoch",
    ),
    Metric(
        name="best_accuracy", title="Best accuracy", direction="max", unit="percent", lower=0, upper=100,
        description="the highest top-1 of the curve: selected on the test split, so biased upwards",
    ),
    Metric(
        name="loss", title="Test loss", direction="min", unit="nats", lower=0,
        description="mean cross-entropy on the test split after the last epoch, labels not smoothed",
    ),
)  # fmt: skip


def _averaged(metric: Metric) -> Metric:
    """The same metric, of the moving average of the parameters."""
    text = f"{metric.description}; of the moving average of the parameters"
    return metric.model_copy(
        update={"name": f"ema_{metric.name}", "title": f"{metric.title} (EMA)", "description": text}
    )


def _examples(name: str, split: str, size: int | None) -> Examples:
    images = datasets.load_images(name, split, size=size)
    return Examples(_shared(images.pixels), _shared(images.labels))


def _shared(array: Any) -> torch.Tensor:
    """A tensor over a read-only array's own memory, which nobody writes to."""
    import warnings

    import torch

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(array)
