"""Extraction of parts of graph programs as separate programs."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from ..compiler.driver import main_function
from ..dialects import graph
from ..dialects.graph.subprogram import outer_uses, program_of
from ..mlir import ir


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
    used = dict.fromkeys(v for i in sorted(chosen) for v in outer_uses(ops[i]))
    arguments = [a for a in body(module).arguments if a in used or _has_names(a)]
    arguments += [v for v in used if v not in inside and v not in constants and v not in arguments]
    elsewhere = {v for i, op in enumerate(ops) if i not in chosen for v in outer_uses(op)}
    elsewhere |= set(terminator.operation.operands)
    results = [r for i in sorted(chosen) for r in ops[i].operation.results if r in elsewhere]
    results = results or [r for i in sorted(chosen) for r in ops[i].operation.results]
    copied = [constants[v] for v in used if v in constants] + [ops[i] for i in sorted(chosen)]
    with module.context:
        names = {value: f"x{index}" for index, value in enumerate(arguments)}
        returned = [(value, f"y{index}") for index, value in enumerate(results)]
        made = program_of(names, copied, returned)
    return Subprogram(made, tuple(arguments), tuple(results))


def _is_constant(op: Any) -> bool:
    return op.operation.name == graph.ConstantOp.OPERATION_NAME


def _has_names(value: ir.Value) -> bool:
    return not all(isinstance(size, int) for size in graph.type_of(value).shape)
