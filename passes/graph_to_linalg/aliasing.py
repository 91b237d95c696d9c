"""Tensors that IREE may update in place, and the copies that prevent it."""

from collections.abc import Sequence

from ...dialects import graph, iree
from ...mlir import arith, ir, tensor
from .conversion import integer_to_float
from .dispatch import SAME_MEMORY
from .generic import fill, parallel
from .lowering import Lowering, plain_type

_VIEWS = (
    "tensor.cast",
    "tensor.collapse_shape",
    "tensor.expand_shape",
    "tensor.extract_slice",
    "iree_tensor_ext.compute_barrier.end",
    "util.optimization_barrier",
)
_READERS = ("func.return", "hal.tensor.export", "tensor.concat", "tensor.dim", "tensor.extract")
_BRANCHES = ("scf.condition", "scf.if", "scf.while", "scf.yield")
"""Ops that pass on their operands, which outside of kernels are exported."""


def is_written(x: ir.Value, within: ir.Block | None = None) -> bool:
    """Return whether IREE may compute a use of the tensor `x`, one in `within`, in place."""
    return any(
        _writes(use.owner.operation, use.operand_number)
        for use in x.uses
        if within is None or is_within(use.owner.operation, within)
    )


def keep_arguments(block: ir.Block) -> None:
    """Make IREE copy the arguments of `block`, a whole function, that it would update in place.

    IREE reuses the buffer of an argument, which belongs to the caller, after the last use. A
    barrier at the end of the function is a later use than all others. Arguments that are donated
    may be updated.
    """
    *_, end = block.operations
    with ir.InsertionPoint(end), end.operation.location:
        for argument in block.arguments:
            is_kept = isinstance(argument.type, ir.RankedTensorType) and is_written(argument)
            if is_kept and not graph.is_donated(argument):
                iree.optimization_barrier(argument)


def copy_what_others_read(block: ir.Block) -> None:
    """Let the scatters and kernels in `block` update copies of tensors that are read elsewhere.

    IREE makes no copy if the other uses come first in the program; but the order in which they run
    depends only on the uses of their results.
    """
    for op in all_ops(block):
        position = _updated_operand(op)
        if position is not None and _is_read_elsewhere(op.operands[position]):
            with ir.InsertionPoint(kernel_of(op) or op), op.location:
                op.operands[position] = copy(op.operands[position])


def _updated_operand(op: ir.Operation) -> int | None:
    """The operand that `op` updates in place, if it is a scatter or such a kernel."""
    if op.name == "iree_linalg_ext.scatter":
        return 2
    return iree.operand_in_place(op) if op.name == "flow.dispatch" else None


def _is_read_elsewhere(x: ir.Value) -> bool:
    """Return whether `x`, in any shape, has several uses. Arguments are copied already, unless they
    are donated."""
    if not graph.is_donated(x) and (
        isinstance(x.owner, ir.Block) or x.owner.operation.name in _NUMBERS
    ):
        return False
    if sum(use.owner.operation.name != "tensor.dim" for use in x.uses) > 1:
        return True
    if isinstance(x.owner, ir.Block):
        return False
    op = x.owner.operation
    return op.name in SAME_MEMORY and _is_read_elsewhere(op.operands[0])


def mark_consumed(block: ir.Block) -> None:
    """Tell IREE that the donated arguments of `block`, a whole function, are its own."""
    donated = [graph.is_donated(argument) for argument in block.arguments]
    if any(donated):
        given = ir.ArrayAttr(block.owner.attributes["arg_attrs"])
        consumed = {CONSUMED: ir.UnitAttr.get()}
        block.owner.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [
                ir.DictAttr.get(_without_mark(each) | (consumed if is_marked else {}))
                for each, is_marked in zip(given, donated, strict=True)
            ]
        )


def consumes_arguments(function: ir.Operation) -> bool:
    """Return whether IREE may write results to the memory of an argument of a function."""
    if "arg_attrs" not in function.attributes:
        return False
    given = ir.ArrayAttr(function.attributes["arg_attrs"])
    return any(CONSUMED in ir.DictAttr(each) for each in given)


def _without_mark(attributes: ir.Attribute) -> dict[str, ir.Attribute]:
    return {each.name: each.attr for each in ir.DictAttr(attributes) if each.name != graph.DONATED}


CONSUMED = "iree.abi.consume"
"""The attribute of an argument whose memory IREE may write results to."""
_NUMBERS = ("arith.constant", "linalg.fill", "tensor.empty")


