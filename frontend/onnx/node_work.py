"""Work of the nodes of an ONNX model: kinds of operators, arithmetic operations, and bytes."""

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum

import onnx
from onnx import helper

from ...onnx_names import read_names
from .partitioning.inlining import operator_of

FLOPS_PER_BYTE = 8
"""Arithmetic operations that take as long as reading a byte: one core with vectors of 256 bits."""


class OpClass(StrEnum):
    """Kinds of operators whose time depends on operations and bytes in the same way."""

    MATMUL = "matmul"
    MATVEC = "matvec"
    """A matmul of few rows, which takes as long as reading its weights."""
    BATCH_MATMUL = "batch_matmul"
    """A matmul of two computed values, which nobody packs ahead of time."""
    CONVOLUTION = "convolution"
    CONVOLUTION_3X3 = "convolution_3x3"
    """With strides of 1, for which Winograd's algorithm needs fewer operations."""
    POINTWISE = "pointwise_convolution"
    DEPTHWISE = "depthwise_convolution"
    ATTENTION = "attention"
    RECURRENT = "recurrent"
    NORMALIZATION = "normalization"
    SOFTMAX = "softmax"
    REDUCTION = "reduction"
    POOLING = "pooling"
    ELEMENTWISE = "elementwise"
    TRANSCENDENTAL = "transcendental"
    COPY = "copy"
    OTHER = "other"


CONTRACTIONS = frozenset({
    OpClass.MATMUL, OpClass.MATVEC, OpClass.BATCH_MATMUL, OpClass.CONVOLUTION,
    OpClass.CONVOLUTION_3X3, OpClass.POINTWISE, OpClass.DEPTHWISE, OpClass.ATTENTION,
    OpClass.RECURRENT,
})  # fmt: skip
"""Classes that determine how long a region takes which contains one of them."""

_MATMULS = frozenset({
    "MatMul", "Gemm", "MatMulInteger", "QLinearMatMul", "FusedMatMul", "FusedGemm", "MatMulNBits",
})  # fmt: skip
_CONVOLUTIONS = frozenset({"Conv", "ConvInteger", "QLinearConv", "FusedConv", "ConvTranspose"})
_WEIGHT_AT = {"QLinearMatMul": 3, "QLinearConv": 3}
"""Index of the second operand, where it is not 1."""
_CLASSES = {
    OpClass.ATTENTION: "Attention MultiHeadAttention GroupQueryAttention",
    OpClass.RECURRENT: "LSTM GRU RNN",
    OpClass.NORMALIZATION: "LayerNormalization SkipLayerNormalization RMSNormalization "
    "SimplifiedLayerNormalization SkipSimplifiedLayerNormalization GroupNormalization "
    "InstanceNormalization EmbedLayerNormalization LpNormalization LRN "
    "MeanVarianceNormalization",
    OpClass.SOFTMAX: "Softmax LogSoftmax Hardmax",
    OpClass.REDUCTION: "ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 "
    "ReduceLogSum ReduceLogSumExp ReduceSumSquare ArgMax ArgMin CumSum TopK "
    "GlobalAveragePool GlobalMaxPool GlobalLpPool QLinearGlobalAveragePool",
    OpClass.POOLING: "MaxPool AveragePool LpPool QLinearAveragePool",
    OpClass.TRANSCENDENTAL: "Exp Log Erf Tanh Sigmoid Gelu FastGelu QuickGelu BiasGelu Mish Swish "
    "Softplus Elu Celu Selu Pow Sin Cos Tan HardSwish",
    OpClass.COPY: "Transpose Concat Slice Split Gather GatherElements GatherND Pad Expand Tile "
    "Resize Upsample DepthToSpace SpaceToDepth ScatterND ScatterElements OneHot",
    OpClass.ELEMENTWISE: "Abs Add BatchNormalization Cast Ceil Clip Div Floor LeakyRelu Max Min "
    "Mul Neg PRelu QuantizeLinear DequantizeLinear DynamicQuantizeLinear QLinearAdd QLinearMul "
    "Reciprocal Relu Round Sign Sqrt Sub Sum ThresholdedRelu Where Equal Greater Less And Or Not "
    "HardSigmoid Softsign IsNaN IsInf GreaterOrEqual LessOrEqual Mod Xor Mean",
}
_CLASS_OF = {name: each for each, names in _CLASSES.items() for name in names.split()}
_FLOPS = {"Erf": 2.0, "Gelu": 3.0, "BiasGelu": 3.0, "Mish": 3.0}
"""Operations for an element, in those of an exponential or, where nothing is computed, of a sum."""
_PICKS = frozenset({"Gather", "GatherND", "GatherElements", "Slice", "Split"})
"""Operators that read no more of their first operand than they write."""
_FEW_ROWS = 4
"""Rows of a matmul up to which it is bound by memory."""
_VIEWS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Shape", "Size"})
"""Operators that compute nothing and move nothing."""


