"""Scalar rules: the lowering of elementwise ops for one element.

A scalar rule receives the op and one lowered scalar per operand and returns the result scalar.
Because the rules contain no loops, single ops, fused elementwise groups and the epilogues of
contractions share them. In the epilogue of a kernel of graphc's own, a rule receives vectors in
place of scalars, if it is known to work on these.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects import graph
from ...mlir import ir
from .conversion import computable, convert_scalar

Scalar = ir.Value
ScalarRule = Callable[..., Scalar]

NOT_F32 = "its operands or its result are no f32"
IN_F64 = "it computes in scalars of f64"
UNMEASURED = "rare in epilogues, where its speed is unmeasured"
VECTOR_TYPES = frozenset(
    map(np.dtype, (np.float32, np.int32, np.int16, np.uint16, np.int8, np.uint8))
)
"""Element types of the vectors in epilogues."""
INTEGERS = frozenset(map(np.dtype, ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")))
SHORT_FLOATS = frozenset(map(np.dtype, (np.float16, np.float32)))
NUMBERS = INTEGERS | SHORT_FLOATS | {np.dtype(np.float64)}
"""Without bf16, for vectors of which LLVM calls functions that no kernel is linked with."""
NO_TYPES = frozenset[np.dtype]()


@dataclass(frozen=True)
class _Entry:
    """A scalar rule and what is known of it; see `scalar_rule`."""

    rule: ScalarRule
    vector: graph.Fact
    on_bits: bool
    any_vector: bool
    plain: frozenset[np.dtype]


_rules: dict[str, _Entry] = {}


def scalar_rule(
    *op_classes: type[graph.GraphOp],
    vector: graph.Fact,
    on_bits: bool = False,
    any_vector: bool = False,
    plain: frozenset[np.dtype] = NO_TYPES,
) -> Callable[[ScalarRule], ScalarRule]:
    """Register the decorated function as the scalar rule of `op_classes`.

    `vector` is True if kernels may apply the rule to vectors of f32 in their epilogues, or the
    reason why not; with `any_vector` to vectors of `VECTOR_TYPES`, too. Kernels of elementwise ops
    alone may apply it to vectors of the types that are `plain`, as well. A rule `on_bits` gets
    small types (`graph.is_bit_pattern`) as bit patterns, others in a type that is computable.
    """

    def register(rule: ScalarRule) -> ScalarRule:
        for op_class in op_classes:
            _rules[op_class.OPERATION_NAME] = _Entry(rule, vector, on_bits, any_vector, plain)
        return rule

    return register


def registered() -> list[Any]:
    """The rules registered so far."""
    return [entry.rule for entry in _rules.values()]


def vector_fact(op_class: type[graph.GraphOp]) -> graph.Fact:
    """True if the scalar rule of `op_class` works on vectors of f32, or the reason why not."""
    return _rules[op_class.OPERATION_NAME].vector


def vector_fact_of(op: graph.GraphOp) -> graph.Fact:
    """True if the scalar rule of `op` works on vectors of its element types, or the reason why
    not."""
    values = [*op.operation.operands, *op.operation.results]
    dtypes = {graph.element_dtype_of(value) for value in values}
    if dtypes == {np.dtype(np.float32)}:
        return vector_fact(type(op))
    if not _rules[op.OPERATION_NAME].any_vector:
        return NOT_F32
    return True if dtypes <= VECTOR_TYPES else "kernels have no vectors of its types"


def plain_vector_fact(op: graph.GraphOp) -> graph.Fact:
    """True if the scalar rule of `op` works on vectors of its element types in a kernel of
    elementwise ops alone, or the reason why not. Short floats are computed in f32."""
    values = [*op.operation.operands, *op.operation.results]
    dtypes = {graph.element_dtype_of(value) for value in values}
    fact = vector_fact(type(op)) if dtypes <= SHORT_FLOATS else vector_fact_of(op)
    return True if dtypes <= _rules[op.OPERATION_NAME].plain else fact


def apply_scalar_rule(op: graph.GraphOp, operands: list[Scalar]) -> Scalar:
    """The result of `op` for one element."""
    entry = _rules[op.operation.name]
    rule = entry.rule
    values = [*op.operation.operands, *op.operation.results]
    dtypes = [graph.element_dtype_of(value) for value in values]
    if entry.on_bits or not any(map(graph.is_bit_pattern, dtypes)):
        return rule(op, *operands)
    pairs = [computable(x, dtype) for x, dtype in zip(operands, dtypes, strict=False)]
    result = rule(op, *[x for x, _ in pairs])
    computed = pairs[0][1] if dtypes[-1] == dtypes[0] else dtypes[-1]
    return convert_scalar(result, computed, dtypes[-1])
