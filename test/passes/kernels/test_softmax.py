"""Softmax and its logarithm by a kernel of our own."""

import numpy as np
from onnx import TensorProto, helper

import graphc

SHAPES = [(2, 4096), (3, 17), (2, 5, 197), (7, 31), (1, 1000), (4, 3, 1, 33)]


def _expected(x):
    with np.errstate(invalid="ignore"):
        powers = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)


def _expected_logarithm(x):
    with np.errstate(invalid="ignore"):
        below = x.astype(np.float64) - x.max(-1, keepdims=True)
        return below - np.log(np.exp(below).sum(-1, keepdims=True))


def _draw(random, shape):
    """Numbers of all sizes, and rows with what is special."""
    x = random.standard_normal(shape, np.float32) * random.choice([1, 30, 1e4], shape)
    rows = x.astype(np.float32).reshape(-1, shape[-1])
    rows[0, ::3] = -np.inf
    specials = (np.nan, np.inf, -np.inf)
    for row, special in zip(rows[1:], specials, strict=False):
        row[-1] = special
    if len(rows) > 4:
        rows[4] = -np.inf
        rows[5] = np.float32(3e38)
    return rows.reshape(shape)


def _compiled(dims):
    """A model with a softmax and its logarithm for each of `dims`, of numbers and names."""
    names = [f"x{i}" for i in range(len(dims))]
    nodes = [
        helper.make_node(operator, [name], [f"{operator} {name}"], axis=-1)
        for operator in ("Softmax", "LogSoftmax")
        for name in names
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes)
        for name, sizes in zip(names, dims, strict=True)
    ]
    outputs = [helper.make_empty_tensor_value_info(node.output[0]) for node in nodes]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return graphc.compile(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    )


def _check(compiled, shapes):
    random = np.random.default_rng(0)
    feeds = {f"x{i}": _draw(random, shape) for i, shape in enumerate(shapes)}
    results = compiled.run(None, feeds)
    for ours, logarithms, x in zip(results, results[len(feeds) :], feeds.values(), strict=False):
        np.testing.assert_allclose(ours, _expected(x), rtol=5e-6, atol=1e-37)
        np.testing.assert_allclose(logarithms, _expected_logarithm(x), rtol=5e-6, atol=1e-5)


def test_compiled():
    _check(_compiled(SHAPES), SHAPES)


def test_named_sizes():
    """Rows of any number and length, from none to more than a workgroup."""
    compiled = _compiled([("n", 17), (2, "m", "l"), (3, "k")])
    for n, m, length, k in ((1, 5, 197, 1), (40, 1, 16, 33), (3, 7, 9, 20000), (2000, 3, 64, 15)):
        _check(compiled, [(n, 17), (2, m, length), (3, k)])
    nothing = {"x0": (0, 17), "x1": (2, 0, 5), "x2": (3, 0)}
    results = compiled.run(None, {name: np.empty(s, np.float32) for name, s in nothing.items()})
    assert [result.shape for result in results] == [*nothing.values()] * 2
