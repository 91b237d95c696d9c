"""Recurrences with quantized weights."""

from ....dialects import graph
from ....mlir import ir
from ..operators.quantization import dequantize, dynamic_quantize_linear
from ..operators.recurrent import RecurrentAttributes, RecurrentLayer, lstm_of, part
from .quantized_matmul import matmul_integer_to_float
from .registry import microsoft_op


@microsoft_op("DynamicQuantizeLSTM")
def dynamic_quantize_lstm(
    x, w, r, bias=None, sequence_lens=None, initial_h=None, initial_c=None, peepholes=None,
    w_scale=None, w_zero=None, r_scale=None, r_zero=None, *,
    activation_alpha=(), activation_beta=(), activations=None, clip=None, direction="forward",
    hidden_size=None, input_forget=0,
):  # fmt: skip
    """`LSTM` with weights ``[directions, inputs, 4 H]``, each direction or column with a scale.

    The inputs are quantized over their range, and the output of each sequence and step over its
    own. ONNX Runtime takes one range for the sequences of a thread: results are the same for a
    batch of one, and more accurate for a larger one.
    """
    del hidden_size
    attributes = RecurrentAttributes(
        activations, activation_alpha, activation_beta, clip, direction, layout=0
    )
    scale, r = _given(w_scale), _dequantized(r, _given(r_scale), r_zero)
    layer = _QuantizedLayer(x, w, scale, w_zero, r, bias, sequence_lens, attributes)
    return lstm_of(layer, attributes, (initial_h, initial_c), peepholes, input_forget)


class _QuantizedLayer(RecurrentLayer):
    """A layer whose inputs and states are quantized, and whose weights for inputs are integers."""

    quantizes_state = True

    def __init__(
        self,
        x: ir.Value,
        w: ir.Value,
        scale: ir.Value,
        zero: ir.Value | None,
        r: ir.Value,
        bias: ir.Value | None,
        lengths: ir.Value | None,
        attributes: RecurrentAttributes,
    ):
        super().__init__(x, w, r, bias, lengths, attributes)
        self.quantized, self.x_scale, self.x_zero = dynamic_quantize_linear(x)
        self.scale, self.zero = scale, zero

    def gates(self, direction: int, bias: ir.Value | None) -> ir.Value:
        """See `RecurrentLayer`."""
        zero = None if self.zero is None else part(self.zero, direction)
        return matmul_integer_to_float(
            self.quantized, part(self.w, direction), self.x_scale, part(self.scale, direction),
            self.x_zero, zero, bias,
        )  # fmt: skip


def _given(scale: ir.Value | None) -> ir.Value:
    if scale is None:
        raise graph.TypeRuleError("a scale of the weights is left out")
    return scale


def _dequantized(x: ir.Value, scale: ir.Value, zero: ir.Value | None) -> ir.Value:
    """The floats, ``[directions, 4 H, inputs]``."""
    zero = None if zero is None else _per_column(zero)
    return graph.transpose(dequantize(x, _per_column(scale), zero), perm=[0, 2, 1])


def _per_column(value: ir.Value) -> ir.Value:
    directions, *columns = graph.type_of(value).shape
    return graph.reshape(value, shape=[directions, 1, *(columns or [1])])
