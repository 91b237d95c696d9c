"""Selection of the kernels that multiply 8-bit integers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from ...cpu_model import GENERIC_CPU, CpuModel
from ...dialects import graph
from ...dialects.symbolic import at_least
from ...mlir import ir
from ..analysis.windows import is_pointwise, windows_as_rows
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import constant_array, constant_scalar, producer
from ..infra.registry import register
from ..infra.rewrite import Rewrite
from ..kernels.group_dot import INT8_DOTS, DotInstruction
from ..kernels.vector_registers import choose_tile
from .direct_convolution import (
    IMAGE_RANKS,
    MIN_PIXELS,
    VOLUME_RANK,
    is_depthwise,
    join_small_groups,
)
from .pixel_tiles import PixelTile, PixelTiles
from .quantized_operands import reason_against_group

UNSIGNED = (np.dtype(np.uint8), np.dtype(np.uint16))
"""Types of the left operand."""

DEPTHWISE_VECTORS = 2
"""Vectors of channels in a panel of a depthwise convolution that multiplies windows of taps, at
most: more pixels share the loads of windows then (0.91 of the time of four vectors)."""

MIN_COLUMNS = 4
"""Columns of a matmul, or features of a convolution, that fill enough of a vector of 16."""


@register
@dataclass(frozen=True)
class CpuSelectInt8Kernels(Pass):
    """Select the kernel of each matmul and convolution of u8 by i8, and pack the weights.

    %1 = "graph.matmul"(%x, %w) : 128x768xui8, 768x3072xi8
    -->
    %1 = "graph.int8_matmul"(%x, %w') {mr = 6} : 128x768xui8, 48x192x64x4xi8

    Weights of matmuls that are computed are packed at run time (`graph.pack_int8`), those of
    convolutions are constant. Convolutions are channels last. Exact. Elements of u16 are split into
    their bytes, for which a kernel has accumulators of their own (`graph.split_bytes`).
    """

    name = "cpu-select-int8-kernels"
    anchor = FUNCTION
    only_rewrites = True
    cpu: CpuModel = GENERIC_CPU
    """The CPU to compile for."""
    unit: Literal["none", "amx", "avx512vnni", "avxvnni", "avx2"] = "none"
    """The unit that multiplies 8-bit integers. Beside the tiles of AMX, VNNI on vectors of 512 bits
    multiplies what does not fill tiles."""

    def run(self, op: Any, state: PassState) -> None:
        if self.unit != "none" and self.cpu.lanes == INT8_DOTS[vector_unit(self.unit)].lanes:
            rewrites = [PackInt8Matmul(self.cpu, self.unit), PackInt8Conv(self.cpu, self.unit)]
            apply_rewrites(op, rewrites, state)


def vector_unit(unit: str) -> str:
    """The vectors of a CPU with the unit `unit`."""
    return "avx512vnni" if unit == "amx" else unit


def _as_bytes(x: ir.Value) -> tuple[ir.Value, int]:
    """The bytes of `x`, and their number in an element."""
    if graph.type_of(x).dtype == np.uint8:
        return x, 1
    return graph.split_bytes(x), 2


def _packed_constant(weights: np.ndarray, width: int) -> ir.Value:
    return graph.constant(value=graph.pack_int8(weights, width))


def _packed(w: ir.Value, width: int) -> ir.Value:
    """Panels of `w`, packed here if it is constant."""
    weights = constant_array(w)
    if weights is None:
        return graph.pack_int8_at_run_time(w, width=width)
    return _packed_constant(weights, width)


class _Pack(Rewrite):
    """Base of the rewrites to packed matmuls of 8-bit integers."""

    def __init__(self, cpu: CpuModel, unit: str):
        self.vectors = vector_unit(unit)
        self.cpu, self.unit = INT8_DOTS[self.vectors].free_registers(cpu), unit

    def _reason_against(self, x: ir.Value, shape: Sequence[int], dtype: np.dtype) -> str | None:
        """The reason not to pack the matmul of `x`, or rows of it, by weights of `shape` [K, N], or
        None."""
        if graph.type_of(x).dtype not in UNSIGNED or dtype != np.int8:
            return "only u8 and u16 are multiplied by i8"
        k, columns = shape
        if 0 in (*graph.type_of(x).shape, k, columns):
            return "an operand is empty"
        fills = k % graph.INT8_GROUP == 0
        if not fills and not isinstance(graph.type_of(x).shape[-1], int):
            return f"K, which only the weights tell, is no multiple of {graph.INT8_GROUP}"
        masks_bytes = self.cpu.vector_bits == 512
        if columns < (MIN_COLUMNS if masks_bytes else self.cpu.lanes):
            return "its columns fill too little of a vector"
        return None

    def _build(
        self, x: ir.Value, shape: Sequence[int], pack: Callable[[int], ir.Value]
    ) -> ir.Value:
        """The matmul of `x` by weights of `shape` [K, N], of which `pack` makes panels of so many
        columns."""
        rows = graph.element_count(graph.type_of(x).shape[:-1])
        x, x_bytes = _as_bytes(x)
        k, columns = shape
        is_narrow = columns < self.cpu.lanes
        known = rows if isinstance(rows, int) else None
        tile = choose_tile(known, max(columns, self.cpu.lanes), self.cpu)
        assert tile is not None
        fills = not k % graph.INT8_K_STEPS["amx"] and not at_least(15, rows) and x_bytes == 1
        if self.unit == "amx" and fills and not is_narrow:
            panels = pack(graph.AMX_WIDTH)
            return graph.int8_matmul(
                x, panels, mr=tile.rows, columns=columns, unit="amx", x_bytes=1
            )
        panels = pack(tile.width)
        rows_of_tile = max(tile.rows // x_bytes, 1)
        return graph.int8_matmul(
            x, panels, mr=rows_of_tile, columns=columns, unit=self.vectors, x_bytes=x_bytes
        )


class PackInt8Matmul(_Pack):
    """``matmul(x, w)  -->  int8_matmul(x, panels)``."""

    name = "pack-int8-matmul"
    root = graph.MatmulOp

    def pattern(self, op: graph.MatmulOp) -> dict[str, Any] | None:
        type_ = graph.type_of(op.b)
        if type_.rank != 2 or not type_.is_static or not graph.is_integer(type_.dtype):
            return None
        return {"type_": type_}

    def check(self, op: graph.MatmulOp, type_: graph.TensorType) -> str | None:
        return self._reason_against(op.a, type_.static_shape, type_.dtype)

    def rewrite(self, op: graph.MatmulOp, type_: graph.TensorType) -> ir.Value:
        return self._build(op.a, type_.static_shape, partial(_packed, op.b))


class PackInt8Conv(_Pack):
    """``conv(x, constant)  -->  int8_direct_conv(x, panels)``; a pointwise one ``int8_matmul``.

    A constant around the image is read as its border.
    """

    name = "pack-int8-conv"
    root = graph.ConvOp

    def pattern(self, op: graph.ConvOp) -> dict[str, Any] | None:
        weights = constant_array(op.w)
        if op.attrs["layout"] != "channels_last" or weights is None:
            return None
        return {"weights": weights} if graph.is_integer(weights.dtype) else None

    def check(self, op: graph.ConvOp, weights: np.ndarray) -> str | None:
        if graph.type_of(op.x).dtype not in UNSIGNED or weights.dtype != np.int8:
            return "only u8 and u16 are convolved with i8"
        if op.attrs["groups"] > 1:
            return self._reason_against_groups(op, weights)
        reason = self._reason_against(
            op.x, weights.reshape(-1, weights.shape[-1]).shape, weights.dtype
        )
        if reason is not None or is_pointwise(weights, op.attrs):
            return reason
        reason = reason_against_group(weights.shape[-2], 1)
        if reason is not None:
            return reason
        is_padded = any((*op.attrs["low"], *op.attrs["high"]))
        return "it is padded" if is_padded and self._is_matmul(op, weights) else None

    def _reason_against_groups(self, op: graph.ConvOp, weights: np.ndarray) -> str | None:
        if weights.ndim not in IMAGE_RANKS or 0 in (*graph.type_of(op.x).shape, *weights.shape):
            return "it has groups and more than three spatial axes, or is empty"
        if is_depthwise(weights, op.attrs):
            fills = self._depthwise_tile(op).features % self.cpu.lanes == 0
            masks_bytes = self.cpu.vector_bits == 512
            return None if fills or masks_bytes else "channels do not fill vectors"
        joined = join_small_groups(weights, op.attrs["groups"], self.cpu.lanes)
        if isinstance(joined, str):
            return joined
        if joined[0].shape[-2] % graph.INT8_GROUP:
            return f"channels do not fill groups of {graph.INT8_GROUP}"
        return None

    def rewrite(self, op: graph.ConvOp, weights: np.ndarray) -> ir.Value:
        if op.attrs["groups"] == 1 and self._is_matmul(op, weights):
            rows = windows_as_rows(op, weights, op.attrs)
            matrix = weights.reshape(-1, weights.shape[-1])
            return self._build(rows, matrix.shape, partial(_packed_constant, matrix))
        window = {name: op.attrs[name] for name in ("strides", "dilations", "low", "high")}
        if self._fills_tiles(op, weights):
            panels = graph.constant(value=graph.pack_int8_kernel(weights, graph.AMX_WIDTH))
            return graph.int8_direct_conv(
                op.x, panels, border=0, groups=1, features=weights.shape[-1], tile_w=1,
                lanes=self.cpu.lanes, unit="amx", x_bytes=1, **window,
            )  # fmt: skip
        dense, groups, tile = self._panels(op, weights)
        image, around = self._image(op)
        image, x_bytes = _as_bytes(image)
        group = 1 if is_depthwise(weights, op.attrs) else graph.INT8_GROUP
        panels = graph.constant(value=graph.pack_int8_kernel(dense, tile.features, group))
        return graph.int8_direct_conv(
            image, panels, groups=groups, features=weights.shape[-1], tile_w=tile.pixels,
            lanes=self.cpu.lanes, unit=self.vectors, x_bytes=x_bytes, **{**window, **around},
        )  # fmt: skip

    def _panels(self, op: graph.ConvOp, weights: np.ndarray) -> tuple[np.ndarray, int, PixelTile]:
        """The weights and groups, small groups joined, and the register tile."""
        if is_depthwise(weights, op.attrs):
            return weights, op.attrs["groups"], self._depthwise_tile(op)
        joined = join_small_groups(weights, op.attrs["groups"], self.cpu.lanes)
        assert not isinstance(joined, str)
        dense, groups = joined
        k = -(-dense.shape[-2] // graph.INT8_GROUP) * math.prod(dense.shape[:-2])
        features = dense.shape[-1] // groups
        return (
            dense,
            groups,
            self._dense_tiles(op).dense(self._pixels(op), k, features, evenly=groups > 1),
        )

    def _dense_tiles(self, op: graph.ConvOp) -> PixelTiles:
        """The tiles to choose from: words have accumulators for each of their bytes."""
        if graph.type_of(op.x).dtype == np.uint8:
            return PixelTiles(self.cpu)
        return PixelTiles(replace(self.cpu, vector_registers=self.cpu.registers // 2 + 1))

    def _depthwise_tile(self, op: graph.ConvOp) -> PixelTile:
        widest = DEPTHWISE_VECTORS if isinstance(INT8_DOTS[self.vectors], DotInstruction) else 4
        return PixelTiles(self.cpu).depthwise(self._pixels(op), op.attrs["groups"], widest)

    @staticmethod
    def _pixels(op: graph.ConvOp) -> int | None:
        """The length of a row of the result; None if it is dynamic."""
        pixels = graph.type_of(op.result).shape[-2]
        return pixels if isinstance(pixels, int) else None

    @staticmethod
    def _image(op: graph.ConvOp) -> tuple[ir.Value, dict[str, Any]]:
        """The image without the constant around it, which a transpose may have moved, and the
        attributes that tell of that."""
        moved = producer(op.x, graph.TransposeOp)
        pad = producer(op.x if moved is None else moved.x, graph.PadOp)
        if pad is None or any((*op.attrs["low"], *op.attrs["high"])):
            return op.x, {"border": 0}
        border = constant_scalar(pad.value)
        sides = [pad.attrs["low"], pad.attrs["high"]]
        if moved is not None:
            sides = [[side[axis] for axis in moved.perm] for side in sides]
        (batch, *low, channel), (behind, *high, last) = sides
        others = (batch, channel, behind, last)
        sizes = (*low, *high)
        if border is None or any(others) or not all(isinstance(size, int) for size in sizes):
            return op.x, {"border": 0}
        image = pad.x if moved is None else graph.transpose(pad.x, perm=moved.perm)
        return image, {"border": int(border), "low": low, "high": high}

    def _fills_tiles(self, op: graph.ConvOp, weights: np.ndarray) -> bool:
        """Return whether the tiles of AMX convolve: one group, with strides of 1, over an image of
        static sizes."""
        attrs = op.attrs
        type_ = graph.type_of(op.x)
        if self.unit != "amx" or not type_.is_static or attrs["groups"] > 1:
            return False
        if weights.ndim == VOLUME_RANK or type_.dtype != np.uint8:
            return False
        channels, features = weights.shape[-2:]
        fills = not channels % graph.INT8_K_STEPS["amx"] and not features % graph.AMX_WIDTH
        is_padded = any((*attrs["low"], *attrs["high"]))
        return fills and not is_padded and all(stride == 1 for stride in attrs["strides"])

    @staticmethod
    def _is_matmul(op: graph.ConvOp, weights: np.ndarray) -> bool:
        """Return whether the windows of a convolution are better laid out as rows of a matmul: of
        pointwise kernels, of more than three axes, of rows too short for a tile."""
        short = at_least(MIN_PIXELS - 1, graph.type_of(op.result).shape[-2])
        other = weights.ndim not in IMAGE_RANKS
        return is_pointwise(weights, op.attrs) or other or short
