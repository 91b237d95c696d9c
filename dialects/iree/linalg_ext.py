"""Mirror of IREE's ``iree_linalg_ext`` dialect: tensor ops that linalg cannot express."""

from collections.abc import Callable, Sequence
from typing import Any

from ...mlir import ext, ir
from .base import Iree, fill_region

Body = Callable[..., ir.Value]


class LinalgExt(Iree, name="iree_linalg_ext"):
    """Structured ops beside linalg."""


class YieldOp(LinalgExt.Operation, name="yield", traits=[ir.IsTerminatorTrait]):
    """Ends a region on scalars."""

    x: ext.Operand[Any]


class ScatterOp(LinalgExt.Operation, name="scatter", traits=[ext.Pure]):
    """Combines slices of `original`, at the positions that `indices` lists, with `updates`.

    Indices are not checked. Updates are applied in order unless `unique_indices`.
    """

    updates: ext.Operand[ir.RankedTensorType]
    indices: ext.Operand[ir.RankedTensorType]
    original: ext.Operand[ir.RankedTensorType]
    dimension_map: Any
    unique_indices: Any
    combined: ext.Result[ir.RankedTensorType]
    body: ir.Region


class ScanOp(LinalgExt.Operation, name="scan", traits=[ext.Pure]):
    """Running combinations of the elements along a dimension."""

    x: ext.Operand[ir.RankedTensorType]
    output: ext.Operand[ir.RankedTensorType]
    start: ext.Operand[ir.RankedTensorType]
    dimension: Any
    inclusive: Any
    running: ext.Result[ir.RankedTensorType]
    total: ext.Result[ir.RankedTensorType]
    body: ir.Region


class Im2colOp(LinalgExt.Operation, name="im2col", traits=[ext.Pure]):
    """The windows of a channels-last image as the rows of a matrix.

    Computed within the dispatch of the contraction that reads it, window by window.
    """

    x: ext.Operand[ir.RankedTensorType]
    output: ext.Operand[ir.RankedTensorType]
    windows: ext.Result[ir.RankedTensorType]


def im2col(
    x: ir.Value,
    output: ir.Value,
    kernel: Sequence[int],
    positions: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> ir.Value:
    """The matrix ``[N * out..., kernel... * C]`` of the windows of `x`, ``[N, spatial..., C]``.

    `output` gives the type of the result. All sizes are static, and `x` is padded. The batch is a
    spatial axis with a kernel of one.
    """
    shape = list(ir.RankedTensorType(x.type).shape)
    spatial = len(kernel)
    arrays = {
        "strides": [1, *strides],
        "dilations": [1, *dilations],
        "static_kernel_size": [1, *kernel],
        "static_offsets": [0, 0],
        "batch_pos": [],
        "m_pos": list(range(spatial + 1)),
        "k_pos": [spatial + 1],
        "input_k_perm": list(range(spatial + 2)),
        "output_perm": [0, 1],
    }
    sizes = [[shape[0], *positions], [1, *kernel, shape[-1]]]
    return ir.Operation.create(
        Im2colOp.OPERATION_NAME,
        results=[output.type],
        operands=[x, output],
        attributes={
            **{name: ir.DenseI64ArrayAttr.get(values) for name, values in arrays.items()},
            "static_output_sizes": ir.ArrayAttr.get([*map(ir.DenseI64ArrayAttr.get, sizes)]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, *[0] * 8]),
        },
    ).results[0]


def scatter(
    updates: ir.Value, indices: ir.Value, original: ir.Value, dimensions: Sequence[int], body: Body
) -> ir.Value:
    """`original` with each of `updates` combined, by ``body(update, element)``, in order.

    `indices` is ``(n, len(dimensions))``, `updates` has ``n`` rows of slices without `dimensions`.
    """
    op = ir.Operation.create(
        ScatterOp.OPERATION_NAME,
        results=[original.type],
        operands=[updates, indices, original],
        attributes={
            "dimension_map": ir.DenseI64ArrayAttr.get(list(dimensions)),
            "unique_indices": ir.BoolAttr.get(False),
        },
        regions=1,
    )
    element = ir.RankedTensorType(original.type).element_type
    fill_region(op.regions[0], [element, element], body, YieldOp)
    return op.results[0]


def scan(
    x: ir.Value, output: ir.Value, start: ir.Value, dimension: int, inclusive: bool, body: Body
) -> ir.Value:
    """The running combination of `x`, by ``body(total, element)``, along `dimension`.

    `output` gives the result its buffer; `start`, without `dimension`, holds the initial values.
    """
    op = ir.Operation.create(
        ScanOp.OPERATION_NAME,
        results=[output.type, start.type],
        operands=[x, output, start],
        attributes={
            "dimension": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dimension),
            "inclusive": ir.BoolAttr.get(inclusive),
        },
        regions=1,
    )
    element = ir.RankedTensorType(output.type).element_type
    fill_region(op.regions[0], [element, element], body, YieldOp)
    return op.results[0]
