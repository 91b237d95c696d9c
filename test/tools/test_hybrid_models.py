"""The tools on models of which some nodes run on the host."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from tool_models import dense, unsupported, write

from graphc.tools.gc_compile import main as gc_compile
from graphc.tools.gc_run import main as gc_run


@pytest.fixture(scope="module")
def greeting(tmp_path_factory):
    """A model on strings: ``y = "hello " + name``."""
    text = helper.make_tensor_type_proto(TensorProto.STRING, [1])
    hello = helper.make_tensor("hello", TensorProto.STRING, [1], [b"hello "])
    node = helper.make_node("StringConcat", ["hello", "name"], ["y"], name="greet")
    graph = helper.make_graph(
        [node], "g", [helper.make_value_info("name", text)], [helper.make_value_info("y", text)],
        [hello],
    )  # fmt: skip
    path = tmp_path_factory.mktemp("models") / "greeting.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)
    return path


def test_compiled_and_run(greeting, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert gc_compile([str(greeting), "--report"]) == 0
    assert "greet: 'hello' is a tensor of strings" in capsys.readouterr().out
    np.save("name.npy", np.array(["you"]))
    assert gc_run(["greeting.gcm", "--input", "name=@name.npy"]) == 0
    assert "hello you" in capsys.readouterr().out
    assert gc_run(["greeting.gcm"]) == 1
    assert "--input must give name: string[1]" in capsys.readouterr().err


def test_what_a_vmfb_cannot_hold(greeting, tmp_path, capsys):
    assert gc_compile([str(greeting), "-o", str(tmp_path / "x.vmfb")]) == 1
    assert "name it .gcm" in capsys.readouterr().err
    assert gc_compile([str(greeting), "--no-host", "-o", str(tmp_path / "x.vmfb")]) == 1
    assert "not supported" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_check(greeting, tmp_path, capsys):
    assert gc_compile([str(greeting), "--check"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1 nodes: 1 host"
    assert lines[1].split() == ["where", "node", "operator", "reason"]
    assert lines[2].split()[:4] == ["host", "greet", "ai.onnx.StringConcat", "(20)"]
    assert gc_compile([str(greeting), "--check", "--no-host"]) == 1
    assert gc_compile([str(write(unsupported(), tmp_path / "no.onnx")), "--check"]) == 1
    assert gc_compile([str(write(dense(), tmp_path / "dense.onnx")), "--check", "--no-host"]) == 0
    assert capsys.readouterr().out.endswith("3 nodes: 3 native\n")
    assert {path.suffix for path in tmp_path.iterdir()} == {".onnx"}
