"""The signature of a program, as `TensorSpec` and `ValueSpec` of the runtime."""

from collections.abc import Sequence
from typing import Any

from ..dialects import graph
from ..dialects.symbolic import Dim
from ..errors import UsageError
from ..mlir import func, ir
from ..runtime import TensorSpec, ValueSpec

NAME = "graph.name"
"""The attribute that names an argument or a result."""


def main_function(module: ir.Module) -> func.FuncOp:
    """The entry function of a module."""
    for op in module.body.operations:
        if isinstance(op, func.FuncOp) and op.sym_name.value == "main":
            return op
    raise UsageError("the module has no function @main")


def specs(function: Any, kind: str, types: Sequence[ir.Type]) -> tuple[TensorSpec, ...]:
    """The specs of the arguments (`kind` is ``arg_attrs``) or results (``res_attrs``) of
    `function`."""
    names = [ir.StringAttr(ir.DictAttr(a)[NAME]).value for a in function.attributes[kind]]
    return tuple(
        _tensor_spec(name, type_)
        for name, type_ in zip(names, map(graph.from_mlir, types), strict=True)
    )


def data_dependent_sizes(function: Any) -> set[str]:
    """Names of data-dependent sizes of the results: no shape of an argument has them."""
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    return _size_names(signature.results) - _size_names(signature.inputs)


def _size_names(types: Sequence[ir.Type]) -> set[str]:
    sizes = (size for type_ in types for size in graph.from_mlir(type_).shape)
    return {name for size in sizes if isinstance(size, Dim) for name in size.symbols()}


def without_names(attributes: ir.Attribute) -> ir.ArrayAttr:
    """The attributes of arguments or results without names."""
    return ir.ArrayAttr.get(
        [
            ir.DictAttr.get({each.name: each.attr for each in one if each.name != NAME})
            for one in map(ir.DictAttr, ir.ArrayAttr(attributes))
        ]
    )


def value_specs(
    values: Sequence[tuple[str, graph.TensorType | str]],
) -> list[TensorSpec | ValueSpec]:
    """The specs for names and types; a string is the type of a value that is not a tensor."""
    return [
        ValueSpec(name, type_) if isinstance(type_, str) else _tensor_spec(name, type_)
        for name, type_ in values
    ]


def _tensor_spec(name: str, type_: graph.TensorType) -> TensorSpec:
    shape = tuple(size if isinstance(size, int) else str(size) for size in type_.shape)
    return TensorSpec(name, shape, type_.dtype.name)
