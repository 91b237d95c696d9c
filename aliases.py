"""Deprecated names of modules, passes, pass options, arguments and attributes of modules.

For one release, an old name works and warns the first time (`OldNameWarning`). The import of a
moved module returns the module under its new name.
"""

import functools
import importlib
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

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

PASSES = {
    "add-destination-entry": "dps-entry",
    "graph-direct-attention": "graph-fused-attention",
    "graph-float-products": "int8-matmul-to-f32",
    "graph-fuse-strips": "cpu-fuse-depthwise",
    "graph-layout": "graph-convert-layout",
    "graph-pack-weights": "cpu-select-matmul-kernels",
    "graph-schedule": "graph-minimize-peak-memory",
    "schedule-affinity": "work-stealing-dispatch",
    "store-positions": "workaround-index-reductions",
    "store-reordered-reductions": "workaround-reordered-reductions",
    "store-shared-rows": "workaround-shared-rows",
    "store-spread-values": "workaround-collapsed-broadcasts",
    "store-strided-slices": "workaround-strided-slices",
}
"""New names of passes by old name."""

OPTIONS = {
    "cpu-select-matmul-kernels": {
        "compact": "allow-f24",
        "split": "bf16x3",
        "strassen": "allow-strassen",
    },
}
"""New names of options by pass and old name."""

ATTRIBUTES = {
    "debugging": {"Culprit": "BisectionResult"},
    "dialects.graph": {
        "Agreement": "ShapeConstraint",
        "CompactMatmulOp": "F24MatmulOp",
        "DirectAttentionOp": "FusedAttentionOp",
        "NarrowMatmulOp": "Bf16MatmulOp",
        "SplitMatmulOp": "Bf16x3MatmulOp",
        "SplitTermsOp": "SplitHiLoOp",
        "Strips": "RowTiling",
        "StripsOp": "FusedDepthwiseOp",
        "Window": "RowWindow",
        "block_places": "block_positions",
        "compact_matmul": "f24_matmul",
        "direct_attention": "fused_attention",
        "narrow_matmul": "bf16_matmul",
        "noted": "collect_constraints",
        "pack_compact": "pack_f24",
        "pack_terms": "pack_hi_lo",
        "split_matmul": "bf16x3_matmul",
        "split_terms": "hi_lo_terms",
        "split_terms_of": "split_hi_lo",
        "strips": "fused_depthwise",
        "unpack_compact": "unpack_f24",
    },
    "frontend.onnx": {
        "HostPiece": "HostPartModel",
        "NativePiece": "NativePartModel",
        "Plan": "PartitionPlan",
    },
}
"""New names of public attributes by module, without the prefix ``graphc.``, and old name."""

ARGUMENTS = {"apart": "independent_dims"}
"""New names of keyword arguments by old name."""

_warned: set[str] = set()


class OldNameWarning(DeprecationWarning):
    """The use of a deprecated name. Python hides it by default; the tools print it."""


def pass_name(name: str) -> str:
    """The name of the pass that is, or was, called `name`."""
    return _renamed(name, PASSES, "the pass")


def pass_options(name: str, options: Mapping[str, str]) -> dict[str, str]:
    """The `options` of the pass `name` under their new names."""
    table = OPTIONS.get(name, {})
    return {
        _renamed(option, table, f"the option of {name}"): value for option, value in options.items()
    }


def attribute(module: str, name: str) -> Any:
    """The attribute that was called `name` in `module`, for the ``__getattr__`` of a module.

    AttributeError if there was none.
    """
    table = ATTRIBUTES[module.removeprefix(f"{__package__}.")]
    if name not in table:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    new = _renamed(name, table, f"the attribute of {module}")
    return getattr(sys.modules[module], new)


def takes_old_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """`function` that takes keyword arguments by the old names of `ARGUMENTS`, too."""

    @functools.wraps(function)
    def renaming(*args: P.args, **kwargs: P.kwargs) -> T:
        for old in ARGUMENTS.keys() & kwargs.keys():
            new = _renamed(old, ARGUMENTS, f"the argument of {function.__name__}")
            if new in kwargs:
                raise TypeError(f"{function.__name__}() got values for both '{old}' and '{new}'")
            kwargs[new] = kwargs.pop(old)
        return function(*args, **kwargs)

    return renaming


def _renamed(name: str, table: Mapping[str, str], what: str) -> str:
    if name not in table:
        return name
    message = f"{what} '{name}' is now called '{table[name]}'"
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, OldNameWarning, stacklevel=3)
    return table[name]


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
        warnings.warn(message, OldNameWarning, stacklevel=2)
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
