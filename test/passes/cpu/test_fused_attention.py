"""The kernel for attention gives the numbers of attention."""

import numpy as np
import onnx.helper
import onnx.numpy_helper
import onnx.reference
import pytest
from numerics import Cases, build_model

import graphc
from graphc.dialects import graph
from graphc.errors import GraphcError
from harness.marks import long

PIPELINE = "canonicalize,graph-fused-attention{{vector-bits={}}},canonicalize"

SHAPES = [
    # batch, heads, queries, keys, features of a key, of a value
    (1, 3, 16, 6, 8, 16),
    (2, 2, 37, 37, 16, 32),
    (1, 1, 130, 70, 24, 80),
    (1, 9, 64, 65, 64, 64),
    (2, 1, 19, 200, 8, 48),
    # features that do not fill vectors, and fewer than fill one of 16
    (1, 2, 33, 21, 15, 15),
    (2, 2, 37, 37, 5, 57),
    (1, 2, 21, 40, 10, 11),
]


def _draw(random, batch, heads, queries, keys, head_size, width):
    q, k, v = (
        random.standard_normal((batch, heads, *sizes)).astype(np.float32)
        for sizes in ((queries, head_size), (keys, head_size), (keys, width))
    )
    return q, k, v


def _compare(cases, vector_bits, tolerance=1e-5):
    model = cases.model()
    expected = onnx.reference.ReferenceEvaluator(model).run(None, cases.feeds)
    compiled = graphc.compile(model, pipeline=PIPELINE.format(vector_bits))
    assert compiled.report.rewrites["fused-attention"].count == len(cases.nodes)
    for ours, theirs in zip(compiled.run(None, cases.feeds), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("vector_bits", [long(128), 512])
def test_sizes_and_masks(vector_bits):
    """All sizes with and without each kind of mask, and both with each width of vectors."""
    random = np.random.default_rng(vector_bits)
    cases = Cases(opset=23)
    for number, shape in enumerate(SHAPES):
        batch, heads, queries, keys, *_ = shape
        if number % 2 == (vector_bits == 128):
            mask = random.standard_normal((queries, keys)).astype(np.float32)
            cases.add("Attention", *_draw(random, *shape), is_causal=1, scale=0.3)
            cases.add("Attention", *_draw(random, *shape), mask, is_causal=1)
            continue
        cases.add("Attention", *_draw(random, *shape))
        leads = ((1, 1), (batch, 1), (1, heads), (batch, heads))
        for lead in leads if queries == 37 else leads[-1:]:
            mask = random.standard_normal((*lead, queries, keys)).astype(np.float32)
            mask[..., 0] = -np.inf
            cases.add("Attention", *_draw(random, *shape), mask)
    _compare(cases, vector_bits)


@pytest.mark.parametrize("vector_bits", [128, 512])
def test_heads_within_rows(vector_bits):
    """Heads within rows of one tensor are read in place, and the result is stored likewise."""
    heads, rows, features = 3, 37, 16
    constants = {
        "heads": np.array([2, rows, 3, heads, features]),
        "rows": np.array([2, rows, heads * features]),
        "bias": np.random.default_rng(1).standard_normal((rows, rows)).astype(np.float32),
    }
    nodes = [
        onnx.helper.make_node("Reshape", ["x", "heads"], ["r"]),
        onnx.helper.make_node("Transpose", ["r"], ["t"], perm=[2, 0, 3, 1, 4]),
        onnx.helper.make_node("Split", ["t"], ["sq", "sk", "sv"], axis=0, num_outputs=3),
        *(onnx.helper.make_node("Squeeze", [f"s{n}", "axes"], [n]) for n in "qkv"),
        onnx.helper.make_node("Attention", ["q", "k", "v", "bias"], ["a"]),
        onnx.helper.make_node("Transpose", ["a"], ["b"], perm=[0, 2, 1, 3]),
        onnx.helper.make_node("Reshape", ["b", "rows"], ["y"]),
    ]
    constants["axes"] = np.array([0])
    given = onnx.helper.make_tensor_value_info("x", 1, [2, rows, 3 * heads * features])
    wanted = onnx.helper.make_tensor_value_info("y", 1, [2, rows, heads * features])
    weights = [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = onnx.helper.make_graph(nodes, "heads", [given], [wanted], weights)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)])
    x = np.random.default_rng(0).standard_normal((2, rows, 3 * heads * features))
    x = x.astype(np.float32)
    (expected,) = onnx.reference.ReferenceEvaluator(model).run(None, {"x": x})

    pipeline = PIPELINE.format(vector_bits).replace(
        "canon", "graph-fold-constants,graph-simplify,canon", 1
    )
    compiled = graphc.compile(model, pipeline=pipeline)
    assert compiled.report.rewrites["attention-read-in-place"].count
    assert compiled.report.rewrites["attention-store-in-order"].count == 1
    np.testing.assert_allclose(compiled(x), expected, rtol=1e-5, atol=1e-5)
    interpreted = graphc.compile(model, target="interpret", pipeline=pipeline)
    np.testing.assert_allclose(interpreted(x), expected, rtol=1e-5, atol=1e-5)


