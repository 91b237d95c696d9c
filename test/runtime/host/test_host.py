"""Operators on the host give what ONNX Runtime gives."""

import threading

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from graphc.errors import ExecutionError
from graphc.runtime.host.part import HostPart, why_not

OPSETS = [("", 20), ("ai.onnx.ml", 3), ("com.microsoft", 1)]
ML = "ai.onnx.ml"
X = np.arange(6, dtype=np.float32).reshape(2, 3)
NAN = float("nan")


def strings(*texts: str) -> np.ndarray:
    return np.array(texts, object)


def type_of(value) -> onnx.TypeProto:
    """The type of a value, sizes left open."""
    if isinstance(value, list):
        return helper.make_sequence_type_proto(type_of(value[0] if value else X))
    if isinstance(value, dict):
        key = TensorProto.STRING if isinstance(next(iter(value)), str) else TensorProto.INT64
        return helper.make_map_type_proto(key, type_of(np.float32(0)))
    dtype = np.asarray(value).dtype
    kind = TensorProto.STRING if dtype.hasobject else helper.np_dtype_to_tensor_dtype(dtype)
    return helper.make_tensor_type_proto(kind, None)


def model(nodes, feeds, results, opsets=None, initializers=()) -> onnx.ModelProto:
    """A model of `nodes`, whose outputs have the types of `results`."""
    infos = [
        [helper.make_value_info(name, type_of(value)) for name, value in values.items()]
        for values in (feeds, results)
    ]
    graph = helper.make_graph(nodes, "g", *infos, list(initializers))
    imports = [helper.make_opsetid(*entry) for entry in opsets or OPSETS]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def check(nodes, feeds, outputs, opsets=None, initializers=()):
    """`nodes` give for `feeds` what ONNX Runtime gives; the types of `outputs` are those that the
    host gives itself."""
    nodes = [nodes] if isinstance(nodes, onnx.NodeProto) else nodes
    untyped = {name: X for name in outputs}
    part = HostPart(model(nodes, feeds, untyped, opsets, initializers).SerializeToString())
    given = part.run(feeds)
    whole = model(nodes, feeds, given, opsets, initializers).SerializeToString()
    session = onnxruntime.InferenceSession(whole, providers=["CPUExecutionProvider"])
    for name, expected in zip(outputs, session.run(None, feeds), strict=True):
        assert_same(given[name], expected)


def assert_same(given, expected):
    assert type(given) is type(expected)
    if isinstance(expected, list):
        assert len(given) == len(expected)
        for one, other in zip(given, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray):
        assert (given.dtype, given.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(given, expected)
    else:
        assert given == expected
        assert [*map(type, given.values())] == [*map(type, expected.values())]


def node(op_type, inputs, outputs, domain="", **attributes) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs, outputs, domain=domain, **attributes)


def ml(op_type, **attributes) -> onnx.NodeProto:
    return node(op_type, ["x"], ["y"], ML, **attributes)


def tensor(array) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(array))


WORDS = strings("a", "q", "b", "")


@pytest.mark.parametrize(
    ("each", "x"),
    [
        (ml("ZipMap", classlabels_int64s=[4, 0, 2]), X),
        (ml("ZipMap", classlabels_strings=["p", "q", "p"]), X),
        (ml("ZipMap", classlabels_strings=["p", "q", "r"]), X[0]),
        (ml("CategoryMapper", cats_strings=["a", "b", "a"], cats_int64s=[0, 1, 2]), WORDS),
        (ml("CategoryMapper", cats_strings=["a", "b"], cats_int64s=[5, 5]), np.array([[5, 1]])),
        (ml("LabelEncoder", keys_strings=["a", "b", "a"], values_int64s=[0, 1, 2]), WORDS),
        (ml("LabelEncoder", keys_strings=["a", "b"], values_strings=["u", "v"]), WORDS[:, None]),
        (ml("LabelEncoder", keys_strings=["a"], values_floats=[0.1]), WORDS[:0]),
        (ml("LabelEncoder", keys_int64s=[1, 2, 1], values_strings=["u", "v", "w"]), np.arange(3)),
        (ml("LabelEncoder", keys_floats=[0.1, 0.0], values_strings=["u", "v"]),
         np.float32([0.1, -0.0, 3])),
        (ml("DictVectorizer", string_vocabulary=["a", "c", "b"]), {"a": 1.5, "b": 2.0, "z": 3.0}),
        (ml("DictVectorizer", int64_vocabulary=[3, 1]), {1: 0.25}),
        (ml("CastMap", cast_to="TO_FLOAT"), {5: 1.0, 2: 2.5}),
        (ml("CastMap", cast_to="TO_INT64", map_form="SPARSE", max_map=3),
         {0: 1.9, 2: -1.9, 7: 1.0}),
        (ml("CastMap", cast_to="TO_STRING", map_form="SPARSE", max_map=2), {1: 0.5}),
        (ml("OneHotEncoder", cats_strings=["a", "b", "c"]), WORDS.reshape(2, 2)),
    ],
)  # fmt: skip
def test_labels_and_maps(each, x):
    check(each, {"x": x}, ["y"])


def test_label_encoders_of_other_versions():
    of_classes = ml("LabelEncoder", classes_strings=["a", "b", "a"])
    for x in (WORDS, np.array([0, 1, 2, 3, -1])):
        check(of_classes, {"x": x}, ["y"], [("", 20), (ML, 1)])
    of_tensors = ml(
        "LabelEncoder", keys_strings=["a", "b"], values_tensor=tensor(np.int16([7, 8])),
        default_tensor=tensor(np.int16([-3])),
    )  # fmt: skip
    check(of_tensors, {"x": WORDS}, ["y"], [("", 20), (ML, 4)])


def test_a_label_for_what_is_not_a_number():
    """NaN is a key; ONNX Runtime finds it in later versions only."""
    each = ml("LabelEncoder", keys_floats=[NAN, 1.0], values_strings=["none", "one"])
    part = HostPart(model([each], {"x": X}, {"y": X}).SerializeToString())
    assert part.run({"x": np.float32([1, NAN, 2])})["y"].tolist() == ["one", "none", "_Unused"]


def test_no_rows_give_no_maps():
    part = HostPart(
        model([ml("ZipMap", classlabels_int64s=[0, 1, 2])], {"x": X}, {"y": X}).SerializeToString()
    )
    assert part.run({"x": X[:0]}) == {"y": []}
    with pytest.raises(ExecutionError, match=r"rows of 3 elements, one for each label"):
        part.run({"x": X[:, :2]})


@pytest.mark.parametrize("columns", [[1], [[1, 0]], [2, 2]])
@pytest.mark.parametrize("x", [strings("a", "b", "c"), strings(*"abcdef").reshape(2, 3)])
def test_columns_of_strings(x, columns):
    each = node("ArrayFeatureExtractor", ["x", "i"], ["y"], ML)
    check(each, {"x": x, "i": np.array(columns)}, ["y"])


def test_strings_are_moved():
    """Operators that move numbers also move strings."""
    x = strings(*"abcdef").reshape(2, 3)
    cases = [
        ("Concat", {"axis": 0}, x, x[:0]),
        ("Equal", {}, x, x[:, :1]),
        ("Expand", {}, x[:, :1], np.array([2, 4])),
        ("Flatten", {}, x),
        ("GatherElements", {"axis": 0}, x, np.array([[0, 1, 0]])),
        ("GatherND", {}, x, np.array([[0, 1], [1, 2]])),
        ("OneHot", {"axis": 0}, np.array([0, -1, 5]), np.array(3), strings("off", "on")),
        ("Reshape", {}, x[:0], np.array([0, 3, 1])),
        ("ScatterElements", {}, x, np.array([[0, 1, 0]]), strings(*"pqr")[None]),
        ("Slice", {}, x, np.array([-1]), np.array([-9]), np.array([1]), np.array([-1])),
        ("Squeeze", {}, strings("a")),
        ("Tile", {}, x, np.array([1, 2])),
        ("Transpose", {}, x),
        ("Unique", {}, strings("b", "a", "b")),
        ("Unique", {"axis": 0}, x[[1, 0, 1]]),
        ("Where", {}, np.array([True, False, True]), x, strings("z")),
    ]
    nodes, feeds = [], {}
    for number, (op_type, attributes, *inputs) in enumerate(cases):
        names = [f"x{number}_{index}" for index in range(len(inputs))]
        feeds |= zip(names, inputs, strict=True)
        nodes.append(node(op_type, names, [f"y{number}"], **attributes))
    check(nodes, feeds, [f"y{number}" for number in range(len(cases))])


TEXTS = strings("a bb  ccc,d", "", "é, ß", "x1")
SPLIT = {"pad_value": "#", "mark": 0, "mincharnum": 1}


@pytest.mark.parametrize(
    "settings",
    [
        {"separators": [" "]},
        {"separators": [" ", ","], "mark": 1},
        {"separators": [""], "mark": 1},
        {"separators": ["[ ,]"], "mincharnum": 2},
        {"tokenexp": "[a-z]+"},
        {"tokenexp": r"\b\w\w+\b", "mark": 1},
        {"tokenexp": "(a)|b", "mincharnum": 1},
        {"tokenexp": "[[:alpha:]]*"},
    ],
)
def test_tokens(settings):
    each = node("Tokenizer", ["x"], ["y"], "com.microsoft", **{**SPLIT, **settings})
    for x in (TEXTS, TEXTS.reshape(2, 2), TEXTS[1:2], TEXTS[:2]):
        check(each, {"x": x}, ["y"])


@pytest.mark.parametrize(
    "pattern", [r"\d+", r"\w+", "a.c", "(?i)É", r"[\w.]+", r"a\z", "a$", "[^a]+", r"\D+", "[]a]+"]
)
def test_patterns(pattern):
    """RE2's classes are those of ASCII."""
    x = strings("12", "٣", "é", "É", "abc", "a\nc", "a\n", "a", "x.y", "]a")
    check(node("RegexFullMatch", ["x"], ["y"], pattern=pattern), {"x": x}, ["y"])


@pytest.mark.parametrize("settings", [{}, {"positive": 0, "seed": 3}])
@pytest.mark.parametrize(
    "x", [strings("a", "", "abcd", "hello world!", "é")[:, None], np.arange(-2, 2),
          np.int32([7]), np.float32([1, -0.5]), np.float64([1, -0.5])],
)  # fmt: skip
def test_hashes(x, settings):
    check(node("MurmurHash3", ["x"], ["y"], "com.microsoft", **settings), {"x": x}, ["y"])


NUMBERS = [1, 1.5, 0.1, 1e-7, 1e10, 123456789, NAN, np.inf, -np.inf, -0.0, 1 / 3]


@pytest.mark.parametrize(
    "x",
    [np.float32(NUMBERS), np.float64(NUMBERS), np.float16(NUMBERS[:4]), np.int64([1, -5]),
     np.array([True, False]), np.zeros((2, 0), np.uint8)],
)  # fmt: skip
def test_numbers_as_strings(x):
    check(node("Cast", ["x"], ["y"], to=TensorProto.STRING), {"x": x}, ["y"])


@pytest.mark.parametrize(
    ("kind", "x"),
    [
        (TensorProto.FLOAT,
         strings("1", " -2.5 ", "1e3", "NaN", "-INF", "infinity", "0x10", "1_0")),
        (TensorProto.INT64, strings("1", " -2", "1.9", "1e3", "9223372036854775807")),
        (TensorProto.UINT8, strings("300", "-1")),
        (TensorProto.BOOL, strings("0", "1", "-1", "0.5")),
    ],
)  # fmt: skip
def test_strings_as_numbers(kind, x):
    check(node("Cast", ["x"], ["y"], to=kind), {"x": x}, ["y"])


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({}, ["The", "A", "été", "The cat", "İß"]),
        ({"case_change_action": "LOWER"}, ["the", "a", "été", "the cat", "iß"]),
        ({"case_change_action": "UPPER"}, ["THE", "A", "ÉTÉ", "THE CAT", "İß"]),
        ({"stopwords": ["the", "ÉTÉ"]}, ["A", "The cat", "İß"]),
        ({"stopwords": ["the", "A"], "is_case_sensitive": 1}, ["The", "été", "The cat", "İß"]),
        ({"stopwords": ["The"], "is_case_sensitive": 1, "case_change_action": "LOWER"},
         ["a", "été", "the cat", "iß"]),
    ],
)  # fmt: skip
def test_normalized_strings(settings, kept):
    """Elements are stop words as a whole, accents stay, and a letter gives one letter."""
    each = node("StringNormalizer", ["x"], ["y"], **settings)
    part = HostPart(model([each], {"x": WORDS}, {"y": WORDS}).SerializeToString())
    x = strings("The", "A", "été", "The cat", "İß")
    assert part.run({"x": x})["y"].tolist() == kept
    assert part.run({"x": x[None]})["y"].tolist() == [kept]


def test_nothing_but_stop_words():
    each = node("StringNormalizer", ["x"], ["y"], stopwords=["a"], is_case_sensitive=1)
    for x in (strings("a", "a"), strings("a")[None]):
        check(each, {"x": x}, ["y"])


def test_split_strings():
    """Strings are split at whitespace as ONNX defines it; ONNX Runtime splits only at blanks."""
    each = node("StringSplit", ["x"], ["y", "n"])
    part = HostPart(model([each], {"x": WORDS}, {"y": WORDS, "n": X}).SerializeToString())
    for x, y, n in (
        (strings(" a\tb ", "c"), [["a", "b"], ["c", ""]], [2, 1]),
        (strings("", " "), [[], []], [0, 0]),
        (np.array("a b", object), ["a", "b"], 2),
    ):
        given = part.run({"x": x})
        assert (given["y"].tolist(), given["n"].tolist()) == (y, n)
        assert given["y"].ndim == x.ndim + 1
    for settings in ({"delimiter": "-"}, {"delimiter": "--"}, {"delimiter": "-", "maxsplit": 1}):
        each = node("StringSplit", ["x"], ["y", "n"], **settings)
        check(each, {"x": strings("a-b--c-", "-", "a")}, ["y", "n"])


GRAMS = {
    "ngram_counts": [0, 2], "ngram_indexes": [2, 0, 1, 3],
    "pool_strings": ["a", "b", "b", "a", "a", "a"], "weights": [2.0, 3.0, 5.0, 7.0],
    "min_gram_length": 1, "max_gram_length": 2,
}  # fmt: skip


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("skipped", [0, 2])
def test_n_grams(mode, skipped):
    each = node("TfIdfVectorizer", ["x"], ["y"], mode=mode, max_skip_count=skipped, **GRAMS)
    x = strings(*"bacbaa")
    for given in (x, x.reshape(2, 3), x[:0], x[:0].reshape(2, 0)):
        check(each, {"x": given}, ["y"])


def constant(name, value):
    return node("Constant", [], [name], value=tensor(value))


LIST = [X, X[:1] * 2, X[0:2, 1:]]


@pytest.mark.parametrize("position", [-3, -1, 0, 2])
def test_places_in_sequences(position):
    nodes = [
        constant("i", position),
        node("SequenceAt", ["s", "i"], ["at"]),
        node("SequenceErase", ["s", "i"], ["less"]),
        node("SequenceInsert", ["s", "at", "i"], ["more"]),
        node("SequenceErase", ["s"], ["first"]),
        node("SequenceInsert", ["s", "at"], ["longest"]),
        node("SequenceLength", ["longest"], ["n"]),
    ]
    check(nodes, {"s": LIST}, ["at", "less", "more", "first", "longest", "n"])


def test_sequences_that_are_empty():
    nodes = [
        node("SequenceEmpty", [], ["none"]),
        constant("i", 0),
        node("SequenceInsert", ["none", "x", "i"], ["one"]),
        node("SequenceInsert", ["none", "x"], ["other"]),
        node("SequenceLength", ["none"], ["n"]),
    ]
    check(nodes, {"x": X}, ["one", "other", "n"])


@pytest.mark.parametrize(
    ("split", "settings"),
    [(None, {"axis": 1}), (None, {"axis": -1, "keepdims": 0}), (2, {"axis": 1}), (5, {}),
     ([2, 0, 1], {"axis": -1}), (1, {"axis": 1, "keepdims": 0})],
)  # fmt: skip
def test_pieces(split, settings):
    names = ["x"] if split is None else ["x", "split"]
    nodes = [constant("split", [1] if split is None else split)]
    nodes.append(node("SplitToSequence", names, ["s"], **settings))
    check(nodes, {"x": X}, ["s"])


@pytest.mark.parametrize("settings", [{"axis": 0}, {"axis": -1}, {"axis": -1, "new_axis": 1}])
def test_joined_sequences(settings):
    check(node("ConcatFromSequence", ["s"], ["y"], **settings), {"s": [X, X * 2]}, ["y"])


def body(nodes, inputs, outputs) -> onnx.GraphProto:
    """A graph whose tensors have the shapes of the values."""
    infos = [
        [helper.make_value_info(name, _shaped(value)) for name, value in ends.items()]
        for ends in (inputs, outputs)
    ]
    return helper.make_graph(nodes, "body", infos[0], infos[1])


def _shaped(value) -> onnx.TypeProto:
    if isinstance(value, list):
        return type_of(value)
    array = np.asarray(value)
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


SUM = body(
    [node("Add", ["t", "v"], ["p"]), node("Mul", ["p", "two"], ["u"]), node("Neg", ["t"], ["w"])],
    {"t": X, "v": X}, {"u": X, "w": X},
)  # fmt: skip


@pytest.mark.parametrize("second", ["s", "x"])
@pytest.mark.parametrize("s", [LIST[:2], []])
def test_maps_of_sequences(s, second):
    """The body reads a value of the graph around it; further inputs are sequences or tensors."""
    nodes = [
        constant("two", np.float32(2)),
        node("SequenceMap", ["s", second], ["r", "q"], body=SUM),
    ]
    if s:
        check(nodes, {"s": s, "x": X[:1]}, ["r", "q"])
        return
    part = HostPart(model(nodes, {"s": s, "x": X}, {"r": s, "q": s}).SerializeToString())
    assert part.run({"s": [], "x": X}) == {"r": [], "q": []}


def test_sequences_of_different_lengths_are_not_mapped():
    mapped = node("SequenceMap", ["s", "t"], ["r", "q"], name="n", body=SUM)
    nodes = [constant("two", np.float32(2)), mapped]
    part = HostPart(model(nodes, {"s": LIST, "t": LIST}, {"r": LIST, "q": X}).SerializeToString())
    with pytest.raises(ExecutionError, match=r"'n' \(SequenceMap\).*\[2, 3\] elements"):
        part.run({"s": LIST, "t": LIST[:2]})


def test_loops_over_sequences():
    """A sequence is carried from round to round; the body reads what lies around the loop."""
    inner = body(
        [node("Add", ["x", "x"], ["y"]), node("SequenceInsert", ["s", "y"], ["more"]),
         node("Identity", ["going"], ["still"]), node("SequenceLength", ["more"], ["n"])],
        {"i": np.int64(0), "going": np.bool_(True), "s": LIST},
        {"still": np.bool_(True), "more": LIST, "n": np.int64(0)},
    )  # fmt: skip
    nodes = [node("Loop", ["trips", "", "s"], ["all", "lengths"], body=inner)]
    for trips in (3, 0):
        check(nodes, {"trips": np.array(trips), "s": LIST, "x": X}, ["all", "lengths"])


@pytest.mark.parametrize(
    "settings",
    [{}, {"scan_input_axes": [1], "scan_output_axes": [-1]},
     {"scan_input_directions": [1], "scan_output_directions": [1]}],
)  # fmt: skip
def test_scans(settings):
    row = X[0] if "scan_input_axes" not in settings else X[:, 0]
    total = node("ReduceSum", ["t"], ["sum"], keepdims=0)
    inner = body(
        [total, node("Add", ["c", "sum"], ["d"]), node("Add", ["t", "k"], ["out"])],
        {"c": row[0], "t": row}, {"d": row[0], "out": row},
    )  # fmt: skip
    nodes = [
        constant("k", np.float32(0.5)),
        node("Scan", ["c", "x"], ["last", "all"], body=inner, num_scan_inputs=1, **settings),
    ]
    check(
        nodes,
        {"c": np.array(1, np.float32), "x": X},
        ["last", "all"],
    )


def test_errors_name_the_node_of_a_body():
    inner = body(
        [helper.make_node("SequenceAt", ["s", "t"], ["u"], name="inner")], {"t": X}, {"u": X}
    )
    nodes = [node("SequenceMap", ["q"], ["r"], body=inner)]
    part = HostPart(model(nodes, {"s": LIST, "q": LIST}, {"r": LIST}).SerializeToString())
    with pytest.raises(ExecutionError, match=r"node 'inner' \(SequenceAt\).*position 9 is out of"):
        part.run({"s": LIST, "q": [np.asarray(9)]})


def test_calls_from_threads_do_not_meet():
    """Each with other values and sizes."""
    nodes = [node("TfIdfVectorizer", ["x"], ["y"], mode="TF", max_skip_count=1, **GRAMS)]
    part = HostPart(model(nodes, {"x": WORDS}, {"y": X}).SerializeToString())
    feeds = [{"x": strings(*"abba"[:n] * k)} for n in range(5) for k in range(4)]
    expected = [part.run(each)["y"] for each in feeds]
    found: dict[int, np.ndarray] = {}

    def call(index: int) -> None:
        for _ in range(20):
            found[index] = part.run(feeds[index])["y"]

    threads = [threading.Thread(target=call, args=(i,)) for i in range(len(feeds))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for index, each in enumerate(expected):
        np.testing.assert_array_equal(found[index], each)


@pytest.mark.parametrize(
    ("each", "reason"),
    [
        (ml("ZipMap", classlabels=[1]), "its attributes do not fit it"),
        (ml("CategoryMapper", cats_strings=["a"]), "0 keys for 1 values"),
        (ml("LabelEncoder", keys_strings=["a"]), "0 lists of values"),
        (node("RegexFullMatch", ["x"], ["y"], pattern="a("), "regular expression 'a\\('"),
        (node("RegexFullMatch", ["x"], ["y"], pattern=r"\pL"), "classes of Unicode"),
        (node("Tokenizer", ["x"], ["y"], "com.microsoft", **SPLIT), "separators or tokenexp"),
        (node("Bogus", ["x"], ["y"]), "no reference implementation"),
    ],
)
def test_why_not(each, reason):
    found = why_not(model([each], {"x": X}, {"y": X}).SerializeToString())
    assert found is not None
    assert reason.replace("\\", "") in found
