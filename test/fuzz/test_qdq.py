"""QDQ graphs: what is drawn, what their reference is, and how their results are judged."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from planted_rules import plant

from fuzz.__main__ import main
from fuzz.draw import draw_case
from fuzz.draw_registry import MIXED, QDQ, all_draws
from fuzz.graph_outcome import GraphStatus
from fuzz.node_evaluation import evaluate_node
from fuzz.qdq import same_ending
from fuzz.qdq.check_qdq import (
    check_inputs,
    most_steps,
    problem_of_change,
    problem_of_layer,
    quantized_inputs,
    with_quantized_outputs,
)
from fuzz.qdq.layer_evaluation import JudgedLayer, LayerEvaluation, expected_outputs
from fuzz.rounds import Inputs
from graphc.dialects import graph
from graphc.mlir import arith
from graphc.passes.graph_to_linalg import quantization

DRAWN = range(120)


@pytest.fixture(scope="module")
def drawn():
    return [draw_case(3, index, QDQ) for index in DRAWN]


def test_a_family_is_drawn_alone_and_among_others(drawn):
    assert all(case.family == QDQ for case in drawn)
    families = [draw_case(3, index).family for index in range(20)]
    assert set(families) == {MIXED, QDQ}
    index = families.index(QDQ)
    again = draw_case(3, index)
    assert again.model.SerializeToString() == drawn[index].model.SerializeToString()


def test_qdq_graphs_cover_much(drawn):
    nodes = [node for case in drawn for node in case.model.graph.node]
    assert len({node.op_type for node in nodes}) >= 60
    assert {"QLinearConv", "QLinearAdd", "QGemm", "MatMulInteger", "ConvTranspose"} <= {
        node.op_type for node in nodes
    }
    attributes = {attribute.name for node in nodes for attribute in node.attribute}
    assert {"axis", "block_size", "group", "pads", "strides", "dilations"} <= attributes
    weights = [tensor.data_type for case in drawn for tensor in case.model.graph.initializer]
    types = onnx.TensorProto
    assert {types.INT4, types.UINT4, types.INT8, types.UINT8, types.INT32} <= set(weights)
    sizes = [d for c in drawn for i in c.model.graph.input for d in i.type.tensor_type.shape.dim]
    assert any(each.dim_param for each in sizes)
    for case in drawn:
        onnx.checker.check_model(case.model, full_check=True)


def test_every_draw_gives_nodes():
    """Each is in some graph."""
    names = {each.name for each in all_draws(QDQ)}
    assert len(names) >= 20
    assert not names & {each.name for each in all_draws()}


def model_of(nodes, inputs, output, weights):
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    outputs = [helper.make_tensor_value_info("y", output, None)]
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for name, a in inputs.items()
    ]
    made = helper.make_graph(nodes, "qdq", infos, outputs, initializers)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


NODE = helper.make_node


def residual(scales):
    """Two values of different scales, added."""
    a, b = (v.ravel() for v in np.meshgrid(*[np.arange(-128, 128, 5, dtype=np.int8)] * 2))
    weights = {f"s{n}": np.float32(scale) for n, scale in enumerate(scales)}
    nodes = [
        NODE("DequantizeLinear", ["a", "s0"], ["fa"]),
        NODE("DequantizeLinear", ["b", "s1"], ["fb"]),
        NODE("Add", ["fa", "fb"], ["f"]),
        NODE("QuantizeLinear", ["f", "s2", "z"], ["y"]),
    ]
    weights["z"] = np.int8(3)
    feeds = {"a": a, "b": b}
    return model_of(nodes, feeds, onnx.TensorProto.INT8, weights), feeds


def dense():
    """A matmul whose sums are never exact, quantised."""
    random = np.random.default_rng(0)
    x = random.integers(0, 256, (256, 48)).astype(np.uint8)
    weights = {
        "w": random.integers(-128, 128, (48, 32)).astype(np.int8),
        "s": np.float32(0.0231), "sw": np.float32(0.00171), "sy": np.float32(0.033),
        "z": np.uint8(128),
    }  # fmt: skip
    nodes = [
        NODE("DequantizeLinear", ["x", "s", "z"], ["fx"]),
        NODE("DequantizeLinear", ["w", "sw"], ["fw"]),
        NODE("MatMul", ["fx", "fw"], ["f"]),
        NODE("QuantizeLinear", ["f", "sy", "z"], ["y"]),
    ]
    return model_of(nodes, {"x": x}, onnx.TensorProto.UINT8, weights), {"x": x}


def layer_of(model, feeds):
    expected = expected_outputs(model, feeds)
    (layer,) = LayerEvaluation(model).layers(feeds, expected)
    return layer


def test_only_sums_leave_an_element_open():
    """Values on ties are determined to the bit if they are sums of two products."""
    model, feeds = residual((0.5, 0.5, 1.0))
    layer = layer_of(model, feeds)
    halves = (feeds["a"].astype(int) + feeds["b"]) % 2
    assert halves.any()
    assert (layer.low == layer.high).all()
    layer = layer_of(*dense())
    undecided = layer.low != layer.high
    assert 0 < undecided.sum() < layer.wanted.size / 100
    assert ((layer.low <= layer.wanted) & (layer.wanted <= layer.high)).all()


def test_a_mean_far_from_zero_leaves_more_open():
    """Its rounding is large beside what the row deviates from it."""
    rows = np.random.default_rng(1).standard_normal((64, 20)).astype(np.float32)
    weights = {
        "w": np.full(20, 1.5, np.float32), "s": np.float32(0.0001732), "z": np.int16(0),
    }  # fmt: skip
    nodes = [
        NODE("LayerNormalization", ["x", "w"], ["f"], axis=-1, epsilon=1e-3),
        NODE("QuantizeLinear", ["f", "s", "z"], ["y"]),
    ]
    open_steps = []
    for mean in (0, 20):
        feeds = {"x": rows + np.float32(mean)}
        layer = layer_of(model_of(nodes, feeds, onnx.TensorProto.INT16, weights), feeds)
        open_steps.append((layer.low != layer.high).mean())
        centred = rows.astype(np.float64) - rows.mean(1, dtype=np.float64, keepdims=True)
        deviation = np.sqrt((centred**2).mean(1, keepdims=True) + 1e-3)
        exact = np.rint(1.5 * centred / deviation / 0.0001732)
        assert ((layer.low - 1 <= exact) & (exact <= layer.high + 1)).all()
    near, far = open_steps
    assert near < 0.1 < far < 0.5


def test_how_a_layer_is_judged():
    wanted = np.arange(100, dtype=np.uint8)
    layer = JudgedLayer("y", wanted, wanted, wanted)

    def is_right(off, by, allows_steps):
        have = wanted.copy()
        have[:off] += np.uint8(by)
        return not problem_of_layer(layer, have, allows_steps)

    assert is_right(0, 0, False)
    assert not is_right(1, 1, False)
    assert is_right(4, 1, True)
    assert not is_right(5, 1, True)
    assert not is_right(1, 2, True)
    assert "int64[100], not uint8[100]" in problem_of_layer(layer, wanted.astype(np.int64), True)
    wide = JudgedLayer("y", wanted, wanted, wanted + np.uint8(1))
    assert not problem_of_layer(wide, wanted + np.uint8(1), False)


def test_small_results_of_functions_are_as_good_as_those_of_one():
    """ONNX Runtime's Sigmoid is off by 6 % of itself at -14.6."""
    wanted = np.float32([4.1723e-7, 3e-9])
    error = np.float32(1e-6)
    layer = JudgedLayer("v", wanted, wanted - error, wanted + error)
    assert not problem_of_layer(layer, np.float32([4.4046e-7, 0]), False)
    assert "is off by" in problem_of_layer(layer, np.float32([4e-6, 0]), False)
    assert problem_of_layer(layer, np.float32([np.nan, 0]), False)
    assert problem_of_layer(layer, np.float64([4.1723e-7, 3e-9]), False)


