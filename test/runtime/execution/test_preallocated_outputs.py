"""Outputs that go to memory which lives from call to call, and are copied from there."""

from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

import graphc
from graphc.errors import ModuleFileError
from graphc.runtime import compile_module, load, resolve_target

SUMS, PRODUCTS = (6, 9), (9, 27)
"""Results of `destined` for threes: computed one way, or the other, into given memory."""


@pytest.fixture
def destined(compiled):
    """The model, and ``ways(batch, ..)``: what it makes of threes, one call after the other."""
    with load(compiled("destined"), threads=1) as model:

        def ways(*batches):
            return [run(model, batch) for batch in batches]

        yield model, ways


def run(model, batch=2, names=None, **options):
    results = model.run(names, {"x": np.full((batch, 4), 3, np.float32)}, **options)
    assert all(result.shape == (batch, 4) for result in results)
    return tuple(int(result.numpy()[0, 0] if options else result[0, 0]) for result in results)


def test_the_third_call_of_a_size_says_where_outputs_go(destined):
    _, ways = destined
    assert ways(2, 2, 2, 2) == [SUMS, SUMS, PRODUCTS, PRODUCTS]
    assert ways(5, 5, 5, 2, 2, 2) == [SUMS, SUMS, PRODUCTS] * 2
    assert ways(1, 2, 1, 2) == [SUMS] * 4


def test_what_stays_on_the_device_has_memory_of_its_own(destined):
    model, ways = destined
    ways(2, 2)
    assert run(model, on_device=True) == SUMS
    assert ways(2) == [PRODUCTS]


def test_some_outputs(destined):
    model, ways = destined
    assert [run(model, names=["z"]) for _ in range(3)] == [SUMS[1:]] * 3
    assert ways(2) == [SUMS]
    assert run(model, names=["z"]) == PRODUCTS[1:]
    assert run(model, names=["z", "y", "z"]) == (27, 9, 27)


def test_empty_outputs_are_handed_out(destined):
    model, _ = destined
    for _ in range(4):
        assert model(np.ones((0, 4), np.float32))[0].shape == (0, 4)


@pytest.mark.parametrize("size", [b"", b"count_0", b"batch + count_0", b"min(batch, ends_0)"])
def test_sizes_that_values_decide_are_not_known(source, size):
    unknown = source("destined").replace(
        rb"\"name\":\"z\",\"shape\":[\"batch\"",
        rb"\"name\":\"z\",\"shape\":[\"%s\"" % size,
    )
    assert unknown != source("destined")
    with load(compile_text(unknown), threads=1) as model:
        assert [run(model) for _ in range(4)] == [SUMS] * 4


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            (b"%d1: !hal.buffer {iree.abi.output = 1 : index}", b"%d1: tensor<?x4xf32>"),
            "does not take 2 buffers",
        ),
        (
            (
                b"@main_into(%x: tensor<?x4xf32>, ",
                b"@main_into(%x: tensor<?x4xf32>, %w: tensor<?x4xf32>, ",
            ),
            "names 1 inputs, the code has 2",
        ),
    ],
)
def test_a_second_function_at_odds_with_the_metadata(source, change, reason):
    changed = source("destined").replace(*change)
    assert changed != source("destined")
    with pytest.raises(ModuleFileError, match=reason):
        load(compile_text(changed), threads=1)


def test_results_are_the_callers_own():
    x = np.arange(8, dtype=np.float32)
    with graphc.compile(copies(), threads=1, cache=False) as model:
        calls = [model(x + i) for i in range(5)]
        for i, results in enumerate(calls):
            for result in results:
                np.testing.assert_array_equal(result, x + i)
        arrays = [array for results in calls for array in (*results, x)]
        assert not any(np.shares_memory(a, b) for a in calls[-1] for b in arrays if a is not b)


def copies():
    """Its input, twice, and a constant of ones times it, as outputs."""
    nodes = [
        helper.make_node("Identity", ["x"], ["same"]),
        helper.make_node("Mul", ["x", "ones"], ["product"]),
        helper.make_node("Identity", ["product"], ["again"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [8])
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [8])
        for name in ("same", "product", "again")
    ]
    ones = helper.make_tensor("ones", TensorProto.FLOAT, [8], [1.0] * 8)
    graph = helper.make_graph(nodes, "copies", [x], outputs, [ones])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


DTYPES = ("bool", "int8", "uint16", "int64", "float16", "float32", "float64", "bfloat16")


def test_element_types_and_ranks():
    random = np.random.default_rng(0)
    shapes = [(), (1,), (3, 5), (2, 1, 7)]
    dtypes = [np.dtype(getattr(ml_dtypes, name, None) or name) for name in DTYPES]
    feeds = {
        f"x{i}_{dtype.name}": (random.random(shape) * 100).astype(dtype)
        for i, shape in enumerate(shapes)
        for dtype in dtypes
    }
    nodes, inputs, outputs = [], [], []
    for name, array in feeds.items():
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        nodes.append(helper.make_node("Transpose", [name], [f"y_{name}"]))
        inputs.append(helper.make_tensor_value_info(name, kind, array.shape))
        outputs.append(helper.make_tensor_value_info(f"y_{name}", kind, array.shape[::-1]))
    graph = helper.make_graph(nodes, "transposes", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    with graphc.compile(model, threads=1, cache=False) as compiled:
        for _ in range(4):
            results = compiled.run(None, feeds)
            for given, result in zip(feeds.values(), results, strict=True):
                assert result.dtype == given.dtype
                np.testing.assert_array_equal(result, given.T)


def test_threads_have_destinations_of_their_own(destined):
    model, _ = destined

    def call(number):
        x = np.full((2, 4), number, np.float32)
        ways = {(2 * number, 3 * number), (number**2, number**3)}
        return all(tuple(int(y[1, 3]) for y in model(x)) in ways for _ in range(200))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(1, 33)))


def compile_text(text):
    return compile_module(text, target=resolve_target("cpu"), threads=1, opt_level=0)
