"""The ``arith`` dialect of MLIR, of which frequent ops are built in a third of the time.

The bindings' builders look up defaults, conversions and the types of results for each op. Kernels
are built of thousands of these ops, whose results have the type of an operand.
"""

from collections.abc import Callable
from typing import Any

from torch_mlir import ir
from torch_mlir.dialects import arith

_BINARY = (
    *("addi", "subi", "muli", "divui", "divsi", "ceildivui", "ceildivsi", "floordivsi", "remui"),
    *("remsi", "andi", "ori", "xori", "shli", "shrui", "shrsi", "minui", "minsi", "maxui", "maxsi"),
    *("addf", "subf", "mulf", "divf", "minimumf", "maximumf", "minnumf", "maxnumf"),
)
"""Ops of two operands, whose result is of the same type."""


def constant(result: Any, value: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """A constant of the type `result`: a number, or an attribute."""
    if type(value) is int:
        attribute = ir.IntegerAttr.get(result, value)
    elif type(value) is float:
        attribute = ir.FloatAttr.get(result, value)
    else:
        return arith.constant(result, value, loc=loc, ip=ip)
    return ir.Operation.create(
        "arith.constant", results=[result], attributes={"value": attribute}, loc=loc, ip=ip
    ).result


def select(condition: Any, true_value: Any, false_value: Any) -> Any:
    """One of two values."""
    return ir.Operation.create(
        "arith.select", results=[true_value.type], operands=[condition, true_value, false_value]
    ).result


def negf(operand: Any) -> Any:
    """The negative of a float."""
    return ir.Operation.create("arith.negf", results=[operand.type], operands=[operand]).result


def _binary(name: str) -> Callable[..., Any]:
    op_name, original = f"arith.{name}", getattr(arith, name)

    def build(lhs: Any, rhs: Any, **attributes: Any) -> Any:
        if attributes:
            return original(lhs, rhs, **attributes)
        return ir.Operation.create(op_name, results=[lhs.type], operands=[lhs, rhs]).result

    build.__name__, build.__doc__ = name, original.__doc__
    return build


globals().update({name: _binary(name) for name in _BINARY})


def __getattr__(name: str) -> Any:
    return getattr(arith, name)
