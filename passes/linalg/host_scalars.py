"""Numbers that the host reads and could have computed itself."""

from dataclasses import dataclass
from typing import Any

from ...mlir import arith, ir
from ..graph_to_linalg.aliasing import ops_within
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.registry import register

_SAME_ELEMENT = ("tensor.collapse_shape", "tensor.expand_shape", "tensor.cast")
_SCALAR_DIALECTS = ("arith.", "math.")


@register
@dataclass(frozen=True)
class HostScalars(Pass):
    """Compute the one element that the host reads of a tensor from the numbers it is made of.

    %1 = tensor.from_elements %size : tensor<1xi64>
    %2 = linalg.generic ins(%1 : tensor<1xi64>) outs(..) { arith.cmpi eq, %in, %c1 } -> tensor<1xi1>
    %3 = tensor.extract %2[%c0] : tensor<1xi1>
    -->
    %3 = arith.cmpi eq, %size, %c1 : i64

    Exporters compare sizes as tensors, and branch on the result. As a tensor, it is computed by a
    dispatch, and the host waits for that and all before it.
    """

    name = "host-scalars"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        for each in ops_within(op.operation):
            if each.name == "tensor.extract" and _is_known(each.operands[0]):
                with ir.InsertionPoint(each), each.location:
                    element = _element(each.operands[0])
                each.results[0].replace_all_uses_with(element)
                each.erase()


def _is_known(x: ir.Value) -> bool:
    """Return whether `x` has one element, which the host can compute."""
    if isinstance(x.owner, ir.Block) or not _has_one_element(x):
        return False
    op = x.owner.operation
    if op.name in ("tensor.from_elements", "arith.constant"):
        return op.name != "arith.constant" or _splat(op) is not None
    if op.name in _SAME_ELEMENT:
        return _is_known(op.operands[0])
    return op.name == "linalg.generic" and _is_computable(op)


def _has_one_element(x: ir.Value) -> bool:
    return isinstance(x.type, ir.RankedTensorType) and all(size == 1 for size in x.type.shape)


def _splat(constant: ir.Operation) -> ir.Attribute | None:
    """The element of a constant; None if it is not among its attributes."""
    value = constant.attributes["value"]
    if isinstance(value, ir.DenseIntElementsAttr | ir.DenseFPElementsAttr):
        return value.get_splat_value()
    return None


def _is_computable(generic: ir.Operation) -> bool:
    """Return whether a generic op, all of whose results have one element, computes these from known
    numbers by operations of numbers."""
    (body,) = generic.regions[0].blocks
    inputs = len(body.arguments) - len(generic.results)
    return (
        all(map(_has_one_element, generic.results))
        and all(
            "parallel" in str(kind) for kind in ir.ArrayAttr(generic.attributes["iterator_types"])
        )
        and not any(True for out in list(body.arguments)[inputs:] for _ in out.uses)
        and all(map(_is_of_numbers, list(body.operations)[:-1]))
        and all(map(_is_known, list(generic.operands)[:inputs]))
    )


def _is_of_numbers(op: Any) -> bool:
    return op.operation.name.startswith(_SCALAR_DIALECTS) and not list(op.operation.regions)


def _element(x: ir.Value) -> ir.Value:
    """The element of a known `x`, computed at the insertion point."""
    assert not isinstance(x.owner, ir.Block)
    op = x.owner.operation
    if op.name == "tensor.from_elements":
        return op.operands[0]
    if op.name in _SAME_ELEMENT:
        return _element(op.operands[0])
    if op.name == "arith.constant":
        value = _splat(op)
        assert value is not None
        return arith.constant(ir.RankedTensorType(x.type).element_type, value)
    return _computed(op, ir.OpResult(x).result_number)


def _computed(generic: ir.Operation, number: int) -> ir.Value:
    """The element of result `number`, by the ops in the body."""
    (body,) = generic.regions[0].blocks
    inputs = list(body.arguments)[: len(body.arguments) - len(generic.results)]
    values: dict[ir.Value, ir.Value] = {}
    values.update(zip(inputs, map(_element, generic.operands), strict=False))
    *ops, end = [each.operation for each in body.operations]
    for each in ops:
        copy = each.clone().operation
        for place, x in enumerate(copy.operands):
            copy.operands[place] = values.get(x, x)
        values.update(zip(each.results, copy.results, strict=True))
    found = end.operands[number]
    return values.get(found, found)
