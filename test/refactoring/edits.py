# ruff: noqa
"""Changes besides moves: file (by its new path) -> old text, new text."""

import re

SYMBOLS = set()
"""(package, name) of symbols that are named as a module of the package is."""

EMPTY = [
    "",
    "passes",
    "runtime",
    "frontend/onnx",
    "test/passes",
    "test/runtime",
    "test/frontend/onnx",
    "tools",
]
"""Folders of which every file must have a line in mapping.py, or in STAY."""
STAY = {
    "__init__.py",
    "errors.py",
    "mlir.py",
    "passes/__init__.py",
    "passes/pipelines.py",
    "passes/contracts.py",
    "test/passes/conftest.py",
    "test/passes/test_contracts.py",
    *(
        f"runtime/{name}.py"
        for name in ("__init__", "elements", "feeds", "metadata", "model", "values")
    ),
    *(
        f"test/runtime/{name}.py"
        for name in ("conftest", "test_feeds", "test_metadata", "test_model")
    ),
    "frontend/onnx/__init__.py",
    *(
        f"tools/{name}.py"
        for name in (
            "__init__",
            "cli",
            "expected_diagnostics",
            "feeds",
            "gc_bench",
            "gc_bisect",
            "gc_cache",
            "gc_compile",
            "gc_opt",
            "gc_opt_flags",
            "gc_profile",
            "gc_reduce",
            "gc_run",
            "gc_verify",
            "gc_view",
            "listings",
            "options",
            "program",
            "progress",
            "target_listings",
        )
    ),
}

ALIASED = (
    "graphc.backend",
    "graphc.compiling",
    "graphc.driver",
    "graphc.explanation",
    "graphc.interpret",
    "graphc.preflight",
    "graphc.signature",
    *(
        f"graphc.passes.{name}"
        for name in (
            "base",
            "greedy",
            "options",
            "pattern",
            "pipeline",
            "printing",
            "query",
            "registry",
            "report",
            "reproducer",
            "rewrite",
        )
    ),
    "graphc.frontend.onnx.registry",
)
"""Modules that keep an alias under their old name: those that documentation names, and the like."""

BATCH = {"viewing/data.js": "dialects"}
"""When a file that does not move is changed, if not last."""

ALIASES = '''"""Old names of modules, which still work and say what the new one is.

A module that moved is found under its old name for one release: importing it there gives the module
of today, and warns once (``DeprecationWarning``).
"""

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MODULES = {
{table}}
"""Old name to new one, without ``graphc.`` in front."""


class _OldNames(MetaPathFinder, Loader):
    """A finder and loader of modules by their old names."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None for every other name."""
        package, _, rest = fullname.partition(".")
        return ModuleSpec(fullname, self) if package == __package__ and rest in MODULES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module by its new name."""
        new = f"{__package__}.{MODULES[spec.name.partition('.')[2]]}"
        message = f"{spec.name} is now called {new}"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        module = importlib.import_module(new)
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has run already; importlib has just given it another spec."""
        assert module.__spec__ is not None
        module.__spec__ = self._specs.pop(module.__spec__.name)


def install() -> None:
    """Have old names found, before any folder is searched for them."""
    sys.meta_path.insert(0, _OldNames())
'''

