"""Deprecated aliases of moved modules.

A moved module can be imported under its old name for one release: the import returns the module
under its new name, and warns once (``DeprecationWarning``).
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
"""New names of modules by old name, without the prefix ``graphc.``."""


class _OldNames(MetaPathFinder, Loader):
    """Finder and loader of modules under their old names."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec for an old name; None for every other name."""
        package, _, rest = fullname.partition(".")
        return ModuleSpec(fullname, self) if package == __package__ and rest in MODULES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import the module under its new name, with a warning."""
        new = f"{__package__}.{MODULES[spec.name.partition('.')[2]]}"
        message = f"{spec.name} is now called {new}"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        module = importlib.import_module(new)
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the spec, which importlib has replaced; the module has been executed already."""
        assert module.__spec__ is not None
        module.__spec__ = self._specs.pop(module.__spec__.name)


def install() -> None:
    """Install the finder in front of all others."""
    sys.meta_path.insert(0, _OldNames())
