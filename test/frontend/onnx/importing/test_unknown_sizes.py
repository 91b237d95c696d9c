"""Sizes that decide what an operator is, and have but a name: a limit, no mistake of the model."""

import numpy as np
import pytest
from numerics import (
    Cases,
    Const,
    Feed,
    build_model,
    compare_with_onnxruntime,
    compile_model,
    const,
)
from onnx.helper import make_node

from graphc.errors import ExecutionError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx

X = np.zeros((1, 4, 5, 5), np.float32)


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes"),
    [
        ("GatherND", [X, Feed(np.zeros((3, 2), np.int64), [3, "depth"])], {}),
        ("ScatterND", [X, Feed(np.zeros((3, 4), np.int64), [3, "depth"]), const([0.0] * 3)], {}),
        ("Det", [Feed(X, [1, 4, "rows", "columns"])], {}),
        ("Attention", [X, Feed(X[:, :2], [1, "heads", 5, 5]), X[:, :2]], {}),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)  # fmt: skip
def test_they_are_refused_as_not_supported(op_type, inputs, attributes):
    cases = Cases(opset=23)
    cases.add(op_type, *inputs, **attributes)
    with pytest.raises(UnsupportedModelError, match=r"unknown|heads|columns"):
        import_onnx(cases.model())


def test_channels_whose_number_the_weights_say():
    cases = Cases(opset=18)
    x = np.random.default_rng(0).standard_normal((2, 4, 5)).astype(np.float32)
    scale, bias = np.linspace(1, 2, 4, dtype=np.float32), np.zeros(4, np.float32)
    cases.add("InstanceNormalization", Feed(x, ["n", "c", 5]), Const(scale), Const(bias))
    cases.compare_with_onnxruntime()
    with compile_model(cases.model()) as compiled, pytest.raises(ExecutionError, match="4"):
        compiled(x[:, :3])


def test_a_chain_of_slices():
    """Doubles the formula of its size with each, until a name stands for it."""
    known = {"zero": [0], "one": [1], "last": [-1], "end": [2**62]}
    nodes, x = [], "x"
    for i in range(12):
        nodes += [
            make_node("Slice", [x, "one", "end"], [f"later{i}"]),
            make_node("Slice", [x, "zero", "last"], [f"sooner{i}"]),
            make_node("Sub", [f"later{i}", f"sooner{i}"], [f"x{i}"]),
        ]
        x = f"x{i}"
    model = build_model(nodes, {"x": (np.float32, ["n"])}, [x], known)
    feeds = [{"x": np.arange(n, dtype=np.float32) % 5} for n in (30, 13, 12, 60)]
    compare_with_onnxruntime(model, feeds[0], feeds[1:])
