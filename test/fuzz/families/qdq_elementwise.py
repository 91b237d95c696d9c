"""QDQ graphs: elementwise operators and normalisations between DequantizeLinear and
QuantizeLinear."""

import numpy as np

from ..builder import GraphBuilder
from ..draw_registry import QDQ, draws
from ..drawn_values import Value
from ..node_evaluation import Rejected
from ..qdq.quantized_values import (
    BYTES,
    coding_of,
    dequantized,
    fed_integers,
    quantize,
    quantized,
)

_ALL = (*BYTES, "int16", "uint16", "int4", "uint4")


def _partner(b: GraphBuilder, p: Value) -> Value:
    """A quantised value that broadcasts with `p`; often one of its shape."""

    def fits(v: Value) -> bool:
        if v.name == p.name or v.dtype.name not in BYTES:
            return False
        return v.shape == p.shape or (v.rank <= p.rank and _broadcasts(v.shape, p.shape))

    found = b.find(fits) if b.chance(0.7) else None
    if found is not None:
        return found
    kept = p.shape[b.integer(0, p.rank) :] if b.chance(0.3) else p.shape
    shape = [1 if b.chance(0.1) else size for size in kept]
    return fed_integers(b, shape, b.choose(BYTES))


def _broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(a, b) == b
    except ValueError:
        return False


@draws(weight=6, since=13, family=QDQ)
def qdq_residual(b: GraphBuilder) -> None:
    """A sum, a product or another function of two values of different scales."""
    p = quantized(b, (1, 4))
    q = _partner(b, p)
    coding = coding_of(b, p)
    x = dequantized(b, p, coding)
    y = dequantized(b, q, coding if q.dtype == p.dtype and b.chance(0.3) else None)
    op_type = b.choose(("Add",) * 5 + ("Sub", "Mul", "Mul", "Max", "Min", "Div"))
    if op_type == "Div":
        (y,) = b.add("Abs", [y])
        (y,) = b.add("Add", [y, b.known(np.float32(0.7))])
    (y,) = b.add(op_type, [x, y] if b.chance(0.7) or op_type == "Div" else [y, x])
    if b.chance(0.3):
        (y,) = b.add("Relu", [y])
    quantize(b, y, coding)


_FUNCTIONS = (
    ("Sigmoid", 10), ("Tanh", 10), ("Erf", 10), ("Relu", 10), ("LeakyRelu", 10), ("Elu", 10),
    ("Selu", 10), ("HardSigmoid", 10), ("Softplus", 6), ("Softsign", 10), ("Neg", 10), ("Abs", 10),
    ("Exp", 4), ("Sin", 10), ("Cos", 10), ("Gelu", 10), ("Mish", 6), ("HardSwish", 10),
    ("Celu", 10), ("Floor", 10), ("Ceil", 10), ("Round", 10), ("Sign", 10),
)  # fmt: skip
"""Functions and the largest operands that they get."""
_SINCE = {"Gelu": 20, "Mish": 18, "HardSwish": 14}


def _function(b: GraphBuilder, x: Value) -> Value:
    op_type, largest = b.choose(_FUNCTIONS)
    if b.opset < _SINCE.get(op_type, 1) or np.abs(x.wide).max(initial=0) > largest:
        op_type = "Relu"
    attributes = {"approximate": b.choose(("none", "tanh"))} if op_type == "Gelu" else {}
    (y,) = b.add(op_type, [x], **attributes)
    return y


def _written_gelu(b: GraphBuilder, x: Value) -> Value:
    """GELU as exporters write it, by Erf."""
    (y,) = b.add("Div", [x, b.known(np.float32(1.4142135))])
    (y,) = b.add("Erf", [y])
    (y,) = b.add("Add", [y, b.known(np.float32(1))])
    (y,) = b.add("Mul", [x, y])
    (y,) = b.add("Mul", [y, b.known(np.float32(0.5))])
    return y


def _scaled(b: GraphBuilder, x: Value) -> Value:
    """A multiplication or an addition with a constant, of one element or one for each channel."""
    shape = b.choose(([], [], list(x.shape[-1:])))
    factor = b.new(shape, "float32", 0.2, 1.5, exact=False, weight=True)
    (y,) = b.add(b.choose(("Mul", "Add", "Sub", "Div")), [x, factor])
    return y


@draws(weight=5, since=13, family=QDQ)
def qdq_chain(b: GraphBuilder) -> None:
    """One to three functions of a value."""
    q = quantized(b, (0, 4), types=_ALL)
    coding = coding_of(b, q)
    x = dequantized(b, q, coding)
    for _ in range(b.integer(1, 3)):
        x = b.choose((_function, _function, _function, _scaled, _written_gelu))(b, x)
    quantize(b, x, coding)


@draws(weight=2, since=13, family=QDQ)
def qdq_softmax(b: GraphBuilder) -> None:
    """A softmax, quantised to its range of 0 to 1."""
    q = quantized(b, (1, 4))
    x = dequantized(b, q)
    (y,) = b.add("Softmax", [x], axis=b.axis(q.rank))
    quantize(b, y)


@draws(weight=2, since=17, family=QDQ)
def qdq_layer_norm(b: GraphBuilder) -> None:
    """A layer normalisation over the last axis."""
    q = quantized(b, (2, 4), lambda v: v.shape[-1] > 2)
    if q.shape[-1] < 2:
        raise Rejected("one element has no deviation")
    shape = [q.shape[-1]]
    scale = b.new(shape, "float32", 0.5, 1.5, exact=False, weight=True)
    shift = [b.new(shape, "float32", -1, 1, exact=False, weight=True)] if b.chance(0.7) else []
    (y,) = b.add("LayerNormalization", [dequantized(b, q), scale, *shift], axis=-1, epsilon=1e-3)
    quantize(b, y)


@draws(weight=3, since=13, family=QDQ)
def qdq_requantize(b: GraphBuilder) -> None:
    """A value quantised anew, with another scale or the same one."""
    q = quantized(b, (0, 4), types=_ALL)
    coding = coding_of(b, q)
    quantize(b, dequantized(b, q, coding), coding if b.chance(0.5) else None)


@draws(weight=2, since=13, family=QDQ)
def qdq_floats(b: GraphBuilder) -> None:
    """An input of floats, quantised."""
    x = b.new(b.shape(1, 4), "float32", weight=False)
    quantize(b, x)
