"""Values of models with so many results that the host waits for all at once, here for a few."""

from itertools import cycle

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphc
from graphc.mlir import ir
from graphc.passes.infra.pipeline import run_pipeline
from graphc.passes.pipelines import LOWERINGS

MOST, COUNT = 12, 30
RNG = np.random.default_rng(0)
WEIGHTS = numpy_helper.from_array(RNG.standard_normal((8, 8)).astype(np.float32), "w")


def _model(nodes, size, constants=()):
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [size, 8])]
    produced = [helper.make_empty_tensor_value_info(y) for node in nodes for y in node.output]
    body = helper.make_graph(nodes, "results", inputs, produced, list(constants))
    return helper.make_model(body, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def _sums(size):
    """Sums that differ in a constant, of the input and of two products, and results of all other
    kinds: an input, a constant, sizes, bits, integers, a value twice, and one of unknown size."""
    values = [numpy_helper.from_array(np.float32(number), f"c{number}") for number in range(COUNT)]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("MatMul", ["p", "w"], ["q"]),
    ]
    nodes += [
        helper.make_node("Add", [x, value.name], [f"y{value.name}"])
        for x, value in zip(cycle("xpq"), values, strict=False)
    ]
    nodes += [
        helper.make_node("Identity", ["x"], ["input"]),
        helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(np.arange(5))),
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Greater", ["x", "c0"], ["positive"]),
        helper.make_node("Cast", ["positive"], ["bits"], to=TensorProto.INT64),
        helper.make_node("Identity", ["yc3"], ["twice"]),
        helper.make_node("NonZero", ["positive"], ["found"]),
    ]
    return _model(nodes, size, [WEIGHTS, *values])


def _branch(number):
    node = helper.make_node("Add", ["p", f"{number}"], [f"r{number}"])
    return helper.make_graph(
        [node], f"b{number}", [], [helper.make_empty_tensor_value_info(f"r{number}")]
    )


def _branches(size):
    """Columns of what one of two branches computes."""
    values = [numpy_helper.from_array(np.float32(number), f"{number}") for number in range(2)]
    names = [f"y{number}" for number in range(COUNT)]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("ReduceSum", ["x"], ["total"], keepdims=0),
        helper.make_node("Greater", ["total", "0"], ["c"]),
        helper.make_node("If", ["c"], ["r"], then_branch=_branch(0), else_branch=_branch(1)),
        helper.make_node("Concat", ["r"] * COUNT, ["wide"], axis=1),
        helper.make_node("Split", ["wide"], names, axis=1, num_outputs=COUNT),
    ]
    return _model(nodes, size, [WEIGHTS, *values])


@pytest.mark.parametrize("make", [_sums, _branches])
@pytest.mark.parametrize(("size", "rows"), [(7, (7,)), ("n", (7, 0))])
def test_values(make, size, rows, monkeypatch):
    name = "workaround-many-results"
    passes = [each.replace(name, f"{name}{{{{most={MOST}}}}}") for each in LOWERINGS["cpu"]]
    assert passes != [*LOWERINGS["cpu"]]
    monkeypatch.setitem(LOWERINGS, "cpu", tuple(passes))
    model = make(size)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    with graphc.compile(model, threads=2) as compiled:
        for count in rows:
            x = np.abs(RNG.standard_normal((count, 8)).astype(np.float32))
            for feeds in ({"x": x}, {"x": -x}):
                expected, found = session.run(None, feeds), compiled.run(None, feeds)
                for wanted, have in zip(expected, found, strict=True):
                    assert (have.dtype, have.shape) == (wanted.dtype, wanted.shape)
                    np.testing.assert_allclose(have, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("context")
def test_results_in_buffers_of_the_caller_have_no_barrier():
    module = ir.Module.parse(
        "func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {"
        "  return %x, %x : tensor<4xf32>, tensor<4xf32>"
        "}"
    )
    run_pipeline(module, "dps-entry,workaround-many-results{most=1}")
    main, into = map(str, module.body.operations)
    assert "hal.tensor.barrier" in main
    assert "iree.abi.output" in into
    assert "hal.tensor.barrier" not in into


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize(("results", "entries"), [(128, 2), (129, 1)])
def test_no_entry_writes_many_results_to_buffers_of_the_caller(results, entries):
    type_ = ", ".join(["tensor<4xf32>"] * results)
    module = ir.Module.parse(
        f"func.func @main(%x: tensor<4xf32>) -> ({type_}) {{"
        f"  return {', '.join(['%x'] * results)} : {type_}"
        "}"
    )
    run_pipeline(module, "dps-entry")
    assert len(module.body.operations) == entries
