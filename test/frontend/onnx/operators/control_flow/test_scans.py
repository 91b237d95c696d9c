"""Scan against ONNX Runtime."""

import contextlib

import numpy as np
import pytest
from control_flow_models import check, floats, parse
from numerics import compile_model

from graphc.errors import ExecutionError


def test_scans():
    model = parse(
        "(float[n, 2, t] x, float[2, t] y, float[n] init, float[3, 2] k)"
        " => (float[n] last, float[t, n] sums, float[n, t] back, float[2] both, float[3] parts)",
        """
        zero = Constant <value_floats: floats = [0.0, 0.0]> ()
        axes = Constant <value_ints: ints = [1]> ()
        last, sums, back = Scan (init, x, y) <
          num_scan_inputs: int = 2, scan_input_axes: ints = [2, -1],
          scan_input_directions: ints = [0, 1], scan_output_axes: ints = [0, -1],
          scan_output_directions: ints = [1, 0],
          body: graph = b1 (float[n] s, float[n, 2] a, float[2] b) => (t, u, v) {
            p = MatMul (a, b)
            t = Add (s, p)
            u = Identity (t)
            v = Mul (t, init)
          }>
        both, parts = Scan (zero, k) <num_scan_inputs: int = 1,
          body: graph = b2 (float[2] s, float[2] a) => (t, u) {
            t = Add (s, a)
            u = ReduceSum <keepdims: int = 0> (a)
          }>
        """,
    )
    feeds = {"x": floats(3, 2, 5), "y": floats(2, 5), "init": floats(3), "k": floats(3, 2)}
    check(model, feeds)


def test_a_scan_of_opset_8_has_a_batch_axis():
    model = parse(
        "(float[b, 2] init, float[b, 4, 2] x) => (float[b, 2] last, float[b, 4, 2] sums)",
        """
        last, sums = Scan ( , init, x) <num_scan_inputs: int = 1, directions: ints = [1],
          body: graph = b (float[2] s, float[2] a) => (t, u) {
            t = Add (s, a)
            u = Identity (t)
          }>
        """,
        '<ir_version: 3, opset_import: ["" : 8]>',
    )
    feeds = {"init": floats(3, 2), "x": floats(3, 4, 2)}
    check(model, feeds)


def test_a_scan_of_opset_8_has_rows_of_several_lengths():
    model = parse(
        """(int64[b] lengths, float[b, 2] init, float[b, n, 2] x)
        => (float[b, 2] last, float[b, n, 2] sums)""",
        """
        last, sums = Scan (lengths, init, x, x) <
          num_scan_inputs: int = 2, directions: ints = [1, 0],
          body: graph = b (float[2] s, float[2] a, float[2] c) => (t, u) {
            r = Sub (a, c)
            t = Add (s, a)
            u = Mul (t, r)
          }>
        """,
        '<ir_version: 3, opset_import: ["" : 8]>',
    )
    feeds = {"lengths": np.array([2, 4, 1]), "init": floats(3, 2), "x": floats(3, 4, 2)}
    check(model, feeds)
    with contextlib.closing(compile_model(model)) as compiled:
        last, sums = compiled.run(None, feeds | {"lengths": np.array([0, 4, 0])})
        assert (last[::2] == feeds["init"][::2]).all()
        assert not sums[::2].any()
        for length, message in ((5, "a sequence is longer than n"), (-1, "is negative")):
            with pytest.raises(ExecutionError, match=message):
                compiled.run(None, feeds | {"lengths": np.array([2, length, 4])})
