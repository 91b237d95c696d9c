"""Results of models that a Vulkan device computes, if there is one."""

import functools
import gc

import numpy as np
import pytest
from detection_models import suppression
from devices import needs_vulkan
from onnx import TensorProto, helper, numpy_helper
from test_models import compare, exported, small_cnn

import graphc
from conformance.run_cases import run_case
from graphc.benchmarks.measure import largest_difference
from graphc.compiler.driver import to_file
from graphc.compiler.options import Options
from harness.compiled_together import run_together
from harness.marks import long
from harness.waiting_call import WaitingCall

pytestmark = needs_vulkan

CASES = {
    "elementwise": "add_bcast cast_FLOAT_to_FLOAT16",
    "contraction": "gemm_all_attributes",
    "convolution": "conv_with_strides_and_asymmetric_padding convtranspose",
    "pooling": "maxpool_2d_pads",
    "reduction": "argmax_default_axis_example cumsum_2d_axis_0",
    "normalization": "layer_normalization_2d_axis1",
    "attention": "attention_4d_causal",
    "movement": "concat_3d_axis_1 slice_neg_steps",
    "indexing": "gather_elements_1 scatternd_add",
    "sorting": "top_k",
    "recurrent": "lstm_with_peepholes",
    "quantization": "qlinearmatmul_2D_int8_float32",
    "resampling": "gridsample_bilinear",
    "control_flow": "if scan9_sum",
    "detection": "nonmaxsuppression_limit_output_size",
    "shapes": "nonzero_example",
}
"""Cases of ONNX's test suite, by family; ``make conformance DEVICE=vulkan`` runs all of them."""

LONG = ("contraction", "pooling", "movement", "recurrent", "quantization", "resampling")
"""Families whose cases long runs compute alone."""


def family_cases():
    return [
        long(name) if family in LONG else name
        for family, names in CASES.items()
        for name in names.split()
    ]


@pytest.fixture(scope="module")
def on_vulkan(by_name, request):
    """Outcomes of the cases by name, whose programs are compiled together.

    They run in one round: a call of a device in software takes a hundredth of a second at least.
    """

    def run(name):
        outcome = run_case(by_name[name], 300, rounds=1, target="vulkan", host=False)
        gc.collect()  # the threads of an open device in software keep cores busy
        return outcome

    items = (item for item in request.session.items if "on_vulkan" in item.fixturenames)
    names = [item.callspec.params["name"] for item in items]
    calls = {name: WaitingCall(functools.partial(run, name)) for name in names}
    assert not run_together(list(calls.values()))
    return {name: call.result() for name, call in calls.items()}


@pytest.mark.parametrize("name", family_cases())
def test_vulkan_computes_what_onnx_says(on_vulkan, name):
    assert on_vulkan[name].passed, on_vulkan[name].detail


def test_vulkan_runs_a_convolutional_network():
    rng = np.random.default_rng(1)
    images = [rng.standard_normal((batch, 3, 33, 47), np.float32) for batch in (1, 3)]
    compare(small_cnn(), [{"x": image} for image in images], target="vulkan")


def test_vulkan_runs_a_transformer_of_any_length():
    compare(*exported("bert-tiny"), target="vulkan")


def test_vulkan_computes_with_what_has_no_elements():
    axes, start, end = (
        numpy_helper.from_array(np.array([value]), name)
        for name, value in (("axes", 1), ("start", 5), ("end", 7))
    )
    nodes = [
        helper.make_node("ReduceSum", ["x", "axes"], ["sums"], keepdims=0),
        helper.make_node("Slice", ["y", "start", "end"], ["rows"]),
        helper.make_node("Neg", ["x"], ["none"]),
    ]
    shapes = {"x": (2, 0, 4), "y": (3, 4), "sums": (2, 4), "rows": (0, 4), "none": (2, 0, 4)}
    infos = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    ]
    graph = helper.make_graph(nodes, "empty", infos[:2], infos[2:], [axes, start, end])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    feeds = {name: np.ones(shapes[name], np.float32) for name in "xy"}
    compare(model, [feeds], target="vulkan")


def test_vulkan_computes_in_f16():
    image = np.random.default_rng(1).standard_normal((1, 3, 33, 47), np.float32)
    fired = compare(small_cnn(), [{"x": image}], target="vulkan", precision="f16")
    assert fired["compute-in-f16"] > 0


def test_vulkan_suppresses_many_boxes():
    rng = np.random.default_rng(0)
    corners = rng.uniform(0, 8, (2, 64, 2)).astype(np.float32)
    sides = rng.uniform(1, 4, (2, 64, 2)).astype(np.float32)
    feeds = {
        "boxes": np.concatenate([corners, corners + sides], axis=2),
        "scores": rng.uniform(0, 1, (2, 3, 64)).astype(np.float32),
        "limit": np.array([20]),
        "overlap": np.array([0.3], np.float32),
        "least": np.array([0.1], np.float32),
    }
    model = suppression(2, 3, 64)
    found, expected = (
        graphc.compile(model, target, host=False).run(None, feeds)[0]
        for target in ("vulkan", "cpu")
    )
    assert len(expected) > 10
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("length", [64, 256])
def test_vulkan_orders_long_rows(length):
    """So long that several threads share a row."""
    x = np.random.default_rng(0).standard_normal((3, length), np.float32)
    infos = [
        helper.make_tensor_value_info(name, kind, shape)
        for name, kind, shape in (
            ("x", TensorProto.FLOAT, x.shape),
            ("values", TensorProto.FLOAT, (3, 7)),
            ("indices", TensorProto.INT64, (3, 7)),
        )
    ]
    node = helper.make_node("TopK", ["x", "k"], ["values", "indices"])
    seven = helper.make_tensor("k", TensorProto.INT64, [1], [7])
    graph = helper.make_graph([node], "g", infos[:1], infos[1:], [seven])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    values, indices = graphc.compile(model, "vulkan", host=False).run(None, {"x": x})
    expected = np.argsort(-x, axis=1)[:, :7]
    assert np.array_equal(indices, expected)
    assert np.array_equal(values, np.take_along_axis(x, expected, 1))


def test_one_file_for_two_targets():
    image = np.ones((1, 3, 33, 47), np.float32)
    contents, _ = to_file(small_cnn(), Options.of_all(["cpu", "vulkan"], host=False))
    outputs = []
    for target in ("cpu", "vulkan"):
        with graphc.load(contents, target=target) as model:
            assert model.target.startswith(f"{target}:")
            outputs.append(model(image))
    assert largest_difference(*outputs) < 1e-4
