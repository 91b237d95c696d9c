"""The op of IREE's ``flow`` dialect that forms a dispatch region.

Dialects defined from Python cannot have ops with a dot in their name, so this one is created
without a definition, in a context that is told to accept it.
"""

from collections.abc import Callable, Sequence

from ...mlir import ir
from .base import fill_region


def dispatch_region(
    type_: ir.RankedTensorType, sizes: Sequence[ir.Value], body: Callable[[], ir.Value]
) -> ir.Value:
    """The tensor of `type_`, with dynamic `sizes`, that the ops built by `body` compute.

    The region is one dispatch. Loops in it that insert into tensors run on one thread, in place;
    there must be no other tensor in it than the one they build. Ops with ``compilation_info`` run
    by its tiles.
    """
    ir.Context.current.allow_unregistered_dialects = True
    op = ir.Operation.create(
        "flow.dispatch.region",
        results=[type_],
        operands=list(sizes),
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(sizes), 0])},
        regions=2,
    )
    fill_region(op.regions[0], [], body, _return)
    return op.result


def _return(value: ir.Value) -> ir.Operation:
    return ir.Operation.create("flow.return", operands=[value])