FLOORS = """FLOORS = {
    "errors": (),
    "mlir": (),
    "aliases": (),
    "dialects": ("errors", "mlir"),
    "dialects/graph": ("errors", "mlir", "dialects"),
    "dialects/iree": ("errors", "mlir", "dialects"),
    "frontend/onnx/importing": ("errors", "mlir", "dialects"),
    "frontend/onnx/operators": ("errors", "mlir", "dialects", "frontend/onnx/importing"),
    "frontend/onnx/microsoft": (
        *("errors", "mlir", "dialects", "frontend/onnx/importing", "frontend/onnx/operators"),
    ),
    "frontend/onnx/partitioning": ("errors", "mlir", "dialects", "frontend/onnx/importing"),
    "frontend": ("errors", "mlir", "dialects"),
    "passes/infra": ("errors", "mlir", "dialects"),
    "passes/kernels": ("errors", "mlir", "dialects", "passes/infra"),
    "passes/graph_to_linalg": ("errors", "mlir", "dialects", "passes/infra", "passes/kernels"),
    "passes/analysis": ("errors", "mlir", "dialects", "passes/infra", "passes/graph_to_linalg"),
    "passes/graph": ("errors", "mlir", "dialects", "passes/infra", "passes/analysis"),
    "passes/cpu": (
        *("errors", "mlir", "dialects", "passes/infra", "passes/analysis", "passes/kernels"),
    ),
    "passes/linalg": (
        *("errors", "mlir", "dialects", "passes/infra", "passes/kernels", "passes/graph_to_linalg"),
    ),
    "passes": ("errors", "mlir", "dialects", "passes/infra", "passes/graph_to_linalg"),
    "runtime/threads": (),
    "runtime/cache": ("errors", "runtime/threads"),
    "runtime/targets": ("errors",),
    "runtime/iree_compile": ("errors", "runtime/cache", "runtime/targets"),
    "runtime/elements": (),
    "runtime/values": ("errors",),
    "runtime/metadata": ("errors", "runtime/values"),
    "runtime/device": ("errors", "runtime/elements", "runtime/targets", "runtime/threads"),
    "runtime/feeds": ("errors", "runtime/device", "runtime/elements", "runtime/metadata"),
    "runtime/files": (
        *("errors", "runtime/device", "runtime/elements", "runtime/metadata", "runtime/targets"),
    ),
    "runtime/host": ("errors",),
    "runtime/execution": (
        *("errors", "runtime/cache", "runtime/device", "runtime/elements", "runtime/feeds"),
        *("runtime/files", "runtime/host", "runtime/iree_compile", "runtime/metadata"),
        *("runtime/threads", "runtime/values"),
    ),
    "runtime": (
        *("errors", "runtime/device", "runtime/elements", "runtime/execution", "runtime/feeds"),
        *("runtime/files", "runtime/iree_compile", "runtime/metadata", "runtime/targets"),
        "runtime/values",
    ),
    "viewing": ("errors", "mlir", "dialects", "passes"),
    "compiler": (),
    "compiler/check": ("frontend", "runtime"),
    "compiler/interpreter": ("errors", "mlir", "dialects", "runtime"),
    "compiler/model_signature": ("errors", "mlir", "dialects", "runtime"),
    "compiler/bytecode": ("errors", "mlir", "runtime"),
    "compiler/lowered_module": ("compiler/bytecode", "mlir", "dialects"),
    "compiler/driver": (
        *("errors", "mlir", "dialects", "frontend", "passes", "runtime"),
        *("compiler/interpreter", "compiler/model_signature", "compiler/lowered_module"),
    ),
    "compiler/explain": ("errors", "passes", "runtime", "viewing", "compiler/driver"),
    "compiler/extensions": ("runtime",),
    "compiler/model_cache": ("errors", "frontend", "passes", "runtime", "compiler/extensions"),
    "compiler/compile": (
        *("errors", "passes", "runtime", "viewing", "compiler/driver", "compiler/model_cache"),
    ),
    "onnx_backend": ("errors", "runtime", "compiler"),
    "profiling": ("errors", "mlir", "dialects", "passes", "runtime", "compiler"),
    "debugging": ("errors", "mlir", "dialects", "frontend", "passes", "runtime", "compiler"),
    "benchmarks": (
        *("errors", "mlir", "dialects", "passes", "runtime", "compiler", "profiling", "debugging"),
    ),
    "tools": (
        *("errors", "mlir", "dialects", "frontend", "passes", "runtime", "compiler"),
        *("onnx_backend", "benchmarks", "profiling", "debugging", "viewing"),
    ),
}
"""

OUTSIDE = """OUTSIDE = {
    "onnx": (
        "frontend/onnx/",
        "runtime/host/",
        "onnx_backend.py",
        "debugging/onnx/",
        "benchmarks/",
    ),
    "iree": ("runtime/", "benchmarks/peers.py"),
    "torch_mlir": ("mlir.py",),
}
"""

HOUSE = """| folder | holds | may import |
| --- | --- | --- |
| `errors.py`, `mlir.py` | every error a user can meet; the one import of the MLIR bindings | – |
| `dialects/` | what programs look like and mean | `errors`, `mlir` |
| `frontend/` | how programs come in (only `frontend/onnx/` imports `onnx`) | the above |
| `passes/` | how programs change | `errors`, `mlir`, `dialects` |
| `runtime/` | how programs run (only it imports `iree`) | `errors` |
| `viewing/` | a compilation as a page for the browser | `errors`, `mlir`, `dialects`, `passes` |
| `compiler/` | model in, compiled module out: what users call, the cache, the driver | all of the above; the driver not `viewing` |
| `profiling/`, `debugging/` | where the time goes; what is wrong, and why | all of the above |
| `benchmarks/` | measurements | all of the above |
| `tools/` | thin command-line tools | everything |
| `test/` | tests, as the folders are; `conformance`, `fuzz`, `robustness`, `gpu_check` and what they share are programs of their own | everything |

"""

