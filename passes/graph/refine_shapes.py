"""The pass `graph-refine-shapes`."""

from dataclasses import dataclass
from typing import Any

from ...dialects import graph
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.query import ops_within
from ..infra.registry import register

REWRITE = "refine-shapes"


@register
@dataclass(frozen=True)
class RefineShapes(Pass):
    """Give operands the sizes that an op requires of them.

        %1 = "graph.conv"(%x, %w) : 1x"c"x"t", 128x512x1
        -->
        "graph.require"(c == 512)
        %0 = "graph.reshape"(%x) : 1x512x"t"
        %1 = "graph.conv"(%0, %w)

    Sizes that are computed from others in a way that the compiler does not follow are often known
    from the weights that they meet. Kernels need them when compiling.
    """

    name = "graph-refine-shapes"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        statistics = state.statistics(REWRITE)
        for view in ops_within(op, graph.GraphOp):
            if len(view.operation.regions) or isinstance(view, graph.ConstantOp):
                continue
            sizes = _required_sizes(view)
            if sizes:
                statistics.record_fired(node_name(view))
                _refine(view, sizes)


def _required_sizes(op: graph.GraphOp) -> dict[Dim, graph.Equal]:
    """The sizes of operands that `op` requires to be a number, unless its results have them."""
    with graph.collect_constraints() as constraints:
        op.verify_op()
    required: dict[Dim, graph.Equal] = {}
    for constraint in constraints:
        if not isinstance(constraint, graph.Equal) or constraint.broadcasts:
            continue
        for size, other in ((constraint.a, constraint.b), (constraint.b, constraint.a)):
            if isinstance(size, Dim) and isinstance(other, int):
                required.setdefault(size, constraint)
    shapes = [graph.type_of(result).shape for result in op.operation.results]
    return {size: found for size, found in required.items() if not any(size in s for s in shapes)}


def _refine(op: graph.GraphOp, required: dict[Dim, graph.Equal]) -> None:
    """Reshape the operands of `op`, and check that they have the `required` sizes."""
    known = {size: _number(found) for size, found in required.items()}
    with ir.InsertionPoint(op.operation), op.operation.location:
        for size, found in required.items():
            same = graph.equal(graph.size_scalar(size), graph.size_scalar(known[size]))
            graph.require(same, message=str(found))
        for index, operand in enumerate(op.operation.operands):
            shape = graph.type_of(operand).shape
            refined = [known.get(size, size) if isinstance(size, Dim) else size for size in shape]
            if refined != list(shape):
                op.operation.operands[index] = graph.reshape(operand, shape=refined)
        if not _has_inferred_types(op):
            _rebuild(op)


def _has_inferred_types(op: graph.GraphOp) -> bool:
    """Return whether the types of the results follow from those of the operands."""
    types = [graph.map_group(graph.type_of, group) for group in op.operand_groups.values()]
    actual = tuple(graph.type_of(result) for result in op.operation.results)
    return op.infer_types(types, op.attrs) == actual


def _rebuild(op: graph.GraphOp) -> None:
    """Replace `op`, whose results have sizes that are computed from those which are known now."""
    made = graph.build(type(op), list(op.operand_groups.values()), op.attrs)
    results = made if isinstance(made, tuple) else (made,)
    for old, new in zip(op.operation.results, results, strict=True):
        old.replace_all_uses_with(graph.reshape(new, shape=graph.type_of(old).shape))
    op.operation.erase()


def _number(constraint: graph.Equal) -> int:
    return constraint.a if isinstance(constraint.a, int) else graph.static_size(constraint.b)
