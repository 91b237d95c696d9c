"""gc-reduce makes models small, and its folder shows what is wrong."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from planted_rules import plant
from tool_models import dense, write

from graphc.compiler import driver
from graphc.debugging.ddmin import ddmin
from graphc.dialects import graph
from graphc.passes.kernels import scalar_functions
from graphc.tools.gc_reduce import main

from .faults import QUICK, chain, planted, run_script


def reduced(folder):
    model = onnx.load(folder / "model.onnx")
    onnx.checker.check_model(model)
    return model, [node.op_type for node in model.graph.node]


def test_a_wrong_rewrite(tmp_path, capsys):
    folder = tmp_path / "out"
    assert main([*planted(before="test-turn-sums"), "-o", str(folder)]) == 0
    out, log = capsys.readouterr()
    model, ops = reduced(folder)
    assert ops == ["Add"]
    for tensor in model.graph.input:
        assert {dim.dim_value for dim in tensor.type.tensor_type.shape.dim} <= {1}
    for index in range(len(model.graph.input)):
        assert set(np.load(folder / f"input{index}.npy").ravel()) <= {0, 1}
    assert out.startswith("188 nodes became 1 (Add) in ")
    assert "94 nodes: shows it" in log
    again = run_script(folder / "reproduce.sh")
    assert (again.returncode, "WRONG" in again.stdout) == (1, True), again.stderr


def test_a_pass_that_fails(tmp_path, capsys):
    folder = tmp_path / "out"
    assert main([*planted(after="test-crash-at-gelu"), "-o", str(folder), "--quiet"]) == 0
    _, ops = reduced(folder)
    assert ops == ["Div", "Erf", "Add", "Mul", "Mul"]  # what is recognised as gelu
    again = run_script(folder / "reproduce.sh")
    assert again.returncode == 1
    assert "ZeroDivisionError: planted" in again.stderr


def test_an_error_that_is_none_of_graphc(tmp_path, monkeypatch):
    """A mistake of graphc's own is reduced as its errors are."""

    def fail_at_tanh(function, cpu):
        del cpu
        if any(op.operation.name == "graph.tanh" for op in function.regions[0].blocks[0]):
            raise ValueError("planted")
        return []

    monkeypatch.setattr(driver, "largest_live_sets", fail_at_tanh)
    path = write(chain(), tmp_path / "chain.onnx")
    assert main([str(path), "--dim=n=2", *QUICK, "-o", str(tmp_path / "out"), "--quiet"]) == 0
    assert reduced(tmp_path / "out")[1] == ["Tanh"]


def test_wrong_code(tmp_path, capsys, monkeypatch):
    plant(monkeypatch, graph.TanhOp, lambda op, x: scalar_functions.sigmoid(x))
    path = write(chain(), tmp_path / "chain.onnx")
    assert main([str(path), "--dim=n=2", *QUICK, "-o", str(tmp_path / "out"), "--quiet"]) == 0
    _, ops = reduced(tmp_path / "out")
    assert ops == ["Tanh"]
    assert run_script(tmp_path / "out" / "reproduce.sh").returncode == 0  # without the fault


def test_wrong_code_where_sizes_have_names(tmp_path, capsys, monkeypatch):
    """They keep them, as it is not shown otherwise."""

    def wrong(op, x):
        known = graph.type_of(op.x).is_static
        return scalar_functions.tanh(x) if known else scalar_functions.sigmoid(x)

    plant(monkeypatch, graph.TanhOp, wrong)
    path = write(chain(), tmp_path / "chain.onnx")
    assert main([str(path), *QUICK, "-o", str(tmp_path / "out"), "--quiet"]) == 0
    model, ops = reduced(tmp_path / "out")
    assert ops == ["Add", "Exp", "Tanh"]
    (size,) = {info.name: info for info in model.graph.input}["x"].type.tensor_type.shape.dim[:1]
    assert size.dim_param == "n"


