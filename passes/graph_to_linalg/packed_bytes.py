"""Epilogues of contractions of integers that end with a quantization, whose bytes packs compute."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import ir
from ..infra.query import constant_scalar
from ..kernels.byte_packs import BytePacking
from ..kernels.epilogue import NOTHING_READ, ReadConstants

MOST = 2.0**31
"""Magnitude below which the instruction that rounds floats gives their integers."""

AVX2_UNITS = ("avx2", "avxvnni")
"""Units of kernels of 8-bit integers whose vectors have 256 bits."""

_I32 = np.dtype(np.int32)
_BYTES = (np.dtype(np.int8), np.dtype(np.uint8))


def byte_packing(
    root: graph.GraphOp,
    steps: Sequence[graph.GraphOp],
    cpu: CpuModel,
    read: ReadConstants = NOTHING_READ,
) -> BytePacking | None:
    """The packing that computes the last of the `steps` behind the contraction `root`: on vectors
    of 512 bits, or behind a kernel of 8-bit integers on AVX2, for a quantization to 8 bits with a
    scale of 1. None otherwise. Constants in `read` are not compiled in."""
    last, has_packs = steps[-1] if steps else None, root.attrs.get("unit") in AVX2_UNITS
    if not (cpu.vector_bits == 512 or has_packs) or not isinstance(last, graph.QuantizeOp):
        return None
    zero, scale = constant_scalar(last.zero_point), constant_scalar(last.scale)
    if graph.type_of(root.operation.results[0]).dtype != _I32 or zero is None or scale is None:
        return None
    if zero.dtype not in _BYTES or scale.dtype != np.float32 or scale != 1:
        return None
    clamps = largest_magnitude(last.x) >= MOST
    known = None if last.zero_point in read.numbers else int(zero)
    return BytePacking(known, zero.dtype == np.uint8, clamps, cpu.lanes)


def largest_magnitude(value: ir.Value, known: dict[ir.Value, float] | None = None) -> float:
    """An upper bound of the magnitudes of a tensor's elements, rounding included; infinity if
    nothing is known, or for constants that are no numbers. `known` holds bounds found before."""
    known = {} if known is None else known
    if value not in known:
        known[value] = _bound(value, lambda operand: largest_magnitude(operand, known))
    return known[value]


def _bound(value: ir.Value, of: Callable[[ir.Value], float]) -> float:
    """See `largest_magnitude`; `of` gives the bounds of operands."""
    op = graph.graph_op(value.owner)
    if isinstance(op, graph.ConstantOp):
        bound = float(np.abs(op.attrs["value"].astype(np.float64)).max(initial=0))
        return bound if math.isfinite(bound) else math.inf
    bound = math.inf
    if isinstance(op, graph.CastOp) and np.issubdtype(graph.type_of(op.x).dtype, np.integer):
        bound = 2.0 ** graph.bit_width(graph.type_of(op.x).dtype)
    elif isinstance(op, graph.DequantizeOp) and graph.type_of(op.zero_point).dtype in _BYTES:
        bound = 256 * of(op.scale)
    elif isinstance(op, graph.ReluOp):
        bound = of(op.x)
    elif isinstance(op, graph.AddOp):
        bound = of(op.a) + of(op.b)
    elif isinstance(op, graph.MulOp | graph.FmaOp):
        factors = of(op.a), of(op.b)
        bound = math.inf if math.inf in factors else math.prod(factors)
        bound += of(op.c) if isinstance(op, graph.FmaOp) else 0
    return bound * (1 + 2.0**-20)
