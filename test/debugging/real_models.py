"""The long form of these tests, on ResNet-50 and BERT base: ``make faults``.

A wrong rewrite among many, a pass that fails, and wrong code. Each is found by gc-verify,
gc-bisect and gc-reduce, and what is left is a node or a few.
"""

import os
import subprocess
import sys

import onnx
import pytest

from graphc.benchmarks.models import model_path
from graphc.frontend.onnx import list_nodes

from .faults import HERE, PASSES, PLANTED


def run(tool, *arguments, **variables):
    command = [sys.executable, "-m", f"graphc.tools.{tool}", *map(str, arguments)]
    environment = os.environ | variables
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    print(done.stdout, done.stderr)
    return done.returncode, done.stdout


def reduced(folder):
    return [node.op_type for node in onnx.load(folder / "model.onnx").graph.node]


def middle_sum(path):
    sums = [node.name for node in list_nodes(path) if node.op_type in ("Sum", "Add")]
    return sums[len(sums) // 2]


@pytest.mark.parametrize("name", ["resnet50", "bert"])
def test_a_wrong_rewrite(name, tmp_path):
    path = model_path(name)
    node = middle_sum(path)
    arguments = [
        path, *PLANTED, "--target=interpret",
        f"--pass-pipeline={PASSES.format('test-turn-sums,', '')}",
    ]  # fmt: skip
    code, out = run("gc_verify", *arguments, GRAPHC_PLANT_AT=node)
    assert (code, "first value beyond the tolerance" in out) == (1, True)
    code, out = run("gc_bisect", *arguments, GRAPHC_PLANT_AT=node)
    assert "test-turn-sums (number 5 of the pipeline)" in out
    assert "rewrite:  turn-sum" in out
    assert f"nodes:    {node}\n" in out
    code, out = run("gc_reduce", *arguments, "-o", tmp_path, GRAPHC_PLANT_AT=node)
    assert reduced(tmp_path) in (["Sum"], ["Add"])


def test_a_pass_that_fails(tmp_path):
    passes = PASSES.format("", "test-crash-at-gelu,")
    arguments = [model_path("bert"), *PLANTED, f"--pass-pipeline={passes}"]
    _, out = run("gc_bisect", *arguments, GRAPHC_PLANT_AT="layer.7")
    assert "rewrite:  crash-at" in out
    assert "layer.7" in out
    run("gc_reduce", *arguments, "-o", tmp_path, GRAPHC_PLANT_AT="layer.7")
    assert reduced(tmp_path) == ["Div", "Erf", "Add", "Mul", "Mul"]


def test_wrong_code(tmp_path):
    """Compiled; gc-verify says where it begins."""
    arguments = [model_path("bert"), "--load-plugin", HERE / "planted_lowering.py"]
    code, out = run("gc_verify", *arguments, GRAPHC_PLANT="numbers")
    assert (code, "Tanh" in out.splitlines()[-1]) == (1, True)
    _, out = run("gc_bisect", *arguments, GRAPHC_PLANT="numbers")
    assert "graph.tanh, by itself" in out
    run("gc_reduce", *arguments, "-o", tmp_path, GRAPHC_PLANT="numbers")
    assert reduced(tmp_path) == ["Tanh"]
