"""Parts of a model: one at random, or all of them."""

import random
from collections.abc import Iterator

import onnx
from onnx import AttributeProto, TensorProto


def graphs(model: onnx.ModelProto) -> list[onnx.GraphProto]:
    """The graph of `model` and its subgraphs."""
    return list(_graphs(model.graph))


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _graphs(inner)


def draw_graph(model: onnx.ModelProto, draw: random.Random) -> onnx.GraphProto:
    return draw.choice(graphs(model)) if draw.random() < 0.4 else model.graph


def draw_node(model: onnx.ModelProto, draw: random.Random) -> onnx.NodeProto | None:
    nodes = draw_graph(model, draw).node
    return draw.choice(nodes) if nodes else None


def draw_attribute(model: onnx.ModelProto, draw: random.Random) -> AttributeProto | None:
    found = [a for graph in graphs(model) for node in graph.node for a in node.attribute]
    return draw.choice(found) if found else None


def draw_tensor(model: onnx.ModelProto, draw: random.Random) -> TensorProto | None:
    found = [t for graph in graphs(model) for t in graph.initializer]
    found += [
        a.t for graph in graphs(model) for node in graph.node for a in node.attribute
        if a.HasField("t")
    ]  # fmt: skip
    return draw.choice(found) if found else None


def all_names(model: onnx.ModelProto) -> list[str]:
    return [
        name
        for graph in graphs(model)
        for name in (
            *(info.name for info in graph.input),
            *(tensor.name for tensor in graph.initializer),
            *(name for node in graph.node for name in node.output),
        )
    ]
