"""Operators on quantised tensors, written as the nodes that their documentation says they are.

ONNX Runtime's kernels are no reference for them:

- On CPUs with AVX2 and no VNNI, products of u8 and i8 are added in pairs of 16 bits, which saturate
  (VPMADDUBSW; microsoft/onnxruntime#16105). ONNX has them summed in i32. Here they are summed in
  float64, which is exact.
- QLinearAdd is computed by the quotients of the scales, QLinearSigmoid and QLinearLeakyRelu by a
  table, QLinearAveragePool by sums of floats. Their documentation gives the function of the
  dequantised operands, quantised.

ONNX leaves open how QLinearConv and QLinearMatMul scale their sums. As in ONNX Runtime and graphc,
it is by one factor of f32, ``x_scale * w_scale / y_scale``.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "com.microsoft"
_UNARY = {
    "QLinearSigmoid": "Sigmoid",
    "QLinearLeakyRelu": "LeakyRelu",
    "QLinearSoftmax": "Softmax",
    "QLinearAveragePool": "AveragePool",
    "QLinearGlobalAveragePool": "GlobalAveragePool",
}


class _Body:
    """Nodes for one result, in order."""

    def __init__(self, result: str):
        self.nodes: list[onnx.NodeProto] = []
        self._result = result

    def add(self, op_type: str, operands: Sequence[str], **attributes: Any) -> str:
        name = f"{self._result}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, list(operands), [name], **attributes))
        return name

    def constant(self, array: Any) -> str:
        return self.add("Constant", [], value=numpy_helper.from_array(np.asarray(array)))

    def finish(self) -> list[onnx.NodeProto]:
        """The nodes, of which the last one has the result."""
        self.nodes[-1].output[0] = self._result
        return self.nodes

    def without_zero(self, x: str, point: str) -> str:
        """``x - point`` of 8-bit integers in float64."""
        wide = self.add("Cast", [x], to=TensorProto.DOUBLE)
        if not point:
            return wide
        return self.add("Sub", [wide, self.add("Cast", [point], to=TensorProto.DOUBLE)])

    def integers(self, sums: str) -> str:
        return self.add("Cast", [sums], to=TensorProto.INT32)

    def rescaled(
        self, sums: str, scales: Sequence[str], to: Sequence[str], shape: list[int]
    ) -> str:
        """i32 `sums` times the product of `scales`, which broadcasts in `shape`; quantised if there
        is a scale and a zero point in `to`."""
        factor = self.add("Mul", scales)
        factor = self.add("Div", [factor, to[0]]) if to else factor
        factor = self.add("Reshape", [factor, self.constant(np.array(shape, np.int64))])
        y = self.add("Mul", [self.add("Cast", [sums], to=TensorProto.FLOAT), factor])
        one = self.constant(np.float32(1)) if to else ""
        return self.add("QuantizeLinear", [y, one, to[1]]) if to else y


def body_of(node: onnx.NodeProto) -> list[onnx.NodeProto] | None:
    """The nodes that `node` stands for; None if it stands for itself."""
    operands = [*node.input, *[""] * 9]
    write = _WRITERS.get(node.op_type)
    if write is not None:
        body = _Body(node.output[0])
        write(body, node, operands)
        return body.finish()
    if node.op_type in _UNARY:
        return _of_floats(node, _UNARY[node.op_type], [operands[:3]], operands[3:5])
    if node.op_type == "QLinearAdd":
        return _of_floats(node, "Add", [operands[:3], operands[3:6]], operands[6:8])
    if node.op_type == "QLinearConcat":
        groups = [node.input[at : at + 3] for at in range(2, len(node.input), 3)]
        return _of_floats(node, "Concat", groups, operands[:2])
    return None


def _of_floats(
    node: onnx.NodeProto, op_type: str, groups: Sequence[Sequence[str]], to: Sequence[str]
) -> list[onnx.NodeProto]:
    body = _Body(node.output[0])
    parts = [body.add("DequantizeLinear", group) for group in groups]
    y = body.add(op_type, parts, **_attributes(node, "opset", "channels_last"))
    body.add("QuantizeLinear", [y, *to])
    return body.finish()


def _attributes(node: onnx.NodeProto, *without: str) -> dict[str, Any]:
    return {
        each.name: helper.get_attribute_value(each)
        for each in node.attribute
        if each.name not in without
    }


def _conv_integer(body: _Body, node: onnx.NodeProto, operands: Sequence[str]) -> None:
    x, w, x_zero, w_zero = operands[:4]
    terms = [body.without_zero(x, x_zero), body.without_zero(w, w_zero)]
    body.integers(body.add("Conv", terms, **_attributes(node)))


def _matmul_integer(body: _Body, node: onnx.NodeProto, operands: Sequence[str]) -> None:
    a, b, a_zero, b_zero = operands[:4]
    terms = [body.without_zero(a, a_zero), body.without_zero(b, b_zero)]
    body.integers(body.add("MatMul", terms))


def _qlinear_conv(body: _Body, node: onnx.NodeProto, operands: Sequence[str]) -> None:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias = operands[:9]
    w_zero = _column(body, w_zero, [-1, 1, 1, 1])
    terms = [body.without_zero(x, x_zero), body.without_zero(w, w_zero)]
    sums = body.integers(body.add("Conv", terms, **_attributes(node)))
    if bias:
        sums = body.add("Add", [sums, _column(body, bias, [-1, 1, 1])])
    body.rescaled(sums, [x_scale, w_scale], [y_scale, y_zero], [-1, 1, 1])


def _column(body: _Body, value: str, shape: list[int]) -> str:
    return body.add("Reshape", [value, body.constant(np.array(shape, np.int64))])


def _qlinear_matmul(body: _Body, node: onnx.NodeProto, operands: Sequence[str]) -> None:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = operands[:8]
    terms = [body.without_zero(a, a_zero), body.without_zero(b, b_zero)]
    sums = body.integers(body.add("MatMul", terms))
    body.rescaled(sums, [a_scale, b_scale], [y_scale, y_zero], [-1])


def _qgemm(body: _Body, node: onnx.NodeProto, operands: Sequence[str]) -> None:
    a, a_scale, a_zero, b, b_scale, b_zero, bias, y_scale, y_zero = operands[:9]
    given = _attributes(node)
    right = body.without_zero(b, _column(body, b_zero, [1, -1]) if not given.get("transB") else
                              _column(body, b_zero, [-1, 1]))  # fmt: skip
    right = body.add("Transpose", [right], perm=[1, 0]) if given.get("transB") else right
    sums = body.integers(body.add("MatMul", [body.without_zero(a, a_zero), right]))
    sums = body.add("Add", [sums, bias]) if bias else sums
    scale = body.add("Mul", [a_scale, body.constant(np.float32(given.get("alpha", 1.0)))])
    body.rescaled(sums, [scale, b_scale], [y_scale, y_zero] if y_scale else [], [-1])


def _qlinear_mul(body: _Body, node: onnx.NodeProto, operands: Sequence[str]) -> None:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = operands[:8]
    terms = [body.without_zero(a, a_zero), body.without_zero(b, b_zero)]
    product = body.integers(body.add("Mul", terms))
    body.rescaled(product, [a_scale, b_scale], [y_scale, y_zero], [])


_WRITERS: dict[str, Callable[[_Body, onnx.NodeProto, Sequence[str]], None]] = {
    "ConvInteger": _conv_integer,
    "MatMulInteger": _matmul_integer,
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _qlinear_matmul,
    "QLinearMul": _qlinear_mul,
    "QGemm": _qgemm,
}
