"""Every simplification fires on its example, and the example still computes the same.

`exact` examples agree bit for bit, signs of zeros, infinities and NaNs included; the others within
the rounding that the rewrite's docstring allows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from graph_programs import build_module, main_of, op_names, tensor_type

from graphc.dialects import graph
from graphc.dialects.graph.interpreter import evaluate_function
from graphc.dialects.symbolic import Dim
from graphc.passes.graph.simplify import REWRITES
from graphc.passes.graph.simplify.casts import holds
from graphc.passes.infra.pipeline import run_pipeline
from graphc.passes.infra.report import Report

SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-40, 0.5, 7.25]


def c(value: Any, dtype: Any = np.float32) -> Any:
    return graph.constant(value=np.asarray(value, dtype))


def counted(size: Any) -> Any:
    """0, 1, 2, ... as many as `size`."""
    return graph.range_(c(0, np.int64), c(1, np.int64), size=size)


def column(size: Any) -> Any:
    return graph.reshape(counted(size), shape=[size, 1])


FIRST, LAST = "channels_first", "channels_last"


def window(kernel, low=None, high=None):
    zeros = [0] * len(kernel)
    steps = {"strides": [1] * len(kernel), "dilations": [1] * len(kernel)}
    return {"kernel": kernel, "low": low or zeros, "high": high or zeros, **steps}


@dataclass(frozen=True)
class Example:
    """A program on which `rewrite` fires, leaving `ops`."""

    rewrite: str
    body: Callable[..., Any]
    ops: list[str]
    types: tuple[str, ...] = ("4x3xf32",)
    exact: bool = True


N = Dim.symbol("n")
INT = ("4x3xi32",)

EXAMPLES = [
    Example("sub-zero", lambda x: graph.sub(x, c(0)), []),
    Example("mul-one", lambda x: graph.mul(c([1]), x), []),
    Example("mul-one", lambda x: graph.mul(x, c(1, np.int32)), [], INT),
    Example("div-one", lambda x: graph.div(x, c(1)), []),
    Example("double-negation", lambda x: graph.neg(graph.neg(x)), []),
    Example("double-negation", lambda x: graph.not_(graph.not_(x)), [], ("4xi1",)),
    Example("double-negation", lambda x: graph.bitwise_not(graph.bitwise_not(x)), [], INT),
    Example("abs-of-sign-free", lambda x: graph.abs_(graph.neg(x)), ["abs"]),
    Example("abs-of-sign-free", lambda x: graph.abs_(graph.abs_(x)), ["abs"]),
    Example("add-negated", lambda x, y: graph.add(x, graph.neg(y)), ["sub"], ("4xf32", "4xf32")),
    Example("add-negated", lambda x, y: graph.add(graph.neg(x), y), ["sub"], ("4xf32", "4xf32")),
    Example("pow-one", lambda x: graph.pow_(x, c(1)), []),
    Example("pow-two", lambda x: graph.pow_(x, c(2)), ["mul"]),
    Example("pow-half", lambda x: graph.pow_(graph.abs_(x), c(0.5)), ["abs", "sqrt"], exact=False),
    Example("pow-minus-one", lambda x: graph.pow_(x, c(-1)), ["reciprocal"], exact=False),
    Example(
        "mul-chain",
        lambda x: graph.mul(c(3, np.int32), graph.mul(x, c(1 << 30, np.int32))),
        ["mul"],
        INT,
    ),
    Example("mul-chain", lambda x: graph.mul(graph.mul(x, c(-4)), c(0.1)), ["mul"], exact=False),
    Example(
        "add-chain",
        lambda x: graph.add(graph.add(c(2**31 - 1, np.int32), x), c(5, np.int32)),
        ["add"],
        INT,
    ),
    Example("div-by-power-of-two", lambda x: graph.div(x, c(8)), ["mul"]),
    Example("div-by-power-of-two", lambda x: graph.div(x, c(-0.25)), ["mul"]),
    Example("cast-to-same", lambda x: graph.cast(x, to=np.float32), []),
    Example(
        "cast-chain",
        lambda x: graph.cast(graph.cast(x, to=np.float64), to=np.float16),
        ["cast"],
    ),
    Example("cast-chain", lambda x: graph.cast(graph.cast(x, to=np.int64), to=np.int32), [], INT),
    Example(
        "cast-chain",
        lambda x: graph.cast(graph.cast(x, to=np.float32), to=np.int32),
        ["cast"],
        ("4xi1",),
    ),
    Example("identity-transpose", lambda x: graph.transpose(x, perm=[0, 1]), []),
    Example(
        "transpose-of-transpose",
        lambda x: graph.transpose(graph.transpose(x, perm=[1, 2, 0]), perm=[1, 0, 2]),
        ["transpose"],
        ("2x3x4xf32",),
    ),
    Example(
        "transpose-of-unit-axes",
        lambda x: graph.transpose(x, perm=[2, 0, 1, 3]),
        ["reshape"],
        ("3x4x1x1xf32",),
    ),
    Example("identity-reshape", lambda x: graph.reshape(x, shape=[4, 3]), []),
    Example(
        "reshape-of-reshape",
        lambda x: graph.reshape(graph.reshape(x, shape=[2, 6]), shape=[12]),
        ["reshape"],
    ),
    Example(
        "reshape-of-reshape",
        lambda x: graph.reshape(graph.reshape(x, shape=[N * 3]), shape=[3, N]),
        ["reshape"],
        ("nx3xf32",),
    ),
    Example(
        "clip-pool-window",
        lambda x: graph.max_pool(x, **window([9, 2], low=[1, 0], high=[1, 0]), layout=FIRST),
        ["max_pool"],
        ("1x2x7x3xf32",),
    ),
    Example(
        "clip-pool-window",
        lambda x: graph.lp_pool(x, **window([4], high=[1]), p=2, layout=LAST),
        ["lp_pool"],
        ("2x3x2xf32",),
        exact=False,
    ),
    Example(
        "clip-average-window",
        lambda x: graph.average_pool(
            x,
            **window([90, 90], high=[5, 0]),
            extra=[78, 87],
            count_include_pad=False,
            layout=FIRST,
        ),
        ["average_pool"],
        ("1x2x7x3xf32",),
        exact=False,
    ),
    Example(
        "clip-average-window",
        lambda x: graph.average_pool(
            x,
            **window([90, 2], low=[2, 0], high=[5, 0]),
            extra=[76, 0],
            count_include_pad=True,
            layout=LAST,
        ),
        ["average_pool", "mul"],
        ("1x7x3x2xf32",),
        exact=False,
    ),
    Example("identity-expand", lambda x: graph.expand(x, shape=[4, 3]), []),
    Example(
        "expand-of-expand",
        lambda x: graph.expand(graph.expand(x, shape=[4, 3]), shape=[2, 4, 3]),
        ["expand"],
        ("1x3xf32",),
    ),
    Example(
        "full-slice",
        lambda x: graph.slice_(x, starts=[0, 0], sizes=[N, 3], steps=[1, 1]),
        [],
        ("nx3xf32",),
    ),
    Example(
        "slice-of-slice",
        lambda x: graph.slice_(
            graph.slice_(x, starts=[9, 0], sizes=[5, 3], steps=[-2, 1]),
            starts=[4, 1],
            sizes=[2, 2],
            steps=[-3, 1],
        ),
        ["slice"],
        ("10x3xf32",),
    ),
    Example(
        "slice-of-slice",
        lambda x: graph.slice_(
            graph.slice_(x, starts=[1], sizes=[N - 1], steps=[1]),
            starts=[N - 3],
            sizes=[2],
            steps=[1],
        ),
        ["slice"],
        ("nxf32",),
    ),
    Example(
        "concat-of-one",
        lambda x: graph.concat([x, c(np.zeros((0, 3)))], axis=0),
        [],
    ),
    Example(
        "concat-of-concat",
        lambda x, y: graph.concat([y, graph.concat([x, y], axis=0), x], axis=0),
        ["concat"],
        ("4xf32", "2xf32"),
    ),
    Example(
        "commuted",
        lambda x, y: graph.sub(graph.mul(x, y), graph.exp(graph.mul(y, x))),
        ["mul", "exp", "sub"],
        ("4x3xf32", "3xf32"),
    ),
    Example("pad-by-nothing", lambda x: graph.pad(x, c(9), low=[0, 0], high=[0, 0]), []),
    Example(
        "if-of-one-value",
        lambda x, holds: graph.if_(holds, lambda: [x], lambda: [x], lambda hint: hint)[0],
        [],
        ("nxf32", "i1"),
    ),
    Example(
        "where-decided",
        lambda x, y: graph.where(c([[True]], np.bool_), x, y),
        ["expand"],
        ("3xf32", "4x3xf32"),
    ),
    Example(
        "where-decided",
        lambda x, y: graph.where(c([False, False, False], np.bool_), x, y),
        [],
        ("3xf32", "4x3xf32"),
    ),
    Example(
        "where-decided",
        lambda m, x: graph.where(m, x, x),
        [],
        ("4x3xi1", "4x3xf32"),
    ),
    Example("relu-of-relu", lambda x: graph.relu(graph.relu(x)), ["relu"]),
    Example("relu-of-max", lambda x: graph.relu(graph.max_(x, c(-1))), ["relu"]),
    Example("bound-chain", lambda x: graph.max_(graph.max_(x, c(1)), c(2)), ["max"]),
    Example("bound-chain", lambda x: graph.min_(c(1), graph.min_(x, c(2))), ["min"]),
    Example("max-zero-to-relu", lambda x: graph.max_(c(0, np.int32), x), ["relu"], INT),
    Example("max-of-relu", lambda x: graph.max_(graph.relu(x), c(-1)), ["relu"]),
    Example("max-of-relu", lambda x: graph.max_(graph.relu(x), c(2)), ["max"]),
    Example("add-zero", lambda x: graph.add(c(0, np.int32), x), [], INT),
    Example("add-zero", lambda x: graph.add(x, c(-0.0)), []),
    Example(
        "gather-of-sizes",
        lambda x: graph.gather(graph.sizes(sizes=[N, 7]), c([[1], [-2]], np.int64), axis=0),
        ["sizes", "reshape"],
        ("nxf32",),
    ),
    Example(
        "gather-in-order",
        lambda x: graph.gather(
            graph.reshape(x, shape=[2 * N]),
            graph.add(
                graph.mul(column(2), graph.sizes(sizes=[N])),
                graph.reshape(counted(N), shape=[1, N]),
            ),
            axis=0,
        ),
        [],
        ("2xnxf32",),
    ),
    Example(
        "gather-in-order",
        lambda x: graph.gather(x, c([[0], [1], [2]], np.int64), axis=1),
        ["reshape"],
    ),
    Example(
        "gather-of-run",
        lambda x: graph.gather(x, c(-1, np.int64), axis=0),
        ["slice", "reshape"],
    ),
    Example(
        "gather-of-run",
        lambda x: graph.gather(x, c([[1], [2]], np.int32), axis=1),
        ["slice", "reshape"],
        ("nx3xf32",),
    ),
    Example(
        "gather-nd-in-order",
        lambda x: graph.gather_nd(
            x,
            graph.concat(
                [
                    graph.expand(graph.reshape(counted(4), shape=[4, 1, 1, 1]), shape=[4, 1, 3, 1]),
                    graph.expand(graph.reshape(counted(3), shape=[1, 1, 3, 1]), shape=[4, 1, 3, 1]),
                ],
                axis=3,
            ),
            batch_dims=0,
        ),
        ["reshape"],
    ),
    Example(
        "comparison-decided",
        lambda x: graph.and_(x, graph.greater_or_equal(counted(N), c(0, np.int64))),
        [],
        ("nxi1",),
    ),
    Example(
        "comparison-decided",
        lambda x: graph.and_(x, graph.less(c(-1, np.int64), graph.sub(column(4), c(0, np.int64)))),
        [],
        ("4x3xi1",),
    ),
    Example("logical-constant", lambda x: graph.and_(c(True, np.bool_), x), [], ("nxi1",)),
    Example("logical-constant", lambda x: graph.or_(x, c([False], np.bool_)), [], ("nxi1",)),
    Example(
        "logical-constant",
        lambda x: graph.and_(c([[True], [True]], np.bool_), x),
        ["expand"],
        ("nxi1",),
    ),
    Example(
        "mask-of-expand",
        lambda m: graph.where(graph.expand(m, shape=[5, N]), c(0), c(-1)),
        ["where", "expand"],
        ("nxi1",),
    ),
    Example(
        "mask-of-expand",
        lambda m, y: graph.and_(y, graph.expand(m, shape=[5, N])),
        ["and"],
        ("nxi1", "5xnxi1"),
    ),
    Example(
        "attention-of-expanded-mask",
        lambda q, m: graph.attention(
            q, q, q, graph.expand(m, shape=[2, 1, N, N]), scale=1.0, causal=False
        ),
        ["attention"],
        ("2x3xnx4xf32", "nxi1"),
    ),
]


def feed(text: str, sizes: dict[str, int], seed: int = 0) -> np.ndarray:
    type_ = tensor_type(text)
    shape = tuple(size if isinstance(size, int) else size.evaluate(sizes) for size in type_.shape)
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    if type_.dtype == np.float32:
        values = np.array(SPECIAL, np.float32)[rng.permutation(max(count, len(SPECIAL))) % 12]
        return values[:count].reshape(shape)
    if type_.dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(np.bool_)
    return rng.integers(-(2**31), 2**31, shape).astype(type_.dtype)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal values and signs; NaNs are all alike."""
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    numbers = ~np.isnan(a)
    return (
        np.array_equal(numbers, ~np.isnan(b))
        and np.array_equal(a[numbers], b[numbers])
        and np.array_equal(np.signbit(a[numbers]), np.signbit(b[numbers]))
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.rewrite)
def test_fires_and_keeps_the_meaning(context, example):
    module = build_module(example.body, *example.types)
    inputs = [feed(text, {"n": 5}, seed) for seed, text in enumerate(example.types)]
    (before,) = evaluate_function(main_of(module), inputs)
    report = Report()
    run_pipeline(module, "graph-simplify,canonicalize", report=report)
    assert report.statistics(example.rewrite).count >= 1, f"{example.rewrite} did not fire"
    assert op_names(module) == example.ops
    (after,) = evaluate_function(main_of(module), inputs)
    assert before.dtype == after.dtype
    if example.exact:
        assert same_bits(before, after)
    else:
        finite = np.isfinite(before)  # an intermediate overflow may disappear, none may appear
        np.testing.assert_allclose(after[finite], before[finite], rtol=3e-7, atol=1e-44)


