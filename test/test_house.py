"""The shape of the house: which folder may import which, and what each import costs."""

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import graphc

ROOT = Path(graphc.__file__).parent
FLOORS = {
    "errors": (),
    "op_builders": (),
    "mlir": ("op_builders",),
    "aliases": (),
    "cpu_model": (),
    "onnx_names": (),
    "dialects": ("errors", "mlir"),
    "dialects/graph": ("aliases", "errors", "mlir", "dialects"),
    "dialects/iree": ("errors", "mlir", "dialects"),
    "frontend/onnx/importing": ("aliases", "errors", "mlir", "onnx_names", "dialects"),
    "frontend/onnx/operators": ("errors", "mlir", "dialects", "frontend/onnx/importing"),
    "frontend/onnx/microsoft": (
        *("errors", "mlir", "dialects", "frontend/onnx/importing", "frontend/onnx/operators"),
    ),
    "frontend/onnx/partitioning": (
        *("aliases", "errors", "mlir", "onnx_names", "dialects", "frontend/onnx/importing"),
    ),
    "frontend": ("aliases", "errors", "mlir", "onnx_names", "dialects"),
    "passes/infra": ("aliases", "errors", "mlir", "cpu_model", "dialects"),
    "passes/kernels": ("errors", "mlir", "cpu_model", "dialects", "passes/infra"),
    "passes/graph_to_linalg": (
        "errors",
        "mlir",
        "cpu_model",
        "dialects",
        "passes/infra",
        "passes/kernels",
    ),
    "passes/analysis": (
        "errors",
        "mlir",
        "cpu_model",
        "dialects",
        "passes/infra",
        "passes/graph_to_linalg",
    ),
    "passes/graph": (
        *("errors", "mlir", "cpu_model", "dialects", "passes/infra", "passes/analysis"),
        "passes/kernels",
    ),
    "passes/cpu": (
        *(
            "errors",
            "mlir",
            "cpu_model",
            "dialects",
            "passes/infra",
            "passes/analysis",
            "passes/kernels",
        ),
    ),
    "passes/linalg": (
        *(
            "errors",
            "mlir",
            "cpu_model",
            "dialects",
            "passes/infra",
            "passes/analysis",
            "passes/kernels",
            "passes/graph_to_linalg",
        ),
    ),
    "passes": ("errors", "mlir", "cpu_model", "dialects", "passes/infra", "passes/graph_to_linalg"),
    "runtime/threads": (),
    "runtime/cache": ("errors", "runtime/threads"),
    "runtime/targets": ("errors", "cpu_model"),
    "runtime/launch_plan": ("errors",),
    "runtime/iree_compile": (
        *("errors", "runtime/cache", "runtime/launch_plan", "runtime/targets"),
    ),
    "runtime/elements": (),
    "runtime/values": ("errors",),
    "runtime/metadata": ("errors", "runtime/values"),
    "runtime/device": ("errors", "runtime/elements", "runtime/targets", "runtime/threads"),
    "runtime/feeds": ("errors", "runtime/device", "runtime/elements", "runtime/metadata"),
    "runtime/files": (
        *("errors", "runtime/device", "runtime/elements", "runtime/launch_plan"),
        *("runtime/metadata", "runtime/targets"),
    ),
    "runtime/host": ("errors", "onnx_names"),
    "runtime/execution": (
        *("errors", "runtime/cache", "runtime/device", "runtime/elements", "runtime/feeds"),
        *("runtime/files", "runtime/host", "runtime/iree_compile", "runtime/launch_plan"),
        *("runtime/metadata", "runtime/threads", "runtime/values"),
    ),
    "runtime": (
        *("errors", "runtime/device", "runtime/elements", "runtime/execution", "runtime/feeds"),
        *("runtime/files", "runtime/host", "runtime/iree_compile", "runtime/metadata"),
        *("runtime/targets", "runtime/values"),
    ),
    "viewing": ("errors", "mlir", "cpu_model", "dialects", "passes"),
    "compiler": (),
    "compiler/check": ("frontend", "runtime"),
    "compiler/interpreter": ("errors", "mlir", "dialects", "runtime"),
    "compiler/model_signature": ("errors", "mlir", "dialects", "runtime"),
    "compiler/bytecode": ("errors", "mlir", "runtime"),
    "compiler/lowered_module": ("compiler/bytecode", "mlir", "dialects", "passes"),
    "compiler/options": ("errors", "passes", "runtime"),
    "compiler/driver": (
        *("errors", "mlir", "dialects", "frontend", "passes", "runtime"),
        *(
            "compiler/interpreter",
            "compiler/model_signature",
            "compiler/lowered_module",
            "compiler/options",
        ),
    ),
    "compiler/segments": ("errors", "mlir", "dialects", "compiler/model_signature"),
    "compiler/sharding": (
        *("errors", "mlir", "dialects", "frontend", "passes", "runtime", "compiler/driver"),
        *("compiler/model_signature", "compiler/options", "compiler/segments"),
    ),
    "compiler/explain": (
        "errors",
        "passes",
        "runtime",
        "viewing",
        "compiler/driver",
        "compiler/options",
    ),
    "compiler/extensions": ("runtime",),
    "compiler/garbage_collection": (),
    "compiler/model_cache": (
        "errors",
        "frontend",
        "passes",
        "runtime",
        "compiler/extensions",
        "compiler/options",
    ),
    "compiler/compile": (
        *(
            "aliases",
            "errors",
            "passes",
            "runtime",
            "viewing",
            "compiler/driver",
            "compiler/garbage_collection",
            "compiler/model_cache",
            "compiler/options",
        ),
    ),
    "compiler/joint_program": (
        *("errors", "mlir", "dialects", "passes", "compiler/driver", "compiler/options"),
    ),
    "compiler/entry_points": (
        *("errors", "passes", "runtime", "viewing", "compiler/compile", "compiler/driver"),
        *("compiler/joint_program", "compiler/model_cache", "compiler/options"),
    ),
    "onnx_backend": ("errors", "runtime", "compiler"),
    "profiling": ("errors", "mlir", "dialects", "passes", "runtime", "compiler"),
    "generation": ("errors", "runtime", "compiler"),
    "serving": ("errors", "generation"),
    "serving/protocol": ("errors", "generation", "serving"),
    "serving/http": ("errors", "generation", "serving", "serving/protocol"),
    "debugging": (
        "aliases",
        "errors",
        "mlir",
        "onnx_names",
        "dialects",
        "frontend",
        "passes",
        "runtime",
        "compiler",
    ),
    "quantization": ("errors", "onnx_names", "frontend", "runtime", "compiler", "debugging"),
    "distributed": ("errors", "onnx_names", "frontend", "runtime", "compiler"),
    "benchmarks/measure": (),
    "placement": (
        *("errors", "dialects", "frontend", "passes", "runtime", "compiler", "debugging"),
        *("profiling", "benchmarks/measure"),
    ),
    "tuning": (
        *("errors", "frontend", "passes", "runtime", "compiler", "debugging", "profiling"),
        *("benchmarks/measure", "distributed"),
    ),
    "compile_model": (
        *("aliases", "errors", "passes", "runtime", "viewing", "compiler", "placement", "tuning"),
    ),
    "benchmarks": (
        *("errors", "mlir", "dialects", "passes", "runtime", "compiler", "profiling", "debugging"),
        *("distributed", "placement", "quantization", "generation", "serving"),
    ),
    "benchmarks/operators": ("errors", "frontend", "benchmarks"),
    "tools": (
        *("aliases", "errors", "mlir", "dialects", "frontend", "passes", "runtime", "compiler"),
        *(
            "onnx_backend",
            "benchmarks",
            "compile_model",
            "profiling",
            "debugging",
            "viewing",
            "generation",
        ),
        *("distributed", "placement", "quantization", "serving", "tuning"),
    ),
}
"""Folders and files that the files of a folder, or one file, may import beside each other; a folder
stands for all that is in it. A name belongs to the longest of these that it begins with."""
OUTSIDE = {
    "onnx": (
        "onnx_names.py",
        "frontend/onnx/",
        "runtime/host/",
        "onnx_backend.py",
        "debugging/onnx/",
        "placement/",
        "generation/",
        "quantization/",
        "distributed/",
        "benchmarks/",
    ),
    "iree": ("runtime/", "benchmarks/peers.py", "benchmarks/mma_device.py"),
    "torch_mlir": ("mlir.py", "op_builders.py"),
}


