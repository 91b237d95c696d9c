"""Quantised models: the same in ONNX Runtime and graphc, accurate, and portable."""

import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from quantization_models import DIGITS, batches, heldout, three_layers, uniform_feeds
from tool_models import dense, model

import graphc
from graphc.debugging.onnx.evaluators import by_runtime
from graphc.errors import QuantizationError, UsageError
from graphc.quantization.settings import QuantizationSettings
from graphc.runtime.targets.cpu_features import host_features


@pytest.fixture(scope="module")
def digits():
    return graphc.quantize(DIGITS, batches(8))


def right(logits):
    _, labels = heldout()
    return float(np.mean(np.asarray(logits).argmax(1) == labels))


def test_real_accuracy_is_kept_in_both_runtimes(digits):
    images, _ = heldout()
    options = onnxruntime.SessionOptions()  # in f32: its sums of 16 bits saturate without VNNI
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(digits.model.SerializeToString(), options)
    (theirs,) = session.run(None, {"image": images})
    original = onnxruntime.InferenceSession(DIGITS).run(None, {"image": images})[0]
    ours = graphc.compile(digits.model)(images)
    assert right(ours) > right(original) - 0.005
    scales = [t for t in digits.model.graph.initializer if t.name.endswith("_scale")]
    step = max(float(numpy_helper.to_array(each).max()) for each in scales)
    assert np.abs(ours - theirs).max() <= step


def test_the_model_is_portable(digits):
    onnx.checker.check_model(digits.model, full_check=True)
    assert {each.domain for each in digits.model.opset_import} == {""}
    assert {"QuantizeLinear", "DequantizeLinear"} <= {n.op_type for n in digits.model.graph.node}
    assert [i.name for i in digits.model.graph.input] == ["image"]
    assert digits.bytes_after < 0.4 * digits.bytes_before


def test_layers_have_the_names_of_the_model_and_the_error_is_that_of_the_outputs(digits):
    names = {node.name for node in onnx.load(DIGITS).graph.node}
    assert {layer.node for layer in digits.layers} <= names
    assert "/classifier/classifier.2/Gemm" in digits.quantized
    ratios = [layer.sqnr for layer in digits.worst_first()]
    assert ratios == sorted(ratios)
    assert 25 < ratios[0] < 60
    original = onnx.load(DIGITS)
    pairs = [
        [by_runtime(each, {"image": images}, ["logits"])["logits"] for images in batches(8)]
        for each in (digits.model, original)
    ]
    have, want = map(np.concatenate, pairs)
    expected = np.sqrt(np.square(have - want).sum() / np.square(want).sum())
    assert digits.error == pytest.approx(expected, rel=1e-3)


def test_the_node_with_outlying_weights_is_the_most_sensitive():
    result = graphc.quantize(
        three_layers(outlier=40), uniform_feeds(), per_channel=False, sensitivity=True
    )
    alone = {layer.node: layer.alone for layer in result.layers if layer.alone is not None}
    assert set(alone) == {"first", "second", "third"}
    assert max(alone, key=alone.__getitem__) == "second"
    assert alone["second"] > 3 * max(alone["first"], alone["third"])


def test_max_drop_keeps_the_fewest_nodes():
    source, feeds = three_layers(outlier=40), uniform_feeds()
    whole = graphc.quantize(source, feeds, per_channel=False)
    assert whole.loss > 0.03
    found = graphc.quantize(source, feeds, per_channel=False, max_drop=0.03)
    assert found.kept == ("second",)
    assert found.loss <= 0.03
    assert "second" not in found.quantized
    assert set(found.quantized) == {"first", "third"}
    nothing = graphc.quantize(source, feeds, per_channel=False, max_drop=0.0)
    assert set(nothing.kept) == {"first", "second", "third"}
    assert nothing.loss == 0.0


def test_max_drop_by_a_metric_of_the_user():
    calls = []

    def score(run):
        calls.append(run)
        found = np.concatenate([run(feed)["y"] for feed in uniform_feeds()])
        return -float(np.abs(found).max())  # anything that tells f32 from 8 bits

    source = three_layers(outlier=40)
    found = graphc.quantize(source, uniform_feeds(), metric=score, max_drop=10.0)
    assert found.kept == ()
    assert found.metric == "score"
    assert len(calls) == 2  # f32 and 8 bits: there is nothing to search


