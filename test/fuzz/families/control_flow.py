"""If, Loop and Scan, with subgraphs that read outer values."""

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper

from ..builder import GraphBuilder
from ..draw_registry import draws
from ..drawn_values import Value
from ..node_evaluation import Rejected

_STEPS = (("Tanh", 1), ("Neg", 1), ("Sigmoid", 1), ("Abs", 1), ("Add", 2), ("Sub", 2), ("Max", 2),
          ("Min", 2), ("Mul", 2))  # fmt: skip


def _steps(b: GraphBuilder, x: Value, count: int) -> Value:
    """A chain of `count` functions that keep the shape of `x`."""
    for _ in range(count):
        op_type, operands = b.choose(_STEPS)
        others: list[Value] = []
        if operands == 2:
            kept = x.shape[b.integer(0, x.rank) :]

            def fits(v: Value, kept: tuple[int, ...] = kept, x: Value = x) -> bool:
                return v.shape in (kept, x.shape) and v.dtype == x.dtype

            found = b.find(fits) if b.chance(0.7) else None
            others = [found or b.new(kept, x.dtype, -0.9, 0.9)]
        (x,) = b.add(op_type, [x, *others])
    return x


def _info(value: Value) -> onnx.ValueInfoProto:
    """The type and rank of `value`, without its sizes."""
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(value.name, kind, [None] * value.rank)


def _graph(
    b: GraphBuilder, name: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[Value]
) -> onnx.GraphProto:
    return helper.make_graph(
        b.nodes, name, list(inputs), list(map(_info, outputs)), list(b.weights.values())
    )


def _inner(b: GraphBuilder) -> GraphBuilder:
    return GraphBuilder(b.random, b.opset, b.float_type.name, b.dynamic, around=b)


def _parameter(b: GraphBuilder, array: np.ndarray) -> Value:
    value = Value(b.name("p"), np.asarray(array), array.dtype.name, False)
    b.values.append(value)
    return value


def _identity(b: GraphBuilder, value: Value) -> Value:
    """A copy of `value` as a result of the subgraph itself."""
    return b.add("Identity", [value], exact=True)[0]


@draws(weight=2.5, since=11, within=False)
def condition(b: GraphBuilder) -> None:
    """An If with two branches of one type."""
    x = b.take((0, 3), ("float32", "int64"), where=lambda v: v.size <= 2000)
    if x.dtype.kind == "i":
        raise Rejected("no steps for integers")
    choice = b.take((0, 0), ("bool",)) if b.chance(0.7) else b.known(np.array(b.chance(0.5)))
    branches = {}
    for name in ("then_branch", "else_branch"):
        inner = _inner(b)
        result = _identity(inner, _steps(inner, x, b.integer(0, 3)))
        branches[name] = _graph(inner, name, [], [result])
    node = helper.make_node("If", [choice.name], [b.name("v")], name=b.name("n_"), **branches)
    b.append(node, False)


@draws(weight=2, since=11, within=False)
def loop(b: GraphBuilder) -> None:
    """A value carried through some iterations; sometimes each state is kept as a result."""
    x = b.take((0, 3), ("float32",), where=lambda v: v.size <= 500)
    kept = b.chance(0.5)
    count = np.array(b.integer(int(kept), 4))  # without iterations, the sizes are unknown
    rounds = b.known(count) if b.chance(0.6) else b.fed(count, True)
    inner = _inner(b)
    done, going = _parameter(inner, np.array(0)), _parameter(inner, np.array(True))
    state = _parameter(inner, x.array)
    inputs = [_info(done), _info(going), _info(state)]
    result = _steps(inner, state, b.integer(1, 3))
    outputs = [_identity(inner, going), _identity(inner, result)]
    if kept:
        outputs.append(_identity(inner, result))
    body = _graph(inner, "body", inputs, outputs)
    results = [b.name("v") for _ in range(1 + kept)]
    given = [rounds.name, "", x.name]
    b.append(helper.make_node("Loop", given, results, name=b.name("n_"), body=body), False)


@draws(weight=1.5, since=11, within=False)
def scan(b: GraphBuilder) -> None:
    """A state updated by each slice of a value, with a result for each slice."""
    x = b.take((1, 3), ("float32",), empty=False, where=lambda v: v.size <= 500)
    row = x.array[0]
    start = b.like(row.shape, x.dtype, low=-1, high=1)
    inner = _inner(b)
    state, part = _parameter(inner, start.array), _parameter(inner, row)
    inputs = [_info(state), _info(part)]
    (mixed,) = inner.add(b.choose(("Add", "Max", "Sub")), [state, part])
    (squashed,) = inner.add("Tanh", [mixed])
    outputs = [_identity(inner, squashed), _identity(inner, _steps(inner, squashed, 1))]
    body = _graph(inner, "body", inputs, outputs)
    results = [b.name("v"), b.name("v")]
    node = helper.make_node(
        "Scan", [start.name, x.name], results, name=b.name("n_"), body=body, num_scan_inputs=1
    )
    b.append(node, False)
