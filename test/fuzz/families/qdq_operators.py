"""QDQ graphs: operators on quantised tensors, of ONNX and of ONNX Runtime, and dynamic
quantisation."""

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..draw_registry import QDQ, draws
from ..drawn_values import Value
from ..qdq.quantized_values import (
    BYTES,
    Coding,
    coding_of,
    drawn_point,
    drawn_scale,
    extent,
    integers,
    quantized,
)
from .convolution import window

_MICROSOFT: dict[str, Any] = {"domain": "com.microsoft"}


def _operands(b: GraphBuilder, q: Value) -> list[Value]:
    """`q` with its scale and a zero point."""
    coding = coding_of(b, q)
    point = coding.point or b.known(np.zeros(coding.scale.shape, q.dtype))
    return [q, coding.scale, point]


def _weights(b: GraphBuilder, shape: list[int], x: Value, axis: int, k: int) -> list[Value]:
    """Weights with one scale and a zero point, or of i8 with one scale for each position on
    `axis`."""
    dtype = np.dtype("int8" if x.dtype == np.int8 else b.choose(("int8", "int8", "uint8")))
    count = [shape[axis]] if b.chance(0.5) else []
    scale = drawn_scale(b, 2.0 / (max(k, 1) ** 0.5 * 128), count)
    point = None if count else drawn_point(b, dtype)
    zero = np.zeros(count, dtype) if point is None else point
    if count and dtype == np.uint8:
        zero = np.full(count, 128, dtype)
    return [b.known(integers(b, shape, dtype)), b.known(scale), b.known(zero)]


def _to(b: GraphBuilder, dtype: np.dtype, size: float = 1.0) -> list[Value]:
    """The scale and the zero point of a result of magnitude `size`."""
    point = drawn_point(b, dtype)
    scale = b.known(drawn_scale(b, 4 * size / 255))
    return [scale, b.known(np.zeros((), dtype) if point is None else point)]


