"""Memory for intermediate results, which lives from call to call."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from numerics import Const, build_model, run_onnxruntime
from onnx import helper

import graphc
from graphc.errors import ModuleFileError, OutOfMemoryError
from graphc.passes.linalg import externalize_transients
from graphc.runtime import compile_module, resolve_target
from graphc.runtime.device.device import open_device
from graphc.runtime.execution.execution_context import CallSpec
from graphc.runtime.execution.session import Session
from graphc.runtime.files.module_file import TransientsSize

ROWS, COLUMNS = 300, 128


def _model(rows=ROWS):
    """softmax(x w0) w1, and its greatest elements."""
    random = np.random.default_rng(0)
    weights = {
        "w0": random.standard_normal((COLUMNS, 200), np.float32),
        "w1": random.standard_normal((200, COLUMNS), np.float32),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"]),
        helper.make_node("Softmax", ["a"], ["b"], axis=-1),
        helper.make_node("MatMul", ["b", "w1"], ["y"]),
        helper.make_node("ReduceMax", ["y"], ["z"], axes=[0], keepdims=0),
    ]
    inputs = {"x": (np.float32, (rows, COLUMNS))}
    return build_model(nodes, inputs, ["y", "z"], weights, opset=17), weights


def _expected(x, weights):
    a = np.exp(x.astype(np.float64) @ weights["w0"])
    y = a / a.sum(-1, keepdims=True) @ weights["w1"]
    return y, y.max(0)


@pytest.fixture
def without_pool(monkeypatch):
    """Whatever a call takes comes from the caller."""
    monkeypatch.setattr(externalize_transients, "POOL_BYTES", 0)


def _transients(model):
    return model._measured[0].transients.constant


def test_small_ones_are_the_runtimes():
    with graphc.compile(_model()[0]) as model:
        assert _transients(model) == 0


def _images():
    """Two convolutions of images of named sizes."""
    random = np.random.default_rng(0)
    shapes = {"w0": (16, 3, 3, 3), "w1": (8, 16, 5, 5)}
    weights = {
        name: Const(random.standard_normal(shape, np.float32) / 8) for name, shape in shapes.items()
    }
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"]),
        helper.make_node("Conv", ["a", "w1"], ["y"]),
    ]
    return build_model(nodes, {"x": (np.float32, ("n", 3, "h", "w"))}, ["y"], weights, opset=17)


def _check(model, made, shape):
    x = np.random.default_rng(shape[2]).standard_normal(shape, np.float32)
    (expected,) = run_onnxruntime(made, {"x": x})
    np.testing.assert_allclose(model(x), expected, rtol=2e-5, atol=2e-5)


@pytest.mark.usefixtures("without_pool")
@pytest.mark.parametrize("threads", [1, 2])
def test_named_sizes(threads):
    """The program tells how much a call needs, in calls that grow, shrink and repeat."""
    made = _images()
    with graphc.compile(made, threads=threads) as model:
        assert _transients(model) == 0
        assert model._measured[0].transients.query is not None
        for n, h, w in ((1, 20, 30), (1, 20, 30), (2, 9, 8), (1, 90, 100), (1, 7, 7), (1, 90, 100)):
            _check(model, made, (n, 3, h, w))


@pytest.mark.usefixtures("without_pool")
def test_named_sizes_side_by_side():
    made = _images()
    with graphc.compile(made, threads=2) as model, ThreadPoolExecutor(6) as pool:
        shapes = [(1 + n % 2, 3, 7 + 5 * n, 40 - n) for n in range(24)]
        list(pool.map(lambda shape: _check(model, made, shape), shapes))


@pytest.mark.usefixtures("without_pool")
def test_the_profiler_passes_them():
    profile = graphc.profile(_images(), {"x": np.ones((1, 3, 20, 30), np.float32)}, runs=2)
    assert profile.rows


@pytest.mark.usefixtures("without_pool")
def test_sizes_that_follow_values_are_the_runtimes():
    """Nothing tells them before the call."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("NonZero", ["r"], ["n"]),
        helper.make_node("Cast", ["n"], ["f"], to=1),
        helper.make_node("ReduceSum", ["f"], ["y"], keepdims=0),
    ]
    made = build_model(nodes, {"x": (np.float32, ("rows", 4))}, ["y"], {}, opset=17)
    x = np.arange(-8, 16, dtype=np.float32).reshape(6, 4)
    with graphc.compile(made) as model:
        assert model._measured[0].transients.query is None
        assert model(x) == np.sum(np.nonzero(np.maximum(x, 0)))


@pytest.mark.usefixtures("without_pool")
def test_long_formulas_of_sizes():
    """Such a size has a name, but the shapes of the inputs tell it all the same."""
    names = ["x", "a", "b", "c", "d", "y"]
    nodes = [
        helper.make_node("MaxPool", [x], [y], kernel_shape=[2, 1], strides=[2, 1])
        for x, y in itertools.pairwise(names)
    ]
    made = build_model(nodes, {"x": (np.float32, (1, 3, "h", 4))}, ["y"], {}, opset=17)
    with graphc.compile(made) as model:
        assert "size" in str(graphc.import_onnx(made))
        assert model._measured[0].transients.query is not None
        for h in (64, 95, 32):
            _check(model, made, (1, 3, h, 4))


@pytest.mark.usefixtures("without_pool")
@pytest.mark.parametrize("threads", [1, 2])
def test_calls_side_by_side(threads):
    made, weights = _model()
    random = np.random.default_rng(1)
    feeds = [random.standard_normal((ROWS, COLUMNS), np.float32) / 8 for _ in range(24)]
    with graphc.compile(made, threads=threads) as model:
        assert _transients(model) > 0
        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(model, feeds))
    for x, outputs in zip(feeds, found, strict=True):
        for output, truth in zip(outputs, _expected(x, weights), strict=True):
            assert np.abs(output - truth).max() <= 1e-5 * np.abs(truth).max()


def test_they_count_as_memory_of_a_run(monkeypatch):
    x = np.ones((ROWS, COLUMNS), np.float32)
    with graphc.compile(_model()[0], threads=1, cache=False) as model:
        usual = model.peak_memory({"x": x})
    monkeypatch.setattr(externalize_transients, "POOL_BYTES", 0)
    with graphc.compile(_model()[0], threads=1, cache=False) as model:
        assert model.peak_memory({"x": x}) == pytest.approx(usual, rel=0.02)


@pytest.mark.usefixtures("without_pool")
def test_more_than_there_is():
    with graphc.compile(_model()[0], threads=1) as model:
        file = replace(model._measured[0], transients=TransientsSize(1 << 60))
    session = Session(file, open_device("local-sync", 1))
    for _ in range(2):
        with pytest.raises(OutOfMemoryError, match="there is no memory for it"):
            session.invoke([np.ones((ROWS, COLUMNS), np.float32)], CallSpec([0, 1]))
    session.close()


@pytest.mark.parametrize("size", ["some", "-8", "1" * 30, "4096"])
def test_a_size_at_odds_with_the_code(source, size):
    """Text that is no size of memory, and a function that takes none."""
    said = f'{{iree.reflection = {{iree.abi.transients.size.constant = "{size}", '.encode()
    changed = source("add").replace(b"{iree.reflection = {", said)
    assert changed != source("add")
    with pytest.raises(ModuleFileError, match=r"bytes for intermediate results|take 1 buffers"):
        graphc.load(compile_module(changed, target=resolve_target("cpu"), threads=1))
