"""Columns of a table that are reduced by few, side by side.

scikit-learn's polynomials are such products: one of a few columns for each monomial.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ...infra.query import constant_array, has_one_use, producer
from ...infra.rewrite import rewrite

MOST_TERMS = 8
"""Terms of a reduction: slices of more are faster reduced where they lie."""


@dataclass(frozen=True, eq=False)
class _Reduced:
    """Reductions of columns of `source`; `positions` has a column for each, of its terms."""

    kind: type[graph.Reduction]
    source: ir.Value
    positions: np.ndarray

    @property
    def key(self) -> tuple[Any, ...]:
        return self.kind, self.source, len(self.positions)


@rewrite(graph.ConcatOp)
def concat_of_reduced(op: graph.ConcatOp) -> Any:
    """``concat(reduce(x[:, i]), reduce(x[:, j]))  -->  reduce(x[:, [i, j]])`` for constant indices
    of a few columns each. Exact but for the order of sums."""
    if op.axis != graph.type_of(op.result).rank - 1:
        return None
    given = list(op.operand_groups["xs"])
    parts = list(_merged(given, op.axis))
    if len(parts) == len(given):
        return None
    return graph.concat(parts, axis=op.axis) if len(parts) > 1 else parts[0]


def _merged(values: list[ir.Value], axis: int) -> Iterator[ir.Value]:
    pairs = [(value, _reduced(value, axis)) for value in values]
    for _, group in groupby(enumerate(pairs), _run):
        same = [pair for _, pair in group]
        columns = [found for _, found in same if found is not None]
        if len(columns) > 1:
            yield _reduce(columns, axis)
        else:
            yield from (value for value, _ in same)


def _run(numbered: tuple[int, tuple[ir.Value, _Reduced | None]]) -> tuple[Any, ...]:
    """A key that values have in common if they are merged; that of others is their number."""
    number, (_, found) = numbered
    return (number,) if found is None else found.key


def _reduce(columns: list[_Reduced], axis: int) -> ir.Value:
    positions = np.concatenate([each.positions for each in columns], axis=1)
    first = columns[0]
    picked = graph.gather(first.source, graph.constant(value=positions), axis=axis)
    return graph.build(first.kind, [picked], {"axes": [axis], "keepdims": False})


def _reduced(value: ir.Value, axis: int) -> _Reduced | None:
    op = producer(value, graph.Reduction)
    if op is None or not has_one_use(value) or list(op.attrs["axes"]) != [axis]:
        return None
    found = _picked(op.operation.operands[0], axis)
    if found is None:
        return None
    source, positions = found
    if positions.ndim != (1 if op.attrs["keepdims"] else 2) or len(positions) > MOST_TERMS:
        return None
    return _Reduced(type(op), source, positions.reshape(len(positions), -1))


def _picked(value: ir.Value, axis: int) -> tuple[ir.Value, np.ndarray] | None:
    """The source of which `value` is some columns, and their constant positions."""
    gather = producer(value, graph.GatherOp)
    if gather is not None:
        positions = constant_array(gather.indices)
        if positions is None or positions.ndim == 0 or gather.axis != axis:
            return None
        return gather.x, positions.astype(np.int64)
    part = producer(value, graph.SliceOp)
    if part is None:
        return None
    shape, attrs = graph.type_of(part.x).shape, part.attrs
    start, size, step = (attrs[name][axis] for name in ("starts", "sizes", "steps"))
    whole = zip(attrs["starts"], attrs["sizes"], attrs["steps"], shape, strict=True)
    if any((at, each, by) != (0, extent, 1) for at, each, by, extent in list(whole)[:axis]):
        return None
    if not isinstance(start, int) or not isinstance(size, int):
        return None
    return part.x, start + step * np.arange(size)


REWRITES = (concat_of_reduced,)
