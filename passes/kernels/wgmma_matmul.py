"""Matmuls and convolutions by ``wgmma`` of Hopper GPUs: the pipeline of `mma_matmul`, but its
matmuls are computed by warpgroups, which read both operands in shared memory.

While the unit computes the products of one step along K, the threads start the copies of a later
one and go on to the next step: a wgmma-group is in flight. Operands that are matrices in
memory are brought by the bulk copy engine (`bulk_copy`), windows by ``cp.async``.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ...mlir import arith, ir, vector
from .bulk_copy import CONTROL_BYTES, BulkCopies, BulkOperand
from .emitter import Registers
from .mma_matmul import MmaMatmulEmitter, MmaShape, MmaTile
from .thread_emitter import SUBGROUP, Number, Prepare
from .tma import MAP_BYTES, Boxes
from .wgmma import (
    ATOM_ROWS,
    SWIZZLED_BYTES,
    WGMMA_K,
    WGMMA_M,
    descriptor,
    fence_proxy,
    multiply_async,
    wait_for_products,
)

_IN_FLIGHT = 1
"""Groups of MMA instructions in flight."""
_WARPS = 4
GROUP = 16
"""Rows of tiles that workgroups with neighbouring numbers compute, at most."""


@dataclass(frozen=True)
class WgmmaTile(MmaTile):
    """A tile whose `across` is a grid of warps, each warpgroup four of them along M: its rows are
    64, its columns those of one instruction.

    The bulk copy engine brings the operands of `bulk`, left and right.
    """

    bulk: tuple[bool, bool] = (False, False)

    least_stages = 2 + _IN_FLIGHT

    @property
    def alignment(self) -> int:
        return ATOM_ROWS * SWIZZLED_BYTES

    @property
    def control(self) -> int:
        return CONTROL_BYTES if any(self.bulk) else 0

    def scratch_bytes(self, workgroups: int) -> int:
        """Bytes of memory for the tensor maps of all workgroups, and to align them."""
        return MAP_BYTES * (sum(self.bulk) * workgroups + 1) if any(self.bulk) else 0

    def shared_bytes(self, itemsize: int) -> int:
        return super().shared_bytes(itemsize) + self.control + self.alignment


class WgmmaMatmulEmitter(MmaMatmulEmitter):
    """Emits the kernel; `scratch` is memory for the tensor maps of all workgroups."""

    tile: WgmmaTile

    def __init__(
        self, shape: MmaShape, left: ir.Value, right: ir.Value, scratch: ir.Value | None = None
    ):
        super().__init__(shape, left, right)
        self.bulk = self._bulk_copies(left, right, scratch)

    def _bulk_copies(
        self, left: ir.Value, right: ir.Value, scratch: ir.Value | None
    ) -> BulkCopies | None:
        shape, tile = self.shape, self.tile
        element = str(ir.MemRefType(left.type).element_type)
        operands = [
            BulkOperand(
                memory,
                Boxes(shape.batch * count, shape.k, (rows, tile.k), element),
                self._operand(start, 0, 0, 0),
            )
            for memory, count, rows, start, bulk in [
                (left, shape.m, tile.rows, tile.control, tile.bulk[0]),
                (right, shape.n, tile.columns, self._start_b, tile.bulk[1]),
            ]
            if bulk
        ]
        if scratch is None:
            return None
        return BulkCopies(self, operands, tile.stages, tile.threads // SUBGROUP, scratch)

    def workgroup(self, number: ir.Value, prepare: Prepare) -> None:
        if self.bulk is not None:
            assert self.control is not None
            self.bulk.prepare(arith.index_castui(self.i32, number), self.control)
            self.barrier()  # thread 0 has initialized what all wait for
        super().workgroup(number, prepare)

    def _tile_position(self, number: Number) -> tuple[Number, Number, Number]:
        """Groups of rows of tiles, column by column: workgroups that run at the same time read few
        rows and columns of the operands."""
        tiles_m, tiles_n = self.shape.tiles
        outer, within = self.divide(number, tiles_m * tiles_n)
        rows = max(n for n in range(1, GROUP + 1) if tiles_m % n == 0)
        group, rest = self.divide(within, rows * tiles_n)
        n, row = self.divide(rest, rows)
        return outer, self.add(self.multiply(group, rows), row), n

    def _warp_position(self, warp: Number) -> tuple[Number, Number]:
        group, within = self.divide(warp, _WARPS)
        row, column = self.divide(group, self.tile.across[1])
        return self.add(self.multiply(row, _WARPS), within), column

    def _copies(
        self, batch: Number, first: Number, row: Number, column: Number
    ) -> Callable[[Number, Number], None]:
        shape, tile = self.shape, self.tile
        row_a = self.add(self.multiply(batch, shape.m), row)
        row_b = self.add(self.multiply(batch, shape.n), column)
        rows = [at for at, bulk in zip((row_a, row_b), tile.bulk, strict=True) if bulk]
        base_a = self.multiply(batch, shape.m * shape.k)
        base_b = self.multiply(batch, shape.k * shape.n)
        a = None if tile.bulk[0] else self.copy_a.rows_from(row)
        b = None if tile.bulk[1] else self.copy_b.rows_from(column)

        def copy(step: Number, slot: Number) -> None:
            k = self.add(first, self.multiply(step, tile.k))
            if a is not None:
                self.copy_a.start(a, slot, k, base_a)
            if b is not None:
                self.copy_b.start(b, slot, k, base_b)
            if (bulk := self.bulk) is not None:
                self.when(bulk.is_first, lambda: bulk.start(slot, k, rows))

        return copy

    @property
    def _ahead(self) -> int:
        """Steps whose copies were started before the products of a step: one slot is in use by it,
        others by products in flight."""
        return self.tile.stages - 1 - _IN_FLIGHT

    def _accumulate(self, copy: Callable[[Number, Number], None]) -> Registers:
        zero = arith.constant(ir.F32Type.get(), 0.0)
        zeros: Registers = [zero] * (self.tile.warp[1] // 2)
        if all(self.tile.bulk):
            accumulators = self._accumulate_bulk(copy, zeros)
        else:
            accumulators = self._pipeline(copy, zeros, self._ahead)
        return self._fragments_of(wait_for_products(accumulators))

    def _publish_copies(self, step: ir.Value) -> None:
        fence_proxy()
        if self.bulk is not None:
            self.bulk.wait(step)

    def _accumulate_bulk(
        self, copy: Callable[[Number, Number], None], zeros: Registers
    ) -> Registers:
        """The accumulators, if the copy engine brings both operands: no thread waits for another
        one, but for thread 0, which starts the copies."""
        bulk, steps, ahead = self.bulk, self.shape.steps, self._ahead
        assert bulk is not None
        for step in range(min(ahead, steps)):
            copy(step, step)
        first_in_warp = self.below(self.lane, 1)

        def body(step: ir.Value, accumulators: Registers) -> Registers:
            following = self.add(step, ahead)
            _, following_slot = self.divide(following, self.tile.stages)

            def copy_following() -> None:
                used = arith.cmpi(
                    arith.CmpIPredicate.uge, self.value(following), self.value(self.tile.stages)
                )
                self.when(used, lambda: bulk.wait_until_free(following))
                copy(following, following_slot)

            starts = self.all_of([bulk.is_first, self.below(following, steps)])
            self.when(starts, copy_following)
            slot = bulk.wait(step)
            accumulators = self._multiply(slot, accumulators)
            last = arith.subi(step, self.value(1))
            not_first = arith.cmpi(arith.CmpIPredicate.ne, step, self.value(0))
            self.when(self.all_of([first_in_warp, not_first]), lambda: bulk.free(last))
            return accumulators

        return self.loop(steps, body, zeros)

    def _multiply(self, slot: Number, accumulators: Registers) -> Registers:
        tile, itemsize = self.tile, self.shape.dtype.itemsize
        row_bytes = tile.k * itemsize
        group = self.divide(self.warp_row, _WARPS)[0]
        row = self.multiply(group, WGMMA_M)
        column = self.multiply(self.warp_column, tile.warp[1])
        a = self._operand(tile.control, slot, tile.rows, row)
        b = self._operand(self._start_b, slot, tile.columns, column)
        offsets = range(0, row_bytes, WGMMA_K * itemsize)
        pairs = [(descriptor(a, offset), descriptor(b, offset)) for offset in offsets]
        element = str(ir.MemRefType(self.a.memory.type).element_type)
        return multiply_async(element, pairs, accumulators, _IN_FLIGHT)

    @property
    def _start_b(self) -> int:
        """The first byte of the right operand."""
        tile = self.tile
        return tile.control + tile.stages * tile.rows * tile.k * self.shape.dtype.itemsize

    def _operand(self, start: int, slot: Number, rows: int, row: Number) -> ir.Value:
        """The address of row `row` of tile `slot` of an operand."""
        row_bytes = self.tile.k * self.shape.dtype.itemsize
        line = self.add(self.multiply(slot, rows), row)
        within = self.add(self.multiply(line, row_bytes), start)
        return self.value(self.add(self.shared_start, within))

    def _fragments_of(self, registers: Registers) -> Registers:
        """The accumulators as those of ``mma.sync``, 16 by 8."""
        type_ = ir.VectorType.get([2, 2], ir.F32Type.get())
        return [
            vector.from_elements(type_, registers[first : first + 4])
            for first in range(0, len(registers), 4)
        ]
