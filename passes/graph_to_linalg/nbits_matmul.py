"""Calls of the kernels for matmuls by weights of few bits, with or without an epilogue."""

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import ir
from ..kernels.amx import ROWS
from ..kernels.epilogue import VectorEpilogue
from ..kernels.nbits_amx import (
    NbitsAmxEmitter,
    NbitsAmxShape,
    NbitsEitherEmitter,
    NbitsEitherShape,
)
from ..kernels.nbits_matmul import NbitsMatmulEmitter, NbitsMatmulShape
from .kernel_calls import compute
from .kernel_rules import always, lowers_with_epilogue
from .lowering import Lowering
from .packed_matmul import row_count
from .scratch import scratch_of, uses_scratch

_FAMILY = "nbits_matmul"


@lowers_with_epilogue(graph.NbitsMatmulOp, narrows=always)
def nbits_matmul(ctx: Lowering, op: graph.NbitsMatmulOp, epilogue: VectorEpilogue) -> ir.Value:
    """Compute a matmul and its `epilogue`."""
    _, sizes = row_count(op)
    vectors, tiles = _vector_shape(op, ctx.cpu), _tile_shape(op, ctx.cpu)
    if tiles is None:
        return compute(ctx, NbitsMatmulEmitter, _FAMILY, vectors, op, epilogue, sizes=sizes)
    scratch = scratch_of(op, ctx.cpu)
    if tiles.rows is None:
        either = NbitsEitherShape(vectors, tiles)
        return compute(
            ctx, NbitsEitherEmitter, "amx_nbits_matmul", either, op, epilogue, scratch, sizes
        )
    return compute(ctx, NbitsAmxEmitter, "amx_nbits_matmul", tiles, op, epilogue, scratch)


@uses_scratch(graph.NbitsMatmulOp)
def nbits_matmul_scratch(op: graph.NbitsMatmulOp, cpu: CpuModel) -> list[graph.TensorType]:
    """The terms of rows and of a panel, for all workgroups on tiles."""
    tiles = _tile_shape(op, cpu)
    if tiles is None:
        return []
    return [graph.TensorType((tiles.workgroups, tiles.scratch), np.dtype(graph.BF16))]


def _vector_shape(op: graph.NbitsMatmulOp, cpu: CpuModel) -> NbitsMatmulShape:
    attrs = graph.NbitsAttrs(**op.attrs)
    layout = graph.nbits_format(attrs)
    _, blocks, _ = graph.type_of(op.w).static_shape
    return NbitsMatmulShape(
        row_count(op)[0], blocks, attrs["columns"],
        nr=layout.nr, lanes=attrs["lanes"], mr=attrs["mr"], cpu=cpu,
        layout=layout, exact=attrs["exact"],
    )  # fmt: skip


def _tile_shape(op: graph.NbitsMatmulOp, cpu: CpuModel) -> NbitsAmxShape | None:
    """The shape of the kernel on tiles; None if no rows fill them."""
    attrs, (rows, _) = graph.NbitsAttrs(**op.attrs), row_count(op)
    if attrs["unit"] != "amx" or (rows is not None and rows < ROWS):
        return None
    k = graph.static_size(graph.type_of(op.x).shape[-1])
    return NbitsAmxShape(rows, k, attrs["columns"], cpu, layout=graph.nbits_format(attrs))
