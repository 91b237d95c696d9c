"""Loops that end by a counter, as TensorFlow's exporters write them, are of known length."""

import numpy as np
import pytest
from control_flow_models import check, floats, parse, run_onnxruntime

import graphc
from graphc.frontend.onnx import import_onnx

W = ", ".join(f"{value:.3f}" for value in np.linspace(-1, 1, 16))

# the condition of the first iteration, of the next ones, the first value of the counter, its step
CONDITIONS = {
    "less": ("Less(zero, rows)", "Less(next, rows)", 0, 1),
    "greater": ("Greater(rows, zero)", "Greater(rows, next)", 0, 1),
    "last": ("LessOrEqual(zero, rows_less_one)", "LessOrEqual(next, rows_less_one)", 0, 1),
    "always once": ("Identity(yes)", "Less(next, rows)", 0, 1),
    "floats": ("Less(zero_f, rows_f)", "Less(next_f, rows_f)", 0, 1),
    "from two": ("Less(zero, rows)", "Less(next, rows)", 2, 1),
}
CONDITIONS |= {"two": ("Less(zero, rows)", "And(goes, near)", 0, 1)}


def _model(name):
    first, later, start, step = CONDITIONS[name]
    both = "goes = Less(next, rows)\n near = Less(next, seven)\n" if name == "two" else ""
    return parse(
        "(float[t, 1, 4] x, float[1, 4] h) => (float[1, 4] last, int64 count, float[k, 1, 4] all)",
        f"""
        shape = Shape(x)
        at = Constant<value_int = 0>()
        one = Constant<value_int = 1>()
        seven = Constant<value_int = 7>()
        yes = Cast<to = 9>(one)
        rows = Gather<axis = 0>(shape, at)
        rows_less_one = Sub(rows, one)
        zero = Constant<value_int = {start}>()
        w = Constant<value = float[4, 4] {{{W}}}>()
        zero_f = Cast<to = 1>(zero)
        rows_f = Cast<to = 1>(rows)
        goes_on = {first}
        unlimited = Constant<value_int = 9223372036854775807>()
        count, last, all = Loop(unlimited, goes_on, zero, h)<body = step
            (int64 i, bool holds, int64 counter, float[1, 4] state) =>
            (bool goes_further, int64 next, float[1, 4] new, float[1, 4] out) {{
            step = Constant<value_int = {step}>()
            next = Add(counter, step)
            next_f = Cast<to = 1>(next)
            row = Gather<axis = 0>(x, counter)
            product = MatMul(row, w)
            sum = Add(product, state)
            new = Tanh(sum)
            out = Identity(new)
            {both}goes_further = {later}
        }}>
        """,
    )


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions(name):
    model = _model(name)
    program = str(import_onnx(model))
    assert "graph.for" in program
    assert "graph.while" not in program
    rows = (5, 3, 12) if CONDITIONS[name][2] else (5, 1, 12)
    if name not in ("always once", "from two"):
        rows = (*rows, 0)
    check(model, *({"x": floats(n, 1, 4), "h": floats(1, 4)} for n in rows))


def test_the_product_of_its_rows_is_before_the_loop():
    model = _model("less")
    compiled = graphc.compile(model, threads=1)
    assert compiled.report.rewrites["hoist-loop-matmuls"].count == 1
    for rows in (6, 0, 1):
        feeds = {"x": floats(rows, 1, 4), "h": floats(1, 4)}
        for ours, theirs in zip(
            compiled.run(None, feeds), run_onnxruntime(model, feeds), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_a_limit_that_an_iteration_computes_is_none_of_the_loop():
    model = parse(
        "(int64[n] x) => (int64 count)",
        """
        zero = Constant<value_int = 0>()
        one = Constant<value_int = 1>()
        yes = Cast<to = 9>(one)
        unlimited = Constant<value_int = 100>()
        count = Loop(unlimited, yes, zero)<body = step
            (int64 i, bool holds, int64 counter) => (bool goes_further, int64 next) {
            next = Add(counter, one)
            limit = Gather<axis = 0>(x, counter)
            shape = Reshape(limit, one_axis)
            ones = ConstantOfShape(shape)
            size = Shape(ones)
            rows = Squeeze(size)
            goes_further = Less(next, rows)
        }>
        """.replace("zero = C", "one_axis = Constant<value_ints = [1]>()\n        zero = C", 1),
    )
    check(model, {"x": np.array([3, 3, 2, 9])}, {"x": np.array([1])})