def kernel_of(op: ir.Operation) -> ir.Operation | None:
    """The dispatch region that contains `op`, or None."""
    outer: ir.Operation | None = op
    while outer is not None and outer.name != "flow.dispatch.region":
        outer = outer.parent
    return outer


def captured(block: ir.Block) -> list[ir.Value]:
    """The tensors from outside of `block` that its ops, including nested ones, use."""
    operands = [operand for op in all_ops(block) for operand in op.operands]
    tensors = {x: None for x in operands if isinstance(x.type, ir.RankedTensorType)}
    return [x for x in tensors if not _is_from(x, block)]


def all_ops(block: ir.Block) -> list[ir.Operation]:
    """The ops of `block`, including nested ones."""
    return [each for op in block.operations for each in _with_inner(op.operation)]


def ops_within(op: ir.Operation) -> list[ir.Operation]:
    """The ops in the regions of `op`, including nested ones."""
    return _with_inner(op)[1:]


def _with_inner(op: ir.Operation) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(each: ir.Operation) -> ir.WalkResult:
        found.append(each)
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _is_from(x: ir.Value, block: ir.Block) -> bool:
    owner = x.owner
    if isinstance(owner, ir.Block):
        return owner == block or is_within(owner.owner.operation, block)
    return is_within(owner.operation, block)


def is_within(op: ir.Operation, block: ir.Block) -> bool:
    """Return whether `op` is in `block`, directly or nested."""
    outer: ir.Operation | None = op
    while outer is not None and outer.name != "func.func":
        if outer.block == block:
            return True
        outer = outer.parent
    return False


def _writes(op: ir.Operation, position: int) -> bool:
    if op.name in _READERS:
        return False
    if op.name in _VIEWS:
        return any(map(is_written, op.results))
    if op.name in _BRANCHES:
        return kernel_of(op) is not None
    if op.name == "tensor.insert_slice":
        return position == 1
    if op.name == "flow.dispatch":  # of the kernels that call this, the first result alone is tied
        return position == iree.operand_in_place(op)
    if op.name.startswith(("linalg.", "iree_linalg_ext.")):
        return position >= len(op.operands) - len(op.results)  # outputs come last
    return True


def owned_zeros(ctx: Lowering, type_: graph.TensorType) -> ir.Value:
    """A tensor of `type_` of zeros, in a buffer that is not that of equal tensors."""
    plain, zero = plain_type(type_), _opaque_zero()

    def filled() -> ir.Value:
        return fill(_converted(zero, plain.element_type), ctx.empty(type_))

    return iree.dispatch_region(plain, ctx.dynamic_sizes(type_), filled)


def copy(x: ir.Value) -> ir.Value:
    """Copy the tensor `x` to a buffer of its own."""
    sizes, zero = iree.dynamic_sizes(x), _opaque_zero()
    return iree.dispatch_region(ir.RankedTensorType(x.type), sizes, lambda: _copied(x, sizes, zero))


def _opaque_zero() -> ir.Value:
    """An i32 that IREE takes for unknown, and for another one than those before."""
    return iree.optimization_barrier(arith.constant(ir.IntegerType.get_signless(32), 0))


def _copied(x: ir.Value, sizes: Sequence[ir.Value], zero: ir.Value) -> ir.Value:
    """The elements of `x`, selected by `zero`, an opaque i32. Without the select, IREE would elide
    the copy, and merge the copies of equal constants."""
    type_ = ir.RankedTensorType(x.type)
    dynamic = iter(sizes)
    extents = [
        next(dynamic) if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
        for axis in range(type_.rank)
    ]
    output = tensor.empty(extents, type_.element_type)
    known = arith.constant(zero.type, 0)
    always = arith.cmpi(arith.CmpIPredicate.eq, zero, known)
    otherwise = _converted(zero, type_.element_type)
    identity = ir.AffineMap.get_identity(type_.rank)
    return parallel([x], [identity], output, lambda e: arith.select(always, e, otherwise))


def _converted(number: ir.Value, type_: ir.Type) -> ir.Value:
    """Convert an i32 to the element type `type_`."""
    if isinstance(type_, ir.FloatType):
        return integer_to_float(number, type_)
    width, given = ir.IntegerType(type_).width, ir.IntegerType(number.type).width
    if width == given:
        return number
    return (arith.trunci if width < given else arith.extsi)(type_, number)
