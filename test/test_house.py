"""The shape of the house: which folder may import which, and what each import costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import graphc

ROOT = Path(graphc.__file__).parent
FLOORS = {
    "errors": set(),
    "mlir": set(),
    "cpu_model": set(),
    "dialects": {"errors", "mlir"},
    "frontend": {"errors", "mlir", "dialects"},
    "passes": {"errors", "mlir", "cpu_model", "dialects"},
    "runtime": {"errors", "cpu_model"},
    "preflight": {"frontend", "runtime"},
    "interpret": {"errors", "mlir", "dialects", "runtime"},
    "signature": {"errors", "mlir", "dialects", "runtime"},
    "bytecode": {"errors", "mlir", "runtime"},
    "lowered_program": {"bytecode", "mlir", "dialects"},
    "viewing": {"errors", "mlir", "cpu_model", "dialects", "passes"},
    "driver": {
        *("errors", "mlir", "dialects", "frontend", "passes", "runtime"),
        *("interpret", "signature", "lowered_program", "options"),
    },
    "options": {"errors", "passes", "runtime"},
    "explanation": {"errors", "options", "passes", "runtime", "viewing", "driver"},
    "extensions": {"runtime"},
    "model_cache": {"errors", "frontend", "passes", "options", "runtime", "extensions"},
    "compiling": {
        *("errors", "passes", "options", "runtime", "viewing", "driver", "model_cache"),
    },
    "backend": {"errors", "runtime", "compiling"},
    "profiling": {"errors", "mlir", "dialects", "passes", "runtime", "driver"},
    "debugging": {
        *("errors", "mlir", "dialects", "frontend", "passes", "options", "runtime", "driver"),
    },
    "tools": {
        *("errors", "mlir", "dialects", "frontend", "passes", "runtime"),
        *("preflight", "driver", "compiling", "explanation", "backend", "benchmarks", "profiling"),
        *("debugging", "viewing", "bytecode", "options"),
    },
}
OUTSIDE = {
    "onnx": (
        "frontend/onnx/",
        "runtime/host/",
        "backend.py",
        "tools/conformance/",
        "tools/hostile/",
        "tools/fuzz/",
        "debugging/onnx/",
    ),
    "iree": ("runtime/",),
    "torch_mlir": ("mlir.py",),
}


def sources() -> list[Path]:
    return sorted(
        path
        for floor in FLOORS
        for path in (*ROOT.glob(f"{floor}.py"), *ROOT.glob(f"{floor}/**/*.py"))
    )


def imported(path: Path) -> set[str]:
    """Absolute names of what `path` imports; ``graphc.x`` for relative imports."""
    package = ("graphc", *path.relative_to(ROOT).parent.parts)
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *([node.module] if node.module else [])))
            names |= {module} if node.module else {f"{module}.{a.name}" for a in node.names}
    return names


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path):
    floor = path.relative_to(ROOT).parts[0].removesuffix(".py")
    own = {name.split(".")[1] for name in imported(path) if name.startswith("graphc.")}
    assert own <= FLOORS[floor] | {floor}


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_packages_have_one_place(path):
    place = str(path.relative_to(ROOT))
    for name in imported(path):
        allowed = OUTSIDE.get(name.split(".")[0])
        assert allowed is None or place.startswith(allowed), f"{place} imports {name}"


def test_dialect_files_keep_annotations_as_objects():
    for path in ROOT.glob("dialects/**/*.py"):
        assert "from __future__ import annotations" not in path.read_text(), path


def test_every_package_is_listed():
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = set(settings["tool"]["setuptools"]["packages"])
    found = {
        ".".join(("graphc", *path.parent.relative_to(ROOT).parts))
        for path in ROOT.glob("**/__init__.py")
        if path.relative_to(ROOT).parts[0] not in (".venv", "test", "build", "examples")
    }
    assert listed == found


def test_loading_needs_no_compiler():
    """`graphc.load` reaches the file without onnx, the MLIR bindings or the compiler."""
    code = """
import sys, graphc
try:
    graphc.load(b"not a module")
except graphc.GraphcError:
    pass
heavy = {"onnx", "torch_mlir", "iree.compiler", "google.protobuf"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT.anchor)


def test_a_preflight_loads_what_it_needs():
    """`graphc.check` of a model that compiles as a whole stays quick."""
    code = """
import sys, graphc, onnx
node = onnx.helper.make_node("Relu", ["x"], ["y"])
x, y = (onnx.helper.make_tensor_value_info(name, 1, [2]) for name in "xy")
model = onnx.helper.make_model(onnx.helper.make_graph([node], "relu", [x], [y]))
assert graphc.check(model).native
heavy = {"graphc.driver", "iree", "onnx.reference", "torch_mlir.dialects.linalg"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT.anchor)


def test_files_stay_readable():
    for path in sources():
        assert len(path.read_text().splitlines()) <= 500, path
