"""Values of which nothing sees how many leading axes of size 1 they have.

The branches of an ``If`` may give results of different rank, and an iteration of a ``Loop`` may
change the rank of a value. A tensor type has one rank. Where the shapes differ in leading axes of
size 1 alone, say ``[]`` and ``[1]``, the elements are the same, and many uses read nothing else:
conditions, elementwise operators whose other operand has the larger rank, reductions over all axes.
`visible` finds the values of which a use does more, or a result depends on it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnx.numpy_helper

from ....dialects import graph
from ....mlir import ir
from .node_matching import int_attribute
from .tensors import to_array

Find = Callable[[str], ir.Value | None]
"""The value of a name; None where it is not known yet."""

_UNARY = frozenset({
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitCast", "BitwiseNot", "Cast",
    "Ceil", "Celu", "Clip", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid",
    "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Log", "Mish", "Neg", "Not",
    "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh",
    "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu",
})  # fmt: skip
"""Operators whose result has the shape of the first operand."""

_BROADCASTING = frozenset({
    "Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal",
    "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul",
    "Or", "Pow", "Sub", "Sum", "Where", "Xor",
})  # fmt: skip

_REDUCTIONS = frozenset({
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare",
})  # fmt: skip

_RANK_OF_FIRST = _UNARY | {
    "AveragePool", "BatchNormalization", "Concat", "Conv", "ConvTranspose", "Dropout",
    "GlobalAveragePool", "GlobalMaxPool", "GroupNormalization", "InstanceNormalization",
    "LayerNormalization", "LogSoftmax", "MaxPool", "Pad", "Resize", "Slice", "Softmax", "Tile",
    "Transpose", "Upsample",
}  # fmt: skip
"""Operators whose first result has the rank of the first operand."""

_Shown = Sequence[str] | None
"""The results that show the rank of an operand; None where the node itself reads it."""


def visible(
    body: onnx.GraphProto | onnx.FunctionProto, outputs: Iterable[str], rank: int, find: Find
) -> set[str]:
    """Names of values in `body`, and in subgraphs of it, whose leading axes of size 1 can be seen,
    be there as many as make a rank of `rank`. `outputs` are the results of `body`."""
    uses = _Uses(rank, find)
    uses.visit(body)
    seen, pending = set[str](), [*uses.seen, *outputs]
    while pending:
        if (name := pending.pop()) not in seen:
            seen.add(name)
            pending += uses.shown_by[name]
    return seen


@dataclass
class _Uses:
    """The uses of all values, by name; equal names in different subgraphs count as one value."""

    rank: int
    find: Find
    seen: set[str] = field(default_factory=set)
    """Values whose rank a node reads."""
    shown_by: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The operands whose rank a result shows."""
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)
    definitions: Counter[str] = field(default_factory=Counter)
    """The number of bodies that define a name; of equal names nothing is taken for known."""
    ranks: dict[str, int] = field(default_factory=dict)
    """The least ranks of results of nodes, where they follow from those of operands."""

    def visit(self, body: onnx.GraphProto | onnx.FunctionProto) -> None:
        """Collect the uses in `body` and in its subgraphs."""
        bodies = list(_bodies(body))
        for each in bodies:
            self._visit_definitions(each)
        nodes = [node for each in bodies for node in each.node]
        for node in nodes:
            self._visit_rank(node)
        for node in nodes:
            self._visit_operands(node)
            self._visit_subgraphs(node)

    def _visit_definitions(self, body: onnx.GraphProto | onnx.FunctionProto) -> None:
        names = {name for node in body.node for name in node.output}
        if isinstance(body, onnx.GraphProto):
            self.constants.update((tensor.name, tensor) for tensor in body.initializer)
            names |= {info.name for info in body.input} | {
                tensor.name for tensor in body.initializer
            }
        else:
            names |= set(body.input)
        self.definitions.update(names)
        for node in body.node:
            if node.op_type == "Constant" and (tensor := _constant(node)) is not None:
                self.constants[node.output[0]] = tensor

    def _visit_rank(self, node: onnx.NodeProto) -> None:
        operands = [self._rank(name) for name in node.input]
        if node.domain not in ("", "ai.onnx") or not operands:
            return
        if node.op_type in _RANK_OF_FIRST:
            self.ranks[node.output[0]] = operands[0]
        elif node.op_type in _BROADCASTING or (node.op_type == "MatMul" and min(operands) > 1):
            self.ranks[node.output[0]] = max(operands)

    def _visit_operands(self, node: onnx.NodeProto) -> None:
        for index, name in enumerate(node.input):
            shown = self._shown(node, index) if node.domain in ("", "ai.onnx") else None
            self._show(name, shown)

    def _show(self, name: str, shown: _Shown) -> None:
        if shown is None:
            self.seen.add(name)
        for result in shown or ():
            self.shown_by[result].add(name)

    def _visit_subgraphs(self, node: onnx.NodeProto) -> None:
        for body in _subgraphs(node):
            for index, info in enumerate(body.output):
                self._show(info.name, _yielded(node, body, index))

    def _shown(self, node: onnx.NodeProto, index: int) -> _Shown:
        """The results of `node` that show the rank of operand `index`."""
        kind = node.op_type
        if kind in _BROADCASTING:
            others = (name for i, name in enumerate(node.input) if i != index)
            legacy = any(attribute.name in ("axis", "broadcast") for attribute in node.attribute)
            settled = any(self._rank(name) >= self.rank for name in others)
            return None if legacy else () if settled else node.output
        if kind in ("If", "Loop"):
            return _passed(node, index)
        if kind == "Range" or kind == "Size":
            return ()
        if index > 0:
            return None
        if kind in _UNARY:
            return None if int_attribute(node, "to", 0) == onnx.TensorProto.STRING else node.output
        if kind in _REDUCTIONS and _takes_all_axes(node):
            return node.output if int_attribute(node, "keepdims", 1) else ()
        if kind == "Squeeze":
            return () if _takes_all_axes(node) else None
        if kind in ("Reshape", "Expand") and len(node.input) > 1:
            return () if self._fixes_rank(node) else None
        return None

    def _fixes_rank(self, node: onnx.NodeProto) -> bool:
        """Return whether the second operand of `node`, a shape, decides the result's rank."""
        shape = self._sizes(node.input[1])
        if shape is None:
            return False
        return 0 not in shape if node.op_type == "Reshape" else len(shape) >= self.rank

    def _rank(self, name: str) -> int:
        """The least rank of a value, -1 where nothing is known."""
        if self.definitions[name] > 1:
            return -1
        if (value := self.find(name)) is not None:
            return graph.type_of(value).rank
        known = self.constants.get(name)
        return self.ranks.get(name, -1) if known is None else len(known.dims)

    def _sizes(self, name: str) -> Sequence[object] | None:
        """The elements of a shape, None where they are not known."""
        if self.definitions[name] > 1:
            return None
        if (value := self.find(name)) is not None:
            return graph.known_sizes(value)
        tensor = self.constants.get(name)
        if tensor is None or tensor.data_location == tensor.EXTERNAL or len(tensor.dims) != 1:
            return None
        return to_array(tensor, None).tolist()


