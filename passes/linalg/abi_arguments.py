"""Caller-allocated buffers: arguments of an entry function after the inputs of the model."""

from collections.abc import Sequence
from typing import Any

from ...mlir import ir

BUFFER = "!hal.buffer"
"""The type of such an argument."""

OUTPUT = "iree.abi.output"
"""The mark of the buffer for a result, whose number it holds."""

TRANSIENTS = "iree.abi.transients"
"""The mark of the buffer for intermediate results."""


def append_buffers(function: Any, marks: Sequence[dict[str, ir.Attribute]]) -> None:
    """Append a buffer argument to `function` (a ``func.func``) for each of `marks`, the attribute
    that tells the backend its purpose."""
    ir.Context.current.allow_unregistered_dialects = True
    operation = function.operation
    type_ = ir.FunctionType(ir.TypeAttr(operation.attributes["function_type"]).value)
    buffer = ir.Type.parse(BUFFER)
    old = (
        list(ir.ArrayAttr(operation.attributes["arg_attrs"]))
        if "arg_attrs" in operation.attributes
        else [ir.DictAttr.get({})] * len(type_.inputs)
    )
    for _ in marks:
        operation.regions[0].blocks[0].add_argument(buffer, operation.location)
    types = ir.FunctionType.get([*type_.inputs, *[buffer] * len(marks)], type_.results)
    operation.attributes["function_type"] = ir.TypeAttr.get(types)
    operation.attributes["arg_attrs"] = ir.ArrayAttr.get([*old, *map(ir.DictAttr.get, marks)])
