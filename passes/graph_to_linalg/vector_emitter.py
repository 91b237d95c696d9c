"""Writing the code of a kernel: indices of elements, loops with registers, vectors of f32."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, memref, scf, vector

Registers = list[ir.Value]

CACHE_LINE = 16
"""Elements of 4 bytes."""


@dataclass(frozen=True)
class Rows:
    """`count` rows of `memory`, the first at `start`, each `stride` elements behind the one before;
    they are multiplied by lines that lie `panel_width` elements apart."""

    memory: ir.Value
    start: ir.Value
    count: int
    stride: int
    panel_width: int
    step: int = 1
    """Elements between two of a row."""


@dataclass(frozen=True)
class Ahead:
    """Memory that will be read soon: at each index, `step` elements more are fetched, from `start`
    on; where that is less than a line of the cache, the line that they lie in."""

    start: ir.Value
    step: int


def even_tiles(count: int, most: int) -> list[tuple[int, int]]:
    """`count` in tiles of at most `most`, as few and as even as can be: how many of which size."""
    tiles = -(-count // most)
    size, more = divmod(count, tiles)
    return [(n, rows) for n, rows in ((more, size + 1), (tiles - more, size)) if n]


class VectorEmitter:
    """Writes at the insertion point, which is in a kernel, with vectors of `lanes` elements."""

    def __init__(self, lanes: int):
        self.lanes = lanes
        self._constants: dict[int, ir.Value] = {}
        self._entry = ir.InsertionPoint.current.block

    @property
    def vector_type(self) -> ir.VectorType:
        return ir.VectorType.get([self.lanes], ir.F32Type.get())

    def index(self, value: int) -> ir.Value:
        """A constant, defined at the start of the kernel."""
        if value not in self._constants:
            with ir.InsertionPoint.at_block_begin(self._entry):
                self._constants[value] = arith.constant(ir.IndexType.get(), value)
        return self._constants[value]

    def splat(self, value: float) -> ir.Value:
        """A vector of equal elements."""
        element = ir.FloatAttr.get_f32(value)
        return arith.constant(
            self.vector_type, ir.DenseElementsAttr.get_splat(self.vector_type, element)
        )

    def add(self, a: ir.Value, b: ir.Value | int) -> ir.Value:
        if isinstance(b, int):
            return a if b == 0 else arith.addi(a, self.index(b))
        return arith.addi(a, b)

    def times(self, a: ir.Value, factor: int) -> ir.Value:
        return a if factor == 1 else arith.muli(a, self.index(factor))

    def compare(self, predicate: arith.CmpIPredicate, a: ir.Value, b: int) -> ir.Value:
        return arith.cmpi(predicate, a, self.index(b))

    def when(
        self, condition: ir.Value, then: Callable[[], Registers], otherwise: Registers
    ) -> Registers:
        """What `then` computes, where `condition` holds."""
        op = scf.IfOp(condition, [value.type for value in otherwise], has_else=True)
        with ir.InsertionPoint(op.then_block):
            scf.YieldOp(then())
        with ir.InsertionPoint(op.else_block):
            scf.YieldOp(otherwise)
        return list(op.results)

    def choose(
        self, condition: ir.Value, then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        """Write `then` for where `condition` holds, and `otherwise` for where it does not."""
        op = scf.IfOp(condition, has_else=True)
        for block, body in ((op.then_block, then), (op.else_block, otherwise)):
            with ir.InsertionPoint(block):
                body()
                scf.YieldOp([])

    def load(self, memory: ir.Value, at: ir.Value, mask: ir.Value | None = None) -> ir.Value:
        """The vector at an index of `memory`, zeros where it is masked."""
        if mask is None:
            return vector.load(self.vector_type, memory, [at])
        return vector.maskedload(self.vector_type, memory, [at], mask, self.splat(0))

    def store(
        self, value: ir.Value, memory: ir.Value, at: ir.Value, mask: ir.Value | None = None
    ) -> None:
        """Write a vector to an index of `memory`, rounded to its elements, but what is masked."""
        element = ir.MemRefType(memory.type).element_type
        if element != self.vector_type.element_type:
            value = arith.truncf(ir.VectorType.get([self.lanes], element), value)
        if mask is None:
            vector.store(value, memory, [at])
        else:
            vector.maskedstore(memory, [at], mask, value)

    def first_lanes(self, count: int) -> ir.Value | None:
        """The mask of so many lanes; None where that is all of them, or more."""
        if count >= self.lanes:
            return None
        type_ = ir.VectorType.get([self.lanes], ir.IntegerType.get_signless(1))
        return vector.create_mask(type_, [self.index(count)])

    def lanes_below(self, count: ir.Value) -> ir.Value:
        """The mask of the first `count` lanes: of none where that is negative, of all where it is
        more than there are."""
        type_ = ir.VectorType.get([self.lanes], ir.IntegerType.get_signless(1))
        return vector.create_mask(type_, [count])

    def signed_sum(self, signs: Sequence[int], values: Registers) -> ir.Value:
        """The sum of `values`, each times its sign: 1, -1, or 0."""
        used = [(int(sign), value) for sign, value in zip(signs, values, strict=True) if sign]
        if not used:
            return self.splat(0)
        used.sort(key=lambda each: -each[0])
        (sign, total), *others = used
        if sign < 0:
            total = arith.negf(total)
        for sign, value in others:
            total = arith.addf(total, value) if sign > 0 else arith.subf(total, value)
        return total

    def multiply(
        self,
        left: "Rows",
        right: ir.Value,
        start: ir.Value,
        depth: int | ir.Value,
        sums: Registers,
        ahead: "Ahead | None" = None,
        mask: ir.Value | None = None,
    ) -> Registers:
        """Add the products of rows by a panel to `sums`, row by row.

        The panel lies in `right` from `start` on: `depth` lines, of which the vectors that the sums
        need are multiplied, the last one where `mask` says. Meanwhile what lies `ahead` comes
        nearer.
        """
        parts = len(sums) // left.count

        def step(index: ir.Value, registers: Registers) -> Registers:
            line = self.add(start, self.times(index, left.panel_width))
            masks = [None] * (parts - 1) + [mask]
            columns = self.columns(right, line, masks)
            element = self.add(left.start, self.times(index, left.step))
            registers = list(registers)
            if ahead is not None:
                for more in range(0, ahead.step, CACHE_LINE):
                    at = self.add(ahead.start, self.add(self.times(index, ahead.step), more))
                    memref.prefetch(
                        right, [at], is_write=False, locality_hint=2, is_data_cache=True
                    )
            for row in range(left.count):
                scalar = memref.load(left.memory, [self.add(element, row * left.stride)])
                factor = vector.broadcast(self.vector_type, scalar)
                for part, column in enumerate(columns):
                    at = row * parts + part
                    registers[at] = vector.fma(factor, column, registers[at])
            return registers

        end = self.index(depth) if isinstance(depth, int) else depth
        return self.loop((self.index(0), end), sums, step)

    def columns(
        self, weights: ir.Value, line: ir.Value, masks: Sequence[ir.Value | None]
    ) -> Registers:
        """The vectors of a panel's line, as many as there are `masks`."""
        return [
            self.load(weights, self.add(line, part * self.lanes), mask)
            for part, mask in enumerate(masks)
        ]

    def loop(
        self,
        bounds: tuple[ir.Value, ir.Value],
        registers: Registers,
        body: Callable[[ir.Value, Registers], Registers],
        step: int = 1,
    ) -> Registers:
        """Run `body` for each index within `bounds`, carrying `registers`."""
        op = scf.ForOp(*bounds, self.index(step), registers)
        with ir.InsertionPoint(op.body):
            scf.YieldOp(body(op.induction_variable, list(op.inner_iter_args)))
        return list(op.results)

    def repeat(
        self, first: ir.Value | int, last: ir.Value | int, body: Callable[[ir.Value], None]
    ) -> None:
        """Run `body` for each index from `first` to before `last`; without a loop where that is
        one."""
        if isinstance(first, int) and isinstance(last, int) and last - first == 1:
            return body(self.index(first))
        bounds = [self.index(end) if isinstance(end, int) else end for end in (first, last)]

        def run(index: ir.Value, registers: Registers) -> Registers:
            body(index)
            return registers

        self.loop((bounds[0], bounds[1]), [], run)
        return None
