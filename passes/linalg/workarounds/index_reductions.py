"""Workaround for IREE 3.13 ConvertToSPIRV: threads that share the reduction of a row exchange
positions as ``index``, which SPIR-V does not allow in workgroup memory. Positions are read from
memory instead. Remove when ``index_reductions`` (`test_faults.py`) compiles.
"""

from dataclasses import dataclass
from typing import Any

from ....dialects import iree
from ....mlir import arith, ir, linalg, tensor
from ...graph_to_linalg.aliasing import ops_within
from ...graph_to_linalg.dispatch import has_reduction
from ...graph_to_linalg.generic import linalg_inputs, loop_index, parallel, projection
from ...infra.base import FUNCTION, Pass, PassState
from ...infra.registry import register


@register
@dataclass(frozen=True)
class WorkaroundIndexReductions(Pass):
    """Read the positions that a reduction computes with from memory.

    %1 = linalg.generic {parallel, reduction} ins(%0 : tensor<6x64xf32>) { linalg.index 1 }
    -->
    %positions = iree_tensor_ext.compute_barrier.end ... -> tensor<64xi32>
    %1 = linalg.generic {parallel, reduction} ins(%0, %positions : tensor<6x64xf32>, tensor<64xi32>)

    When several threads reduce one row, as they do for some lengths, the backend exchanges
    positions through memory, in a type that SPIR-V does not allow there. For Vulkan.
    """

    name = "workaround-index-reductions"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        for each in ops_within(op.operation):
            if has_reduction(each):
                _read_positions(each)


def _read_positions(generic: ir.Operation) -> None:
    """Give `generic` an operand for each loop that its body asks the index of."""
    asked: dict[int, list[ir.Operation]] = {}
    for op in generic.regions[0].blocks[0]:
        if op.operation.name == "linalg.index":
            loop = ir.IntegerAttr(op.operation.attributes["dim"]).value
            asked.setdefault(loop, []).append(op.operation)
    sizes = {loop: size for loop in asked if (size := _extent(generic, loop)) is not None}
    if not sizes:
        return
    with ir.InsertionPoint(generic), generic.location:
        added = {loop: _positions(*size) for loop, size in sizes.items()}
        elements = _with_inputs(generic, added)
    for loop, element in elements.items():
        for op in asked[loop]:
            with ir.InsertionPoint(op), op.location:
                index = arith.index_cast(ir.IndexType.get(), element)
            op.results[0].replace_all_uses_with(index)
            op.erase()


def _extent(generic: ir.Operation, loop: int) -> tuple[ir.Value, int] | None:
    """An operand and the axis of it that `loop` iterates over; None if there is none."""
    maps = ir.ArrayAttr(generic.attributes["indexing_maps"])
    for operand, map_ in zip(generic.operands, maps, strict=True):
        for axis, read in enumerate(ir.AffineMapAttr(map_).value.results):
            if isinstance(read, ir.AffineDimExpr) and read.position == loop:
                return operand, axis
    return None


def _positions(source: ir.Value, axis: int) -> ir.Value:
    """0, 1, ... along an axis of `source`: tensor<?xi32>."""
    i32, type_ = ir.IntegerType.get_signless(32), ir.RankedTensorType(source.type)
    size: int | ir.Value = type_.shape[axis]
    if type_.is_dynamic_dim(axis):
        size = tensor.dim(source, arith.constant(ir.IndexType.get(), axis))
    empty = tensor.empty([size], i32)
    counted = parallel([], [], empty, lambda: arith.index_cast(i32, loop_index(0)))
    return iree.compute_barrier(counted, iree.dynamic_sizes(counted))


def _with_inputs(generic: ir.Operation, added: dict[int, ir.Value]) -> dict[int, ir.Value]:
    """Replace `generic` by one that also reads `added`, each along its loop; returns the block
    arguments for these."""
    inputs = list(linalg_inputs(generic))
    outputs = list(generic.operands)[len(inputs) :]
    maps = list(ir.ArrayAttr(generic.attributes["indexing_maps"]))
    loops = len(ir.ArrayAttr(generic.attributes["iterator_types"]))
    along = [ir.AffineMapAttr.get(projection(loops, [loop])) for loop in added]
    new = linalg.GenericOp(
        [result.type for result in generic.results],
        [*inputs, *added.values()],
        outputs,
        ir.ArrayAttr.get([*maps[: len(inputs)], *along, *maps[len(inputs) :]]),
        ir.ArrayAttr(generic.attributes["iterator_types"]),
    )
    body = generic.regions[0].blocks[0]
    types = [ir.ShapedType(value.type).element_type for value in new.operands]
    block = new.regions[0].blocks.append(*types, arg_locs=[generic.location] * len(types))
    arguments = list(block.arguments)
    elements: dict[int, ir.Value] = dict(zip(added, arguments[len(inputs) :], strict=False))
    kept = [*arguments[: len(inputs)], *arguments[len(inputs) + len(added) :]]
    for argument, again in zip(body.arguments, kept, strict=True):
        argument.replace_all_uses_with(again)
    for op in list(body.operations):
        block.append(op)
    for result, again in zip(generic.results, new.results, strict=True):
        result.replace_all_uses_with(again)
    generic.erase()
    return elements
