"""The kernel for positions of extreme elements (ArgMax, ArgMin) along the last axis."""

import ml_dtypes
import numpy as np
import pytest
from numerics import build_model
from onnx import helper

import graphc
from graphc.compiler.compile import compile_to_file

LENGTHS = (1, 3, 15, 16, 33, 64, 129, 600, 4097, 9000)
"""Rows in lanes, in vectors, in several at once, left early, and of several blocks."""


def _model(dtype, sizes):
    nodes = [
        helper.make_node(op, ["x"], [f"{op}{last}"], axis=1, keepdims=0, select_last_index=last)
        for op in ("ArgMax", "ArgMin")
        for last in (0, 1)
    ]
    names = [node.output[0] for node in nodes]
    return build_model(nodes, {"x": (dtype, sizes)}, names)


def _compiled(dtype, sizes, target="cpu"):
    return graphc.compile(_model(dtype, sizes), target=target, threads=2, cache=False)


def _expected(x):
    x = x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x
    for choose in (np.argmax, np.argmin):
        yield choose(x, 1)
        yield x.shape[1] - 1 - choose(x[:, ::-1], 1)


def _check(model, x):
    for found, expected in zip(model(x), _expected(x), strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=str(x.shape))


def _rows(dtype, rows, length):
    """Rows with few different elements, of equal ones, and of the least and greatest."""
    generator = np.random.default_rng(length)
    low, high = (0, 120) if np.dtype(dtype).kind == "u" else (-60, 60)
    x = generator.integers(low, high, (rows, length)).astype(dtype)
    x[1::4] = x[1::4, :1]
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        x[2::4], x[3::4, ::2] = limits.min, limits.max
    return x


INTEGERS = [np.int8, np.uint8, np.uint16, np.int32, np.uint64]


@pytest.mark.parametrize("dtype", [*INTEGERS, np.float16, ml_dtypes.bfloat16, np.float64])
def test_rows_of_named_length(dtype):
    with _compiled(dtype, ["n", "m"]) as model:
        assert b"arg_extreme" in model._measured[0].contents.tobytes()
        for length in LENGTHS:
            for rows in (0, 1, 19):
                _check(model, _rows(dtype, rows, length))


@pytest.mark.parametrize("length", [1, 7, 15, 40, 300])
@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_rows_of_fixed_length(dtype, length):
    with _compiled(dtype, [37, length]) as model:
        _check(model, _rows(dtype, 37, length))


@pytest.mark.long
@pytest.mark.parametrize("length", [2, 9, 16, 17, 128, 129, 5000])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float16, np.int64, np.float64])
def test_rows_of_more_fixed_lengths(dtype, length):
    with _compiled(dtype, [37, length]) as model:
        _check(model, _rows(dtype, 37, length))


def test_nan_infinity_and_negative_zero():
    generator = np.random.default_rng(0)
    with _compiled(np.float32, ["n", "m"]) as model:
        for length in LENGTHS:
            x = generator.choice([-np.inf, np.inf, -0.0, 0.0], (20, length)).astype(np.float32)
            x[::5], x[1::5] = -np.inf, np.inf
            x[2::5][generator.random((4, length)) < 0.1] = np.nan
            x[3] = np.nan
            x[4, -1] = np.nan
            x[8] = 0
            x[8, 0] = np.nan
            _check(model, x)


def test_trailing_axes_of_one_element():
    node = helper.make_node("ArgMax", ["x"], ["y"], axis=1)
    model = build_model([node], {"x": (np.float32, ["n", 21, 1, 1])}, ["y"])
    x = np.random.default_rng(0).standard_normal((5, 21, 1, 1), np.float32)
    with graphc.compile(model, threads=1) as compiled:
        np.testing.assert_array_equal(compiled(x), x.argmax(1)[:, None])


@pytest.mark.long
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.int64])
def test_vectors_of_other_lengths(dtype):
    """Those of SSE, with values; those that this machine may lack compile."""
    with _compiled(dtype, ["n", "m"], "cpu:x86-64") as model:
        for length in LENGTHS:
            _check(model, _rows(dtype, 19, length))
    for variant in ("x86-64-v4", "neoverse-v2"):
        compile_to_file(_model(dtype, ["n", "m"]), f"cpu:{variant}")
