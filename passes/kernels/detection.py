"""Non-maximum suppression: each box against vectors of those selected before."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, memref, scf, vector
from .emitter import Registers, VectorEmitter
from .loops import while_
from .scalar_functions import like, product

CORNERS = 4
PLANES = CORNERS + 1
"""The corners of the selected boxes and their areas, each in consecutive memory."""


def area_of(box: Sequence[ir.Value]) -> ir.Value:
    """The area of boxes (lowest y, lowest x, highest y, highest x), f32 scalars or vectors."""
    return product(arith.subf(box[2], box[0]), arith.subf(box[3], box[1]))


def corners_of(numbers: Sequence[ir.Value], by_center: bool) -> list[ir.Value]:
    """The corners of a box as in `area_of`, from the four `numbers` of a box of
    `graph.non_max_suppression`. The order of the axes does not matter."""
    first, second = numbers[:2], numbers[2:]
    pairs = list(zip(first, second, strict=True))
    if not by_center:
        low = [arith.minimumf(a, b) for a, b in pairs]
        return [*low, *(arith.maximumf(a, b) for a, b in pairs)]
    half = [(a, arith.mulf(b, like(0.5, b))) for a, b in pairs]
    return [*(arith.subf(a, b) for a, b in half), *(arith.addf(a, b) for a, b in half)]


def overlap_exceeds(
    a: Sequence[ir.Value],
    b: Sequence[ir.Value],
    areas: Sequence[ir.Value],
    threshold: ir.Value,
) -> ir.Value:
    """True (an i1, or a vector of them) if the intersection over union of two boxes is greater than
    `threshold`.

    Boxes are as in `area_of`, `areas` those of both.
    """
    nothing = like(0, threshold)
    sides = [
        arith.maximumf(
            arith.subf(arith.minimumf(a[i + 2], b[i + 2]), arith.maximumf(a[i], b[i])), nothing
        )
        for i in range(2)
    ]
    common = product(*sides)
    union = arith.subf(arith.addf(*areas), common)
    too_much = arith.cmpf(arith.CmpFPredicate.OGT, arith.divf(common, union), threshold)
    some = arith.cmpf(arith.CmpFPredicate.OGT, common, nothing)
    return arith.andi(some, too_much)


@dataclass(frozen=True)
class BoxSuppression:
    """The kernel that lists the selected boxes, then -1, of rows: batches and classes."""

    lanes: int
    by_center: bool

    def write(
        self,
        workgroup: ir.Value,
        workgroups: ir.Value,
        rows: ir.Value,
        classes: ir.Value,
        count: ir.Value,
        room: ir.Value,
        boxes: ir.Value,
        order: ir.Value,
        candidates: ir.Value,
        limit: ir.Value,
        threshold: ir.Value,
        selected: ir.Value,
        kept: ir.Value,
    ) -> None:
        """Emit one of `workgroups`.

        Each has `PLANES` times `room` f32 elements of `kept` as scratch memory: `room` is `count`
        and a vector. Memory is otherwise that of the operands of `graph.non_max_suppression`.
        """
        emit = VectorEmitter(self.lanes)
        zero = emit.index(0)
        most = self._index(memref.load(limit, [zero]))
        spread = vector.broadcast(emit.vector_type, memref.load(threshold, [zero]))
        base = arith.muli(workgroup, arith.muli(room, emit.index(PLANES)))
        planes = [arith.addi(base, arith.muli(room, emit.index(i))) for i in range(PLANES)]
        loop = scf.ForOp(workgroup, rows, workgroups, [])
        with ir.InsertionPoint(loop.body):
            row = loop.induction_variable
            first = arith.muli(row, count)
            corners = arith.muli(arith.divui(row, classes), count)
            looked_at = self._index(memref.load(candidates, [row]))
            looked_at = arith.maxsi(arith.minsi(looked_at, count), zero)

            def more(position: ir.Value, taken: ir.Value) -> ir.Value:
                less = functools.partial(arith.cmpi, arith.CmpIPredicate.slt)
                return arith.andi(less(position, looked_at), less(taken, most))

            def step(position: ir.Value, taken: ir.Value) -> Registers:
                number = memref.load(order, [arith.addi(first, position)])
                at = arith.muli(arith.addi(corners, self._index(number)), emit.index(CORNERS))
                numbers = [memref.load(boxes, [emit.add(at, i)]) for i in range(CORNERS)]
                box = corners_of(numbers, self.by_center)
                box = [*box, area_of(box)]
                free = self._is_free(emit, box, kept, planes, taken, spread)
                for plane, value in zip(planes, box, strict=True):
                    memref.store(value, kept, [arith.addi(plane, taken)])
                memref.store(number, selected, [arith.addi(first, taken)])
                more = arith.select(free, emit.index(1), zero)
                return [emit.add(position, 1), arith.addi(taken, more)]

            _, taken = while_([zero, zero], more, step)
            none = arith.constant(ir.IntegerType.get_signless(64), -1)

            def clear(slot: ir.Value) -> None:
                memref.store(none, selected, [arith.addi(first, slot)])

            emit.repeat(taken, count, clear)
            scf.YieldOp([])

    def _is_free(
        self,
        emit: VectorEmitter,
        box: Sequence[ir.Value],
        kept: ir.Value,
        planes: Sequence[ir.Value],
        taken: ir.Value,
        threshold: ir.Value,
    ) -> ir.Value:
        """True (an i1) if `box` overlaps none of the `taken` boxes that are kept."""
        own = [vector.broadcast(emit.vector_type, value) for value in box]
        flag = ir.IntegerType.get_signless(1)

        def more(slot: ir.Value, free: ir.Value) -> ir.Value:
            return arith.andi(free, arith.cmpi(arith.CmpIPredicate.ult, slot, taken))

        def step(slot: ir.Value, free: ir.Value) -> Registers:
            del free
            other = [emit.load(kept, arith.addi(plane, slot)) for plane in planes]
            areas = own[CORNERS], other[CORNERS]
            clash = overlap_exceeds(own[:CORNERS], other[:CORNERS], areas, threshold)
            clash = arith.andi(clash, emit.lanes_below(arith.subi(taken, slot)))
            some = vector.reduction(flag, vector.CombiningKind.OR, clash)
            return [emit.add(slot, self.lanes), arith.xori(some, arith.constant(flag, 1))]

        return while_([emit.index(0), arith.constant(flag, 1)], more, step)[1]

    @staticmethod
    def _index(value: ir.Value) -> ir.Value:
        return arith.index_cast(ir.IndexType.get(), value)


@dataclass(frozen=True)
class BoxList:
    """The kernel that lists what is selected of all rows, batches and classes."""

    def write(
        self,
        rows: ir.Value,
        classes: ir.Value,
        length: ir.Value,
        count: ir.Value,
        selected: ir.Value,
        listed: ir.Value,
    ) -> None:
        """Emit the only workgroup: rows of `length` in `selected`, `count` boxes of which are
        `listed`."""
        emit, i64 = VectorEmitter(1), ir.IntegerType.get_signless(64)
        none = arith.constant(i64, 0)

        def row(number: ir.Value, state: Registers) -> Registers:
            first = arith.muli(number, length)
            where = [arith.divui(number, classes), arith.remui(number, classes)]

            def load(slot: ir.Value) -> ir.Value:
                inside = arith.minui(slot, emit.add(length, -1))
                return memref.load(selected, [arith.addi(first, inside)])

            def more(slot: ir.Value, found: ir.Value, box: ir.Value) -> ir.Value:
                is_one = arith.cmpi(arith.CmpIPredicate.sge, box, none)
                has_more = arith.cmpi(arith.CmpIPredicate.ult, slot, length)
                has_room = arith.cmpi(arith.CmpIPredicate.ult, found, count)
                return arith.andi(is_one, arith.andi(has_more, has_room))

            def step(slot: ir.Value, found: ir.Value, box: ir.Value) -> Registers:
                at = emit.times(found, 3)
                numbers = [arith.index_cast(i64, each) for each in where]
                for column, value in enumerate([*numbers, box]):
                    memref.store(value, listed, [emit.add(at, column)])
                following = emit.add(slot, 1)
                return [following, emit.add(found, 1), load(following)]

            zero = emit.index(0)
            return [while_([zero, state[0], load(zero)], more, step)[1]]

        emit.loop((emit.index(0), rows), [emit.index(0)], row)
