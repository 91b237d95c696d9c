"""Matrix products on weights that were laid out for the registers of a processor."""

import numpy as np

from .attributes import Int, Ints
from .base import GraphOp, Tensor, TypeRuleError, builder
from .contraction import MatmulOp, require_equal_sizes
from .types import TensorType
from .window import output_sizes, windows


class PackedMatmulOp(GraphOp, name="packed_matmul"):
    """``x w`` with `w` in panels: `x` [..., K], `w` [panels, K, n], result [..., columns].

    A panel holds `n` columns side by side, so that the product reads it from front to back; the
    last one may be filled up. `rows` is how many rows of `x` are multiplied at a time: together
    they fill the registers, which hold vectors of `lanes`. For f32.
    """

    x: Tensor
    w: Tensor
    rows: Int
    columns: Int
    lanes: Int

    @staticmethod
    def infer(x: TensorType, w: TensorType, *, rows: int, columns: int, lanes: int) -> TensorType:
        if x.dtype != np.float32:
            raise TypeRuleError(f"is for f32, not for {x.dtype}")
        if x.dtype != w.dtype or w.rank != 3 or x.rank < 1 or rows < 1:
            raise TypeRuleError(f"cannot multiply {x} by panels {w}, {rows} rows at a time")
        require_equal_sizes(x.shape[-1], w.shape[1], "the contracted sizes")
        held = w.shape[0] * w.shape[2]
        if not isinstance(held, int) or not 0 < columns <= held:
            raise TypeRuleError(f"panels {w} do not hold {columns} columns")
        if lanes < 1 or (isinstance(w.shape[2], int) and w.shape[2] % lanes):
            raise TypeRuleError(f"panels {w} are not of vectors of {lanes}")
        return x.with_shape((*x.shape[:-1], columns))

    @staticmethod
    def evaluate(
        x: np.ndarray, w: np.ndarray, *, rows: int, columns: int, lanes: int
    ) -> np.ndarray:
        del rows, lanes
        matrix = unpack_weights(w)[:, :columns]
        return MatmulOp.evaluate(np.atleast_2d(x), matrix).reshape(*x.shape[:-1], columns)


def pack_weights(w: np.ndarray, width: int) -> np.ndarray:
    """[K, N] as panels [N/width, K, width]; zeros fill up the last one."""
    w = np.pad(w, [(0, 0), (0, -w.shape[1] % width)])
    depth, columns = w.shape
    return np.ascontiguousarray(w.reshape(depth, columns // width, width).transpose(1, 0, 2))


def unpack_weights(w: np.ndarray) -> np.ndarray:
    """Panels [N/width, K, width] as [K, N], filling included."""
    return w.transpose(1, 0, 2).reshape(w.shape[1], -1)


class Im2colOp(GraphOp, name="im2col"):
    """Every window of an image as a row: [N, spatial..., C] to [N, out..., kernel... * C].

    Window attributes as for `conv`; the image is channels last and padded with zeros.
    """

    x: Tensor
    kernel: Ints
    strides: Ints
    dilations: Ints
    low: Ints
    high: Ints

    @staticmethod
    def infer(x: TensorType, *, kernel, strides, dilations, low, high) -> TensorType:
        if x.rank < 3:
            raise TypeRuleError(f"{x} is not an image")
        out = output_sizes(x.shape[1:-1], kernel, strides, dilations, low, high)
        return x.with_shape((x.shape[0], *out, x.shape[-1] * int(np.prod(kernel))))

    @staticmethod
    def evaluate(x: np.ndarray, *, kernel, strides, dilations, low, high) -> np.ndarray:
        image = np.moveaxis(x, -1, 1)
        view = windows(image, kernel, strides, dilations, low, high, 0)
        spatial = x.ndim - 2
        rows = np.moveaxis(view, 1, -1)  # [N, out..., kernel..., C]
        return rows.reshape(*rows.shape[: 1 + spatial], -1)


packed_matmul = builder(PackedMatmulOp)
im2col = builder(Im2colOp)
