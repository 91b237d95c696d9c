"""Memory of the values that loops carry, collect and capture."""

import numpy as np
import pytest
from control_flow_models import check, floats, parse

from graphc.dialects import graph
from graphc.frontend.onnx import import_onnx
from graphc.passes.graph_to_linalg.updated_state import updated_in_place
from graphc.passes.infra.query import ops_within


def test_equal_starts_do_not_share_memory():
    """Carried and collected values start with equal contents and shapes, and are updated in
    place."""
    model = parse(
        "(float[n, t] x, float[t, n] start, int64 trips)"
        " => (float[n] s, float[t, n] all, float[t, n] same, float[t, n] a, float[t, n] b)",
        """
        zero = Constant <value_floats: floats = [0.0]> ()
        rows = Shape <start: int = 0, end: int = 1> (x)
        init = Expand (zero, rows)
        s, all, same = Scan (init, x) <num_scan_inputs: int = 1, scan_input_axes: ints = [1],
          body: graph = b1 (float[n] h, float[n] p) => (h1, u, v) {
            h1 = Add (h, p)
            u = Identity (h1)
            v = Neg (h1)
          }>
        a, b = Loop (trips, , start, start) <
          body: graph = b2 (int64 i, bool c, float[t, n] p, float[t, n] q) => (c1, p1, q1) {
            c1 = Identity (c)
            last = Constant <value_ints: ints = [-1]> ()
            one = Constant <value_ints: ints = [1]> ()
            at = Reshape (i, one)
            back = Sub (last, at)
            row = Gather (start, i)
            axis = Constant <value_ints: ints = [0]> ()
            update = Unsqueeze (row, axis)
            indices = Unsqueeze (at, axis)
            other = Unsqueeze (back, axis)
            p1 = ScatterND (p, indices, update)
            twice = Add (update, update)
            q1 = ScatterND (q, other, twice)
          }>
        """,
    )
    feeds = {"x": floats(3, 5), "start": floats(5, 3), "trips": np.array(4)}
    check(model, feeds)


def test_loops_hand_on_what_lies_in_one_buffer():
    """One tensor twice, which another loop has computed together with what nobody uses."""
    model = parse(
        "(float[t, n] x, int64 trips) => (float[t, n] a, float[t, n] b)",
        """
        y = Relu (x)
        w = Exp (x)
        unused, start = Loop (trips, , y, w) <body: graph = b1
          (int64 i, bool go, float[t, n] p, float[t, n] q) => (go1, p1, q1) {
            go1 = Identity (go)
            p1 = Softmax (q)
            q1 = Softmax <axis: int = 0> (p)
          }>
        a, b = Loop (trips, , start, start) <body: graph = b2
          (int64 i, bool go, float[t, n] p, float[t, n] q) => (go1, p1, q1) {
            go1 = Identity (go)
            p1 = Softmax (q)
            q1 = Softmax <axis: int = 0> (p)
          }>
        """,
    )
    check(model, {"x": floats(5, 3), "trips": np.array(4)})


def test_loops_hand_on_a_condition_beside_tensors():
    model = parse(
        "(float[t, n] x, int64 trips) => (float[l] sums)",
        """
        y = Relu (x)
        w = Exp (x)
        limit = Constant <value_float: float = 100.0> ()
        yes = Constant <value: tensor = bool {1}> ()
        a, b, sums = Loop (trips, yes, y, w) <body: graph = b1
          (int64 i, bool go, float[t, n] p, float[t, n] q) => (go1, p1, q1, s) {
            s = ReduceSum <keepdims: int = 0> (p)
            go1 = Less (s, limit)
            p1 = Relu (p)
            q1 = Softmax <axis: int = 0> (q)
          }>
        """,
    )
    check(model, {"x": floats(5, 3), "trips": np.array(4)})


def test_loops_leave_what_they_capture_as_it_was():
    model = parse(
        "(float[t, n] x, int64 trips) => (float[t, n] a, float[l, t, n] all)",
        """
        y = Relu (x)
        a, all = Loop (trips, , x) <body: graph = b1
          (int64 i, bool go, float[t, n] p) => (go1, p1, u) {
            go1 = Identity (go)
            one = Constant <value_ints: ints = [1]> ()
            axis = Constant <value_ints: ints = [0]> ()
            at = Reshape (i, one)
            indices = Unsqueeze (at, axis)
            row = Gather (x, i)
            update = Unsqueeze (row, axis)
            u = ScatterND (y, indices, update)
            p1 = Add (p, u)
          }>
        """,
    )
    check(model, {"x": floats(5, 3), "trips": np.array(4)})


def test_kernels_with_loops_of_their_own():
    """A kernel keeps its loops, while the loop that it is in becomes branches."""
    model = parse(
        "(float[n, 6] x, float[n, 6] start, int64 trips)"
        " => (float[n, 6] a, float[n, 6] b, float[m, n, 2] best, int64[m, n, 2] indices)",
        """
        k = Constant <value_ints: ints = [2]> ()
        axis = Constant <value_int: int = 1> ()
        a, b, best, indices = Loop (trips, , start, start) <
          body: graph = b (int64 i, bool c, float[n, 6] p, float[n, 6] q) => (d, r, s, t, u) {
            d = Identity (c)
            t, u = TopK (p, k)
            v = Neg (t)
            r = ScatterElements <axis: int = 1> (p, u, v)
            w = CumSum (q, axis)
            half = Mul (w, x)
            s = Tanh (half)
          }>
        """,
    )
    feeds = {"x": floats(3, 6), "start": floats(3, 6, seed=8), "trips": np.array(4)}
    check(model, feeds, feeds | {"trips": np.array(1)})


_UPDATE = """
    c1 = Identity (c)
    one = Constant <value_ints: ints = [1]> ()
    at = Reshape (i, one)
    indices = Unsqueeze (at, axis)
    row = Gather (x, i)
    update = Unsqueeze (row, axis)
"""
_BODIES = {
    "updated": ("p1 = ScatterND (p, indices, update)", "p1", [0]),
    "read before": ("p1 = ScatterND (p, indices, update)", "p", []),
    "collected": ("p1 = ScatterND (p, indices, update)", None, []),
    "read as updates": ("more = Gather (p, at)\n p1 = ScatterND (p, indices, more)", "p1", []),
}
"""The ops of an iteration, what it sums (None: it collects all of ``p1``), and what is expected."""


@pytest.mark.parametrize("name", _BODIES)
def test_what_an_iteration_updates_is_not_copied(name):
    body, summed, updated = _BODIES[name]
    sums = "float[l]" if summed else "float[l, n, t]"
    last = f"sum = ReduceSum <keepdims = 0> ({summed})" if summed else "sum = Transpose (p1)"
    model = parse(
        f"(float[t, n] x, float[t, n] start, int64 trips) => (float[t, n] a, {sums} sums)",
        f"""
        axis = Constant <value_ints: ints = [0]> ()
        a, sums = Loop (trips, , start) <body: graph = b1 (int64 i, bool c, float[t, n] p)
          => (c1, p1, sum) {{ {_UPDATE} {body} {last} }}>
        """,
    )
    program = import_onnx(model)
    (loop,) = ops_within(program.operation, graph.LoopOp)
    assert updated_in_place(loop) == updated
    feeds = {"x": floats(5, 3), "start": floats(5, 3, seed=8), "trips": np.array(4)}
    check(model, feeds, feeds, feeds | {"trips": np.array(1)})
