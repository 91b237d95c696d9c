"""Dispatch regions, and compute barriers between them.

The backend fuses cheap operands of a scatter or a scan into it: all of their elements, on the
stack, which overflows. Such ops get a dispatch of their own, on materialized operands.
"""

from collections.abc import Callable, Container

from ...dialects import graph, iree
from ...mlir import ir
from .generic import linalg_inputs, parallel
from .lowering import Lowering, plain_type


def in_own_dispatch(
    ctx: Lowering, type_: graph.TensorType, build: Callable[[], ir.Value]
) -> ir.Value:
    """Build a value of `type_` in a dispatch region of its own."""
    return iree.dispatch_region(plain_type(type_), ctx.dynamic_sizes(type_), build)


def materialized(ctx: Lowering, x: ir.Value, type_: graph.TensorType) -> ir.Value:
    """Materialize `x`, of `type_`, by a copy dispatch, if the backend might compute it again.

    On GPUs this is a compute barrier: there the backend fails at a dispatch with only the copy. The
    copy is for ops that read it: as a result of the program, it may never be written.
    """
    if _is_in_memory(x):
        return x
    if ctx.gpu:
        return behind_barrier(ctx, x, type_)
    identity = ir.AffineMap.get_identity(type_.rank)
    return in_own_dispatch(
        ctx, type_, lambda: parallel([x], [identity], ctx.empty(type_), lambda element: element)
    )


def behind_barrier(ctx: Lowering, x: ir.Value, type_: graph.TensorType) -> ir.Value:
    """Materialize `x`, of `type_`, before its uses, by a compute barrier."""
    return iree.compute_barrier(x, ctx.dynamic_sizes(type_))


def read_in_loops(ctx: Lowering, x: ir.Value, type_: graph.TensorType) -> ir.Value:
    """Materialize `x`, of `type_`, for loops in a body that read scattered elements of it.

    IREE clones casts that widen elements, such as u8 to f32, into the dispatches that use them
    (`CloneProducersIntoDispatchRegions.cpp`), which then need all of them on the stack.
    """
    return _behind_barrier_if(ctx, x, type_, ("linalg.generic",))


def updated_in_place(ctx: Lowering, x: ir.Value, type_: graph.TensorType) -> ir.Value:
    """Materialize `x`, of `type_`, for a scatter that updates it in place.

    As in `read_in_loops`; a cloned slice, which may not be written, is copied to the stack as well.
    """
    return _behind_barrier_if(ctx, x, type_, ("linalg.generic", "tensor.extract_slice"))


def _behind_barrier_if(
    ctx: Lowering, x: ir.Value, type_: graph.TensorType, makers: Container[str]
) -> ir.Value:
    """Materialize `x`, of `type_`, if an op with a name in `makers` computes it."""
    owner = origin(x, VIEWS).owner
    is_cloned = not isinstance(owner, ir.Block) and owner.operation.name in makers
    return behind_barrier(ctx, x, type_) if is_cloned else x


def share_memory(x: ir.Value, y: ir.Value) -> bool:
    """Return whether `x` and `y` are the same tensor, possibly in different shapes."""
    return origin(x, SAME_MEMORY) == origin(y, SAME_MEMORY)


def _is_in_memory(x: ir.Value) -> bool:
    """Return whether `x` is an argument or the result of a dispatch, possibly reshaped."""
    owner = origin(x, VIEWS).owner
    return isinstance(owner, ir.Block) or owner.operation.name == "flow.dispatch.region"


def is_windowed(x: ir.Value) -> bool:
    """Return whether `x` is a reduction or a named convolution or pool of linalg, or computed
    elementwise from one, possibly transposed."""
    return _comes_from(x, lambda op: has_reduction(op) or op.name.startswith(WINDOWED))


def follows_reduction(x: ir.Value) -> bool:
    """Return whether `x` is a reduction, or computed elementwise from one, possibly transposed."""
    return _comes_from(x, has_reduction)


WINDOWED = ("linalg.conv_", "linalg.depthwise_conv_", "linalg.pooling_")
"""How the names of convolutions and pools begin."""


def has_reduction(op: ir.Operation) -> bool:
    """Return whether `op` is a ``linalg.generic`` with a reduction loop."""
    return op.name == "linalg.generic" and "reduction" in str(op.attributes["iterator_types"])


def _comes_from(x: ir.Value, wanted: Callable[[ir.Operation], bool]) -> bool:
    """Return whether `wanted` holds for a linalg op that makes `x`, directly or through generics
    and transposes."""
    seen: set[ir.Value] = set()
    waiting = [x]
    while waiting:
        x = origin(waiting.pop(), VIEWS)
        if x in seen or isinstance(x.owner, ir.Block):
            continue
        seen.add(x)
        op = x.owner.operation
        if op.name.startswith("linalg.") and wanted(op):
            return True
        if op.name == "linalg.generic":
            waiting.extend(linalg_inputs(op))
        elif op.name == "linalg.transpose":
            waiting.append(op.operands[0])
    return False


def origin(x: ir.Value, through: Container[str]) -> ir.Value:
    """The source of `x` before the ops with a name in `through`."""
    while not isinstance(x.owner, ir.Block) and x.owner.operation.name in through:
        x = x.owner.operation.operands[0]
    return x


VIEWS = ("tensor.cast", "tensor.collapse_shape", "tensor.expand_shape")
"""Ops that move no data."""
SAME_MEMORY = (*VIEWS, "iree_tensor_ext.compute_barrier.end")
"""Ops whose result is their operand, possibly reshaped."""
