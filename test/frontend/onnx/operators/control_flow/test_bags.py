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


OFFSETS = """
    rows = Gather <axis: int = 0> (table, ids)
    length = Shape (ids)
    bounds = Concat <axis: int = 0> (offsets, length)
    bags = Size (offsets)
    zero = Constant <value_int: int = 0> ()
    one = Constant <value_int: int = 1> ()
    two = Constant <value_int: int = 2> ()
    flat = Constant <value_ints: ints = [-1]> ()
    axis = Constant <value_ints: ints = [0]> ()
    goes = Less (zero, bags)
    {before}
    last, parts = Loop ("", goes, zero{none}) <body: graph = b (int64 i, bool c, n{part}) => (d, m, all) {{
        first = Reshape (n, flat)
        step = CastLike (one, first)
        next = Add (first, step)
        start = Slice (bounds, first, next)
        behind = Add (next, step)
        end = Slice (bounds, next, behind)
        chosen = Slice (rows, start, end)
        {body}
        all = {collected}
        increment = CastLike (one, n)
        m = Add (n, increment)
        d = Less (m, bags)
    }}>
    y = {joined} (parts)
"""  # noqa: E501
SCANNED = {
    "before": "",
    "none": "",
    "part": "",
    "collected": "Identity (row)",
    "joined": "Identity",
}
JOINED = {
    "before": "none = SequenceEmpty ()",
    "none": ", none",
    "part": ", so_far",
    "collected": "SequenceInsert (so_far, row)",
    "joined": "ConcatFromSequence <axis: int = 0>",
}


def _check_offsets(results, is_native=True, **form):
    given = "(int64[n] ids, int64[bags] offsets, float[20, 9] table)"
    model = parse(f"{given} => {results}", OFFSETS.format(**form))
    with contextlib.closing(graphc.compile(model, target="interpret")) as compiled:
        assert all(part.native for part in compiled.parts) == is_native
        for offsets in ([0, 3, 4, 9], [0], [0, 0, 12]):
            feeds = {
                "ids": np.arange(12) * 7 % 20,
                "offsets": np.array(offsets),
                "table": floats(20, 9),
            }
            compare(compiled.run(None, feeds), run_onnxruntime(model, feeds), ["y"])


def test_slices_from_lists_by_a_counter():
    """The number of starts of a slice is known where the counter is."""
    row = "row = ReduceSum <keepdims: int = 0> (chosen, axis)"
    _check_offsets("(float[bags, 9] y)", body=row, **SCANNED)


@pytest.mark.parametrize(
    ("body", "is_native"),
    [
        ("row = ReduceSum <keepdims: int = 1> (chosen, axis)", True),
        ("row = Identity (chosen)", False),
    ],
)
def test_bags_that_are_joined(body, is_native):
    """As PyTorch's dynamo exporter writes them. Rows of different number are joined by the host."""
    _check_offsets("(float[rows, 9] y)", is_native, body=body, **JOINED)
