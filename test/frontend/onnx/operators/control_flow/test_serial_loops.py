"""Loops with short iterations, which one kernel runs."""

import contextlib

import numpy as np
import pytest
from control_flow_models import floats, parse
from numerics import compare, output_names, run_onnxruntime

import graphc

LOOP = """
    s, all = Loop (n, , x) <body: graph = b
      (int64 i, bool c, {type}[k] p) => (d, q, r) {{
        d = Identity (c)
        {body}
      }}>
"""


def _model(type_, body, result=None):
    result = f"{type_}[l, k]" if result is None else result
    signature = f"({type_}[k] x, int64 n) => ({type_}[k] s, {result} all)"
    return parse(signature, LOOP.format(type=type_, body=body))


def _check(model, *runs):
    """Compile `model` and compare it with ONNX Runtime; returns the loops that one kernel runs, and
    the reasons why others are none."""
    with contextlib.closing(graphc.compile(model, cache=False)) as compiled:
        for feeds in runs:
            compare(compiled.run(None, feeds), run_onnxruntime(model, feeds), output_names(model))
        statistics = compiled.report.rewrites["serial-loops"]
    return statistics.nodes, list(statistics.declined)


@pytest.mark.parametrize(
    ("type_", "body"),
    [
        ("float", "h = Tanh (p) \n q = Add (h, x) \n r = Mul (q, q)"),
        ("double", "h = Tanh (p) \n q = Add (h, x) \n r = Mul (q, q)"),
        ("float16", "h = Neg (p) \n q = Add (h, x) \n r = Mul (q, q)"),
        ("int64", "q = Add (p, x) \n r = Mul (q, x)"),
        ("int8", "q = Add (p, x) \n r = Mul (q, x)"),
        ("uint8", "q = Add (p, x) \n r = Max (q, x)"),
        ("bool", "q = Not (p) \n r = And (q, x)"),
    ],
)
def test_types(type_, body):
    model = _model(type_, body)
    kind = {"float": "float32", "double": "float64"}.get(type_, type_)
    x = np.linspace(0, 2.9, 5).astype(kind)
    runs = ({"x": x, "n": np.array(n)} for n in (1, 40))
    assert _check(model, *runs) == (["Loop_0"], [])


@pytest.mark.parametrize(
    "body",
    {
        "gather": "q = Neg (p) \n a = ArgMax <axis: int = 0> (q) \n g = Gather (x, a) \n"
        "r = Add (q, g)",
        "reduce": "m = ReduceMean (p) \n v = ReduceL2 (p) \n t = Sub (p, m) \n q = Div (t, v) \n"
        "r = Softmax (q)",
        "concat": "a = Concat <axis: int = 0> (p, x) \n one = Shape (p) \n"
        "step = Constant <value_ints: ints = [2]> () \n end = Mul (one, step) \n"
        "start = Sub (one, one) \n q = Slice (a, start, end, start, step) \n r = Cos (q)",
        "matmul": "a = Constant <value_ints: ints = [1]> () \n"
        "z = Constant <value_int: int = 0> () \n"
        "col = Unsqueeze (x, a) \n row = Unsqueeze (p, z) \n m = MatMul (col, row) \n"
        "t = Transpose (m) \n f = MatMul (t, p) \n q = Tanh (f) \n r = Exp (q)",
        "where": "h = Mul (p, x) \n z = CastLike (i, p) \n t = Less (h, z) \n"
        "q = Where (t, h, x) \n r = Erf (q)",
        "swap": "q = Identity (x) \n r = Sub (p, q)",
    }.values(),
    ids=["gather", "reduce", "concat", "matmul", "where", "swap"],
)
def test_ops(body):
    model = _model("float", body)
    runs = ({"x": floats(k), "n": np.array(n)} for k, n in ((4, 5), (37, 3), (1, 1)))
    assert _check(model, *runs) == (["Loop_0"], [])


@pytest.mark.parametrize(("type_", "size"), [("float", 6), ("float", 20), ("double", 7)])
def test_matmuls(type_, size):
    """The sums of matmuls, of 2, 4 and 1 terms at a time, by a matrix and by a transposed one."""
    model = parse(
        f"({type_}[3, {size}] x, {type_}[{size}, {size}] w, int64 n) => ({type_}[3, {size}] s)",
        f"""
        s = Loop (n, , x) <body: graph = b (int64 i, bool c, {type_}[3, {size}] p) => (d, q) {{
            d = Identity (c)
            f = MatMul (p, w)
            g = Tanh (f)
            v = Transpose (w)
            h = MatMul (g, v)
            q = Sin (h)
          }}>
        """,
    )
    kind = np.float32 if type_ == "float" else np.float64
    feeds = {"x": floats(3, size).astype(kind), "w": floats(size, size).astype(kind) / size}
    assert _check(model, {**feeds, "n": np.array(5)}) == (["Loop_0"], [])


