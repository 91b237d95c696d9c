"""Shapes by which a pass can be told to leave ops alone.

graph-winograd{skip=1x56x56x64xf32+3x3x64x64xf32>1x56x56x64xf32}

They say nothing of names, so that a pipeline holds for every model with such ops.
"""

from typing import Any

from ...dialects import graph

SKIPPED = "the option skip has its shapes"
"""The reason for which a rewrite leaves an op alone."""


def op_shapes(op: Any) -> str:
    """The types of the operands and the results of `op`, as one word."""
    operation = op.operation
    operands, results = (
        "+".join(str(graph.from_mlir(value.type)).replace(" ", "") for value in values)
        for values in (operation.operands, operation.results)
    )
    return f"{operands}>{results}"
