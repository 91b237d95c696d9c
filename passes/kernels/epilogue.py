"""Epilogues of kernels: elementwise ops on vectors while the accumulators are in registers."""

import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...dialects import graph
from ...mlir import arith, ir
from ..infra.query import splat_of
from .byte_packs import BytePacking
from .byte_table import BYTE_SHUFFLES, cut, joined
from .emitter import Registers, VectorEmitter

Body = Callable[[Mapping[ir.Value, ir.Value]], ir.Value]
"""Maps the vector of each graph value to the vector of the result."""


@dataclass(frozen=True)
class OutputPosition:
    """The position of a vector in the result: its first feature, and the offset of its first
    element; `mask` selects the valid lanes, if not all."""

    feature: ir.Value
    offset: ir.Value
    lanes: int
    mask: ir.Value | None = None


Epilogue = Callable[[list[OutputPosition], Registers], Iterable[ir.Value]]
"""Maps accumulators and their positions in the result to the vectors that are stored there, in
order. If each is stored before the next one is taken, fewer registers hold results."""


@dataclass(frozen=True)
class ReadConstants:
    """Constants that an epilogue reads from memory."""

    numbers: Container[ir.Value] = ()
    """Constants of one element."""
    tables: Mapping[ir.Value, ir.Value] = field(default_factory=dict)
    """Constants of 256 bytes, by the results of the `graph.table` ops that look up in them."""


NOTHING_READ = ReadConstants()


