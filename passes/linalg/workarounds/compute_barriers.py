"""Compute barriers: tensors that are materialized before their readers run."""

from collections.abc import Callable, Iterator

from ....dialects import iree
from ....mlir import ir
from ...graph_to_linalg.dispatch import VIEWS


def insert_barrier(
    x: ir.Value, for_whom: Callable[[ir.Operation], bool] = lambda reader: True
) -> None:
    """Materialize `x` behind a compute barrier for the given readers."""
    readers = [(use.owner.operation, use.operand_number) for use in x.uses]
    op = ir.OpResult(x).owner
    with ir.InsertionPoint.after(op), op.location:
        barrier = iree.compute_barrier(x, iree.dynamic_sizes(x))
    for reader, position in readers:
        if for_whom(reader):
            reader.operands[position] = barrier


def readings(x: ir.Value) -> Iterator[ir.OpOperand]:
    """The operands that read `x`, directly or through reshapes and casts."""
    for use in x.uses:
        reader = use.owner.operation
        if reader.name in VIEWS:
            yield from readings(reader.result)
        elif reader.name != "tensor.dim":
            yield use
