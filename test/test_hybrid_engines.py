"""The engine of nodes on the host, as callers choose it and see it."""

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphc
from graphc.errors import FeedError, UnsupportedModelError, UsageError
from graphc.tools.gc_compile import main as gc_compile
from graphc.tools.gc_run import main as gc_run

FLOATS = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N", 4])
TEXTS = helper.make_tensor_type_proto(TensorProto.STRING, ["N"])
NUMBERS = helper.make_tensor_type_proto(TensorProto.INT64, ["N"])
MAP = helper.make_map_type_proto(
    TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, [])
)
X = np.arange(12, dtype=np.float32).reshape(3, 4)


def model(nodes, inputs, outputs, initializers=()) -> onnx.ModelProto:
    infos = [
        [helper.make_value_info(name, type_) for name, type_ in each.items()]
        for each in (inputs, outputs)
    ]
    opsets = [("", 20), ("ai.onnx.ml", 3), ("com.microsoft", 1)]
    return helper.make_model(
        helper.make_graph(nodes, "model", *infos, initializers),
        opset_imports=[helper.make_opsetid(*each) for each in opsets],
        ir_version=10,
    )


def greeting() -> onnx.ModelProto:
    """The number of each name, which ONNX Runtime looks up, by way of a sequence in Python."""
    constants = {"zero": np.int64(0), "two": np.int64(2)}
    numbers = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    nodes = [
        helper.make_node(
            "LabelEncoder", ["x"], ["found"], name="find", domain="ai.onnx.ml",
            keys_strings=["a", "b"], values_int64s=[0, 1],
        ),
        helper.make_node("SplitToSequence", ["found", "two"], ["pair"], name="pair", axis=0),
        helper.make_node("SequenceAt", ["pair", "zero"], ["y"], name="pick"),
    ]  # fmt: skip
    return model(nodes, {"x": TEXTS}, {"y": NUMBERS}, numbers)


def test_the_report_says_which_engine_runs_a_node(tmp_path):
    made = graphc.compile(greeting())
    assert made(["b", "c"]).tolist() == [1, -1]
    (part,) = made.parts
    assert part.engines == {"find": "ONNX Runtime", "pair": "Python", "pick": "Python"}
    assert "run by ONNX Runtime: find" in str(made.report)
    assert made.report.to_dict()["parts"][0]["engines"] == part.engines
    path = tmp_path / "greeting.gcm"
    made.save(path)
    assert b"ONNX Runtime" not in path.read_bytes()  # the file may run elsewhere
    for host, engine in (("python", "Python"), ("onnxruntime", "ONNX Runtime")):
        with graphc.load(path, host=host) as loaded:
            assert set(loaded.parts[0].engines.values()) == {engine}
            assert loaded(["b", "c"]).tolist() == [1, -1]
    with pytest.raises(UsageError, match="host must be one of auto, onnxruntime, python"):
        graphc.load(path, host="numpy")


@pytest.mark.parametrize(
    ("given", "engine"),
    [
        ({"host": "python"}, "Python"),
        ({"precision": "strict"}, "Python"),
        ({"precision": "strict", "host": "onnxruntime"}, "ONNX Runtime"),
        ({"target": "interpret"}, "ONNX Runtime"),
    ],
)
def test_engines_of_compilations(given, engine):
    with graphc.compile(greeting(), **given) as made:
        assert made.parts[0].engines["find"] == engine
        assert made(["a"]).tolist() == [0]


def test_strict_models_stay_in_python_when_they_are_loaded(tmp_path):
    path = tmp_path / "strict.gcm"
    graphc.compile(greeting(), precision="strict").save(path)
    assert set(graphc.load(path).parts[0].engines.values()) == {"Python"}


def test_operators_that_only_onnxruntime_has():
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="relu"),
        helper.make_node("SampleOp", ["r"], ["y"], name="sample", domain="com.microsoft"),
    ]
    own = model(nodes, {"x": FLOATS}, {"y": FLOATS})
    with graphc.compile(own) as made:
        assert [part.native for part in made.parts] == [True, False]
        np.testing.assert_array_equal(made(-X), np.maximum(-X, 0))
    with pytest.raises(UnsupportedModelError, match="no reference implementation"):
        graphc.compile(own, host="python", cache=False)
    assert graphc.check(own).compiles
    assert not graphc.check(own, host="python").compiles