def sources() -> list[Path]:
    files = (path for floor in FLOORS for path in _files(floor))
    return sorted(set(files))


def _files(floor: str) -> list[Path]:
    return [*ROOT.glob(f"{floor}.py"), *ROOT.glob(f"{floor}/**/*.py")]


def floor_of(place: str) -> str:
    """The floor of a file (``passes/rewrite``) or a folder."""
    while place not in FLOORS:
        place, slash, _ = place.rpartition("/")
        assert slash, "a folder without a floor"
    return place


def place_of(path: Path) -> str:
    """``passes/rewrite`` for the file, ``passes`` for the folder's ``__init__.py``."""
    return path.relative_to(ROOT).with_suffix("").as_posix().removesuffix("/__init__")


@cache
def imported(path: Path) -> frozenset[str]:
    """Absolute names of what `path` imports; ``graphc.x`` for relative imports."""
    package = ("graphc", *path.relative_to(ROOT).parent.parts)
    names: set[str] = set()
    for node in syntax(path).imports:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        else:
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *([node.module] if node.module else [])))
            names |= {f"{module}.{alias.name}" for alias in node.names}
    return frozenset(names)


class Syntax(NamedTuple):
    """The parts of a file that tests look at."""

    imports: list[ast.Import | ast.ImportFrom]
    classes: list[str]
    """Names of classes that are no members."""


