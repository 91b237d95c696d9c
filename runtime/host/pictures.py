"""Decoding of images."""

import io
from collections.abc import Callable

import numpy as np

from .registry import host_op


@host_op("ImageDecoder")
def image_decoder(*, pixel_format: str = "RGB") -> Callable[[np.ndarray], np.ndarray]:
    """Decode an image in any format that Pillow reads to height x width x channels."""
    try:
        import PIL.Image
    except ImportError as error:
        raise ImportError(
            "ImageDecoder needs the package Pillow: pip install 'graphc[host]'"
        ) from error

    def decode(encoded: np.ndarray) -> np.ndarray:
        image = PIL.Image.open(io.BytesIO(encoded.tobytes()))
        if pixel_format == "Grayscale":
            return np.asarray(image.convert("L"))[:, :, np.newaxis]
        pixels = np.asarray(image.convert("RGB"))
        return pixels[:, :, ::-1] if pixel_format == "BGR" else pixels

    return decode
