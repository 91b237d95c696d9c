"""Values whose rank depends on the run, against ONNX Runtime."""

import numpy as np
import onnx.parser
import pytest
from control_flow_models import check, floats, parse
from numerics import compare, output_names, run_onnxruntime

import graphc
from graphc.errors import UnsupportedModelError
from graphc.frontend.onnx import import_onnx


def untyped(signature, body):
    """A model whose outputs have no declared shapes."""
    model = parse(signature, body)
    for info in model.graph.output:
        info.type.tensor_type.ClearField("shape")
    return model


CHOSEN = """
    s = If (c) <
      then_branch: graph = g1 () => (t) { t = Constant <value_float: float = 2.0> () },
      else_branch: graph = g2 () => (t) { t = Constant <value_floats: floats = [3.0]> () }>
"""
"""A number of shape [] or [1]."""


def test_branches_whose_rank_nothing_sees():
    model = untyped(
        "(float[n, 4] x, bool c) => (float scaled, float late, float sum, float kept, float fixed,"
        " float larger, float squeezed, int64 numbers, float branch, float both)",
        f"""
        {CHOSEN}
        scaled = Mul (x, s)
        negated = Neg (s)
        positive = Relu (x)
        late = Sub (positive, negated)
        sum = ReduceSum <keepdims: int = 0> (s)
        wide = ReduceSum (s)
        kept = Mul (wide, x)
        one_by_one = Constant <value_ints: ints = [1, 1]> ()
        fixed = Reshape (s, one_by_one)
        three_by_four = Constant <value_ints: ints = [3, 4]> ()
        larger = Expand (s, three_by_four)
        squeezed = Squeeze (s)
        last = Cast <to: int = 7> (s)
        first = Sub (last, last)
        step = Div (last, last)
        numbers = Range (first, last, step)
        holds = Cast <to: int = 9> (s)
        branch = If (holds) <
          then_branch: graph = g3 () => (u) {{ u = Mul (s, x) }},
          else_branch: graph = g4 () => (u) {{ u = Neg (x) }}>
        again = If (c) <
          then_branch: graph = g5 () => (v) {{ v = Neg (s) }},
          else_branch: graph = g6 () => (v) {{ v = Identity (s) }}>
        both = Max (x, again, s)
        """,
    )
    check(model, *({"x": floats(3, 4), "c": np.array(c)} for c in (True, False)))


SEEN = {
    "result": "y = Neg (s)",
    "shape": "d = Shape (s) e = Size (d) y = Cast <to: int = 1> (e)",
    "equal rank": "two = Constant <value_float: float = 2.0> () y = Mul (s, two)",
    "index": "i = Cast <to: int = 7> (s) y = Gather (x, i)",
    "list": """
        y = If (c) <
          then_branch: graph = g3 () => (u) { u = Identity (s) },
          else_branch: graph = g4 () => (u) { u = Concat <axis: int = 0> (s, s) }>
    """,
}


@pytest.mark.parametrize("use", SEEN.values(), ids=SEEN)
def test_ranks_that_something_sees_are_refused(use):
    model = untyped("(float[n, 4] x, bool c) => (float y)", CHOSEN + use)
    with pytest.raises(UnsupportedModelError, match="f32 or 1xf32, of different rank"):
        import_onnx(model)


def test_ranks_that_something_sees_run_on_the_host():
    model = untyped("(float[n, 4] x, bool c) => (float y)", f"{CHOSEN} {SEEN['index']}")
    with graphc.compile(model, cache=False) as compiled:
        assert not all(part.native for part in compiled.parts)
        for c in (True, False):
            feeds = {"x": floats(4, 4), "c": np.array(c)}
            compare(compiled.run(None, feeds), run_onnxruntime(model, feeds), output_names(model))


def test_rows_with_a_leading_axis():
    """Rows of named sizes, and one of a single element."""
    model = parse(
        "(float[n, m] x, float[m] r, bool c) => (float[n, m] y, float[n, m] z)",
        """
        first = Constant <value_ints: ints = [0]> ()
        s = If (c) <
          then_branch: graph = g1 () => (t) { t = Neg (r) },
          else_branch: graph = g2 () => (t) { t = ReduceMax (x, first) }>
        y = Sub (x, s)
        u = If (c) <
          then_branch: graph = g3 () => (t) { t = Neg (r) },
          else_branch: graph = g4 () => (t) { t = Constant <value: tensor = float[1, 1] {5}> () }>
        z = Sub (x, u)
        """,
    )
    check(model, *({"x": floats(3, 5), "r": floats(5), "c": np.array(c)} for c in (True, False)))


def test_ranks_in_the_body_of_a_function():
    body = """
        f (x, c) => (y) {
          s = If (c) <
            then_branch: graph = g1 () => (t) { t = ReduceSum <keepdims: int = 0> (x) },
            else_branch: graph = g2 () => (t) { t = Constant <value_floats: floats = [3.0]> () }>
          y = Mul (x, s)
        }
    """
    text = f"""
        <ir_version: 10, opset_import: ["" : 21, "own" : 1]>
        model (float[n] x, bool c) => (float[n] y) {{ y = own.f (x, c) }}
        <opset_import: ["" : 21], domain: "own"> {body}
    """
    check(
        onnx.parser.parse_model(text),
        *({"x": floats(3), "c": np.array(c)} for c in (True, False)),
    )


FLAG = """
    one = Constant <value_ints: ints = [1]> ()
    above = Greater (more, limit)
    flag = If (above) <
      then_branch: graph = g1 () => (t) { t = Identity (above) },
      else_branch: graph = g2 () => (t) { k = Cast <to: int = 7> (was)
                                          l = Mul (k, one)
                                          t = Cast <to: int = 9> (l) }>
"""
"""A bool of shape [], or [1] if `more` is at most `limit`."""


def test_flags_of_a_loop():
    """A condition and a carried value of shape [] and then [1], and a placeholder of shape [] for
    rows that an iteration computes."""
    model = untyped(
        "(float[n] x, float limit) => (float total, float last)",
        f"""
        most = Constant <value_int: int = 9> ()
        go = Constant <value: tensor = bool {{1}}> ()
        stop = Not (go)
        zero = Constant <value_float: float = 0.0> ()
        flags, total, last = Loop (most, go, stop, zero, zero) <
          body: graph = b (int64 i, bool d, bool was, float so_far, float unread)
                        => (goes_on, now, more, row) {{
            step = ReduceSum <keepdims: int = 0> (x)
            more = Add (so_far, step)
            {FLAG}
            going = Not (flag)
            goes_on = And (going, d)
            now = Or (flag, was)
            row = Mul (x, more)
          }}>
        """,
    )
    feeds = ({"x": floats(3) ** 2, "limit": np.array(at, np.float32)} for at in (2.0, 0.1, 1e9))
    check(model, *feeds)


def test_carried_values_whose_rank_something_sees_are_refused():
    loop = """
        most = Constant <value_int: int = 3> ()
        zero = Constant <value_float: float = 0.0> ()
        one = Constant <value_floats: floats = [1.0]> ()
        y = Loop (most, , zero) <body: graph = b (int64 i, bool d, float s) => (d, t) {
          t = Add (s, one)
        }>
    """
    with pytest.raises(UnsupportedModelError, match="f32 or 1xf32, of different rank"):
        import_onnx(untyped("(float[n] x) => (float y)", loop))
    reading = loop.replace("y =", "u =") + "y = Add (x, u)"
    check(untyped("(float[n] x) => (float y)", reading), {"x": floats(3)})