NAMED_SHAPES = [
    # batch, queries, keys
    (1, 37, 37),
    (3, 5, 70),
    (2, 1, 1),
    (1, 130, 3),
    (2, 64, 16),
    (1, 37, 37),
]


def _named_model(form, width):
    """Attention of heads of 16 features and values of `width`, causal or with a mask of some
    form."""
    dims = {"q": ["b", 3, "s", 16], "k": ["b", 3, "t", 16], "v": ["b", 3, "t", width]}
    masks = {"keys": ["b", 1, 1, "t"], "queries": ["b", 3, "s", "t"]}
    if form in masks:
        dims["mask"] = masks[form]
    node = onnx.helper.make_node("Attention", list(dims), ["y"], is_causal=int(form == "causal"))
    inputs = [onnx.helper.make_tensor_value_info(name, 1, sizes) for name, sizes in dims.items()]
    outputs = [onnx.helper.make_tensor_value_info("y", 1, ["b", 3, "s", width])]
    graph = onnx.helper.make_graph([node], "named", inputs, outputs)
    opsets = [onnx.helper.make_opsetid("", 23)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10), dims


@pytest.mark.parametrize(
    ("vector_bits", "form", "width"),
    [(128, "keys", 32), (512, "causal", 20), (512, "queries", 32)],
)
def test_named_sizes(vector_bits, form, width):
    """One program is right for sizes that grow and shrink, down to one query and one key."""
    model, dims = _named_model(form, width)
    reference = onnx.reference.ReferenceEvaluator(model)
    compiled = graphc.compile(model, pipeline=PIPELINE.format(vector_bits))
    assert compiled.report.rewrites["fused-attention"].count == 1
    random = np.random.default_rng(0)
    for batch, queries, keys in NAMED_SHAPES:
        sizes = {"b": batch, "s": queries, "t": keys}
        feeds = {
            name: random.standard_normal([sizes.get(n, n) for n in shape]).astype(np.float32)
            for name, shape in dims.items()
        }
        (expected,) = reference.run(None, feeds)
        (found,) = compiled.run(None, feeds)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_heads_of_named_rows():
    """Heads within rows are read and stored in place, whatever the number of rows and batches."""
    heads, features = 3, 16
    constants = {
        "heads": np.array([0, 0, 3, heads, features]),
        "rows": np.array([0, 0, heads * features]),
        "axes": np.array([0]),
    }
    nodes = [
        onnx.helper.make_node("Reshape", ["x", "heads"], ["r"]),
        onnx.helper.make_node("Transpose", ["r"], ["t"], perm=[2, 0, 3, 1, 4]),
        onnx.helper.make_node("Split", ["t"], ["sq", "sk", "sv"], axis=0, num_outputs=3),
        *(onnx.helper.make_node("Squeeze", [f"s{n}", "axes"], [n]) for n in "qkv"),
        onnx.helper.make_node("Attention", ["q", "k", "v"], ["a"]),
        onnx.helper.make_node("Transpose", ["a"], ["b"], perm=[0, 2, 1, 3]),
        onnx.helper.make_node("Reshape", ["b", "rows"], ["y"]),
    ]
    given = onnx.helper.make_tensor_value_info("x", 1, ["n", "s", 3 * heads * features])
    wanted = onnx.helper.make_tensor_value_info("y", 1, ["n", "s", heads * features])
    weights = [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = onnx.helper.make_graph(nodes, "heads", [given], [wanted], weights)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)])
    pipeline = "graph-fold-constants,graph-simplify," + PIPELINE.format(512)
    compiled = graphc.compile(model, pipeline=pipeline)
    assert compiled.report.rewrites["attention-read-in-place"].count
    assert compiled.report.rewrites["attention-store-in-order"].count == 1
    reference = onnx.reference.ReferenceEvaluator(model)
    for n, s in ((2, 37), (1, 64), (3, 2), (2, 37)):
        x = np.random.default_rng(s).standard_normal((n, s, 3 * heads * features))
        (expected,) = reference.run(None, {"x": x.astype(np.float32)})
        (found,) = compiled.run(None, {"x": x.astype(np.float32)})
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_heads_that_merge_with_a_named_batch():
    """Queries, keys and values in one tensor, of which no view has merged batch and heads."""
    constants = {"heads": np.array([0, 0, 3, 2, 16]), "merged": np.array([-1, 1, 20, 16])}
    nodes = [
        onnx.helper.make_node("Reshape", ["x", "heads"], ["r"]),
        onnx.helper.make_node("Transpose", ["r"], ["t"], perm=[2, 0, 3, 1, 4]),
        onnx.helper.make_node("Split", ["t"], ["sq", "sk", "sv"], axis=0, num_outputs=3),
        *(onnx.helper.make_node("Reshape", [f"s{n}", "merged"], [n]) for n in "qkv"),
        onnx.helper.make_node("Attention", ["q", "k", "v"], ["y"]),
    ]
    model = build_model(nodes, {"x": (np.float32, ["n", 20, 96])}, ["y"], constants, opset=23)
    pipeline = "graph-fold-constants,graph-simplify," + PIPELINE.format(512)
    compiled = graphc.compile(model, target="interpret", pipeline=pipeline)
    assert compiled.report.rewrites["attention-read-in-place"].count
    x = np.random.default_rng(0).standard_normal((3, 20, 96), np.float32)
    (expected,) = onnx.reference.ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(compiled(x), expected, rtol=1e-5, atol=1e-5)


