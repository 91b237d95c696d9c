"""Matmuls of activations of 8 bits by weights of few bits, both quantized by blocks of K."""

from collections.abc import Iterator
from typing import Unpack

import numpy as np

from ...mlir import ir
from .attributes import Bool, Int, Str
from .base import Tensor, TypeRuleError, builder, graph_op
from .contraction import KernelContraction, require_equal_sizes
from .nbits_format import NbitsFormat
from .nbits_matmul import NbitsPanelAttrs, nbits_format
from .quantize_blocks import QuantizedBlock, quantized_size
from .types import TensorType

ACCURACY_LEVEL = "graph.accuracy_level"
"""A discardable attribute of a matmul by quantized weights: the least accuracy with which the model
lets it be computed, by the numbers of ONNX Runtime's MatMulNBits."""
INT8_LEVEL = 4
"""The level that lets activations be quantized to 8 bits, by blocks of K. Lower ones do not."""


def allow_accuracy_level(value: ir.Value, level: int) -> ir.Value:
    """`value`, the result of a matmul, which may be computed with that accuracy. A rewrite that
    builds the matmul anew loses the permission, and the result is as accurate as any."""
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), level)
    ir.OpResult(value).owner.attributes[ACCURACY_LEVEL] = attribute
    return value


def accuracy_level(value: ir.Value) -> int:
    """The least accuracy with which the op of `value` may be computed; 0 if nothing is said."""
    op = graph_op(value.owner)
    attributes = None if op is None else op.operation.attributes
    if attributes is None or ACCURACY_LEVEL not in attributes:
        return 0
    return ir.IntegerAttr(attributes[ACCURACY_LEVEL]).value


class Int8NbitsAttrs(NbitsPanelAttrs):
    """The attributes of `graph.int8_nbits_matmul`."""

    mr: int
    columns: int
    unit: str


class Int8NbitsMatmulOp(KernelContraction, name="int8_nbits_matmul"):
    """``x w`` of rows of `graph.quantize_blocks` by the weights of `graph.nbits_matmul`, in the
    same blocks: `x` [..., K/block * words], `w` [panels, K/block, words], result [..., columns] of
    f32.

    The products of a block are summed as integers, without its zero point, which is multiplied by
    the sum of the activations; the sum is scaled by both scales and accumulated in f32. `mr` rows
    are multiplied at a time, by the vectors of `unit`.
    """

    x: Tensor
    w: Tensor
    mr: Int
    columns: Int
    bits: Int
    block: Int
    nr: Int
    scales: Str
    zeros: Bool
    offset: Int
    unit: Str

    @staticmethod
    def infer(x: TensorType, w: TensorType, **attrs: Unpack[Int8NbitsAttrs]) -> TensorType:
        layout, block = nbits_format(attrs), attrs["block"]
        if attrs["unit"] not in ("avx512vnni", "avxvnni", "avx2"):
            raise TypeRuleError(f"unit must be avx512vnni, avxvnni or avx2, not '{attrs['unit']}'")
        if w.dtype != np.uint32 or w.rank != 3 or not layout.is_valid or attrs["mr"] < 1:
            raise TypeRuleError(f"cannot unpack {layout} from {w}")
        panels, blocks, words = w.static_shape
        if words != layout.words or not 0 < attrs["columns"] <= panels * layout.nr:
            raise TypeRuleError(f"panels {w} do not hold {attrs['columns']} columns of {layout}")
        require_equal_sizes(quantized_size(x, block), blocks * block, "the contracted sizes")
        return TensorType((*x.shape[:-1], attrs["columns"]), np.dtype(np.float32))

    @staticmethod
    def evaluate(x: np.ndarray, w: np.ndarray, **attrs: Unpack[Int8NbitsAttrs]) -> np.ndarray:
        layout = nbits_format(attrs)
        columns = attrs["columns"]
        result = np.zeros((int(np.prod(x.shape[:-1])), columns), np.float32)
        q, x_scale, total = QuantizedBlock(attrs["block"]).parts(x)
        for number, (weights, scale, zero) in enumerate(_blocks(layout, w)):
            sums = q[:, number].astype(np.float32) @ weights[:, :columns]  # exact in f32
            if zero is not None:
                sums -= total[:, number, np.newaxis] * zero[:columns]
            result += sums * scale[:columns] * x_scale[:, number, np.newaxis]
        return result.reshape(*x.shape[:-1], columns)


def _blocks(
    layout: NbitsFormat, w: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """The blocks of panels `w`: integers [block, N] of f32, with scales and zero points [N]."""
    for number in range(w.shape[1]):
        panels = w[:, number : number + 1]
        integers = layout.integers(panels)[:, 0].transpose(1, 0, 2) + layout.offset
        scale, zero = (layout.scales_of(panels), layout.zeros_of(panels))
        flat = integers.reshape(layout.block, -1).astype(np.float32)
        yield flat, scale.ravel(), None if zero is None else zero.ravel()


int8_nbits_matmul = builder(Int8NbitsMatmulOp)
