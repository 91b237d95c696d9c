"""Layer and RMS normalisation that exporters decompose.

Only the core is recognised here; scale and bias are folded one by one (`fold_into_norm`), so that
every combination of the parts is covered.
"""

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ...infra.query import constant_array, producer
from ...infra.rewrite import Rewrite
from .fold_into_norm import fitted
from .moments import Scaled, centred_operand, scaled_by_deviation
from .uses import used_elsewhere


class _Norm(Rewrite):
    """``d / sqrt(mean(d ** 2) + epsilon)``, times constants."""

    root = (graph.MulOp, graph.DivOp)

    def check(
        self, op: graph.BinaryOp, *, x: ir.Value, start: ir.Value, scaled: Scaled
    ) -> str | None:
        type_ = graph.type_of(x)
        if graph.type_of(op.result).shape != type_.shape:
            return "its factors broadcast the operand to another shape"
        if scaled.axes != tuple(range(type_.rank - len(scaled.axes), type_.rank)):
            return f"it normalises axes {list(scaled.axes)}, which are not the last ones"
        if _scale(scaled, type_) is None:
            return "a factor is not a constant that broadcasts to the normalised axes"
        return used_elsewhere(op, [x], start)

    def rewrite(
        self, op: graph.BinaryOp, *, x: ir.Value, start: ir.Value, scaled: Scaled
    ) -> ir.Value:
        result = graph.type_of(op.result).dtype
        if result.itemsize > graph.type_of(x).dtype.itemsize:
            x = graph.cast(x, to=result)
        scale = _scale(scaled, graph.type_of(x))
        assert scale is not None
        value = self.build(x, graph.constant(value=scale), scaled)
        return value if value.type == op.result.type else graph.cast(value, to=result)

    def build(self, x: ir.Value, scale: ir.Value, scaled: Scaled) -> ir.Value:
        raise NotImplementedError


class LayerNorm(_Norm):
    """``(x - mean(x)) / sqrt(mean((x - mean(x)) ** 2) + epsilon)  -->  layer_norm(x, ones)``.

    Also by ``rsqrt``, ``reciprocal`` or powers, with constant factors in between, and in f32
    between conversions. Exact but for rounding.
    """

    name = "recognize-layer-norm"

    def pattern(self, op):
        scaled = scaled_by_deviation(op.result)
        found = None if scaled is None else centred_operand(scaled.d, scaled.axes)
        if scaled is None or scaled.degree != 1 or found is None:
            return None
        return {"x": found[0], "start": found[1], "scaled": scaled}

    def build(self, x, scale, scaled):
        axis = graph.type_of(x).rank - len(scaled.axes)
        return graph.layer_norm(x, scale, None, axis=axis, epsilon=scaled.epsilon)


class RmsNorm(_Norm):
    """``x / sqrt(mean(x ** 2) + epsilon)  -->  rms_norm(x, ones)``; forms as for `LayerNorm`.

    Exact but for rounding.
    """

    name = "recognize-rms-norm"

    def pattern(self, op):
        scaled = scaled_by_deviation(op.result)
        if scaled is None or scaled.degree != 1:
            return None
        if centred_operand(scaled.d, scaled.axes) is not None:
            return None
        return {"x": scaled.d, "start": scaled.mean, "scaled": scaled}

    def build(self, x, scale, scaled):
        axis = graph.type_of(x).rank - len(scaled.axes)
        return graph.rms_norm(x, scale, axis=axis, epsilon=scaled.epsilon)


class LayerNormAsLine(LayerNorm):
    """``x * inv + (beta - mean(x) * inv)  -->  layer_norm(x, gamma, None) + beta``.

    Here ``inv = gamma / sqrt(mean((x - mean(x)) ** 2) + epsilon)``. Exact but for rounding.
    """

    name = "recognize-layer-norm-as-line"
    root = graph.AddOp

    def pattern(self, op: graph.BinaryOp):
        for slope, rest in ((op.a, op.b), (op.b, op.a)):
            line, shift = producer(slope, graph.MulOp), producer(rest, graph.SubOp)
            shifted = None if shift is None else producer(shift.b, graph.MulOp)
            if line is None or shift is None or shifted is None:
                continue
            for x, inv in ((line.a, line.b), (line.b, line.a)):
                mean = _other(shifted, inv)
                scaled = None if mean is None else scaled_by_deviation(inv)
                if scaled is None or scaled.degree != 0:
                    continue
                if centred_operand(scaled.d, scaled.axes) == (x, mean):
                    return {"x": x, "start": mean, "scaled": scaled, "beta": shift.a}
        return None

    def check(self, op: graph.BinaryOp, *, beta, **captures):
        return super().check(op, **captures)

    def rewrite(self, op: graph.BinaryOp, *, beta, **captures):
        return graph.add(super().rewrite(op, **captures), beta)


REWRITES = (LayerNorm, LayerNormAsLine, RmsNorm)


def _scale(scaled: Scaled, x: graph.TensorType) -> np.ndarray | None:
    """The constant factors as one array of the element type of `x`."""
    total = np.asarray(scaled.coefficient)
    inner = x.shape[x.rank - len(scaled.axes) :]
    for factor in scaled.factors:
        array = constant_array(factor)
        array = None if array is None else fitted(array, inner)
        if array is None:
            return None
        total = total * array.astype(np.float64)
    return total.astype(x.dtype)


def _other(op: graph.BinaryOp, operand: ir.Value) -> ir.Value | None:
    """The other operand of a binary op, if `operand` is one of the two; else None."""
    return op.b if op.a == operand else op.a if op.b == operand else None
