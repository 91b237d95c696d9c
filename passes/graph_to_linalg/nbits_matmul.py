"""Calls of the kernels for matmuls by weights of few bits, with or without an epilogue."""

from typing import Any

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...mlir import ir
from ..kernels.epilogue import VectorEpilogue
from ..kernels.group_dot import INT8_DOTS
from ..kernels.int8_nbits_matmul import Int8NbitsMatmulShape, Int8NbitsPanelsShape
from ..kernels.nbits_amx import NbitsAmxShape
from ..kernels.nbits_dots import nbits_dot
from ..kernels.nbits_either import (
    EMITTERS,
    MANY_ROWS,
    FewShape,
    ManyShape,
    NbitsEitherEmitter,
    NbitsEitherShape,
)
from ..kernels.nbits_matmul import NbitsMatmulShape
from ..kernels.nbits_panels import NbitsPanelsShape
from .kernel_calls import compute
from .kernel_rules import lowers_with_epilogue
from .lowering import Lowering
from .packed_matmul import row_count
from .scratch import scratch_of, uses_scratch

_FAMILY = "nbits_matmul"
_PANEL_ROWS = 3
"""Rows of a register tile that has sums of integers beside its accumulators."""


def stores_once(op: graph.NbitsMatmulOp, cpu: CpuModel) -> bool:
    """Return whether kernels of a matmul by weights of few bits store no partial sums. The one that
    widens weights for many rows does between its K blocks."""
    many = _shape_of_many(op, cpu)
    return not isinstance(many, NbitsPanelsShape) or many.k_blocks == 1


def stores_int8_sums_once(op: graph.Int8NbitsMatmulOp, cpu: CpuModel) -> bool:
    """The same for activations of 8 bits."""
    many = _int8_shape_of_many(op, cpu)
    return many is None or many.k_blocks == 1


@lowers_with_epilogue(graph.NbitsMatmulOp, narrows=stores_once)
def nbits_matmul(ctx: Lowering, op: graph.NbitsMatmulOp, epilogue: VectorEpilogue) -> ir.Value:
    """Compute a matmul and its `epilogue`."""
    return _compute(ctx, op, epilogue, _shape_of_few(op, ctx.cpu), _shape_of_many(op, ctx.cpu))


@lowers_with_epilogue(graph.Int8NbitsMatmulOp, narrows=stores_int8_sums_once)
def int8_nbits_matmul(
    ctx: Lowering, op: graph.Int8NbitsMatmulOp, epilogue: VectorEpilogue
) -> ir.Value:
    """Compute a matmul of activations of 8 bits and its `epilogue`."""
    few = Int8NbitsMatmulShape(*_extents(op), mr=op.attrs["mr"], **_int8_options(op, ctx.cpu))
    return _compute(ctx, op, epilogue, few, _int8_shape_of_many(op, ctx.cpu))


def _compute(
    ctx: Lowering,
    op: graph.KernelContraction,
    epilogue: VectorEpilogue,
    few: FewShape,
    many: ManyShape | None,
) -> ir.Value:
    """Compute a matmul by the kernel for many rows, or that for few if there is none; for a dynamic
    number of rows by one that has both."""
    rows, sizes = row_count(op)
    if many is None:
        return compute(ctx, EMITTERS[type(few)], _FAMILY, few, op, epilogue, sizes=sizes)
    scratch = scratch_of(op, ctx.cpu)
    family = "amx_nbits_matmul" if isinstance(many, NbitsAmxShape) else _FAMILY
    if rows is None:
        either = NbitsEitherShape(few, many)
        return compute(ctx, NbitsEitherEmitter, family, either, op, epilogue, scratch, sizes)
    return compute(ctx, EMITTERS[type(many)], family, many, op, epilogue, scratch)


@uses_scratch(graph.NbitsMatmulOp)
def nbits_matmul_scratch(op: graph.NbitsMatmulOp, cpu: CpuModel) -> list[graph.TensorType]:
    """For many rows: the terms of rows and of a panel on tiles, or the weights of a K block of a
    panel, for all workgroups."""
    many = _shape_of_many(op, cpu)
    if many is None:
        return []
    dtype = np.dtype(graph.BF16 if isinstance(many, NbitsAmxShape) else np.float32)
    return [graph.TensorType((many.workgroups, many.scratch), dtype)]


@uses_scratch(graph.Int8NbitsMatmulOp)
def int8_nbits_matmul_scratch(op: graph.Int8NbitsMatmulOp, cpu: CpuModel) -> list[graph.TensorType]:
    """For many rows: the weights of a K block of a panel as bytes, for all workgroups."""
    many = _int8_shape_of_many(op, cpu)
    if many is None:
        return []
    return [graph.TensorType((many.workgroups, many.scratch), np.dtype(np.int32))]


def _extents(op: graph.Int8NbitsMatmulOp) -> tuple[int | None, int, int]:
    """Rows, blocks of K, and columns."""
    _, blocks, _ = graph.type_of(op.w).static_shape
    return row_count(op)[0], blocks, op.attrs["columns"]


def _int8_options(op: graph.Int8NbitsMatmulOp, cpu: CpuModel) -> dict[str, Any]:
    unit = op.attrs["unit"]
    layout = graph.nbits_format(graph.Int8NbitsAttrs(**op.attrs))
    lanes = INT8_DOTS[unit].lanes  # those of the unit, which are fewer where vectors are longer
    products = nbits_dot(unit, layout.bits, lanes)
    assert products is not None
    return {"nr": layout.nr, "lanes": lanes, "cpu": cpu, "layout": layout, "products": products}


def _int8_shape_of_many(op: graph.Int8NbitsMatmulOp, cpu: CpuModel) -> Int8NbitsPanelsShape | None:
    rows, blocks, columns = _extents(op)
    if rows is not None and rows < MANY_ROWS:
        return None
    options = _int8_options(op, cpu)
    return Int8NbitsPanelsShape(rows, blocks, columns, mr=_PANEL_ROWS, **options)


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
