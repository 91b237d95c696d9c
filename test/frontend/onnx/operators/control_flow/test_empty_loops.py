"""Loops over empty tensors, and without iterations."""

import numpy as np
import pytest
from control_flow_models import check, floats, parse


def test_loops_grow_from_nothing():
    """Empty tensors, one of them handed on twice, which grow from one iteration to the next."""
    model = parse(
        "(float[t, n] x, int64 trips) => (float[l] a, float[m] b, bool[k] signs)",
        """
        nothing = Constant <value_floats: floats = []> ()
        none = Cast <to: int = 9> (nothing)
        a, b, signs = Loop (trips, , nothing, nothing, none) <body: graph = b1
          (int64 i, bool go, float[l] p, float[m] q, bool[k] r) => (go1, p1, q1, r1) {
            go1 = Identity (go)
            zero = Constant <value_float: float = 0.0> ()
            row = Gather (x, i)
            p1 = Concat <axis: int = 0> (p, row)
            q1 = Concat <axis: int = 0> (q, p)
            positive = Greater (row, zero)
            r1 = Concat <axis: int = 0> (r, positive)
          }>
        """,
    )
    check(model, {"x": floats(5, 3), "trips": np.array(4)})


@pytest.mark.parametrize("condition", ["go", "less"])
def test_loops_collect_empty_tensors(condition):
    """However many iterations there are, known before or not."""
    model = parse(
        "(float[3, 0, n] x, int64 trips) => (float[3, 0, n] last, float[k, 3, 0, n] all)",
        f"""
        true = Constant <value_int: int = 1> ()
        first = Cast <to: int = 9> (true)
        last, all = Loop (trips, first, x) <body: graph = b1
          (int64 i, bool go, float[3, 0, n] p) => (go1, p1, p2) {{
            two = Constant <value_int: int = 2> ()
            less = Less (i, two)
            go1 = Identity ({condition})
            p1 = Neg (p)
            p2 = Abs (p)
          }}>
        """,
    )
    check(model, {"x": floats(3, 0, 2), "trips": np.array(5)})


EMPTY_LOOPS = parse(
    "(float[a, b] s, float[c, d, e] x, int64 trips, bool go)"
    " => (float[p, q] last, float[f, g] sums, float[h, b] grown, float[k, l, b] rows,"
    " float[m, n, o] branch)",
    """
    axis = Constant <value_ints: ints = [1]> ()
    last, sums = Scan <
      num_scan_inputs: int = 1, scan_input_axes: ints = [1], scan_input_directions: ints = [1],
      scan_output_axes: ints = [1], scan_output_directions: ints = [1],
      body: graph = b1 (float[t, u] have, float[v, w] part) => (now, sum) {
        now = Add (have, part)
        sum = ReduceSum <keepdims: int = 0> (now, axis)
      }> (s, x)
    grown, rows = Loop (trips, , s) <
      body: graph = b2 (int64 i, bool c, float[y, b] p) => (g1, q, r) {
        g1 = Identity (c)
        q = Concat <axis: int = 0> (p, p)
        r = Concat <axis: int = 0> (p, q)
      }>
    branch = If (go) <
      then_branch: graph = b3 () => (y1) {
        z1, y1 = Loop (trips, go, s) <
          body: graph = b4 (int64 j, bool c2, float[y2, b2] p2) => (g2, q2, r2) {
            g2 = Identity (c2)
            x2 = Neg (p2)
            q2 = Concat <axis: int = 0> (p2, x2)
            r2 = Transpose (q2)
          }>
      },
      else_branch: graph = b5 () => (y3) { y3 = Identity (x) }>
    """,
)


def _run_empty_loops(_, feeds):
    s, x, trips = feeds["s"], feeds["x"], int(feeds["trips"])
    last, sums = s, []
    for part in np.moveaxis(x, 1, 0)[::-1]:
        last = last + part
        sums.append(last.sum(1))
    sums = np.stack(sums[::-1], 1) if sums else np.zeros((len(s), 0), np.float32)
    three, two = np.concatenate([s] * 3), np.concatenate([s, -s])
    grown = np.concatenate([s, s]) if trips else s
    branch = np.stack([two.T] * trips) if trips else np.zeros((0, *two.T.shape), np.float32)
    rows = np.stack([three] * trips) if trips else np.zeros((0, *three.shape), np.float32)
    return [last, sums, grown, rows, branch if feeds["go"] else x]


def test_empty_loops_over_names_that_differ():
    """Scan outputs with the sizes that an iteration with the initial values would give them. These
    follow from sizes outside the body, which have other names than those inside."""
    runs = [
        {"s": floats(2, 3), "x": floats(2, length, 3), "trips": np.array(trips), "go": np.array(go)}
        for length, trips, go in ((0, 0, True), (4, 1, True), (0, 0, False), (1, 0, True))
    ]
    check(EMPTY_LOOPS, *runs, expect=_run_empty_loops)
