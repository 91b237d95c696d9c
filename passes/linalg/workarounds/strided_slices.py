"""Workaround for IREE 3.13 GenericVectorization: loops that read computed positions of a strided
slice are vectorized as if its elements were contiguous, and do not compile. A compute barrier
materializes the slice. Remove when ``strided_slices`` (`test_faults.py`) compiles.

The loops may read a transpose of the slice (``transposed_slice``) or a cast of it to more bits:
IREE computes both for the element that is read, and reads the slice (`ElementwiseOpFusion.cpp`).

Casts that widen elements, fused with elementwise loops, are cloned into the dispatch that reads a
slice of them (`CloneProducersIntoDispatchRegions.cpp`); if the slice is strided, the whole result
is computed on the stack. A compute barrier materializes the cast.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ....mlir import ir
from ...graph_to_linalg.aliasing import kernel_of, ops_within
from ...graph_to_linalg.dispatch import VIEWS, has_reduction, origin
from ...graph_to_linalg.generic import linalg_inputs
from ...infra.base import FUNCTION, Pass, PassState
from ...infra.registry import register
from .compute_barriers import insert_barrier


@register
@dataclass(frozen=True)
class WorkaroundStridedSlices(Pass):
    """Materialize strided slices before single elements of them are read.

    %1 = tensor.extract_slice %0[0] [%n] [2]
    %2 = linalg.generic { tensor.extract %1[%i] }
    -->
    %1 = tensor.extract_slice %0[0] [%n] [2]
    %2 = iree_tensor_ext.compute_barrier.end %1
    %3 = linalg.generic { tensor.extract %2[%i] }

    The backend would vectorize the reads through the slice, and fails if the elements are not
    contiguous; so it does for reads of a transpose of %1, or of a cast of %1 to more bits. If the
    producer of %0 itself reads single elements, or widens them by a cast, %0 is materialized, too:
    the backend would compute all of it in the loop that reads the slice.
    """

    name = "workaround-strided-slices"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        for each in ops_within(op.operation):
            if _skips_elements(each) and _is_widened(each.operands[0]):
                insert_barrier(each.operands[0], _skips_elements)
            if _is_strided(each):
                if _reads_by_element(each.operands[0]):
                    insert_barrier(each.operands[0], _is_strided)
                if any(_is_read_by_element(use.owner.operation) for use in each.result.uses):
                    insert_barrier(each.result)


def _skips_elements(op: ir.Operation) -> bool:
    """Return whether `op` is a slice with a step along any axis."""
    if op.name != "tensor.extract_slice" or kernel_of(op) is not None:
        return False
    return any(stride != 1 for stride in ir.DenseI64ArrayAttr(op.attributes["static_strides"]))


def _is_strided(op: ir.Operation) -> bool:
    return op.name == "tensor.extract_slice" and _has_step(op) and kernel_of(op) is None


def _reads_by_element(x: ir.Value) -> bool:
    """Return whether the producer of `x` reads single elements (``tensor.extract``)."""
    maker = _generic_behind(x)
    return maker is not None and any(op.name == "tensor.extract" for op in ops_within(maker))


def _is_widened(x: ir.Value) -> bool:
    """Return whether a cast to a wider element type computes `x`, possibly with elementwise loops
    behind it, which the backend fuses with it."""
    width = _width(ir.RankedTensorType(x.type).element_type)
    casts = (op for maker in _elementwise_chain(x) for op in ops_within(maker) if _widens(op))
    return any(_width(cast.operands[0].type) < width for cast in casts)


def _elementwise_chain(x: ir.Value) -> Iterator[ir.Operation]:
    """The ``linalg.generic`` without reductions that compute `x`."""
    seen, pending = set[ir.Value](), [x]
    while pending:
        maker = _generic_behind(pending.pop())
        if maker is None or maker.results[0] in seen or has_reduction(maker):
            continue
        seen.add(maker.results[0])
        pending += linalg_inputs(maker)
        yield maker


def _widens(op: ir.Operation) -> bool:
    """Return whether `op` is a cast of an element to more bits."""
    return op.name in _CASTS and _width(op.operands[0].type) < _width(op.results[0].type)


def _width(element: ir.Type) -> int:
    if isinstance(element, ir.IndexType):
        return 64
    assert isinstance(element, ir.IntegerType | ir.FloatType)
    return element.width


_CASTS = ("arith.extf", "arith.extsi", "arith.extui", "arith.sitofp", "arith.uitofp")


def _generic_behind(x: ir.Value) -> ir.Operation | None:
    """The ``linalg.generic`` that computes `x`, possibly transposed or sliced; None for other
    producers."""
    owner = origin(x, (*VIEWS, "linalg.transpose", "tensor.extract_slice")).owner
    if isinstance(owner, ir.Block) or owner.operation.name != "linalg.generic":
        return None
    return owner.operation


def _has_step(op: ir.Operation) -> bool:
    """Return whether the elements of a row are strided: by a step, or as one of each row of the
    source."""
    sizes, strides = (
        list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"])) for name in ("sizes", "strides")
    )
    source = ir.RankedTensorType(op.operands[0].type).shape
    apart = False
    for size, stride, extent in zip(*map(reversed, (sizes, strides, source)), strict=True):
        if size != 1:
            return apart or stride != 1
        apart = apart or extent != 1
    return False


def _is_read_by_element(reader: ir.Operation) -> bool:
    """Return whether `reader`, or one behind ops that the backend moves into it, reads single
    elements."""
    if reader.name in (*VIEWS, "linalg.transpose") or _is_computed_where_read(reader):
        return any(_is_read_by_element(use.owner.operation) for use in reader.results[0].uses)
    return reader.name == "tensor.extract"


def _is_computed_where_read(op: ir.Operation) -> bool:
    """Return whether `op` is a cast to more bits or a transpose, as a ``linalg.generic``."""
    if op.name != "linalg.generic" or len(op.results) != 1:
        return False
    return any(map(_widens, ops_within(op))) or _only_transposes(op)


def _only_transposes(op: ir.Operation) -> bool:
    body = list(op.regions[0].blocks[0].operations)
    maps = [ir.AffineMapAttr(each).value for each in ir.ArrayAttr(op.attributes["indexing_maps"])]
    return len(body) == 1 and len(maps) == 2 and all(each.is_permutation for each in maps)
