"""Code on buffers for a kernel, from code on tensors: MLIR's own bufferization and loops.

The code is a function in a module of its own, a `ScratchFunction`: of scalars, of tensors that it
reads, and of tensors that it writes, which it returns.
"""

from collections.abc import Callable, Mapping, Sequence

from ...mlir import arith, func, ir, linalg, memref, passmanager
from .aliasing import ops_within
from .loop_jam import jam_sums
from .loop_order import order_loops
from .lowering import NotAKernel

_TENSORS = (
    "canonicalize",
    "cse",
    "linalg-fuse-elementwise-ops",
    "resolve-ranked-shaped-type-result-dims",
    "canonicalize",
    "cse",
)
_BUFFERS = (
    "one-shot-bufferize{bufferize-function-boundaries=1 "
    "function-boundary-type-conversion=identity-layout-map}",
    "canonicalize",
    "cse",
)
_NAMELESS = ("linalg-generalize-named-ops",)
_LOOPS = ("convert-linalg-to-loops", "fold-memref-alias-ops", "lower-affine", "canonicalize", "cse")
_BARRIERS = ("iree_tensor_ext.compute_barrier.end", "util.optimization_barrier")
_VECTORIZED = "#llvm.loop_annotation<vectorize = <disable = false>>"
_KEPT = {"bufferization.writable": False}
_PLAIN = ("arith", "bufferization", "cf", "func", "linalg", "math", "memref", "scf", "tensor")
"""The dialects that kernels are made of."""


class ScratchFunction:
    """A function on tensors, of `scalars` indices, tensors of the types `read`, and tensors of the
    types `written`, whose last values `build` returns for the arguments.

    NotAKernel if `build` builds what kernels cannot hold.
    """

    def __init__(
        self,
        scalars: int,
        read: Sequence[ir.Type],
        written: Sequence[ir.Type],
        build: Callable[..., Sequence[ir.Value]],
    ):
        self.scalars, self.read, self.written = scalars, len(read), len(written)
        self._module = ir.Module.create()
        index = ir.IndexType.get()
        inputs = [*[index] * scalars, *read, *written]
        with ir.InsertionPoint(self._module.body):
            self.function = func.FuncOp("kernel", (inputs, list(written)))
        kept, others = [_KEPT] * len(read), [{}] * len(written)
        self._set_attributes([*[{}] * scalars, *kept, *others])
        block = self.function.add_entry_block()
        with ir.InsertionPoint(block):
            func.ReturnOp(list(build(*block.arguments)))
        _inline_regions(self.function)
        _require_plain(self.function)
        self._run(_TENSORS)

    @property
    def block(self) -> ir.Block:
        return self.function.entry_block

    def bufferize(self) -> None:
        """Turn tensors into buffers, and ops on them into loops."""
        self._run(_BUFFERS)
        end = _terminator(self.block)
        for value, argument in zip(end.operands, self._arguments_written, strict=True):
            if value != argument:
                with ir.InsertionPoint(end), end.location:
                    memref.copy(value, argument)
        with ir.InsertionPoint(end), end.location:
            func.ReturnOp([])
        end.erase()
        self._update_type()
        _copy_by_loops(self.function)
        _require_no_exchange(self.function)
        self._run(_NAMELESS)
        for op in self.all_ops("linalg.generic"):
            order_loops(op)
        self._run(_LOOPS)
        for op in self.all_ops("scf.for"):
            jam_sums(op)
        _store_bools_as_bytes(self.function)
        self._update_type()
        _vectorize(self.function)

    def add_read(self, type_: ir.Type) -> ir.Value:
        """Add a tensor or buffer that is read to the arguments."""
        added = self.block.add_argument(type_, self.function.operation.location)
        self._update_type()
        return added

    @property
    def text(self) -> str:
        """The code as text."""
        return self.function.operation.get_asm(assume_verified=True, use_local_scope=True)

    def move_to(self, block: ir.Block) -> None:
        """Move the ops to the end of `block`. The arguments must have been replaced."""
        *ops, _ = list(self.block.operations)
        for op in ops:
            block.append(op)

    def _update_type(self) -> None:
        inputs = [argument.type for argument in self.block.arguments]
        results = [value.type for value in _terminator(self.block).operands]
        type_ = ir.FunctionType.get(inputs, results)
        self.function.attributes["function_type"] = ir.TypeAttr.get(type_)
        self._arguments += [_KEPT] * (len(inputs) - len(self._arguments))
        self._set_attributes(self._arguments)

    def _set_attributes(self, arguments: list[dict[str, bool]]) -> None:
        self._arguments = arguments
        self.function.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [
                ir.DictAttr.get({name: ir.BoolAttr.get(value) for name, value in each.items()})
                for each in arguments
            ]
        )

    @property
    def _arguments_written(self) -> Sequence[ir.Value]:
        first = self.scalars + self.read
        return list(self.block.arguments)[first : first + self.written]

    def _run(self, passes: Sequence[str]) -> None:
        pipeline = f"builtin.module({','.join(passes)})"
        try:
            passmanager.PassManager.parse(pipeline).run(self._module.operation)
        except ir.MLIRError as error:
            reasons = "; ".join(each.message for each in error.error_diagnostics)
            raise NotAKernel(f"MLIR cannot bufferize it: {reasons}") from error

    def all_ops(self, *names: str) -> list[ir.Operation]:
        """The ops with one of `names`, wherever they are."""
        return [op for op in ops_within(self.function.operation) if op.name in names]


