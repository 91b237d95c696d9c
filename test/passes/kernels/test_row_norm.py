"""Layer and RMS normalization by a kernel of our own, against float64."""

import numpy as np
import pytest
from numerics import build_model
from onnx import helper

import graphc
from graphc.cpu_model import CpuModel
from graphc.passes.pipelines import graph_pipeline

SHAPES = [(3, 1), (2, 7), (5, 16), (2, 3, 63), (4, 64), (1, 300), (40, 1030)]


def _nodes(number, length, axis, rank, rms):
    """A node with its constants; a bias for every second normalization of layers."""
    constants = {f"s{number}": np.linspace(-1, 2, length, dtype=np.float32)}
    if not rms and number % 2:
        constants[f"b{number}"] = np.linspace(3, -4, length, dtype=np.float32)
    op_type = "RMSNormalization" if rms else "LayerNormalization"
    inputs = [f"x{number}", *constants]
    return helper.make_node(op_type, inputs, [f"y{number}"], axis=axis - rank), constants


def _expected(x, constants, rms):
    scale, *bias = constants.values()
    wide = x.astype(np.float64)
    mean = 0 if rms else wide.mean(-1, keepdims=True)
    y = (wide - mean) / np.sqrt(np.square(wide - mean).mean(-1, keepdims=True) + 1e-5) * scale
    return y + bias[0] if bias else y


@pytest.mark.parametrize("vector_bits", [256, 512])
@pytest.mark.parametrize("named", [False, True])
def test_rows(named, vector_bits):
    random = np.random.default_rng(0)
    nodes, inputs, constants, feeds, expected = [], {}, {}, {}, []
    for number, (shape, rms) in enumerate((s, rms) for s in SHAPES for rms in (False, True)):
        node, own = _nodes(number, shape[-1], len(shape) - 1, len(shape), rms)
        nodes.append(node)
        constants |= own
        names = [f"d{number}_{axis}" for axis in range(len(shape) - 1)]
        inputs[f"x{number}"] = (np.float32, [*names, shape[-1]] if named else shape)
        x = random.standard_normal(shape, np.float32) + 100 * (number % 3)
        feeds[f"x{number}"] = x
        expected.append(_expected(x, own, rms))
    model = build_model(nodes, inputs, [node.output[0] for node in nodes], constants, opset=23)
    pipeline = graph_pipeline("cpu", CpuModel(vector_bits), threads=2)
    with graphc.compile(model, pipeline=pipeline, threads=2, cache=False) as compiled:
        assert compiled.report.rewrites["norm-kernel"].count == len(nodes)
        for found, wanted in zip(compiled.run(None, feeds), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)


def test_rows_of_named_length():
    """Rows of two axes, with a scale of the same names."""
    node = helper.make_node("LayerNormalization", ["x", "s"], ["y"], axis=1)
    inputs = {"x": (np.float32, ["n", "a", "b"]), "s": (np.float32, ["a", "b"])}
    random = np.random.default_rng(0)
    with graphc.compile(build_model([node], inputs, ["y"]), cache=False) as compiled:
        assert compiled.report.rewrites["norm-kernel"].count == 1
        for n, a, b in ((1, 1, 1), (3, 5, 7), (0, 2, 3), (2, 40, 30)):
            x = random.standard_normal((n, a, b), np.float32)
            s = random.standard_normal((a, b), np.float32)
            (found,) = compiled.run(None, {"x": x, "s": s})
            wanted = _expected(x.reshape(n, a * b), {"s": s.reshape(-1)}, False)
            np.testing.assert_allclose(found.reshape(n, a * b), wanted, rtol=2e-5, atol=2e-5)


def _normalized(x, groups, scale, bias):
    """Group normalization of channels of axis 1 in f64, with one parameter per channel."""
    rows = x.astype(np.float64).reshape(len(x), groups, -1)
    rows = rows - rows.mean(-1, keepdims=True)
    rows /= np.sqrt(np.square(rows).mean(-1, keepdims=True) + 1e-5)
    each = [-1] + [1] * (x.ndim - 2)
    return rows.reshape(x.shape) * scale.reshape(each) + bias.reshape(each)


@pytest.mark.parametrize("named", [False, True])
def test_channels_of_images(named):
    """Instances, and groups of channels: runs of elements have parameters of their own."""
    cases = [((2, 3, 5, 7), 3), ((3, 6, 4, 5), 2), ((1, 4, 300), 1), ((2, 8, 70), 4)]
    random = np.random.default_rng(0)
    nodes, inputs, constants, feeds, expected = [], {}, {}, {}, []
    for number, (shape, groups) in enumerate(cases):
        x, s, b, y = (f"{kind}{number}" for kind in "xsby")
        channels = shape[1]
        constants |= {s: np.linspace(-1, 2, channels, dtype=np.float32)}
        constants |= {b: np.linspace(3, -4, channels, dtype=np.float32)}
        name, options = "InstanceNormalization", {}
        if groups != channels:
            name, options = "GroupNormalization", {"num_groups": groups}
        nodes.append(helper.make_node(name, [x, s, b], [y], **options))
        sizes = [f"{x}_{axis}" if named and axis != 1 else n for axis, n in enumerate(shape)]
        inputs[x] = (np.float32, sizes)
        feeds[x] = random.standard_normal(shape, np.float32) + 100 * (number % 2)
        expected.append(_normalized(feeds[x], groups, constants[s], constants[b]))
    model = build_model(nodes, inputs, [node.output[0] for node in nodes], constants, opset=23)
    with graphc.compile(model, cache=False) as compiled:
        assert compiled.report.rewrites["norm-kernel"].count == len(nodes)
        for found, wanted in zip(compiled.run(None, feeds), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_a_scale_of_columns_is_left_to_the_backend():
    """Runs of the row do not share it."""
    node = helper.make_node("LayerNormalization", ["x", "s"], ["y"], axis=1)
    constants = {"s": np.linspace(1, 2, 8, dtype=np.float32)}
    model = build_model([node], {"x": (np.float32, [2, 3, 8])}, ["y"], constants)
    x = np.random.default_rng(0).standard_normal((2, 3, 8), np.float32)
    with graphc.compile(model, cache=False) as compiled:
        declined = compiled.report.rewrites["norm-kernel"].declined
        assert list(declined) == [
            "scale or bias are neither for each element of a row nor for runs of them"
        ]
        (found,) = compiled.run(None, {"x": x})
    wanted = _expected(x.reshape(2, 24), {"s": np.tile(constants["s"], 3)}, False)
    np.testing.assert_allclose(found, wanted.reshape(x.shape), rtol=1e-5, atol=1e-5)
