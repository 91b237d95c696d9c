"""Positions that loops compute from their counters are known when compiling."""

import numpy as np
import pytest
from control_flow_models import check, floats, parse
from numerics import evaluate

import graphc
from graphc.errors import ExecutionError
from graphc.frontend.onnx import import_onnx

# How tf2onnx writes x[:, i], of which `begin` is i: the end of every axis is behind all, at least
# as an f32, and the step of the second axis leaps over what follows.
_INDEX = """
    one_i = Constant<value = int32 {1}>()
    after = Add(begin, one_i)
    after_1 = Unsqueeze(after, axis_0)
    begin_1 = Unsqueeze(begin, axis_0)
    zero_1 = Constant<value = int32[1] {0}>()
    starts = Concat<axis = 0>(zero_1, begin_1, zero_1)
    behind = Concat<axis = 0>(zero_1, after_1, zero_1)
    behind_f = Cast<to = 1>(behind)
    far_f = Constant<value = float[3] {1e9, 1e9, 1e9}>()
    ends_f = Max(behind_f, far_f)
    ends_i = Cast<to = 6>(ends_f)
    far = Constant<value = int32 {1000000000}>()
    is_far = Equal(ends_i, far)
    steps = Constant<value = int32[3] {1, 1000000000, 1}>()
    zero_i = Constant<value = int32 {0}>()
    backwards = Less(steps, zero_i)
    masked = And(is_far, backwards)
    near = Neg(far)
    ends = Where(masked, near, ends_i)
    axes = Constant<value = int32[3] {0, 1, 2}>()
    rows = Slice(x, starts, ends, axes, steps)
    row = Squeeze(rows, axis_1)
"""
_BETWEEN = """
    begin_1 = Unsqueeze(begin, axis_0)
    end_1 = Unsqueeze(end, axis_0)
    rows = Slice(x, begin_1, end_1, axis)
    row = ReduceSum<keepdims = 0>(rows, axis_1)
"""
_COMPARED_AS_FLOATS = "a_f = Cast<to = 1>({a})\n b_f = Cast<to = 1>({b})\n {y} = Less(a_f, b_f)"

# the integer type, the first value of the counter, its step, the condition of {a}, what is read
READS = {
    "i64": ("int64", "zero", 1, "{y} = Less({a}, n)", "begin = Identity(i)", "end = Add(i, one)"),
    "i32": ("int32", "zero", 1, "{y} = Less({a}, n)", "begin = Identity(i)", "end = Add(i, one)"),
    "window": (
        "int64", "zero", 1, "{y} = Less({a}, m)", "begin = Identity(i)", "end = Add(i, three)",
    ),
    "every other": (
        "int64", "zero", 2, "{y} = Less({a}, n)", "begin = Identity(i)", "end = Add(i, one)",
    ),
    "backwards": (
        "int64", "last", -1, "{y} = GreaterOrEqual({a}, zero)", "begin = Identity(i)",
        "end = Add(i, one)",
    ),
    "from the end": (
        "int64", "zero", 1, "{y} = Less({a}, n)", "begin = Sub(last, i)", "end = Sub(n, i)",
    ),
}  # fmt: skip
TENSORFLOW = {
    "a row": ("zero", 1, _COMPARED_AS_FLOATS.replace("{b}", "n"), "begin = Identity(i)"),
    "every third": ("zero", 3, _COMPARED_AS_FLOATS.replace("{b}", "n"), "begin = Identity(i)"),
    "from the end": ("zero", 1, _COMPARED_AS_FLOATS.replace("{b}", "n"), "begin = Sub(last, i)"),
    "backwards": ("last", -1, "{y} = GreaterOrEqual({a}, zero)", "begin = Identity(i)"),
}


def _model(dtype, start, step, condition, body, width=4):
    number = {"int64": 7, "int32": 6}[dtype]

    def scalar(name, value):
        return f"{name} = Constant<value = {dtype} {{{value}}}>()\n"

    first = condition.format(a=start, y="goes").replace("a_f", "c_f").replace("b_f", "d_f")
    return parse(
        f"(float[b, t, {width}] x, float[b, {width}] h) => (float[b, {width}] y)",
        f"""
        {"".join(scalar(*each) for each in (("zero", 0), ("one", 1), ("two", 2), ("three", 3)))}
        {scalar("step", step)}
        axis_0 = Constant<value_ints = [0]>()
        axis_1 = Constant<value_ints = [1]>()
        axis = Cast<to = {number}>(axis_1)
        shape = Shape(x)
        at = Constant<value_int = 1>()
        size = Gather<axis = 0>(shape, at)
        n = Cast<to = {number}>(size)
        last = Sub(n, one)
        m = Sub(n, two)
        {first}
        i_after, y = Loop("", goes, {start}, h)<body = iteration
            (int64 number, bool holds, {dtype} i, float[b, {width}] s) =>
            (bool goes_on, {dtype} next, float[b, {width}] new) {{
            next = Add(i, step)
            {body}
            sum = Add(s, row)
            new = Tanh(sum)
            {condition.format(a="next", y="goes_on")}
        }}>
        """,
    )


