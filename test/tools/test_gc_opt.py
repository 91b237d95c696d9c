"""gc-opt as a process and as a function: inputs, exit codes, signals and pipes."""

import signal
import subprocess
import sys

import onnx
import pytest
from onnx import TensorProto, helper

from graphc.tools.gc_opt import main

RELU = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
TOOL = [sys.executable, "-m", "graphc.tools.gc_opt"]

SLOW = '''
import time
from dataclasses import dataclass
from graphc.passes.infra.base import Pass
from graphc.passes.infra.registry import register

@register
@dataclass(frozen=True)
class Slow(Pass):
    """Take long."""

    name = "test-slow"

    def run(self, op, state):
        print("running", flush=True)
        time.sleep(60)
'''


@pytest.fixture
def relu(tmp_path):
    path = tmp_path / "relu.mlir"
    path.write_text(RELU)
    return path


@pytest.fixture
def onnx_model(tmp_path):
    node = helper.make_node("Relu", ["x"], ["y"], name="the relu")
    graph = helper.make_graph(
        [node],
        "main",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])],
    )
    path = tmp_path / "relu.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def test_onnx_models(onnx_model, capsys):
    options = ["--graph-specialize-dims=dims=batch=2", "--mlir-print-debuginfo"]
    assert main([*options, str(onnx_model)]) == 0
    printed = capsys.readouterr().out
    assert '"graph.relu"' in printed
    assert "tensor<2x4xf32>" in printed
    assert 'loc("the relu")' in printed


def test_files_that_are_no_model(tmp_path, capsys):
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"not a model")
    assert main([str(path)]) == 1
    assert capsys.readouterr().err.startswith("error: ")
    path = tmp_path / "binary.mlir"
    path.write_bytes(b"\xff\xfe\x00")
    assert main([str(path)]) == 1
    assert "is neither MLIR text nor MLIR bytecode" in capsys.readouterr().err


def test_output_files(relu, tmp_path, capsys):
    out = tmp_path / "out.mlir"
    assert main(["-o", str(out), str(relu)]) == 0
    assert "graph.relu" in out.read_text()
    assert capsys.readouterr().out == ""
    assert main(["-o", str(tmp_path / "no" / "such" / "folder.mlir"), str(relu)]) == 1
    assert "cannot write" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--no-such-pass"], 2, "no pass 'no-such-pass'"),
        (["--cse", "--pass-pipeline=cse"], 2, "exclude each other"),
        (["--pass-pipeline=cse("], 2, "in the pipeline"),
        (["another.mlir"], 2, "one file at a time"),
        (["--graph-specialize-dims=dims=n=1"], 2, "no dimension 'n'"),
        (["--func.func"], 2, "no pass 'func.func'"),
        (["--emit-bytecode", "--split-input-file", "-o-"], 0, None),
    ],
)
def test_exit_codes(relu, arguments, code, message, capsysbinary):
    assert main([*arguments, str(relu)]) == code
    error = capsysbinary.readouterr().err.decode()
    assert error == "" if message is None else message in error
    assert error.count("error: ") == (message is not None)


def test_parts_that_fail_do_not_stop_the_others(tmp_path, capsys):
    path = tmp_path / "parts.mlir"
    path.write_text(f"{RELU}// -----\nnonsense\n// -----\n{RELU}")
    assert main(["--split-input-file", str(path)]) == 1
    out, err = capsys.readouterr()
    assert out.count("graph.relu") == 2
    assert f"{path}:6:1: " in err


def test_unregistered_ops_need_permission(tmp_path, capsys):
    path = tmp_path / "foreign.mlir"
    path.write_text('"foreign.op"() : () -> ()')
    assert main([str(path)]) == 1
    assert "foreign" in capsys.readouterr().err
    assert main(["--allow-unregistered-dialect", str(path)]) == 0


def test_verification_can_be_turned_off(relu, capsys):
    assert main(["--verify-each=false", "--graph-simplify", str(relu)]) == 0
    with pytest.raises(SystemExit) as caught:
        main(["--verify-each=perhaps", str(relu)])
    assert caught.value.code == 2


def test_a_closed_pipe_is_quiet(relu):
    command = " ".join([*TOOL, str(relu), "| true"])
    result = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True)
    assert result.stderr == b""
    assert result.returncode in (0, 141)


def test_ctrl_c(relu, tmp_path):
    plugin = tmp_path / "slow.py"
    plugin.write_text(SLOW)
    process = subprocess.Popen(
        [*TOOL, f"--load-plugin={plugin}", "--test-slow", str(relu)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=50)
    assert process.returncode == 130
    assert err == "interrupted\n"


def test_bytecode_does_not_go_to_a_terminal(relu, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["--emit-bytecode", str(relu)]) == 1
    assert "name a file with -o" in capsys.readouterr().err
