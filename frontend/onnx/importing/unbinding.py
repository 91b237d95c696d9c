"""Sequences of the elements along an axis, of which each is taken by its position.

PyTorch's exporter writes ``unbind`` so where the axis has a name. A scripted loop over a tensor
takes an element in each round.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ....onnx_names import read_names, subgraphs
from .model_nodes import node_name, overridable
from .node_matching import ONNX_DOMAINS, int_attribute, is_op

_Splits = Mapping[str, onnx.NodeProto]


def without_unbinding(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model` with ``Gather(x, i)`` in place of ``SequenceAt(SplitToSequence(x), i)``, in graphs of
    nodes, too, and the size of the axis in place of the length of the sequence.

    Other uses of a sequence keep it. Elements of more than one row (`split`, `keepdims`) are left
    alone.
    """
    ones = {*_ones(model)}
    splits = {node.output[0]: node for node in model.graph.node if _unbinds(node, ones)}
    if not any(_reads(model.graph, splits)):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for index, node in enumerate(copy.graph.node):
        node.name = node_name(node, index)
    _rewrite(copy.graph, splits)
    used = {output.name for output in copy.graph.output}
    used |= {name for node in copy.graph.node for name in read_names(node)}
    kept = [n for n in copy.graph.node if n.output[0] not in splits or n.output[0] in used]
    del copy.graph.node[:]
    copy.graph.node.extend(kept)
    return copy


def _ones(model: onnx.ModelProto) -> Iterator[str]:
    """Names of scalars that are the constant 1."""
    overridden = overridable(model)
    for tensor in model.graph.initializer:
        if tensor.name not in overridden and _is_one(tensor):
            yield tensor.name
    for node in model.graph.node:
        if is_op(node, "Constant") and any(_is_one(each.t) for each in node.attribute):
            yield node.output[0]


def _is_one(tensor: onnx.TensorProto) -> bool:
    is_integer = tensor.data_type in (onnx.TensorProto.INT32, onnx.TensorProto.INT64)
    return is_integer and not tensor.dims and numpy_helper.to_array(tensor) == 1


def _unbinds(node: onnx.NodeProto, ones: set[str]) -> bool:
    """Return whether `node` makes a sequence of all elements along an axis.

    ONNX Runtime leaves out the axis if a scalar splits it into single rows, too.
    """
    if not is_op(node, "SplitToSequence") or len(node.output) != 1 or not node.input[0]:
        return False
    split = node.input[1] if len(node.input) > 1 else ""
    return (not split or split in ones) and int_attribute(node, "keepdims", 1) == 0


def _takes_from(node: onnx.NodeProto, splits: _Splits) -> bool:
    """Return whether `node` takes an element of one of the sequences `splits`, or its length."""
    operands = {"SequenceAt": 2, "SequenceLength": 1}.get(node.op_type)
    return node.domain in ONNX_DOMAINS and len(node.input) == operands and node.input[0] in splits


def _reads(graph: onnx.GraphProto, splits: _Splits) -> Iterator[bool]:
    """For each node of `graph`, and of graphs within it: whether it takes from `splits`."""
    for node in graph.node:
        yield _takes_from(node, splits)
        for inner in subgraphs(node):
            yield from _reads(inner, splits)


def _rewrite(graph: onnx.GraphProto, splits: _Splits) -> None:
    nodes = [new for node in graph.node for new in _taken(node, splits)]
    for node in nodes:
        for inner in subgraphs(node):
            _rewrite(inner, splits)
    del graph.node[:]
    graph.node.extend(nodes)


def _taken(node: onnx.NodeProto, splits: _Splits) -> Iterator[onnx.NodeProto]:
    """`node`, or what takes the same of no sequence."""
    if not _takes_from(node, splits):
        yield node
        return
    split, outputs = splits[node.input[0]], list(node.output)
    source, axis = split.input[0], int_attribute(split, "axis", 0)
    if is_op(node, "SequenceAt"):
        inputs = [source, node.input[1]]
        yield helper.make_node("Gather", inputs, outputs, node.name, axis=axis)
        return
    shape, at = f"{outputs[0]}/shape", f"{outputs[0]}/axis"
    position = numpy_helper.from_array(np.array(axis))
    yield helper.make_node("Shape", [source], [shape], shape)
    yield helper.make_node("Constant", [], [at], at, value=position)
    yield helper.make_node("Gather", [shape, at], outputs, node.name, axis=0)
