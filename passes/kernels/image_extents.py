"""Sizes of images in kernels, of which some are known only at run time."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import ir
from .sizes import Index

Extents = tuple[int | None, int | None, int | None, int]
"""Images, rows, pixels of a row, and channels; None for sizes known only at run time."""


def known_sizes(extents: Extents) -> tuple[int, int, int]:
    """Rows, pixels and channels of an image, which must be known."""
    _, height, width, channels = extents
    assert height is not None
    assert width is not None
    return height, width, channels


@dataclass(frozen=True)
class ImageSizes:
    """Sizes of an image, or a volume of planes, and of the result of a convolution."""

    images: Index
    height: Index
    width: Index
    result_height: Index
    result_width: Index
    planes: Index = 1
    result_planes: Index = 1

    @staticmethod
    def of(
        image: Extents,
        result: Extents,
        dynamic: Sequence[ir.Value],
        planes: tuple[int | None, int | None] = (1, 1),
    ) -> "ImageSizes":
        """The sizes of `image`, then those of `result`, then the `planes` of both, where they are
        None from `dynamic`, in order."""
        left = iter(dynamic)
        extents = [*image[:3], *result[:3], *planes]
        values = [next(left) if size is None else size for size in extents]
        images, height, width, _, result_height, result_width, *both = values
        return ImageSizes(images, height, width, result_height, result_width, *both)
