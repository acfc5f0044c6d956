"""Images per second of the input pipeline, from a memory map to the device: `python tests/performance/data.py`.

Prints, for 32×32 and 224×224, the rate of a plain loop (index the memory map, make a tensor, copy it) beside that of
`tasks.data.batches.Batches`, alternating (on a CPU both do the same work), and of decoding itself. Pixels are
random; the file is in the page cache.
"""

from __future__ import annotations

import io
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from tasks.data import load_tokens
from tasks.data.arrays import Images
from tasks.data.batches import Batches
from tasks.data.decode import decode_image, decode_resized
from tasks.data.tokenizers import ByteTokenizer

ROUNDS = 5


def random_images(folder: Path, side: int, count: int) -> Images:
    generator = np.random.default_rng(0)
    path = folder / f"{side}.npy"
    np.save(path, generator.integers(0, 256, (count, side, side, 3), np.uint8))
    pixels = np.load(path, mmap_mode="r")
    return Images(pixels, generator.integers(0, 10, count), (), "")


def plain(images: Images, index: list, device: torch.device):
    for rows in index:
        yield torch.from_numpy(images.pixels[rows]).to(device), torch.from_numpy(images.labels[rows]).to(device)


def rate(batches, count: int, device: torch.device) -> float:
    start = time.perf_counter()
    total = 0
    for pixels, labels in batches:
        total += len(labels)
        pixels[:, 0, 0].float().sum()
    if device.type == "cuda":
        torch.cuda.synchronize()
    assert total == count
    return count / (time.perf_counter() - start)


def compare(folder: Path, side: int, count: int, batch: int, device: torch.device) -> None:
    images = random_images(folder, side, count)
    order = np.random.default_rng(1).permutation(count)
    index = [order[start : start + batch] for start in range(0, count, batch)]
    loops, ours = [], []
    for _ in range(ROUNDS):
        loops.append(rate(plain(images, index, device), count, device))
        ours.append(rate(Batches(images, index, batch, device), count, device))
    ratio = statistics.median(a / b for a, b in zip(ours, loops, strict=True))
    sys.stdout.write(
        f"{side}×{side}, batch {batch}, {device}: Batches {statistics.median(ours):,.0f} images/s, "
        f"plain loop {statistics.median(loops):,.0f} images/s, ratio {ratio:.2f}\n"
    )


def decoding() -> None:
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
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    decoding()
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder), 32, 50_000, 512, device)
        compare(Path(folder), 224, 2_000, 128, device)
    start = time.perf_counter()
    tokens = load_tokens("alice", "train", ByteTokenizer())
    sys.stdout.write(f"byte tokens: {len(tokens.ids) / (time.perf_counter() - start) / 1e6:.1f} M tokens/s\n")


if __name__ == "__main__":
    main()