@cache
def syntax(path: Path) -> Syntax:
    tree = ast.parse(path.read_text())
    imports = [
        node for node in statements(tree.body) if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    return Syntax(imports, [node.name for node in tree.body if isinstance(node, ast.ClassDef)])


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements of `body`, and of the bodies in it; `ast.walk` visits all expressions."""
    for node in body:
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, field, ()))


@cache
def imported_places(path: Path) -> set[str]:
    """The files and folders of graphc that `path` imports."""
    places = set()
    for name in imported(path):
        place = name.removeprefix("graphc.").replace(".", "/")
        if name.startswith("graphc.") and place:
            whole = ROOT / place
            is_module = whole.is_dir() or whole.with_suffix(".py").exists()
            places.add(place if is_module else place.rpartition("/")[0])
    return places - {""}


def test_imports_point_down():
    assert not {place_of(path): up for path in sources() if (up := imports_upwards(path))}


def imports_upwards(path: Path) -> list[str]:
    """The places that `path` imports and may not."""
    floor = floor_of(place_of(path))
    allowed = tuple(f"{each}/" for each in (floor, *FLOORS[floor]))
    return [each for each in imported_places(path) if not f"{floor_of(each)}/".startswith(allowed)]


def test_a_floor_names_lower_ones():
    """In the order of definition, no floor names a later one."""
    below: set[str] = set()
    for floor, allowed in FLOORS.items():
        assert set(allowed) <= below, floor
        below.add(floor)


def test_no_file_imports_one_that_imports_it():
    """Imports within functions and for types alone count, too."""
    graph = {place_of(path): imported_places(path) for path in sources()}
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise AssertionError(" <- ".join(error.args[1])) from None


def test_packages_have_one_place():
    elsewhere = [
        f"{place} imports {name}"
        for path in sources()
        for name in imported(path)
        if name.partition(".")[0] in OUTSIDE
        and not (place := str(path.relative_to(ROOT))).startswith(OUTSIDE[name.partition(".")[0]])
    ]
    assert not elsewhere


def test_public_classes_have_names_of_their_own():
    """One name is one class, in the tests as well; ops are named within their dialect."""
    found = defaultdict(set)
    for path in [*sources(), *ROOT.glob("test/**/*.py")]:
        dialect = path.parent if path.is_relative_to(ROOT / "dialects") else None
        for name in syntax(path).classes:
            if not name.startswith("_"):
                scope = dialect if name.endswith("Op") else None
                found[scope, name].add(str(path.relative_to(ROOT)))
    assert not {name: paths for (_, name), paths in found.items() if len(paths) > 1}


def test_modules_of_the_programs_of_test_have_names_of_their_own():
    """Those of `fuzz.families` are named as the families of ops are everywhere."""
    found = defaultdict(set)
    for path in ROOT.glob("test/**/*.py"):
        if not path.name.startswith(("__", "test_", "conftest")) and path.parent.name != "families":
            found[path.name].add(str(path.relative_to(ROOT)))
    assert not {name: paths for name, paths in found.items() if len(paths) > 1}


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
heavy = {"graphc.compiler.driver", "iree", "onnx.reference", "torch_mlir.dialects.linalg"}
heavy &= set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT.anchor)


def test_files_stay_readable():
    for path in sources():
        assert len(path.read_text().splitlines()) <= 500, path


def test_tracked_files_stay_small():
    """A package or a model that `git add --all` took along stays in the history for ever."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    large = {str(path) for path in paths if path.is_file() and path.stat().st_size > 500_000}
    assert not large, large
