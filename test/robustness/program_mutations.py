"""Mutations that wrap a model in programs, or add programs, that ask for much with little."""

import itertools
import random
from typing import Any

import onnx
from onnx import helper

from . import substitutes
from .model_parts import all_names, draw_node, graphs

TRIPS = "graphc_trips"
"""The name of the trip count of loops around a node."""
_ROUNDS = "graphc_rounds"


def with_short_loops(data: bytes) -> bytes:
    """The model with loops limited to two iterations, except those whose trip count is an input."""
    model = onnx.ModelProto.FromString(data)
    constants = {tensor.name for tensor in model.graph.initializer}
    given = {value.name for value in model.graph.input if value.name} - constants
    nodes = [node for graph in graphs(model) for node in graph.node if node.op_type == "Loop"]
    endless = [node for node in nodes if node.input and node.input[0] not in given]
    for node in endless:
        node.input[0] = _ROUNDS
    if endless:
        model.graph.initializer.append(helper.make_tensor(_ROUNDS, onnx.TensorProto.INT64, [], [2]))
    return model.SerializeToString()


def wrap_in_branches(model: onnx.ModelProto, draw: random.Random) -> None:
    """Nest a node in a drawn number of conditionals, whose condition is known or not."""
    nodes = model.graph.node
    candidates = [node for node in nodes if node.output and node.output[0]]
    if not candidates:
        return
    node = draw.choice(candidates)
    depth = draw.choice((1, 1, 2, 3, 5, 12, 28))
    result = node.output[0]
    inner = onnx.NodeProto.FromString(node.SerializeToString())
    condition = draw.choice(("graphc_condition", substitutes.name(draw, all_names(model))))
    for _ in range(depth):
        branch = helper.make_graph([inner], "b", [], [onnx.ValueInfoProto(name=result)])
        inner = helper.make_node(
            "If", [condition], [result], then_branch=branch,
            else_branch=helper.make_graph([inner] if depth < 4 else [], "e", [],
                                          [onnx.ValueInfoProto(name=result)]),
        )  # fmt: skip
    node.CopyFrom(inner)
    if condition == "graphc_condition":
        if draw.random() < 0.5:
            model.graph.input.append(helper.make_tensor_value_info(condition, 9, []))
        else:
            model.graph.initializer.append(helper.make_tensor(condition, 9, [], [1]))


def wrap_in_loops(model: onnx.ModelProto, draw: random.Random) -> None:
    """Nest a node in loops that carry its result."""
    candidates = [n for n in model.graph.node if n.input and n.input[0] and len(n.output) == 1]
    if not candidates:
        return
    node = draw.choice(candidates)
    carried, result = node.input[0], node.output[0]
    inner = onnx.NodeProto.FromString(node.SerializeToString())
    for level in range(draw.choice((1, 1, 2, 3, 6, 12))):
        body = helper.make_graph(
            [inner], "b",
            [helper.make_tensor_value_info(f"i{level}", 7, []),
             helper.make_tensor_value_info(f"c{level}", 9, []), onnx.ValueInfoProto(name=carried)],
            [onnx.ValueInfoProto(name=f"c{level}"), onnx.ValueInfoProto(name=result)],
        )  # fmt: skip
        inner = helper.make_node("Loop", [TRIPS, "", carried], [result], body=body)
    node.CopyFrom(inner)
    trips = draw.choice((0, 1, 3, -1, 10**6, 2**62))
    model.graph.initializer.append(helper.make_tensor(TRIPS, 7, [], [trips]))


def make_functions(model: onnx.ModelProto, draw: random.Random) -> None:
    """Add functions that call one another: a chain that grows exponentially, or a cycle."""
    depth = draw.choice((1, 2, 4, 30, 200))
    times = draw.choice((1, 2, 10))
    circle = draw.random() < 0.2
    for level in range(depth):
        callee = f"f{level + 1}" if level + 1 < depth else ("f0" if circle else "Neg")
        domain = "fun" if callee != "Neg" else ""
        values_ = ["x", *(f"v{i}" for i in range(times - 1)), "y"]
        nodes = [
            helper.make_node(callee, [a], [b], domain=domain)
            for a, b in itertools.pairwise(values_)
        ]
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("fun", 1)]
        model.functions.append(
            helper.make_function("fun", f"f{level}", ["x"], ["y"], nodes, opsets)
        )
    model.opset_import.add(domain="fun", version=1)
    node = draw_node(model, draw)
    if node is not None:
        node.op_type, node.domain = "f0", "fun"
        del node.attribute[:]
        del node.input[1:]
        del node.output[1:]


