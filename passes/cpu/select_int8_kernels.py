"""Selection of the kernels that multiply 8-bit integers."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...cpu_model import GENERIC_CPU, CpuModel
from ...dialects import graph
from ...dialects.symbolic import at_least
from ...mlir import ir
from ..analysis.windows import is_pointwise, windows_as_rows
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import constant_array
from ..infra.registry import register
from ..infra.rewrite import Rewrite
from ..kernels.group_dot import INT8_DOTS
from ..kernels.vector_registers import choose_tile
from .direct_convolution import MIN_PIXELS
from .pixel_tiles import PixelTiles


@register
@dataclass(frozen=True)
class CpuSelectInt8Kernels(Pass):
    """Select the kernel of each matmul and convolution of u8 by constant i8, and pack the weights.

    %1 = "graph.matmul"(%x, %w) : 128x768xui8, 768x3072xi8
    -->
    %1 = "graph.int8_matmul"(%x, %w') {mr = 6} : 128x768xui8, 48x192x64x4xi8

    Convolutions are channels last and have one group. Exact.
    """

    name = "cpu-select-int8-kernels"
    anchor = FUNCTION
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


class _Pack(Rewrite):
    """Base of the rewrites to packed matmuls of 8-bit integers."""

    def __init__(self, cpu: CpuModel, unit: str):
        self.vectors = vector_unit(unit)
        self.cpu, self.unit = INT8_DOTS[self.vectors].free_registers(cpu), unit

    def _reason_against(self, x: ir.Value, weights: np.ndarray) -> str | None:
        """The reason not to pack the matmul of `x`, or rows of it, by `weights` [K, N], or None."""
        if graph.type_of(x).dtype != np.uint8 or weights.dtype != np.int8:
            return "only u8 is multiplied by i8"
        if 0 in (*graph.type_of(x).shape, *weights.shape):
            return "an operand is empty"
        if weights.shape[0] % graph.INT8_GROUP:
            return f"K is no multiple of {graph.INT8_GROUP}"
        if choose_tile(None, weights.shape[1], self.cpu) is None:
            return "no panel fits the columns"
        return None

    def _build(self, x: ir.Value, weights: np.ndarray) -> ir.Value:
        rows = graph.element_count(graph.type_of(x).shape[:-1])
        k, columns = weights.shape
        tile = choose_tile(rows if isinstance(rows, int) else None, columns, self.cpu)
        assert tile is not None
        if self.unit == "amx" and not k % graph.INT8_K_STEPS["amx"] and not at_least(15, rows):
            panels = graph.constant(value=graph.pack_int8(weights, graph.AMX_WIDTH))
            return graph.int8_matmul(x, panels, mr=tile.rows, columns=columns, unit="amx")
        panels = graph.constant(value=graph.pack_int8(weights, tile.width))
        return graph.int8_matmul(x, panels, mr=tile.rows, columns=columns, unit=self.vectors)


class PackInt8Matmul(_Pack):
    """``matmul(x, constant)  -->  int8_matmul(x, panels)``."""

    name = "pack-int8-matmul"
    root = graph.MatmulOp

    def pattern(self, op: graph.MatmulOp) -> dict[str, Any] | None:
        weights = constant_array(op.b)
        if weights is None or weights.ndim != 2 or not graph.is_integer(weights.dtype):
            return None
        return {"weights": weights}

    def check(self, op: graph.MatmulOp, weights: np.ndarray) -> str | None:
        return self._reason_against(op.a, weights)

    def rewrite(self, op: graph.MatmulOp, weights: np.ndarray) -> ir.Value:
        return self._build(op.a, weights)


class PackInt8Conv(_Pack):
    """``conv(x, constant)  -->  int8_direct_conv(x, panels)``; a pointwise one ``int8_matmul``."""

    name = "pack-int8-conv"
    root = graph.ConvOp

    def pattern(self, op: graph.ConvOp) -> dict[str, Any] | None:
        weights = constant_array(op.w)
        if op.attrs["layout"] != "channels_last" or op.attrs["groups"] != 1 or weights is None:
            return None
        return {"weights": weights} if graph.is_integer(weights.dtype) else None

    def check(self, op: graph.ConvOp, weights: np.ndarray) -> str | None:
        reason = self._reason_against(op.x, weights.reshape(-1, weights.shape[-1]))
        if reason is not None or is_pointwise(weights, op.attrs):
            return reason
        if weights.shape[-2] % graph.INT8_GROUP:
            return f"channels do not fill groups of {graph.INT8_GROUP}"
        return "it is padded" if any((*op.attrs["low"], *op.attrs["high"])) else None

    def rewrite(self, op: graph.ConvOp, weights: np.ndarray) -> ir.Value:
        if self._is_matmul(op, weights):
            rows = windows_as_rows(op, weights, op.attrs)
            return self._build(rows, weights.reshape(-1, weights.shape[-1]))
        window = {name: op.attrs[name] for name in ("strides", "dilations")}
        if self._fills_tiles(op, weights):
            panels = graph.constant(value=graph.pack_int8_kernel(weights, graph.AMX_WIDTH))
            return graph.int8_direct_conv(
                op.x, panels, tile_w=1, lanes=self.cpu.lanes, unit="amx", **window
            )
        pixels = graph.type_of(op.result).shape[-2]
        groups = weights.shape[-2] // graph.INT8_GROUP
        tile = PixelTiles(self.cpu).dense(
            pixels if isinstance(pixels, int) else None,
            groups * math.prod(weights.shape[:-2]),
            weights.shape[-1],
        )
        panels = graph.constant(value=graph.pack_int8_kernel(weights, tile.features))
        return graph.int8_direct_conv(
            op.x, panels, tile_w=tile.pixels, lanes=self.cpu.lanes, unit=self.vectors, **window
        )

    def _fills_tiles(self, op: graph.ConvOp, weights: np.ndarray) -> bool:
        """Return whether the tiles of AMX convolve: with strides of 1, over an image of static
        sizes."""
        if self.unit != "amx" or not graph.type_of(op.x).is_static:
            return False
        channels, features = weights.shape[-2:]
        fills = not channels % graph.INT8_K_STEPS["amx"] and not features % graph.AMX_WIDTH
        return fills and all(stride == 1 for stride in op.attrs["strides"])

    @staticmethod
    def _is_matmul(op: graph.ConvOp, weights: np.ndarray) -> bool:
        """Return whether the windows of a convolution are better laid out as rows of a matmul: of
        pointwise kernels, of three or more axes, of rows too short for a tile."""
        short = at_least(MIN_PIXELS - 1, graph.type_of(op.result).shape[-2])
        return is_pointwise(weights, op.attrs) or weights.ndim not in (3, 4) or short
