"""Functions of graph ops, built from Python for tests of passes."""

from collections.abc import Callable
from typing import Any

from graphc.dialects import graph
from graphc.dialects.symbolic_syntax import parse_dim
from graphc.mlir import func, ir

ALIVE: list[ir.Module] = []
"""Ops do not keep their module alive; `context` fixtures empty this list."""


def build_module(body: Callable[..., Any], *types: str) -> ir.Module:
    """A module whose function ``main`` computes `body` of values of `types`.

    Types are spelled ``4x8xf32``; sizes may have names, ``nx8xf32``, and ``f32`` is a scalar.
    """
    module = ir.Module.create(ir.Location.unknown())
    arguments = [graph.to_mlir(tensor_type(text)) for text in types]
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("main", (arguments, []))
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            results = body(*block.arguments)
            results = list(results) if isinstance(results, list | tuple) else [results]
            func.ReturnOp(results)
        type_ = ir.FunctionType.get(arguments, [value.type for value in results])
        function.attributes["function_type"] = ir.TypeAttr.get(type_)
    module.operation.verify()
    ALIVE.append(module)
    return module


def tensor_type(text: str) -> graph.TensorType:
    """``nx8xf32`` as a type."""
    *sizes, element = text.split("x")
    shape = tuple(parse_dim(size) for size in sizes)
    return graph.TensorType(shape, graph.types.dtype_of(ir.Type.parse(element)))


def main_of(module: ir.Module) -> Any:
    """The function ``main``."""
    return module.body.operations[0]


def ops_of(module: ir.Module) -> list[Any]:
    """The ops of ``main`` but its constants and its return."""
    operations = main_of(module).regions[0].blocks[0].operations
    skipped = ("graph.constant", "func.return")
    return [op.operation.opview for op in operations if op.operation.name not in skipped]


def op_names(module: ir.Module) -> list[str]:
    """The names of these ops, without the dialect."""
    return [op.operation.name.removeprefix("graph.") for op in ops_of(module)]