def shape_arithmetic(model: onnx.ModelProto, draw: random.Random) -> None:
    """Add sizes that are repeatedly computed from sizes, and use them."""
    known = [name for name in all_names(model) if name]
    if not known:
        return
    nodes = model.graph.node
    nodes.append(helper.make_node("Shape", [draw.choice(known)], ["graphc_s0"]))
    length = draw.choice((1, 3, 10, 40, 70))
    operators = ("Mul", "Add", "Sub", "Div", "Mod", "Max", "Min", "Pow", "Concat")
    one = draw.choice((None, draw.choice(operators)))
    for step in range(length):
        kind = one or draw.choice(operators)
        last, other = f"graphc_s{step}", f"graphc_s{draw.randint(0, step)}"
        extra: dict[str, Any] = {"axis": 0} if kind == "Concat" else {}
        nodes.append(helper.make_node(kind, [last, other], [f"graphc_s{step + 1}"], **extra))
    result = f"graphc_s{length}"
    use = draw.choice(("ConstantOfShape", "Expand", "Reshape", "Tile"))
    inputs = [result] if use == "ConstantOfShape" else [draw.choice(known), result]
    nodes.append(helper.make_node(use, inputs, ["graphc_y"]))
    model.graph.output.add(name="graphc_y")


def grow_constant(model: onnx.ModelProto, draw: random.Random) -> None:
    """Add a constant of a few bytes that is expanded, tiled, counted or padded to many."""
    sizes = [draw.choice((2, 64, 1000, 1 << 16, 1 << 20, 1 << 31, 1 << 40, 2**63 - 1))
             for _ in range(draw.randint(1, 3))]  # fmt: skip
    graph = model.graph
    graph.initializer.append(helper.make_tensor("graphc_sizes", 7, [len(sizes)], sizes))
    graph.initializer.append(helper.make_tensor("graphc_pads", 7, [2 * len(sizes)], sizes * 2))
    graph.initializer.append(helper.make_tensor("graphc_one", 1, [1] * len(sizes), [1.0]))
    for name, value in (("graphc_0", 0), ("graphc_n", sizes[0]), ("graphc_1", 1)):
        graph.initializer.append(helper.make_tensor(name, 7, [], [value]))
    forms = {
        "ConstantOfShape": ["graphc_sizes"],
        "Expand": ["graphc_one", "graphc_sizes"],
        "Tile": ["graphc_one", "graphc_sizes"],
        "Pad": ["graphc_one", "graphc_pads"],
        "Range": ["graphc_0", "graphc_n", "graphc_1"],
        "EyeLike": ["graphc_one"],
        "OneHot": ["graphc_pads", "graphc_n", "graphc_sizes"],
        "HannWindow": ["graphc_n"],
        "Resize": ["graphc_one", "", "", "graphc_sizes"],
        "BlackmanWindow": ["graphc_n"],
        "MelWeightMatrix": ["graphc_n", "graphc_n", "graphc_n", "graphc_1", "graphc_1"],
    }
    kind = draw.choice(sorted(forms))
    result = "graphc_grown"
    graph.node.append(helper.make_node(kind, forms[kind], [result]))
    for step in range(draw.randint(0, 3)):
        use = draw.choice(("Identity", "Neg", "NonZero", "Shape", "Flatten", "CumSum"))
        inputs = [result, "graphc_0"] if use == "CumSum" else [result]
        result = f"graphc_used{step}"
        graph.node.append(helper.make_node(use, inputs, [result]))
    graph.output.add(name=result)