FOLDERS = """
## Folders

The folders are the picture above. `compiler/` holds what users call, the driver, and what becomes
of a module between the passes and the backend; the driver knows nothing of `viewing/`, by which
`compile` and `explain` show their reports. A folder in `passes/` is a layer: `infra/` is the frame
(rewrites, pipelines, the registry), `analysis/` computes properties of programs and changes nothing,
`graph/` and `cpu/` rewrite graph ops for every target and for the registers of a CPU,
`graph_to_linalg/` lowers, `kernels/` writes what it calls, and `linalg/` works on the lowered
program, with the workarounds for faults of IREE in a folder of their own. In `runtime/`,
`iree_compile/`, `cache/` and `files/` make, keep and read compiled modules; `threads/`, `device/` and
`execution/` run them. What stands beside these folders (`model`, `feeds`, `metadata`, `values`,
`elements`) is what users meet. `frontend/onnx/importing/` is not called `import`, which is a keyword
of Python. Nothing imports upward, neither between folders nor between files (`test/test_house.py`).

Programs that test (`conformance`, `fuzz`, `robustness`, `gpu_check`, and `harness`, which they share)
are packages in `test/` and no part of the wheel: `PYTHONPATH=test python -m fuzz`, or `make fuzz`.
"""

ALIAS_TEST = '''"""Old names of modules: each gives the module of today, and says so once."""

import importlib
import subprocess
import sys
import warnings

import pytest

from graphc.aliases import MODULES


@pytest.mark.parametrize("old", MODULES)
def test_an_old_name_is_the_module_of_today(old):
    sys.modules.pop(f"graphc.{old}", None)
    with pytest.warns(DeprecationWarning, match=f"graphc.{old} is now called graphc.{MODULES[old]}"):
        found = importlib.import_module(f"graphc.{old}")
    today = importlib.import_module(f"graphc.{MODULES[old]}")
    assert found is today
    assert today.__spec__ is not None
    assert today.__spec__.name == f"graphc.{MODULES[old]}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert importlib.import_module(f"graphc.{old}") is today


def test_the_warning_names_the_line_that_imports():
    code = "import graphc.passes.report\\nassert graphc.passes.report.Report is graphc.Report"
    command = [sys.executable, "-W", "always", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.startswith("<string>:1: DeprecationWarning: graphc.passes.report is now")
    assert done.stderr.count("DeprecationWarning") == 1
'''

