"""Linear attention: a workgroup keeps some columns of the state of a head, over all tokens.

Columns of a state are independent of one another, so that a head has as many workgroups as it has
blocks of columns. A token reads the rows of the state twice: for what the delta rule takes off its
value, then to update them and to compute what its queries read.
"""

from dataclasses import dataclass

from ...dialects.symbolic import Dim
from ...mlir import arith, ir, memref, vector
from .emitter import Registers, VectorEmitter

Size = int | Dim

_ACCUMULATORS = 12
"""Vectors that tokens accumulate in, at most; others hold values and rows of the state."""


@dataclass(frozen=True)
class LinearAttentionShape:
    """States [batch, heads, depth, width], each of which `group` queries read per token.

    Factors of decay are one for each state, or for each of its rows, rates of update one for each
    state, or for all of a token: `decays` and `rates` in all of a token, 0 if there are none.
    """

    batch: Size
    length: Size
    heads: int
    group: int
    depth: int
    width: int
    decays: int
    rates: int
    scale: float
    lanes: int

    flops = None

    @property
    def vectors(self) -> int:
        """Vectors of a block of columns: as many as divide its rows evenly, or one."""
        whole, rest = divmod(self.width, self.lanes)
        most = max(1, min(4, _ACCUMULATORS // self.group))
        return 1 if rest else max(n for n in range(1, most + 1) if whole % n == 0)

    @property
    def blocks(self) -> int:
        """Blocks of columns of a state."""
        return -(-self.width // (self.vectors * self.lanes))

    @property
    def sizes(self) -> list[Dim]:
        """The dynamic sizes, which the kernel receives as scalars."""
        return list(dict.fromkeys(n for n in (self.batch, self.length) if isinstance(n, Dim)))

    @property
    def workgroups(self) -> int:
        """Workgroups, if the batches are known."""
        assert isinstance(self.batch, int)
        return self.batch * self.heads * self.blocks

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """Workgroups if some of `sizes` are `dynamic`."""
        each = arith.constant(ir.IndexType.get(), self.heads * self.blocks)
        if isinstance(self.batch, int):
            return arith.constant(ir.IndexType.get(), self.workgroups)
        return arith.muli(each, dict(zip(self.sizes, dynamic, strict=True))[self.batch])


@dataclass(frozen=True)
class LinearAttentionMemory:
    """The flat buffers of the operands and the results."""

    query: ir.Value
    key: ir.Value
    value: ir.Value
    state: ir.Value
    decay: ir.Value | None
    beta: ir.Value | None
    outputs: ir.Value
    last: ir.Value


class LinearAttentionEmitter(VectorEmitter):
    """Emits the kernel."""

    def __init__(self, shape: LinearAttentionShape, memory: LinearAttentionMemory):
        super().__init__(shape.lanes)
        self.shape, self.memory = shape, memory
        self.mask: ir.Value | None = None

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`, for the sizes that are `dynamic`."""
        shape = self.shape
        known = dict(zip(shape.sizes, dynamic, strict=True))
        length = shape.length
        length = known[length] if isinstance(length, Dim) else self.index(length)
        blocks = self.index(shape.blocks)
        state = arith.divui(workgroup_id, blocks)
        self.column = self.times(arith.remui(workgroup_id, blocks), shape.vectors * shape.lanes)
        self.batch = arith.divui(state, self.index(shape.heads))
        self.head = arith.remui(state, self.index(shape.heads))
        self.rows = self.add(self.times(state, shape.depth * shape.width), self.column)
        """The first element of the block in its state."""
        if shape.width % shape.lanes:
            self.mask = self.lanes_below(arith.subi(self.index(shape.width), self.column))
        self.repeat(0, shape.depth, lambda row: self._put(row, self._row(self.memory.state, row)))
        first = arith.muli(self.batch, length)
        self.repeat(self.index(0), length, lambda token: self._token(arith.addi(first, token)))

    def _row(self, memory: ir.Value, row: ir.Value) -> Registers:
        return self._loaded(memory, self.add(self.rows, self.times(row, self.shape.width)))

    def _put(self, row: ir.Value, values: Registers) -> None:
        at = self.add(self.rows, self.times(row, self.shape.width))
        self._stored(values, self.memory.last, at)

    def _loaded(self, memory: ir.Value, at: ir.Value) -> Registers:
        return self.load_all(memory, at, [self.lanes] * self.shape.vectors, self.mask)

    def _stored(self, values: Registers, memory: ir.Value, at: ir.Value) -> None:
        for number, each in enumerate(values):
            self.store(each, memory, self.add(at, number * self.lanes), self.mask)

    def _spread(self, scalar: ir.Value) -> ir.Value:
        return vector.broadcast(self.vector_type, scalar)

    def _token(self, token: ir.Value) -> None:
        """Emit the update of the state by a token, and what its queries read."""
        shape, memory = self.shape, self.memory
        place = self.add(self.times(token, shape.heads), self.head)
        key = self.times(place, shape.depth)
        value = self._loaded(memory.value, self.add(self.times(place, shape.width), self.column))
        if memory.beta is not None:
            value = self._corrected(value, token, place, key)
        zeros = [self.splat(0)] * (shape.vectors * shape.group)
        query = self.times(place, shape.group * shape.depth)
        of_all = None if shape.decays != shape.heads else self._decay(place, None)

        def update(row: ir.Value, sums: Registers) -> Registers:
            factor = of_all if shape.decays == shape.heads else self._decay(place, row)
            k = self._spread(memref.load(memory.key, [arith.addi(key, row)]))
            state = self._row(memory.last, row)
            if factor is not None:
                state = [arith.mulf(self._spread(factor), each) for each in state]
            state = [vector.fma(k, v, each) for v, each in zip(value, state, strict=True)]
            self._put(row, list[ir.Value](state))
            read = list[ir.Value]()
            for number in range(shape.group):
                at = self.add(self.add(query, row), number * shape.depth)
                q = self._spread(memref.load(memory.query, [at]))
                own = sums[number * shape.vectors :]
                read += [vector.fma(q, s, y) for s, y in zip(state, own, strict=False)]
            return read

        sums = self.loop((self.index(0), self.index(shape.depth)), zeros, update)
        scale = self.splat(shape.scale)
        for number in range(shape.group):
            reader = self.add(self.times(place, shape.group), number)
            to = self.add(self.times(reader, shape.width), self.column)
            own = sums[number * shape.vectors : (number + 1) * shape.vectors]
            self._stored([arith.mulf(scale, each) for each in own], memory.outputs, to)

    def _decay(self, place: ir.Value, row: ir.Value | None) -> ir.Value | None:
        """The factor of a state, or that of its `row`; None if there are none."""
        if self.memory.decay is None:
            return None
        at = place if row is None else arith.addi(self.times(place, self.shape.depth), row)
        return memref.load(self.memory.decay, [at])

    def _corrected(
        self, value: Registers, token: ir.Value, place: ir.Value, key: ir.Value
    ) -> Registers:
        """The value of a token by the delta rule: its difference from what the decayed state
        has for its key, times its rate."""
        shape, memory = self.shape, self.memory
        by_row = shape.decays not in (0, shape.heads)

        def dot(row: ir.Value, sums: Registers) -> Registers:
            k = memref.load(memory.key, [arith.addi(key, row)])
            if by_row:
                factor = self._decay(place, row)
                assert factor is not None
                k = arith.mulf(k, factor)
            wide = self._spread(k)
            rows = self._row(memory.last, row)
            return [vector.fma(wide, s, each) for s, each in zip(rows, sums, strict=True)]

        zeros = [self.splat(0)] * shape.vectors
        found = self.loop((self.index(0), self.index(shape.depth)), zeros, dot)
        if shape.decays == shape.heads:
            factor = self._decay(place, None)
            assert factor is not None
            found = [arith.mulf(self._spread(factor), each) for each in found]
        assert memory.beta is not None
        rate = memref.load(memory.beta, [place if shape.rates == shape.heads else token])
        rate = self._spread(rate)
        return [arith.mulf(rate, arith.subf(v, each)) for v, each in zip(value, found, strict=True)]
