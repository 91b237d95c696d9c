"""Discrete Fourier transforms, by kernels."""

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...dialects.symbolic import Dim, minimum
from ...errors import LoweringError
from ...mlir import ir
from ..kernels.dft import DftEmitter
from ..kernels.dft_rows import DftMemory
from ..kernels.dft_shape import LEAST_ROOM, ROOM_PER_POINT, WORKGROUPS, DftShape, static_tables
from ..kernels.dft_tables import TableEmitter, TableShape
from .kernel_calls import run_emitter
from .lowering import Lowering, describe, lowers
from .operands import constant_tensor
from .scratch import Prepared, prepares, uses_scratch


@lowers(graph.DftOp)
def dft(ctx: Lowering, op: graph.DftOp, x: ir.Value) -> ir.Value:
    """Transform all rows by one kernel, with tables of the program or of another kernel."""
    source, result, length = graph.type_of(op.x), graph.type_of(op.result), op.length
    if 0 in (*source.shape, *result.shape, length):
        return ctx.filled(result, 0)
    if ctx.gpu:
        raise LoweringError(f"{describe(op)}: has kernels for CPUs only; run `graph-expand-dft`")
    shape = _shape(op, ctx.cpu)
    if isinstance(length, int):
        _, array = static_tables(shape)
        array = array.astype(source.dtype)
        table, table_type = constant_tensor(array), graph.TensorType(array.shape, array.dtype)
    else:
        table, table_type = _run_time_table(ctx, length, source.dtype, shape)
    rows, used = graph.element_count(source.shape[:-2]), source.shape[-2]
    read = [(x, source), (table, table_type)]
    return run_emitter(
        ctx, "dft", shape, (), read, [result, *dft_scratch(op, ctx.cpu)],
        [size for size in (rows, used, length) if isinstance(size, Dim)],
        lambda *buffers: DftEmitter(shape, DftMemory(*buffers)),
    )  # fmt: skip


def _run_time_table(
    ctx: Lowering, length: Dim, dtype: np.dtype, shape: DftShape
) -> tuple[ir.Value, graph.TensorType]:
    type_, work = _table_type(length, dtype), graph.TensorType((4 * _room(length),), dtype)
    tables = TableShape(shape.lanes, shape.element)
    value = run_emitter(
        ctx, "dft_tables", tables, (), [], [type_, work], [length],
        lambda *buffers: TableEmitter(tables, *buffers),
    )  # fmt: skip
    return value, type_


@prepares(graph.DftOp)
def run_time_table(op: graph.DftOp, cpu: CpuModel) -> Prepared | None:
    """The tables that depend on a length of the run."""
    del cpu
    if isinstance(op.length, int):
        return None
    return Prepared(_table_type(op.length, graph.type_of(op.x).dtype))


def _table_type(length: Dim, dtype: np.dtype) -> graph.TensorType:
    """Factors of stages, a chirp, and its spectrum."""
    return graph.TensorType((4 * _room(length) + 2 * length,), dtype)


@uses_scratch(graph.DftOp)
def dft_scratch(op: graph.DftOp, cpu: CpuModel) -> list[graph.TensorType]:
    """The work arrays of all workgroups."""
    shape, source = _shape(op, cpu), graph.type_of(op.x)
    room = _room(op.length) if isinstance(op.length, Dim) else shape.room
    rows = graph.element_count(source.shape[:-2])
    groups = minimum(rows, WORKGROUPS)
    if isinstance(rows, int) and isinstance(op.length, int):
        groups = shape.workgroups
    return [graph.TensorType((groups, 4 * room), source.dtype)]


def _room(length: Dim) -> int | Dim:
    return ROOM_PER_POINT * length + LEAST_ROOM


def _shape(op: graph.DftOp, cpu: CpuModel) -> DftShape:
    source = graph.type_of(op.x)
    rows = graph.element_count(source.shape[:-2])
    sizes = (rows, source.shape[-2], op.length)
    rows, used, length = (size if isinstance(size, int) else None for size in sizes)
    bits = 8 * source.dtype.itemsize
    lanes = (cpu.vector_bits or 128) // bits
    return DftShape(
        rows, used, length, source.shape[-1] == 1, op.inverse, op.onesided,
        lanes=lanes, element=f"f{bits}",
    )  # fmt: skip