def _inline_regions(function: func.FuncOp) -> None:
    """Move the ops of dispatch regions before them, and drop barriers: all is one dispatch."""
    for op in ops_within(function.operation):
        if op.name in _BARRIERS:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
        elif op.name == "flow.dispatch.region":
            *inner, end = list(op.regions[0].blocks[0].operations)
            for each in inner:
                each.operation.move_before(op)
            for result, value in zip(op.results, end.operation.operands, strict=True):
                result.replace_all_uses_with(value)
            op.erase()


def _require_plain(function: func.FuncOp) -> None:
    for op in ops_within(function.operation):
        if op.name.split(".")[0] not in _PLAIN:
            raise NotAKernel(f"'{op.name}' is not for kernels")


def _require_no_exchange(function: func.FuncOp) -> None:
    """Buffers that a loop passes on must be those that it was given: allocations are hoisted."""
    for op in ops_within(function.operation):
        if op.name in ("scf.for", "scf.while") and any(
            isinstance(result.type, ir.MemRefType) for result in op.results
        ):
            raise NotAKernel("an inner loop passes on buffers")


def _store_bools_as_bytes(function: func.FuncOp) -> None:
    """Give buffers of i1 elements of i8, as in memory; IREE would pack eight into a byte."""
    bit, byte = (ir.IntegerType.get_signless(width) for width in (1, 8))
    ops = ops_within(function.operation)
    blocks = [block for op in ops for region in op.regions for block in region.blocks]
    arguments = [x for block in (function.entry_block, *blocks) for x in block.arguments]
    for x in (*arguments, *(result for op in ops for result in op.results)):
        if isinstance(x.type, ir.MemRefType) and x.type.element_type == bit:
            x.set_type(ir.MemRefType.get(x.type.shape, byte, x.type.layout))
    for op in ops:
        with ir.InsertionPoint(op), op.location:
            if op.name == "memref.load" and op.results[0].type == bit:
                loaded = memref.load(op.operands[0], list(op.operands)[1:])
                op.results[0].replace_all_uses_with(arith.trunci(bit, loaded))
                op.erase()
            elif op.name == "memref.store" and op.operands[0].type == bit:
                op.operands[0] = arith.extui(byte, op.operands[0])


def _vectorize(function: func.FuncOp) -> None:
    """Let LLVM vectorize the innermost loops."""
    for op in ops_within(function.operation):
        if op.name == "scf.for" and not any(
            each.name.startswith("scf.") and len(each.regions) for each in ops_within(op)
        ):
            op.attributes["llvm.loop_annotation"] = ir.Attribute.parse(_VECTORIZED)


def _copy_by_loops(function: func.FuncOp) -> None:
    """Replace copies of buffers by ops that become loops."""
    for op in ops_within(function.operation):
        if op.name == "memref.copy":
            source, target = op.operands
            with ir.InsertionPoint(op), op.location:
                linalg.copy(source, outs=[target])
            op.erase()


def host_value(
    x: ir.Value, known: Mapping[ir.Value, ir.Value], done: dict[ir.Value, ir.Value]
) -> ir.Value:
    """`x`, computed again at the insertion point from `known`, which maps the arguments of a
    function to values outside of it. NotAKernel if it depends on anything else."""
    if x in known:
        return known[x]
    if x not in done:
        if isinstance(x.owner, ir.Block) or not x.owner.name.startswith("arith."):
            raise NotAKernel("a size changes from iteration to iteration")
        operation = x.owner.operation
        operands = [host_value(each, known, done) for each in operation.operands]
        again = operation.clone()
        for position, operand in enumerate(operands):
            again.operands[position] = operand
        done[x] = again.results[0]
    return done[x]


def _terminator(block: ir.Block) -> ir.Operation:
    return block.operations[len(block.operations) - 1].operation
