"""Ops that are linear in constant weights: convolutions and matmuls, with their bias."""

from dataclasses import dataclass

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..infra.query import constant_array, has_one_use, producer
from ..infra.rewrite import Decline

LinearOp = graph.ConvOp | graph.ConvTransposeOp | graph.MatmulOp
LINEAR_OPS = (graph.ConvOp, graph.ConvTransposeOp, graph.MatmulOp)


@dataclass(frozen=True)
class Linear:
    """``op(x, weights) + bias``; `bias` has one element per channel, or is None."""

    op: LinearOp
    weights: ir.Value
    bias: np.ndarray | None
    outer: ir.Value
    """The value with the bias added."""

    @property
    def x(self) -> ir.Value:
        """The operand that the weights multiply."""
        return self.op.a if isinstance(self.op, graph.MatmulOp) else self.op.x

    @property
    def type(self) -> graph.TensorType:
        return graph.type_of(self.op.result)

    @property
    def axis(self) -> int:
        """The axis of the result's channels."""
        first = self.op.attrs.get("layout") == "channels_first"
        return 1 if first else self.type.rank - 1

    @property
    def channels(self) -> int:
        """The number of channels, which is static because weights are constant."""
        size = self.type.shape[self.axis]
        assert isinstance(size, int)
        return size

    @property
    def array(self) -> np.ndarray:
        """The data of the weights."""
        array = constant_array(self.weights)
        assert array is not None
        return array

    def problem(self) -> str | None:
        """The reason to leave the weights unchanged, or None."""
        if not has_one_use(self.weights):
            return "the weights are shared"
        return self.use_problem()

    def use_problem(self) -> str | None:
        """The reason not to fold the following op, or None."""
        if not has_one_use(self.op.result) or not has_one_use(self.outer):
            return "what it is applied to is used elsewhere"
        return None

    def scaled(self, factor: np.ndarray) -> np.ndarray:
        """The weights times `factor` (f64, one per channel), rounded once."""
        wide = np.multiply(self.array, self._expanded(factor), dtype=np.float64)
        return in_range(wide, self.array.dtype)

    def _expanded(self, factor: np.ndarray) -> np.ndarray:
        """`factor` in a shape that broadcasts to the weights."""
        if isinstance(self.op, graph.ConvTransposeOp):  # [C, F / groups, kernel...]
            inputs, _, *kernel = self.array.shape
            groups = self.op.attrs["groups"]
            rows = np.repeat(factor.reshape(groups, -1), inputs // groups, axis=0)
            return rows.reshape(*rows.shape, *[1] * len(kernel))
        if self.axis == 1 and isinstance(self.op, graph.ConvOp):  # [F, C / groups, kernel...]
            return factor.reshape(-1, *[1] * (self.type.rank - 1))
        return factor  # channels are the last axis

    def rebuilt(self, weights: np.ndarray, bias: np.ndarray | None) -> ir.Value:
        """Build the op with other weights, and with a bias unless that is None."""
        shift = None if bias is None else channel_constant(bias, self.type, self.axis)
        w = graph.constant(value=weights)
        if isinstance(self.op, graph.MatmulOp):
            result = graph.matmul(self.op.a, w)
        elif isinstance(self.op, graph.ConvOp):
            result = graph.conv(self.op.x, w, **self.op.attrs)
        else:
            result = graph.conv_transpose(self.op.x, w, **self.op.attrs)
        return result if shift is None else graph.add(result, shift)


def linear(value: ir.Value) -> Linear | None:
    """Read `value` as a linear op with constant weights, with or without a bias."""
    bare = _linear_op(value)
    if bare is not None:
        return Linear(bare, _weights(bare), None, value)
    add = producer(value, graph.AddOp)
    for inner, other in ((add.a, add.b), (add.b, add.a)) if add is not None else ():
        op = _linear_op(inner)
        if op is None or inner.type != value.type:
            continue
        found = Linear(op, _weights(op), None, value)
        bias = channel_vector(other, found.type, found.axis)
        return None if bias is None else Linear(op, found.weights, bias, value)
    return None


def channel_vector(value: ir.Value, type_: graph.TensorType, axis: int) -> np.ndarray | None:
    """A constant that broadcasts to `type_` along `axis` only, as one f64 number per channel."""
    array = constant_array(value)
    if array is None or array.ndim > type_.rank:
        return None
    full = array.reshape((1,) * (type_.rank - array.ndim) + array.shape)
    if any(size != 1 for i, size in enumerate(full.shape) if i != axis):
        return None
    return np.broadcast_to(full.ravel().astype(np.float64), (graph.static_size(type_.shape[axis]),))


def channel_constant(vector: np.ndarray, type_: graph.TensorType, axis: int) -> ir.Value:
    """The constant that broadcasts `vector` along `axis` of a tensor of `type_`."""
    shaped = vector.reshape(-1, *[1] * (type_.rank - 1 - axis))
    return graph.constant(value=in_range(shaped, type_.dtype))


def in_range(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Round `array` to `dtype`. Raises Decline if an element becomes infinite or NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = array.astype(dtype)
    if not np.isfinite(rounded.astype(np.float64, copy=False)).all():
        raise Decline(f"the constants would leave the range of {dtype}")
    return rounded


def _linear_op(value: ir.Value) -> LinearOp | None:
    op = producer(value, LINEAR_OPS)
    if op is None or not graph.is_float(graph.type_of(value).dtype):
        return None
    return op if producer(_weights(op), graph.ConstantOp) is not None else None


def _weights(op: LinearOp) -> ir.Value:
    return op.b if isinstance(op, graph.MatmulOp) else op.w
