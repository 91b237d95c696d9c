"""Scatters of whole rows against the same in numpy, in parts for several threads."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numerics import build_model
from onnx import numpy_helper
from onnx.helper import make_node

import graphc
from harness.marks import long

_random = np.random.default_rng(0)
_COMBINE = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
_ROWS, _COUNT = 37, 300


def _numbers(dtype: Any, *shape: int) -> np.ndarray:
    return _random.integers(0, 7, shape).astype(dtype)


def _scattered(x: np.ndarray, rows: np.ndarray, updates: np.ndarray, reduction: str) -> np.ndarray:
    y = x.copy()
    for *row, update in zip(*rows.T, updates, strict=True):
        old = y[tuple(row)]
        y[tuple(row)] = update if reduction == "none" else _COMBINE[reduction](old, update)
    return y


def _run(model: Any, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The results by two threads of this machine."""
    return graphc.compile(model, threads=2, cache=False).run(None, feeds)


def _check(cases: list[tuple[np.ndarray, np.ndarray, np.ndarray, str]], named: bool) -> None:
    """Compare all `cases` of data, positions, updates and a reduction, in one model."""
    nodes, inputs, feeds = [], {}, {}
    for number, (x, rows, updates, reduction) in enumerate(cases):
        names = [f"{name}{number}" for name in ("x", "rows", "updates")]
        nodes.append(make_node("ScatterND", names, [f"y{number}"], reduction=reduction))
        for name, array in zip(names, (x, rows, updates), strict=True):
            sizes = [f"{name}_{axis}" for axis in range(array.ndim)]
            if name.startswith("rows"):
                sizes[-1] = array.shape[-1]
            inputs[name] = array.dtype, sizes if named else list(array.shape)
            feeds[name] = array
    outputs = [f"y{number}" for number in range(len(cases))]
    found = _run(build_model(nodes, inputs, outputs, opset=18), feeds)
    for case, y in zip(cases, found, strict=True):
        np.testing.assert_array_equal(y, _scattered(*case))


@pytest.mark.parametrize("named", [True, long(False)])
def test_repeated_rows_in_order(named):
    """Rows of one vector and less, of several, and of several workgroups."""
    rows = _random.integers(-_ROWS, _ROWS, (_COUNT, 1))
    cases = []
    for columns in (1, 5, 67, 1100):
        for reduction in ("none", *_COMBINE):
            x, updates = (_numbers(np.float32, n, columns) for n in (_ROWS, _COUNT))
            some = rows[:9] if reduction == "mul" else rows  # which f32 holds exactly
            cases.append((x, some, updates[: len(some)], reduction))
    _check(cases, named)


@pytest.mark.parametrize("named", [True, False])
def test_types(named):
    rows = _random.integers(-_ROWS, _ROWS, (50, 1))
    cases = []
    for dtype in (np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.float64):
        x, updates = _numbers(dtype, _ROWS, 77), _numbers(dtype, 50, 77)
        cases.extend((x, rows, updates, reduction) for reduction in ("none", *_COMBINE))
    for dtype in (np.float16, ml_dtypes.bfloat16, np.bool_):
        x, updates = _numbers(dtype, _ROWS, 77), _numbers(dtype, 50, 77)
        cases.append((x, rows, updates, "none"))
    _check(cases, named)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32])
def test_positions_without_sign(dtype):
    """Large ones are not negative: they are at the border, like others outside."""
    rows = _random.integers(0, _ROWS, (50, 1)).astype(dtype)
    x, updates = _numbers(np.float32, _ROWS, 77), _numbers(np.float32, 50, 77)
    _check([(x, rows, updates, reduction) for reduction in ("none", "add")], named=True)
    outside = np.array([[np.iinfo(dtype).max - 2 * _ROWS]], dtype)
    inputs = {
        "x": (np.float32, list(x.shape)),
        "rows": (dtype, [1, 1]),
        "updates": (np.float32, [1, 77]),
    }
    nodes = [make_node("ScatterND", ["x", "rows", "updates"], ["y"])]
    feeds = {"x": x, "rows": outside, "updates": updates[:1]}
    (y,) = _run(build_model(nodes, inputs, ["y"]), feeds)
    np.testing.assert_array_equal(y, np.concatenate([x[:-1], updates[:1]]))