def test_outputs_change_in_what_rounding_leaves_open_alone():
    """The backend fuses other loops into a reduction if a quantised operand of it is an output,
    too; then the sum has another order."""
    wanted, error = np.float32([-0.098786, 2]), np.float32(1e-5)
    layer = JudgedLayer("y", wanted, wanted - error, wanted + error)
    assert not problem_of_change(layer, wanted, wanted + error / 2, False)
    assert "changes if" in problem_of_change(layer, wanted, wanted + np.float32(0.1), False)
    steps = np.arange(3, dtype=np.uint8)
    layer = JudgedLayer("q", steps, steps, steps + np.uint8(1))
    assert not problem_of_change(layer, steps, steps, False)
    assert "changes if" in problem_of_change(layer, steps, steps + np.uint8(1), False)


def test_how_many_steps_chance_explains():
    assert [most_steps(n) for n in (0, 1, 100, 1000, 20_000)] == [0, 1, 4, 9, 45]
    assert most_steps(2_000_000) == 2216


def test_integers_are_summed_without_saturation():
    """ONNX Runtime saturates sums of pairs on CPUs with AVX2 alone."""
    x, w = np.full((1, 64, 1, 1), 255, np.uint8), np.full((2, 64, 1, 1), 127, np.int8)
    w[1] = -128
    scale, zero = np.float32(1), np.uint8(3)
    bias = np.array([5, -7], np.int32)
    feeds = {"x": x, "xs": np.float32(0.5), "xz": zero, "w": w, "ws": np.float32(0.001),
             "wz": np.int8(0), "ys": scale, "yz": np.uint8(100), "b": bias}  # fmt: skip
    node = NODE("QLinearConv", list(feeds), ["y"])
    (y,), _ = evaluate_node(node, feeds, 18)
    sums = np.array([64 * 252 * 127 + 5, 64 * 252 * -128 - 7])
    wanted = np.clip(np.rint(sums * np.float32(0.5 * 0.001)) + 100, 0, 255)
    assert y.ravel().tolist() == wanted.tolist()