def test_a_predicate_of_the_user(tmp_path, capsys):
    """A command that knows nothing of numbers."""
    path = write(chain(), tmp_path / "chain.onnx")
    predicate = "grep -q Tanh {} && grep -q Relu {}"
    assert main([str(path), "-o", str(tmp_path / "out"), "--predicate", predicate]) == 0
    _, ops = reduced(tmp_path / "out")
    assert ops == ["Relu", "Tanh"]
    assert run_script(tmp_path / "out" / "reproduce.sh").returncode == 0


def test_nothing_to_reduce(tmp_path, capsys):
    path = write(dense(), tmp_path / "dense.onnx")
    folder = tmp_path / "out"
    assert main([str(path), "--target=interpret", "-o", str(folder)]) == 1
    assert "error: there is nothing to reduce" in capsys.readouterr().err
    assert main([str(path), "--target=interpret", "-o", str(folder), "--predicate=false {}"]) == 1
    assert not folder.exists()


def test_old_models(tmp_path):
    """Whose initializers are inputs, too, as they had to be once."""
    made = chain()
    made.ir_version = 3
    info = onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [5])
    made.graph.input.append(info)
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(3, np.float32), "unused"))
    path = write(made, tmp_path / "chain.onnx")
    arguments = ["-o", str(tmp_path / "out"), "--predicate=grep -q Exp {}", "--quiet"]
    assert main([str(path), *arguments]) == 0
    assert reduced(tmp_path / "out")[1] == ["Exp"]


@pytest.mark.parametrize("wanted", [{3}, {0, 7}, {1, 2, 15}, set(range(16)), {5, 6, 7, 8}])
def test_ddmin(wanted):
    trials = []

    def shows(items):
        trials.append(items)
        return wanted <= set(items)

    assert set(ddmin(range(16), shows)) == wanted
    assert len(trials) < 16**2


PROGRAM = """
func.func @main(%x: TYPE) -> TYPE {
  %w = "graph.constant"() {value = dense<0.5> : tensor<6x6xf32>} : () -> tensor<6x6xf32>
  %0 = "graph.matmul"(%x, %w) : (TYPE, tensor<6x6xf32>) -> TYPE
  %1 = "graph.relu"(%0) : (TYPE) -> TYPE loc("the relu")
  %2 = "graph.add"(%1, %x) : (TYPE, TYPE) -> TYPE
  return %2 : TYPE
}
""".replace("TYPE", 'tensor<?x6xf32, ["n"]>')
PLUGIN = str(Path(__file__).parent.parent / "tools" / "gc-opt" / "Inputs" / "plugin.py")


@pytest.mark.parametrize("fault", ["test-relu-to-sigmoid", "test-crash"])
def test_programs(fault, tmp_path, capsys):
    """Wrong results, or an error: what is left is the op that it is about, of size one."""
    source, folder = tmp_path / "program.mlir", tmp_path / "out"
    source.write_text(PROGRAM)
    passes = f"--pass-pipeline=func.func(cse,{fault})"
    assert main([str(source), passes, f"--load-plugin={PLUGIN}", "-o", str(folder)]) == 0
    assert capsys.readouterr().out.startswith("3 ops became 1 (graph.relu) in ")
    text = (folder / "program.mlir").read_text()
    assert "tensor<?x1xf32" in text
    assert 'loc("the relu")' in text
    again = run_script(folder / "reproduce.sh")
    assert again.returncode == 1
    assert fault.removeprefix("test-") in again.stderr


def test_programs_and_predicates(tmp_path, capsys):
    source, folder = tmp_path / "program.mlir", tmp_path / "out"
    source.write_text(PROGRAM)
    predicate = "--predicate=grep -q graph.matmul {} && grep -q graph.add {}"
    assert main([str(source), predicate, "-o", str(folder), "--quiet"]) == 0
    assert "became 2 (graph.matmul, graph.add)" in capsys.readouterr().out
    assert run_script(folder / "reproduce.sh").returncode == 0
    assert main([str(source), "-o", str(folder)]) == 2
    assert "--pass-pipeline, or by a --predicate" in capsys.readouterr().err
    assert main([str(source), "-o", str(folder), "--pass-pipeline=cse"]) == 1
    assert "nothing to reduce" in capsys.readouterr().err