@dataclass(frozen=True)
class RegionWork:
    """Work of some nodes together: operations by class, and bytes read and written.

    `main` is the class of the node that determines the time; an elementwise node that is fused
    with it adds its operations. `int8` is True if that node computes on 8 bits.
    """

    main: OpClass
    flops: Mapping[OpClass, float]
    bytes: float
    int8: bool = False


@dataclass(frozen=True)
class GraphSizes:
    """Shapes and sizes of the values of a graph; sizes that are unknown count as 1."""

    shapes: Mapping[str, tuple[int, ...]]
    item_bytes: Mapping[str, float]
    weights: frozenset[str]

    @classmethod
    def of(cls, graph: onnx.GraphProto, dims: Mapping[str, int]) -> "GraphSizes":
        """The sizes of a graph with inferred shapes, for these sizes of named dimensions."""
        infos = [*graph.input, *graph.value_info, *graph.output]
        tensors = {info.name: info.type.tensor_type for info in infos}
        shapes = {name: tuple(dim.dim_value or dims.get(dim.dim_param, 1) for dim in each.shape.dim)
                  for name, each in tensors.items()}  # fmt: skip
        types = {name: each.elem_type for name, each in tensors.items()}
        for each in graph.initializer:
            shapes[each.name], types[each.name] = tuple(each.dims), each.data_type
        item_bytes = {name: _item_bytes(type_) for name, type_ in types.items()}
        return cls(shapes, item_bytes, frozenset(each.name for each in graph.initializer))

    def elements(self, name: str) -> int:
        """Number of elements; 0 for a value of unknown shape."""
        return math.prod(self.shapes[name]) if name in self.shapes else 0

    def bytes(self, name: str) -> float:
        """Size in bytes."""
        return self.elements(name) * self.item_bytes.get(name, 0)

    def crossing_bytes(self, names: Iterable[str]) -> float:
        """Size of these values together; infinite if the type of one is unknown."""
        return sum(self.bytes(name) if name in self.shapes else math.inf for name in names)

    def time(self, node: onnx.NodeProto) -> float:
        """Predicted time of `node`, of its arithmetic or its memory traffic, whichever is longer;
        the unit is the time for a byte."""
        values = [*read_names(node), *node.output]
        return max(self.flops(node) / FLOPS_PER_BYTE, sum(map(self.bytes, values)))

    def work(
        self, nodes: Sequence[onnx.NodeProto], inputs: Iterable[str], outputs: Iterable[str]
    ) -> RegionWork:
        """The work of a region: `nodes`, in order, of which fusion makes one kernel, and the values
        that enter and leave it. What follows from weights alone is computed ahead of time."""
        known, flops, int8 = set(self.weights), dict[OpClass, float](), False
        inputs = {*inputs, *(n for node in nodes for n in read_names(node) if n in self.weights)}
        for node in nodes:
            if known.issuperset(read_names(node)):
                known |= set(node.output)
            elif operator_of(node) not in _VIEWS:
                each = self.op_class(node, known)
                flops[each] = flops.get(each, 0.0) + self.flops(node)
                int8 |= each in CONTRACTIONS and self._is_int8(node, nodes)
        main = max(flops, key=lambda c: (c in CONTRACTIONS, flops[c]), default=OpClass.COPY)
        read = sum(self._read_bytes(name, nodes) for name in inputs)
        return RegionWork(main, flops, read + sum(map(self.bytes, {*outputs})), int8)

    def _read_bytes(self, name: str, nodes: Sequence[onnx.NodeProto]) -> float:
        """Bytes of an operand that `nodes` read: of a table, those of the rows that are looked
        up."""
        readers = [node for node in nodes if name in node.input]
        if readers and all(operator_of(n) in _PICKS and n.input[0] == name for n in readers):
            picked = sum(self.bytes(result) for node in readers for result in node.output)
            return min(self.bytes(name), picked)
        return self.bytes(name)

    def op_class(self, node: onnx.NodeProto, known: Set[str]) -> OpClass:
        """The class of `node`, where the values of `known` are there ahead of time."""
        operator = operator_of(node)
        if operator in _MATMULS:
            is_packed = node.input[0] in known or _second(node) in known
            if not is_packed:
                return OpClass.BATCH_MATMUL
            return OpClass.MATVEC if self._rows(node) <= _FEW_ROWS else OpClass.MATMUL
        if operator in _CONVOLUTIONS:
            return self._convolution_class(node)
        return _CLASS_OF.get(operator, OpClass.OTHER)

    def _rows(self, node: onnx.NodeProto) -> int:
        """Rows of the result of a matmul, of all batches."""
        shape = self.shapes.get(node.output[0], ())
        return math.prod(shape[:-1])

    def _convolution_class(self, node: onnx.NodeProto) -> OpClass:
        weight = self.shapes.get(_second(node), ())
        if len(weight) > 2 and weight[1] == 1 and weight[0] > 1 and _group(node) > 1:
            return OpClass.DEPTHWISE
        if len(weight) > 2 and all(size == 1 for size in weight[2:]):
            return OpClass.POINTWISE
        is_dense = _group(node) == 1 and operator_of(node) != "ConvTranspose"
        steps = {step for each in node.attribute if each.name in ("strides", "dilations")
                 for step in each.ints}  # fmt: skip
        is_3x3 = weight[2:] == (3, 3) and is_dense and steps <= {1}
        return OpClass.CONVOLUTION_3X3 if is_3x3 else OpClass.CONVOLUTION

    def _is_int8(self, node: onnx.NodeProto, nodes: Sequence[onnx.NodeProto]) -> bool:
        """True if an operand has 8 bits, or had them before a `DequantizeLinear` in `nodes`."""
        operands = {node.input[0], _second(node)}
        before = [
            each.input[0]
            for each in nodes
            if operator_of(each) == "DequantizeLinear" and operands.intersection(each.output)
        ]
        return any(self.item_bytes.get(name, 4) == 1 for name in (*operands, *before))

    def flops(self, node: onnx.NodeProto) -> float:
        """Number of arithmetic operations by the direct algorithm."""
        operator, results = operator_of(node), sum(map(self.elements, node.output))
        if operator in _MATMULS:
            transposed = any(each.name == "transA" and each.i for each in node.attribute)
            shape = self.shapes.get(node.input[0], ())
            return 2.0 * results * (shape[0 if transposed else -1] if shape else 1)
        if operator in _CONVOLUTIONS:
            kernel = self.shapes.get(_second(node), ())
            points = self.elements(node.input[0]) if operator == "ConvTranspose" else results
            return 2.0 * points * math.prod(kernel[1:])
        if _CLASS_OF.get(operator) in (OpClass.REDUCTION, OpClass.POOLING):
            window = _window(node, self.shapes.get(node.input[0], ()))
            return float(max(self.elements(node.input[0]), results * window))
        if _CLASS_OF.get(operator) == OpClass.ATTENTION:
            return self._attention_flops(node)
        if _CLASS_OF.get(operator) == OpClass.RECURRENT:
            steps = math.prod(self.shapes.get(node.input[0], ())[:2])
            return 2.0 * steps * (self.elements(node.input[1]) + self.elements(node.input[2]))
        return float(results) * _FLOPS.get(operator, 1.0)

    def _attention_flops(self, node: onnx.NodeProto) -> float:
        """Those of the two matmuls, with as many keys as queries where the shape says no more."""
        query = self.shapes.get(node.input[0], (1,))
        keys = self.shapes.get(node.input[1], query) if len(node.input) > 1 else query
        count = keys[-2] if len(keys) > 1 else 1
        return 4.0 * self.elements(node.input[0]) * count


def _second(node: onnx.NodeProto) -> str:
    at = _WEIGHT_AT.get(operator_of(node), 1)
    return node.input[at] if len(node.input) > at else ""


def _group(node: onnx.NodeProto) -> int:
    return next((each.i for each in node.attribute if each.name == "group"), 1)


def _window(node: onnx.NodeProto, shape: Sequence[int]) -> int:
    """Number of elements under the window of a pool, which may be larger than what is pooled."""
    windows = [each.ints for each in node.attribute if each.name == "kernel_shape"]
    if not windows or len(shape) < 2 + len(windows[0]):
        return 1
    return math.prod(map(min, windows[0], shape[2:]))


def _item_bytes(elem_type: int) -> float:
    if elem_type in (onnx.TensorProto.UNDEFINED, onnx.TensorProto.STRING):
        return 0
    return helper.tensor_dtype_to_np_dtype(elem_type).itemsize
