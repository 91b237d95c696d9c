"""Emission of kernel code: element indices, loops that carry registers, vectors of f32."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from ...cpu_model import CACHE_LINE_BYTES
from ...mlir import arith, ir, memref, scf, vector
from .sizes import Index, product

Registers = list[ir.Value]

CACHE_LINE = CACHE_LINE_BYTES // 4
"""Elements of 4 bytes in a cache line."""


@dataclass(frozen=True)
class LhsBlock:
    """`count` rows of `memory` from `start` on, `stride` elements apart. They are multiplied by the
    lines of a panel, which are `panel_width` elements apart."""

    memory: ir.Value
    start: ir.Value
    count: int
    stride: Index
    panel_width: Index
    step: Index = 1
    """Stride between two elements of a row."""


@dataclass(frozen=True)
class Prefetch:
    """Memory to prefetch: `step` elements per index, from `start` on. If `step` is less than a
    cache line, the line that contains the elements is fetched."""

    start: ir.Value
    step: Index
    most: int = 0
    """The largest step, if it is only known when the kernel runs."""
    lines: int | None = None
    """Maximum number of cache lines to prefetch at an index."""
    memory: ir.Value | None = None
    """The buffer; None for that of the lines that are multiplied meanwhile."""

    def offsets(self, line: int) -> range:
        """The offsets of what is prefetched at an index, of cache lines of `line` elements."""
        return range(0, self.step if isinstance(self.step, int) else self.most, line)[: self.lines]


@dataclass(frozen=True)
class VectorSlice:
    """The columns of a line in one vector of `lanes` elements: `count` columns from `start` on, in
    the first lanes."""

    start: int
    lanes: int
    count: int


def long_vectors(columns: int, lanes: int) -> list[VectorSlice]:
    """Cut `columns` into few long vectors, each a power of two times `lanes`.

    The backend splits long vectors into registers itself, and compiles them in a fraction of the
    time that short ones take. Vectors of other sizes are taken apart when they cross blocks.
    """
    parts, start = [], 0
    while (left := columns - start) >= lanes:
        size = lanes << (left // lanes).bit_length() - 1
        parts.append(VectorSlice(start, size, size))
        start += size
    return [*parts, VectorSlice(start, lanes, left)] if left else parts


def short_vectors(columns: int, lanes: int) -> list[VectorSlice]:
    """Cut `columns` into vectors of `lanes`, for instructions that take no other length."""
    return [VectorSlice(n, lanes, min(lanes, columns - n)) for n in range(0, columns, lanes)]


def even_tiles(count: int, most: int) -> list[tuple[int, int]]:
    """Cut `count` into as few and as even tiles of at most `most` as possible: (number, size)."""
    tiles = -(-count // most)
    size, more = divmod(count, tiles)
    return [(n, rows) for n, rows in ((more, size + 1), (tiles - more, size)) if n]


def elements_of_cache_line(memory: ir.Value) -> int:
    """The elements of `memory` in a cache line."""
    halves = isinstance(ir.MemRefType(memory.type).element_type, ir.F16Type | ir.BF16Type)
    return CACHE_LINE * (2 if halves else 1)


def lanes_of(value: ir.Value) -> int:
    """The elements of a vector."""
    (lanes,) = ir.VectorType(value.type).shape
    return lanes


class VectorEmitter:
    """Emits code at the insertion point, which is in a kernel. Vectors have `lanes` elements unless
    another length is given."""

    def __init__(self, lanes: int, element: ir.Type | None = None):
        """Vectors are of f32 unless another type of elements is given."""
        self.lanes, self.element = lanes, element or ir.F32Type.get()
        self._constants: dict[int, ir.Value] = {}
        self._entry = ir.InsertionPoint.current.block

    @property
    def vector_type(self) -> ir.VectorType:
        return self.vector_of(self.lanes)

    def vector_of(self, lanes: int, element: ir.Type | None = None) -> ir.VectorType:
        """The type of vectors of `lanes` elements, of another type than `element` if given."""
        return ir.VectorType.get([lanes], element or self.element)

    def index(self, value: int | ir.Value) -> ir.Value:
        """An index; one that is known is a constant, defined at the start of the kernel."""
        if isinstance(value, ir.Value):
            return value
        if value not in self._constants:
            with ir.InsertionPoint.at_block_begin(self._entry):
                self._constants[value] = arith.constant(ir.IndexType.get(), value)
        return self._constants[value]

    def splat(
        self, value: float, lanes: int | None = None, element: ir.Type | None = None
    ) -> ir.Value:
        """A vector of equal elements, of another type than the emitter's if given."""
        type_ = self.vector_of(lanes or self.lanes, element)
        if isinstance(type_.element_type, ir.IntegerType):
            attribute = ir.IntegerAttr.get(type_.element_type, int(value))
        else:
            attribute = ir.FloatAttr.get(type_.element_type, value)
        return arith.constant(type_, ir.DenseElementsAttr.get_splat(type_, attribute))

    def broadcast(self, memory: ir.Value, lanes: int, at: ir.Value | int = 0) -> ir.Value:
        """Broadcast an element of `memory` to a vector of `lanes`."""
        element = memref.load(memory, [self.index(at)])
        return vector.broadcast(self.vector_of(lanes, element.type), element)

    @property
    def accumulator(self) -> ir.Type:
        """The type of the elements of accumulators."""
        return ir.F32Type.get()

    def zeros(self, rows: int, parts: Sequence[VectorSlice]) -> Registers:
        """Zero accumulators: one per row and part."""
        sizes = {part.lanes for part in parts}
        known = {lanes: self.splat(0, lanes, self.accumulator) for lanes in sizes}
        return [known[part.lanes] for part in parts] * rows

    def index_below(self, memory: ir.Value, at: ir.Value, count: Index) -> ir.Value:
        """The index in `memory` at `at`, clamped to those below `count`."""
        found = arith.index_cast(ir.IndexType.get(), memref.load(memory, [at]))
        last = self.add(self.index(count), -1)
        return arith.maxsi(arith.minsi(found, last), self.index(0))

    def add(self, a: ir.Value, b: ir.Value | int) -> ir.Value:
        if isinstance(b, int):
            return a if b == 0 else arith.addi(a, self.index(b))
        return arith.addi(a, b)

    def times(self, a: ir.Value, factor: int | ir.Value) -> ir.Value:
        known_to_be_one = isinstance(factor, int) and factor == 1
        return a if known_to_be_one else arith.muli(a, self.index(factor))

    def compare(self, predicate: arith.CmpIPredicate, a: ir.Value, b: int | ir.Value) -> ir.Value:
        return arith.cmpi(predicate, a, self.index(b))

    def branch(
        self,
        condition: ir.Value,
        types: Sequence[ir.Type],
        then: Callable[[], Registers],
        otherwise: Callable[[], Registers],
    ) -> Registers:
        """Emit a branch: the values, of `types`, of `then` if `condition` holds, else those of
        `otherwise`."""
        op = scf.IfOp(condition, list(types), has_else=True)
        for block, body in ((op.then_block, then), (op.else_block, otherwise)):
            with ir.InsertionPoint(block):
                scf.YieldOp(body())
        return list(op.results)

    def when(
        self, condition: ir.Value, then: Callable[[], Registers], otherwise: Registers
    ) -> Registers:
        """Select the values that `then` computes if `condition` holds, else `otherwise`."""
        types = [value.type for value in otherwise]
        return self.branch(condition, types, then, lambda: otherwise)

    def select(
        self,
        condition: ir.Value,
        then: Callable[[], ir.Value],
        otherwise: Callable[[], ir.Value],
    ) -> ir.Value:
        """Emit a branch for a vector: that of `then` if `condition` holds, else of `otherwise`."""
        types = [self.vector_type]
        return self.branch(condition, types, lambda: [then()], lambda: [otherwise()])[0]

    def choose(
        self, condition: ir.Value, then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        """Emit a branch: `then` if `condition` holds, else `otherwise`."""

        def nothing(body: Callable[[], None]) -> Callable[[], Registers]:
            return lambda: (body(), [])[1]

        self.branch(condition, [], nothing(then), nothing(otherwise))

    def load(
        self,
        memory: ir.Value,
        at: ir.Value,
        mask: ir.Value | None = None,
        lanes: int | None = None,
    ) -> ir.Value:
        """Load the vector at an index of `memory`; masked-off lanes are zero."""
        element = ir.MemRefType(memory.type).element_type
        type_ = self.vector_of(lanes or self.lanes, element)
        if mask is None:
            return vector.load(type_, memory, [at])
        return vector.maskedload(type_, memory, [at], mask, self.splat(0, lanes, element))

    def store(
        self, value: ir.Value, memory: ir.Value, at: ir.Value, mask: ir.Value | None = None
    ) -> None:
        """Store a vector at an index of `memory`, rounded to its element type, except lanes that
        are masked off."""
        element = ir.MemRefType(memory.type).element_type
        if element != ir.VectorType(value.type).element_type:
            value = arith.truncf(ir.VectorType.get([lanes_of(value)], element), value)
        if mask is None:
            vector.store(value, memory, [at])
        else:
            vector.maskedstore(memory, [at], mask, value)

    def load_all(
        self,
        memory: ir.Value,
        start: ir.Value,
        lanes: Sequence[int],
        mask: ir.Value | None = None,
    ) -> Registers:
        """Load consecutive vectors of the given `lanes` from `memory`; the last may be masked."""
        masks = [None] * (len(lanes) - 1) + [mask]
        starts = accumulate(lanes[:-1], initial=0)
        return [
            self.load(memory, self.add(start, offset), masked, size)
            for offset, size, masked in zip(starts, lanes, masks, strict=True)
        ]

    def store_all(self, values: Registers, memory: ir.Value, start: ir.Value) -> None:
        """Store vectors consecutively."""
        sizes = [lanes_of(value) for value in values[:-1]]
        for offset, value in zip(accumulate(sizes, initial=0), values, strict=True):
            self.store(value, memory, self.add(start, offset))

    def first_lanes(self, count: int) -> ir.Value | None:
        """The mask of the first `count` lanes; None if that is all of them, or more."""
        if count >= self.lanes:
            return None
        type_ = ir.VectorType.get([self.lanes], ir.IntegerType.get_signless(1))
        return vector.create_mask(type_, [self.index(count)])

    def lanes_below(self, count: ir.Value) -> ir.Value:
        """The mask of the first `count` lanes: none if it is negative, all if it exceeds them."""
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

    def across(self, total: ir.Value, combine: Callable[..., ir.Value]) -> ir.Value:
        """The combined elements of a vector, as a scalar: halves of it, then of these."""
        lanes = lanes_of(total)
        while lanes > 1:
            lanes //= 2
            low, high = (
                vector.shuffle(total, total, list(range(first, first + lanes)))
                for first in (0, lanes)
            )
            total = combine(low, high)
        return vector.extract(total, [], [0])

    def sums_across(self, rows: Callable[[int], Registers]) -> Registers:
        """The sums of the elements of as many vectors as there are lanes, as one vector: for each
        of the vectors that ``rows(n)`` gives as number ``n``.

        Halves of two vectors are added to one that has the partial sums of both, and so on: about
        three operations for each sum, where a sum of its own takes two for each halving. Few of the
        vectors are needed at a time.
        """
        lanes = self.lanes

        def merged(first: int, distance: int) -> Registers:
            if distance == lanes:
                return rows(first)
            own = [j if not j & distance else lanes + j for j in range(lanes)]
            other = [
                j + distance if not j & distance else lanes + j - distance for j in range(lanes)
            ]
            pairs = zip(
                merged(first, 2 * distance), merged(first + distance, 2 * distance), strict=True
            )
            return [
                arith.addf(vector.shuffle(a, b, own), vector.shuffle(a, b, other)) for a, b in pairs
            ]

        return merged(0, 1)

    def transposed(self, rows: Registers) -> Registers:
        """Transpose a square of vectors, as many as lanes, by exchanging blocks of half the lanes,
        then of a quarter, and so on."""
        lanes, rows = self.lanes, list(rows)
        distance = lanes // 2
        while distance:
            low = [j if not j & distance else lanes + j - distance for j in range(lanes)]
            high = [j + distance if not j & distance else lanes + j for j in range(lanes)]
            for i in range(lanes):
                if not i & distance:
                    a, b = rows[i], rows[i + distance]
                    rows[i], rows[i + distance] = (
                        vector.shuffle(a, b, low),
                        vector.shuffle(a, b, high),
                    )
            distance //= 2
        return rows

    def multiply(
        self,
        left: "LhsBlock",
        right: ir.Value,
        start: ir.Value,
        k: int | ir.Value,
        accumulators: Registers,
        ahead: "Prefetch | None" = None,
        mask: ir.Value | None = None,
    ) -> Registers:
        """Accumulate the products of rows by a panel into `accumulators`, row by row.

        The panel is in `right` from `start` on: `k` lines, of which the vectors that `accumulators`
        needs are read, the last one under `mask`. Meanwhile `ahead` is prefetched.
        """
        lanes = [lanes_of(value) for value in accumulators[: len(accumulators) // left.count]]

        def read(index: ir.Value) -> Registers:
            line = self.add(start, self.times(index, left.panel_width))
            return self.columns(right, line, lanes, mask)

        if ahead is not None and ahead.memory is None:
            ahead = replace(ahead, memory=right)
        return self.multiply_lines(left, read, k, accumulators, ahead)

    def multiply_lines(
        self,
        left: "LhsBlock",
        read: Callable[[ir.Value], Registers],
        k: int | ir.Value,
        accumulators: Registers,
        ahead: "Prefetch | None" = None,
    ) -> Registers:
        """Accumulate the products of rows by `k` lines, of which `read` gives the vectors by
        number, into `accumulators`, row by row. Meanwhile `ahead` is prefetched."""
        parts = len(accumulators) // left.count

        def step(index: ir.Value, registers: Registers) -> Registers:
            columns = read(index)
            element = self.add(left.start, self.times(index, left.step))
            registers = list(registers)
            if ahead is not None:
                self._prefetch(ahead, index)
            for row in range(left.count):
                scalar = memref.load(left.memory, [self.add(element, product(left.stride, row))])
                self.multiply_add(scalar, columns, registers, row * parts)
            return registers

        end = self.index(k) if isinstance(k, int) else k
        return self.loop((self.index(0), end), accumulators, step)

    def _prefetch(self, ahead: "Prefetch", index: ir.Value) -> None:
        memory = ahead.memory
        assert memory is not None
        for more in ahead.offsets(elements_of_cache_line(memory)):
            at = self.add(ahead.start, self.add(self.times(index, ahead.step), more))
            memref.prefetch(memory, [at], is_write=False, locality_hint=2, is_data_cache=True)

    def columns(
        self, weights: ir.Value, line: ir.Value, lanes: Sequence[int], mask: ir.Value | None
    ) -> Registers:
        """The vectors of a panel's line, of the given `lanes`, the last one under `mask`; floats of
        16 bits are widened."""
        vectors = self.load_all(weights, line, lanes, mask)
        if not isinstance(ir.MemRefType(weights.type).element_type, ir.F16Type | ir.BF16Type):
            return vectors
        return [
            arith.extf(self.vector_of(size, self.accumulator), each)
            for each, size in zip(vectors, lanes, strict=True)
        ]

    def multiply_add(
        self, scalar: ir.Value, columns: Registers, registers: Registers, at: int
    ) -> None:
        """Accumulate the products of `scalar` and `columns` into the registers from `at` on."""
        factors: dict[ir.Type, ir.Value] = {}
        for index, column in enumerate(columns, start=at):
            if column.type not in factors:
                factors[column.type] = vector.broadcast(column.type, scalar)
            registers[index] = vector.fma(factors[column.type], column, registers[index])

    def loop(
        self,
        bounds: tuple[ir.Value, ir.Value],
        registers: Registers,
        body: Callable[[ir.Value, Registers], Registers],
        step: int = 1,
    ) -> Registers:
        """Emit a loop of `body` over the indices within `bounds`, carrying `registers`."""
        op = scf.ForOp(*bounds, self.index(step), registers)
        with ir.InsertionPoint(op.body):
            scf.YieldOp(body(op.induction_variable, list(op.inner_iter_args)))
        return list(op.results)

    def repeat(
        self, first: ir.Value | int, last: ir.Value | int, body: Callable[[ir.Value], None]
    ) -> None:
        """Emit a loop of `body` over the indices in [`first`, `last`), or `body` alone if that is
        statically one index."""
        if isinstance(first, int) and isinstance(last, int) and last - first == 1:
            return body(self.index(first))
        bounds = [self.index(end) if isinstance(end, int) else end for end in (first, last)]

        def run(index: ir.Value, registers: Registers) -> Registers:
            body(index)
            return registers

        self.loop((bounds[0], bounds[1]), [], run)
        return None
