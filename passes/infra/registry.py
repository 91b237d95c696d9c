"""The registry of passes: ours, a plugin's, and MLIR's own."""

import dataclasses
import functools
import importlib
import importlib.util
import pkgutil
import re
import sys
from pathlib import Path
from typing import Any, TypeVar

from ...aliases import pass_name
from ...errors import UsageError
from ...mlir import create_context, passmanager
from . import options as pass_options
from .base import Pass, PassState

P = TypeVar("P", bound=type[Pass])

MLIR_PASSES = (
    "arith-expand",
    "canonicalize",
    "composite-fixed-point-pass",
    "control-flow-sink",
    "convert-elementwise-to-linalg",
    "cse",
    "inline",
    "linalg-block-pack-matmul",
    "linalg-fold-unit-extent-dims",
    "linalg-fuse-elementwise-ops",
    "linalg-generalize-named-ops",
    "linalg-inline-scalar-operands",
    "linalg-specialize-generic-ops",
    "loop-invariant-code-motion",
    "print-ir",
    "remove-dead-values",
    "resolve-ranked-shaped-type-result-dims",
    "resolve-shaped-type-result-dims",
    "sccp",
    "strip-debuginfo",
    "symbol-dce",
    "topological-sort",
    "view-op-graph",
)
"""MLIR's passes that make sense on our programs, for listings and near matches. Any other that
MLIR has registered works too; the bindings cannot list them."""

_FOLDERS = ("graph", "cpu", "graph_to_linalg", "linalg")
"""The folders of passes, beside this folder."""

_passes: dict[str, type[Pass]] = {}


def register(cls: P) -> P:
    """Decorator: make a pass known by its name."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", cls.name):
        raise TypeError(f"{cls.__qualname__}: '{cls.name}' is not a name in kebab-case")
    parameters = getattr(cls, "__dataclass_params__", None)
    if "__dataclass_fields__" not in cls.__dict__ or not getattr(parameters, "frozen", False):
        raise TypeError(f"{cls.__qualname__} is not a frozen dataclass")
    if any(default == "required" for _, _, default in pass_options.describe(cls)):
        raise TypeError(f"{cls.__qualname__}: every option needs a default")
    other = _passes.get(cls.name)
    if other is not None and (other.__module__, other.__qualname__) != (
        cls.__module__,
        cls.__qualname__,
    ):
        raise TypeError(f"'{cls.name}' is already the name of {other.__module__}.{other.__name__}")
    _passes[cls.name] = cls
    return cls


def known_passes() -> dict[str, type[Pass]]:
    """Our passes and the loaded plugins' by name, sorted."""
    for module in _builtin_modules():
        importlib.import_module(module)
    return dict(sorted(_passes.items()))


def registered() -> list[Any]:
    """The passes that are known so far; imports nothing."""
    return list(_passes.values())


def find_pass(name: str) -> type[Pass] | None:
    """The pass class called `name`, which may be an old name, or None when it is not ours.

    Imports modules of the folders of passes until the pass is there, those that the name mentions
    first (`graph-fold-constants` is in `fold_constants.py`): one pass does not cost the import of
    all.
    """
    name = pass_name(name)
    if name not in _passes and name not in MLIR_PASSES:
        mentioned = name.replace("-", "_")
        for module in sorted(
            _builtin_modules(), key=lambda path: (_stem(path) not in mentioned, path)
        ):
            importlib.import_module(module)
            if name in _passes:
                break
    return _passes.get(name)


def load_plugin(plugin: str) -> None:
    """Import passes from a file (``my_passes.py``) or a module (``my_package.passes``).

    UsageError when it cannot be found or fails to import.
    """
    try:
        if plugin.endswith(".py"):
            _import_file(Path(plugin))
        else:
            importlib.import_module(plugin)
    except Exception as error:
        raise UsageError(f"cannot load plugin '{plugin}': {error}") from error


@dataclasses.dataclass(frozen=True)
class MlirPass(Pass):
    """A pass of MLIR's own, run by its pass manager."""

    mlir_name: str = ""
    options: str = ""

    @property
    def name(self) -> str:  # type: ignore[override] - one class stands for all of them
        return self.mlir_name

    def run(self, op: Any, state: PassState) -> None:
        del state
        operation = op.operation
        text = f"{self.mlir_name}{{{self.options}}}" if self.options else self.mlir_name
        with operation.context:
            manager = passmanager.PassManager.parse(f"{operation.name}({text})")
            manager.enable_verifier(False)  # the pipeline verifies
            manager.run(operation)


@functools.lru_cache(maxsize=256)
def mlir_pass_problem(name: str, options: str) -> str | None:
    """The reason why MLIR rejects this pass with these options, or None when it accepts them.

    ``"unknown"`` when it has no such pass.
    """
    with create_context():
        try:
            passmanager.PassManager.parse(f"any({name})")
        except ValueError:
            return "unknown"
        try:
            passmanager.PassManager.parse(f"any({name}{{{options}}})")
        except ValueError as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            return lines[0].removeprefix("<Pass-Options-Parser>: ")
    return None


@functools.cache
def _builtin_modules() -> tuple[str, ...]:
    """The modules and packages below the folders of passes."""
    above = (__package__ or "").rpartition(".")[0]
    packages = (importlib.import_module(f"{above}.{folder}") for folder in _FOLDERS)
    return tuple(
        module.name
        for package in packages
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    )


def _stem(module: str) -> str:
    return module.rpartition(".")[2]


def _import_file(path: Path) -> None:
    if not path.is_file():
        raise FileNotFoundError("no such file")
    name = f"{__package__}.plugin_{re.sub(r'[^A-Za-z0-9_]', '_', str(path.resolve()))}"
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
