"""Parts of programs as programs of their own."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...mlir import func, ir
from .interpreter import used_values


def program_of(
    arguments: Mapping[ir.Value, str],
    operations: Iterable[Any],
    results: Sequence[tuple[ir.Value, str]],
) -> ir.Module:
    """A module whose function ``@main`` has copies of `operations`, which share large constants.

    `arguments` are the values of the whole program that become arguments, with their names;
    `results` the values that are returned, with theirs. In the current context.
    """
    with ir.Location.unknown():
        made = ir.Module.create()
        with ir.InsertionPoint(made.body):
            signature = [value.type for value in arguments], [value.type for value, _ in results]
            function = func.FuncOp("main", signature)
            block = function.add_entry_block()
        copies: dict[ir.Value, ir.Value] = dict(zip(arguments, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            for op in operations:
                copy = op.operation.clone()
                _replace_uses(copy, copies)
                copies.update(zip(op.operation.results, copy.results, strict=True))
            func.ReturnOp([copies[value] for value, _ in results])
        function.attributes["arg_attrs"] = _names(arguments.values())
        function.attributes["res_attrs"] = _names(name for _, name in results)
        return made


def outer_uses(op: Any) -> list[ir.Value]:
    """The values of the function that `op` and its nested ops use."""
    inside: set[ir.Value] = set()

    def define(operation: Any) -> None:
        for region in operation.regions:
            for block in region.blocks:
                inside.update(block.arguments)
                for inner in block.operations:
                    inside.update(inner.operation.results)
                    define(inner.operation)

    define(op.operation)
    return [value for value in used_values(op.operation) if value not in inside]


def _replace_uses(operation: Any, copies: Mapping[ir.Value, ir.Value]) -> None:
    for index, operand in enumerate(operation.operands):
        operation.operands[index] = copies.get(operand, operand)
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                _replace_uses(inner.operation, copies)


def _names(names: Iterable[str]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get(
        [ir.DictAttr.get({"graph.name": ir.StringAttr.get(name)}) for name in names]
    )
