"""Matmuls on weights of few bits, quantized by blocks of K: for few rows, memory bandwidth is the
limit, and a kernel reads the weights packed and widens them in registers.
"""

from typing import TypedDict, Unpack

import numpy as np

from .attributes import Bool, Int, Str
from .base import Tensor, TypeRuleError, builder
from .contraction import KernelContraction, MatmulOp, require_equal_sizes
from .nbits_format import NbitsFormat
from .types import TensorType


class NbitsPanelAttrs(TypedDict):
    """Attributes that say how panels are laid out."""

    bits: int
    block: int
    nr: int
    scales: str
    zeros: bool
    offset: int


class NbitsAttrs(NbitsPanelAttrs):
    """The attributes of `graph.nbits_matmul`."""

    mr: int
    columns: int
    lanes: int
    exact: bool
    unit: str


def nbits_format(attrs: NbitsPanelAttrs) -> NbitsFormat:
    """The layout of the weights."""
    return NbitsFormat(
        attrs["bits"], attrs["block"], attrs["nr"], attrs["scales"], attrs["zeros"], attrs["offset"]
    )


class NbitsMatmulOp(KernelContraction, name="nbits_matmul"):
    """``x w`` of f32 by packed weights: `x` [..., K], `w` [panels, K/block, words] of words, result
    [..., columns].

    A weight is ``(q + offset - zero) * scale``, with `q` an integer of `bits` bits with sign (ONNX
    Runtime's MatMulNBits). The `block` weights of a column in one block have the scale in common,
    and the zero point if there are `zeros`; both are of the type `scales`. `NbitsFormat` has the
    layout of a panel of `nr` columns.

    `mr` rows of `x` are multiplied at a time, in vectors of `lanes`. If `exact`, products are those
    by the weights, each rounded to f32; otherwise a scale may be applied to the sum of a block.
    `unit` is ``vectors``, or ``amx`` for rows that fill tiles, as three bf16 matmuls; `K` is a
    multiple of 32 then, and `nr` too.
    """

    x: Tensor
    w: Tensor
    mr: Int
    columns: Int
    lanes: Int
    bits: Int
    block: Int
    nr: Int
    scales: Str
    zeros: Bool
    offset: Int
    exact: Bool
    unit: Str

    @staticmethod
    def infer(x: TensorType, w: TensorType, **attrs: Unpack[NbitsAttrs]) -> TensorType:
        if x.dtype != np.float32 or w.dtype != np.uint32:
            raise TypeRuleError(f"is for f32 by words, not for {x.dtype} by {w.dtype}")
        layout, mr, lanes = nbits_format(attrs), attrs["mr"], attrs["lanes"]
        if not layout.is_valid or lanes < 1 or layout.nr % lanes:
            raise TypeRuleError(f"cannot unpack {layout} in vectors of {lanes}")
        if attrs["unit"] not in ("vectors", "amx"):
            raise TypeRuleError(f"unit must be vectors or amx, not '{attrs['unit']}'")
        if w.rank != 3 or x.rank < 1 or mr < 1 or w.shape[2] != layout.words:
            raise TypeRuleError(f"cannot multiply {x} by panels {w}, {mr} rows at a time")
        panels, blocks, _ = w.static_shape
        require_equal_sizes(x.shape[-1], blocks * layout.block, "the contracted sizes")
        if not 0 < attrs["columns"] <= panels * layout.nr:
            raise TypeRuleError(f"panels {w} do not hold {attrs['columns']} columns")
        return x.with_shape((*x.shape[:-1], attrs["columns"]))

    @staticmethod
    def evaluate(x: np.ndarray, w: np.ndarray, **attrs: Unpack[NbitsAttrs]) -> np.ndarray:
        matrix = nbits_format(attrs).unpack(w)[:, : attrs["columns"]]
        return MatmulOp.evaluate(np.atleast_2d(x), matrix).reshape(*x.shape[:-1], attrs["columns"])


nbits_matmul = builder(NbitsMatmulOp)
