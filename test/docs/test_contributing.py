"""The worked examples of CONTRIBUTING.md, run as they stand.

Each group of examples runs in a process of its own: it adds ops, passes or targets for good.
"""

import re
import subprocess
import sys
from pathlib import Path

import graphc

ROOT = Path(graphc.__file__).parent

OPS = ("op", "onnx", "lowering", "epilogue", "rewrite", "pass")
KERNEL = ("kernel_op", "kernel", "kernel_lowering", "selection")
TARGET = ("target", "row")

PREAMBLE = """
import functools
import math
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import onnx.parser

import graphc
from graphc.dialects import graph, iree
from graphc.dialects.graph.base import GraphOp, Tensor, builder
from graphc.dialects.graph.elementwise import UnaryOp
from graphc.dialects.graph.traits import MixedPrecision
from graphc.frontend.onnx.importing.registry import onnx_op
from graphc.mlir import arith, ir, vector
from graphc.passes.graph_to_linalg.elementwise import lower_op
from graphc.passes.graph_to_linalg.kernel_calls import define, flat
from graphc.passes.graph_to_linalg.lowering import lowers
from graphc.passes.graph_to_linalg.scalar_rules import scalar_rule
from graphc.passes.infra.base import FUNCTION, Pass
from graphc.passes.infra.greedy import apply_rewrites
from graphc.passes.infra.pattern import any_, op
from graphc.passes.infra.registry import register
from graphc.passes.infra.rewrite import Rewrite
from graphc.passes.kernels.emitter import VectorEmitter
from graphc.runtime import targets
from graphc.runtime.targets import Target


def model(text):
    return onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 20, "example": 1]> m {text}'
    )


def compiled(text, **options):
    '''The compiled model, and its lowered program as text.'''
    made = graphc.compile(model(text), save_temps=Path(), threads=1, **options)
    (program,) = Path().glob("*.linalg.mlir")
    return made, program.read_text()
"""

USE_OPS = """
x = np.array([[1.5, -2.0, 0.0]], np.float32)
written, _ = compiled(
    "(float[1,3] x) => (float[1,3] y) { y = example.Square(x) }", pipeline="canonicalize"
)
np.testing.assert_array_equal(written(x), x * x)
found, _ = compiled(
    "(float[1,3] x) => (float[1,3] y) { y = Mul(x, x) }", pipeline="example-square"
)
np.testing.assert_array_equal(found(x), x * x)
assert found.report.rewrites["mul-by-itself"].count == 1, found.report

x = np.sin(np.arange(8 * 24, dtype=np.float32)).reshape(8, 24)
w = np.cos(np.arange(24 * 40, dtype=np.float32)).reshape(24, 40)
weights = ", ".join(map(repr, w.ravel().tolist()))
text = (
    f"(float[8,24] x) => (float[8,40] y) <float[24,40] w = {{{weights}}}>"
    "{ p = MatMul(x, w) y = example.Square(p) }"
)
in_registers, program = compiled(text)
np.testing.assert_allclose(in_registers(x), (x @ w) ** 2, rtol=1e-4, atol=1e-4)
assert "matmul_0" in program
assert "linalg.generic" not in program
keep_out()
from_memory, program = compiled(text)
np.testing.assert_allclose(from_memory(x), (x @ w) ** 2, rtol=1e-4, atol=1e-4)
assert "linalg.generic" in program
"""

USE_KERNEL = """
def check(columns):
    x = np.sin(np.arange(6 * columns, dtype=np.float32)).reshape(2, 3, columns)
    made, program = compiled(
        f"(float[2,3,{columns}] x) => (float[2,3,{columns}] y)"
        "<int64[1] last = {-1}> { m = ReduceMean(x, last) y = Sub(x, m) }",
        pipeline="canonicalize,example-centre-rows",
    )
    expected = x - x.mean(-1, keepdims=True)
    np.testing.assert_allclose(made(x), expected, rtol=1e-5, atol=1e-6)
    return made.report.rewrites["to-centre-rows"], program


chosen, program = check(48)
assert chosen.count == 1
assert "centre_rows_0" in program
assert "linalg.generic" not in program
declined, program = check(50)
assert declined.count == 0
assert list(declined.declined) == ["not a few vectors of f32"]
assert "centre_rows" not in program
"""

USE_TARGET = """
x, w = (np.sin(np.arange(32, dtype=np.float32)).reshape(shape) for shape in ((4, 8), (8, 4)))
made, _ = compiled(
    "(float[4,8] x, float[8,4] w) => (float[4,4] y) { p = MatMul(x, w) y = Relu(p) }",
    target="vmvx",
)
np.testing.assert_allclose(made(x, w), np.maximum(x @ w, 0), rtol=1e-5, atol=1e-6)
assert made.target == "vmvx:bytecode"
"""


def examples() -> dict[str, str]:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return dict(re.findall(r"```python (\w+)\n(.*?)```", text, flags=re.DOTALL))


def run(names: tuple[str, ...], use: str, folder: Path) -> None:
    """Run the examples called `names`, and then the statements `use`, in a process in `folder`."""
    script = folder / "example.py"
    parts = [PREAMBLE, *(examples()[name] for name in names), use]
    script.write_text("\n\n".join(parts))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr


def test_files_are_where_they_are_said_to_be():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = re.findall(r"`((?:dialects|frontend|passes|runtime|test|docs)/[\w/.-]+)`", text)
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_step_has_an_example():
    assert list(examples()) == [*OPS, *KERNEL, *TARGET]


def test_an_op_with_its_fusion_and_a_pass(tmp_path):
    run(OPS, USE_OPS, tmp_path)


def test_a_kernel(tmp_path):
    run(KERNEL, USE_KERNEL, tmp_path)


def test_a_target(tmp_path):
    run(TARGET, USE_TARGET, tmp_path)