def _constant(node: onnx.NodeProto) -> onnx.TensorProto | None:
    """The tensor of a Constant; None for one of strings, or a sparse one."""
    (attribute,) = node.attribute or (onnx.AttributeProto(),)
    value = onnx.helper.get_attribute_value(attribute) if attribute.name else None
    match attribute.name:
        case "value":
            return attribute.t
        case "value_int" | "value_ints":
            return onnx.numpy_helper.from_array(np.array(value, np.int64))
        case "value_float" | "value_floats":
            return onnx.numpy_helper.from_array(np.array(value, np.float32))
    return None


def _passed(node: onnx.NodeProto, index: int) -> _Shown:
    """The values that an operand of an If or Loop becomes in its body and after it."""
    carried = index - 2
    if node.op_type == "If" or carried < 0:
        return ()
    names = (info.name for body in _subgraphs(node) for info in body.input[index : index + 1])
    return [*names, *node.output[carried : carried + 1]]


def _yielded(node: onnx.NodeProto, body: onnx.GraphProto, index: int) -> _Shown:
    """The values that output `index` of a subgraph becomes."""
    if node.op_type == "If":
        return node.output[index : index + 1]
    if node.op_type != "Loop" or index + 1 >= len(body.input):
        return None
    return [body.input[index + 1].name, *node.output[index - 1 : index]] if index > 0 else ()


def _takes_all_axes(node: onnx.NodeProto) -> bool:
    given = len(node.input) > 1 and node.input[1] != ""
    names = {attribute.name for attribute in node.attribute}
    return not (given or "axes" in names or int_attribute(node, "noop_with_empty_axes", 0))


def _bodies(
    body: onnx.GraphProto | onnx.FunctionProto,
) -> Iterator[onnx.GraphProto | onnx.FunctionProto]:
    """`body` and all subgraphs in it."""
    pending = [body]
    while pending:
        yield (body := pending.pop())
        pending += (each for node in body.node for each in _subgraphs(node))


def _subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs
