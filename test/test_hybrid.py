"""Models of which some nodes run on the host: how they are divided, run, described and saved."""

import logging

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from tool_models import dense, unsupported

import graphc
from graphc.errors import (
    ExecutionError,
    FeedError,
    ModuleFileError,
    UnsupportedModelError,
    UsageError,
)

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
FLOATS = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N", 4])


def hybrid(nodes, inputs, outputs, initializers=()) -> onnx.ModelProto:
    """A model with inputs and outputs of any type."""
    infos = ([helper.make_value_info(n, t) for n, t in ends.items()] for ends in (inputs, outputs))
    graph = helper.make_graph(nodes, "g", *infos, list(initializers))
    opsets = [helper.make_opsetid("", 20)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def sandwich() -> onnx.ModelProto:
    """Compiled, host, compiled: a sequence of parts of a product, joined again, and scaled by its
    size.

    The sizes of the last reshape come from the first part.
    """
    node = helper.make_node
    nodes = [
        node("MatMul", ["x", "w"], ["p"], name="product"),
        node("Shape", ["p"], ["shape"], name="shape"),
        node("Concat", ["p", "x"], ["both"], name="both", axis=1),
        node("SplitToSequence", ["both", "halves"], ["pair"], name="pair", axis=1),
        node("ConcatFromSequence", ["pair"], ["joined"], name="join", axis=0),
        node("Relu", ["joined"], ["positive"], name="positive"),
        node("Reshape", ["positive", "flat"], ["line"], name="flatten"),
        node("Slice", ["line", "zero", "rows"], ["head"], name="head"),
        node("Slice", ["shape", "zero", "one"], ["rows"], name="rows"),
    ]
    nodes.insert(7, nodes.pop())
    constants = {
        "w": np.eye(4, dtype=np.float32) * 2,
        "halves": np.array([4, 4]),
        "flat": np.array([-1]),
        "zero": np.array([0]),
        "one": np.array([1]),
    }
    return hybrid(
        nodes,
        {"x": FLOATS},
        {"head": helper.make_tensor_type_proto(TensorProto.FLOAT, ["M"]), "positive": FLOATS},
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )


@pytest.fixture(scope="module")
def compiled():
    """The sandwich, compiled once."""
    with graphc.compile(sandwich()) as made:
        yield made


def check_against_definition(made, feeds):
    expected = ReferenceEvaluator(sandwich()).run(None, feeds)
    for ours, theirs in zip(made.run(None, feeds), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_parts_alternate_and_are_right(compiled):
    assert [part.native for part in compiled.parts] == [True, False, True]
    assert not compiled.native
    host = compiled.parts[1]
    assert host.nodes == ("pair", "join")
    assert host.reasons["join"] == "'pair' is a sequence"
    assert [str(spec) for spec in compiled.inputs] == ["x: float32[N, 4]"]
    for rows in (3, 1, 0):
        check_against_definition(compiled, {"x": X[:rows]})


def test_sizes_are_computed_where_they_are_needed(compiled):
    """The rows of the first part's result are known to the last part."""
    assert {"shape", "rows"} <= set(compiled.parts[2].nodes)
    assert "rows" not in compiled.parts[0].outputs


def test_the_report_says_what_ran_where(compiled):
    text = str(compiled.report)
    assert "on the host: 2 node(s)" in text
    assert "pair: the operator is not supported" in text
    assert compiled.report.to_dict()["parts"][1]["native"] is False
    assert compiled.report.sizes["module bytes"] > 0
    assert {stage.program for stage in compiled.report.stages} == {"model.part0", "model.part2"}
    with pytest.raises(UsageError, match="'model' cannot be measured: some nodes run on the host"):
        compiled.peak_memory({"x": X})


def test_saved_models_load_and_run(compiled, tmp_path):
    path = tmp_path / "sandwich.gcm"
    compiled.save(path)
    with graphc.load(path) as loaded:
        assert loaded.parts == compiled.parts
        assert loaded.inputs == compiled.inputs
        check_against_definition(loaded, {"x": X})
        y, _ = loaded(X)
    with pytest.raises(UsageError, match="closed"):
        loaded(X)
    assert y.shape == (3,)


def test_feeds_and_results_are_on_the_host(compiled):
    assert compiled.device == "cpu"
    with pytest.raises(UsageError, match="takes its feeds on the host"):
        compiled.to_device(X)
    with pytest.raises(UsageError, match="runs in part on the host, and so its outputs are there"):
        compiled.run(None, {"x": X}, on_device=True)
    positive, head = compiled.run(["positive", "head"], {"x": X})
    for given, whole in zip((head, positive), compiled.run(None, {"x": X}), strict=True):
        np.testing.assert_array_equal(given, whole)
    (tensor,) = compiled._session._parts[0][1]._model.run(["p"], {"x": X}, on_device=True)
    expected = compiled.run(None, {"x": tensor.numpy()})
    for given, whole in zip(compiled.run(None, {"x": tensor}), expected, strict=True):
        np.testing.assert_array_equal(given, whole)


def test_damaged_files_are_refused(compiled, tmp_path):
    path = tmp_path / "sandwich.gcm"
    compiled.save(path)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for broken in (whole[: len(whole) // 2], bytes(flipped)):
        path.write_bytes(broken)
        for source in (path, broken):
            with pytest.raises(ModuleFileError, match="damaged"):
                graphc.load(source)
    other = whole.replace(
        b'"format_version": 1,\n "metadata"', b'"format_version": 9,\n "metadata"'
    )
    with pytest.raises(ModuleFileError):
        graphc.load(other)


def test_nothing_falls_back_in_silence(caplog):
    with caplog.at_level(logging.WARNING, "graphc"):
        graphc.compile(strings())
    (record,) = caplog.records
    assert "2 of 2 nodes run on the host: 'join' ('a' is a tensor of strings)" in record.message


def test_models_that_are_compiled_whole_say_nothing(caplog):
    made = graphc.compile(dense())
    assert made.native
    assert made.parts == ()
    assert not made.report.parts
    assert not caplog.records


def test_the_host_can_be_refused():
    with pytest.raises(UnsupportedModelError, match="SplitToSequence") as caught:
        graphc.compile(sandwich(), host=False)
    assert [node.name for node in caught.value.nodes] == ["pair"]  # "join" lacks its operand alone


def test_what_runs_nowhere_is_refused():
    with pytest.raises(UnsupportedModelError, match="no reference implementation") as caught:
        graphc.compile(unsupported())
    assert [node.name for node in caught.value.nodes] == ["first", "second"]


def strings() -> onnx.ModelProto:
    """``join = a + "!"``, and its halves at blanks."""
    text = helper.make_tensor_type_proto(TensorProto.STRING, ["n"])
    halves = helper.make_tensor_type_proto(TensorProto.STRING, ["n", "m"])
    counts = helper.make_tensor_type_proto(TensorProto.INT64, ["n"])
    mark = helper.make_tensor("mark", TensorProto.STRING, [1], [b"!"])
    nodes = [
        helper.make_node("StringConcat", ["a", "mark"], ["b"], name="join"),
        helper.make_node("StringSplit", ["b"], ["halves", "counts"], name="split"),
    ]
    return hybrid(nodes, {"a": text}, {"b": text, "halves": halves, "counts": counts}, [mark])


def test_strings():
    made = graphc.compile(strings())
    assert str(made.inputs[0]) == "a: string[n]"
    for a in (np.array(["x y", "z"]), ["x y", b"z"], np.array(["x y", "z"], object)):
        b, halves, counts = made(a)
        assert (b.dtype, b.tolist()) == (np.dtype(object), ["x y!", "z!"])
        assert halves.tolist() == [["x", "y!"], ["z!", ""]]
        np.testing.assert_array_equal(counts, [2, 1])
    with pytest.raises(FeedError, match=r"'a' must be string\[n\], and holds other things"):
        made([1, 2])
    with pytest.raises(FeedError, match=r"given an array of shape \[1, 1\]"):
        made([["x"]])
    with pytest.raises(FeedError, match=r"input 'a' is missing: expected string\[n\]"):
        made()
    with pytest.raises(FeedError, match="no input 'c'"):
        made(a=["x"], c=["y"])


def test_n_grams_of_strings_are_weighed_in_the_order_of_the_pool():
    text = helper.make_tensor_type_proto(TensorProto.STRING, ["n"])
    counts = helper.make_tensor_type_proto(TensorProto.FLOAT, [3])
    node = helper.make_node(
        "TfIdfVectorizer", ["x"], ["y"], name="count", mode="TFIDF", ngram_counts=[0, 2],
        ngram_indexes=[2, 0, 1], pool_strings=["a", "b", "b", "a"], weights=[2.0, 3.0, 5.0],
        min_gram_length=1, max_gram_length=2, max_skip_count=0,
    )  # fmt: skip
    made = graphc.compile(hybrid([node], {"x": text}, {"y": counts}))
    np.testing.assert_array_equal(made(["b", "a", "c", "b", "a", "a"]), [6, 10, 6])


def optional_sequence() -> onnx.ModelProto:
    """The sequence with `x` at its end, or `x` alone where there is none."""
    sequence = helper.make_sequence_type_proto(FLOATS)
    has = helper.make_node("OptionalHasElement", ["s"], ["has"], name="has")

    def branch(name, node):
        return helper.make_graph([node], name, [], [helper.make_value_info(name, sequence)])

    choose = helper.make_node(
        "If", ["has"], ["chosen"], name="choose",
        then_branch=branch("given", helper.make_node("OptionalGetElement", ["s"], ["given"])),
        else_branch=branch("none", helper.make_node("SequenceEmpty", [], ["none"])),
    )  # fmt: skip
    insert = helper.make_node("SequenceInsert", ["chosen", "x"], ["y"], name="insert")
    optional = helper.make_optional_type_proto(sequence)
    return hybrid([has, choose, insert], {"s": optional, "x": FLOATS}, {"y": sequence})


def test_sequences_and_optionals():
    made = graphc.compile(optional_sequence())
    assert [str(s) for s in made.inputs] == ["s: optional(seq(float32[N, 4]))", "x: float32[N, 4]"]
    assert [len(made(s, X)) for s in (None, [], [X, X])] == [1, 1, 3]
    np.testing.assert_array_equal(made([X * 2], X)[0], X * 2)
    with pytest.raises(FeedError, match=r"'s' must be seq\(float32\[N, 4\]\), a list or tuple"):
        made(X, X)
    with pytest.raises(FeedError, match=r"input 's'\[0\] must be float32\[N, 4\], given float64"):
        made([X.astype(np.float64)], X)


def test_a_node_that_fails_is_named():
    nodes = [
        helper.make_node("SequenceConstruct", ["x"], ["s"], name="one"),
        helper.make_node("SequenceAt", ["s", "i"], ["y"], name="pick"),
    ]
    index = helper.make_tensor_type_proto(TensorProto.INT64, [])
    made = graphc.compile(hybrid(nodes, {"x": FLOATS, "i": index}, {"y": FLOATS}))
    np.testing.assert_array_equal(made(X, 0), X)
    with pytest.raises(ExecutionError, match=r"node 'pick' \(SequenceAt\).*failed: .*range"):
        made(X, 7)


def test_results_share_nothing_with_feeds():
    sequence = helper.make_sequence_type_proto(FLOATS)
    made = graphc.compile(hybrid([], {"s": sequence}, {"s": sequence}))
    assert not np.shares_memory(made([X])[0], X)
    text = helper.make_tensor_type_proto(TensorProto.STRING, [1])
    made = graphc.compile(hybrid([], {"a": text}, {"a": text}))
    given = np.array(["x"], object)
    result = made(given)
    result[0] = "y"
    assert given[0] == "x"


def test_functions_are_divided_inside():
    model = sandwich()
    inner = helper.make_function(
        "own", "Join", ["p", "x", "halves"], ["positive"], list(model.graph.node[2:6]),
        model.opset_import,
    )  # fmt: skip
    call = helper.make_node("Join", ["p", "x", "halves"], ["positive"], domain="own")
    nodes = [*model.graph.node[:2], call, *model.graph.node[6:]]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.functions.append(inner)
    model.opset_import.append(helper.make_opsetid("own", 1))
    made = graphc.compile(model)
    assert [part.native for part in made.parts] == [True, False, True]
    check_against_definition(made, {"x": X})


def test_functions_of_other_opsets():
    """ReduceSum of opset 11 has its axes as an attribute; only the sequence is on the host."""
    node = helper.make_node
    body = [
        node("ReduceSum", ["a"], ["sum"], axes=[1], keepdims=0),
        node("Unsqueeze", ["sum"], ["row"], axes=[0]),
        node("SplitToSequence", ["row"], ["parts"], axis=0),
        node("ConcatFromSequence", ["parts"], ["joined"], axis=0),
        node("ReduceSum", ["joined"], ["total"], axes=[1], keepdims=0),
    ]
    sums = helper.make_function(
        "own", "Sums", ["a"], ["total"], body, [helper.make_opsetid("", 11)]
    )
    ones = helper.make_tensor_type_proto(TensorProto.FLOAT, [1])
    model = hybrid([node("Sums", ["x"], ["y"], domain="own")], {"x": FLOATS}, {"y": ones})
    model.functions.append(sums)
    model.opset_import.append(helper.make_opsetid("own", 1))
    made = graphc.compile(model)
    assert [part.native for part in made.parts] == [True, False, True]
    for rows in (3, 0, 2):
        np.testing.assert_allclose(made(X[:rows]), [X[:rows].sum()], rtol=1e-6)


def test_dims_are_fixed_in_every_part():
    made = graphc.compile(sandwich(), dims={"N": 3})
    assert made.inputs[0].shape == (3, 4)
    assert made.metadata.dims == {"N": 3}
    check_against_definition(made, {"x": X})
    with pytest.raises(FeedError, match="'x' must be"):
        made(X[:2])


def test_preflight():
    found = graphc.check(sandwich())
    assert (found.compiles, found.native, len(found.nodes)) == (True, False, 9)
    assert [str(node.where) for node in found.nodes[1:5]] == ["native", "native", "host", "host"]
    assert "9 nodes: 7 native, 2 host" in str(found)
    assert "ConcatFromSequence" in str(found)
    nowhere = graphc.check(unsupported())
    assert not nowhere.compiles
    assert [str(node.where) for node in nowhere.nodes] == ["impossible", "host", "impossible"]
    assert nowhere.nodes[1].reason == "'a' is of unknown type"
    assert graphc.check(dense()).native


MAPS = helper.make_sequence_type_proto(
    helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(1, []))
)
LABELS = helper.make_tensor_type_proto(TensorProto.STRING, ["N"])
SCORES = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N", 3])


def learned(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model` with the operators of ``ai.onnx.ml``."""
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    return model


def ml(op_type, inputs, outputs, **attributes) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs, outputs, domain="ai.onnx.ml", **attributes)


def by_onnxruntime(model, feeds):
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, feeds)


NAMES = ["cat", "dog", "été"]
LINEAR = {
    "coefficients": np.linspace(-1, 2, 12).tolist(), "intercepts": [0.1, 0.2, 0.3],
    "classlabels_strings": NAMES, "post_transform": "SOFTMAX",
}  # fmt: skip
VECTORS = {
    "kernel_type": "RBF", "kernel_params": [0.5, 0.0, 3.0], "classlabels_strings": NAMES,
    "support_vectors": np.sin(np.arange(24)).tolist(), "vectors_per_class": [2, 2, 2],
    "coefficients": np.cos(np.arange(12)).tolist(), "rho": [0.1, -0.2, 0.3],
    "prob_a": [-1.0, -2.0, -0.5], "prob_b": [0.1, 0.0, -0.1],
}  # fmt: skip
TREES = {
    "nodes_treeids": [0] * 5, "nodes_nodeids": [0, 1, 2, 3, 4], "nodes_featureids": [0, 0, 1, 0, 0],
    "nodes_values": [0.2, 0, 0.5, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_GT", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 3, 0, 0], "nodes_falsenodeids": [2, 0, 4, 0, 0],
    "class_treeids": [0] * 3, "class_nodeids": [1, 3, 4], "class_ids": [0, 1, 2],
    "class_weights": [0.25, 0.5, 0.75], "classlabels_strings": NAMES,
}  # fmt: skip


@pytest.mark.parametrize(
    ("op_type", "attributes"),
    [("LinearClassifier", LINEAR), ("SVMClassifier", VECTORS), ("TreeEnsembleClassifier", TREES)],
)
def test_labels_are_looked_up_and_scores_compiled(op_type, attributes):
    """A classifier of strings, and maps of its scores: on the host there are look-ups alone."""
    nodes = [
        ml(op_type, ["x"], ["label", "scores"], name="classify", **attributes),
        ml("ZipMap", ["scores"], ["maps"], name="zip", classlabels_strings=NAMES),
    ]
    ends = {"label": LABELS, "scores": SCORES, "maps": MAPS}
    model = learned(hybrid(nodes, {"x": FLOATS}, ends))
    made = graphc.compile(model)
    assert [part.nodes for part in made.parts if part.native] == [("classify",)]
    assert str(made.outputs[2]) == "maps: seq(map(string, float32[]))"
    for rows in (3, 1, 0, 2):
        label, scores, maps = made.run(None, {"x": X[:rows]})
        if not rows:  # which ONNX Runtime refuses
            assert (label.shape, scores.shape, maps) == ((0,), (0, 3), [])
            continue
        labels, expected, expected_maps = by_onnxruntime(model, {"x": X[:rows]})
        assert label.tolist() == labels.tolist()
        np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)
        assert maps == [dict(zip(NAMES, row, strict=True)) for row in scores.tolist()]
        assert [list(each) for each in maps] == [list(each) for each in expected_maps]


@pytest.mark.parametrize("engine", ["python", "onnxruntime"])
def test_models_without_standard_operators(engine):
    """CatBoost imports the operators for learned models alone; the look-up is a standard one."""
    node = ml("TreeEnsembleClassifier", ["x"], ["label", "scores"], **TREES)
    model = learned(hybrid([node], {"x": FLOATS}, {"label": LABELS, "scores": SCORES}))
    (own,) = [each for each in model.opset_import if each.domain]
    del model.opset_import[:]
    model.opset_import.append(own)
    label, scores = graphc.compile(model, host=engine)(X)
    labels, expected = by_onnxruntime(model, {"x": X})
    assert label.tolist() == labels.tolist()
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)


def test_maps_are_saved_and_run(tmp_path):
    node = ml("ZipMap", ["x"], ["maps"], classlabels_strings=[*NAMES, "x"])
    with graphc.compile(learned(hybrid([node], {"x": FLOATS}, {"maps": MAPS}))) as made:
        made.save(tmp_path / "zip.gcm")
        expected = made(X)
    assert expected[1]["dog"] == X[1, 1]
    assert {type(value) for value in expected[0].values()} == {float}
    with graphc.load(tmp_path / "zip.gcm") as loaded:
        assert loaded(X) == expected


def test_maps_are_fed():
    """A map becomes a row, of which the rest of the model is compiled."""
    words = helper.make_map_type_proto(
        TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, [None])
    )
    nodes = [
        ml("DictVectorizer", ["d"], ["row"], string_vocabulary=["a", "b", "c"]),
        helper.make_node("Mul", ["row", "row"], ["y"], name="square"),
    ]
    model = learned(hybrid(nodes, {"d": words}, {"y": SCORES}))
    made = graphc.compile(model)
    assert [part.native for part in made.parts] == [False, True]
    assert str(made.inputs[0]) == "d: map(string, float32[?])"
    for given in ({"b": 1.5}, {"a": 2, "z": 1.0, "c": np.float32(0.5)}):
        np.testing.assert_array_equal(made(given), by_onnxruntime(model, {"d": given})[0])
    np.testing.assert_array_equal(made({}), [[0, 0, 0]])
    with pytest.raises(
        FeedError, match=r"'d' must be map\(string, float32\[\?\]\), a Mapping; given"
    ):
        made([1.0])
    with pytest.raises(FeedError, match=r"'d' must be .*, and has the key 1"):
        made({1: 1.0})
    with pytest.raises(FeedError, match=r"'d'\['a'\] must be float32, given float64; cast it"):
        made({"a": np.float64(1)})


def test_categories_are_looked_up_and_encoded_by_compiled_code():
    text = helper.make_tensor_type_proto(TensorProto.STRING, ["n"])
    nodes = [
        ml("OneHotEncoder", ["t"], ["one"], name="encode", cats_strings=["a", "b", "c"]),
        ml("CategoryMapper", ["t"], ["k"], name="map", cats_strings=["a", "b"], cats_int64s=[7, 8]),
        helper.make_node("Cast", ["k"], ["kf"], name="cast", to=1),
        helper.make_node("ReduceSum", ["one"], ["total"], name="sum"),
        helper.make_node("Mul", ["kf", "total"], ["y"], name="mul"),
    ]
    ends = {
        "one": helper.make_tensor_type_proto(TensorProto.FLOAT, ["n", 3]),
        "y": helper.make_tensor_type_proto(TensorProto.FLOAT, None),
    }
    model = learned(hybrid(nodes, {"t": text}, ends))
    made = graphc.compile(model)
    assert [part.nodes for part in made.parts if not part.native] == [("encode/index", "map")]
    for words in (["a", "q", "b"], ["c"], []):
        given = {"t": np.array(words, object)}
        for ours, theirs in zip(made.run(None, given), by_onnxruntime(model, given), strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert ours.shape == theirs.shape


def test_a_domain_that_is_not_imported():
    """Host parts import the domains of operators that the model leaves out of its imports."""
    text = helper.make_tensor_type_proto(TensorProto.STRING, ["N"])
    node = helper.make_node(
        "LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", keys_floats=[1.0, 2.0],
        values_strings=["one", "two"],
    )  # fmt: skip
    negated = helper.make_node("Neg", ["z"], ["x"])
    numbers = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N"])
    model = graphc.compile(hybrid([negated, node], {"z": numbers}, {"y": text}))
    (found,) = model.run(None, {"z": np.array([-2, -1, 0], np.float32)})
    assert found.tolist() == ["two", "one", "_Unused"]