def test_every_simplification_has_an_example():
    assert {e.rewrite for e in EXAMPLES} == {rewrite.name for rewrite in REWRITES}


LEFT_ALONE = [
    ("products that both round", lambda x: graph.mul(graph.mul(x, c(3)), c(0.1)), ("4xf32",)),
    ("quotients that both round", lambda x: graph.div(graph.div(x, c(3)), c(7)), ("4xf32",)),
    (
        "a wide integer kept within a narrow one",
        lambda x: graph.cast(graph.cast(x, to=np.float64), to=np.int8),
        ("4xi32",),
    ),
    (
        "infinite float8 that become finite",
        lambda x: graph.cast(graph.cast(x, to=np.float32), to=ml_dtypes.float8_e5m2),
        ("4xf8E5M2",),
    ),
    ("indices that go back", lambda x: graph.gather(x, c([1, 0], np.int64), axis=0), ("3xf32",)),
    ("indices outside", lambda x: graph.gather(x, c([2, 3], np.int64), axis=0), ("3xf32",)),
    ("of no known size", lambda x: graph.gather(x, c(0, np.int64), axis=0), ("nxf32",)),
    ("a constant that broadcasts", lambda x: graph.add(x, c([[0.0]])), ("3xf32",)),
    ("another constant", lambda x: graph.add(x, c(1)), ("3xf32",)),
    ("a constant tensor", lambda x: graph.mul(x, c([1, 1, 1])), ("3xf32",)),
    ("0 - x", lambda x: graph.sub(c(0), x), ("3xf32",)),
    ("1 / x", lambda x: graph.div(c(1), x), ("3xf32",)),
    ("float sums", lambda x: graph.add(graph.add(x, c(1e20)), c(-1e20)), ("3xf32",)),
    ("not a power of two", lambda x: graph.div(x, c(3)), ("3xf32",)),
    ("its reciprocal is subnormal", lambda x: graph.div(x, c(2.0**127)), ("3xf32",)),
    ("integer division", lambda x: graph.div(x, c(4, np.int32)), ("3xi32",)),
    ("overflow", lambda x: graph.mul(graph.mul(x, c(1e30)), c(1e30)), ("3xf32",)),
    ("underflow", lambda x: graph.mul(graph.mul(x, c(1e-30)), c(1e-30)), ("3xf32",)),
    (
        "narrowing casts",
        lambda x: graph.cast(graph.cast(x, to=np.float16), to=np.float32),
        ("3xf32",),
    ),
    ("a transpose that moves data", lambda x: graph.transpose(x, perm=[1, 0]), ("3x4xf32",)),
    ("an unknown size is not 1", lambda x: graph.transpose(x, perm=[1, 0]), ("nx4xf32",)),
    ("a slice from 1", lambda x: graph.slice_(x, starts=[1], sizes=[2], steps=[1]), ("3xf32",)),
    ("a reversed slice", lambda x: graph.slice_(x, starts=[2], sizes=[3], steps=[-1]), ("3xf32",)),
    ("a bound above 0", lambda x: graph.relu(graph.max_(x, c(1))), ("3xf32",)),
    ("min of max", lambda x: graph.min_(graph.max_(x, c(1)), c(6)), ("3xf32",)),
    (
        "joins along two axes",
        lambda x: graph.concat([graph.concat([x, x], axis=0), c(np.ones((8, 1)))], axis=1),
        ("4x3xf32",),
    ),
    (
        "more operands than one op takes",
        lambda x: graph.concat([graph.concat([x] * 5, axis=0)] + [x] * 5, axis=0),
        ("2xf32",),
    ),
    (
        "indices out of order",
        lambda x: graph.gather(x, c([0, 2, 1], np.int64), axis=0),
        ("3xf32",),
    ),
    (
        "some of the indices",
        lambda x: graph.gather(x, counted(N), axis=0),
        ("8xf32",),
    ),
    (
        "places out of order",
        lambda x: graph.gather_nd(
            x,
            graph.concat(
                [
                    graph.expand(graph.reshape(counted(4), shape=[1, 4, 1]), shape=[3, 4, 1]),
                    graph.expand(graph.reshape(counted(3), shape=[3, 1, 1]), shape=[3, 4, 1]),
                ],
                axis=2,
            ),
            batch_dims=0,
        ),
        ("4x3xf32",),
    ),
    (
        "a triangle",
        lambda x: graph.and_(x, graph.less_or_equal(counted(4), column(4))),
        ("4x4xi1",),
    ),
    (
        "a condition that differs",
        lambda x, y: graph.where(c([True, False, True], np.bool_), x, y),
        ("3xf32", "3xf32"),
    ),
]


