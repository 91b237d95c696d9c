"""Choices by shape: from the report of a compilation to the account of a record."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import graphc
from graphc.compiler.options import Options
from graphc.tools import gc_tune
from graphc.tuning import search, trials, tune
from graphc.tuning.candidate import Candidate, make_candidate
from graphc.tuning.search_space import SearchSpace

OPTIONS = {"target": "cpu:x86-64-v3", "threads": 1}
X = np.random.default_rng(0).standard_normal((1, 32, 24, 24)).astype(np.float32)


@pytest.fixture(scope="module")
def block() -> onnx.ModelProto:
    """Two 3x3 convolutions, and an inverted residual."""
    random, weights, nodes = np.random.default_rng(1), [], []

    def conv(x: str, y: str, *shape: int, **attributes) -> None:
        values = random.standard_normal(shape).astype(np.float32) / np.sqrt(np.prod(shape[1:]))
        weights.append(onnx.numpy_helper.from_array(values.astype(np.float32), f"w{y}"))
        nodes.append(helper.make_node("Conv", [x, f"w{y}"], [y], name=f"conv_{y}", **attributes))

    conv("x", "s", 64, 32, 3, 3, pads=[1] * 4)
    conv("s", "a", 32, 64, 3, 3, pads=[1] * 4)
    conv("a", "b", 64, 32, 1, 1)
    conv("b", "c", 64, 1, 3, 3, pads=[1] * 4, group=64)
    conv("c", "y", 32, 64, 1, 1)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, X.shape) for n in "xy")
    graph = helper.make_graph(nodes, "block", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(scope="module")
def options() -> Options:
    return Options.of(**OPTIONS)


def test_shapes_are_those_of_nodes(block, options):
    shapes = make_candidate(block, options, options.pipeline).shapes
    assert shapes == {
        "graph-winograd": {
            "1x24x24x32xf32+3x3x32x64xf32>1x24x24x64xf32": ["ws+conv_s"],
            "1x24x24x64xf32+3x3x64x32xf32>1x24x24x32xf32": ["wa+conv_a"],
        },
        "cpu-fuse-depthwise": {
            "1x24x24x64xf32+2x3x3x1x32xf32>1x24x24x64xf32": ["wc+conv_c"]
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "rewrite"),
    [("graph-winograd", "winograd-conv"), ("cpu-fuse-depthwise", "fuse-depthwise")],
)
def test_a_shape_is_skipped(block, options, name, rewrite):
    shapes = make_candidate(block, options, options.pipeline).shapes
    space = SearchSpace(options.pipeline, shapes)
    shape = min(shapes[name])
    text = space.pipeline(space.point({f"{name}.skip@{shape}": "true"}))
    candidate = make_candidate(block, options, text)
    statistics = candidate.compilation.report.rewrites[rewrite]
    assert statistics.count == len(shapes[name]) - 1
    assert statistics.declined["the option skip has its shapes"]
    assert shape not in candidate.shapes.get(name, ())
    (expected,) = graphc.compile(block, "interpret").run(None, {"x": X})
    with graphc.compile(block, pipeline=text, **OPTIONS) as model:
        np.testing.assert_allclose(model(X), expected, atol=1e-4 * np.abs(expected).max())


@pytest.fixture
def singles(monkeypatch):
    """No combinations are tried, and programs are told apart but not compiled."""
    monkeypatch.setattr(search, "PATIENCE", 0)
    monkeypatch.setattr(trials, "check_results", lambda contest: None)
    monkeypatch.setattr(Candidate, "compile", lambda self: self.digest.encode())


@pytest.mark.usefixtures("machine", "singles")
def test_a_record_is_explained(block, tmp_path, capsys):
    pytest.importorskip("sklearn")
    path, database = tmp_path / "m.onnx", tmp_path / "tuning.jsonl"
    onnx.save(block, path)
    result = tune(path, {"x": X}, database=database, budget=60, **OPTIONS)
    assert result.ratio == 1.0
    flags = [str(path), "--db", str(database), "--choices", "--target=cpu:x86-64-v3", "--threads=1"]
    assert gc_tune.main(flags) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("m: 1.000 of the default's time, ")
    line = "  graph-winograd takes 1x24x24x64xf32+3x3x64x32xf32>1x24x24x32xf32: wa+conv_a"
    assert lines[lines.index(line) + 1] == "    left alone: 1.000"
    assert "  graph-winograd.tile = 4" in lines
    assert "    0: 1.000" in lines
    assert gc_tune.main([*flags, "--precision=strict"]) == 2
    assert "no record of this model" in capsys.readouterr().err
    assert gc_tune.main([flags[0], "--choices"]) == 2
    assert "--choices takes the database" in capsys.readouterr().err


@pytest.mark.usefixtures("singles")
def test_a_record_of_shapes_is_looked_up(block, machine, tmp_path):
    machine["skip"] = 2.0  # where nothing is skipped
    database = tmp_path / "tuning.jsonl"
    result = tune(block, {"x": X}, database=database, budget=60, **OPTIONS)
    assert result.ratio == pytest.approx(0.5)
    assert any(".skip@" in name for name in result.record.changes)
    renamed = onnx.ModelProto.FromString(block.SerializeToString())
    for node in renamed.graph.node:
        node.name += "_renamed"
    with graphc.compile(renamed, tuning_database=database, **OPTIONS) as model:
        assert ".skip@" in model.report.chosen
        (expected,) = graphc.compile(block, "interpret").run(None, {"x": X})
        np.testing.assert_allclose(model(X), expected, atol=1e-4 * np.abs(expected).max())
