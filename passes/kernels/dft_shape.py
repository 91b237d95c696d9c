"""Shapes of discrete Fourier transforms, and the tables of those of known length."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...mlir import arith, ir
from . import fft_plan
from .sizes import Index, index, product

WORKGROUPS = 64
"""Maximum number of workgroups, each of which has work arrays of its own."""
_POINTS = 8192
"""Approximate number of points in a workgroup."""
SMALL = 32
"""Lengths of the run below this are transformed by sums. 1000 signals of 20 points take 0.14 ms,
and 0.71 ms by a chirp."""
ROOM_PER_POINT = 4
LEAST_ROOM = 512
"""A work array for a length of the run has `ROOM_PER_POINT` elements per point, and so many more.
The power of two after twice the length is less than four times as large."""


@dataclass(frozen=True)
class DftShape:
    """Transforms of `length` points of `rows` signals of `used` elements; None for numbers that are
    known only at run time. The other fields are those of `graph.dft`."""

    rows: int | None
    used: int | None
    length: int | None
    is_real: bool
    inverse: bool
    onesided: bool
    lanes: int
    element: str
    """``f32`` or ``f64``."""

    flops = None

    @property
    def is_paired(self) -> bool:
        """True if pairs of real elements are the points of a complex transform of half the length
        (Sorensen et al., 1987). They fill a vector at least."""
        real = self.is_real or (self.inverse and self.onesided)
        if not real or self.length is None:
            return False
        return self.length % 2 == 0 and self.length // 2 >= self.lanes

    @property
    def points(self) -> int:
        """Points of the complex transform."""
        assert self.length is not None
        return self.length // 2 if self.is_paired else self.length

    @property
    def is_chirp(self) -> bool:
        """True if the transform is a convolution with a chirp."""
        return fft_plan.radices(self.points, self.lanes) is None

    @property
    def padded(self) -> int:
        """Points of the transforms that are computed by stages."""
        if self.is_chirp:
            return fft_plan.padded_length(self.points, self.lanes)
        return self.points

    @property
    def room(self) -> int:
        """Elements of a work array: its points, one more, and those beyond that vectors reach."""
        return self.padded + 2 * self.lanes

    def sizes(self, dynamic: Sequence[ir.Value]) -> "DftSizes":
        """The numbers, those that are not known from `dynamic`."""
        left = iter(dynamic)
        known = (self.rows, self.used, self.length)
        return DftSizes(*(next(left) if n is None else n for n in known))

    @staticmethod
    def chunk(rows: Index, length: Index) -> Index:
        """The number of `rows` in a workgroup."""
        if isinstance(rows, int) and isinstance(length, int):
            return max(-(-rows // WORKGROUPS), min(rows, _POINTS // length), 1)
        few = arith.ceildivui(index(rows), index(WORKGROUPS))
        many = arith.divui(index(_POINTS), arith.maxui(index(length), index(1)))
        many = arith.minui(many, index(rows))
        return arith.maxui(arith.maxui(few, many), index(1))

    @property
    def workgroups(self) -> int:
        """Workgroups, if the rows and their length are known."""
        assert self.rows is not None
        assert self.length is not None
        chunk = self.chunk(self.rows, self.length)
        assert isinstance(chunk, int)
        return -(-self.rows // chunk)

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """Workgroups for the numbers that are `dynamic`."""
        sizes = self.sizes(dynamic)
        return arith.ceildivui(index(sizes.rows), index(self.chunk(sizes.rows, sizes.length)))


@dataclass(frozen=True)
class DftSizes:
    """The numbers of a `DftShape`, in a kernel."""

    rows: Index
    used: Index
    length: Index


@dataclass(frozen=True)
class DftTables:
    """Where the tables of a transform begin: factors of stages, the roots that combine the two
    halves of a real signal, the chirp, and its spectrum. Of the last three, all real parts precede
    all imaginary ones, which begin `halves_size`, ... elements later."""

    twiddles: Index
    halves: Index
    chirp: Index
    spectrum: Index
    halves_size: Index
    chirp_size: Index
    spectrum_size: Index


@functools.cache
def static_tables(shape: DftShape) -> tuple[DftTables, np.ndarray]:
    """The tables of a transform of known length, in f64."""
    points, padded, lanes = shape.points, shape.padded, shape.lanes
    parts = [fft_plan.twiddles(padded, lanes), np.zeros(0), np.zeros(0), np.zeros(0)]
    if shape.is_paired:
        parts[1] = _in_parts(fft_plan.roots(np.arange(points + 1), 2 * points))
    if shape.is_chirp:
        parts[2] = _in_parts(fft_plan.chirp(points))
        parts[3] = _in_parts(fft_plan.chirp_spectrum(points, padded))
    starts = np.cumsum([0, *map(len, parts)]).tolist()
    tables = DftTables(*starts[:4], halves_size=points + 1, chirp_size=points, spectrum_size=padded)
    return tables, np.concatenate([*parts, np.zeros(1)])


def _in_parts(values: np.ndarray) -> np.ndarray:
    return np.concatenate([np.real(values), np.imag(values)])


def room_for(length: ir.Value) -> ir.Value:
    """Elements of a work array for a length of the run."""
    return arith.addi(arith.muli(length, index(ROOM_PER_POINT)), index(LEAST_ROOM))


def run_time_tables(length: ir.Value) -> DftTables:
    """Where the tables of a transform begin, for a length of the run."""
    room = room_for(length)
    chirp = product(room, 2)
    spectrum = arith.addi(index(chirp), index(product(length, 2)))
    return DftTables(0, 0, chirp, spectrum, 0, length, room)
