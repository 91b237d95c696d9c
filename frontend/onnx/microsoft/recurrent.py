"""Recurrences with quantized weights."""

from typing import Any

from ....dialects import graph
from ....mlir import ir
from ..operators.quantization import dequantize
from ..operators.recurrent import lstm
from .registry import microsoft_op


@microsoft_op("DynamicQuantizeLSTM")
def dynamic_quantize_lstm(
    x,
    w,
    r,
    bias=None,
    sequence_lens=None,
    initial_h=None,
    initial_c=None,
    peepholes=None,
    w_scale=None,
    w_zero=None,
    r_scale=None,
    r_zero=None,
    **attributes: Any,
):
    """`LSTM` with weights ``[directions, inputs, 4 H]``, each direction or column with a scale.

    The activations stay in floats, which is more accurate than the operator requires.
    """
    w, r = _weights(w, w_scale, w_zero), _weights(r, r_scale, r_zero)
    return lstm(x, w, r, bias, sequence_lens, initial_h, initial_c, peepholes, **attributes)


def _weights(x: ir.Value, scale: ir.Value | None, zero: ir.Value | None) -> ir.Value:
    """The floats, ``[directions, 4 H, inputs]``."""
    if scale is None:
        raise graph.TypeRuleError("a scale of the weights is left out")
    zero = None if zero is None else _per_column(zero)
    return graph.transpose(dequantize(x, _per_column(scale), zero), perm=[0, 2, 1])


def _per_column(value: ir.Value) -> ir.Value:
    directions, *columns = graph.type_of(value).shape
    return graph.reshape(value, shape=[directions, 1, *(columns or [1])])
