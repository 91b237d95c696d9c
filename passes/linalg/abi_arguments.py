"""Memory that a caller gives: arguments of an entry function behind the inputs of the model."""

from collections.abc import Sequence
from typing import Any

from ...mlir import ir

BUFFER = "!hal.buffer"
"""The type of such an argument."""


def append_buffers(function: Any, marks: Sequence[dict[str, ir.Attribute]]) -> None:
    """Give `function` (a ``func.func``) a buffer as one more argument for each of `marks`, by which
    the backend knows what it is for."""
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
