"""Outputs that are not copied: their memory is reused when nobody holds them."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numerics import Const, build_model, run_onnxruntime
from onnx import helper

import graphc
from graphc.passes.linalg import dps_entry, externalize_transients
from graphc.runtime import load
from graphc.runtime.device.memory import address
from graphc.runtime.execution import preallocated_outputs

BATCH = 600
"""Outputs of 9,600 bytes, more than are said to be copied."""


@pytest.fixture(autouse=True)
def small_pool(monkeypatch):
    monkeypatch.setattr(preallocated_outputs, "_MOST_BYTES", 1 << 10)
    for module in (dps_entry, externalize_transients):
        monkeypatch.setattr(module, "POOL_BYTES", 1 << 10)


@pytest.fixture
def model(compiled):
    """A model of sums; written to given memory, the results are products: 6 and 9, or 9 and 27."""
    with load(compiled("destined"), threads=2) as model:
        model._session._choice.decided_on_workers = True
        yield model


def _run(model, batch=BATCH, value=3, names=None):
    return model.run(names, {"x": np.full((batch, 4), value, np.float32)})


def test_the_third_call_of_a_size_reuses_memory(model):
    assert [_run(model)[0][0, 0] for _ in range(3)] == [6, 6, 9]
    first, second = (set(map(address, _run(model))) for _ in range(2))
    assert first == second
    y, z = held = _run(model)
    other = _run(model)
    assert not {*map(address, other)} & {*map(address, held)}
    assert (y == 9).all()
    assert (z == 27).all()


def test_a_result_that_is_held_is_never_overwritten(model):
    views = [_run(model, value=number)[0][5:7, 1] for number in range(12)]
    for number, view in enumerate(views[2:], start=2):
        assert (view == number**2).all()


def test_a_result_may_be_the_next_input(model):
    x = graphc.aligned_empty((4000, 4), np.float32)
    x[...] = 1.25
    for _ in range(2):
        model(x)
    powers = [x]
    for _ in range(3):
        powers.append(model(powers[-1])[0])
    for power, expected in zip(powers, (1.25, 1.25**2, 1.25**4, 1.25**8), strict=True):
        assert (power == np.float32(expected)).all()


def test_calls_side_by_side_share_nothing(model):
    def call(number):
        y, z = _run(model, value=number)
        return (y[0, 0], z[0, 0]) in ((number**2, number**3), (2 * number, 3 * number)) and (
            (y == y[0, 0]).all() and (z == z[0, 0]).all()
        )

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(3, 200)))


def test_other_sizes_and_some_outputs(model):
    for batch in (BATCH, BATCH, BATCH, BATCH + 1, BATCH, BATCH, BATCH):
        y, z = _run(model, batch)
        assert y.shape == z.shape == (batch, 4)
    assert (_run(model, names=["z"])[0] == 27).all()


def test_results_outlive_the_model(compiled):
    with load(compiled("destined"), threads=2) as model:
        model._session._choice.decided_on_workers = True
        y, _ = [_run(model) for _ in range(3)][-1]
    del model
    assert (y == 9).all()


@pytest.mark.parametrize("rows", [300, "rows"])
def test_results_of_kernels(rows):
    """Matmuls, one reshaped, and a convolution, with intermediate results."""
    random = np.random.default_rng(0)
    known = {
        "w": Const(random.standard_normal((16, 96), np.float32)),
        "f": Const(random.standard_normal((8, 16, 3, 3), np.float32)),
        "s": Const(np.array([0, 4, 24])),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("MatMul", ["x", "w"], ["b"]),
        helper.make_node("Reshape", ["b", "s"], ["c"]),
        helper.make_node("Relu", ["a"], ["d"]),
        helper.make_node("Conv", ["v", "f"], ["e"]),
    ]
    inputs = {"x": (np.float32, (rows, 16)), "v": (np.float32, (1, 16, rows, 10))}
    model = build_model(nodes, inputs, ["c", "d", "e"], known, opset=17)
    with graphc.compile(model, threads=2, cache=False) as compiled:
        assert compiled._measured[0].into_transients.buffers
        for size in (300,) * 4 if rows == 300 else (300, 300, 300, 140, 140, 140, 300):
            feeds = {
                "x": random.standard_normal((size, 16), np.float32),
                "v": random.standard_normal((1, 16, size, 10), np.float32),
            }
            found, expected = compiled.run(None, feeds), run_onnxruntime(model, feeds)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("length", "declines"), [(1024, True), (8, False)])
def test_a_large_result_that_is_updated_in_place_stays_where_it_is(length, declines):
    """The backend would copy it to memory of the caller."""
    inputs = {"x": (np.float32, (1, 1, length, 64)), "u": (np.float32, (1, 1, 1, 64))}
    node = helper.make_node("TensorScatter", ["x", "u"], ["y"])
    with graphc.compile(build_model([node], inputs, ["y"], opset=24)) as compiled:
        found = compiled.report.rewrites["dps-entry"]
        assert bool(found.declined) == declines