def test_greedy_decoding():
    """An end that depends on values, a list of tokens, weights that are carried and never change,
    and a value collected in each of an unknown number of iterations."""
    model = parse(
        "(int64[1] first, float[1, 8] h0, float[8, 8] w0, int64 n, int64[p, 1] ids0)"
        " => (int64[1] last, float[1, 8] h, float[8, 8] w, int64[q, 1] ids, float[t, 8] all)",
        """
        end = Constant <value_int: int = 1> ()
        axis = Constant <value_ints: ints = [0]> ()
        last, h, w, ids, all = Loop (n, , first, h0, w0, ids0) <body: graph = b
          (int64 i, bool c, int64[1] token, float[1, 8] p, float[8, 8] w1, int64[m, 1] list)
            => (d, next, q, w2, longer, row) {
              e = Gather (w1, token)
              f = Add (p, e)
              g = MatMul (f, w1)
              q = Tanh (g)
              row = Squeeze (q, axis)
              next = ArgMax <axis: int = 1, keepdims: int = 0> (q)
              u = Unsqueeze (next, axis)
              longer = Concat <axis: int = 0> (list, u, u)
              low = ReduceMax <keepdims: int = 0> (next)
              d = Greater (low, end)
              w2 = Identity (w1)
            }>
        """,
    )
    runs = [
        {
            "first": np.array([k]),
            "h0": floats(1, 8, seed=k),
            "w0": floats(8, 8) / 4,  # so that 40 iterations do not amplify roundings
            "n": np.array(n),
            "ids0": np.arange(k).reshape(k, 1),
        }
        for k, n in ((3, 40), (5, 40), (2, 1))
    ]
    assert _check(model, *runs) == (["Loop_2"], [])


def test_many_iterations_of_unknown_number():
    """The host calls the kernel several times, and joins what it has collected."""
    model = parse(
        "(float[2048] x, float limit) => (float[2048] s, float[l, 2048] all, int64[l] numbers)",
        """
        yes = Constant <value: tensor = bool {1}> ()
        s, all, numbers = Loop ( , yes, x) <body: graph = b (int64 i, bool c, float[2048] p)
          => (d, q, r, j) {
            one = Constant <value_float: float = 1.0> ()
            q = Add (p, one)
            r = Identity (q)
            j = Identity (i)
            m = ReduceMax <keepdims: int = 0> (q)
            d = Less (m, limit)
          }>
        """,
    )
    x = np.zeros(2048, np.float32)
    runs = ({"x": x, "limit": np.array(limit, np.float32)} for limit in (-1, 15.5, 16.5, 100))
    assert _check(model, *runs) == (["Loop_1"], [])


def test_conditions_loops_and_checks_within():
    model = parse(
        "(float[r, k] x, float[k] start, int64 n) => (float[k] s, float[l] sums)",
        """
        s, sums = Loop (n, , start) <body: graph = b (int64 i, bool c, float[k] p)
          => (d, q, sum) {
            row = Gather (x, i)
            m = ReduceMax <keepdims: int = 0> (row)
            zero = Constant <value_float: float = 0.0> ()
            up = Greater (m, zero)
            h = If (up) <
              then_branch: graph = t () => (a) { a = Add (p, row) },
              else_branch: graph = e () => (b1) { b1 = Sub (p, row) }>
            q = Loop (i, , h) <body: graph = inner (int64 j, bool c1, float[k] y) => (c2, z) {
                c2 = Identity (c1)
                half = Constant <value_float: float = 0.5> ()
                z = Mul (y, half)
              }>
            sum = ReduceSum <keepdims: int = 0> (q)
            d = Identity (c)
          }>
        """,
    )
    runs = [
        {"x": floats(r, 5), "start": floats(5), "n": np.array(n)}
        for r, n in ((4, 4), (6, 2), (1, 1))
    ]
    nodes, _ = _check(model, *runs)
    assert "Loop_0" in nodes


def test_long_iterations_are_shared_by_threads():
    model = _model("float", "q = Softmax (p) \n r = Tanh (q)", "float[l, k]")
    runs = ({"x": floats(k), "n": np.array(3)} for k in (20, 20_000))
    assert _check(model, *runs) == (["Loop_0"], [])  # it has code for both


def test_ops_that_are_not_for_kernels():
    body = "axes = Shape (p) \n one = Div (axes, axes) \n q, at = TopK (p, axes) \n r = Neg (q)"
    nodes, reasons = _check(_model("float", body), {"x": floats(5), "n": np.array(3)})
    assert nodes == []
    assert reasons == ["'graph.top_k' is not for kernels with loops"]
