"""Sizes of images that kernels receive: the known ones as numbers, the others as scalars."""

from ...dialects.graph import Shape, static_size
from ...dialects.symbolic import Dim
from ..kernels.image_extents import Extents


def known_extents(shape: Shape) -> Extents:
    """The sizes [N, H, W, C] of an image, of which C is known, as kernels take them."""
    batch, height, width, channels = shape
    known = [size if isinstance(size, int) else None for size in (batch, height, width)]
    return known[0], known[1], known[2], static_size(channels)


def dynamic_sizes(image: Shape, result: Shape) -> list[Dim]:
    """The scalars of a kernel: the dynamic sizes of `image`, then those of `result`, both [N, H, W,
    C]. Kernels know C, even where the type of the image does not."""
    return [size for size in (*image[:3], *result[:3]) if isinstance(size, Dim)]
