"""Nodes on the host run by ONNX Runtime or in Python, with the same results."""

import logging
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from graphc.benchmarks.host_models import host_cases
from graphc.errors import DeviceError, ExecutionError, MissingPackageError, UsageError
from graphc.runtime.host import opening, part
from graphc.runtime.host.engine_choice import AUTO, ENGINES, ONNXRUNTIME, PYTHON, read_engine
from graphc.runtime.host.engines import deviation, needs_threads
from graphc.runtime.host.onnxruntime_session import OnnxRuntimeSession
from graphc.runtime.host.part import HostPart, why_not
from graphc.runtime.host.registry import HostError
from graphc.runtime.host.segments import Divider

ML, MICROSOFT = "ai.onnx.ml", "com.microsoft"
OPSETS = [("", 20), (ML, 3), (MICROSOFT, 1)]
WORDS = np.array(["a-b", "c", "a", "", "é-ß"], object)


def strings(*shape) -> onnx.TypeProto:
    return helper.make_tensor_type_proto(TensorProto.STRING, shape)


def floats(*shape) -> onnx.TypeProto:
    return helper.make_tensor_type_proto(TensorProto.FLOAT, shape)


def integers(*shape) -> onnx.TypeProto:
    return helper.make_tensor_type_proto(TensorProto.INT64, shape)


def node(op_type, inputs, outputs, domain="", **attributes) -> onnx.NodeProto:
    """A node called by its first output."""
    names = outputs.split()
    return helper.make_node(op_type, inputs.split(), names, names[0], domain=domain, **attributes)


def model(nodes, inputs, outputs, values=None, initializers=()) -> bytes:
    infos = [
        [helper.make_value_info(name, type_) for name, type_ in each.items()]
        for each in (inputs, outputs, values or {})
    ]
    graph = helper.make_graph(
        nodes, "g", *infos[:2], initializer=list(initializers), value_info=infos[2]
    )
    opsets = [helper.make_opsetid(*each) for each in OPSETS]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def encoder(x="x", y="y", **attributes) -> onnx.NodeProto:
    given = {"keys_strings": ["a", "b"], "values_int64s": [0, 1], **attributes}
    return node("LabelEncoder", x, y, ML, **given)


LOOKUP = model([encoder()], {"x": strings("n")}, {"y": integers("n")})


def assert_same(given, expected):
    if isinstance(expected, list):
        assert len(given) == len(expected)
        for one, other in zip(given, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, dict):
        assert given.keys() == expected.keys()  # ONNX Runtime sorts them
        assert {*map(type, given.values())} == {*map(type, expected.values())}
        ordered = [given[key] for key in expected]
        np.testing.assert_allclose(ordered, [*expected.values()], rtol=1e-5)
    else:
        assert (given.dtype, given.shape) == (expected.dtype, expected.shape)
        compare = (
            np.testing.assert_allclose if given.dtype.kind == "f" else np.testing.assert_array_equal
        )
        compare(given, expected)


@pytest.mark.parametrize("batch", [1, 5])
def test_engines_agree(batch):
    """The models of the benchmark; StringNormalizer runs in Python where a locale is missing."""
    for case in host_cases((batch,)):
        contents = case.model.SerializeToString()
        expected = HostPart(contents, PYTHON).run(case.feeds)
        for engine in (AUTO, ONNXRUNTIME):
            given = HostPart(contents, engine).run(case.feeds)
            assert given.keys() == expected.keys(), case.name
            for name in expected:
                assert_same(given[name], expected[name])


CHAIN = [
    node("StringConcat", "x x", "twice"),
    node("StringSplit", "twice", "parts counts", delimiter="-"),
    node("Gather", "parts zero", "first", axis=1),
    encoder("first", "number"),
    node("SequenceConstruct", "number number", "pair"),
]
CHAIN_TYPES = {
    "twice": strings("n"), "parts": strings("n", "m"), "counts": integers("n"),
    "first": strings("n"), "number": integers("n"),
}  # fmt: skip
ZERO = numpy_helper.from_array(np.int64(0), "zero")


def chain() -> bytes:
    outputs = {"pair": helper.make_sequence_type_proto(integers("n"))}
    return model(CHAIN, {"x": strings("n")}, outputs, CHAIN_TYPES, [ZERO])


