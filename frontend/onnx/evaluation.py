"""Tables that a converter computes with ops: at once where nothing is left to the run."""

from collections.abc import Callable, Sequence

import numpy as np

from ...dialects import graph
from ...mlir import ir
from .limits import current_limits


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


def is_known(*values: ir.Value) -> bool:
    """Whether all `values` are constants of the program."""
    return all(isinstance(graph.graph_op(v.owner), graph.ConstantOp) for v in values)
