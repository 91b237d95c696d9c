"""Scratch memory that an op needs while it is computed, beside its operands and its result.

A rule gives it for a class of ops, as types of tensors. The lowering passes buffers of exactly
these types to the kernel, and `passes.analysis.liveness` counts them before anything is lowered.

    @uses_scratch(graph.WinogradConvOp)
    def winograd_scratch(op, cpu):
        return [TensorType((elements,), np.dtype(np.float32))]
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph
from ...dialects.symbolic import Dim


@dataclass(frozen=True)
class Prepared:
    """A tensor that an op computes, from its operand `x`, before its result."""

    type_: graph.TensorType
    in_place_of_x: bool = False
    """True if it is read instead of `x`, False if beside it."""
    is_border: bool = False
    """True if it is `x` with a border, which is filled first."""


Rule = TypeVar("Rule", bound=Callable[..., Any])

_scratch: dict[str, Callable[[Any, CpuModel], Sequence[graph.TensorType]]] = {}
_prepared: dict[str, Callable[[Any, CpuModel], Prepared | None]] = {}


def uses_scratch(*op_classes: type[graph.GraphOp]) -> Callable[[Rule], Rule]:
    """Register a function that gives the scratch of `op_classes` on a CPU."""
    return _register(_scratch, op_classes)


def prepares(*op_classes: type[graph.GraphOp]) -> Callable[[Rule], Rule]:
    """Register a function that gives the tensor that `op_classes` compute before their result on a
    CPU, or None."""
    return _register(_prepared, op_classes)


def scratch_of(op: graph.GraphOp, cpu: CpuModel) -> list[graph.TensorType]:
    """The scratch that `op` needs while `cpu` computes its result; the rules must be loaded."""
    rule = _scratch.get(op.OPERATION_NAME)
    return [] if rule is None else list(rule(op, cpu))


def prepared_by(op: graph.GraphOp, cpu: CpuModel) -> Prepared | None:
    """The tensor that `op` computes before its result on `cpu`, or None; the rules must be
    loaded."""
    rule = _prepared.get(op.OPERATION_NAME)
    return None if rule is None else rule(op, cpu)


def _register(rules: dict[str, Any], op_classes: Sequence[Any]) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        for op_class in op_classes:
            rules[op_class.OPERATION_NAME] = rule
        return rule

    return register


def floats(*sizes: int | Dim) -> graph.TensorType:
    """The type of a scratch buffer of `sizes` f32 elements."""
    return graph.TensorType(sizes, np.dtype(np.float32))
