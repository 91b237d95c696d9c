"""Dialects of MLIR, of which frequent ops are built in a third of the time.

The bindings' builders look up defaults, conversions and the types of results for each op, of
which kernels have thousands. The dialects here are those of the bindings but for these builders;
calls with optional arguments are theirs, too.
"""

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch_mlir.ir

ir: Any = torch_mlir.ir  # which has no types

Builder = Callable[..., Any]

_SAME_TYPE = {
    "arith": (
        *("addi", "subi", "muli", "divui", "divsi", "ceildivui", "ceildivsi", "floordivsi"),
        *("remui", "remsi", "andi", "ori", "xori", "shli", "shrui", "shrsi", "minui", "minsi"),
        *("maxui", "maxsi", "addf", "subf", "mulf", "divf", "minimumf", "maximumf", "minnumf"),
        *("maxnumf", "negf"),
    ),
    "math": ("fma", "absf", "exp", "log", "sqrt", "trunc", "floor"),
    "vector": ("fma",),
}
"""Ops whose result has the type of the first operand."""
_CONVERSIONS = {
    "arith": (
        *("index_cast", "index_castui", "bitcast", "extf", "extsi", "extui", "trunci", "sitofp"),
        *("uitofp", "fptosi", "fptoui"),
    ),
    "vector": ("bitcast", "broadcast"),
}
"""Ops that are given the type of the result, and an operand."""


@functools.cache
def dialect(name: str) -> ModuleType:
    """The dialect `name`."""
    original = importlib.import_module(f"torch_mlir.dialects.{name}")
    makers = {
        **dict.fromkeys(_SAME_TYPE.get(name, ()), _same_type),
        **dict.fromkeys(_CONVERSIONS.get(name, ()), _conversion),
        **_OTHERS.get(name, {}),
    }
    if not makers:
        return original
    made = ModuleType(original.__name__, original.__doc__)
    vars(made).update(vars(original))
    for op, maker in makers.items():
        builder = maker(f"{name}.{op}", getattr(original, op))
        setattr(made, op, functools.wraps(getattr(original, op))(builder))
    return made


def _same_type(name: str, original: Builder) -> Builder:
    def build(*operands: Any, **optional: Any) -> Any:
        if optional:
            return original(*operands, **optional)
        return ir.Operation.create(name, results=[operands[0].type], operands=operands).result

    return build


def _conversion(name: str, original: Builder) -> Builder:
    def build(result: Any, operand: Any, **optional: Any) -> Any:
        if optional:
            return original(result, operand, **optional)
        return ir.Operation.create(name, results=[result], operands=[operand]).result

    return build


def _constant(name: str, original: Builder) -> Builder:
    def build(result: Any, value: Any, **optional: Any) -> Any:
        if type(value) is int:
            attribute = ir.IntegerAttr.get(result, value)
        elif type(value) is float:
            attribute = ir.FloatAttr.get(result, value)
        elif isinstance(value, ir.Attribute):
            attribute = value
        else:
            return original(result, value, **optional)
        return ir.Operation.create(
            name, results=[attribute.type], attributes={"value": attribute}, **optional
        ).result

    return build


def _comparison(name: str, original: Builder) -> Builder:
    def build(predicate: Any, lhs: Any, rhs: Any, **optional: Any) -> Any:
        if optional or isinstance(predicate, ir.Attribute):
            return original(predicate, lhs, rhs, **optional)
        attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), int(predicate))
        operands, attributes = [lhs, rhs], {"predicate": attribute}
        return ir.Operation.create(
            name, operands=operands, attributes=attributes, infer_type=True
        ).result

    return build


def _select(name: str, original: Builder) -> Builder:
    def build(condition: Any, true_value: Any, false_value: Any, **optional: Any) -> Any:
        if optional:
            return original(condition, true_value, false_value, **optional)
        operands = [condition, true_value, false_value]
        return ir.Operation.create(name, results=[true_value.type], operands=operands).result

    return build


def _vector_load(name: str, original: Builder) -> Builder:
    def build(result: Any, base: Any, indices: Any, **optional: Any) -> Any:
        if optional:
            return original(result, base, indices, **optional)
        return ir.Operation.create(name, results=[result], operands=[base, *indices]).result

    return build


def _load(name: str, original: Builder) -> Builder:
    def build(memref: Any, indices: Any, **optional: Any) -> Any:
        if optional:
            return original(memref, indices, **optional)
        return ir.Operation.create(name, operands=[memref, *indices], infer_type=True).result

    return build


_OTHERS: dict[str, dict[str, Callable[[str, Builder], Builder]]] = {
    "arith": {
        "constant": _constant,
        "cmpi": _comparison,
        "cmpf": _comparison,
        "select": _select,
    },
    "memref": {"load": _load},
    "vector": {"load": _vector_load},
}