def test_nodes_run_where_they_are_faster():
    """StringConcat and Gather are as fast in Python, and join the session beside them."""
    host = HostPart(chain())
    assert host.engines == {
        "twice": "ONNX Runtime", "parts": "ONNX Runtime", "first": "ONNX Runtime",
        "number": "ONNX Runtime", "pair": "Python",
    }  # fmt: skip
    expected = HostPart(chain(), PYTHON)
    assert set(expected.engines.values()) == {"Python"}
    assert_same(host.run({"x": WORDS})["pair"], expected.run({"x": WORDS})["pair"])
    everything = HostPart(chain(), ONNXRUNTIME)
    assert set(everything.engines.values()) == {"ONNX Runtime"}
    assert_same(everything.run({"x": WORDS})["pair"], expected.run({"x": WORDS})["pair"])


def test_as_few_segments_as_the_longest_path_changes_sides():
    """Independent of the order of the nodes; a constant belongs to each segment that reads it."""
    text = helper.make_tensor("t", TensorProto.STRING, [1], [b"-"])
    nodes = [
        node("Constant", "", "mark", value=text),
        node("StringConcat", "x mark", "p0"),
        node("RegexFullMatch", "p0", "s0", pattern="a.*"),
        node("StringConcat", "p0 mark", "p1"),
        node("RegexFullMatch", "p1", "s1", pattern="a.*"),
    ]
    graph = onnx.ModelProto.FromString(model(nodes, {"x": strings("n")}, {"s1": floats("n")})).graph
    divider = Divider(graph)
    first, second = divider.divide([False, False, True, False, True])
    assert (first.nodes, first.inputs, first.outputs) == ((0, 1, 3), ("x",), ("p0", "p1"))
    assert (second.nodes, second.inputs, second.outputs) == ((2, 4), ("p0", "p1"), ("s1",))
    assert divider.pull_in([False, False, True, False, True], [True] * 5)[3] is False


def test_what_joins_a_session():
    """A node before it that gives to nobody else, and one after it that reads nothing else."""
    nodes = [
        node("StringConcat", "x x", "own"),
        node("StringConcat", "x x", "shared"),
        node("RegexFullMatch", "own", "s0", pattern="a"),
        node("RegexFullMatch", "shared", "s1", pattern="a"),
        node("Reshape", "s0 sizes", "after"),
        node("StringNormalizer", "shared", "other"),
        node("Where", "s1 other shared", "mixed"),
        node("Reshape", "mixed sizes", "last"),
    ]
    outputs = {"after": floats("n"), "last": strings("n")}
    graph = onnx.ModelProto.FromString(model(nodes, {"x": strings("n")}, outputs)).graph
    session = [False, False, True, True, False, False, False, False]
    everyone = [True] * 5 + [False, True, True]
    joined = Divider(graph).join_border(session, everyone, everyone)
    assert joined == [True, False, True, True, True, False, False, False]


def test_values_of_subgraphs_are_read():
    """A branch in a session reads a value of Python."""

    def branch(name):
        return helper.make_graph([node("Identity", "twice", name)], name, [],
                                 [helper.make_value_info(name, strings("n"))])  # fmt: skip

    choose = node("If", "c", "y", then_branch=branch("t"), else_branch=branch("e"))
    contents = model(
        [node("StringNormalizer", "x", "twice", case_change_action="UPPER"), choose],
        {"x": strings("n"), "c": helper.make_tensor_type_proto(TensorProto.BOOL, [])},
        {"y": strings("n")},
        {"twice": strings("n")},
    )
    host = HostPart(contents)
    assert host.engines == {"twice": "Python", "y": "ONNX Runtime"}
    given = host.run({"x": WORDS[:2], "c": np.array(True)})
    assert given["y"].tolist() == ["A-B", "C"]


@pytest.mark.parametrize(
    ("each", "reason"),
    [
        (node("StringSplit", "x", "y n"), "splits only at blanks"),
        (node("StringNormalizer", "x", "y"), "a locale that the machine may lack"),
        (node("LabelEncoder", "x", "y", ML, keys_floats=[float("nan")]), "the key NaN"),
        (node("MaxUnpool", "x i s", "y", kernel_shape=[2]), "indices"),
        (node("Resize", "x", "y", coordinate_transformation_mode="align_corners"), "corners"),
        (node("StringSplit", "x", "y n", delimiter="-"), None),
        (node("Resize", "x", "y"), None),
    ],
)
def test_deviations_of_onnxruntime_from_onnx(each, reason):
    found = deviation(each, onnx.ModelProto())
    assert (found is None) == (reason is None)
    assert reason is None or reason in found


