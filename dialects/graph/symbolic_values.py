"""Symbolic evaluation at compile time: the elements of small integer tensors as sizes.

Models compute shapes in the graph (Shape, Gather, Concat, Reshape). Running the ops' own numpy
semantics on arrays of `Dim` objects gives the elements of such a tensor as integers and symbolic
dimensions, without a special analysis per op. Only the ops whose numpy semantics read the value of
an element have an entry below.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...mlir import ir
from ..assumptions import using_assumptions
from ..symbolic import (
    LONG,
    Dim,
    UndecidableError,
    at_least,
    decide_equal,
    floordiv,
    maximum,
    minimum,
)
from .base import GraphOp, graph_op, map_group
from .casts import CastOp
from .elementwise import (
    AbsOp,
    AddOp,
    EqualOp,
    GreaterOp,
    GreaterOrEqualOp,
    LessOp,
    LessOrEqualOp,
    MaxOp,
    MinOp,
    MulOp,
    NegOp,
    SubOp,
    WhereOp,
)
from .indexing import GatherOp
from .movement import ConcatOp, ExpandOp, ReshapeOp, SliceOp, TransposeOp
from .shapes import BindSizesOp, ConstantOp
from .types import TensorType, bit_width, is_float, is_unsigned, type_of

EXACT = {np.dtype(np.float32): 1 << 24, np.dtype(np.float64): 1 << 53}
"""Magnitudes up to which floats hold every integer."""

_MOVING_OPS = (CastOp, ConcatOp, ExpandOp, GatherOp, ReshapeOp, SliceOp, TransposeOp)
"""Ops each element of whose results is one of an operand."""

_EXACT_OPS = (
    *_MOVING_OPS,
    ConstantOp,
    WhereOp,
    AbsOp,
    AddOp,
    MaxOp,
    MinOp,
    MulOp,
    NegOp,
    SubOp,
    EqualOp,
    GreaterOp,
    GreaterOrEqualOp,
    LessOp,
    LessOrEqualOp,
)
"""Ops whose results are integers where operands are floats that hold integers."""

MAX_ELEMENTS = 64
"""Larger tensors are data, not sizes."""

_MAX_EXPONENT = 64


def symbolic_value(value: ir.Value) -> np.ndarray | None:
    """The elements of `value` as an object array of ``int`` and `Dim`, or None when unknown.

    Looks through the ops that compute `value`; its shape is the tensor's.
    """
    array = _elements(value)
    return None if _has_unknown(array) else array


def known_elements(value: ir.Value) -> tuple[int | Dim | None, ...] | None:
    """As `known_sizes`, with None for each element that is unknown; None where all are."""
    array = _elements(value)
    return None if array is None else tuple(array.ravel())


def _elements(value: ir.Value) -> np.ndarray | None:
    with using_assumptions():
        return _Evaluation().value(value)


def known_sizes(value: ir.Value) -> tuple[int | Dim, ...] | None:
    """The elements of a tensor of rank 0 or 1, flattened, or None when unknown."""
    array = symbolic_value(value)
    return None if array is None else tuple(array.ravel())


class _Evaluation:
    """One query; remembers what it computed on the way. An unknown element is None."""

    def __init__(self) -> None:
        self._known: dict[ir.Value, np.ndarray | None] = {}

    def value(self, value: ir.Value) -> np.ndarray | None:
        """The elements of `value`. Without recursion: programs may be as long as they like."""
        pending = [_Step(value)]
        while pending:
            step = pending[-1]
            wanted = [each for each in step.operands if each not in self._known]
            if wanted:
                pending += map(_Step, wanted)
            else:
                self._known[step.value] = self._compute(pending.pop())
        return self._known[value]

    def _compute(self, step: "_Step") -> np.ndarray | None:
        op = step.op
        if op is None:
            return None
        if isinstance(op, BindSizesOp):
            return self._bound(op)
        if not op.operand_names:
            return _as_sizes(type(op).evaluate(**op.attrs), step.type)
        if any(_has_unknown(self._known.get(each)) for each in step.operands):
            return self._moved(op, step.type)
        groups = [map_group(self._known.get, group) for group in op.operand_groups.values()]
        return _evaluate(op, groups, step.type)

    def _moved(self, op: GraphOp, type_: TensorType) -> np.ndarray | None:
        """The result of `op`, of whose operands some elements are unknown."""
        if not isinstance(op, _MOVING_OPS):
            return None
        groups = [map_group(self._operand, group) for group in op.operand_groups.values()]
        return _evaluate(op, groups, type_)

    def _operand(self, value: ir.Value) -> np.ndarray:
        known = self._known.get(value)
        return np.full(type_of(value).static_shape, None) if known is None else known

    def _bound(self, op: BindSizesOp) -> np.ndarray:
        known = self._known.get(op.x)
        if known is not None and not _has_unknown(known):
            return known
        names = np.array([Dim.symbol(name) for name in op.attrs["names"]], dtype=object)
        return names.reshape(type_of(op.x).static_shape)


class _Step:
    """A value to evaluate: the op that computes it, if its elements may be sizes, and the op's
    operands."""

    def __init__(self, value: ir.Value):
        self.value = value
        self.type = type_of(value)
        self.op = graph_op(value.owner)
        self.operands: list[ir.Value] = []
        if self.op is None or not may_hold_sizes(self.type) or len(self.op.operation.regions):
            self.op = None
            return
        operands = list(self.op.operation.operands)
        binds = isinstance(self.op, BindSizesOp)
        if all(may_hold_sizes(type_of(each)) for each in operands):
            self.operands = operands
        elif not binds:
            self.op = None
        if self.op is not None and not binds and not self._is_known_to_be_exact(self.op):
            self.op, self.operands = None, []

    def _is_known_to_be_exact(self, op: GraphOp) -> bool:
        types = (self.type, *map(type_of, self.operands))
        is_exact = isinstance(op, _EXACT_OPS) or not any(is_float(type_.dtype) for type_ in types)
        return op.pure and is_exact


def may_hold_sizes(type_: TensorType) -> bool:
    """Return whether the elements of values of `type_` may be sizes that are computed with."""
    if not type_.is_static or (is_float(type_.dtype) and type_.dtype not in EXACT):
        return False
    return math.prod(type_.static_shape) <= MAX_ELEMENTS


def _has_unknown(array: np.ndarray | None) -> bool:
    return array is None or any(element is None for element in array.ravel())


def _evaluate(op: GraphOp, operands: list[Any], type_: TensorType) -> np.ndarray | None:
    meaning = _MEANINGS.get(op.operation.name, type(op).evaluate)
    try:
        return _as_sizes(meaning(*operands, **op.attrs), type_)
    except (UndecidableError, TypeError, ValueError, AttributeError, ArithmeticError, LookupError):
        return None  # this op's meaning needs the value of a symbolic element, or there is none


def _as_sizes(array: Any, type_: TensorType) -> np.ndarray | None:
    """`array` with elements that are sizes; None if one does not fit the type, or its formula is
    too long."""
    array = np.asarray(array)
    if array.dtype == object:
        return array if all(_fits(element, type_) for element in array.ravel()) else None
    if is_float(array.dtype) and not all(float(number).is_integer() for number in array.ravel()):
        return None
    sizes = np.empty(array.shape, dtype=object)
    sizes[...] = np.vectorize(int, otypes=[object])(array) if array.size else array
    return sizes


def _fits(element: Any, type_: TensorType) -> bool:
    if type_.dtype in EXACT:
        return _is_exact(element, type_.dtype)
    if isinstance(element, Dim):
        return element.atoms <= LONG
    if not isinstance(element, int) or type_.dtype == np.bool_:
        return True
    bits = bit_width(type_.dtype)
    low, high = (0, 1 << bits) if is_unsigned(type_.dtype) else (-1 << bits - 1, 1 << bits - 1)
    return low <= element < high


def _is_exact(element: Any, dtype: np.dtype) -> bool:
    """Return whether `element` is an integer that floats of `dtype` hold, whatever the sizes."""
    if isinstance(element, Dim):
        most = EXACT[dtype]
        return element.atoms <= LONG and at_least(most, element) and at_least(element, -most)
    return isinstance(element, int) and int(dtype.type(element)) == element


def _elementwise(function: Callable[..., Any], count: int) -> Callable[..., np.ndarray]:
    """A function of `count` elements as one of arrays."""

    def call(*operands: np.ndarray, **attrs: Any) -> np.ndarray:
        del attrs
        return np.frompyfunc(function, count, 1)(*operands)

    return call


def _unary(function: Callable[[int | Dim], int | Dim]) -> Callable[..., np.ndarray]:
    return _elementwise(function, 1)


def _binary(function: Callable[[int | Dim, int | Dim], int | Dim]) -> Callable[..., np.ndarray]:
    return _elementwise(function, 2)


def _reduction(function: Callable[[int | Dim, int | Dim], int | Dim]) -> Callable[..., np.ndarray]:
    """A reduction of arrays by `function`, along one axis after the other."""

    def call(x: np.ndarray, *, axes: tuple[int, ...], keepdims: bool) -> np.ndarray:
        for axis in axes:
            x = np.frompyfunc(function, 2, 1).reduce(x, axis=axis, keepdims=True)
        return x if keepdims else x.squeeze(axes)

    return call


def _divide(a: int | Dim, b: int | Dim) -> int | Dim:
    if isinstance(b, int) and b == 0:
        raise UndecidableError("division by zero")
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    if not (at_least(a, 0) and at_least(b, 0)):
        raise UndecidableError("division rounds towards zero, and a sign is unknown")
    return floordiv(a, b)


def _less(a: int | Dim, b: int | Dim) -> bool:
    if at_least(a, b):
        return False
    if at_least(b, a + 1):
        return True
    raise UndecidableError(f"whether {a} is less than {b} depends on the sizes")


def _not(a: int | Dim) -> bool:
    return decide_equal(a, 0)


def _choose(condition: int | Dim, a: int | Dim, b: int | Dim) -> int | Dim:
    return a if not _not(condition) else b


def _power(a: int | Dim, b: int | Dim) -> int | Dim:
    if not isinstance(b, int) or not 0 <= b <= _MAX_EXPONENT:
        raise UndecidableError("a symbolic exponent, or a large one")
    product: int | Dim = 1
    for _ in range(b):
        product = product * a
    return product


def _same(x: np.ndarray, **attrs: Any) -> np.ndarray:
    del attrs
    return x


_MEANINGS: dict[str, Callable[..., Any]] = {
    "graph.cast": _same,
    "graph.div": _binary(_divide),
    "graph.max": _binary(maximum),
    "graph.min": _binary(minimum),
    "graph.reduce_max": _reduction(maximum),
    "graph.reduce_min": _reduction(minimum),
    "graph.pow": _binary(_power),
    "graph.equal": _binary(lambda a, b: int(decide_equal(a, b))),
    "graph.less": _binary(lambda a, b: int(_less(a, b))),
    "graph.greater": _binary(lambda a, b: int(_less(b, a))),
    "graph.less_or_equal": _binary(lambda a, b: int(not _less(b, a))),
    "graph.greater_or_equal": _binary(lambda a, b: int(not _less(a, b))),
    "graph.not": _unary(lambda a: int(_not(a))),
    "graph.and": _binary(lambda a, b: int(not _not(a) and not _not(b))),
    "graph.or": _binary(lambda a, b: int(not _not(a) or not _not(b))),
    "graph.where": _elementwise(_choose, 3),
}
