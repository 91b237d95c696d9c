"""Products of bytes as floats are exact, at the ends of their range too."""

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import graphc
from graphc.passes.cpu.exact_sums import EXACT
from graphc.passes.cpu.int8_matmul_to_f32 import exact_terms


@pytest.mark.parametrize("a", [np.int8, np.uint8])
@pytest.mark.parametrize("b", [np.int8, np.uint8])
def test_partial_sums_are_held(a, b):
    largest = max(
        abs(int(x) * int(y))
        for x in (np.iinfo(a).min, np.iinfo(a).max)
        for y in (np.iinfo(b).min, np.iinfo(b).max)
    )
    terms = exact_terms(np.dtype(a), np.dtype(b))
    assert terms * largest <= EXACT
    near = np.array([EXACT - 1, EXACT, -EXACT], np.int32)
    np.testing.assert_array_equal(near.astype(np.float32).astype(np.int32), near)


def _extremes(random, dtype, shape):
    """Mostly the ends of the range, of one sign: the largest sums there are."""
    limits = np.iinfo(dtype)
    x = np.full(shape, limits.min or limits.max, dtype)
    odd = random.random(shape) < 0.1
    x[odd] = random.integers(limits.min, limits.max, int(odd.sum()), dtype)
    return x


def test_compiled():
    random = np.random.default_rng(0)
    nodes, inputs, weights, feeds = [], [], [], {}
    matmuls = [(np.uint8, np.int8, 600), (np.int8, np.int8, 1030), (np.uint8, np.uint8, 270)]
    for i, (a, b, k) in enumerate(matmuls):
        feeds[f"a{i}"] = _extremes(random, a, (5, k))
        weights.append(numpy_helper.from_array(_extremes(random, b, (k, 32)), f"b{i}"))
        nodes.append(helper.make_node("MatMulInteger", [f"a{i}", f"b{i}"], [f"y{i}"]))
    convs = [((1, 40, 6, 6), (8, 40, 4, 4), 1), ((2, 6, 7, 5), (4, 3, 3, 2), 2)]
    for i, (image, kernel, groups) in enumerate(convs, start=len(matmuls)):
        feeds[f"a{i}"] = _extremes(random, np.uint8, image)
        weights.append(numpy_helper.from_array(_extremes(random, np.uint8, kernel), f"b{i}"))
        nodes.append(helper.make_node("ConvInteger", [f"a{i}", f"b{i}"], [f"y{i}"], group=groups))
    for name, array in feeds.items():
        element = helper.np_dtype_to_tensor_dtype(array.dtype)
        inputs.append(helper.make_tensor_value_info(name, element, array.shape))
    outputs = [helper.make_empty_tensor_value_info(node.output[0]) for node in nodes]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    opsets = [helper.make_opsetid("", 21)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    compiled = graphc.compile(model, pipeline="int8-matmul-to-f32")
    assert compiled.report.rewrites["float-matmul"].count == len(matmuls)
    expected = _expected(feeds, {w.name: numpy_helper.to_array(w) for w in weights}, model)
    for ours, theirs in zip(compiled.run(None, feeds), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def _expected(feeds, weights, model):
    """Expected results: matmuls on 64-bit integers, convolutions by the reference evaluator."""
    found = ReferenceEvaluator(model).run(None, feeds)
    for i in range(3):
        found[i] = feeds[f"a{i}"].astype(np.int64) @ weights[f"b{i}"].astype(np.int64)
    return found
