"""Loops of decoders as Paddle's exporter writes them: counters grow in floats, values are copied by
adding zero, results are assigned to slices, and data may end the loop, too."""

import numpy as np
import pytest
from control_flow_models import check, floats, parse

import graphc
from graphc.frontend.onnx import import_onnx

STEPS = 6
W = ", ".join(["0.3", "-0.2", "0.5", "0.1"] * 4)


def _model(limit=1024, begin=0, increment=1.0, condition="And(below, others)"):
    return parse(
        f"(float[b, 4] x, float[1] most) => (float[b, {STEPS}, 4] all, int64 count)",
        f"""
        first = Constant<value_int = {begin}>()
        yes = Constant<value = bool {{1}}>()
        limit = Constant<value_int = {limit}>()
        axis_1 = Constant<value_ints = [1]>()
        batch = Shape<start = 0, end = 1>(x)
        others_of = Constant<value_ints = [{STEPS}, 4]>()
        shape = Concat<axis = 0>(batch, others_of)
        empty = ConstantOfShape(shape)
        w = Constant<value = float[4, 4] {{{W}}}>()
        count, last, all = Loop(limit, yes, first, x, empty)<body = step
            (int64 i, bool holds, int64 counter, float[b, 4] state, float[b, {STEPS}, 4] before) =>
            (bool goes_on, int64 copy, float[b, 4] new, float[b, {STEPS}, 4] after) {{
            counter_f = Cast<to = 1>(counter)
            one_f = Constant<value_float = {increment}>()
            next_f = Add(counter_f, one_f)
            next = Cast<to = 7>(next_f)
            gate = MatMul(x, w)
            moved = MatMul(state, w)
            sum = Add(moved, gate)
            new = Tanh(sum)
            one = Constant<value_int = 1>()
            positions = Range(counter, next, one)
            row = Constant<value_ints = [1, -1, 1]>()
            column = Reshape(positions, row)
            updates = Unsqueeze(new, axis_1)
            new_shape = Shape(updates)
            indices = Expand(column, new_shape)
            after = ScatterElements<axis = 1>(before, indices, updates)
            end = Constant<value_int = {STEPS}>()
            below = Less(next, end)
            total = ReduceSum<keepdims = 0>(after)
            is_less = Less(total, most)
            others = Squeeze(is_less)
            condition = {condition}
            condition_i = Cast<to = 7>(condition)
            zero = Constant<value_ints = [0]>()
            copied = Add(condition_i, zero)
            copied_b = Cast<to = 9>(copied)
            goes_on = Squeeze(copied_b)
            copied_next = Add(next, zero)
            copy = Squeeze(copied_next)
        }}>
        """,
    )


def _feeds(batch=2, most=1e9):
    return {"x": floats(batch, 4), "most": np.array([most], np.float32)}


def test_positions_are_those_of_the_counter():
    model = _model()
    program = str(import_onnx(model))
    assert "bind_sizes" not in program
    assert "graph.while" in program
    check(model, _feeds(), _feeds(most=-1e9), _feeds(batch=1, most=0.1))


def test_a_row_is_written_in_place_and_invariants_are_computed_once():
    report = graphc.compile(_model(), threads=1).report
    assert report.rewrites["scatter-of-slice"].count == 1
    assert report.rewrites["loop-state-in-place"].count == 1
    assert not report.rewrites["loop-state-in-place"].declined
    assert report.rewrites["hoist-loop-invariants"].count == 1


@pytest.mark.parametrize("limit", [3, 1, 0])
def test_the_limit_ends_the_loop(limit):
    check(_model(limit), _feeds())


@pytest.mark.parametrize("options", [{"increment": 1.5}, {"limit": 1 << 60}], ids=str)
def test_counters_that_may_be_inexact_are_read_in_each_iteration(options):
    model = _model(**options)
    assert "bind_sizes" in str(import_onnx(model))
    check(model, _feeds(most=0.1), _feeds(most=-1e9))


def test_the_condition_may_be_of_data_alone():
    model = _model(limit=STEPS, condition="Identity(others)")
    check(model, _feeds(most=0.1), _feeds(most=-1e9))
