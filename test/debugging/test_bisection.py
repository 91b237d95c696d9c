"""gc-bisect finds each planted fault: the pass, the rewrite, the nodes, or the op."""

import numpy as np
import pytest
from planted_rules import plant
from tool_models import dense, write

from graphc.compiler.driver import begin, make_options
from graphc.debugging import bisect
from graphc.debugging.bisect_lowering import LoweringSearch
from graphc.debugging.bisection_result import PassSnapshot
from graphc.debugging.programs import body, operations
from graphc.dialects import graph
from graphc.errors import ReductionError
from graphc.frontend.onnx.importing import registry
from graphc.passes.kernels import scalar_functions
from graphc.tools.gc_bisect import main

from .faults import BERT, QUICK, SIZES, chain, planted


def found(capsys, arguments):
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    pairs = (line.split(":", 1) for line in out.splitlines())
    return {name: text.strip() for name, text in pairs}, err


def test_a_wrong_rewrite(capsys):
    lines, log = found(capsys, planted(before="test-turn-sums"))
    assert lines["stage"] == "graph passes"
    assert lines["pass"] == "test-turn-sums (number 5 of the pipeline)"
    assert lines["rewrite"].startswith("turn-sum (number ")
    assert lines["nodes"] == "/model/encoder/layer.1/output/Add"
    assert "note: after pass 3 (graph-fold-constants): right" in log


def test_a_wrong_pass_without_rewrites(capsys):
    lines, _ = found(capsys, [*planted(after="test-drop-gelu"), "--quiet"])
    assert lines["pass"] == "test-drop-gelu (number 6 of the pipeline)"
    assert lines["nodes"] == "/model/encoder/layer.1/output/dense/MatMul"
    assert "rewrite" not in lines


def test_a_pass_that_fails(capsys):
    lines, _ = found(capsys, planted(after="test-crash-at-gelu"))
    assert lines["pass"] == "test-crash-at-gelu (number 6 of the pipeline)"
    assert lines["rewrite"] == "crash-at"
    assert "layer.1/intermediate/intermediate_act_fn/Erf" in lines["nodes"]
    assert "ZeroDivisionError: planted" in lines["problem"]


def test_a_predicate_of_the_user(capsys):
    """The first pass after which there is a gelu."""
    predicate = "--predicate=grep -q graph.gelu {}"
    lines, _ = found(capsys, [BERT, *SIZES, predicate])
    assert lines["pass"] == "graph-recognize (number 10 of the pipeline)"
    assert lines["rewrite"].startswith("recognize-gelu (number ")
    assert main([BERT, "--predicate=true"]) == 2
    assert "{} stands for the file" in capsys.readouterr().err


@pytest.fixture
def wrong_tanh(monkeypatch):
    plant(monkeypatch, graph.TanhOp, lambda op, x: scalar_functions.sigmoid(x))


def test_wrong_code(capsys, tmp_path, wrong_tanh):
    path = write(chain(), tmp_path / "chain.onnx")
    lines, log = found(capsys, [str(path), "--dim=n=2", *QUICK])
    assert lines["stage"] == "lowering"
    assert lines["op"] == "graph.tanh, by itself"
    assert lines["nodes"] == "squash"
    assert "after all passes: right" in log


def test_code_that_cannot_be_made(capsys, tmp_path, monkeypatch):
    def fail(op, x):
        raise ZeroDivisionError("planted")

    plant(monkeypatch, graph.ExpOp, fail)
    path = write(chain(), tmp_path / "chain.onnx")
    lines, _ = found(capsys, [str(path), "--dim=n=2", *QUICK])
    assert (lines["stage"], lines["nodes"]) == ("lowering", "exp")
    assert "LoweringError" in lines["problem"]


class WrongTogether:
    """Says that a program with some ops is wrong, and notes how many ops it was asked about."""

    inputs = (np.ones((2, 5), np.float32),)

    def __init__(self, *names):
        self.names = {f"graph.{name}" for name in names}
        self.sizes = []

    def __call__(self, module):
        return self.on(module, self.inputs)

    def on(self, module, inputs):
        found = {op.operation.name for op in operations(module)} - {"graph.constant"}
        assert len(inputs) == len(body(module).arguments)
        self.sizes.append(len(found))
        return "wrong" if self.names <= found else None


def search(check):
    module = begin(chain(), make_options("cpu", dims={"n": 2})).module
    return LoweringSearch([PassSnapshot(module, None, 0)], check, print).run()


def test_code_is_made_of_small_programs():
    check = WrongTogether("tanh")
    result = search(check)
    assert (result.op, result.nodes, result.alone) == ("graph.tanh", "squash", True)
    assert check.sizes[:2] == [6, 3]
    assert max(check.sizes[2:]) <= 3


def test_code_that_is_wrong_together_alone():
    """Neither half of the program is wrong."""
    result = search(WrongTogether("relu", "tanh"))
    assert (result.op, result.nodes, result.alone) == ("graph.tanh", "squash", False)


def test_a_wrong_import(monkeypatch, capsys, tmp_path):
    kind = type(registry.find_converter("", "Tanh", 17))
    convert = kind.convert

    def wrong(self, node, inputs, attributes):
        if node.op_type == "Tanh":
            return graph.sigmoid(inputs[0])
        return convert(self, node, inputs, attributes)

    monkeypatch.setattr(kind, "convert", wrong)
    path = write(chain(), tmp_path / "chain.onnx")
    lines, _ = found(capsys, [str(path), "--dim=n=2", "--target=interpret"])
    assert lines["stage"] == "import"
    assert lines["nodes"] == "squash"


def test_nothing_is_wrong(capsys):
    assert main(planted()) == 1
    assert "error: nothing is wrong: the results agree" in capsys.readouterr().err
    with pytest.raises(ReductionError):
        bisect(dense(), lambda model: {"x": [[1.0, 2.0, 3.0, 4.0]]}, "interpret")
