"""The long form of these tests, on ResNet-50 and BERT base: ``make faults``.

A wrong rewrite among many, a pass that fails, wrong code, and a lowering that fails. Each is found
by gc-bisect, wrong numbers by gc-verify, too, and what gc-reduce leaves is a node or a few.
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


@pytest.mark.parametrize(
    ("name", "crash", "at", "left"),
    [
        ("bert", "test-crash-at-gelu", "layer.7", ["Div", "Erf", "Add", "Mul", "Mul"]),
        ("resnet50", "test-crash-at-relu", "layers.3", ["Relu"]),
    ],
    ids=["bert", "resnet50"],
)
def test_a_pass_that_fails(name, crash, at, left, tmp_path):
    arguments = [model_path(name), *PLANTED, f"--pass-pipeline={PASSES.format('', f'{crash},')}"]
    _, out = run("gc_bisect", *arguments, GRAPHC_PLANT_AT=at)
    assert "rewrite:  crash-at" in out
    assert at in out
    run("gc_reduce", *arguments, "-o", tmp_path, GRAPHC_PLANT_AT=at)
    assert reduced(tmp_path) == left


@pytest.mark.parametrize(
    ("name", "op", "node"),
    [
        ("bert", "Tanh", "/model/pooler/activation/Tanh"),
        ("resnet50", "Relu", "/model/resnet/embedder/embedder/activation/Relu"),
    ],
    ids=["bert", "resnet50"],
)
def test_wrong_code(name, op, node, tmp_path):
    """Compiled; gc-verify says where it begins."""
    arguments = [model_path(name), "--load-plugin", HERE / "planted_lowering.py"]
    code, out = run("gc_verify", *arguments, GRAPHC_PLANT="numbers")
    assert (code, op in out.splitlines()[-1]) == (1, True)
    _, out = run("gc_bisect", *arguments, GRAPHC_PLANT="numbers")
    assert f"graph.{op.lower()}, by itself" in out
    assert f"nodes:    {node}\n" in out
    run("gc_reduce", *arguments, "-o", tmp_path, GRAPHC_PLANT="numbers")
    assert reduced(tmp_path) == [op]


@pytest.mark.parametrize(
    ("name", "at", "op", "left"),
    [
        ("bert", "layer.7/output/LayerNorm", "graph.layer_norm", "LayerNormalization"),
        ("resnet50", "stages.2/layers.3/layer/layer.1", "graph.conv", "Conv"),
    ],
    ids=["bert", "resnet50"],
)
def test_a_lowering_that_fails(name, at, op, left, tmp_path):
    plant = {"GRAPHC_PLANT": "crash", "GRAPHC_PLANT_AT": at}
    arguments = [model_path(name), "--load-plugin", HERE / "planted_lowering.py"]
    _, out = run("gc_bisect", *arguments, **plant)
    assert f"stage:    lowering\nop:       {op}, by itself" in out
    assert at in out
    assert "ZeroDivisionError: planted" in out
    run("gc_reduce", *arguments, "-o", tmp_path, **plant)
    assert reduced(tmp_path) == [left]
