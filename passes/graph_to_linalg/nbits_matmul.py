"""Calls of the kernels for matmuls by weights of few bits, with or without an epilogue."""

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import ir
from ..kernels.epilogue import VectorEpilogue
from ..kernels.nbits_amx import NbitsAmxEmitter, NbitsAmxShape
from ..kernels.nbits_either import MANY_ROWS, NbitsEitherEmitter, NbitsEitherShape
from ..kernels.nbits_matmul import NbitsMatmulEmitter, NbitsMatmulShape
from ..kernels.nbits_panels import NbitsPanelsEmitter, NbitsPanelsShape
from .kernel_calls import compute
from .kernel_rules import always, lowers_with_epilogue
from .lowering import Lowering
from .packed_matmul import row_count
from .scratch import scratch_of, uses_scratch

_FAMILY = "nbits_matmul"


@lowers_with_epilogue(graph.NbitsMatmulOp, narrows=always)
def nbits_matmul(ctx: Lowering, op: graph.NbitsMatmulOp, epilogue: VectorEpilogue) -> ir.Value:
    """Compute a matmul and its `epilogue`."""
    rows, sizes = row_count(op)
    few, many = _shape_of_few(op, ctx.cpu), _shape_of_many(op, ctx.cpu)
    if many is None:
        return compute(ctx, NbitsMatmulEmitter, _FAMILY, few, op, epilogue, sizes=sizes)
    scratch, on_tiles = scratch_of(op, ctx.cpu), isinstance(many, NbitsAmxShape)
    family = "amx_nbits_matmul" if on_tiles else _FAMILY
    if rows is None:
        either = NbitsEitherShape(few, many)
        return compute(ctx, NbitsEitherEmitter, family, either, op, epilogue, scratch, sizes)
    emitter = NbitsAmxEmitter if on_tiles else NbitsPanelsEmitter
    return compute(ctx, emitter, family, many, op, epilogue, scratch)


@uses_scratch(graph.NbitsMatmulOp)
def nbits_matmul_scratch(op: graph.NbitsMatmulOp, cpu: CpuModel) -> list[graph.TensorType]:
    """For many rows: the terms of rows and of a panel on tiles, or the weights of a K block of a
    panel, for all workgroups."""
    many = _shape_of_many(op, cpu)
    if many is None:
        return []
    dtype = np.dtype(graph.BF16 if isinstance(many, NbitsAmxShape) else np.float32)
    return [graph.TensorType((many.workgroups, many.scratch), dtype)]


def _shape_of_few(op: graph.NbitsMatmulOp, cpu: CpuModel) -> NbitsMatmulShape:
    attrs = graph.NbitsAttrs(**op.attrs)
    layout = graph.nbits_format(attrs)
    _, blocks, _ = graph.type_of(op.w).static_shape
    return NbitsMatmulShape(
        row_count(op)[0], blocks, attrs["columns"],
        nr=layout.nr, lanes=attrs["lanes"], mr=attrs["mr"], cpu=cpu,
        layout=layout, exact=attrs["exact"],
    )  # fmt: skip


def _shape_of_many(
    op: graph.NbitsMatmulOp, cpu: CpuModel
) -> NbitsAmxShape | NbitsPanelsShape | None:
    """The shape of the kernel that widens weights once for many rows; None if there are few."""
    attrs, (rows, _) = graph.NbitsAttrs(**op.attrs), row_count(op)
    if rows is not None and rows < MANY_ROWS:
        return None
    layout, columns = graph.nbits_format(attrs), attrs["columns"]
    k = graph.static_size(graph.type_of(op.x).shape[-1])
    if attrs["unit"] == "amx":
        return NbitsAmxShape(rows, k, columns, cpu, layout=layout)
    vectors = layout.nr // attrs["lanes"]
    return NbitsPanelsShape(
        rows, k, columns, nr=layout.nr, lanes=attrs["lanes"],
        mr=(cpu.registers - 1 - vectors) // vectors, cpu=cpu,
        layout=layout, exact=attrs["exact"],
    )  # fmt: skip
