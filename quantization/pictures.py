"""Picture files as inputs of image models."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import FeedError, UsageError
from ..runtime.elements import ELEMENT_TYPES
from ..runtime.metadata import TensorSpec, format_shape

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".gif", ".tif", ".tiff")
CHANNELS = (1, 3)


@dataclass(frozen=True)
class PictureFormat:
    """How a model takes pictures: ``(scale * pixel - mean) / std``, of pixels from 0 to 255.

    `mean` and `std` have one element or one for each channel. An input of integers takes the
    pixels as they are.
    """

    scale: float = 1 / 255
    mean: Sequence[float] = (0.0,)
    std: Sequence[float] = (1.0,)
    bgr: bool = False
    """Blue first."""
    size: tuple[int, int] | None = None
    """Rows and columns, for inputs that leave them open."""

    def __post_init__(self) -> None:
        if 0 in self.std:
            raise UsageError("std has a zero: pictures are divided by it")


def read_picture(path: Path, spec: TensorSpec, format_: PictureFormat) -> np.ndarray:
    """The picture in `path`, resized to the input `spec`, as a batch of one.

    Raises FeedError, also if the input is not one of pictures.
    """
    axis = _channel_axis(spec)
    channels = spec.shape[axis]
    rows, columns = _size(spec, axis, format_)
    pixels = _pixels(path, "L" if channels == 1 else "RGB", (columns, rows))
    pixels = pixels.reshape(rows, columns, -1)
    if format_.bgr:
        pixels = pixels[..., ::-1]
    dtype = ELEMENT_TYPES[spec.dtype].dtype
    if dtype.kind not in "iu":
        mean, std = np.asarray(format_.mean), np.asarray(format_.std)
        pixels = (format_.scale * pixels - mean) / std
    picture = np.moveaxis(pixels, -1, 0) if axis == 1 else pixels
    return np.ascontiguousarray(picture[None], dtype)


def _pixels(path: Path, mode: str, size: tuple[int, int]) -> np.ndarray:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise FeedError(f"reading '{path}' needs the package pillow") from error
    try:
        with Image.open(path) as picture:
            return np.asarray(picture.convert(mode).resize(size, Image.Resampling.BILINEAR))
    except (OSError, UnidentifiedImageError, ValueError) as error:
        raise FeedError(f"'{path}' is not a picture: {error}") from error


def _channel_axis(spec: TensorSpec) -> int:
    axes = [axis for axis in (1, 3) if len(spec.shape) == 4 and spec.shape[axis] in CHANNELS]
    if not axes:
        raise FeedError(
            f"input '{spec.name}' is {spec.dtype}{format_shape(spec.shape)}, which takes no "
            "pictures: these need four axes, of which the second or the last has 1 or 3 channels"
        )
    return axes[0]


def _size(spec: TensorSpec, axis: int, format_: PictureFormat) -> tuple[int, int]:
    declared = spec.shape[2:] if axis == 1 else spec.shape[1:3]
    given = format_.size or (None, None)
    found = [
        size if isinstance(size, int) else other
        for size, other in zip(declared, given, strict=True)
    ]
    if None in found:
        raise FeedError(
            f"input '{spec.name}' leaves the size of pictures open: give rows and columns, "
            "--picture-size 224x224"
        )
    rows, columns = (int(size or 0) for size in found)
    return rows, columns
