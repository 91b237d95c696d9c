"""Loops whose iterations reduce slices of which data decides the length, such as embedding bags."""

import contextlib

import numpy as np
import pytest
from control_flow_models import floats, parse
from numerics import compare, run_onnxruntime

import graphc

BAGS = """
    zero = Constant <value_ints: ints = [0]> ()
    bags = Size (starts)
    go = Equal (bags, bags)
    y = Loop (bags, go) <body: graph = b (int64 i, bool c) => (d, r) {{
        d = Identity (c)
        start = Gather <axis: int = 0> (starts, i)
        end = Gather <axis: int = 0> (ends, i)
        first = Unsqueeze (start, zero)
        last = Unsqueeze (end, zero)
        chosen = Slice (ids, first, last, zero)
        rows = Gather <axis: int = 0> (table, chosen)
        {body}
    }}>
"""
WEIGHTED = """
        some = Slice (w, first, last, zero)
        one = Constant <value_ints: ints = [1]> ()
        column = Unsqueeze (some, one)
        scaled = Mul (rows, column)
        r = ReduceSum <keepdims: int = 0> (scaled, zero)
"""


@pytest.mark.parametrize(
    "body",
    [
        "r = ReduceSum <keepdims: int = 0> (rows, zero)",
        "r = ReduceMax <keepdims: int = 1> (rows, zero)",
        WEIGHTED,
    ],
    ids=["sum", "max", "weighted"],
)
def test_bags(body):
    """One kernel runs all iterations. Slices that are sliced alike have equal sizes."""
    given = "(int64[n] ids, int64[bags] starts, int64[bags] ends, float[n] w, float[20, 9] table)"
    rank = ", 1" if "keepdims: int = 1" in body else ""
    model = parse(f"{given} => (float[bags{rank}, 9] y)", BAGS.format(body=body))
    with contextlib.closing(graphc.compile(model, cache=False)) as compiled:
        assert compiled.report.rewrites["serial-loops"].count == 1
        for starts, ends in (([0, 3, 4, 9], [3, 4, 9, 12]), ([5, -4, 2], [99, -1, 3]), ([], [])):
            feeds = {
                "ids": np.arange(12) * 7 % 20,
                "starts": np.array(starts, np.int64),
                "ends": np.array(ends, np.int64),
                "w": floats(12),
                "table": floats(20, 9),
            }
            compare(compiled.run(None, feeds), run_onnxruntime(model, feeds), ["y"])