def test_deviations_within_other_nodes():
    split = node("StringSplit", "a", "b n")
    function = helper.make_function("own", "Halves", ["a"], ["b"], [split], [])
    calling = helper.make_model(helper.make_graph([], "g", [], []), functions=[function])
    call = node("Halves", "x", "y", "own")
    assert "StringSplit in it" in deviation(call, calling)
    body = helper.make_graph([call], "body", [], [])
    assert "StringSplit in it" in deviation(node("If", "c", "y", then_branch=body), calling)


def test_a_deviation_is_the_reason_for_python():
    contents = model(
        [node("StringSplit", "x", "y n")], {"x": strings("n")}, {"y": strings("n", "m")}
    )
    host = HostPart(contents)
    assert "deviates from ONNX: without a delimiter" in host.engines["y"]
    assert host.run({"x": np.array(["a\tb"], object)})["y"].tolist() == [["a", "b"]]


def test_python_takes_over_where_onnxruntime_fails(caplog):
    """Half of a surrogate pair is no UTF-8, and yet a key that is not there."""
    host = HostPart(LOOKUP)
    broken = {"x": np.array(["b", "\ud800"], object)}
    for _ in range(2):
        assert host.run(broken)["y"].tolist() == [1, -1]
    (record,) = caplog.records
    assert "nodes 'y' ran in Python" in record.message
    with pytest.raises(
        ExecutionError, match=r"nodes 'y', which ONNX Runtime runs, failed: .*utf-8"
    ):
        HostPart(LOOKUP, ONNXRUNTIME).run(broken)


def test_a_node_that_fails_in_both_is_named(caplog):
    read = node("Cast", "x", "y", to=TensorProto.FLOAT)
    host = HostPart(model([read], {"x": strings("n")}, {"y": floats("n")}))
    with pytest.raises(ExecutionError, match=r"node 'y' \(Cast\).*'a' is no number"):
        host.run({"x": WORDS[2:3]})
    assert not caplog.records


def test_nodes_that_onnxruntime_refuses_run_in_python(caplog):
    pytest.importorskip("PIL")
    (case,) = [case for case in host_cases(()) if case.name.startswith("ImageDecoder")]
    with caplog.at_level(logging.WARNING, "graphc"):
        host = HostPart(case.model.SerializeToString(), ONNXRUNTIME)
    assert "ONNX Runtime does not take it" in caplog.text
    (engine,) = host.engines.values()
    assert engine.startswith("Python: ")
    assert host.run(case.feeds)["y"].shape == (224, 224, 3)


def test_a_node_that_is_refused_leaves_the_others_their_session(caplog):
    nodes = [encoder("x", "a"), node("NoSuchOp", "a", "b"), encoder("x", "c", values_int64s=[5, 6])]
    contents = model(nodes, {"x": strings("n")}, {"c": integers("n")}, {"a": integers("n")})
    proto = onnx.ModelProto.FromString(contents)
    opener = opening.SegmentOpener(proto, AUTO, 1)
    opened = opener.open()
    assert list(opener.reasons) == [1]
    assert [(each.nodes, bool(session)) for each, session in opened] == [
        ((0, 2), True), ((1,), False),
    ]  # fmt: skip
    with pytest.raises(DeviceError, match=r"node 'b' \(NoSuchOp\): ONNX has no reference"):
        HostPart(contents)


@pytest.mark.parametrize("kind", [TensorProto.BFLOAT16, TensorProto.FLOAT8E5M2])
def test_values_that_are_no_numpy_arrays_stay_in_python(kind):
    wide = helper.make_tensor_type_proto(kind, ["n"])
    host = HostPart(model([node("Cast", "x", "y", to=kind)], {"x": floats("n")}, {"y": wide}))
    assert "cannot pass as a numpy array" in host.engines["y"]
    assert host.run({"x": np.ones(2, np.float32)})["y"].astype(float).tolist() == [1, 1]


def test_values_of_unknown_type_stay_in_python():
    contents = model([encoder()], {"x": onnx.TypeProto()}, {"y": integers("n")})
    host = HostPart(contents)
    assert host.engines == {"y": "Python: the type of 'x' is not known"}
    assert host.run({"x": WORDS})["y"].tolist() == [-1, -1, 0, -1, -1]


