"""Copies of tiles to shared memory by the bulk copy engine of Hopper GPUs, for `wgmma_matmul`.

A workgroup writes the tensor maps of its operands, of which the host knows nothing, to scratch
memory. Then one thread starts the copies of each step along K, which complete on the barrier of its
slot. The last user of a slot frees it for the next copies by arriving on a second barrier.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import arith, ir
from .thread_emitter import SUBGROUP, Number, ThreadEmitter
from .tma import (
    BARRIER_BYTES,
    MAP_BYTES,
    Boxes,
    address_of,
    arrive,
    copy_box,
    expect_bytes,
    fence_barriers,
    init_barrier,
    publish_map,
    sync_warp,
    wait_for_barrier,
    write_map,
)

CONTROL_BYTES = 1024
"""Bytes of shared memory for barriers and tensor maps."""
_MAPS = CONTROL_BYTES - 2 * MAP_BYTES
"""Where the maps are."""


@dataclass(frozen=True)
class BulkOperand:
    """An operand in memory, and the address in shared memory of its tiles: one behind the other,
    of the size of a box."""

    memory: ir.Value
    boxes: Boxes
    start: ir.Value


class BulkCopies:
    """The copies of `operands` by thread 0, to `stages` slots; `users` warps read them."""

    def __init__(
        self,
        emitter: ThreadEmitter,
        operands: Sequence[BulkOperand],
        stages: int,
        users: int,
        scratch: ir.Value,
    ):
        self.emitter, self.operands = emitter, operands
        self.stages, self.users, self.scratch = stages, users, scratch
        self.is_first = emitter.below(emitter.thread(), 1)

    def prepare(self, number: Number, control: ir.Value) -> None:
        """Write the maps of workgroup `number`, and initialize the barriers."""
        emitter = self.emitter
        thread = emitter.thread()
        self._find_maps(number)
        u8 = ir.IntegerType.get_signless(8)
        type_ = ir.VectorType.get([8], u8)
        splat = ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(u8, 0))

        def by_warp() -> None:
            zeros = arith.constant(type_, splat)
            emitter.store(zeros, control, emitter.add(emitter.multiply(thread, 8), _MAPS))
            sync_warp()
            emitter.when(self.is_first, self._initialize)
            sync_warp()
            for number in range(len(self.operands)):
                publish_map(self.maps[number], self._shared_map(number))

        emitter.when(emitter.below(thread, SUBGROUP), by_warp)

    def _find_maps(self, number: Number) -> None:
        """The addresses of the maps in memory."""
        emitter, i64 = self.emitter, ir.IntegerType.get_signless(64)
        below = arith.constant(i64, MAP_BYTES - 1)
        above = arith.addi(address_of(self.scratch), below)
        first = arith.andi(above, arith.constant(i64, -MAP_BYTES))
        size = MAP_BYTES * len(self.operands)
        at = arith.muli(arith.extui(i64, emitter.value(number)), arith.constant(i64, size))
        first = arith.addi(first, at)
        offsets = range(0, size, MAP_BYTES)
        self.maps = [arith.addi(first, arith.constant(i64, offset)) for offset in offsets]

    def _initialize(self) -> None:
        for number, operand in enumerate(self.operands):
            write_map(operand.boxes, address_of(operand.memory), self._shared_map(number))
        for slot in range(self.stages):
            init_barrier(self._arrived(slot), 1)
            init_barrier(self._freed(slot), self.users)
        fence_barriers()

    def _shared_map(self, number: int) -> ir.Value:
        emitter = self.emitter
        return emitter.value(emitter.add(emitter.shared_start, _MAPS + MAP_BYTES * number))

    def _arrived(self, slot: Number) -> ir.Value:
        emitter = self.emitter
        within = emitter.multiply(slot, BARRIER_BYTES)
        return emitter.value(emitter.add(emitter.shared_start, within))

    def _freed(self, slot: Number) -> ir.Value:
        return self._arrived(self.emitter.add(slot, self.stages))

    def start(self, slot: Number, column: Number, rows: Sequence[Number]) -> None:
        """Start the copies of the boxes from `column` on, by thread 0; each operand has a row."""
        emitter = self.emitter
        barrier = self._arrived(slot)
        expect_bytes(barrier, sum(operand.boxes.bytes for operand in self.operands))
        for operand, map_, row in zip(self.operands, self.maps, rows, strict=True):
            within = emitter.multiply(slot, operand.boxes.bytes)
            target = emitter.value(emitter.add(operand.start, within))
            copy_box(target, map_, emitter.value(column), emitter.value(row), barrier)

    def wait(self, step: Number) -> Number:
        """Wait for the copies of a step; its slot."""
        emitter = self.emitter
        turn, slot = emitter.divide(step, self.stages)
        _, parity = emitter.divide(turn, 2)
        wait_for_barrier(self._arrived(slot), emitter.value(parity))
        return slot

    def wait_until_free(self, step: Number) -> None:
        """Wait until the slot of a step is free, which is not the first one in it; by thread 0."""
        emitter = self.emitter
        turn, slot = emitter.divide(step, self.stages)
        _, parity = emitter.divide(emitter.add(turn, 1), 2)
        wait_for_barrier(self._freed(slot), emitter.value(parity))

    def free(self, step: Number) -> None:
        """Free the slot of a step, by one thread of each user."""
        _, slot = self.emitter.divide(step, self.stages)
        arrive(self._freed(slot))