@dataclass(frozen=True)
class VectorEpilogue:
    """Elementwise ops on `root`, the accumulators, and on `leaves`."""

    root: ir.Value
    body: Body
    leaves: Mapping[ir.Value, "_Leaf"]
    key: tuple[object, ...]
    """Equal for epilogues that compute the same."""
    stored_dtype: np.dtype
    """Element type of the results. If it is bf16, they are rounded to it when they are stored."""
    lanes: int = 0
    """Elements that the body computes at a time, if there are so many: lookups in tables and packs
    take whole vectors of bytes."""

    @staticmethod
    def nothing(root: ir.Value) -> "VectorEpilogue":
        """The empty epilogue: the accumulators unchanged."""
        return VectorEpilogue(root, lambda known: known[root], {}, (), graph.type_of(root).dtype)

    @staticmethod
    def of(
        root: ir.Value,
        steps: Sequence[graph.GraphOp],
        others: Sequence[ir.Value],
        shape: graph.Shape,
        body: Body,
        stored_dtype: np.dtype,
        packing: BytePacking | None = None,
        read: ReadConstants = NOTHING_READ,
    ) -> "VectorEpilogue | None":
        """The epilogue of `steps`, whose rules work on vectors, with a result of `shape`; None if
        one of `others` broadcasts in another way. `packing` computes the last step, if given.
        Constants in `read` are not compiled in."""
        leaves = {
            value: _Leaf.of(value, shape, value in read.numbers)
            for value in others
            if value != root
        }
        tables = [
            read.tables[y] for step in steps if (y := step.operation.results[0]) in read.tables
        ]
        leaves |= {table: _Leaf(graph.type_of(table).dtype, table=True) for table in tables}
        known = {value: leaf for value, leaf in leaves.items() if leaf is not None}
        if len(known) != len(leaves):
            return None
        leaf_keys = map(repr, known.values())
        key = (stored_dtype, packing, *leaf_keys, *steps_key(steps, [root, *known], read.tables))
        lanes = max(_lanes_for(steps), 0 if packing is None else packing.lanes)
        return VectorEpilogue(root, body, known, key, stored_dtype, lanes)

    @property
    def memory(self) -> list[ir.Value]:
        """The leaves that a kernel reads from buffers, in order."""
        return [value for value, leaf in self.leaves.items() if leaf.splat is None]

    @property
    def reads_rows(self) -> bool:
        """True if some leaf has other elements for each row of the result."""
        return any(leaf.whole or leaf.columns for leaf in self.leaves.values())

    def apply(
        self,
        emitter: VectorEmitter,
        buffers: Sequence[ir.Value],
        positions: Sequence[OutputPosition],
        accumulators: Registers,
    ) -> Iterable[ir.Value]:
        """The results of the `accumulators` at `positions`; `buffers` hold `memory`. Batches of
        `lanes` elements are computed when they are asked for."""
        where = dict(zip(self.memory, buffers, strict=True))
        known: dict[tuple[ir.Value, ir.Value | int], ir.Value] = {}

        def load(value: ir.Value, at: ir.Value, position: OutputPosition) -> ir.Value:
            return emitter.load(where[value], at, position.mask, position.lanes)

        def uniform(value: ir.Value, lanes: int) -> ir.Value:
            leaf, key = self.leaves[value], (value, lanes)
            if key not in known and leaf.splat is not None:
                known[key] = emitter.splat(leaf.splat, lanes, _element(leaf.dtype))
            elif key not in known:
                known[key] = emitter.broadcast(where[value], lanes)
            return known[key]

        def read(value: ir.Value, position: OutputPosition) -> ir.Value:
            leaf = self.leaves[value]
            if leaf.whole:
                return load(value, position.offset, position)
            if leaf.columns:
                row = _row(position, leaf.columns)
                return emitter.broadcast(where[value], position.lanes, row)
            key = (value, position.feature)
            if key not in known:
                known[key] = load(value, position.feature, position)
            return known[key]

        def results() -> Iterator[ir.Value]:
            for batch in self._batches(positions, accumulators):
                lanes = sum(at.lanes for at, _ in batch)
                values = dict[ir.Value, ir.Value]()
                for value, leaf in self.leaves.items():
                    if leaf.table:
                        values[value] = where[value]
                    elif leaf.is_uniform:
                        values[value] = uniform(value, lanes)
                    else:
                        values[value] = joined([read(value, at) for at, _ in batch])
                result = self.body({self.root: joined([total for _, total in batch]), **values})
                yield from cut(result, batch[0][0].lanes)

        lazily = itertools.islice(results(), len(positions))
        return lazily if self.lanes else list(lazily)

    def _batches(
        self, positions: Sequence[OutputPosition], accumulators: Registers
    ) -> Iterator[Sequence[tuple[OutputPosition, ir.Value]]]:
        """The accumulators, with their positions, that the body takes at a time; the last ones are
        repeated to fill a batch."""
        pairs = list(zip(positions, accumulators, strict=True))
        lanes = {position.lanes for position in positions}
        count = max(1, self.lanes // max(lanes)) if len(lanes) == 1 else 1
        for start in range(0, len(pairs), count):
            batch = pairs[start : start + count]
            yield batch + batch[-1:] * (count - len(batch))


@dataclass(frozen=True)
class _Leaf:
    """Access pattern of an operand of the epilogue: one number, known when compiling (`splat`) or
    not (`single`), one per feature, one per element (`whole`), one per row of a result with
    `columns`, or any of a `table`, which the body gets as a buffer."""

    dtype: np.dtype
    splat: float | None = None
    whole: bool = False
    single: bool = False
    columns: int = 0
    table: bool = False

    @property
    def is_uniform(self) -> bool:
        """True for one number."""
        return self.splat is not None or self.single

    @staticmethod
    def of(value: ir.Value, shape: graph.Shape, is_read: bool) -> "_Leaf | None":
        """The access pattern of `value` in a result of `shape`; None if it broadcasts in another
        way."""
        type_ = graph.type_of(value)
        splat = None if is_read else splat_of(value)
        if splat is not None:
            unsigned = graph.is_unsigned(type_.dtype)
            bits = splat.view(f"i{type_.dtype.itemsize}") if unsigned else splat
            return _Leaf(type_.dtype, splat=float(bits))
        if type_.shape == shape:
            return _Leaf(type_.dtype, whole=True)
        if all(size == 1 for size in type_.shape):
            return _Leaf(type_.dtype, single=True)
        *others, last = type_.shape
        if (*others, shape[-1]) == shape and last == 1 and isinstance(shape[-1], int):
            return _Leaf(type_.dtype, columns=shape[-1])
        is_line = last == shape[-1] and all(size == 1 for size in others)
        return _Leaf(type_.dtype) if is_line else None


def _row(position: OutputPosition, columns: int) -> ir.Value:
    """The row of a result with `columns` that holds `position`."""
    start = arith.subi(position.offset, position.feature)
    return arith.divui(start, arith.constant(ir.IndexType.get(), columns))


def _lanes_for(steps: Sequence[graph.GraphOp]) -> int:
    """See `VectorEpilogue.lanes`."""
    units = [step.attrs["unit"] for step in steps if isinstance(step, graph.TableOp)]
    return max((BYTE_SHUFFLES[unit].size for unit in units), default=0)


def _element(dtype: np.dtype) -> ir.Type:
    """The type of the elements of vectors: f32, or integers without a sign."""
    if dtype == np.float32:
        return ir.F32Type.get()
    return ir.IntegerType.get_signless(dtype.itemsize * 8)


def steps_key(
    steps: Sequence[graph.GraphOp],
    values: Sequence[ir.Value],
    without_table: Container[ir.Value] = (),
) -> Iterator[object]:
    """A key of `steps` on `values`, equal for steps that compute the same, but for the tables of
    the results in `without_table`."""
    numbers = {value: number for number, value in enumerate(values)}
    for step in steps:
        operands = tuple(numbers[value] for value in step.operation.operands)
        attributes = dict(step.attrs)
        if step.operation.results[0] in without_table:
            del attributes["table"]
        yield step.operation.name, operands, repr(attributes)  # in which 0.0 is not -0.0
        numbers[step.operation.results[0]] = len(numbers)
