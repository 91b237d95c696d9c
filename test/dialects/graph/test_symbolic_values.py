"""Sizes that models compute in the graph are read at compile time."""

import numpy as np
import pytest

from graphc.dialects import graph
from graphc.dialects.assumptions import assuming
from graphc.dialects.symbolic_syntax import parse_dim
from graphc.mlir import ir


@pytest.fixture(autouse=True)
def context():
    with ir.Context(), ir.Location.unknown():
        graph.Graph.load()
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            yield


def _sizes(*dims: int | str) -> ir.Value:
    return graph.sizes(sizes=[parse_dim(d) if isinstance(d, str) else d for d in dims])


def _data(values, dtype=np.int64) -> ir.Value:
    return graph.constant(value=np.array(values, dtype))


def _known(value: ir.Value) -> list[str] | None:
    sizes = graph.known_sizes(value)
    return None if sizes is None else [str(size) for size in sizes]


def _scalar(value: ir.Value, index: int) -> ir.Value:
    return graph.gather(value, _data(index), axis=0)


SHAPE = ("n", 12, "2*s + 1")
CASES = {
    "themselves": (lambda x: x, ["n", "12", "2*s + 1"]),
    "gathered": (lambda x: graph.gather(x, _data([2, -3]), axis=0), ["2*s + 1", "n"]),
    "a scalar": (lambda x: _scalar(x, -1), ["2*s + 1"]),
    "sliced": (lambda x: graph.slice_(x, starts=[0], sizes=[2], steps=[2]), ["n", "2*s + 1"]),
    "reversed": (
        lambda x: graph.slice_(x, starts=[2], sizes=[3], steps=[-1]),
        ["2*s + 1", "12", "n"],
    ),
    "joined": (lambda x: graph.concat([x, _data([-1])], axis=0), ["n", "12", "2*s + 1", "-1"]),
    "reshaped": (lambda x: graph.reshape(x, shape=[3, 1]), ["n", "12", "2*s + 1"]),
    "expanded": (lambda x: graph.expand(_scalar(x, 0), shape=[2]), ["n", "n"]),
    "transposed": (lambda x: graph.transpose(graph.reshape(x, shape=[3, 1]), perm=[1, 0]), None),
    "added": (lambda x: graph.add(x, _data(3)), ["n + 3", "15", "2*s + 4"]),
    "multiplied": (lambda x: graph.mul(x, x), ["n*n", "144", "4*s*s + 4*s + 1"]),
    "subtracted": (lambda x: graph.sub(x, _data([0, 5, 1])), ["n", "7", "2*s"]),
    "divided": (lambda x: graph.div(x, _data(4)), ["floordiv(n, 4)", "3", "floordiv(2*s + 1, 4)"]),
    "remainders": (lambda x: graph.mod(x, _data(5)), ["n - 5*floordiv(n, 5)", "2", None]),
    "their product": (lambda x: graph.reduce_prod(x, axes=[0], keepdims=True), ["24*n*s + 12*n"]),
    "their sum": (lambda x: graph.reduce_sum(x, axes=[0], keepdims=False), ["n + 2*s + 13"]),
    "the smallest": (
        lambda x: graph.reduce_min(graph.reshape(x, shape=[1, 3]), axes=[0, 1], keepdims=False),
        ["min(min(12, n), 2*s + 1)"],
    ),
    "the largest": (
        lambda x: graph.reduce_max(x, axes=[0], keepdims=True),
        ["max(max(12, n), 2*s + 1)"],
    ),
    "at most": (lambda x: graph.min_(x, _data([5, 5, 0])), ["min(5, n)", "5", "0"]),
    "at least": (lambda x: graph.max_(x, _data([0, 20, 1])), ["n", "20", "2*s + 1"]),
    "narrowed": (lambda x: graph.cast(x, to=np.int32), ["n", "12", "2*s + 1"]),
    "compared": (lambda x: graph.cast(graph.equal(x, _data(-1)), to=np.int64), ["0", "0", "0"]),
    "chosen": (
        lambda x: graph.where(graph.less(x, _data(0)), _data([7, 7, 7]), x),
        ["n", "12", "2*s + 1"],
    ),
    "powers": (lambda x: graph.pow_(x, _data(2)), ["n*n", "144", "4*s*s + 4*s + 1"]),
}


@pytest.mark.parametrize(("build", "expected"), CASES.values(), ids=CASES)
def test_sizes_computed_in_the_graph(build, expected):
    known = _known(build(_sizes(*SHAPE)))
    if expected is None:
        expected = ["n", "12", "2*s + 1"]
    assert known is not None
    for have, want in zip(known, expected, strict=True):
        assert want is None or parse_dim(have) == parse_dim(want)


