"""If, Loop and Scan against ONNX Runtime."""

import contextlib

import numpy as np
import onnx.parser
import pytest
from numerics import (
    compare,
    compile_model,
    evaluate,
    output_names,
    run_onnxruntime,
)

from graphc.errors import ExecutionError, InvalidModelError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx

RNG = np.random.default_rng(7)
HEADER = '<ir_version: 10, opset_import: ["" : 21]>'


def parse(signature, body, header=HEADER):
    return onnx.parser.parse_model(f"{header}\nmodel {signature}\n{{\n{body}\n}}")


def check(model, *runs, expect=run_onnxruntime):
    """Compile `model` once, and compare it and its numpy meaning on the feeds of every run."""
    with contextlib.closing(compile_model(model)) as compiled:
        for feeds in runs:
            expected, names = expect(model, feeds), output_names(model)
            compare(evaluate(model, feeds), expected, names, what="evaluated")
            compare(compiled.run(None, feeds), expected, names)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


BRANCHES = parse(
    "(float[n, 4] x, bool c, bool[1] d)"
    " => (float[m, 4] a, float[k, 4] b, float[n] e, float[n, 4] f)"
    "<float[4] w = {1, 2, 3, 4}>",
    """
    zero = Constant <value_int: int = 0> ()
    sum = ReduceSum <keepdims: int = 0> (x)
    limit = Constant <value_float: float = 100.0> ()
    small = Less (sum, limit)
    a = If (c) <
      then_branch: graph = g1 () => (t) { t = Concat <axis: int = 0> (x, x) },
      else_branch: graph = g2 () => (t) { t = Mul (x, w) }>
    b = If (d) <
      then_branch: graph = g3 () => (t) {
        t = If (small) <
          then_branch: graph = g4 () => (u) { u = Relu (a) },
          else_branch: graph = g5 () => (u) { u = Neg (x) }>
      },
      else_branch: graph = g6 () => (t) { shape = Constant <value_ints: ints = [2, 4]> ()
                                          t = ConstantOfShape (shape) }>
    axis = Constant <value_ints: ints = [1]> ()
    total, most = If (c) <
      then_branch: graph = g7 () => (t, u) { t = ReduceSum <keepdims: int = 0> (x, axis)
                                             u = ReduceMax <keepdims: int = 0> (x, axis) },
      else_branch: graph = g8 () => (t, u) { t = ReduceMin <keepdims: int = 0> (x, axis)
                                             u = ReduceMean <keepdims: int = 0> (x, axis) }>
    e = Sub (total, most)
    f = Add (x, w)
    """,
)


def test_branches():
    """Results of differing sizes, nested branches, an initializer first used in a branch."""
    cases = [(True, True, 3), (False, False, 1), (False, True, 2)]
    check(
        BRANCHES,
        *({"x": floats(rows, 4), "c": np.array(c), "d": np.array([d])} for c, d, rows in cases),
    )


def test_a_known_condition_selects_its_branch():
    model = parse(
        "(float[3, 4] x) => (float[4, 3] y)",
        """
        s = Size (x)
        twelve = Constant <value_int: int = 12> ()
        c = Equal (s, twelve)
        y = If (c) <
          then_branch: graph = g1 () => (t) { t = Transpose (x) },
          else_branch: graph = g2 () => (t) { t = ReduceSum (x) }>
        """,
    )
    assert "graph.if" not in str(import_onnx(model))


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
            places = Unsqueeze (at, axis)
            other = Unsqueeze (back, axis)
            p1 = ScatterND (p, places, update)
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
            places = Unsqueeze (at, axis)
            row = Gather (x, i)
            update = Unsqueeze (row, axis)
            u = ScatterND (y, places, update)
            p1 = Add (p, u)
          }>
        """,
    )
    check(model, {"x": floats(5, 3), "trips": np.array(4)})


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


def test_kernels_with_loops_of_their_own():
    """A kernel keeps its loops, while the loop that it is in becomes branches."""
    model = parse(
        "(float[n, 6] x, float[n, 6] start, int64 trips)"
        " => (float[n, 6] a, float[n, 6] b, float[m, n, 2] best, int64[m, n, 2] places)",
        """
        k = Constant <value_ints: ints = [2]> ()
        axis = Constant <value_int: int = 1> ()
        a, b, best, places = Loop (trips, , start, start) <
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
    feeds = {"x": floats(3, 6), "start": floats(3, 6), "trips": np.array(4)}
    check(model, feeds, feeds | {"trips": np.array(1)})


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


def refusal(body, signature="(float[n] x, bool c) => (float[n] y)"):
    with pytest.raises((InvalidModelError, UnsupportedModelError)) as refused:
        import_onnx(parse(signature, body))
    return str(refused.value)


def test_branches_of_different_rank_are_refused():
    message = refusal("""
        y = If (c) <
          then_branch: graph = g1 () => (t) { t = Identity (x) },
          else_branch: graph = g2 () => (t) { t = ReduceSum <keepdims: int = 0> (x) }>
    """)
    assert "a value is nxf32 or f32, of different rank" in message


def test_an_endless_loop_is_refused():
    message = refusal("""
        y = Loop ( , , x) <body: graph = b (int64 i, bool d, float[n] s) => (d, t) { t = Neg (s) }>
    """)
    assert "the loop never ends" in message


def test_a_wrong_number_of_values_is_refused():
    message = refusal("""
        y = Loop ( , c, x) <body: graph = b (int64 i, bool d) => (d) { t = Neg (x) }>
    """)
    assert "its subgraph takes 2 inputs, not 3" in message


def test_nodes_that_are_not_supported_are_named_within_bodies():
    message = refusal("""
        y = If (c) <
          then_branch: graph = g1 () => (t) { t = StringNormalizer (x) },
          else_branch: graph = g2 () => (t) { t = Identity (x) }>
    """)
    assert "StringNormalizer" in message
    assert "If_0/StringNormalizer_0" in message


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
