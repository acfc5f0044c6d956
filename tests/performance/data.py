"""Images per second of the input pipeline: `python tests/performance/data.py`.

Prints the rate of decoding; then, for 32×32 and 224×224, the rate at which batches reach the device, gathered ahead as
the engine does for training sets that do not fit on it, beside gathering when asked; and the rate with the published
augmentation. Rounds alternate; medians and ratios are printed. Pixels are random; the file is in the page cache.
"""

from __future__ import annotations

import io
import statistics
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from PIL import Image

from benchmark.cell import Cell
from benchmark.parameters import Budget
from benchmark.plan import load_experiment
from benchmark.task import Examples
from benchmark.train.batches import Batches
from tasks.data import load_tokens
from tasks.data.decode import decode_image, decode_resized
from tasks.data.tokenizers import ByteTokenizer

ROUNDS = 5


def resolved(name: str, batch: int, *, augmented: bool) -> Cell:
    """The default cell of a task at the published scale, with a batch that suits the machine."""
    experiment = load_experiment("paper", profile="paper")
    task, initializer = experiment.task(name).task, experiment.initializer("default")
    assert task is not None
    changes = {"budget": Budget(batch_size=batch, steps=1000)}
    if not augmented:
        quiet = {field: default.default for field, default in type(task.augmentation).model_fields.items()}
        changes["augmentation"] = type(task.augmentation)(**quiet)
    return Cell("0" * 64, name, "default", 0, "paper", task.model_copy(update=changes), initializer.by_task[name])


def random_images(folder: Path, side: int, count: int) -> Examples:
    """A memory map of random pixels, as a prepared data set is one."""
    generator = np.random.default_rng(0)
    path = folder / f"{side}.npy"
    np.save(path, generator.integers(0, 256, (count, side, side, 3), np.uint8))
    labels = torch.from_numpy(generator.integers(0, 10, count))
    return Examples(torch.from_numpy(np.load(path, mmap_mode="r+")), labels)


def rate(batches: Batches, batch: int, steps: int, device: str) -> float:
    """Images per second over `steps` batches, each used a little."""
    batches.take(1)
    start = time.perf_counter()
    for _ in range(steps):
        batches.take(1)[0][:, :, 0, 0].float().sum()
    if device != "cpu":
        torch.cuda.synchronize()
    return steps * batch / (time.perf_counter() - start)


def compare(name: str, examples: Examples, batch: int, steps: int, device: str) -> None:
    """Gathering ahead against gathering when asked, then with augmentation."""
    plain, full = resolved(name, batch, augmented=False), resolved(name, batch, augmented=True)
    with patch.object(type(plain.task), "training_examples", lambda self, seed: examples):
        kinds = [Batches(plain.task, [plain], device, ahead=ahead) for ahead in (False, True)]
        rounds = [[rate(kind, batch, steps, device) for kind in kinds] for _ in range(ROUNDS)]
        augmented = Batches(full.task, [full], device)
        changed = [rate(augmented, batch, 3, device) for _ in range(ROUNDS)]
    asked, ahead = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratio = statistics.median(two / one for one, two in rounds)
    sys.stdout.write(
        f"{name}, batch {batch}, {device}: gathered when asked {asked:,.0f} images/s, ahead {ahead:,.0f}, ratio "
        f"{ratio:.2f}; with the published augmentation {statistics.median(changed):,.0f}\n"
    )


def decoding() -> None:
    """Images decoded per second on one core."""
    pixels = np.random.default_rng(0).integers(0, 256, (500, 375, 3), np.uint8)
    for name, shape, format, decode in (
        ("PNG 32×32", pixels[:32, :32], "PNG", lambda raw: decode_image(raw, "x")),
        ("JPEG 375×500 → 224", pixels, "JPEG", lambda raw: decode_resized(raw, "x", 224)),
    ):
        buffer = io.BytesIO()
        Image.fromarray(shape).save(buffer, format)
        raw, count = buffer.getvalue(), 200
        start = time.perf_counter()
        for _ in range(count):
            decode(raw)
        sys.stdout.write(f"decode {name}: {count / (time.perf_counter() - start):,.0f} images/s on one core\n")


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    decoding()
    with tempfile.TemporaryDirectory() as folder:
        compare("cifar10", random_images(Path(folder), 32, 50_000), 512, 50, device)
        compare("imagenet100", random_images(Path(folder), 224, 2_000), 128, 10, device)
    start = time.perf_counter()
    tokens = load_tokens("alice", "train", ByteTokenizer())
    sys.stdout.write(f"byte tokens: {len(tokens.ids) / (time.perf_counter() - start) / 1e6:.1f} M tokens/s\n")


if __name__ == "__main__":
    main()
