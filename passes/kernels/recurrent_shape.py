"""The sizes and the buffers of a recurrent layer."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import ir
from .group_dot import GroupDot
from .quantized_state import QuantizedStateMemory

LANES = 16
"""Elements in a vector; CPUs with narrower registers use several for one."""
ROWS = 2
"""Sequences that are computed together, at most."""


@dataclass(frozen=True)
class Recurrence:
    """The sizes of a layer: `gates` gates of a state of `hidden` elements. `early` gates come
    first, and `kept` vectors of theirs are stored. A panel is `width` elements of the state, a
    multiple of `LANES`; a `packed` recurrence is stored in panels (`graph.pack_recurrence`). With
    `quantizes`, the output is quantized before it is multiplied: by `dot`, if the recurrence is in
    groups (`graph.group_recurrence`)."""

    gates: int
    hidden: int
    reverse: bool
    width: int
    packed: bool
    early: int = 0
    kept: int = 0
    quantizes: bool = False
    dot: GroupDot | None = None

    @property
    def panels(self) -> int:
        return -(-self.hidden // self.width)

    @property
    def phases(self) -> int:
        """Phases of a step; each reads the values written by the one before."""
        return 1 + bool(self.early) + self.quantizes

    @property
    def rows(self) -> int:
        """Sequences that are computed together: one where integers of a panel take two registers
        for each vector, which leaves none for another."""
        return 1 if self.dot is not None and self.dot.lanes < LANES else ROWS

    @property
    def groups(self) -> int:
        """Groups of elements of the state that `dot` multiplies."""
        assert self.dot is not None
        return -(-self.hidden // self.dot.size)

    @property
    def stride(self) -> int:
        """Elements of a quantized state in memory."""
        return self.hidden if self.dot is None else self.groups * self.dot.size

    @property
    def line(self) -> int:
        """Contiguous elements of the recurrence by which one element of the state is multiplied."""
        return self.gates * (self.width if self.packed else self.hidden)

    @property
    def gate(self) -> int:
        """Stride between the columns of two gates in the recurrence, in elements."""
        return self.width if self.packed else self.hidden

    @property
    def elements(self) -> int:
        """Elements of the recurrence, which a step reads for each group of sequences."""
        return self.stride * self.line * (self.panels if self.packed else 1)


@dataclass(frozen=True)
class IntegerWeights:
    """The buffers beside a recurrence of integers: the scales [k*H] of its columns, and, if it is
    in groups, their sums, i32, and for each group of a panel whether pairs of its products may
    exceed 16 bits, where the instruction set has to know (`add_all_products`)."""

    scales: ir.Value
    sums: ir.Value | None = None
    exact: ir.Value | None = None

    @property
    def values(self) -> list[ir.Value]:
        """The parts that there are."""
        return [part for part in self._parts if part is not None]

    def like(self, values: Sequence[ir.Value]) -> "IntegerWeights":
        """The same parts with other `values`."""
        left = iter(values)
        scales, sums, exact = (None if part is None else next(left) for part in self._parts)
        assert scales is not None
        return IntegerWeights(scales, sums, exact)

    @property
    def _parts(self) -> tuple[ir.Value | None, ...]:
        return self.scales, self.sums, self.exact


@dataclass(frozen=True)
class RecurrentMemory:
    """The buffers of a layer.

    Gates [T, N, gates * H]; the recurrence; the initial states [N, H]; additional vectors [H], side
    by side; the lengths [N] of the sequences, if they differ; outputs [T, N, H]; the last states
    [N, H]; scratch, [2, N, H] for the output of two steps and [kept, N, H].
    """

    gates: ir.Value
    recurrence: ir.Value
    integers: IntegerWeights | None
    initial: Sequence[ir.Value]
    extra_vectors: Sequence[tuple[ir.Value, int]]
    """Additional vectors: a buffer, and the index of the vector in it."""
    lengths: ir.Value | None
    outputs: ir.Value
    last: Sequence[ir.Value]
    scratch: ir.Value
    quantized: QuantizedStateMemory | None = None
