"""Names of sizes: which count, how they are spelled, and what `dims` takes."""

import numpy as np
import pytest
from importing import refused, returned
from numerics import build_model
from onnx import helper

import graphc
from graphc.errors import InvalidDimError


def model_with(*shapes):
    """A Relu of each input; ``-1`` is as old exporters write it, "" for no text at all."""
    inputs = {f"x{i}": (np.float32, shape) for i, shape in enumerate(shapes)}
    nodes = [helper.make_node("Relu", [name], [f"y{i}"]) for i, name in enumerate(inputs)]
    return build_model(nodes, inputs, [f"y{i}" for i in range(len(shapes))])


@pytest.mark.parametrize(
    "text", ["?", "-1", -1, -100, "", "None", "unknown", "dynamic", "*", "_", " ", "3"]
)
def test_texts_that_name_nothing(text):
    """They stand on axes that have nothing to do with each other, and ONNX Runtime runs them."""
    model = model_with([text, 3, text], [text])
    assert returned(model) == ["x0_0x3xx0_2xf32", "x1_0xf32"]
    assert returned(model, dims={"x0_2": 4}) == ["x0_0x3x4xf32", "x1_0xf32"]
    compiled = graphc.compile(model, "interpret")
    shapes = [(2, 3, 5), (7,)]
    assert [y.shape for y in compiled.run(None, _ones(*shapes))] == shapes


def _ones(*shapes):
    return {f"x{i}": np.ones(shape, np.float32) for i, shape in enumerate(shapes)}


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("unk__123", "unk__123"),
        ("p2o.DynamicDimension.0", "p2o_DynamicDimension_0"),
        ("batch size", "batch_size"),
        ("class", "d_class"),
        ("2nd", "d_2nd"),
        ("長さ", "d___"),
        ("seq.len", "seq.len"),
    ],
)
def test_names_are_usable_as_the_model_spells_them(text, symbol):
    model = model_with([text, 2], [text])
    assert returned(model) == [f"{symbol}x2xf32", f"{symbol}xf32"]
    for name in (text, symbol):
        assert returned(model, dims={name: 4}) == ["4x2xf32", "4xf32"]


def test_different_names_stay_different():
    shapes = returned(model_with(["batch size", "batch_size"], ["長さ", "高さ"], ["x3_0"], ["?"]))
    assert shapes == ["batch_size_1xbatch_sizexf32", "d___xd____1xf32", "x3_0xf32", "x3_0_1xf32"]


def test_formulas_of_sizes_that_no_axis_has():
    """ONNX Runtime takes them for names, whose sizes follow from nothing."""
    model = model_with(["2*h", "h - 1"], ["2*h", "n", "2*n"])
    assert returned(model) == ["d_2_hxh___1xf32", "d_2_hxnx2*nxf32"]
    assert returned(model, dims={"2*h": 6})[0] == "6xh___1xf32"
    compiled = graphc.compile(model)
    shapes = [(5, 4), (5, 3, 6)]
    assert [y.shape for y in compiled.run(None, _ones(*shapes))] == shapes


def test_names_that_are_taken_away():
    model = model_with(["n", 2, "m"], ["n", "2*n + m"], ["n + 1", "k"])
    assert returned(model, independent_dims=["n"]) == [
        "x0_0x2xmxf32",
        "x1_0xx1_1xf32",
        "x2_0xkxf32",
    ]
    assert returned(model, independent_dims=["2*m"]) == returned(model)


def test_dims_that_name_nothing():
    error = refused(model_with(["?", "n"]), InvalidDimError, dims={"?": 2})
    assert error == "no dimension named ?; the model has: n, x0_0"
