"""Gradients against central differences."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import graphc
from graphc.errors import UnsupportedModelError

TRAINING = "ai.onnx.preview.training"
N = helper.make_node
FORWARD = [
    N("MatMul", ["a", "b"], ["product"]),
    N("Add", ["product", "c"], ["sum"]),
    N("Tanh", ["sum"], ["tanh"]),
    N("Sigmoid", ["c"], ["gate"]),
    N("Mul", ["tanh", "gate"], ["gated"]),
    N("Transpose", ["gated"], ["turned"], perm=[0, 2, 1]),
    N("Reshape", ["turned", "flat"], ["line"]),
    N("Exp", ["line"], ["exp"]),
    N("Div", ["line", "exp"], ["ratio"]),
    N("Relu", ["line"], ["positive"]),
    N("Sub", ["positive", "ratio"], ["difference"]),
    N("ReduceMean", ["difference", "last"], ["mean"], keepdims=0),
    N("Neg", ["mean"], ["negative"]),
    N("ReduceSum", ["gated", "last"], ["total"], keepdims=1),
    N("Mul", ["total", "total"], ["square"]),
    N("Add", ["square", "one"], ["above"]),
    N("Sqrt", ["above"], ["root"]),
    N("Log", ["root"], ["log"]),
    N("Expand", ["log", "wide"], ["spread"]),
    N("ReduceSum", ["spread"], ["all"], keepdims=0),
    N("Add", ["negative", "all"], ["y"]),
]
CONSTANTS = {
    "flat": np.array([2, 12]),
    "last": np.array([-1]),
    "one": np.array([1.0]),
    "wide": np.array([5, 2, 3, 4]),
}
SHAPES = {"a": [2, 3, 5], "b": [5, 4], "c": [4]}


def make(nodes, outputs, inputs=SHAPES):
    ends = [
        [helper.make_tensor_value_info(n, TensorProto.DOUBLE, s) for n, s in infos.items()]
        for infos in (inputs, outputs)
    ]
    constants = [numpy_helper.from_array(value, name) for name, value in CONSTANTS.items()]
    graph = helper.make_graph(nodes, "g", *ends, constants)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(TRAINING, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def gradient(inputs, outputs, **attributes):
    return N("Gradient", inputs, outputs, name="gradient", domain=TRAINING, **attributes)


def test_gradients_agree_with_differences():
    names = list(SHAPES)
    random = np.random.default_rng(0)
    feeds = {name: random.standard_normal(shape) for name, shape in SHAPES.items()}
    evaluator = ReferenceEvaluator(make(FORWARD, {"y": [2]}))
    nodes = [*FORWARD, gradient(names, ["da", "db", "dc"], xs=names, y="y")]
    outputs = {f"d{name}": shape for name, shape in SHAPES.items()}
    made = graphc.compile(make(nodes, outputs), host=False)
    for name, ours in zip(names, made.run(None, feeds), strict=True):
        expected = np.zeros_like(feeds[name])
        for index in np.ndindex(expected.shape):
            sides = []
            for step in (1e-6, -1e-6):
                moved = feeds[name].copy()
                moved[index] += step
                sides.append(evaluator.run(None, {**feeds, name: moved})[0].sum())
            expected[index] = (sides[0] - sides[1]) / 2e-6
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (gradient(["a", "b"], ["d"], xs=["a"], zs=["b"], y="y"), "depends on others"),
        (gradient(["b"], ["d"], xs=["b"], y="gate"), "depends on others"),
        (gradient(["a"], ["d"], xs=["b"], y="y"), "at other values"),
        (gradient(["b", "c"], ["d"], xs=["b"], zs=["c"], y="gate"), "gate is not computed from b"),
        (gradient(["c"], ["d"], xs=["c"], y="nothing"), "'nothing', which nothing before it"),
        (gradient(["c"], ["d"], xs=["c"], y="floor"), "through graph.floor"),
    ],
)
def test_what_has_no_gradient_here(node, message):
    nodes = [*FORWARD, N("Floor", ["c"], ["floor"]), node]
    with pytest.raises(UnsupportedModelError, match=message):
        graphc.import_onnx(make(nodes, {"d": None}))
