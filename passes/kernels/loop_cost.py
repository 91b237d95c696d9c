"""The cost of an iteration, for the choice of loops that one kernel runs on one thread.

Otherwise the host launches the dispatches of each iteration, at some microseconds each. The times
below are those of loops in a kernel that LLVM vectorizes, on one core of a server with AVX-512
(Sapphire Rapids).
"""

import contextlib
from collections.abc import Iterable

from ...dialects import graph
from ...dialects.symbolic import Dim, ceildiv
from ...dialects.symbolic_limits import depends_on, upper_bound
from ...mlir import ir

Cost = int | Dim
"""Picoseconds; for sizes that only the run knows, in terms of these."""

MOST = 30_000_000
"""The cost up to which one thread runs an iteration: that of the few dispatches of one."""

ASSUMED_COUNT = 100
"""The number of iterations to assume of a loop that its condition alone ends."""

_SMALL_SIZES = 1, 2, 3
_MULTIPLICATION = 50
_ELEMENT = 700
_MOVED = 1000
_REDUCED = 1000
_NORMALIZED = 3000

_FREE = (
    graph.ConstantOp,
    graph.ReshapeOp,
    graph.RequireOp,
    graph.SizesOp,
    graph.BindSizesOp,
    graph.YieldAllOp,
    graph.YieldOp,
)
_MOVING = (
    graph.ConcatOp,
    graph.DynamicPadOp,
    graph.DynamicSliceOp,
    graph.ExpandOp,
    graph.GatherOp,
    graph.GatherElementsOp,
    graph.GatherNdOp,
    graph.PadFromDataOp,
    graph.PadOp,
    graph.RangeOp,
    graph.SliceOp,
    graph.TransposeOp,
    graph.TriluOp,
)
_NORMALIZING = (
    graph.BatchNormOp,
    graph.LayerNormOp,
    graph.LogSoftmaxOp,
    graph.RmsNormOp,
    graph.SoftmaxOp,
)


def reason_against_kernel(loop: graph.LoopOp) -> str | None:
    """The reason why no kernel should run all iterations of `loop`; None if one may. Sizes that
    only the run knows are taken to be small."""
    if loop.attrs["count"] in (0, 1):
        return "there is one iteration at most"
    try:
        cost = cost_of_iteration(loop)
    except _UnknownCost as error:
        return str(error)
    if at_least(cost) > MOST:
        return f"an iteration takes more than {MOST // 10**6} us on one thread"
    return None


def is_in_kernel(op: ir.Operation) -> bool:
    """Return whether `op` is in a loop that one kernel may run."""
    outer = op.parent
    while outer is not None:
        view = outer.opview
        if isinstance(view, graph.LoopOp) and reason_against_kernel(view) is None:
            return True
        outer = outer.parent
    return False


def at_least(cost: Cost) -> int:
    """The value of `cost` if all sizes that only the run knows are 1, or the next number for which
    it divides by no 0; 0 if there is none."""
    if isinstance(cost, int):
        return cost
    for size in _SMALL_SIZES:
        with contextlib.suppress(ZeroDivisionError):
            value = cost.evaluate(dict.fromkeys(cost.symbols(), size))
            assert isinstance(value, int)
            return value
    return 0


class _UnknownCost(Exception):
    """The reason why the cost of an iteration is not known."""


def cost_of_iteration(loop: graph.LoopOp) -> Cost:
    """The cost of one iteration of `loop`, in terms of the sizes around it."""
    cost, index = _cost_of_block(loop.body), loop.attrs["index"]
    if isinstance(cost, Dim) and index in cost.symbols():
        cost = cost.evaluate({index: assumed_count(loop)})
    inner = graph.bound_names(loop.body) | loop.own_names
    return cost if isinstance(cost, int) else _average(cost, inner, assumed_count(loop))


def _average(cost: Dim, inner: frozenset[str] | set[str], count: int | Dim) -> Cost:
    """`cost`, without the names in `inner`, whose values data decides: iterations whose slices have
    such sizes are assumed to divide what they cut among them."""
    known: Cost = cost
    for monomial, _ in cost.terms:
        if isinstance(known, Dim) and depends_on(monomial, inner):
            known = known.without(monomial)
    if known == cost:
        return cost
    most = upper_bound(cost - known, inner)
    if most is None:
        raise _UnknownCost("the cost of an iteration changes")
    return known + ceildiv(most, count)


def assumed_count(loop: graph.LoopOp) -> int | Dim:
    """The number of iterations, or one to assume of a loop that its condition ends."""
    count = loop.attrs["count"]
    return ASSUMED_COUNT if count == graph.UNLIMITED else count


def _cost_of_block(block: ir.Block) -> Cost:
    return _sum(_cost_of(op) for op in map(graph.graph_op, block.operations) if op is not None)


def _sum(costs: Iterable[Cost]) -> Cost:
    total: Cost = 0
    for cost in costs:
        total = total + cost
    return total


def _cost_of(op: graph.GraphOp) -> Cost:
    if isinstance(op, _FREE):
        return 0
    if isinstance(op, graph.LoopOp):
        return assumed_count(op) * _cost_of_block(op.body)
    if isinstance(op, graph.IfOp):
        return _sum(map(_cost_of_block, op.bodies))
    if isinstance(op, graph.GroupOp):
        return _sum(map(_cost_of, op.ops))
    results = _sum(map(_elements, op.operation.results))
    if isinstance(op, graph.MatmulOp):
        return results * graph.type_of(op.a).shape[-1] * _MULTIPLICATION
    if isinstance(op, graph.ElementwiseOp):
        return results * _ELEMENT
    if isinstance(op, graph.Reduction | graph.Arg):
        return _elements(op.operation.operands[0]) * _REDUCED
    if isinstance(op, _NORMALIZING):
        return results * _NORMALIZED
    if isinstance(op, _MOVING):
        return results * _MOVED
    raise _UnknownCost(f"'{op.OPERATION_NAME}' is not for kernels with loops")


def _elements(x: ir.Value) -> Cost:
    return graph.element_count(graph.type_of(x).shape)
