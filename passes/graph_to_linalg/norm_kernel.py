"""Calls of the kernel that normalizes rows, on CPUs that kernels are written for
(`kernels.row_norm`).

In IREE's code, RMS normalization takes 2.5 times as long, as does that of layers whose rows end
within a vector.
"""

from collections.abc import Sequence

import numpy as np

from ...dialects import graph
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim
from ...mlir import ir
from ..kernels.row_norm import RowNorm, RowNormEmitter, RunParameters
from .kernel_calls import run_emitter
from .lowering import Lowering, Size
from .rows import row_chunks

_REGISTERS = (4, 2, 1)
"""Registers of elements that are summed side by side; 128 rows of 768 take 1.3 times as long in
one."""
_LEAST_RUN = 16
"""Elements of a run that has a scale of its own: they fill a vector."""

Norm = graph.LayerNormOp | graph.RmsNormOp


def normalize_by_kernel(
    ctx: Lowering, op: Norm, x: ir.Value, scale: ir.Value, bias: ir.Value | None = None
) -> ir.Value | None:
    """Build a normalization; None if the kernel does not compute it. The report says why."""
    if ctx.gpu or ctx.in_kernel or not ctx.cpu.has_vectors:
        return None
    statistics, node = ctx.statistics("norm-kernel"), node_name(op.operation)
    reason = reason_against_kernel(op)
    if reason is not None:
        statistics.record_declined(node, reason)
        return None
    statistics.record_fired(node)
    return _run(ctx, op, x, [scale] if bias is None else [scale, bias])


def reason_against_kernel(op: Norm) -> str | None:
    """The reason why the kernel does not compute `op`, None if it does."""
    type_ = graph.type_of(op.x)
    if type_.dtype != np.float32:
        return "only f32 is normalized by it"
    if 0 in type_.shape:
        return "there is nothing to normalize"
    if any(graph.type_of(each).dtype != np.float32 for each in _parameters(op)):
        return "scale or bias are not f32"
    if not _have_row_parameters(op) and _run_parameters(op) is None:
        return "scale or bias are neither for each element of a row nor for runs of them"
    return None


def _parameters(op: Norm) -> list[ir.Value]:
    bias = op.bias if isinstance(op, graph.LayerNormOp) else None
    return [op.scale] if bias is None else [op.scale, bias]


def _have_row_parameters(op: Norm) -> bool:
    """Return whether each element of a row has parameters of its own, the same in all rows."""
    row = graph.type_of(op.x).shape[op.attrs["axis"] :]
    return all(graph.type_of(each).shape == row for each in _parameters(op))


def _run_parameters(op: Norm) -> tuple[int, int, Size] | None:
    """Rows that have parameters of their own, runs of elements that share them in each row, and the
    length of these; None if that is not how parameters broadcast, or runs do not fill a vector."""
    shape, axis = graph.type_of(op.x).shape, op.attrs["axis"]
    found = {_runs(graph.type_of(each).shape, shape, axis) for each in _parameters(op)}
    if len(found) != 1 or (runs := found.pop()) is None:
        return None
    *_, length = runs
    return None if isinstance(length, int) and length < _LEAST_RUN else runs


def _runs(
    parameter: Sequence[Size], shape: Sequence[Size], axis: int
) -> tuple[int, int, Size] | None:
    """The same for one `parameter` that broadcasts to `shape`, whose rows begin at `axis`: it has
    sizes of one, then those of `shape`, then sizes of one."""
    padded = [*[1] * (len(shape) - len(parameter)), *parameter]
    own = [i for i, size in enumerate(padded) if size != 1]
    first, last = (own[0], own[-1] + 1) if own else (axis, axis)
    if list(padded[first:last]) != list(shape[first:last]):
        return None
    rows, count = graph.element_count(shape[first:axis]), graph.element_count(shape[axis:last])
    # Axes of `shape` between those of the parameter and the first one of a row would repeat it.
    between = graph.element_count([*shape[last:axis], *shape[axis:first]])
    if not isinstance(rows, int) or not isinstance(count, int) or between != 1:
        return None
    return rows, count, graph.element_count(shape[max(last, axis) :])


def _run(ctx: Lowering, op: Norm, x: ir.Value, parameters: list[ir.Value]) -> ir.Value:
    type_ = graph.type_of(op.x)
    rows, sizes = row_chunks(type_, op.attrs["axis"])
    parts = None
    if not _have_row_parameters(op) and (found := _run_parameters(op)) is not None:
        count, runs, length = found
        parts = RunParameters(count, runs, _width(ctx, length))
    length = rows.length if rows.length is not None else sizes[-1]
    centred = isinstance(op, graph.LayerNormOp)
    shape = RowNorm(rows, _width(ctx, length), op.attrs["epsilon"], centred, parts)
    types = map(graph.type_of, _parameters(op))
    read = [(x, type_), *zip(parameters, types, strict=True)]

    def emitter(*buffers: ir.Value) -> RowNormEmitter:
        source, scale, *bias, target = buffers
        return RowNormEmitter(shape, source, scale, bias[0] if bias else None, target)

    return run_emitter(ctx, "row_norm", shape, (), read, [type_], sizes, emitter)


def _width(ctx: Lowering, length: Size) -> int:
    """Elements of `length` that the kernel takes at a time."""
    widths = [count * ctx.cpu.lanes for count in _REGISTERS]
    fitting = [width for width in widths if isinstance(length, Dim) or width <= length]
    return [*fitting, widths[-1]][0]
