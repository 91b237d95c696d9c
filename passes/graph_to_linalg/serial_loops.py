"""Loops whose iterations are so short that one kernel runs them all, in one workgroup.

The body is lowered to tensors like any other, in a function of its own that MLIR bufferizes: its
loop updates carried values and stacks where they lie. The number of iterations of a `graph.while`
that collects values is not known; the host then runs the kernel for as many iterations as there
were before, and at first for a few.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...dialects import graph, iree
from ...dialects.symbolic import Dim
from ...mlir import arith, cf, ir, memref, tensor
from .aliasing import captured
from .buffer_views import bytes_of, extent_of, in_memory, shaped
from .bufferization import ScratchFunction, host_value
from .kernel_calls import define, flat, flat_of
from .lowering import Lowering, NotAKernel, plain_type
from .serial_body import SerialBody

STACK_BYTES = 16 << 10
"""Total size of the intermediate results that a kernel keeps on the stack of its thread."""

MOST_BUFFERS = 32
"""The most buffers of a dispatch (IREE fails at run time with more)."""

_COUNTS = graph.TensorType((2,), np.dtype(np.int64))
"""How a `graph.while` ends: the number of iterations, and whether the condition still holds."""
_CONDITION = graph.TensorType((), np.dtype(np.bool_))


@dataclass(frozen=True)
class _Argument:
    """A tensor of a kernel. `value` stands for it in the code; `given` is None if the kernel writes
    it. The numbers in `sizes` are those of the scalars that are its dynamic sizes."""

    value: ir.Value
    buffer: iree.Buffer
    sizes: tuple[int, ...]
    given: ir.Value | None

    def buffer_among(self, passed: Sequence[int]) -> iree.Buffer:
        """The buffer, whose sizes are numbered as in `passed`."""
        return replace(self.buffer, counts=tuple(map(passed.index, self.buffer.counts)))


class SerialLoop:
    """A loop that one kernel runs, made at the insertion point before anything calls it.

    NotAKernel says why a loop is none.
    """

    def __init__(self, ctx: Lowering, op: graph.LoopOp):
        self.ctx, self.op = ctx, op
        self.is_while = isinstance(op, graph.WhileOp)
        self.carried = [graph.type_of(value) for value in op.body.arguments]
        self.elements = [graph.type_of(value) for value in op.yielded[1]]
        self._require_fixed_sizes()
        self.outer = captured(op.body)
        self.first, self.stop, self.rows = (
            Dim.symbol(f"{op.attrs['index']}.{name}") for name in ("first", "stop", "rows")
        )
        self.sizes = self._sizes()
        self.constants: list[ir.Value] = []
        self.scratch: list[tuple[ir.Type, int | ir.Value]] = []
        self.code = self._build()

    def _require_fixed_sizes(self) -> None:
        inner = graph.bound_names(self.op.body) | self.op.own_names | {self.op.attrs["index"]}
        for type_ in (*self.carried, *self.elements):
            for size in type_.shape:
                if isinstance(size, Dim) and size.symbols() & inner:
                    raise NotAKernel("the size of a value changes from iteration to iteration")

    @property
    def stacks(self) -> list[graph.TensorType]:
        rows = self.rows if self.is_while else self.op.attrs["count"]
        return [type_.with_shape((rows, *type_.shape)) for type_ in self.elements]

    @property
    def read(self) -> list[graph.TensorType]:
        condition = [_CONDITION] * self.is_while
        return [*condition, *self.carried, *map(graph.type_of, self.outer)]

    @property
    def written(self) -> list[graph.TensorType]:
        return [*[_COUNTS] * self.is_while, *self.carried, *self.stacks]

    def _sizes(self) -> list[Dim]:
        """The scalars of the kernel: sizes around the loop, and those of its tensors."""
        given = [Dim.symbol(name) for name in self.ctx.known_symbols]
        types = [size for type_ in (*self.read, *self.written) for size in type_.shape]
        dynamic = [size for size in types if isinstance(size, Dim)]
        return list(dict.fromkeys([self.first, self.stop, self.rows, *given, *dynamic]))

    def _build(self) -> ScratchFunction:
        inner = self.ctx.for_kernel()

        def build(*arguments: ir.Value) -> list[ir.Value]:
            scalars = arguments[: len(self.sizes)]
            for size, value in zip(self.sizes, scalars, strict=True):
                if size.is_symbol:
                    inner.bind(str(size), value)
            tensors = list(arguments[len(self.sizes) :])
            read, written = tensors[: len(self.read)], tensors[len(self.read) :]
            return self._code(inner, read, written)

        read, written = (list(map(plain_type, types)) for types in (self.read, self.written))
        return ScratchFunction(len(self.sizes), read, written, build)

    def _code(
        self, inner: Lowering, read: list[ir.Value], written: list[ir.Value]
    ) -> list[ir.Value]:
        body = SerialBody(inner, self.op)
        first, stop = inner.index(self.first), inner.index(self.stop)
        conditions = [read.pop(0)] if self.is_while else []
        initial, outer = read[: len(self.carried)], read[len(self.carried) :]
        inner.values.update(zip(self.outer, outer, strict=True))
        if not self.is_while:
            return body.run_for(first, stop, body.start(initial, written))
        counts, *memory = written
        holds = tensor.extract(conditions[0], [])
        index, holds, *last = body.run_while(first, stop, holds, body.start(initial, memory))
        i64 = ir.IntegerType.get_signless(64)
        ends = [arith.index_cast(i64, index), arith.extui(i64, holds)]
        for position, each in enumerate(ends):
            counts = tensor.insert(each, counts, [inner.index(position)])
        return [counts, *last]

    def place(self, runs: Callable[[], ir.Value]) -> None:
        """Emit what the kernel needs from outside, at the insertion point: the checks of its
        iterations, of which `runs` says that there are any, and its constants. Then bufferize."""
        self._hoist_checks(runs)
        for op in self.code.all_ops("arith.constant"):
            if isinstance(op.results[0].type, ir.RankedTensorType):
                self.constants.append(op.clone().results[0])
                op.results[0].replace_all_uses_with(self.code.add_read(op.results[0].type))
                op.erase()
        self.code.bufferize()
        self._place_allocations()
        tensors = list(self.code.block.arguments)[len(self.sizes) :]
        if sum(map(_is_used, tensors)) > MOST_BUFFERS:
            raise NotAKernel(f"a kernel for it would have more than {MOST_BUFFERS} buffers")

    def _hoist_checks(self, runs: Callable[[], ir.Value]) -> None:
        """Check before the loop what each of its iterations would check."""
        checks = self.code.all_ops("cf.assert")
        if not checks:
            return
        known, done = self._known(), dict[ir.Value, ir.Value]()
        none = arith.xori(runs(), self.ctx.scalar(True, np.dtype(np.bool_)))
        for op in checks:
            if op.parent is None or op.parent.parent != self.code.function.operation:
                raise NotAKernel("a check depends on a condition")
            holds = arith.ori(none, host_value(op.operands[0], known, done))
            cf.assert_(holds, ir.StringAttr(op.attributes["msg"]).value)
            op.erase()

    def _known(self) -> dict[ir.Value, ir.Value]:
        """The scalars of the kernel that do not differ from call to call, on the host."""
        scalars = zip(self.sizes, self.code.block.arguments, strict=False)
        own = (self.first, self.stop, self.rows)
        return {value: self.ctx.index(size) for size, value in scalars if size not in own}

    def _place_allocations(self) -> None:
        """Small buffers go to the stack of the thread, others become results of the kernel."""
        left, known, done = STACK_BYTES, self._known(), dict[ir.Value, ir.Value]()
        for op in self.code.all_ops("memref.alloc"):
            (buffer,) = op.results
            type_ = ir.MemRefType(buffer.type)
            size = math.prod(type_.shape) * bytes_of(type_.element_type)
            if type_.has_static_shape and size <= left:
                left -= size
                with ir.InsertionPoint.at_block_begin(self.code.block), op.location:
                    buffer.replace_all_uses_with(memref.alloca(type_, [], []))
            else:
                self._place_outside(op, type_, known, done)
            op.erase()

    def _place_outside(
        self,
        op: ir.Operation,
        type_: ir.MemRefType,
        known: dict[ir.Value, ir.Value],
        done: dict[ir.Value, ir.Value],
    ) -> None:
        if isinstance(type_.element_type, ir.IndexType):
            raise NotAKernel("an intermediate result of indices is large")
        zero = self.ctx.index(0)
        sizes = [arith.maxsi(host_value(size, known, done), zero) for size in op.operands]
        static = [size for size in type_.shape if size != ir.ShapedType.get_dynamic_size()]
        count: ir.Value | int = math.prod(static)
        if sizes:
            count = opaque(functools.reduce(arith.muli, sizes, self.ctx.index(count)))
        self.scratch.append((in_memory(type_.element_type), count))
        flat = ir.MemRefType.get([extent_of(count)], type_.element_type)
        memory = self.code.add_read(flat)
        with ir.InsertionPoint(op), op.location:
            op.results[0].replace_all_uses_with(shaped(memory, type_, list(op.operands)))

    def call(
        self,
        first: ir.Value,
        stop: ir.Value,
        rows: ir.Value,
        carried: Sequence[ir.Value],
        condition: ir.Value | None = None,
    ) -> list[ir.Value]:
        """Run iterations from `first` up to `stop`, on stacks of `rows` rows; returns the tensors
        that the kernel writes."""
        ctx = self.ctx
        with ctx.scope():
            for size, value in ((self.first, first), (self.stop, stop), (self.rows, rows)):
                if isinstance(size, Dim) and size.is_symbol:
                    ctx.bind(str(size), value)
            conditions = [] if condition is None else [condition]
            outer = [ctx.values[value] for value in self.outer]
            operands = [*conditions, *carried, *outer]
            return self._dispatch(operands)

    def _dispatch(self, operands: Sequence[ir.Value]) -> list[ir.Value]:
        ctx, arguments = self.ctx, self._arguments(operands)
        scalars = [ctx.index(size) for size in self.sizes]
        scalars += [size for _, size in self.scratch if isinstance(size, ir.Value)]
        passed = self._passed(arguments)
        numbers = list(self.code.block.arguments)[: len(self.sizes)]

        def write(_: ir.Value, *given: ir.Value) -> None:
            known = dict(zip(passed, given, strict=False))
            for position, number in enumerate(numbers):
                if position in known:
                    number.replace_all_uses_with(known[position])
            for argument, memory in zip(arguments, given[len(passed) :], strict=True):
                type_ = ir.MemRefType(argument.value.type)
                sizes = [known[position] for position in argument.sizes]
                argument.value.replace_all_uses_with(shaped(memory, type_, sizes))
            self.code.move_to(ir.InsertionPoint.current.block)

        buffers = [each.buffer_among(passed) for each in arguments]
        key = (self.code.text, *buffers)
        name = define(ctx, "serial_loop", key, buffers, write, None, len(passed))
        read = [each.given for each in arguments if each.given is not None]
        scratch = [ir.RankedTensorType.get([extent_of(n)], type_) for type_, n in self.scratch]
        sizes = [size for type_ in self.written for size in ctx.dynamic_sizes(type_)]
        results = iree.run_kernel(
            name,
            1,
            read,
            [*map(plain_type, self.written), *scratch],
            [scalars[position] for position in passed],
            [*sizes, *scalars[len(self.sizes) :]],
        )
        return results[: len(self.written)]

    def _arguments(self, operands: Sequence[ir.Value]) -> list[_Argument]:
        """The tensors of the kernel: those that it reads, and then those that it writes."""
        values = iter(list(self.code.block.arguments)[len(self.sizes) :])
        read = [
            self._argument(next(values), type_, x)
            for type_, x in zip(self.read, operands, strict=True)
        ]
        written = [self._argument(next(values), type_, None) for type_ in self.written]
        read += [_Argument(next(values), _as_stored(flat(x.type)), (), x) for x in self.constants]
        count = len(self.sizes)
        for element, size in self.scratch:
            buffer = iree.Buffer(element, size) if isinstance(size, int) else None
            if buffer is None:
                buffer, count = iree.Buffer(element, 1, (count,)), count + 1
            written.append(_Argument(next(values), buffer, (), None))
        return [*(each for each in read if _is_used(each.value)), *written]

    def _argument(
        self, value: ir.Value, type_: graph.TensorType, given: ir.Value | None
    ) -> _Argument:
        sizes = tuple(self.sizes.index(size) for size in type_.shape if isinstance(size, Dim))
        return _Argument(value, _as_stored(flat_of(type_, self.sizes)), sizes, given)

    def _passed(self, arguments: Sequence[_Argument]) -> list[int]:
        """The scalars that the kernel needs, by number."""
        numbers = list(self.code.block.arguments)[: len(self.sizes)]
        needed = {position for position, number in enumerate(numbers) if _is_used(number)}
        for each in arguments:
            needed |= {*each.sizes, *each.buffer.counts}
        return sorted(needed)


def opaque(count: ir.Value) -> ir.Value:
    """`count`, of which IREE does not infer a range: of one up to the largest integer it infers
    that the bytes of so many elements are those of the least count, since the largest wraps."""
    return iree.optimization_barrier(count)


def _is_used(x: ir.Value) -> bool:
    return any(True for _ in x.uses)


def _as_stored(buffer: iree.Buffer) -> iree.Buffer:
    return replace(buffer, element=in_memory(buffer.element))
