"""Attention on the tensor cores of NVIDIA GPUs: scores, softmax and values in one kernel.

A warp computes 16 queries of a head. It goes over the keys in blocks and keeps the maximum and the
sum of the exponentials of each query so far, by which the result is rescaled when the maximum grows
(Dao, "FlashAttention-2", 2023). The scores of a block stay in registers: the accumulators of one
product are the left operand of the next.
"""

import math as pymath
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...mlir import arith, ir, math, vector
from .emitter import Registers
from .mma_matmul import MMA
from .mma_operands import VECTOR, Matrix, SharedTile, TileCopy
from .thread_emitter import SUBGROUP, Number, ThreadEmitter

KEYS = 64
"""Keys in a block."""
STAGES = 2
"""Blocks of keys in shared memory or on their way there."""
MAX_SIZE = 128
"""Maximum elements of a query or a value: larger ones do not fit into registers."""
LOWEST = float(np.finfo(np.float32).min)
"""The maximum before the first key. It is finite, so that a query that sees no key has no NaN."""


@dataclass(frozen=True)
class StridedRows:
    """Matrices in memory, one for each index of the leading axes: where their rows are."""

    offset: int
    lead_strides: tuple[int, ...]
    row_stride: int

    @property
    def aligned(self) -> int:
        """Elements of which the start of every matrix is a multiple."""
        return pymath.gcd(VECTOR, self.offset, *self.lead_strides)


@dataclass(frozen=True)
class MaskStrides:
    """The strides of a mask along the leading axes, queries and keys; 0 where it broadcasts."""

    strides: tuple[int, ...]
    is_bool: bool


