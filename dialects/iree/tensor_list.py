"""Tensors as one object on the host side of a program: a list of buffer views.

Ops of IREE's ``util`` and ``hal`` dialects; like ``flow.dispatch.region``, they are created without
a definition.
"""

from collections.abc import Sequence
from typing import Any

from ...mlir import arith, ir, tensor


def tensor_list(tensors: Sequence[ir.Value]) -> ir.Value:
    """A list of `tensors`, which are computed at this point."""
    length = _index(len(tensors))
    items = _create("util.list.create", [length], tensor_list_type())
    _create("util.list.resize", [items, length])
    for position, x in enumerate(tensors):
        _create("util.list.set", [items, _index(position), _view_of(x)])
    return items


def tensors_of(items: ir.Value, types: Sequence[ir.Type]) -> list[ir.Value]:
    """The tensors, of `types`, in a list. Their dynamic sizes are read from it.

    They may alias other tensors: nothing must be computed in place.
    """
    return [
        _tensor_of(_create("util.list.get", [items, _index(position)], _view_type()), type_)
        for position, type_ in enumerate(types)
    ]


def dynamic_sizes(x: ir.Value) -> list[ir.Value]:
    """The extents of the axes of the tensor `x` that its type does not give."""
    return [tensor.dim(x, _index(axis)) for axis in _dynamic_axes(x.type)]


def _view_of(x: ir.Value) -> ir.Value:
    return _create(
        "hal.tensor.export",
        [x, *dynamic_sizes(x)],
        _view_type(),
        source_encoding=ir.TypeAttr.get(x.type),
    )


def _tensor_of(view: ir.Value, type_: ir.Type) -> ir.Value:
    index = ir.IndexType.get()
    sizes = [
        _create("hal.buffer_view.dim", [view], index, index=ir.IntegerAttr.get(index, axis))
        for axis in _dynamic_axes(type_)
    ]
    return _create(
        "hal.tensor.import",
        [view, *sizes],
        type_,
        target_encoding=ir.TypeAttr.get(type_),
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, len(sizes), 0, 0]),
    )


def _dynamic_axes(type_: ir.Type) -> list[int]:
    shaped = ir.RankedTensorType(type_)
    return [axis for axis in range(shaped.rank) if shaped.is_dynamic_dim(axis)]


def _view_type() -> ir.Type:
    ir.Context.current.allow_unregistered_dialects = True
    return ir.Type.parse("!hal.buffer_view")


def tensor_list_type() -> ir.Type:
    """The type of a list of tensors."""
    ir.Context.current.allow_unregistered_dialects = True
    return ir.Type.parse("!util.list<?>")


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)


def _create(
    name: str, operands: Sequence[ir.Value], result: ir.Type | None = None, **attributes: Any
) -> Any:
    results = [] if result is None else [result]
    op = ir.Operation.create(name, results=results, operands=operands, attributes=attributes)
    return op.result if results else None
