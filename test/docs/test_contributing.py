"""The worked examples of CONTRIBUTING.md, run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import onnx
from onnx import TensorProto, helper

import graphc

ROOT = Path(graphc.__file__).parent

PREAMBLE = """
from dataclasses import dataclass
from graphc.dialects import graph
from graphc.dialects.graph.base import Tensor, builder
from graphc.dialects.graph.elementwise import UnaryOp
from graphc.frontend.onnx.importing.registry import onnx_op
from graphc.mlir import arith
from graphc.passes.infra.base import FUNCTION, Pass
from graphc.passes.graph_to_linalg.elementwise import lower_op
from graphc.passes.graph_to_linalg.lowering import lowers
from graphc.passes.graph_to_linalg.scalar import scalar_rule
from graphc.passes.infra.greedy import apply_rewrites
from graphc.passes.infra.registry import register
from graphc.passes.infra.rewrite import Rewrite
"""

MAIN = """
import sys
import graphc
import numpy as np

x = np.array([[1.5, -2.0, 0.0]], np.float32)
spelled = graphc.compile(sys.argv[1], pipeline="canonicalize")
np.testing.assert_array_equal(spelled(x), x * x)
found = graphc.compile(sys.argv[2], pipeline="example-square")
np.testing.assert_array_equal(found(x), x * x)
assert found.report.rewrites["mul-by-itself"].count == 1, found.report
print("ok")
"""


def examples() -> dict[str, str]:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return dict(re.findall(r"```python (\w+)\n(.*?)```", text, flags=re.DOTALL))


def model(node: onnx.NodeProto, path: Path) -> Path:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("example", 1)]
    graph = helper.make_graph([node], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


def test_every_step_has_an_example():
    assert list(examples()) == ["op", "onnx", "lowering", "rewrite", "pass"]


def test_examples_work_together(tmp_path):
    """The example runs in a process of its own because it adds an op, a converter and a pass for
    good."""
    script = tmp_path / "example.py"
    script.write_text(PREAMBLE + "\n".join(examples().values()) + MAIN)
    spelled = model(helper.make_node("Square", ["x"], ["y"], domain="example"), tmp_path / "a.onnx")
    found = model(helper.make_node("Mul", ["x", "x"], ["y"]), tmp_path / "b.onnx")
    done = subprocess.run(
        [sys.executable, str(script), str(spelled), str(found)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "ok"