@dataclass(frozen=True)
class MmaAttentionShape:
    """``softmax(q k^T * scale + mask) v`` for `lead` heads: q ``[queries, size]``, k
    ``[keys, size]``, v ``[keys, value_size]``, of which `warps` compute 16 queries each."""

    lead: tuple[int, ...]
    queries: int
    keys: int
    size: int
    value_size: int
    q: StridedRows
    k: StridedRows
    v: StridedRows
    result: StridedRows
    mask: MaskStrides | None
    scale: float
    causal: bool
    dtype: np.dtype
    warps: int

    @property
    def rows(self) -> int:
        """The queries of a workgroup."""
        return MMA[0] * self.warps

    @property
    def threads(self) -> int:
        return SUBGROUP * self.warps

    @property
    def workgroups(self) -> int:
        return pymath.prod(self.lead) * -(-self.queries // self.rows)

    @property
    def flops(self) -> int:
        pairs = pymath.prod(self.lead) * self.queries * self.keys
        return 2 * pairs * (self.size + self.value_size)


def shared_columns(size: int) -> int:
    """Elements of a row of `size` in shared memory: a power of two, of which vectors can be
    exchanged."""
    return max(MMA[2], 1 << (size - 1).bit_length())


def _whole(size: int) -> int:
    return -(-size // MMA[2]) * MMA[2]


class MmaAttentionEmitter(ThreadEmitter):
    """Emits the kernel. The operands and the result are flat memory."""

    def __init__(
        self,
        shape: MmaAttentionShape,
        q: ir.Value,
        k: ir.Value,
        v: ir.Value,
        mask: ir.Value | None,
        result: ir.Value,
    ):
        super().__init__()
        self.shape, self.mask, self.result = shape, mask, result
        self.f32 = ir.F32Type.get()
        self.element = ir.MemRefType(q.type).element_type
        thread = self.thread()
        self.warp, self.lane = self.divide(thread, SUBGROUP)
        self.group, self.pair = self.divide(self.lane, 4)
        wide, wide_v = shared_columns(shape.size), shared_columns(shape.value_size)
        counts = [shape.rows * wide, STAGES * KEYS * wide, STAGES * KEYS * wide_v]
        ((q_tile, k_tile, v_tile),) = self.shared([[(shape.dtype, count) for count in counts]])
        self.q = SharedTile(self, q_tile, shape.rows, wide)
        self.k = SharedTile(self, k_tile, KEYS, wide)
        self.v = SharedTile(self, v_tile, KEYS, wide_v)

        def copy(
            tile: SharedTile, memory: ir.Value, rows: int, columns: int, where: StridedRows
        ) -> TileCopy:
            matrix = Matrix(rows, columns, where.row_stride, where.aligned)
            return TileCopy(tile, matrix, memory, thread, shape.threads, _whole(columns))

        self.copy_q = copy(self.q, q, shape.queries, shape.size, shape.q)
        self.copy_k = copy(self.k, k, shape.keys, shape.size, shape.k)
        self.copy_v = copy(self.v, v, shape.keys, shape.value_size, shape.v)

    def workgroup(self, number: ir.Value) -> None:
        """Emit the workgroup with the given number."""
        shape = self.shape
        blocks = -(-shape.queries // shape.rows)
        head, block = self.divide(arith.index_castui(self.i32, number), blocks)
        lead: list[Number] = []
        for size in reversed(shape.lead):
            head, index = self.divide(head, size)
            lead.append(index)
        lead.reverse()
        first = self.multiply(block, shape.rows)
        self.first_row = self.add(first, self.multiply(self.warp, MMA[0]))
        """The first query of the warp."""
        self.mask_base: Number = 0
        if shape.mask is not None:
            self.mask_base = self._at(lead, shape.mask.strides)
        registers = self._attend(lead, first)
        self._store(registers, self._base(shape.result, lead))

    def _base(self, rows: StridedRows, lead: Sequence[Number]) -> Number:
        return self.add(rows.offset, self._at(lead, rows.lead_strides))

    def _at(self, indices: Sequence[Number], strides: Sequence[int]) -> Number:
        at: Number = 0
        for index, stride in zip(indices, strides, strict=False):
            at = self.add(at, self.multiply(index, stride))
        return at

    def _attend(self, lead: Sequence[Number], first: Number) -> Registers:
        """The maxima, the sums and the results of the warp's queries."""
        shape = self.shape
        base_k, base_v = self._base(shape.k, lead), self._base(shape.v, lead)
        self.copy_q.start(self.copy_q.rows_from(first), 0, 0, self._base(shape.q, lead))
        queries = self.commit_copies()

        def copy(block: Number, slot: Number) -> None:
            row = self.multiply(block, KEYS)
            self.copy_k.start(self.copy_k.rows_from(row), slot, 0, base_k)
            self.copy_v.start(self.copy_v.rows_from(row), slot, 0, base_v)

        copy(0, 0)
        group = self.commit_copies()
        self.wait_for_copies(queries, 1)
        self.barrier()
        fragments = [self._queries(k) for k in range(_whole(shape.size) // MMA[2])]
        blocks = -(-shape.keys // KEYS)

        def body(block: ir.Value, registers: Registers) -> Registers:
            group, *state = registers
            self.wait_for_copies(group, 0)
            self.barrier()  # the keys are there, and those of the last block are done with
            following = self.add(block, 1)
            _, slot = self.divide(following, STAGES)
            self.when(self.below(following, blocks), lambda: copy(following, slot))
            group = self.commit_copies()
            _, slot = self.divide(block, STAGES)
            return [group, *self._block(fragments, block, slot, state)]

        lowest, zero = self._float(LOWEST), self._float(0)
        start = [lowest, lowest, zero, zero, *[self._zeros()] * (_whole(shape.value_size) // 8)]
        _, *state = self.loop(blocks, body, [group, *start])
        return state

    def _block(
        self, queries: Sequence[ir.Value], block: Number, slot: Number, state: Registers
    ) -> Registers:
        """The state after a block of keys: maxima and sums of two queries, and the results."""
        tops, sums, results = state[:2], state[2:4], state[4:]
        scores = self._scores(queries, slot, self.multiply(block, KEYS))
        new_tops = [self._largest(top, scores[half::2]) for half, top in enumerate(tops)]
        narrow = [
            [self._weight(score, new_tops[number % 2]) for score in pair]
            for number, pair in enumerate(scores)
        ]
        # Rounded as in the product, so that they are exactly its total.
        weights = [[arith.extf(self.f32, weight) for weight in pair] for pair in narrow]
        rescale = [math.exp2(arith.subf(top, new)) for top, new in zip(tops, new_tops, strict=True)]
        new_sums = [
            arith.addf(arith.mulf(total, factor), self._total(weights[half::2]))
            for half, (total, factor) in enumerate(zip(sums, rescale, strict=True))
        ]
        results = [self._rescaled(result, rescale) for result in results]
        return [*new_tops, *new_sums, *self._add_values(narrow, slot, results)]

    # Scores

    def _queries(self, k: int) -> ir.Value:
        """The 16x16 fragment of the warp's queries."""
        half, row = self.divide(self.lane, MMA[0])
        row = self.add(self.multiply(self.warp, MMA[0]), row)
        return self.load_fragments(self.q.memory, self.q.at(0, row, self.add(half, 2 * k)), 4)

    def _scores(
        self, queries: Sequence[ir.Value], slot: Number, first_key: Number
    ) -> list[list[ir.Value]]:
        """The scores, in units of which 2 is the base of the exponential: for each eight keys those
        of two neighbouring keys for two queries, eight rows apart."""
        upper, row = self.divide(self.lane, VECTOR)
        right, lower = self.divide(upper, 2)
        found: list[list[ir.Value]] = []
        for j in range(KEYS // 16):
            at_row = self.add(self.add(row, self.multiply(right, MMA[1])), 16 * j)
            products = [self._zeros(), self._zeros()]
            for k, query in enumerate(queries):
                at = self.k.at(slot, at_row, self.add(lower, 2 * k))
                both = self.load_fragments(self.k.memory, at, 4)
                products = [
                    self.multiply_fragments(query, self._half(both, side), products[side])
                    for side in range(2)
                ]
            for side, product in enumerate(products):
                key = self.add(self.add(first_key, 16 * j + 8 * side), self.multiply(self.pair, 2))
                found += self._visible(product, key)
        return found

    def _visible(self, product: ir.Value, key: Number) -> list[list[ir.Value]]:
        """The scores of two queries for `key` and the next one."""
        shape = self.shape
        factor = self._float(shape.scale * pymath.log2(pymath.e))
        pairs: list[list[ir.Value]] = []
        for half in range(2):
            row = self.add(self.first_row, self.add(self.group, 8 * half))
            pair: list[ir.Value] = []
            for side in range(2):
                score = arith.mulf(vector.extract(product, [], [half, side]), factor)
                at = self.add(key, side)
                pair.append(self._masked(score, row, at))
            pairs.append(pair)
        return pairs

    def _masked(self, score: ir.Value, row: Number, key: Number) -> ir.Value:
        """`score`, or -inf if the query `row` does not see `key`."""
        shape, hidden = self.shape, self._float(-pymath.inf)
        last_key = shape.keys % KEYS != 0
        if shape.mask is not None:
            inside_row, inside_key = row, key
            if shape.queries % shape.rows:
                inside_row = arith.minui(self.value(row), self.value(shape.queries - 1))
            if last_key:
                inside_key = arith.minui(self.value(key), self.value(shape.keys - 1))
            at = self._at([inside_row, inside_key], shape.mask.strides[-2:])
            assert self.mask is not None
            given = self._element(self.mask, self.add(self.mask_base, at))
            if shape.mask.is_bool:
                zero = arith.constant(given.type, 0)
                seen = arith.cmpi(arith.CmpIPredicate.ne, given, zero)
                score = arith.select(seen, score, hidden)
            else:
                wide = given if given.type == self.f32 else arith.extf(self.f32, given)
                score = arith.addf(score, arith.mulf(wide, self._float(pymath.log2(pymath.e))))
        seen = self.below(key, shape.keys) if last_key else None
        if seen is not None:
            score = arith.select(seen, score, hidden)
        if shape.causal:
            order = arith.CmpIPredicate.ule
            before = arith.cmpi(order, self.value(key), self.value(row))
            score = arith.select(before, score, hidden)
        return score

    def _element(self, memory: ir.Value, at: Number) -> ir.Value:
        return vector.extract(self.load(memory, at, 1), [], [0])

    # Softmax

    def _largest(self, top: ir.Value, pairs: Sequence[Sequence[ir.Value]]) -> ir.Value:
        """The largest of `top` and the scores of one query, of which four threads have some."""
        found = _reduced(arith.maximumf, [score for pair in pairs for score in pair])
        return arith.maximumf(top, self._across(arith.maximumf, found))

    def _total(self, pairs: Sequence[Sequence[ir.Value]]) -> ir.Value:
        """The sum of the weights of one query."""
        return self._across(
            arith.addf, _reduced(arith.addf, [weight for pair in pairs for weight in pair])
        )

    def _across(
        self, combine: Callable[[ir.Value, ir.Value], ir.Value], value: ir.Value
    ) -> ir.Value:
        """Combine the values of the four threads that share a query."""
        for distance in (1, 2):
            value = combine(value, self.shuffle_xor(value, distance))
        return value

    def _rescaled(self, result: ir.Value, factors: Sequence[ir.Value]) -> ir.Value:
        elements = [
            arith.mulf(vector.extract(result, [], [half, side]), factors[half])
            for half in range(2)
            for side in range(2)
        ]
        return vector.from_elements(result.type, elements)

    # Values

    def _add_values(
        self, weights: Sequence[Sequence[ir.Value]], slot: Number, results: Registers
    ) -> Registers:
        """`results` plus the weighted values of a block of keys."""
        half, row = self.divide(self.lane, MMA[2])
        for k in range(KEYS // MMA[2]):
            left = self._weights(weights[4 * k : 4 * k + 4])
            for j in range(len(results) // 2):
                at = self.v.at(slot, self.add(row, k * MMA[2]), self.add(half, 2 * j))
                both = self.load_fragments(self.v.memory, at, 4, transpose=True)
                for side in range(2):
                    right = self._half(both, side)
                    n = 2 * j + side
                    results[n] = self.multiply_fragments(left, right, results[n])
        return results

    def _weights(self, pairs: Sequence[Sequence[ir.Value]]) -> ir.Value:
        """The weights of 16 keys as a left operand, from those of twice eight."""
        type_ = ir.VectorType.get([4, 2], self.element)
        return vector.from_elements(type_, [weight for pair in pairs for weight in pair])

    def _weight(self, score: ir.Value, top: ir.Value) -> ir.Value:
        return arith.truncf(self.element, math.exp2(arith.subf(score, top)))

    def _half(self, fragments: ir.Value, side: int) -> ir.Value:
        type_ = ir.VectorType.get([2, 2], self.element)
        return vector.extract_strided_slice(type_, fragments, [2 * side], [2], [1])

    def _store(self, state: Registers, base: Number) -> None:
        """Divide the results by the sums, and store two neighbouring elements at once."""
        shape, sums = self.shape, state[2:4]
        one, zero = self._float(1), self._float(0)
        inverses: list[ir.Value] = []
        for total in sums:
            none = arith.cmpf(arith.CmpFPredicate.OEQ, total, zero)
            inverses.append(arith.divf(one, arith.select(none, one, total)))
        pair_type = ir.VectorType.get([2], self.element)
        for half, inverse in enumerate(inverses):
            row = self.add(self.first_row, self.add(self.group, 8 * half))
            line = self.add(base, self.multiply(row, shape.result.row_stride))
            inside = self.below(row, shape.queries) if shape.queries % shape.rows else None
            for n, result in enumerate(state[4:]):
                column = self.add(self.multiply(self.pair, 2), 8 * n)
                elements = [
                    arith.truncf(
                        self.element,
                        arith.mulf(vector.extract(result, [], [half, side]), inverse),
                    )
                    for side in range(2)
                ]
                stored = vector.from_elements(pair_type, elements)
                valid = [
                    inside,
                    self.below(column, shape.value_size) if shape.value_size % MMA[2] else None,
                ]
                at = self.add(line, column)

                def store(stored: ir.Value = stored, at: Number = at) -> None:
                    self.store(stored, self.result, at)

                self.when(self.all_of(valid), store)

    # Constants

    def _float(self, value: float) -> ir.Value:
        return arith.constant(self.f32, float(value))

    def _zeros(self) -> ir.Value:
        type_ = ir.VectorType.get([2, 2], self.f32)
        return arith.constant(type_, ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get_f32(0)))


def _reduced(
    combine: Callable[[ir.Value, ir.Value], ir.Value], values: Sequence[ir.Value]
) -> ir.Value:
    """Combine `values` as a tree, which has few dependences."""
    found = list(values)
    while len(found) > 1:
        pairs = [combine(a, b) for a, b in zip(found[::2], found[1::2], strict=False)]
        found = pairs + found[len(pairs) * 2 :]
    return found[0]
