"""Group and instance normalizations between channels-last convolutions, and their kernel."""

import numpy as np
import pytest
from numerics import build_model, compare, run_compiled, run_onnxruntime
from onnx import helper

import graphc
from graphc.frontend.onnx import import_onnx
from graphc.passes.infra.pipeline import run_pipeline

SIZES = {
    "groups": (64, 32),
    "one": (24, 1),
    "odd": (21, 7),
    "long": (160, 5),
    "channels": (20, 20),
}
"""Channels and groups."""
NAMED = ("n", 4, "h", "w")


def _weights(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _nodes(channels, groups):
    """A normalization as PyTorch exports it: as one of [N, groups, elements]."""
    known = {
        "shape": np.array([0, groups, -1]), "one": np.ones(groups, np.float32),
        "zero": np.zeros(groups, np.float32), "scale": _weights(channels, 1, 1, seed=1),
        "bias": _weights(channels, 1, 1, seed=2),
    }  # fmt: skip
    nodes = [
        helper.make_node("Reshape", ["a", "shape"], ["rows"]),
        helper.make_node("InstanceNormalization", ["rows", "one", "zero"], ["normal"]),
        helper.make_node("Shape", ["a"], ["sizes"]),
        helper.make_node("Reshape", ["normal", "sizes"], ["image"]),
        helper.make_node("Mul", ["image", "scale"], ["scaled"]),
        helper.make_node("Add", ["scaled", "bias"], ["b"]),
    ]
    return nodes, known


def _instance_norm(channels):
    known = {"scale": _weights(channels, seed=1), "bias": _weights(channels, seed=2)}
    return [helper.make_node("InstanceNormalization", ["a", "scale", "bias"], ["b"])], known


def _group_norm(channels, groups):
    """The operator of opset 21, with parameters for each channel."""
    attrs = {"num_groups": groups, "epsilon": 0.125}
    known = {"scale": _weights(channels, seed=1), "bias": _weights(channels, seed=2)}
    return [helper.make_node("GroupNormalization", ["a", "scale", "bias"], ["b"], **attrs)], known


def _model(made, channels, shape=NAMED, opset=17):
    """A convolution, a normalization, and another convolution."""
    nodes, known = made
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        *nodes,
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("Conv", ["c", "v"], ["y"]),
    ]
    known |= {"w": _weights(channels, 4, 3, 3, seed=3), "v": _weights(8, channels, 1, 1, seed=4)}
    return build_model(nodes, {"x": (np.float32, shape)}, ["y"], known, opset=opset)


def _check(model, *shapes):
    with graphc.compile(model, threads=2, cache=False) as compiled:
        assert compiled.report.rewrites["group-norm-of-channels-last"].count == 1
        assert b"group_moments" in compiled._measured[0].contents.tobytes()
        for shape in shapes:
            feeds = {"x": 5 + _weights(*shape)}
            compare(compiled.run(None, feeds), run_onnxruntime(model, feeds), ["y"], {"y": 2e-5})


@pytest.mark.parametrize("name", SIZES)
def test_as_pytorch_exports_it(name):
    channels, groups = SIZES[name]
    _check(_model(_nodes(channels, groups), channels), (1, 4, 17, 31), (3, 4, 5, 2), (1, 4, 1, 1))


def test_fixed_sizes():
    _check(_model(_nodes(48, 6), 48, (2, 4, 40, 9)), (2, 4, 40, 9))


def test_moments_without_a_kernel():
    """By reductions, on other CPUs."""
    model = _model(_nodes(12, 4), 12)
    feeds = {"x": 5 + _weights(2, 4, 7, 9)}
    pipeline = "graph-simplify,graph-fold-constants,graph-convert-layout{norms=true}"
    module = import_onnx(model)
    assert "graph.group_moments" in str(run_pipeline(module, pipeline))
    found = run_compiled(model, feeds, pipeline)
    compare(found, run_onnxruntime(model, feeds), ["y"], {"y": 2e-5})


def test_instance_norm_of_sequences():
    nodes, known = _instance_norm(33)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1]),
        *nodes,
        helper.make_node("Conv", ["b", "v"], ["y"]),
    ]
    known |= {"w": _weights(33, 4, 3), "v": _weights(8, 33, 1)}
    model = build_model(nodes, {"x": (np.float32, ("n", 4, "l"))}, ["y"], known, opset=17)
    _check(model, (2, 4, 700), (1, 4, 3))


def test_operator_of_opset_21():
    _check(_model(_group_norm(32, 8), 32, opset=21), (2, 4, 9, 13))


@pytest.mark.parametrize("groups", [16, 4])
def test_means_far_from_zero_do_not_cancel(groups):
    """Squares of 1e4 lose what differs in an f32. The image comes channels-last."""
    known = {
        "shape": np.array([0, groups, -1]), "back": np.array([0, 16, 30, 40]),
        "one": np.ones(groups, np.float32), "zero": np.zeros(groups, np.float32),
    }  # fmt: skip
    nodes = [
        helper.make_node("Transpose", ["x"], ["a"], perm=[0, 3, 1, 2]),
        helper.make_node("Reshape", ["a", "shape"], ["rows"]),
        helper.make_node("InstanceNormalization", ["rows", "one", "zero"], ["normal"]),
        helper.make_node("Reshape", ["normal", "back"], ["b"]),
        helper.make_node("Transpose", ["b"], ["y"], perm=[0, 2, 3, 1]),
    ]
    model = build_model(nodes, {"x": (np.float32, ("n", 30, 40, 16))}, ["y"], known, opset=17)
    x = 1e4 + _weights(2, 30, 40, 16)
    rows = x.astype(float).reshape(2, 1200, groups, -1)
    centred = rows - rows.mean(axis=(1, 3), keepdims=True)
    deviation = np.sqrt(np.square(centred).mean(axis=(1, 3), keepdims=True) + 1e-5)
    expected = (centred / deviation).reshape(x.shape)
    with graphc.compile(model, threads=2, cache=False) as compiled:
        assert b"group_moments" in compiled._measured[0].contents.tobytes()
        np.testing.assert_allclose(compiled(x), expected, atol=2e-3)


def test_sums_of_many_positions_stay_exact():
    """A million elements of one sign, added one by one, are off by more than 1e-5."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["a"], perm=[0, 2, 1]),
        helper.make_node("InstanceNormalization", ["a", "scale", "bias"], ["b"]),
        helper.make_node("Transpose", ["b"], ["y"], perm=[0, 2, 1]),
    ]
    known = {"scale": np.ones(8, np.float32), "bias": np.zeros(8, np.float32)}
    model = build_model(nodes, {"x": (np.float32, (1, "l", 8))}, ["y"], known, opset=17)
    x = np.random.default_rng(0).uniform(0.5, 1.5, (1, 1 << 20, 8)).astype(np.float32)
    wide = x.astype(float)
    expected = (wide - wide.mean(1)) / np.sqrt(wide.var(1) + 1e-5)
    with graphc.compile(model, threads=2, cache=False) as compiled:
        np.testing.assert_allclose(compiled(x), expected, atol=1e-5)