def test_what_is_special():
    """Large scores, infinite ones, NaN, and queries that see no key."""
    random = np.random.default_rng(0)
    q, k, v = _draw(random, 1, 2, 20, 12, 16, 16)
    cases = Cases(opset=23)
    cases.add("Attention", q * 100, k * 100, v)
    q[0, 0, 3], k[0, 1, 5] = np.inf, np.nan
    cases.add("Attention", q, k, v)
    model = cases.model()
    with np.errstate(invalid="ignore", over="ignore"):
        expected = onnx.reference.ReferenceEvaluator(model).run(None, cases.feeds)
    compiled = graphc.compile(model, pipeline=PIPELINE.format(512))
    ours = compiled.run(None, cases.feeds)
    np.testing.assert_allclose(ours[0], expected[0], rtol=2e-5, atol=2e-5)
    np.testing.assert_array_equal(np.isnan(ours[1]), np.isnan(expected[1]))

    hidden = Cases(opset=23)
    mask = np.zeros((20, 12), np.float32)
    mask[4] = -np.inf
    hidden.add("Attention", *_draw(random, 1, 2, 20, 12, 16, 16), mask)
    (result,) = graphc.compile(hidden.model(), pipeline=PIPELINE.format(512)).run(
        None, hidden.feeds
    )
    assert not result[:, :, 4].any()
    assert np.isfinite(result).all()
    assert result[:, :, 5].any()


@pytest.mark.parametrize(
    ("dims", "dtype", "shared", "is_fused"),
    [
        (["m0", "m1", "m2", "m3"], np.float32, 4, True),
        long(["m1", "m2", "t"], np.float32, 4, True),
        long(["m0", "m1", "m2", "t"], np.float32, 2, False),
        (["m1", "m2", "t"], np.bool_, 2, False),
    ],
)
def test_masks_that_repeat_as_run_time_decides(dims, dtype, shared, is_fused):
    """The kernel reads them with strides that may be 0, of heads and batches; else, they are
    expanded."""
    names = {"q": ["b", 4, "s", 16], "k": ["b", shared, "t", 16], "v": ["b", shared, "t", 16]}
    kinds = {"q": np.float32, "k": np.float32, "v": np.float32, "mask": dtype}
    inputs = {name: (kinds[name], shape) for name, shape in {**names, "mask": dims}.items()}
    nodes = [onnx.helper.make_node("Attention", list(inputs), ["y"])]
    compiled = graphc.compile(build_model(nodes, inputs, ["y"], opset=23))
    rewrites = compiled.report.rewrites
    assert ("fused-attention" in rewrites and rewrites["fused-attention"].count == 1) == is_fused
    random = np.random.default_rng(5)
    q, k, v = _draw(random, 2, 4, 21, 37, 16, 16)
    k, v = k[:, :shared], v[:, :shared]
    sizes = dict(zip(("m0", "m1", "m2", "m3", "t"), (2, 4, 21, 37, 37), strict=True))
    for ones in ((), ("m1",), ("m0", "m2"), ("m0", "m1", "m2")):
        shape = [1 if name in ones else sizes[name] for name in dims]
        mask = random.standard_normal(shape).astype(np.float32)
        mask = mask > 0 if dtype == np.bool_ else mask
        feeds = {"q": q, "k": k, "v": v, "mask": mask}
        repeated = [np.repeat(x, 4 // shared, axis=1) for x in (k, v)]
        expected = graph.AttentionOp.evaluate(q, *repeated, mask, scale=0.25, causal=False)
        np.testing.assert_allclose(compiled.run(None, feeds)[0], expected, rtol=1e-5, atol=1e-5)
    with pytest.raises(GraphcError, match="broadcast"):
        compiled.run(None, {**feeds, "mask": mask[..., :1, :].repeat(20, axis=-2)})
