"""What a program takes and gives, in the words of the runtime."""

from collections.abc import Sequence
from typing import Any

from .dialects import graph
from .errors import UsageError
from .mlir import ir
from .runtime import TensorSpec, ValueSpec


def main_function(module: ir.Module) -> Any:
    """The entry function of a module."""
    for op in module.body.operations:
        if op.operation.name == "func.func" and op.sym_name.value == "main":
            return op
    raise UsageError("the module has no function @main")


def specs(function: Any, kind: str, types: Sequence[ir.Type]) -> tuple[TensorSpec, ...]:
    """The arguments (`kind` is ``arg_attrs``) or the results (``res_attrs``) of `function`."""
    names = [ir.StringAttr(ir.DictAttr(a)["graph.name"]).value for a in function.attributes[kind]]
    return tuple(
        _tensor_spec(name, type_)
        for name, type_ in zip(names, map(graph.from_mlir, types), strict=True)
    )


def value_specs(
    values: Sequence[tuple[str, graph.TensorType | str]],
) -> list[TensorSpec | ValueSpec]:
    """The same for names and types; a text stands for what is no tensor."""
    return [
        ValueSpec(name, type_) if isinstance(type_, str) else _tensor_spec(name, type_)
        for name, type_ in values
    ]


def _tensor_spec(name: str, type_: graph.TensorType) -> TensorSpec:
    shape = tuple(size if isinstance(size, int) else str(size) for size in type_.shape)
    return TensorSpec(name, shape, type_.dtype.name)