def contracted(op, x, scale, zero_point):
    """A rule of `dequantize` whose product a sum may be fused with."""
    y = quantization.dequantize(op, x, scale, zero_point)
    return arith.mulf(y, arith.constant(y.type, 1 + 2**-20))


def status_of(model, feeds, **options):
    everything = [Inputs(feeds, expected_outputs(model, feeds))]
    return check_inputs(model, everything, 60, (), **options)


def saved(folder, model, feeds):
    """The file of `model`, with `feeds` beside it."""
    onnx.save(model, folder / "model.onnx")
    for number, array in enumerate(feeds.values()):
        np.save(folder / f"input{number}.npy", array)
    return str(folder / "model.onnx")


def test_an_error_of_another_class_is_another_ending(tmp_path):
    model, feeds = residual((0, 0.5, 1.0))
    ending = status_of(model, feeds)
    assert ending.status is GraphStatus.ERROR
    path = saved(tmp_path, model, feeds)
    way, error, *_ = ending.detail.split(": ")
    assert same_ending.main(["error", f"{way}: {error}", path]) == 0
    assert same_ending.main(["error", f"{way}: BackendError", path]) == 1


def test_rounding_is_found_wrong_in_both_precisions_if_it_is(monkeypatch, tmp_path):
    model, feeds = residual((0.5, 0.5, 1.0))
    assert status_of(model, feeds).status is GraphStatus.PASS
    plant(monkeypatch, graph.DequantizeOp, contracted)
    ending = status_of(model, feeds)
    assert ending.status is GraphStatus.WRONG
    assert "elements are up to 1 steps off" in ending.detail
    arguments = ["wrong answer", "strict", saved(tmp_path, model, feeds)]
    assert same_ending.main(arguments) == 0
    monkeypatch.undo()
    assert same_ending.main(arguments) == 1


def test_a_step_of_a_sum_is_allowed_where_rounding_decides():
    model, feeds = dense()
    layer = layer_of(model, feeds)
    expected = {"y": np.where(layer.wanted == layer.low, layer.high, layer.low)}
    given = check_inputs(model, [Inputs(feeds, expected)], 60, (), target="interpret")
    assert given.status is GraphStatus.PASS, given


def test_passes_for_other_units_are_interpreted():
    """The same judgement holds for the program of passes that multiply integers."""
    model, feeds = dense()
    everything = [Inputs(feeds, expected_outputs(model, feeds))]
    assert check_inputs(model, everything, 60).status is GraphStatus.PASS


def test_inputs_have_other_values_and_sizes(drawn):
    shapes = [
        {name: array.shape for name, array in inputs.feeds.items()}
        for case in drawn[:10]
        for inputs in quantized_inputs(case)[1:]
    ]
    assert len(shapes) > 10
    case = next(case for case in drawn if len(case.model.graph.output) > 1)
    exposed = with_quantized_outputs(case.model, case.feeds)
    assert len(exposed.graph.output) > len(case.model.graph.output)


def test_a_run_of_one_family(tmp_path, capsys):
    arguments = ["--family=qdq", "--seed=2", "-o", str(tmp_path), "-j1"]
    assert main([*arguments, "--graphs=1"]) == 0
    assert "1 pass, 0 do not" in capsys.readouterr().out
    assert main(["--seed=2", "-o", str(tmp_path), "-j1", "--graphs=1", "--resume"]) == 2
