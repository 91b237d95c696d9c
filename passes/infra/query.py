"""Queries on the graph for rewrites."""

from typing import Any, TypeVar

import numpy as np

from ...dialects import graph
from ...mlir import ir

Op = TypeVar("Op", bound=graph.GraphOp)


def producer(value: ir.Value, op_class: type[Op] | tuple[type[Op], ...]) -> Op | None:
    """The op of `op_class` (one, or several) that `value` is a result of, or None."""
    owner = value.owner
    if not isinstance(owner, ir.Operation | ir.OpView):
        return None
    view = owner.opview
    return view if isinstance(view, op_class) else None


def ops_within(operation: Any, op_class: type[Op]) -> list[Op]:
    """The ops of `op_class` in the regions of `operation`, at any depth, inner ones first."""
    found: list[Op] = []

    def visit(each: ir.Operation) -> ir.WalkResult:
        view = each.opview
        if isinstance(view, op_class):
            found.append(view)
        return ir.WalkResult.ADVANCE

    operation.operation.walk(visit)
    return found


def has_one_use(value: ir.Value) -> bool:
    """Return whether exactly one operand refers to `value`."""
    uses = iter(value.uses)
    return next(uses, None) is not None and next(uses, None) is None


def is_dead(op: Any) -> bool:
    """Return whether nothing uses a result of `op`, or the name of a size that its regions give."""
    if any(next(iter(result.uses), None) is not None for result in op.operation.results):
        return False
    return not (isinstance(op.operation.opview, graph.RegionOp) and graph.binds_used_names(op))


def constant_array(value: ir.Value) -> np.ndarray | None:
    """The data of a ``graph.constant``, or None when `value` is another op's result."""
    constant = producer(value, graph.ConstantOp)
    return None if constant is None else constant.attrs["value"]


def constant_scalar(value: ir.Value) -> Any:
    """The element of a ``graph.constant`` that holds exactly one, as a numpy scalar; or None."""
    constant = producer(value, graph.ConstantOp)
    if constant is None or any(size != 1 for size in ir.RankedTensorType(value.type).shape):
        return None
    attribute = constant.operation.attributes["value"]
    if isinstance(attribute, ir.DenseFPElementsAttr | ir.DenseIntElementsAttr):
        try:
            element = attribute[0]
        except TypeError:  # the bindings know the common element types only
            return _only_element(constant)
        return graph.type_of(value).dtype.type(element)
    return _only_element(constant)


def _only_element(constant: graph.ConstantOp) -> Any:
    return constant.attrs["value"].reshape(())[()]


def splat_of(value: ir.Value) -> np.generic | None:
    """The one value of all elements when `value` is such a constant."""
    op = graph.graph_op(value.owner)
    if not isinstance(op, graph.ConstantOp):
        return None
    if not graph.is_splat(op.operation.attributes["value"]):
        return None
    array = op.attrs["value"]
    return array[(0,) * array.ndim] if array.size else None


def same_type(a: ir.Value, b: ir.Value) -> bool:
    """Return whether `a` can replace `b`: their types are equal."""
    return a.type == b.type
