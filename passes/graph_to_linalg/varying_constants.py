"""Constants that kernels read from memory, because kernels are equal but for them.

Layers of a quantised model have equal shapes, and scales, zero points and tables of their own.
Compiled into the epilogues, these would make a kernel of each layer.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...dialects import graph
from ...mlir import func, ir
from ..infra.query import splat_of
from ..kernels.epilogue import ReadConstants, steps_key
from .elementwise import values_from_outside
from .quantization import reads_zero_point

ARITHMETIC = (graph.AddOp, graph.SubOp, graph.MulOp, graph.FmaOp, graph.DequantizeOp)
"""Ops whose code is the same for any number. That of a quantization is not the same for any scale,
by which it divides with products, but for any zero point."""


@dataclass(frozen=True)
class _Contraction:
    """A contraction with an epilogue, and what of its `steps` may be read."""

    root: graph.GraphOp
    steps: Sequence[graph.GraphOp]
    numbers: Sequence[ir.Value]
    """Constants of one element."""
    tables: Sequence[graph.TableOp]

    @staticmethod
    def of(fused: graph.FusedOp) -> "_Contraction":
        root, *steps = fused.ops
        numbers = [leaf for leaf in _leaves(root, steps) if _may_be_read(leaf, steps)]
        tables = [step for step in steps if isinstance(step, graph.TableOp)]
        return _Contraction(root, steps, numbers, tables)

    def form(self) -> Iterator[object]:
        """All but the numbers and tables that may be read."""
        attributes = dict(self.root.attrs)
        if isinstance(self.root, graph.Int8DirectConvOp):
            attributes["border"] = self.root.border != 0  # which kernels read
        yield self.root.operation.name, repr(attributes)
        yield from map(str, (value.type for value in self.root.operation.operands))
        leaves = _leaves(self.root, self.steps)
        for leaf in leaves:
            splat = None if leaf in self.numbers else splat_of(leaf)
            yield str(leaf.type), repr(splat)
        results = [table.operation.results[0] for table in self.tables]
        values = [self.root.operation.results[0], *leaves]
        yield from steps_key(self.steps, values, without_table=results)

    def texts(self) -> list[str]:
        """The constants that differ between equal forms, as text."""
        numbers = [repr(splat_of(value)) for value in self.numbers]  # in which 0.0 is not -0.0
        return numbers + [repr(table.table) for table in self.tables]


def read_constants(function: func.FuncOp) -> Mapping[ir.Value, ReadConstants]:
    """The constants in the epilogues of `function` that differ between otherwise equal contractions
    with epilogues, by the results of the contractions. Tables become constants of the function."""
    groups = defaultdict[object, list[_Contraction]](list)

    def note(op: ir.Operation) -> ir.WalkResult:
        fused = op.opview
        assert isinstance(fused, graph.FusedOp)
        if fused.attrs["kind"] == "epilogue":
            found = _Contraction.of(fused)
            groups[tuple(found.form())].append(found)
        return ir.WalkResult.ADVANCE

    function.operation.walk(note, op_class=graph.FusedOp)
    with ir.InsertionPoint.at_block_begin(function.entry_block), function.operation.location:
        return dict(found for group in groups.values() for found in _varying(group))


def _leaves(root: graph.GraphOp, steps: Sequence[graph.GraphOp]) -> list[ir.Value]:
    return [value for value in values_from_outside(steps) if value != root.operation.results[0]]


def _may_be_read(value: ir.Value, steps: Sequence[graph.GraphOp]) -> bool:
    """Return whether `value` is one number, which decides no code of `steps`."""
    is_number = graph.element_count(graph.type_of(value).shape) == 1
    readers = (step for step in steps if value in list(step.operation.operands))
    is_alike = all(_is_alike(value, reader) for reader in readers)
    return is_number and is_alike and splat_of(value) is not None


def _is_alike(value: ir.Value, reader: graph.GraphOp) -> bool:
    """Return whether the code of `reader` is the same for any number `value`."""
    if not isinstance(reader, graph.QuantizeOp):
        return isinstance(reader, ARITHMETIC)
    return value == reader.zero_point and reads_zero_point(reader)


def _varying(group: Sequence[_Contraction]) -> Iterator[tuple[ir.Value, ReadConstants]]:
    """The constants of each contraction of `group` at the positions where they differ."""
    columns = zip(*(each.texts() for each in group), strict=True)
    differs = [len(set(column)) > 1 for column in columns]
    for each in group if any(differs) else ():
        count = len(each.numbers)
        numbers = [
            value for value, varies in zip(each.numbers, differs[:count], strict=True) if varies
        ]
        tables = [op for op, varies in zip(each.tables, differs[count:], strict=True) if varies]
        read = ReadConstants(frozenset(numbers), dict(map(_in_memory, tables)))
        yield each.root.operation.results[0], read


def _in_memory(op: graph.TableOp) -> tuple[ir.Value, ir.Value]:
    """The result of `op`, and its table as a constant."""
    return op.operation.results[0], graph.constant(value=np.array(op.table, op.to))