def test_feeds_of_other_byte_orders_and_scalars():
    spell = node("Cast", "x", "y", to=TensorProto.STRING)
    host = HostPart(model([spell], {"x": integers("n")}, {"y": strings("n")}))
    assert host.run({"x": np.array([1, 258], ">i8")})["y"].tolist() == ["1", "258"]
    host = HostPart(model([spell], {"x": integers()}, {"y": strings()}))
    assert host.run({"x": np.int64(7)})["y"].tolist() == "7"


def test_constants_and_inputs_among_the_results():
    """A part may return them beside what its session computes."""
    outputs = {"y": integers("n"), "x": strings("n"), "zero": integers()}
    host = HostPart(model([encoder()], {"x": strings("n")}, outputs, {}, [ZERO]))
    given = host.run({"x": WORDS})
    assert (given["y"].shape, given["zero"].tolist()) == ((5,), 0)
    assert given["x"] is WORDS
    assert not host.owns_results
    assert HostPart(LOOKUP).owns_results
    assert not HostPart(LOOKUP, PYTHON).owns_results


def test_calls_overlap():
    host = HostPart(chain())
    feeds = [{"x": np.array(["a-"] * size, object)} for size in range(1, 9)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(host.run, feeds * 20))
    for number, result in enumerate(results):
        assert result["pair"][0].tolist() == [0] * (number % 8 + 1)


@pytest.fixture
def without_onnxruntime(monkeypatch):
    for module in (opening, part):
        monkeypatch.setattr(module, "is_installed", lambda: False)


@pytest.mark.usefixtures("without_onnxruntime")
def test_without_the_package(caplog):
    host = HostPart(LOOKUP)
    assert host.run({"x": WORDS})["y"].tolist() == [-1, -1, 0, -1, -1]
    assert host.engines["y"].startswith("Python: the package onnxruntime is not installed: pip")
    (record,) = caplog.records
    assert "nodes 'y' run in Python, which is slower" in record.message
    with pytest.raises(MissingPackageError, match=r"pip install 'graphc\[onnxruntime\]'"):
        HostPart(LOOKUP, ONNXRUNTIME)


SAMPLE = model([node("SampleOp", "x", "y", MICROSOFT)], {"x": floats("n")}, {"y": floats("n")})


def test_operators_that_only_onnxruntime_has():
    assert why_not(SAMPLE) is None
    assert "no reference implementation" in why_not(SAMPLE, PYTHON)
    assert HostPart(SAMPLE).run({"x": np.ones(2, np.float32)})["y"].tolist() == [1, 1]


def test_onnxruntime_reads_no_files(tmp_path, monkeypatch):
    """The data of an attribute may lie elsewhere while a model is divided."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_bytes(bytes(8))
    proto = onnx.ModelProto.FromString(SAMPLE)
    value = proto.graph.node.add(op_type="Constant", output=["c"]).attribute.add(
        name="value", type=onnx.AttributeProto.TENSOR
    ).t  # fmt: skip
    value.CopyFrom(onnx.TensorProto(data_type=TensorProto.FLOAT, dims=[2], data_location=1))
    value.external_data.add(key="location", value="secret")
    assert "lies in another file" in why_not(proto.SerializeToString())


@pytest.mark.usefixtures("without_onnxruntime")
def test_what_only_onnxruntime_has_needs_it():
    assert "no reference implementation" in why_not(SAMPLE)
    with pytest.raises(DeviceError, match="ONNX Runtime may run it, but the package"):
        HostPart(SAMPLE)


def test_a_session_reads_onnx_alone():
    """Not ONNX Runtime's own format, whose files begin with a size and ORTM."""
    with pytest.raises(HostError):
        OnnxRuntimeSession(b"\x08\x00\x00\x00ORTM" + bytes(64), 1)


def test_sessions_of_strings_have_no_threads_of_their_own():
    assert not any(map(needs_threads, CHAIN))
    assert needs_threads(node("If", "c", "y"))
    assert needs_threads(node("MatMul", "a b", "y"))


def test_names_of_engines():
    assert [read_engine(each) for each in (True, *ENGINES)] == [AUTO, *ENGINES]
    with pytest.raises(
        UsageError, match="host must be one of auto, onnxruntime, python, not 'gpu'"
    ):
        read_engine("gpu")
