"""Elementwise ops, alone or in groups, as one ``linalg.generic`` with parallel loops."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ...dialects import graph
from ...dialects.symbolic import is_same
from ...mlir import arith, ir, tensor
from ..infra.query import splat_of
from .broadcast_layout import expand_by_kernel, has_expansion_kernel
from .generic import loop_index, parallel, projection
from .lowering import Lowering, lowers, scalar_constant
from .quantization import dequantized_again
from .scalar_rules import apply_scalar_rule

NO_TABLES: Mapping[ir.Value, ir.Value] = MappingProxyType({})

ScalarBody = Callable[[Mapping[ir.Value, ir.Value]], ir.Value]


def lower_elementwise(
    ctx: Lowering,
    type_: graph.TensorType,
    leaves: Mapping[ir.Value, ir.Value],
    body: ScalarBody,
) -> ir.Value:
    """A tensor of `type_` whose elements `body` computes from the elements of `leaves`.

    `leaves` maps graph values, which broadcast to `type_`, to their lowered tensors; `body`
    receives the scalar of each graph value. Splat constants become scalars in the body. Operands
    with an axis whose size may or may not be 1 are expanded by a kernel; where there is none, they
    are read with an index chosen at run time, element by element.
    """
    splats = {value: splat for value in leaves if (splat := splat_of(value)) is not None}
    read = {value: broadcast_map(value, type_) for value in leaves if value not in splats}
    indirect = [value for value, map_ in read.items() if map_ is None]
    lowered = dict(leaves)
    if has_expansion_kernel(ctx, type_):
        for value in indirect:
            lowered[value], read[value] = _decided(ctx, value, leaves[value], type_)
        indirect = []
    direct = {value: map_ for value, map_ in read.items() if map_ is not None}
    choices = {value: index_choices(ctx, value, type_) for value in indirect}

    def scalars(*elements: ir.Value) -> ir.Value:
        found = dict(zip(direct, elements, strict=True))
        for value, splat in splats.items():
            found[value] = scalar_constant(splat, graph.type_of(value).dtype)
        for value, choose in choices.items():
            found[value] = tensor.extract(leaves[value], choose())
        return body(found)

    inputs = [lowered[value] for value in direct]
    return parallel(inputs, list(direct.values()), ctx.empty(type_), scalars)


def _decided(
    ctx: Lowering, value: ir.Value, lowered: ir.Value, type_: graph.TensorType
) -> tuple[ir.Value, ir.AffineMap]:
    """`lowered` with the sizes of `type_` along the axes whose size may be 1, and its map."""
    own = graph.type_of(value)
    first_loop = type_.rank - own.rank
    sizes = zip(own.shape, type_.shape[first_loop:], strict=True)
    wanted = own.with_shape(tuple(1 if size == 1 else result for size, result in sizes))
    axes = [None if n == 1 else first_loop + axis for axis, n in enumerate(wanted.shape)]
    return expand_by_kernel(ctx, lowered, own, wanted), projection(type_.rank, axes)


def broadcast_map(value: ir.Value, type_: graph.TensorType) -> ir.AffineMap | None:
    """The indexing map that broadcasts `value` to `type_`, or None if that is decided at run
    time."""
    shape = graph.type_of(value).shape
    axes: list[int | None] = []
    for size, loop in zip(shape, range(type_.rank - len(shape), type_.rank), strict=True):
        if is_same(size, type_.shape[loop]):
            axes.append(loop)
        elif size == 1:
            axes.append(None)
        else:
            return None
    return projection(type_.rank, axes)


def index_choices(
    ctx: Lowering, value: ir.Value, type_: graph.TensorType
) -> Callable[[], list[ir.Value]]:
    """A function that builds the indices of `value` inside a loop over `type_`.

    Positions are clamped to the last element: this broadcasts an axis of one element, and keeps
    every access inside the tensor whatever the sizes are at run time.
    """
    shape = graph.type_of(value).shape
    last = [ctx.index(size - 1) for size in shape]
    first_loop = type_.rank - len(shape)

    def choose() -> list[ir.Value]:
        return [arith.minsi(loop_index(first_loop + axis), last[axis]) for axis in range(len(last))]

    return choose


def values_from_outside(steps: Sequence[graph.GraphOp]) -> list[ir.Value]:
    """The values that `steps` use and do not compute."""
    inside = {each.operation.results[0] for each in steps}
    used = dict.fromkeys(value for each in steps for value in each.operation.operands)
    return [value for value in used if value not in inside]


def evaluate_scalars(
    ops: Sequence[graph.GraphOp],
    scalars: Mapping[ir.Value, ir.Value],
    tables: Mapping[ir.Value, ir.Value] = NO_TABLES,
) -> dict[ir.Value, ir.Value]:
    """Run the scalar rules of `ops`, in order, from the scalars of their operands.

    What one op quantizes and another dequantizes stays a float on the way. The rules of the results
    in `tables` get one more operand: what `scalars` has for the table.
    """
    known = dict(scalars)

    def operands(op: graph.GraphOp) -> list[ir.Value]:
        table = tables.get(op.operation.results[0])
        beside = [] if table is None else [table]
        return [known[value] for value in [*op.operation.operands, *beside]]

    by_result: dict[ir.Value, graph.GraphOp] = {}
    for op in ops:
        result = op.operation.results[0]
        by_result[result] = op
        source = by_result.get(op.operation.operands[0])
        again = dequantized_again(op, source, operands) if source is not None else None
        known[result] = apply_scalar_rule(op, operands(op)) if again is None else again
    return known


def lower_op(ctx: Lowering, op: graph.GraphOp, *operands: ir.Value) -> ir.Value:
    """Lower one elementwise op."""
    leaves = dict(zip(op.operation.operands, operands, strict=True))
    result = op.operation.results[0]
    return lower_elementwise(
        ctx, graph.type_of(result), leaves, lambda known: evaluate_scalars([op], known)[result]
    )


lowers(*graph.op_classes_of(graph.ElementwiseOp))(lower_op)