def _reading(name):
    dtype, start, step, condition, *reads = READS[name]
    return _model(dtype, start, step, condition, "\n".join([*reads, _BETWEEN]))


def _of_tensorflow(name, width=4):
    start, step, condition, begin = TENSORFLOW[name]
    return _model("int32", start, step, condition, f"{begin}\n{_INDEX}", width)


def _check(model):
    program = str(import_onnx(model))
    assert "graph.for" in program
    assert "graph.bind_sizes" not in program
    runs = [(2, 7), (1, 3), (3, 1), (2, 0)]
    check(model, *({"x": floats(b, t, 4), "h": floats(b, 4)} for b, t in runs))


@pytest.mark.parametrize("name", READS)
def test_rows_between_two_positions(name):
    _check(_reading(name))


@pytest.mark.parametrize("name", TENSORFLOW)
def test_rows_as_tensorflow_reads_them(name):
    _check(_of_tensorflow(name))


def test_one_kernel_runs_such_a_loop():
    compiled = graphc.compile(_of_tensorflow("a row"), threads=1)
    assert compiled.report.rewrites["serial-loops"].count == 1


def test_floats_count_as_far_as_they_are_exact():
    model = _of_tensorflow("a row", width=0)
    long = 1 << 24
    feeds = {"x": np.zeros((0, long, 0), np.float32), "h": np.zeros((0, 0), np.float32)}
    with pytest.raises(ExecutionError, match="counts in float32, further than that is exact"):
        evaluate(model, feeds)


def test_a_position_that_may_be_outside_is_clamped():
    """The first iteration runs whatever the length is."""
    always = _reading("i64")
    for node in always.graph.node:
        if node.op_type == "Loop":
            node.input[1] = ""
    runs = [(2, 5), (2, 1), (2, 0)]
    check(always, *({"x": floats(b, t, 4), "h": floats(b, 4)} for b, t in runs))


def test_a_counter_that_data_changes_is_none():
    model = _reading("i64")
    loop = next(node for node in model.graph.node if node.op_type == "Loop")
    body = loop.attribute[0].g
    (add,) = (node for node in body.node if list(node.output) == ["next"])
    add.input[1] = "positive"
    extra = parse(
        "(float[b, 4] s) => (int64 positive)",
        """
        top = ReduceMax<keepdims = 0>(s)
        zero_f = Constant<value = float {0}>()
        is_high = Greater(top, zero_f)
        high = Cast<to = 7>(is_high)
        unit = Constant<value_int = 1>()
        positive = Add(high, unit)
        """,
    )
    for node in reversed(extra.graph.node):
        body.node.insert(0, node)
    assert "graph.while" in str(import_onnx(model))
    check(model, {"x": floats(2, 9, 4), "h": floats(2, 4)})


def test_loops_in_loops_that_read_by_both_counters():
    """The inner loop is built again for the outer one, with what was found before."""
    model = parse(
        "(float[n, m, 4] x, float[1, 4] h) => (float[1, 4] y)",
        """
        one = Constant<value_int = 1>()
        zero = Constant<value_int = 0>()
        axis_0 = Constant<value_ints = [0]>()
        axes = Constant<value_ints = [0, 1]>()
        shape = Shape(x)
        n = Gather<axis = 0>(shape, zero)
        m = Gather<axis = 0>(shape, one)
        goes = Less(zero, n)
        i_after, y = Loop("", goes, zero, h)<body = outer
            (int64 p, bool holds, int64 i, float[1, 4] s) =>
            (bool goes_on, int64 i_next, float[1, 4] s_after) {
            i_next = Add(i, one)
            inner_goes = Less(i, m)
            j_after, s_after = Loop("", inner_goes, i, s)<body = inner
                (int64 q, bool holds_2, int64 j, float[1, 4] s_2) =>
                (bool goes_2, int64 j_next, float[1, 4] new) {
                j_next = Add(j, one)
                i_1 = Unsqueeze(i, axis_0)
                i_2 = Unsqueeze(i_next, axis_0)
                j_1 = Unsqueeze(j, axis_0)
                j_2 = Unsqueeze(j_next, axis_0)
                begin = Concat<axis = 0>(i_1, j_1)
                end = Concat<axis = 0>(i_2, j_2)
                part = Slice(x, begin, end, axes)
                row = Squeeze(part, axis_0)
                sum = Add(s_2, row)
                new = Tanh(sum)
                goes_2 = Less(j_next, m)
            }>
            goes_on = Less(i_next, n)
        }>
        """,
    )
    assert "graph.bind_sizes" not in str(import_onnx(model))
    check(model, *({"x": floats(n, m, 4), "h": floats(1, 4)} for n, m in ((3, 5), (5, 3), (0, 2))))
