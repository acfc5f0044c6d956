"""PNG and JPEG bytes → uint8 pixels, with everything else refused."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

from benchmark.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAX_PIXELS = 64_000_000
"""Largest image that is decoded; ImageNet's largest has some 20 million pixels."""
FORMATS = ("PNG", "JPEG")


def decode_image(encoded: bytes, where: str, channels: int = 3) -> npt.NDArray[np.uint8]:
    """Pixels (H, W, channels) of one PNG or JPEG file; grey and palette images are converted.

    Raises:
        DataError: another format, truncated, damaged, or larger than `MAX_PIXELS`.
    """
    import numpy as np

    with opened(encoded, where) as image:
        return np.asarray(image.convert("L" if channels == 1 else "RGB"), np.uint8).reshape(*image.size[::-1], channels)


def decode_resized(encoded: bytes, where: str, size: int) -> npt.NDArray[np.uint8]:
    """Pixels (size, size, 3): the shorter side resized to `size` (bicubic), the centre cropped.

    Raises:
        DataError: as `decode_image`.
    """
    import numpy as np
    from PIL import Image

    with opened(encoded, where) as image:
        width, height = image.size
        scale = size / min(width, height)
        wide, high = max(size, round(width * scale)), max(size, round(height * scale))
        left, top = (wide - size) // 2, (high - size) // 2
        small = image.convert("RGB").resize((wide, high), Image.Resampling.BICUBIC)
        return np.asarray(small.crop((left, top, left + size, top + size)), np.uint8)


def opened(encoded: bytes, where: str) -> Any:
    """A fully decoded Pillow image.

    Raises:
        DataError: as `decode_image`.
    """
    from PIL import Image

    if encoded[:1] == b"\x80":
        raise DataError(f"{where}: expected a PNG or JPEG image, found what looks like a pickle; pickles are not read")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = Image.open(io.BytesIO(encoded), formats=FORMATS)
            if image.size[0] * image.size[1] > MAX_PIXELS:
                raise DataError(f"{where}: {image.size[0]}×{image.size[1]} pixels; at most {MAX_PIXELS:,} are decoded")
            image.load()
    except DataError:
        raise
    except Exception as error:  # Pillow's decoders raise what they like on damaged bytes
        raise DataError(f"{where}: expected a whole PNG or JPEG image, found {summary(encoded, error)}") from None
    return image


def summary(encoded: bytes, error: Exception) -> str:
    """What is wrong, in a few words."""
    if type(error).__name__ == "UnidentifiedImageError":
        return f"{len(encoded):,} bytes starting {encoded[:8]!r}"
    return str(error)
