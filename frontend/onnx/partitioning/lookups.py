"""Classifiers and encoders of strings as numbers to compute with, and a look-up beside them.

A classifier with labels that are strings gives the index of the label, by which the label is taken
from a constant; an encoder of categories that are strings gets their indices. What is computed is
compiled thereby, and only the look-up runs on the host.
"""

import onnx
from onnx import helper

from ..importing.opsets import domain_of, read_opsets

_DOMAIN = "ai.onnx.ml"
_INTEGERS = {
    "LinearClassifier": "classlabels_ints",
    "SVMClassifier": "classlabels_ints",
    "TreeEnsembleClassifier": "classlabels_int64s",
}
_LABELS = "classlabels_strings"
_CATEGORIES = "cats_strings"
_GATHER_OPSET = 11
"""The opset of a Gather that is added to a model without standard operators, as CatBoost writes
them."""


def split_lookups(model: onnx.ModelProto) -> None:
    """Divide the nodes of the main graph that hold strings and numbers."""
    graph = model.graph
    taken = {name for node in graph.node for name in (*node.input, *node.output)}
    taken |= {info.name for info in (*graph.input, *graph.output, *graph.initializer)}
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        integers = _INTEGERS.get(node.op_type) if node.domain == _DOMAIN else None
        if integers is not None and len(_strings(node, _LABELS)) > 1 and any(node.output[:1]):
            nodes += _with_indices(node, integers, graph, taken)
        elif _encodes_strings(node):
            nodes += _of_indices(node, taken)
        else:
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    is_standard = any(not domain_of(node.domain) for node in nodes)
    if is_standard and "" not in read_opsets(model.opset_import):
        model.opset_import.append(helper.make_opsetid("", _GATHER_OPSET))


def _encodes_strings(node: onnx.NodeProto) -> bool:
    is_encoder = (node.domain, node.op_type) == (_DOMAIN, "OneHotEncoder")
    return is_encoder and bool(_strings(node, _CATEGORIES) and node.input and any(node.output[:1]))


def _with_indices(
    node: onnx.NodeProto, integers: str, graph: onnx.GraphProto, taken: set[str]
) -> list[onnx.NodeProto]:
    """A classifier, and the label that it means."""
    labels, output = _strings(node, _LABELS), node.output[0]
    constant, index = (_fresh(f"{output}/{what}", taken) for what in ("labels", "index"))
    graph.initializer.add(
        name=constant, data_type=onnx.TensorProto.STRING, dims=[len(labels)], string_data=labels
    )
    classifier = _without(node, _LABELS, integers)
    classifier.attribute.append(helper.make_attribute(integers, range(len(labels))))
    classifier.output[0] = index
    take = helper.make_node("Gather", [constant, index], [output], f"{node.name}/label", axis=0)
    return [classifier, take]


def _of_indices(node: onnx.NodeProto, taken: set[str]) -> list[onnx.NodeProto]:
    """An encoder, and the indices of the categories before it."""
    categories = _strings(node, _CATEGORIES)
    index = _fresh(f"{node.output[0]}/index", taken)
    find = helper.make_node(
        "CategoryMapper", [node.input[0]], [index], f"{node.name}/index", domain=_DOMAIN,
        cats_strings=categories, cats_int64s=range(len(categories)),
    )  # fmt: skip
    encoder = _without(node, _CATEGORIES, "cats_int64s")
    encoder.attribute.append(helper.make_attribute("cats_int64s", range(len(categories))))
    encoder.input[0] = index
    return [find, encoder]


def _strings(node: onnx.NodeProto, name: str) -> list[bytes]:
    return next((list(a.strings) for a in node.attribute if a.name == name), [])


def _without(node: onnx.NodeProto, *names: str) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    copy.attribute.extend(a for a in node.attribute if a.name not in names)
    return copy


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
