"""Common subexpressions with exchanged operands."""

from typing import Any

from ....dialects import graph
from ...infra.rewrite import rewrite

_COMMUTATIVE = sorted(
    (op_class for op_class in graph.op_classes_of(graph.BinaryOp) if op_class.commutative),
    key=lambda op_class: op_class.OPERATION_NAME,
)


@rewrite(*_COMMUTATIVE)
def commuted(op: Any) -> Any:
    """``a + b, b + a  -->  a + b`` for every commutative op. Exact, but ``max(0.0, -0.0)``.

    `cse` finds common subexpressions only with equal operand order. The backend, which finds these
    in a kernel, cannot always store one result twice.
    """
    if op.a == op.b:
        return None
    # A twin is among the uses of both; one of them may have thousands.
    uses = (use for pair in zip(op.a.uses, op.b.uses, strict=False) for use in pair)
    twins = (use.owner for use in uses if _is_commuted(op, use.owner))
    earlier = next((twin for twin in twins if twin.is_before_in_block(op.operation)), None)
    return None if earlier is None else earlier.results[0]


def _is_commuted(op: Any, other: Any) -> bool:
    """Return whether `other` is `op` with its operands exchanged, in the same block."""
    other = other.operation
    return (
        other.name == op.operation.name
        and other.block == op.operation.block
        and list(other.operands) == [op.b, op.a]
    )


REWRITES = (commuted,)
