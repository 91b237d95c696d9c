"""The kernel that pads tensors by their own elements, or by a value, against numpy."""

import ml_dtypes
import numpy as np
import pytest
from numerics import build_model, const
from onnx import helper

import graphc
from graphc.cpu_model import CpuModel
from graphc.errors import ExecutionError
from graphc.passes.kernels.padded_rows import PaddedAxis, merged_padding
from graphc.passes.pipelines import graph_pipeline
from harness.marks import long

MODES = ("edge", "reflect", "wrap", "constant")
VALUE = 1


def _compiled(shape, pads, dtype=np.float32, vector_bits=512):
    nodes = [helper.make_node("Pad", ["x", "p", "v"], [mode], mode=mode) for mode in MODES]
    known = {"p": np.int64(pads), "v": const(VALUE, dtype)}
    model = build_model(nodes, {"x": (dtype, shape)}, list(MODES), known)
    pipeline = graph_pipeline("cpu", CpuModel(vector_bits), threads=2)
    return graphc.compile(model, pipeline=pipeline, threads=2, cache=False)


def _check(compiled, x, pads):
    width = list(zip(pads[: x.ndim], pads[x.ndim :], strict=True))
    for mode, found in zip(MODES, compiled.run(None, {"x": x}), strict=True):
        around = {"constant_values": VALUE} if mode == "constant" else {}
        expected = np.pad(x, width, mode, **around)
        np.testing.assert_array_equal(found, expected, err_msg=f"{mode} {x.shape}")


@pytest.mark.parametrize("vector_bits", [long(128), long(256), 512])
@pytest.mark.parametrize("named", [False, True])
def test_images(vector_bits, named):
    pads = (0, 0, 3, 2, 0, 0, 1, 20)
    shape = ["n", 3, "h", "w"] if named else [2, 3, 5, 70]
    with _compiled(shape, pads, vector_bits=vector_bits) as compiled:
        assert compiled.report.rewrites["pad-kernel"].count == len(MODES)
        for n, h, w in ((2, 5, 70), (1, 4, 21), (3, 1, 1), (2, 2, 3)) if named else ((2, 5, 70),):
            _check(compiled, np.arange(n * 3 * h * w, dtype=np.float32).reshape(n, 3, h, w), pads)


@pytest.mark.parametrize(
    ("shape", "pads"),
    [
        ([4000], (40, 3)),
        ([3, 40, 2], (0, 7, 0, 0, 8, 0)),
        ([2, 5, 6, 17], (1, 0, 2, 0, 0, 0, 1, 0)),
        ([2, 3, 4, 5], (1, 1, 1, 1, 1, 2, 3, 4)),
    ],
)
def test_axes(shape, pads):
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    for names in (shape, [f"s{axis}" for axis in range(len(shape))]):
        with _compiled(names, pads) as compiled:
            _check(compiled, x, pads)


@pytest.mark.parametrize(
    "dtype", [np.float64, np.int64, np.int16, np.float16, ml_dtypes.bfloat16, np.int8, np.bool_]
)
def test_other_types(dtype):
    x = np.random.default_rng(0).integers(0, 2, (3, 37, 50)).astype(dtype)
    pads = (0, 2, 3, 0, 2, 3)
    with _compiled(["a", 37, "c"], pads, dtype) as compiled:
        _check(compiled, x, pads)


def test_an_empty_axis_has_no_elements():
    x, error = np.zeros((0, 3), np.float32), pytest.raises(ExecutionError, match="axis 0, which is")
    with _compiled(["n", 3], (1, 0, 1, 0)) as compiled, error:
        compiled.run(None, {"x": x})


def test_axes_that_are_not_padded_join():
    axes, unit = merged_padding([2, 3, 4, 5, 6], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0])
    assert axes == (PaddedAxis(6), PaddedAxis(4, 1))
    assert unit == 30


def test_transposes_sink_through_it():
    """So that an image stays channels-last between convolutions."""
    nodes = [
        helper.make_node("Conv", ["x", "v"], ["a"]),
        helper.make_node("Pad", ["a", "p"], ["b"], mode="reflect"),
        helper.make_node("Conv", ["b", "w"], ["y"]),
    ]
    rng = np.random.default_rng(0)
    weights = {name: rng.standard_normal((8, 8, 3, 3), np.float32) for name in ("v", "w")}
    constants = {**weights, "p": np.int64([0, 0, 1, 1, 0, 0, 1, 1])}
    model = build_model(nodes, {"x": (np.float32, [1, 8, 9, 9])}, ["y"], constants)
    with graphc.compile(model, cache=False) as compiled:
        assert compiled.report.rewrites["sink-through-pad-from-data"].count == 1