def test_tools_take_the_engine(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    onnx.save(greeting(), "greeting.onnx")
    np.save("x.npy", np.array(["b"]))
    assert gc_compile(["greeting.onnx", "--host-engine=python", "--check"]) == 0
    assert gc_compile(["greeting.onnx", "--host-engine=python"]) == 0
    assert gc_run(["greeting.gcm", "--host-engine=onnxruntime", "--input", "x=@x.npy"]) == 0
    assert gc_run(["greeting.gcm", "--no-host", "--input", "x=@x.npy"]) == 2
    assert "host=False refuses a file" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["python", "auto"])
def test_results_are_the_callers_own(host):
    """Writing to one changes no feed, no constant and no other result."""
    kept = numpy_helper.from_array(np.float32([1, 2]), "kept")
    sequence = helper.make_sequence_type_proto(FLOATS)
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["s"], axis=0),
        helper.make_node("Constant", [], ["c"], value_strings=["text"]),
        helper.make_node("Identity", ["s"], ["t"]),
    ]
    ends = {
        "s": sequence, "t": sequence, "c": TEXTS,
        "kept": helper.make_tensor_type_proto(TensorProto.FLOAT, [2]),
    }  # fmt: skip
    made = graphc.compile(model(nodes, {"x": FLOATS}, ends, [kept]), host=host)
    given = X.copy()
    s, t, c, k = made(given)
    for array in (*s, c, k):
        array[:] = "z" if array.dtype.hasobject else 7
    np.testing.assert_array_equal(given, X)
    np.testing.assert_array_equal(np.concatenate(t), X)
    _, _, c, k = made(given)
    assert (c.tolist(), k.tolist()) == (["text"], [1, 2])


def test_maps_hold_values_of_their_type():
    """Python's floats are rounded to those of the map; ONNX Runtime does it, too."""
    node = helper.make_node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml",
                            string_vocabulary=["a", "b"])  # fmt: skip
    made = graphc.compile(model([node], {"x": MAP}, {"y": FLOATS}))
    for values in ({"a": 0.1, "b": 1}, {"b": np.float32(1), "a": 0.1}):
        given = made(values)
        assert (given.dtype, given.tolist()) == (np.float32, [[np.float32(0.1), 1]])
    cast = helper.make_node("CastMap", ["x"], ["y"], domain="ai.onnx.ml", cast_to="TO_INT64")
    numbers = helper.make_map_type_proto(TensorProto.INT64, MAP.map_type.value_type)
    almost = 1 - 1e-12  # which is 1 in float32
    made_of_numbers = graphc.compile(model([cast], {"x": numbers}, {"y": NUMBERS}))
    assert made_of_numbers({3: almost, 1: 0.5}).tolist() == [[0, 1]]
    with pytest.raises(FeedError, match=r"'x'\['a'\] must be float32, given float64"):
        made({"a": np.float64(1)})
    with pytest.raises(FeedError, match="has the key 1"):
        made({1: 0.5})


def test_what_is_loaded_for_a_host_part(tmp_path):
    """ONNX Runtime where it runs nodes, `onnx.reference` for nothing that is ours."""
    paths = []
    for name, nodes in (
        ("session", [helper.make_node("StringSplit", ["x"], ["y", "n"], delimiter="-")]),
        ("python", [helper.make_node("StringConcat", ["x", "x"], ["y"])]),
    ):
        paths.append(tmp_path / f"{name}.gcm")
        text = helper.make_tensor_type_proto(TensorProto.STRING, None)
        graphc.compile(model(nodes, {"x": TEXTS}, {"y": text})).save(paths[-1])
    code = f"""
import sys, graphc
assert "onnxruntime" not in sys.modules
with graphc.load({str(paths[0])!r}) as model:
    assert model(["a-b"]).tolist() == [["a", "b"]]
assert "onnx.reference" not in sys.modules
for name in [name for name in sys.modules if name.startswith("onnxruntime")]:
    del sys.modules[name]
with graphc.load({str(paths[1])!r}) as model:
    assert model(["a"]).tolist() == ["aa"]
assert "onnxruntime" not in sys.modules
assert "onnx.reference" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
