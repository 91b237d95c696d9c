"""Tables that a converter computes with ops, evaluated at import if their operands are
constants."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..importing.limits import current_limits


def evaluated(build: Callable[[], Sequence[ir.Value]]) -> list[ir.Value]:
    """The values that `build` creates by ops on constants, as constants of the program.

    The ops themselves stay out of it. LimitError where a table would be larger than allowed.
    """
    limits = current_limits()
    scratch = ir.Module.create()
    with ir.InsertionPoint(scratch.body):
        values = build()
    arrays: dict[ir.Value, np.ndarray] = {}
    for operation in scratch.body.operations:
        op = graph.graph_op(operation)
        assert op is not None, "only graph ops are evaluated"
        for value in op.operation.results:
            limits.require("computed_bytes", graph.known_bytes(graph.type_of(value)), "a table")
        groups = [graph.map_group(arrays.__getitem__, g) for g in op.operand_groups.values()]
        results = graph.evaluate_op(op, groups)
        arrays |= zip(op.operation.results, results, strict=True)
    return [graph.constant(value=arrays[value]) for value in values]


_MAX_OPS = 256
_MAX_ELEMENTS = 1024


def computed(value: ir.Value) -> np.ndarray | None:
    """The array that a few ops on small constants compute for `value`; None if it takes others."""
    arrays: dict[ir.Value, np.ndarray] = {}
    pending = [value]
    for _ in range(_MAX_OPS):
        op = graph.graph_op(pending[-1].owner)
        if op is None or not _is_foldable(op):
            return None
        missing = [each for each in op.operation.operands if each not in arrays]
        if missing:
            pending += missing
            continue
        groups = [graph.map_group(arrays.__getitem__, g) for g in op.operand_groups.values()]
        arrays |= zip(op.operation.results, graph.evaluate_op(op, groups), strict=True)
        while pending and pending[-1] in arrays:
            pending.pop()
        if not pending:
            return arrays[value]
    return None


def _is_foldable(op: graph.GraphOp) -> bool:
    if not op.pure or len(op.operation.regions):
        return False
    if isinstance(op, graph.SizesOp) and any(isinstance(size, Dim) for size in op.attrs["sizes"]):
        return False
    types = map(graph.type_of, op.operation.results)
    return all(t.is_static and math.prod(t.static_shape) <= _MAX_ELEMENTS for t in types)


def is_known(*values: ir.Value) -> bool:
    """Return whether all `values` are constants of the program."""
    return all(isinstance(graph.graph_op(v.owner), graph.ConstantOp) for v in values)
