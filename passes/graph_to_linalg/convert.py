"""The pass that lowers the `graph` dialect to linalg: it drives the rules of this folder."""

import importlib
import pkgutil
from collections.abc import Sequence
from typing import Any

from ...dialects import graph
from ...dialects.symbolic import Dim
from ...errors import GraphcError, LoweringError
from ...mlir import func, ir, tensor
from .lowering import Lowering, find_rule, plain_type


def lower_function(function: func.FuncOp) -> None:
    """Lower every graph op of `function` in place, and its signature with them.

    LoweringError names the node, its op and operand types, for an op without a rule and for a
    rule that fails.
    """
    _load_rules()
    block = function.entry_block
    ctx = Lowering()
    operations = list(block.operations)
    with ir.InsertionPoint.at_block_begin(block), function.operation.location:
        _lower_arguments(ctx, block)
    for op in operations:
        if isinstance(op.opview, graph.GraphOp):
            with ir.InsertionPoint(op), op.operation.location:
                _lower_op(ctx, op.opview)
        else:
            _remap_operands(ctx, op)
    for op in reversed(operations):
        if isinstance(op.opview, graph.GraphOp):
            op.operation.erase()
    _retype_function(function, block)


def _lower_arguments(ctx: Lowering, block: ir.Block) -> None:
    """Give arguments plain types; a size named by an axis of an argument is that axis' extent."""
    for argument in block.arguments:
        if not isinstance(argument.type, ir.RankedTensorType):
            continue
        type_ = graph.type_of(argument)
        # Graph ops keep reading the old type from a stand-in until they are erased.
        stand_in = ir.Operation.create(
            "builtin.unrealized_conversion_cast", results=[argument.type], operands=[argument]
        )
        argument.replace_all_uses_except(stand_in.result, stand_in)
        argument.set_type(plain_type(type_))
        ctx.values[stand_in.result] = argument
        for axis, size in enumerate(type_.shape):
            if isinstance(size, Dim) and size.is_symbol and not ctx.knows(str(size)):
                ctx.bind(str(size), tensor.dim(argument, ctx.index(axis)))


def _lower_op(ctx: Lowering, op: graph.GraphOp) -> None:
    rule = find_rule(op.operation.name)
    if rule is None:
        raise LoweringError(f"{describe(op)}: no lowering to linalg")
    groups = [
        graph.map_group(lambda value: ctx.values[value], group)
        for group in op.operand_groups.values()
    ]
    try:
        lowered = rule(ctx, op, *groups)
    except GraphcError:
        raise
    except Exception as error:
        raise LoweringError(f"{describe(op)}: {type(error).__name__}: {error}") from error
    results: Sequence[ir.Value] = [lowered] if isinstance(lowered, ir.Value) else list(lowered)
    for old, new in zip(op.operation.results, results, strict=True):
        ctx.values[old] = ctx.cast(new, graph.type_of(old))


def describe(op: graph.GraphOp) -> str:
    """`op` as errors name it: node, op, operand types."""
    types = ", ".join(str(graph.type_of(v)) for v in op.operation.operands)
    return f"{op.operation.location}: {op.operation.name}({types})"


def _remap_operands(ctx: Lowering, op: Any) -> None:
    for index, operand in enumerate(op.operation.operands):
        if operand in ctx.values:
            op.operation.operands[index] = ctx.values[operand]


def _retype_function(function: func.FuncOp, block: ir.Block) -> None:
    for op in list(block.operations):
        if op.operation.name == "builtin.unrealized_conversion_cast":
            op.operation.erase()
    terminator = block.operations[len(block.operations) - 1]
    results = [value.type for value in terminator.operation.operands]
    signature = ir.FunctionType.get([a.type for a in block.arguments], results)
    function.attributes["function_type"] = ir.TypeAttr.get(signature)


_loaded = False


def _load_rules() -> None:
    """Import the rule files beside this one, which fill the table."""
    global _loaded
    if not _loaded:
        package = __package__ or ""
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
            importlib.import_module(f"{package}.{module.name}")
        _loaded = True
