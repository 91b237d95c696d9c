"""The interpreter: the rules of ops, by name, and what they share."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc.dialects.graph.types import dtype_of
from graphc.mlir import ir

from .state import GlobalMemory, UndefinedBehaviour, Values, Workgroup

Rule = Callable[[Workgroup, ir.Operation], Sequence[Any]]


RULES: dict[str, Rule] = {}
"""The rules; each maps the state and an op to the values of its results."""


def rule(name: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        RULES[name] = function
        return function

    return register


def element_dtype(type_: ir.Type) -> np.dtype:
    if isinstance(type_, ir.VectorType | ir.MemRefType):
        type_ = type_.element_type
    return np.dtype(np.int64) if isinstance(type_, ir.IndexType) else dtype_of(type_)


def number(value: ir.Attribute) -> Any:
    kind = ir.FloatAttr if isinstance(value, ir.FloatAttr) else ir.IntegerAttr
    return kind(value).value


def lanes(state: Workgroup, at: ir.Value, count: int, itemsize: int) -> Values:
    """The indices of `count` elements from `at` on, for active threads."""
    first = state.known[at][state.active]
    if (first * itemsize % min(16, count * itemsize)).any():
        raise UndefinedBehaviour("a vector is not aligned")
    return first[:, None] + np.arange(count)


def run_kernel(
    function: ir.Operation, threads: int, workgroups: int, buffers: Sequence[np.ndarray]
) -> None:
    """Run a kernel of `iree.define_kernel` on flat `buffers`, which it changes."""
    block = function.regions[0].blocks[0]
    for number in range(workgroups):
        state = Workgroup(threads, number)
        for argument, buffer in zip(block.arguments, buffers, strict=True):
            state.known[argument] = GlobalMemory(buffer)
        run_block(state, block)
        if state.started or any(state.groups) or state.products:
            raise UndefinedBehaviour("the kernel ends before its copies or products")


def run_block(state: Workgroup, block: ir.Block) -> list[Any]:
    """Run the ops of `block`; the values that its terminator yields."""
    for op in block.operations:
        operation = op.operation
        if operation.name in ("scf.yield", "func.return"):
            return [state.known[value] for value in operation.operands]
        rule = RULES.get(operation.name)
        if rule is None:
            raise NotImplementedError(f"{operation.name} is not interpreted")
        results = rule(state, operation)
        for result, value in zip(operation.results, results, strict=True):
            state.known[result] = value
    raise AssertionError("a block ends with a terminator")
