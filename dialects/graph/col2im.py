"""Col2Im: an image assembled from columns of blocks."""

from collections.abc import Sequence

import numpy as np

from ..symbolic import floordiv
from .attributes import Ints, Sizes
from .base import GraphOp, Tensor, TypeRuleError, builder
from .elementwise import require_number
from .movement import element_count
from .traits import MixedPrecision
from .types import Shape, StaticShape, TensorType, static_size


class Col2ImOp(GraphOp, name="col2im"):
    """Sums of the blocks that cover each element of an image (ONNX Col2Im).

    `x` is [N, C * block..., L]: the L positions of a window over the image in row-major order;
    the result is [N, C, image...]. `low` and `high` are the padding of the image, which the
    result leaves out.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    image: Sizes
    block: Sizes
    strides: Ints
    dilations: Ints
    low: Ints
    high: Ints

    @staticmethod
    def infer(
        x: TensorType,
        *,
        image: Shape,
        block: Shape,
        strides: Sequence[int],
        dilations: Sequence[int],
        low: Sequence[int],
        high: Sequence[int],
    ) -> TensorType:
        require_number(x)
        if x.rank != 3:
            raise TypeRuleError(f"needs a batch of columns, not {x}")
        if not len(image) == len(block) == len(strides) == len(dilations) == len(low) == len(high):
            raise TypeRuleError("image, block, strides, dilations and padding differ in length")
        if min((*strides, *dilations), default=1) < 1:
            raise TypeRuleError("strides and dilations must be positive")
        taps, positions = element_count(block), element_count(block_positions(image, block, strides,
                                                           dilations, low, high))  # fmt: skip
        if isinstance(x.shape[1], int) and isinstance(taps, int) and x.shape[1] % max(taps, 1):
            raise TypeRuleError(f"{x} does not hold blocks of {taps} elements")
        if isinstance(x.shape[2], int) and isinstance(positions, int) and x.shape[2] != positions:
            raise TypeRuleError(f"{x} holds {x.shape[2]} blocks; the image has {positions}")
        return x.with_shape((x.shape[0], floordiv(x.shape[1], taps), *image))

    @staticmethod
    def evaluate(
        x: np.ndarray,
        *,
        image: StaticShape,
        block: StaticShape,
        strides: Sequence[int],
        dilations: Sequence[int],
        low: Sequence[int],
        high: Sequence[int],
    ) -> np.ndarray:
        along = block_positions(image, block, strides, dilations, low, high)
        positions = tuple(map(static_size, along))
        parts = x.reshape(x.shape[0], -1, *block, *positions)
        padded = [a + size + b for a, size, b in zip(low, image, high, strict=True)]
        result = np.zeros((*parts.shape[:2], *padded), x.dtype)
        for tap in np.ndindex(*block):
            covered = tuple(
                slice(d * t, d * t + (n - 1) * s + 1, s)
                for d, t, n, s in zip(dilations, tap, positions, strides, strict=True)
            )
            result[(..., *covered)] += parts[(slice(None), slice(None), *tap)]
        inner = (slice(a, a + size) for a, size in zip(low, image, strict=True))
        return result[(..., *inner)]


def block_positions(
    image: Shape,
    block: Shape,
    strides: Sequence[int],
    dilations: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
) -> Shape:
    """The number of blocks along each axis of an image."""
    axes = zip(image, block, strides, dilations, low, high, strict=True)
    return tuple(
        floordiv(size + before + after - (k - 1) * dilation - 1, stride) + 1
        for size, k, stride, dilation, before, after in axes
    )


col2im = builder(Col2ImOp)
