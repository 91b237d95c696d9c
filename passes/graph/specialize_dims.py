"""The pass `graph-specialize-dims`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...dialects import graph
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim
from ...dialects.symbolic_syntax import parse_dim
from ...errors import InvalidDimError
from ...mlir import ir
from ..infra.base import Pass, PassState, functions
from ..infra.options import suggestion
from ..infra.registry import register

Sizes = Mapping[str, int | Dim]


@register
@dataclass(frozen=True)
class SpecializeDims(Pass):
    """Give sizes to symbolic dimensions of the inputs, everywhere.

        func @main(%x: tensor<?x8xf32, ["batch"]>)   -->   func @main(%x: tensor<4x8xf32>)

    `dims` is a list like ``batch=4,past=seq``: a size of 0 or more, or another dimension of the
    inputs that it always equals. Result types follow from the ops' type rules, so that sizes
    which depend on these become known too.
    """

    name = "graph-specialize-dims"
    dims: tuple[str, ...] = ()

    def run(self, op: Any, state: PassState) -> None:
        del state
        definitions = functions(op)
        known = {s for f in definitions for a in f.arguments for s in _symbols(a)}
        sizes = parse_dims(self.dims, known)
        if not sizes:
            return
        for function in definitions:
            _specialize_function(function, sizes)


def parse_dims(entries: Iterable[str], known: Iterable[str]) -> Sizes:
    """Parse entries like ``batch=4``. InvalidDimError lists all that do not fit `known` names."""
    known = sorted(known)
    sizes: dict[str, int | Dim] = {}
    problems: list[str] = []
    for entry in entries:
        name, _, text = (part.strip() for part in entry.partition("="))
        problem = _entry_problem(name, text, known)
        if problem is None:
            sizes[name] = parse_dim(text)
        else:
            problems.append(problem)
    if problems:
        raise InvalidDimError("\n".join(problems))
    return _resolved(sizes)


def _resolved(sizes: Sizes) -> Sizes:
    """Substitute `sizes` into each other: ``a=b, b=4`` gives ``a=4, b=4``."""
    for _ in sizes:
        sizes = {name: _substitute(size, sizes) for name, size in sizes.items()}
    for name, size in sizes.items():
        if isinstance(size, Dim) and size.symbols() & sizes.keys():
            raise InvalidDimError(f"dimension '{name}' is given in terms of itself")
    return sizes


def _entry_problem(name: str, text: str, known: list[str]) -> str | None:
    if name not in known:
        listing = f"it has {', '.join(known)}" if known else "all its sizes are fixed"
        return f"the model has no dimension '{name}'{suggestion(name, known)}; {listing}"
    try:
        size = parse_dim(text)
    except ValueError:
        return f"dimension '{name}': '{text}' is neither a size nor a dimension"
    if isinstance(size, int):
        return None if size >= 0 else f"dimension '{name}': {size} is negative"
    unknown = sorted(size.symbols() - set(known))
    return f"dimension '{name}': the model has no dimension '{unknown[0]}'" if unknown else None


def _specialize_function(function: Any, sizes: Sizes) -> None:
    block = function.regions[0].blocks[0]
    _specialize_block(block, sizes)
    inputs = [argument.type for argument in block.arguments]
    results = [value.type for value in list(block.operations)[-1].operation.operands]
    type_ = ir.FunctionType.get(inputs, results)
    function.attributes["function_type"] = ir.TypeAttr.get(type_)


def _specialize_block(block: ir.Block, sizes: Sizes) -> None:
    for argument in block.arguments:
        _substitute_type(argument, sizes)
    for operation in block.operations:
        for region in operation.operation.regions:
            for inner in region.blocks:
                _specialize_block(inner, sizes)
        for result in operation.operation.results:
            _substitute_type(result, sizes)
        op = graph.graph_op(operation)
        if op is not None:
            _substitute_attributes(op, sizes)
            _infer_again(op)


def _substitute_type(value: ir.Value, sizes: Sizes) -> None:
    if not isinstance(value.type, ir.RankedTensorType) or value.type.encoding is None:
        return
    type_ = graph.type_of(value)
    value.set_type(graph.to_mlir(type_.with_shape(_substitute(type_.shape, sizes))))


def _substitute_attributes(op: graph.GraphOp, sizes: Sizes) -> None:
    if isinstance(op, graph.ConstantOp):
        return
    for name, value in op.attrs.items():
        replaced = _substitute(value, sizes)
        if replaced != value:
            op.operation.attributes[name] = op.attribute_kinds[name].write(replaced)


def _infer_again(op: graph.GraphOp) -> None:
    """Set the result types that the type rule derives from the new operand types."""
    if type(op).infer is graph.GraphOp.infer:  # an op without a type rule
        return
    types = [graph.map_group(graph.type_of, group) for group in op.operand_groups.values()]
    try:
        inferred = op.infer_types(types, op.attrs)
    except graph.TypeRuleError as error:
        message = f"these dims do not fit {op.operation.name} at '{node_name(op)}': {error}"
        raise InvalidDimError(message) from error
    for result, type_ in zip(op.operation.results, inferred, strict=True):
        if graph.type_of(result) != type_:
            result.set_type(graph.to_mlir(type_))


def _substitute(value: Any, sizes: Sizes) -> Any:
    if isinstance(value, tuple):
        return tuple(_substitute(part, sizes) for part in value)
    return value.evaluate(sizes) if isinstance(value, Dim) else value


def _symbols(value: ir.Value) -> set[str]:
    if not isinstance(value.type, ir.RankedTensorType):
        return set()
    shape = graph.type_of(value).shape
    return {name for size in shape if isinstance(size, Dim) for name in size.symbols()}
