"""Extensions that other modules have registered with the compiler in this process."""

import sys
from typing import Any

from ..runtime.cache.keys import is_own_source

_REGISTRIES = (
    "graphc.passes.infra.registry",
    "graphc.passes.graph_to_linalg.lowering",
    "graphc.passes.graph_to_linalg.scalar_rules",
    "graphc.frontend.onnx.importing.registry",
)


def extensions() -> set[str]:
    """The foreign modules that have registered passes, ops, converters or rules.

    Imports nothing: a registry that is not imported yet has no extensions.
    """
    parts: list[Any] = []
    for name in _REGISTRIES:
        if registry := sys.modules.get(name):
            parts += registry.registered()
    if ops := sys.modules.get("graphc.dialects.graph.base"):
        parts += ops.GraphOp.op_classes.values()
    modules = {getattr(part, "__module__", "") for part in parts}
    return {module for module in modules if not is_own_source(_file_of(module))}


def _file_of(module: str) -> str | None:
    return getattr(sys.modules.get(module), "__file__", None)
