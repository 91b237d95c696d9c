"""Operators whose axes are fed, against ONNX Runtime or the reference."""

import numpy as np
import pytest
from numerics import Cases, Feed, compare, compile_model, evaluate, output_names, run_compiled

from graphc.errors import ExecutionError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx

_random = np.random.default_rng(0)

REDUCTIONS = (
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
)


def _positive(*shape: int) -> np.ndarray:
    return np.asarray(_random.random(shape) * 3 + 1, np.float32)


def test_reductions():
    cases = Cases(opset=18)
    for number, op_type in enumerate(REDUCTIONS):
        cases.add(op_type, _positive(2, 3), np.array([number % 4 - 2]), keepdims=number // 2 % 2)
    x = Feed(_positive(2, 3, 4), ["a", 3, "b"])
    cases.add("ReduceSum", x, np.array([2, 0]))
    cases.add("ReduceMean", x, np.array([-3]), keepdims=0)
    cases.add("ReduceMax", _random.integers(0, 99, (3, 4)), np.array([1, 0]), keepdims=0)
    cases.add("ReduceSum", _positive(2, 0, 3), np.array([1]))
    cases.add("ReduceProd", _positive(2, 0, 3), np.array([0]), keepdims=0)
    cases.compare_with_onnxruntime()


def test_reductions_of_no_axes():
    cases = Cases(opset=18)
    x, none = _positive(2, 3), np.zeros(0, np.int64)
    cases.add("ReduceSum", x, none)
    cases.add("ReduceSum", x, none, noop_with_empty_axes=1)
    cases.add("ReduceMax", x, Feed(none, ["n"]))
    cases.add("ReduceMax", x, Feed(none, ["n"]), noop_with_empty_axes=1)
    cases.add("ReduceMax", x, Feed(np.array([-1]), ["n"]), noop_with_empty_axes=1)
    cases.add("ReduceMin", _positive(), none)
    cases.compare_with_onnxruntime()


def test_running_sums_and_products():
    cases = Cases(opset=26)
    x = _positive(2, 3, 4)
    for axis in (0, 1, -1):
        cases.add("CumSum", x, np.array(axis), reverse=axis % 2)
    cases.add("CumSum", Feed(x, ["a", "b", "c"]), np.array([1], np.int32), exclusive=1)
    cases.add("CumSum", x[0, 0], np.array(-1))
    cases.add("CumProd", x, np.array(1), exclusive=1)
    model = cases.model()
    expected = [np.cumsum(x, 0), np.flip(np.cumsum(np.flip(x, 1), 1), 1)]
    expected += [np.flip(np.cumsum(np.flip(x, -1), -1), -1), np.cumsum(x, 1) - x]
    expected += [np.cumsum(x[0, 0]), np.cumprod(x, 1) / x]
    compare(evaluate(model, cases.feeds), expected, output_names(model), what="evaluated")
    compare(run_compiled(model, cases.feeds), expected, output_names(model))


def test_squeeze_and_unsqueeze():
    cases = Cases(opset=13)
    x = _positive(1, 3, 1, 2)
    cases.add("Squeeze", x, np.array([-2]))
    cases.add("Squeeze", Feed(x, ["a", "b", "c", 2]), np.array([2, 0]))
    cases.add("Squeeze", _positive(1), np.array([0]))
    cases.add("Unsqueeze", x, np.array([0, -1, 2]))
    cases.add("Unsqueeze", Feed(x[0, :, 0], ["a", "b"]), np.array([1]))
    cases.add("Unsqueeze", np.array(1.5, np.float32), np.array([1, 0]))
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize(
    ("op_type", "x", "axes", "message"),
    [
        ("ReduceSum", _positive(2, 3), [2], "an axis is outside a tensor of rank 2"),
        ("ReduceSum", _positive(2, 3), [0, -2], "an axis is named twice"),
        ("Squeeze", _positive(2, 3), [0], "do not reshape"),
        ("Unsqueeze", _positive(2), [-4, 0], "an axis is outside a tensor of rank 3"),
        ("CumSum", _positive(2, 3), [-3], "an axis is outside a tensor of rank 2"),
    ],
)
def test_axes_are_checked_when_the_model_runs(op_type, x, axes, message):
    cases = Cases(opset=14)
    cases.add(op_type, x, np.array(axes))
    model = compile_model(cases.model())
    with pytest.raises(ExecutionError, match=f"{op_type}_0: .*{message}"):
        model.run(None, cases.feeds)
    if "reshape" not in message:
        with pytest.raises(ExecutionError, match=f"at node {op_type}_0: {message}"):
            evaluate(cases.model(), cases.feeds)


@pytest.mark.parametrize("op_type", ["ReduceSum", "Squeeze", "Unsqueeze"])
def test_axes_of_unknown_number_are_refused(op_type):
    cases = Cases(opset=14)
    cases.add(
        op_type,
        _positive(1, 3),
        Feed(np.array([0]), ["n"]),
        **({"keepdims": 0} if op_type == "ReduceSum" else {}),
    )
    with pytest.raises(UnsupportedModelError, match="axes of unknown length"):
        import_onnx(cases.model())
