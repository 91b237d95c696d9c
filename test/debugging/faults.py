"""Small models and the faults planted in their compilation."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper
from tool_models import model

HERE = Path(__file__).parent
BERT = str(HERE.parent / "exported" / "bert-tiny.onnx")
PLANTED = ["--load-plugin", str(HERE / "planted.py")]
SIZES = ["--dim=batch=2", "--dim=seq=7"]
QUICK = ["--opt-level=0", "--threads=1", "--pass-pipeline=canonicalize,cse"]
"""Options for a fast compilation."""
PASSES = (
    "canonicalize,cse,graph-fold-constants,graph-simplify,{0}graph-recognize,{1}"
    "graph-merge-matmuls,graph-simplify,canonicalize,cse"
)


def planted(before: str = "", after: str = "") -> list[str]:
    """BERT, interpreted, with a planted pass before or after patterns are recognised."""
    passes = PASSES.format(*(f"{name}," if name else "" for name in (before, after)))
    return [BERT, *SIZES, *PLANTED, "--target=interpret", f"--pass-pipeline={passes}"]


def chain() -> onnx.ModelProto:
    """Six nodes in a row; the last but one is a hyperbolic tangent."""
    node = helper.make_node
    nodes = [
        node("Mul", ["x", "w"], ["a"], name="scale"),
        node("Relu", ["a"], ["b"], name="relu"),
        node("Add", ["b", "x"], ["c"], name="sum"),
        node("Exp", ["c"], ["d"], name="exp"),
        node("Tanh", ["d"], ["e"], name="squash"),
        node("Sub", ["e", "c"], ["y"], name="difference"),
    ]
    weights = numpy_helper.from_array(np.linspace(-1, 1, 5, dtype=np.float32), "w")
    return model(nodes, {"x": ["n", 5]}, {"y": ["n", 5]}, [weights])


def run_script(script: Path) -> subprocess.CompletedProcess:
    """Run a ``reproduce.sh`` with the tools of this interpreter in the path."""
    folder = script.parent / "bin"
    folder.mkdir(exist_ok=True)
    for tool in ("gc-opt", "gc-run", "gc-verify"):
        path = folder / tool
        path.write_text(
            f'#!/bin/sh\nexec {sys.executable} -m graphc.tools.{tool.replace("-", "_")} "$@"\n'
        )
        path.chmod(0o755)
    return subprocess.run(
        ["sh", "-c", f'PATH="{folder}:$PATH" {script}'], capture_output=True, text=True, check=False
    )
