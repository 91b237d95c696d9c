"""Inputs and results of which each rank keeps its part, such as caches of keys and values."""

from collections.abc import Collection, Iterator
from typing import Any

from ....dialects import graph
from ....mlir import ir
from ...infra.query import producer
from ...infra.rewrite import Rewrite
from .block import first_taken
from .sharding import Mesh

NAME = "graph.name"
RETURN = "func.return"


class GatherResult(Rewrite):
    """``f(x @ w)  -->  all_gather(f(x @ part of w))``, for results of the program.

    Only where ranks have parts of all weights that the result comes from. Exact.
    """

    name = "gather-result"

    def __init__(self, mesh: Mesh, names: Collection[str]):
        self.mesh, self.names = mesh, {*names}
        divisible = (each for each in graph.op_classes_of(graph.GraphOp) if each.pure)
        self.root = tuple(each for each in divisible if not issubclass(each, graph.Collective))

    def pattern(self, op: Any):
        results = op.operation.results
        return {} if len(results) == 1 and self.names & _result_names(results[0]) else None

    def rewrite(self, op: Any):
        (value,) = op.operation.results
        block, sharding = first_taken(value, range(graph.type_of(value).rank), self.mesh)
        return block.all_gather(block.build()[value, sharding], sharding)


def _result_names(value: ir.Value) -> set[str]:
    """The names of the results of the program that `value` is."""
    numbers = [use.operand_number for use in value.uses if use.owner.name == RETURN]
    if not numbers:
        return set()
    function = next(use.owner for use in value.uses if use.owner.name == RETURN).parent
    names = _names(function, "res_attrs")
    return {names[number] for number in numbers if number < len(names)}


def _names(function: Any, kind: str) -> list[str]:
    """The names of arguments (``arg_attrs``) or results; empty without names."""
    attributes = function.operation.attributes
    each = map(ir.DictAttr, ir.ArrayAttr(attributes[kind])) if kind in attributes else ()
    return [ir.StringAttr(one[NAME]).value if NAME in one else "" for one in each]


def argument_parts(function: Any) -> Iterator[tuple[str, ir.Value, dict[str, Any]]]:
    """The arguments that are only used in parts: name, value, and attributes of the slices."""
    arguments = function.regions[0].blocks[0].arguments
    for name, value in zip(_names(function, "arg_attrs"), arguments, strict=False):
        users = [graph.graph_op(use.owner) for use in value.uses]
        forms = [user.attrs for user in users if isinstance(user, graph.AllSliceOp)]
        if users and len(forms) == len(users) and all(form == forms[0] for form in forms):
            yield name, value, forms[0]


def result_parts(function: Any) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """The results that are gathered: name, number, and attributes of the gather."""
    *_, terminator = function.regions[0].blocks[0].operations
    pairs = zip(_names(function, "res_attrs"), terminator.operation.operands, strict=False)
    for number, (name, value) in enumerate(pairs):
        gathered = producer(value, graph.AllGatherOp)
        if gathered is not None:
            yield name, number, gathered.attrs


def keep_parts(function: Any, names: Collection[str]) -> None:
    """Let arguments and results of these names, which are used or gathered in parts, be the parts
    of one rank."""
    block = function.regions[0].blocks[0]
    *_, terminator = block.operations
    for name, number, _ in [*result_parts(function)]:
        if name in names:
            gathered = producer(terminator.operation.operands[number], graph.AllGatherOp)
            assert gathered is not None
            terminator.operation.operands[number] = gathered.x
    for name, value, _ in [*argument_parts(function)]:
        if name in names:
            slices = [use.owner for use in value.uses]
            part = slices[0].operation.results[0].type
            value.set_type(part)
            for each in slices:
                each.operation.results[0].replace_all_uses_with(value)
                each.operation.erase()
    inputs = [value.type for value in block.arguments]
    results = [value.type for value in terminator.operation.operands]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