def test_argmax_against_labels():
    _, labels = heldout()
    found = graphc.quantize(DIGITS, batches(4), metric="argmax", labels=labels[:80])
    assert abs(found.loss) <= 1 / 80
    with pytest.raises(graphc.GraphcError, match="3 labels for 80 answers of 'logits'"):
        graphc.quantize(DIGITS, batches(4), metric="argmax", labels=labels[:3])


def test_excluded_nodes_stay_in_f32():
    found = graphc.quantize(three_layers(), uniform_feeds(), exclude=["sec*"])
    assert set(found.quantized) == {"first", "third"}
    with pytest.raises(UsageError, match="no node is named 'secnd'; did you mean 'second'"):
        graphc.quantize(three_layers(), uniform_feeds(), exclude=["secnd"])
    with pytest.raises(QuantizationError, match="no node can be quantised"):
        graphc.quantize(three_layers(), uniform_feeds(), exclude=["*"])


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "percentile", "percentile": 99.9},
        {"method": "entropy"},
        {"activation_type": "int8", "symmetric": True},
        {"activation_type": "uint16"},
        {"per_channel": False, "weight_type": "uint8", "reduce_range": True},
        {"op_types": ()},
    ],
    ids=str,
)
def test_settings_give_models_that_agree(settings):
    found = graphc.quantize(three_layers(), uniform_feeds(), **settings)
    assert found.error < 0.1
    feed = uniform_feeds()[0]
    theirs = by_runtime(found.model, feed, ["y"])["y"]
    ours = graphc.compile(found.model, target="interpret").run(None, feed)[0]
    assert np.abs(ours - theirs).max() < 0.03
    onnx.checker.check_model(found.model, full_check=True)


def test_sixteen_bits_are_more_accurate():
    errors = [
        graphc.quantize(three_layers(), uniform_feeds(), activation_type=kind).error
        for kind in ("uint8", "uint16")
    ]
    assert errors[1] < errors[0]


def test_dynamic_quantisation_needs_no_data():
    found = graphc.quantize(three_layers(), dynamic=True)
    assert found.error is None
    assert "accuracy is unknown" in str(found)
    assert "MatMulInteger" in {node.op_type for node in found.model.graph.node}
    feed = uniform_feeds()[0]
    want = by_runtime(three_layers(), feed, ["y"])["y"]
    assert np.abs(graphc.compile(found.model).run(None, feed)[0] - want).max() < 0.05
    measured = graphc.quantize(three_layers(), uniform_feeds(), dynamic=True)
    wanted, found = (
        np.concatenate([by_runtime(model, each, ["y"])["y"].ravel() for each in uniform_feeds()])
        for model in (three_layers(), measured.model)
    )
    expected = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
    assert measured.error == pytest.approx(expected, rel=1e-4)
    if {"avx512_vnni", "avx_vnni"} & set(host_features()):
        assert measured.error < 0.05  # elsewhere sums of 16 bits saturate in ONNX Runtime
    assert set(measured.quantized) == {"first", "second", "third"}


def test_without_data_the_error_offers_dynamic_quantisation():
    with pytest.raises(UsageError, match=r"calibration needs data.*dynamic=True"):
        graphc.quantize(dense())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"per_chanel": True}, "no option 'per_chanel'"),
        ({"method": "max"}, "method must be one of minmax"),
        ({"activation_type": "int4"}, "activation_type must be one of"),
        ({"percentile": 0}, "percentile is 0"),
        ({"max_drop": -1}, "max_drop is -1"),
        ({"max_drop": float("nan")}, "max_drop is nan"),
        ({"metric": "bleu"}, "metric must be a function or one of error, argmax"),
        ({"labels": [1]}, "labels are for the metric 'argmax'"),
        ({"exclude": "first"}, "exclude must be a sequence"),
        ({"limit": 0}, "limit is 0"),
        ({"pictures": {"means": 0}}, "pictures has no field 'means'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(UsageError, match=message):
        graphc.quantize(three_layers(), uniform_feeds(), **options)


def test_nodes_without_names_and_biases_of_rank_two():
    random = np.random.default_rng(0)
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["a"]),
        helper.make_node("Relu", ["a"], ["c"]),
        helper.make_node("Gemm", ["c", "w", "b"], ["y"]),
    ]
    weights = [
        numpy_helper.from_array(random.uniform(-1, 1, (16, 16)).astype(np.float32), "w"),
        numpy_helper.from_array(random.uniform(-1, 1, (1, 16)).astype(np.float32), "b"),
    ]
    source = model(nodes, {"x": ["n", 16]}, {"y": ["n", 16]}, weights)
    found = graphc.quantize(source, uniform_feeds())
    assert found.quantized == ("Gemm_0", "Gemm_2")
    assert found.error < 0.05