@draws(weight=2.5, since=13, family=QDQ)
def qlinear_conv(b: GraphBuilder) -> None:
    """QLinearConv, grouped or dense, with a bias."""
    q = quantized(b, (4, 4))
    channels = q.shape[1]
    groups = b.choose([g for g in (1, 1, 1, 2, channels) if channels % g == 0])
    features = groups * (b.integer(1, 2) if groups > 1 else extent(b))
    attributes = window(b, q)
    shape = [features, channels // groups, *attributes["kernel_shape"]]
    w = _weights(b, shape, q, 0, int(np.prod(shape[1:])))
    numbers = b.random.integers(-2000, 2001, features).astype(np.int32)
    extra = [b.known(numbers)] if b.chance(0.5) else []
    operands = [*_operands(b, q), *w, *_to(b, q.dtype, 8), *extra]
    b.add("QLinearConv", operands, group=groups, **attributes)


@draws(weight=2, since=13, family=QDQ)
def qlinear_matmul(b: GraphBuilder) -> None:
    """QLinearMatMul with constant weights."""
    q = quantized(b, (2, 3))
    k = q.shape[-1]
    w = _weights(b, [k, extent(b)], q, 1, k)
    b.add("QLinearMatMul", [*_operands(b, q), *w, *_to(b, q.dtype, 8)])


@draws(weight=1, since=13, family=QDQ)
def qgemm(b: GraphBuilder) -> None:
    """QGemm of ONNX Runtime, with a result of 8 bits or of floats."""
    q = quantized(b, (2, 2))
    k, turned, columns = q.shape[1], b.integer(0, 1), extent(b)
    w = _weights(b, [columns, k] if turned else [k, columns], q, 0 if turned else 1, k)
    numbers = b.random.integers(-2000, 2001, columns).astype(np.int32)
    extra: list[Value | None] = [b.known(numbers) if b.chance(0.6) else None]
    to = _to(b, q.dtype, 8) if b.chance(0.8) else []
    alpha = b.choose((1.0, 1.0, 0.5))
    operands = [*_operands(b, q), *w, *extra, *to]
    b.add("QGemm", operands, transB=turned, alpha=alpha, **_MICROSOFT)


@draws(weight=2.5, since=13, family=QDQ)
def qlinear_binary(b: GraphBuilder) -> None:
    """QLinearAdd and QLinearMul."""
    p = quantized(b, (1, 4))
    found = b.find(lambda v: v.shape == p.shape and v.dtype == p.dtype and v.name != p.name)
    q = found or b.fed(integers(b, p.shape, p.dtype), True)
    to = _to(b, p.dtype, 4)
    operands = [*_operands(b, p), *_operands(b, q), *to]
    b.add(b.choose(("QLinearAdd", "QLinearAdd", "QLinearMul")), operands, **_MICROSOFT)


@draws(weight=1.5, since=13, family=QDQ)
def qlinear_unary(b: GraphBuilder) -> None:
    """QLinearSigmoid, QLinearLeakyRelu and QLinearSoftmax."""
    q = quantized(b, (1, 4))
    op_type = b.choose(("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax"))
    attributes: dict[str, Any] = {}
    if op_type == "QLinearSoftmax":
        attributes = {"axis": b.axis(q.rank), "opset": b.opset}
    elif op_type == "QLinearLeakyRelu":
        attributes = {"alpha": b.choose((0.01, 0.1, 0.25))}
    to = _to(b, q.dtype, 0.25 if op_type != "QLinearLeakyRelu" else 4)
    b.add(op_type, [*_operands(b, q), *to], **attributes, **_MICROSOFT)


@draws(weight=1.5, since=13, family=QDQ)
def qlinear_pool(b: GraphBuilder) -> None:
    """QLinearAveragePool and QLinearGlobalAveragePool."""
    q = quantized(b, (4, 4))
    to = _to(b, q.dtype, 2)
    if b.chance(0.5):
        b.add("QLinearGlobalAveragePool", [*_operands(b, q), *to], channels_last=0, **_MICROSOFT)
        return
    attributes = window(b, q, dilated=False)
    b.add("QLinearAveragePool", [*_operands(b, q), *to], **attributes, **_MICROSOFT)


@draws(weight=1, since=13, family=QDQ)
def qlinear_concat(b: GraphBuilder) -> None:
    """QLinearConcat of two values."""
    p = quantized(b, (2, 4))
    axis = b.integer(0, p.rank - 1)
    shape = list(p.shape)
    shape[axis] = b.integer(1, 5)
    q = b.fed(integers(b, shape, p.dtype), True)
    operands = [*_to(b, p.dtype, 4), *_operands(b, p), *_operands(b, q)]
    b.add("QLinearConcat", operands, axis=axis, **_MICROSOFT)


def _dynamic(b: GraphBuilder, ranks: tuple[int, int]) -> tuple[Value, Value, Value]:
    """A float value, quantised to its own range, with its scale and zero point."""
    x = b.take(ranks, ("float32",), lambda v: v.size > 0, empty=False)
    q, scale, point = b.add("DynamicQuantizeLinear", [x], 3)
    return q, scale, point


@draws(weight=2, since=13, family=QDQ)
def dynamic_matmul(b: GraphBuilder) -> None:
    """DynamicQuantizeLinear and MatMulInteger, scaled back to floats, with a bias."""
    q, scale, point = _dynamic(b, (2, 3))
    k, columns = q.shape[-1], extent(b)
    dtype = np.dtype(b.choose(BYTES))
    w = b.known(integers(b, [k, columns], dtype))
    w_scale = b.known(drawn_scale(b, 2.0 / (k**0.5 * 128), b.choose(((), (columns,)))))
    points = [point, *([b.known(p)] if (p := drawn_point(b, dtype)) is not None else [])]
    (y,) = b.add("MatMulInteger", [q, w, *points])
    _rescale(b, y, scale, w_scale, [columns])


@draws(weight=1, since=13, family=QDQ)
def dynamic_conv(b: GraphBuilder) -> None:
    """DynamicQuantizeLinear and ConvInteger, scaled back to floats."""
    q, scale, point = _dynamic(b, (4, 4))
    attributes, features = window(b, q), b.integer(1, 17)
    shape = [features, q.shape[1], *attributes["kernel_shape"]]
    w = b.known(integers(b, shape, np.dtype(np.uint8)))
    points = [point, b.known(np.uint8(b.choose((0, 128, 130))))]
    (y,) = b.add("ConvInteger", [q, w, *points], **attributes)
    w_scale = b.known(drawn_scale(b, 2.0 / (np.prod(shape[1:]) ** 0.5 * 128)))
    _rescale(b, y, scale, w_scale, [features, 1, 1])


def _rescale(b: GraphBuilder, y: Value, scale: Value, w_scale: Value, bias: list[int]) -> None:
    (y,) = b.add("Cast", [y], to=1)
    (factor,) = b.add("Mul", [scale, w_scale])
    (y,) = b.add("Mul", [y, factor])
    if b.chance(0.6):
        (y,) = b.add("Add", [y, b.new(bias, "float32", -1, 1, exact=False, weight=True)])
    if b.chance(0.5):
        coding = Coding(b.known(drawn_scale(b, 0.02)), b.known(np.uint8(b.integer(100, 150))))
        b.add("QuantizeLinear", [y, *coding.operands])