@pytest.mark.parametrize(
    ("body", "types"), [row[1:] for row in LEFT_ALONE], ids=[r[0] for r in LEFT_ALONE]
)
def test_leaves_alone(context, body, types):
    module = build_module(body, *types)
    text = str(module)
    run_pipeline(module, "graph-simplify")
    assert str(module) == text


def test_inner_results_with_other_uses_stay(context):
    def body(x):
        inner = graph.mul(x, c(3))
        return graph.mul(inner, c(5)), inner

    module = build_module(body, "4xf32")
    run_pipeline(module, "graph-simplify")
    assert op_names(module) == ["mul", "mul"]


def test_excepted_rewrites_do_not_run(context):
    module = build_module(lambda x: graph.neg(graph.neg(graph.relu(graph.relu(x)))), "4xf32")
    run_pipeline(module, "graph-simplify{except=double-negation,relu-of-relu}")
    assert op_names(module) == ["relu", "relu", "neg", "neg"]


DTYPES = [np.bool_, np.int8, np.uint8, np.int32, np.uint32, np.int64, ml_dtypes.int4]
DTYPES += [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, ml_dtypes.float8_e4m3fn]


@pytest.mark.parametrize("wide", DTYPES)
@pytest.mark.parametrize("narrow", DTYPES)
def test_lossless_casts_are_lossless(narrow, wide):
    narrow, wide = np.dtype(narrow), np.dtype(wide)
    if not holds(wide, narrow):
        return
    values = edge_values(narrow)
    back = values.astype(wide).astype(narrow)
    assert np.array_equal(np.isnan(values.astype(np.float64)), np.isnan(back.astype(np.float64)))
    real = ~np.isnan(values.astype(np.float64))
    assert np.array_equal(values[real], back[real])


