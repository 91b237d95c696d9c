"""Gathers from tables that are computed from constants."""

import numpy as np
import pytest
from numerics import build_model
from onnx import helper
from simplify_examples import Example, c, check_example

import graphc
from graphc.dialects import graph

Q = np.arange(-12, 12, dtype=np.int8).reshape(6, 4)
PICKED = [[4, 0], [5, 4]]


def _table(scale):
    return graph.mul(graph.cast(c(Q, np.int8), to=np.float32), c(scale))


def _picked():
    return c(PICKED, np.int64)


def _blocks():
    scales = c(np.linspace(1, 2, 12).reshape(6, 2, 1))
    zeros = c(np.zeros((6, 2, 1)), np.int8)
    blocks = c(Q.reshape(6, 2, 2), np.int8)
    table = graph.dequantize(blocks, scales, zeros, to=np.float32)
    return graph.reshape(table, shape=[6, 4])


EXAMPLES = [
    Example(  # a scale for each row
        "gather-computed",
        lambda: graph.gather(_table(np.linspace(1, 2, 6)[:, None]), _picked(), axis=0),
        ["gather", "gather", "dequantize"],
        (),
    ),
    Example(  # for each column
        "gather-computed",
        lambda: graph.gather(_table(np.linspace(1, 2, 4)), _picked(), axis=0),
        ["gather", "dequantize"],
        (),
    ),
    Example(  # one, of the rank of the table
        "gather-computed",
        lambda: graph.gather(graph.add(c(Q), c([[3]])), c([3, 0], np.int64), axis=1),
        ["gather", "add"],
        (),
    ),
    Example(
        "gather-reshaped",
        lambda: graph.gather(_blocks(), _picked(), axis=0),
        ["gather", "gather", "gather", "dequantize", "reshape"],
        (),
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.rewrite)
def test_rewrite(example, context):
    check_example(example)


@pytest.mark.parametrize("kind", ["rows", "columns", "cast", "blocks"])
def test_large_tables_are_not_computed(kind):
    """A table that would be larger than what is folded, in the forms of quantizers."""
    rows, columns = 30_000, 100
    random = np.random.default_rng(0)
    q = random.integers(-127, 128, (rows, columns), np.int8)
    shape = {"columns": (columns,), "blocks": (rows, 5), "cast": (rows, 1)}.get(kind, (rows,))
    scales = random.uniform(0.01, 0.02, shape).astype(np.float32)
    constants = {"q": q, "s": scales, "z": np.zeros(shape, np.int8)}
    attributes = {"columns": {"axis": 1}, "rows": {"axis": 0}, "blocks": {"block_size": 20}}
    table = helper.make_node("DequantizeLinear", ["q", "s", "z"], ["t"], **attributes.get(kind, {}))
    nodes = [table]
    if kind == "cast":
        nodes = [
            helper.make_node("Cast", ["q"], ["f"], to=1), helper.make_node("Mul", ["f", "s"], ["t"])
        ]  # fmt: skip
    nodes.append(helper.make_node("Gather", ["t", "i"], ["y"]))
    model = build_model(nodes, {"i": (np.int64, ["b", "n"])}, ["y"], constants)
    picked = random.integers(0, rows, (2, 7))
    with graphc.compile(model, threads=1) as compiled:
        assert compiled.report.rewrites["gather-computed"].count >= 1
        (found,) = compiled.run(None, {"i": picked})
    wide = {"rows": scales[..., None], "blocks": np.repeat(scales, 20, -1)}.get(kind, scales)
    np.testing.assert_array_equal(found, (q * wide)[picked])