def test_positions_along_several_axes():
    x, updates = _numbers(np.float32, 3, 5, 2, 600), _numbers(np.float32, 80, 600)
    axes = [_random.integers(-size, size, 80) for size in x.shape[:3]]
    cases = [(x, np.stack(axes, axis=1), updates, reduction) for reduction in ("none", "add")]
    _check(cases, named=True)
    outside = np.array([[9, -9, 7], [-99, 2, 0]])  # are at the border
    clamped = np.array([[2, 0, 1], [0, 2, 0]])
    nodes = [make_node("ScatterND", ["x", "rows", "updates"], ["y"])]
    inputs = {
        "x": (np.float32, list(x.shape)),
        "rows": (np.int64, [2, 3]),
        "updates": (np.float32, [2, 600]),
    }
    feeds = {"x": x, "rows": outside, "updates": updates[:2]}
    (y,) = _run(build_model(nodes, inputs, ["y"], opset=18), feeds)
    np.testing.assert_array_equal(y, _scattered(x, clamped, updates[:2], "none"))


def test_numbers_that_are_none():
    x, updates = _numbers(np.float32, _ROWS, 40), _numbers(np.float32, _COUNT, 40)
    x[3], updates[5] = np.nan, np.nan
    rows = _random.integers(-_ROWS, _ROWS, (_COUNT, 1))
    _check([(x, rows, updates, reduction) for reduction in ("none", "add", "max", "min")], True)


@pytest.mark.parametrize("sizes", [(4, 0, 3), (0, 0, 3), (4, 2, 0)])
def test_nothing_to_scatter(sizes):
    rows, count, columns = sizes
    x, updates = _numbers(np.float32, rows, columns), _numbers(np.float32, count, columns)
    _check([(x, np.zeros((count, 1), np.int64), updates, "add")], named=True)


@pytest.mark.parametrize("named", [True, False])
def test_in_the_memory_of_the_data(named):
    """Sums of sums on zeros that the model makes, one of which is read by others as well."""
    names = ("rows", "updates")
    nodes = [
        make_node("Shape", ["like"], ["shape"]),
        make_node("ConstantOfShape", ["shape"], ["zeros"]),
        make_node("ScatterND", ["zeros", *names], ["first"], reduction="add"),
        make_node("ScatterND", ["first", *names], ["second"], reduction="max"),
        make_node("ScatterND", ["second", *names], ["third"], reduction="add"),
        make_node("Sub", ["third", "second"], ["difference"]),
    ]
    sizes = (["n", "c"], ["k", 1], ["k", "c"]) if named else ([_ROWS, 600], [99, 1], [99, 600])
    types = (np.float32, np.int64, np.float32)
    inputs = dict(zip(("like", *names), zip(types, sizes, strict=True), strict=True))
    rows, updates = _random.integers(-_ROWS, _ROWS, (99, 1)), _numbers(np.float32, 99, 600)
    like = np.zeros((_ROWS, 600), np.float32)
    feeds = {"like": like, "rows": rows, "updates": updates}
    model = build_model(nodes, inputs, ["third", "difference"], opset=18)
    third, difference = _run(model, feeds)
    first = _scattered(like, rows, updates, "add")
    second = _scattered(first, rows, updates, "max")
    wanted = _scattered(second, rows, updates, "add")
    np.testing.assert_array_equal(third, wanted)
    np.testing.assert_array_equal(difference, wanted - second)


@pytest.mark.parametrize("named", [True, False])
def test_data_of_one_number(named):
    """The kernel fills the result; single elements have positions of either sign."""
    rows = _random.integers(-_ROWS, _ROWS, (50, 1))
    nodes, inputs, feeds, wanted = [], {"rows": (np.int64, [50, 1])}, {"rows": rows}, []
    kinds = [(np.float32, "add"), (np.int64, "max"), (np.float16, "none"), (np.bool_, "none")]
    cases = [(*kind, shape) for kind in kinds for shape in ((_ROWS,), (_ROWS, 77))]
    for number, (dtype, reduction, shape) in enumerate(cases):
        like, updates = np.ones(shape, dtype), _numbers(dtype, 50, *shape[1:])
        for name, array in ((f"like{number}", like), (f"updates{number}", updates)):
            sizes = [f"{name}_{axis}" for axis in range(array.ndim)]
            inputs[name] = dtype, sizes if named else list(array.shape)
            feeds[name] = array
        value = numpy_helper.from_array(np.ones(1, dtype))
        names = [f"data{number}", "rows", f"updates{number}"]
        nodes += [
            make_node("Shape", [f"like{number}"], [f"shape{number}"]),
            make_node("ConstantOfShape", [f"shape{number}"], [f"data{number}"], value=value),
            make_node("ScatterND", names, [f"y{number}"], reduction=reduction),
        ]
        wanted.append(_scattered(like, rows, updates, reduction))
    outputs = [f"y{number}" for number in range(len(cases))]
    found = _run(build_model(nodes, inputs, outputs, opset=18), feeds)
    for y, expected in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(y, expected)