def edge_values(dtype: np.dtype) -> np.ndarray:
    if dtype == np.bool_:
        return np.array([False, True])
    if graph.types.is_integer(dtype):
        info = ml_dtypes.iinfo(dtype)
        return np.array([info.min, int(info.max) - 1, info.max, 1], dtype=object).astype(dtype)
    info = ml_dtypes.finfo(dtype)
    edges = [info.max, info.smallest_subnormal, info.smallest_normal, info.eps]
    values = np.array([float(e) for e in edges] + [0.1, np.inf, np.nan])
    return values.astype(dtype)


def test_lossless_casts_that_matter():
    lossless = [
        (np.float32, np.float16),
        (np.float32, ml_dtypes.bfloat16),
        (np.float32, np.int16),
        (np.float64, np.int32),
        (np.int64, np.uint32),
        (np.float16, np.bool_),
    ]
    lossy = [
        (np.float16, ml_dtypes.bfloat16),
        (ml_dtypes.bfloat16, np.float16),
        (np.float32, np.int32),
        (np.int32, np.uint32),
        (np.uint32, np.int32),
        (np.int32, np.float32),
        (np.bool_, np.int8),
    ]
    assert all(holds(np.dtype(wide), np.dtype(narrow)) for wide, narrow in lossless)
    assert not any(holds(np.dtype(wide), np.dtype(narrow)) for wide, narrow in lossy)