def test_bound_sizes_are_seen_through():
    x = graph.bind_sizes(_sizes("n", 3), names=["a", "b"])
    assert _known(x) == ["n", "3"]


UNKNOWN = {
    "a comparison that depends": lambda x: graph.cast(graph.equal(x, _data(3)), to=np.int64),
    "a division whose sign depends": lambda x: graph.div(graph.sub(x, _data(9)), _data(2)),
    "floats": lambda x: graph.cast(x, to=np.float32),
    "what a float holds": lambda x: graph.cast(graph.cast(x, to=np.float32), to=np.int64),
    "a symbolic exponent": lambda x: graph.pow_(_data([2, 2, 2]), x),
    "symbolic indices": lambda x: graph.gather(_data([1, 2, 3]), x, axis=0),
    "large data": lambda x: graph.expand(x, shape=[100, 3]),
}


@pytest.mark.parametrize("build", UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_not_known(build):
    assert _known(build(_sizes("n", "m", "k"))) is None


def test_arguments_are_not_known():
    block = ir.Block.create_at_start(
        ir.Operation.create("builtin.module", regions=1).regions[0],
        [ir.RankedTensorType.get([2], ir.IntegerType.get_signless(64))],
        [ir.Location.unknown()],
    )
    assert _known(block.arguments[0]) is None
    with ir.InsertionPoint(block):
        assert _known(graph.concat([block.arguments[0], _data([1])], axis=0)) is None


def _as_float(x, dtype=np.float32):
    return graph.cast(x, to=dtype)


# of n, a size of 1000 at most, and m, which may be any
OF_FLOATS = {
    "exact": (lambda n, m: _as_float(n), ["n"]),
    "back": (lambda n, m: graph.cast(_as_float(n), to=np.int32), ["n"]),
    "too large": (lambda n, m: _as_float(m), None),
    "too large for f64": (lambda n, m: _as_float(m, np.float64), None),
    "f16": (lambda n, m: _as_float(n, np.float16), None),
    "at least": (lambda n, m: graph.max_(_as_float(n), _data([1e9], np.float32)), ["1000000000"]),
    "sum": (lambda n, m: graph.add(_as_float(n), _data([3], np.float32)), ["n + 3"]),
    "product": (lambda n, m: graph.mul(_as_float(n), _data([9], np.float32)), ["9*n"]),
    "inexact product": (lambda n, m: graph.mul(_as_float(n), _data([1e6], np.float32)), None),
    "inexact sum": (
        lambda n, m: graph.add(_data([2**24], np.float32), _data([1], np.float32)), None,
    ),
    "quotient": (lambda n, m: graph.div(_as_float(n), _data([2], np.float32)), None),
    "fraction": (lambda n, m: graph.max_(_as_float(n), _data([0.5], np.float32)), None),
    "not a number": (lambda n, m: graph.min_(_as_float(n), _data([np.nan], np.float32)), None),
    "less": (lambda n, m: graph.less(_as_float(n), _data([1001], np.float32)), ["1"]),
    "perhaps less": (lambda n, m: graph.less(_as_float(n), _data([1000], np.float32)), None),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_FLOATS)
def test_floats_that_hold_sizes(name):
    build, expected = OF_FLOATS[name]
    n, m = _sizes("n"), _sizes("m")
    with assuming([parse_dim("1000 - n")]):
        assert _known(build(n, m)) == expected


def _amounts(data):
    """As PyTorch writes pads: zeros behind some, reversed."""
    some = graph.concat([_data([0]), data, _sizes("n"), _data([0, 0, 0])], axis=0)
    pairs = graph.reshape(some, shape=[3, 2])
    turned = graph.slice_(pairs, starts=[2, 0], sizes=[3, 2], steps=[-1, 1])
    flat = graph.reshape(graph.transpose(turned, perm=[1, 0]), shape=[6])
    return graph.cast(flat, to=np.int32)


def test_elements_are_known_beside_others_that_are_not():
    data = graph.reduce_max(_data(range(100)), axes=[0], keepdims=True)  # too many to follow
    amounts = _amounts(data)
    zero, n = 0, parse_dim("n")
    assert graph.known_sizes(amounts) is None
    assert graph.known_elements(amounts) == (zero, n, zero, zero, zero, None)
    assert graph.known_elements(graph.add(amounts, amounts)) is None
    assert graph.known_elements(data) is None
