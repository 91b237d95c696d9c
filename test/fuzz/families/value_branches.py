"""If and Loop with results whose sizes depend on run-time values."""

import numpy as np
from onnx import helper

from ..builder import GraphBuilder
from ..draw_registry import draws
from ..drawn_values import Value
from .control_flow import _graph as graph
from .control_flow import _identity as identity
from .control_flow import _info as info
from .control_flow import _inner as inner_builder
from .control_flow import _parameter as parameter
from .value_sizes import followed, number


def _resized(b: GraphBuilder, x: Value, way: str) -> Value:
    """`x` with more elements, with fewer elements, or with as many."""
    axis = b.integer(0, x.rank - 1)
    if way == "more":
        return b.add("Concat", [x, x], exact=True, axis=axis)[0]
    if way == "fewer":
        bounds = [b.ints([1]), b.ints([x.shape[axis]]), b.ints([axis])]
        return b.add("Slice", [x, *bounds], exact=True)[0]
    return b.add("Neg", [x], exact=True)[0]


@draws(weight=1.5, since=13, within=False)
def branches_of_two_sizes(b: GraphBuilder) -> None:
    """An If with two results, one of which is larger."""
    x = b.take((1, 3), ("float32", "int64"), empty=False, where=lambda v: v.size <= 500)
    condition = b.new([], "bool", weight=False)
    ways = [b.choose((("more", "same"), ("same", "fewer"), ("fewer", "more")))]
    branches = {}
    for name, way in zip(("then_branch", "else_branch"), *ways, strict=True):
        inner = inner_builder(b)
        branches[name] = graph(inner, name, [], [identity(inner, _resized(inner, x, way))])
    node = helper.make_node("If", [condition.name], [b.name("v")], name=b.name("n_"), **branches)
    followed(b, b.append(node, False)[0])


@draws(weight=1.5, since=13, within=False)
def rounds_that_are_counted(b: GraphBuilder) -> None:
    """A Loop with a result of each iteration, and a value that may grow in each."""
    x = b.new([b.integer(1, 4), *([b.integer(1, 3)] if b.chance(0.4) else [])], "float32")
    grows = b.chance(0.5)
    rounds = number(b, 1, 5)
    inner = inner_builder(b)
    done, going = parameter(inner, np.array(0)), parameter(inner, np.array(True))
    state = parameter(inner, x.array)
    inputs = [info(done), info(going), info(state)]
    (halved,) = inner.add("Mul", [state, inner.known(np.array(0.5, np.float32))])
    following = inner.add("Concat", [halved, x], axis=0)[0] if grows else halved
    outputs = [identity(inner, going), identity(inner, following)]
    kept = not grows or b.chance(0.3)
    if kept:
        shown = inner.add("ReduceMax", [halved], keepdims=0)[0] if grows else halved
        outputs.append(identity(inner, shown))
    body = graph(inner, "body", inputs, outputs)
    results = [b.name("v") for _ in range(1 + kept)]
    node = helper.make_node(
        "Loop", [rounds.name, "", x.name], results, name=b.name("n_"), body=body
    )
    for value in b.append(node, False):
        followed(b, value)
