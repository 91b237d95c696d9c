"""Sequences of the elements along an axis, of which each is taken by its position.

PyTorch's exporter writes ``unbind`` so where the axis has a name.
"""

from collections.abc import Mapping

import onnx
from onnx import helper

from .model_nodes import node_name

_DOMAINS = ("", "ai.onnx")


def without_unbinding(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model` with ``Gather(x, i)`` in place of ``SequenceAt(SplitToSequence(x), i)``.

    Other uses of a sequence keep it. Elements of more than one row (`split`, `keepdims`) are left
    alone.
    """
    splits = {node.output[0]: node for node in model.graph.node if _unbinds(node)}
    if not any(_takes_from(node, splits) for node in model.graph.node):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for index, node in enumerate(copy.graph.node):
        node.name = node_name(node, index)
    nodes = [_taken(node, splits) for node in copy.graph.node]
    used = {name for node in nodes for name in node.input}
    used |= {output.name for output in copy.graph.output}
    used |= {name for node in nodes for name in _read_inside(node)}
    kept = [node for node in nodes if not _unbinds(node) or node.output[0] in used]
    del copy.graph.node[:]
    copy.graph.node.extend(kept)
    return copy


def _unbinds(node: onnx.NodeProto) -> bool:
    """Return whether `node` makes a sequence of all elements along an axis."""
    named = [name for name in node.input if name]
    whole = _is(node, "SplitToSequence") and len(named) == len(node.output) == 1
    return whole and bool(node.input[0]) and _attribute(node, "keepdims", 1) == 0


def _takes_from(node: onnx.NodeProto, splits: Mapping[str, onnx.NodeProto]) -> bool:
    """Return whether `node` takes an element of one of the sequences `splits`."""
    return _is(node, "SequenceAt") and len(node.input) == 2 and node.input[0] in splits


def _taken(node: onnx.NodeProto, splits: Mapping[str, onnx.NodeProto]) -> onnx.NodeProto:
    """`node`, or what takes the same element of no sequence."""
    if not _takes_from(node, splits):
        return node
    split = splits[node.input[0]]
    inputs, axis = [split.input[0], node.input[1]], _attribute(split, "axis", 0)
    return helper.make_node("Gather", inputs, list(node.output), node.name, axis=axis)


def _read_inside(node: onnx.NodeProto) -> set[str]:
    """Names that the nodes of the graphs of `node` read."""
    found: set[str] = set()
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                found |= {*inner.input, *_read_inside(inner)}
            found |= {output.name for output in graph.output}
    return found


def _is(node: onnx.NodeProto, op_type: str) -> bool:
    return node.op_type == op_type and node.domain in _DOMAINS


def _attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    return next((each.i for each in node.attribute if each.name == name), default)
