"""Rows that a loop repeats as often as a list says, against ONNX Runtime."""

import numpy as np
import onnx.parser
import pytest
from numerics import run_onnxruntime

import graphc
from graphc.frontend.onnx.importing.repeated_rows import without_repeats

REPEAT = """<ir_version: 8, opset_import: ["" : 17]>
repeat ({type} x, int64[n] counts) => (float[p, q] y) {{
    shape = Shape (x)
    at = Constant <value: tensor = int64 {{{axis}}}> ()
    rows = Gather <axis: int = 0> (shape, at)
    first = Constant <value: tensor = int64[1] {{0}}> ()
    limit = Unsqueeze (rows, first)
    length = Shape (counts)
    ones = ConstantOfShape <value: tensor = int64[1] {{1}}> (length)
    numbers = SplitToSequence <axis: int = 0> (counts, ones)
    parts = SplitToSequence <axis: int = {axis}> (x, ones)
    go = Constant <value: tensor = bool {{1}}> ()
    none = SequenceEmpty <dtype: int = 1> ()
    all = Loop (limit, go, none) <body: graph = b (int64[1] i, bool c, seq(float[?,?]) before) => (bool d, seq(float[?,?]) after) {{
        number = SequenceAt (numbers, i)
        part = SequenceAt (parts, i)
        inner = Constant <value: tensor = int64[1] {{{behind}}}> ()
        unsqueezed = Unsqueeze (part, inner)
        one = Constant <value: tensor = int64[1] {{1}}> ()
        other = Constant <value: tensor = int64[1] {{{other}}}> ()
        sizes = Concat <axis: int = 0> ({sizes})
        rank = Shape (sizes)
        units = ConstantOfShape <value: tensor = int64[1] {{1}}> (rank)
        minus = Constant <value: tensor = int64 {{-1}}> ()
        unknown = Mul (units, minus)
        is_unknown = Equal (sizes, unknown)
        known = Where (is_unknown, units, sizes)
        expanded = Expand (unsqueezed, known)
        flat = Constant <value: tensor = int64[2] {{{flat}}}> ()
        row = Reshape (expanded, flat)
        after = SequenceInsert (before, row)
        limited = Less (i, one)
        d = Cast <to: int = 9> ({goes})
    }}>
    y = ConcatFromSequence <axis: int = {axis}> (all)
}}"""  # noqa: E501
FIRST = {
    "type": "float[n, 3]", "axis": 0, "behind": 1, "other": 3, "sizes": "one, number, other",
    "flat": "-1, 3", "goes": "go",
}  # fmt: skip
SECOND = {
    "type": "float[3, n]", "axis": 1, "behind": 2, "other": 3, "sizes": "other, one, number",
    "flat": "3, -1", "goes": "c",
}  # fmt: skip


def _model(**form):
    return onnx.parser.parse_model(REPEAT.format(**form))


@pytest.mark.parametrize("form", [FIRST, SECOND], ids=["first", "second"])
def test_repeats(form):
    model = _model(**form)
    compiled = graphc.compile(model, target="interpret")
    assert all(part.native for part in compiled.parts)
    for counts in ([1, 0, 3, 2], [2], [0, 5]):
        shape = (len(counts), 3) if form is FIRST else (3, len(counts))
        x = np.arange(3 * len(counts), dtype=np.float32).reshape(shape)
        feeds = {"x": x, "counts": np.array(counts)}
        found, wanted = compiled.run(None, feeds), run_onnxruntime(model, feeds)
        np.testing.assert_array_equal(found[0], wanted[0])


def test_counts_of_more_rows_than_there_are():
    """The loop does not come to them."""
    text = REPEAT.format(**FIRST).replace("int64[n]", "int64[k]").replace("(x, ones)", "(x, rows)")
    text = text.replace("rows = Gather", "size = Gather").replace("(rows, first)", "(size, first)")
    rows = "rows = ConstantOfShape <value: tensor = int64[1] {1}> (limit)\n    parts ="
    model = onnx.parser.parse_model(text.replace("parts =", rows))
    feeds = {"x": np.ones((2, 3), np.float32), "counts": np.array([2, 1, 9])}
    found = graphc.compile(model, target="interpret").run(None, feeds)
    np.testing.assert_array_equal(found[0], run_onnxruntime(model, feeds)[0])


@pytest.mark.parametrize(
    "change",
    [
        {"behind": 0},
        {"sizes": "number, one, other"},
        {"flat": "3, -1"},
        {"sizes": "one, one, other"},
        {"goes": "limited"},
    ],
)
def test_other_loops_stay(change):
    model = _model(**(FIRST | change))
    assert without_repeats(model) is model
