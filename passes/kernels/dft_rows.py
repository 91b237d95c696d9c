"""Base of what the kernel for Fourier transforms reads and writes."""

from dataclasses import dataclass

from ...mlir import arith, ir, vector
from .butterflies import Complex
from .dft_shape import DftShape, DftSizes, room_for, run_time_tables, static_tables
from .fft import FftEmitter, Work
from .sizes import Index, product


@dataclass(frozen=True)
class DftMemory:
    """The flat buffers of a kernel."""

    x: ir.Value
    table: ir.Value
    result: ir.Value
    work: ir.Value


class DftRows(FftEmitter):
    """The tables, the work arrays and the rows of a `DftShape`."""

    def __init__(self, shape: DftShape, memory: DftMemory):
        super().__init__(shape.lanes, ir.MemRefType(memory.x.type).element_type)
        self._shape = shape
        self._memory = memory

    def _begin(self, workgroup_id: ir.Value, sizes: DftSizes) -> None:
        """Locate what a workgroup uses."""
        self._sizes = sizes
        if isinstance(sizes.length, int):
            self._tables, _ = static_tables(self._shape)
            self._points: Index = self._shape.points
            self._room: Index = self._shape.room
        else:
            self._tables = run_time_tables(sizes.length)
            self._points = sizes.length
            self._room = room_for(sizes.length)
        self._works = self._work_arrays(workgroup_id)

    def _work_arrays(self, workgroup_id: ir.Value) -> tuple[Work, Work]:
        start = self.times(workgroup_id, product(self._room, 4))
        starts = [self.total(start, product(self._room, i)) for i in range(4)]
        memory = self._memory.work
        return Work(memory, *starts[:2]), Work(memory, *starts[2:])

    def _least(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        return arith.minui(self.index(a), self.index(b))

    def _mask(self, count: Index, at: ir.Value, lanes: int) -> ir.Value:
        """The lanes of a vector from `at` on that are before `count`."""
        type_ = ir.VectorType.get([lanes], ir.IntegerType.get_signless(1))
        return vector.create_mask(type_, [arith.subi(self.index(count), at)])

    def _fills(self, count: Index, parts: int) -> bool:
        """Return whether `count` elements are the points of a transform, in `parts` parts."""
        shape = self._shape
        return isinstance(count, int) and count == parts * shape.padded

    def _half_root(self, at: ir.Value) -> Complex:
        """The roots that combine the two halves of a real signal, from power `at` on."""
        tables, table = self._tables, self._memory.table
        place = self.total(at, tables.halves)
        return self.load(table, place), self.load(table, self.total(place, tables.halves_size))

    def _reversed(self, points: Complex) -> Complex:
        order = list(reversed(range(self.lanes)))
        real, imaginary = (vector.shuffle(each, each, order) for each in points)
        return real, imaginary
