"""Extraction of parts of graph programs as separate programs."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ..compiler.driver import main_function
from ..dialects import graph
from ..dialects.graph.interpreter import used_values
from ..mlir import func, ir


@dataclass(frozen=True)
class Subprogram:
    """Some ops of a program as a separate program; `arguments` and `results` are the values of the
    whole program that its arguments and results stand for."""

    module: Any
    arguments: tuple[ir.Value, ...]
    results: tuple[ir.Value, ...]


def clone(module: Any) -> Any:
    """A copy of `module` that can be modified; large constants are shared."""
    with module.context:
        return module.operation.clone(ip=False)


def body(module: Any) -> ir.Block:
    """The block of ``@main``."""
    return main_function(module).regions[0].blocks[0]


def operations(module: Any) -> list[Any]:
    """The ops of ``@main`` without its return."""
    return list(body(module).operations)[:-1]


def subprogram(module: Any, kept: Collection[int]) -> Subprogram:
    """The ops of ``@main`` with the indices `kept`.

    Values of other ops that they use become arguments, except for constants, which are copied.
    Values that other ops use, or that the function returns, become results. Arguments with named
    sizes are kept.
    """
    *ops, terminator = list(body(module).operations)
    chosen = {index for index in kept if not _is_constant(ops[index])}
    inside = {r for index in chosen for r in ops[index].operation.results}
    constants: dict[ir.Value, Any] = {
        r: op for op in ops if _is_constant(op) for r in op.operation.results
    }
    used = dict.fromkeys(v for i in sorted(chosen) for v in _outer_uses(ops[i]))
    arguments = [a for a in body(module).arguments if a in used or _has_names(a)]
    arguments += [v for v in used if v not in inside and v not in constants and v not in arguments]
    elsewhere = {v for i, op in enumerate(ops) if i not in chosen for v in _outer_uses(op)}
    elsewhere |= set(terminator.operation.operands)
    results = [r for i in sorted(chosen) for r in ops[i].operation.results if r in elsewhere]
    results = results or [r for i in sorted(chosen) for r in ops[i].operation.results]
    copied = [constants[v] for v in used if v in constants] + [ops[i] for i in sorted(chosen)]
    return Subprogram(_build(module, arguments, copied, results), tuple(arguments), tuple(results))


def _build(
    module: Any, arguments: Sequence[ir.Value], ops: Sequence[Any], results: Sequence[ir.Value]
) -> Any:
    with module.context, ir.Location.unknown():
        made = ir.Module.create()
        types = [value.type for value in arguments]
        with ir.InsertionPoint(made.body):
            function = func.FuncOp("main", (types, [value.type for value in results]))
            block = function.add_entry_block()
        copies: dict[ir.Value, ir.Value] = dict(zip(arguments, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            for op in ops:
                copy = op.operation.clone()
                _replace_uses(copy, copies)
                copies.update(zip(op.operation.results, copy.results, strict=True))
            func.ReturnOp([copies[value] for value in results])
        function.arg_attrs = _names("x", len(arguments))
        function.attributes["res_attrs"] = _names("y", len(results))
        return made


def _replace_uses(operation: Any, copies: dict[ir.Value, ir.Value]) -> None:
    for index, operand in enumerate(operation.operands):
        operation.operands[index] = copies.get(operand, operand)
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                _replace_uses(inner.operation, copies)


def _outer_uses(op: Any) -> list[ir.Value]:
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


def _is_constant(op: Any) -> bool:
    return op.operation.name == graph.ConstantOp.OPERATION_NAME


def _has_names(value: ir.Value) -> bool:
    return not all(isinstance(size, int) for size in graph.type_of(value).shape)


def _names(prefix: str, count: int) -> ir.ArrayAttr:
    names = [ir.StringAttr.get(f"{prefix}{index}") for index in range(count)]
    return ir.ArrayAttr.get([ir.DictAttr.get({"graph.name": name}) for name in names])