def test_followers_are_not_quantised_by_themselves():
    """Else `max_drop` could not take back what they lose."""
    shape = np.array([1, 1, 4, 4])
    chain = [
        ("Reshape", {}, [shape]), ("Transpose", {"perm": [0, 1, 3, 2]}, []),
        ("Slice", {}, [np.array([0]), np.array([4]), np.array([3])]), ("Relu", {}, []),
        ("Squeeze", {}, [np.array([0])]), ("Unsqueeze", {}, [np.array([0])]),
        ("MaxPool", {"kernel_shape": [1, 1]}, []), ("AveragePool", {"kernel_shape": [1, 1]}, []),
        ("Clip", {}, []), ("Flatten", {}, []),
    ]  # fmt: skip
    nodes, previous = [], "x"
    constants = [numpy_helper.from_array(np.eye(16, dtype=np.float32), "w")]
    for index, (kind, attributes, arrays) in enumerate(chain):
        names = [f"c{index}_{each}" for each in range(len(arrays))]
        constants += map(numpy_helper.from_array, arrays, names)
        nodes.append(helper.make_node(kind, [previous, *names], [f"v{index}"], **attributes))
        previous = f"v{index}"
    nodes.append(helper.make_node("MatMul", [previous, "w"], ["y"], name="product"))
    source = model(nodes, {"x": [1, 16]}, {"y": [1, 16]}, constants)
    feeds = [np.ones((1, 16), np.float32)]
    assert graphc.quantize(source, feeds).quantized[-1] == "product"
    with pytest.raises(QuantizationError, match="no node can be quantised"):
        graphc.quantize(source, feeds, exclude=["product"])


def test_old_opsets_are_converted():
    source = dense()
    source.opset_import[0].version = 9
    feeds = [np.random.default_rng(0).uniform(-1, 1, (8, 4)).astype(np.float32)]
    found = graphc.quantize(source, feeds)
    assert found.model.opset_import[0].version >= 13
    assert found.quantized == ("product",)


def test_progress_counts_to_its_total():
    events = []
    graphc.quantize(three_layers(40), uniform_feeds(), max_drop=0.001, progress=events.append)
    stages = dict.fromkeys(event.stage for event in events)
    assert list(stages) == ["calibration", "sensitivity", "nodes in f32", "layers"]
    for stage in stages:
        last = [event for event in events if event.stage == stage][-1]
        assert last.done == last.total


def test_a_value_that_is_not_finite_is_named():
    nodes = [
        helper.make_node("Div", ["x", "zero"], ["quotient"], name="divide"),
        helper.make_node("MatMul", ["quotient", "w"], ["y"], name="product"),
    ]
    weights = [
        numpy_helper.from_array(np.zeros(16, np.float32), "zero"),
        numpy_helper.from_array(np.eye(16, dtype=np.float32), "w"),
    ]
    source = model(nodes, {"x": ["n", 16]}, {"y": ["n", 16]}, weights)
    with pytest.raises(QuantizationError, match="node 'divide': its result 'quotient' is"):
        graphc.quantize(source, uniform_feeds())


@pytest.mark.parametrize("dynamic", [False, True])
def test_quantised_models_are_refused(dynamic):
    made = graphc.quantize(three_layers(), uniform_feeds(), dynamic=dynamic).model
    with pytest.raises(QuantizationError, match=r"quantised already: node '.*' is a .*Linear"):
        graphc.quantize(made, uniform_feeds(), dynamic=dynamic)


def test_missing_weights_are_an_error_of_the_model(tmp_path):
    path = tmp_path / "model.onnx"
    where = {"location": "weights.bin", "size_threshold": 0}
    onnx.save(three_layers(), path, save_as_external_data=True, **where)
    assert graphc.quantize(path, uniform_feeds()).error < 0.05
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(graphc.GraphcError, match="cannot read the weights of the model"):
        graphc.quantize(path, uniform_feeds())


def test_a_metric_of_nan():
    with pytest.raises(UsageError, match="the metric of the f32 model is NaN"):
        graphc.quantize(three_layers(), uniform_feeds(), metric=lambda run: float("nan"))


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime.quantization", None)
    with pytest.raises(QuantizationError, match=r"pip install graphc\[quantize\]"):
        graphc.quantize(three_layers(), uniform_feeds())


def test_settings_describe_themselves():
    assert QuantizationSettings(activation_type="uint16").is_16_bit
    assert not QuantizationSettings().is_16_bit
