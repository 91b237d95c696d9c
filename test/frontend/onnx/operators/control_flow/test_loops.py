"""Loop against ONNX Runtime."""

import numpy as np
from control_flow_models import check, floats, parse
from numerics import evaluate

LOOPS = parse(
    "(float[n] x, int64 trips, bool go, float[1] limit)"
    " => (float[m] grown, float[j] last, float[k, n] scans, float[i] halves, int64[p, q] ids,"
    " float[1] fixed, float[3, n] rows)",
    """
    true = Constant <value: tensor = bool {1}> ()
    two = Constant <value_float: float = 2.0> ()
    three = Constant <value_int: int = 3> ()
    axes = Constant <value_ints: ints = [0]> ()
    grown = Loop (trips, , x) <body: graph = b1 (int64 i, bool c, float[a] s) => (d, t) {
      d = Identity (c)
      t = Concat <axis: int = 0> (s, x)
    }>
    last, scans = Loop (trips, go, x) <body: graph = b2 (int64 i, bool c, float[a] s) => (d, t, u) {
      t = Mul (s, two)
      sum = ReduceMax (t)
      d = Less (sum, limit)
      f = Cast <to: int = 1> (i)
      u = Add (t, f)
    }>
    halves, ids = Loop ( , true, x) <body: graph = b3 (int64 i, bool c, float[a] s) => (d, t, u) {
      starts = Constant <value_ints: ints = [1]> ()
      ends = Constant <value_ints: ints = [1000]> ()
      t = Slice (s, starts, ends)
      z = Size (t)
      one = Constant <value_int: int = 1> ()
      d = Greater (z, one)
      u = Unsqueeze (i, axes)
    }>
    fixed, rows = Loop (three, true, limit) <
      body: graph = b4 (int64 i, bool c, float[1] s) => (d, t, u) {
        d = Identity (true)
        t, inner = Loop (i, , s) <body: graph = b5 (int64 j, bool e, float[1] r) => (g, v, w) {
          g = Identity (e)
          f = Cast <to: int = 1> (i)
          v = Add (r, f)
          w = Mul (v, two)
        }>
        h = ReduceSum <keepdims: int = 0> (inner)
        u = Add (x, h)
    }>
    """,
)


def loop_feeds(size, trips, go, limit):
    limit = np.array([limit], np.float32)
    x = np.abs(floats(size)) + 1
    return {"x": x, "trips": np.array(trips), "go": np.array(go), "limit": limit}


def test_loops():
    """Sizes that change, early ends, collected values of unknown number, loops in loops."""
    check(LOOPS, loop_feeds(2, 3, True, 1e9), loop_feeds(3, 40, True, 3e3))


def test_loops_without_iterations():
    """Collected results have the size that they would have with iterations."""
    check(LOOPS, loop_feeds(5, 0, True, 1), loop_feeds(2, -3, False, 1), expect=evaluate)


def test_values_captured_by_a_body_may_come_from_outer_bodies():
    model = parse(
        "(float[n] x, int64 trips) => (float[m] y)",
        """
        y = Loop (trips, , x) <body: graph = b1 (int64 i, bool c, float[a] s) => (c, t) {
          double = Add (s, s)
          even = Constant <value: tensor = bool {1}> ()
          size = Size (double)
          small = Constant <value_int: int = 9> ()
          p = Less (size, small)
          t = If (p) <
            then_branch: graph = g1 () => (u) { u = Concat <axis: int = 0> (double, x) },
            else_branch: graph = g2 () => (u) { u = Identity (double) }>
        }>
        """,
    )
    feeds = {"x": floats(2), "trips": np.array(6)}
    check(model, feeds)


def test_sizes_that_vary_are_found_once_in_loops_within_loops(monkeypatch):
    """A second look at its body shows each loop that rows are added: not 2 ** 12 looks in all."""
    monkeypatch.setenv("GRAPHC_LIMITS", "subgraphs=100")
    body = "y = Concat <axis: int = 0> (x, x)"
    for _ in range(12):
        body = f"y = Loop (one, , x) <body: graph = b (int64 i, bool c, x) => (c, y) {{ {body} }}>"
    model = parse("(float[n, 2] x) => (float[m, 2] y) <int64 one = {1}>", body)
    x = floats(3, 2)
    (y,) = evaluate(model, {"x": x})
    assert np.array_equal(y, np.concatenate([x, x]))


NUMBERED = parse(
    "(int64[k] table, int64[1] trips) => (int64[m] total, int64[p, q] rows)",
    """
    true = Constant <value: tensor = bool {1}> ()
    start = Constant <value_ints: ints = [0]> ()
    total, rows = Loop (trips, true, start) <
      body: graph = b1 (int64[1] i, bool c, int64[a] s) => (d, t, u) {
        d = Identity (c)
        u = Gather (table, i)
        t = Concat <axis: int = 0> (s, u)
    }>
    """,
)


def test_numbers_of_rounds_may_be_vectors():
    """PyTorch's exporter declares them so, and gathers rows by them."""
    table = np.arange(7, 12)
    check(NUMBERED, *({"table": table, "trips": np.array([trips])} for trips in (3, 1)))
