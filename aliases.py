"""Old names of modules, which still work and say what the new one is.

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
    "backend": "onnx_backend",
    "compiling": "compiler.compile",
    "driver": "compiler.driver",
    "explanation": "compiler.explain",
    "frontend.onnx.registry": "frontend.onnx.importing.registry",
    "interpret": "compiler.interpreter",
    "passes.base": "passes.infra.base",
    "passes.greedy": "passes.infra.greedy",
    "passes.options": "passes.infra.options",
    "passes.pattern": "passes.infra.pattern",
    "passes.pipeline": "passes.infra.pipeline",
    "passes.printing": "passes.infra.printing",
    "passes.query": "passes.infra.query",
    "passes.registry": "passes.infra.registry",
    "passes.report": "passes.infra.report",
    "passes.reproducer": "passes.infra.reproducer",
    "passes.rewrite": "passes.infra.rewrite",
    "preflight": "compiler.check",
    "signature": "compiler.model_signature",
}
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