EDITS = {
    "__init__.py": [
        (
            "from typing import TYPE_CHECKING, Any\n",
            "from typing import TYPE_CHECKING, Any\n\nfrom . import aliases\n",
        ),
        ('"""When the code that runs was', 'aliases.install()\n\n"""When the code that runs was'),
    ],
    "passes/infra/registry.py": [
        (
            re.compile(
                r"    Imports modules of this folder until the pass is there, those that the name mentions first\n"
                r"    \(`graph-simplify` is in `\w+.py`\): one pass does not cost the import of all.\n"
            ),
            "    Imports modules of the folders of passes until the pass is there, those that the name mentions\n"
            "    first (`graph-fold-constants` is in `fold_constants.py`): one pass does not cost the import of\n"
            "    all.\n",
        ),
        ('importlib.import_module(f"{__package__}.{module}")', "importlib.import_module(module)"),
        (
            re.compile(
                r"sorted\(_builtin_modules\(\), key=lambda stem: \(stem not in mentioned, stem\)\)"
            ),
            "sorted(_builtin_modules(), key=lambda path: (_stem(path) not in mentioned, path))",
        ),
        (
            re.compile(r"def _builtin_modules\(\) -> list\[str\]:\n.*?\n\n\n", re.S),
            "def _builtin_modules() -> list[str]:\n"
            '    """The modules and packages below the folders of passes."""\n'
            '    above = (__package__ or "").rpartition(".")[0]\n'
            '    packages = (importlib.import_module(f"{above}.{folder}") for folder in _FOLDERS)\n'
            "    return [\n"
            "        module.name\n"
            "        for package in packages\n"
            '        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")\n'
            "    ]\n\n\n"
            "def _stem(module: str) -> str:\n"
            '    return module.rpartition(".")[2]\n\n\n',
        ),
        (
            "_passes: dict[str, type[Pass]] = {}\n",
            '_FOLDERS = ("graph", "cpu", "graph_to_linalg", "linalg")\n'
            '"""Where passes are, beside this folder."""\n\n'
            "_passes: dict[str, type[Pass]] = {}\n",
        ),
    ],
    "frontend/onnx/importing/registry.py": [
        (
            re.compile(
                r'    """Import the family files beside this one, which fill the table."""\n'
            ),
            '    """Import the files of families, which fill the table."""\n',
        ),
        (
            re.compile(
                r'        package = __package__ or ""\n'
                r"        for module in pkgutil.iter_modules\(importlib.import_module\(package\).__path__\):\n"
                r'            importlib.import_module\(f"\{package\}.\{module.name\}"\)\n'
            ),
            '        above = (__package__ or "").rpartition(".")[0]\n'
            "        for folder in _FOLDERS:\n"
            '            package = importlib.import_module(f"{above}.{folder}")\n'
            "            for module in pkgutil.iter_modules(package.__path__):\n"
            '                importlib.import_module(f"{package.__name__}.{module.name}")\n',
        ),
        (
            "_loaded = False\n\n\ndef _load",
            '_FOLDERS = ("operators", "microsoft")\n'
            '"""Where the families are, beside this folder."""\n\n'
            "_loaded = False\n\n\ndef _load",
        ),
    ],
    "runtime/cache/keys.py": [
        (
            '_SOURCES = ("dialects", "frontend", "passes", "runtime")',
            '_SOURCES = ("compiler", "dialects", "frontend", "passes", "runtime")',
        ),
    ],
    "viewing/data.js": [
        ('"packing"', '"packed_matmul"'),
        ('"direct_attention"', '"fused_attention"'),
    ],
    "test/gpu_check/prepare.py": [
        (
            re.compile(r'CARRIED = \(\n.*?\n\)\n"""[^"]*"""\n', re.S),
            "CARRIED = (\n"
            '    *("__init__.py", "aliases.py", "errors.py", "runtime/**/*.py"),\n'
            '    *("tools/__init__.py", "tools/cli.py"),\n'
            '    *("benchmarks/__init__.py", "benchmarks/measure.py"),\n'
            ")\n"
            '"""The part of graphc that runs what the archive holds."""\n'
            "CARRIED_TESTS = (\n"
            '    *("harness/__init__.py", "harness/journal.py"),\n'
            '    *(f"conformance/{name}.py" for name in ("__init__", "journal", "known", "outcome")),\n'
            '    "conformance/results.py",\n'
            '    *(f"gpu_check/{name}.py" for name in ("__init__", "archive", "compare")),\n'
            '    *(f"gpu_check/{name}.py" for name in ("device_results", "run", "worker")),\n'
            ")\n"
            '"""And of this folder."""\n',
        ),
        (
            "        for source in sorted(file for pattern in CARRIED for file in ROOT.glob(pattern)):\n"
            '            writer.add_file(f"graphc/{source.relative_to(ROOT).as_posix()}", source.read_bytes())\n',
            '        _add_sources(writer, ROOT, CARRIED, "graphc/")\n'
            '        _add_sources(writer, ROOT / "test", CARRIED_TESTS, "")\n',
        ),
        (
            "def _add_cases(\n",
            "def _add_sources(\n"
            "    writer: ArchiveWriter, root: Path, patterns: Sequence[str], folder: str\n"
            ") -> None:\n"
            "    for source in sorted(file for pattern in patterns for file in root.glob(pattern)):\n"
            '        name = f"{folder}{source.relative_to(root).as_posix()}"\n'
            "        writer.add_file(name, source.read_bytes())\n\n\n"
            "def _add_cases(\n",
        ),
    ],
    "test/gpu_check/archive.py": [
        (
            "    graphc/       the part of graphc that it needs\n",
            "    graphc/       the part of graphc that it needs\n"
            "    harness/...   and of its tests\n",
        ),
    ],
    "Makefile": [
        (
            "DEVICE := cpu\n",
            "DEVICE := cpu\n# The programs of test/ (conformance, fuzz, ...) are packages in it.\n"
            "export PYTHONPATH := $(CURDIR)/test$(if $(PYTHONPATH),:$(PYTHONPATH))\n",
        ),
        ("@PYTHONPATH=test $(BIN)/python -m converted", "@$(BIN)/python -m converted"),
        ("types: $(STAMP)  ## pyright", "types: $(STAMP) build/typings/graphc  ## pyright"),
        (
            "lit: $(STAMP)  ## FileCheck tests",
            "# Where pyright finds what the programs of test/ import, whatever the folder of a clone is called.\n"
            "build/typings/graphc:\n\t@mkdir -p $(@D) && ln -s ../.. $@\n\n"
            "lit: $(STAMP)  ## FileCheck tests",
        ),
    ],
    "pyproject.toml": [
        (re.compile(r'"(graphc.tools.)?conformance" = \["not_passing/\*.toml"\]\n'), ""),
        (
            'known-first-party = ["graphc"]   # whatever the folder of a clone is called',
            'known-first-party = [             # "graphc" whatever the folder of a clone is called\n'
            '    "graphc", "conformance", "converted", "fuzz", "gpu_check", "harness", "robustness",\n]',
        ),
        (
            re.compile(
                r'    "debugging", "dialects", "frontend", "passes", "profiling", "runtime", "tools", "viewing",\n'
            ),
            '    "compiler", "debugging", "dialects", "frontend", "passes", "profiling", "runtime", "tools",\n'
            '    "viewing",\n'
            '    "test/conformance", "test/fuzz", "test/gpu_check", "test/harness", "test/robustness",\n',
        ),
        (
            'venvPath = "."\n',
            'exclude = ["**/test_*.py", "**/.*", "**/__pycache__", "build"]\n'
            'extraPaths = ["test", "build/typings"]  # see Makefile\nvenvPath = "."\n',
        ),
        (
            re.compile(r'pythonpath = \["test"\] .*\n'),
            'pythonpath = ["test"]            # for test/numerics.py, and the programs in test/\n',
        ),
    ],
    "test/test_house.py": [
        (re.compile(r"(?m)^FLOORS = \{\n.*?^\}\n", re.S | re.M), FLOORS),
        (re.compile(r"(?m)^OUTSIDE = \{\n.*?^\}\n", re.S | re.M), OUTSIDE),
        (
            'heavy = {"graphc.compiler.driver", "iree", "onnx.reference", "torch_mlir.dialects.linalg"} & set(sys.modules)',
            'heavy = {"graphc.compiler.driver", "iree", "onnx.reference", "torch_mlir.dialects.linalg"}\n'
            "heavy &= set(sys.modules)",
        ),
    ],
    "test/conftest.py": [
        (
            "# What an earlier run has compiled is no result of this one.\n",
            "# The programs of this folder are packages in it, for the processes that tests start, too.\n"
            'os.environ["PYTHONPATH"] = os.pathsep.join(\n'
            '    filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")])\n'
            ")\n\n"
            "# What an earlier run has compiled is no result of this one.\n",
        ),
        ("import signal\n", "import signal\nfrom pathlib import Path\n"),
    ],
    "CONTRIBUTING.md": [
        (re.compile(r"\| folder \| holds \| may import \|\n(?:\|.*\n)+\n"), HOUSE),
        ("`frontend/onnx/<family>.py`", "`frontend/onnx/operators/<family>.py`"),
        (
            re.compile(
                r"`dialects/graph/`, `frontend/onnx/`, `passes/graph_to_linalg/` and in `test/`"
            ),
            "`dialects/graph/`, `frontend/onnx/operators/`, `passes/graph_to_linalg/`,\n"
            "`passes/kernels/`, `passes/cpu/` and in `test/`",
        ),
        (
            re.compile(r"Put it in a file in `passes/` and it is known"),
            "Put it in a file in `passes/graph/`, `passes/cpu/` or `passes/linalg/` and it is known",
        ),
    ],
    "docs/architecture.md": [
        (
            "Those ops become kernels of our own (`*_kernel.py`): functions on memory",
            "Those ops become kernels of our own (`passes/kernels/`): functions on memory",
        ),
        (re.compile(r"\Z"), FOLDERS),
    ],
}

FILES = {"test/test_aliases.py": ALIAS_TEST}
