"""Reproducers of failures: the program before the failing pass, and the pipeline."""

import json
import math
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...dialects import graph
from ...mlir import ir

TEXT_LIMIT = 16 << 20
"""Programs with more bytes of constants are saved as bytecode: their text would be twice that."""

_PIPELINE = re.compile(r'mlir_reproducer:\s*\{\s*pipeline:\s*("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True)
class Reproducer:
    """A program and the pipeline that fails on it. ``str(reproducer)`` is a file for gc-opt."""

    module: Any
    pipeline: str

    def __str__(self) -> str:
        text = self.module.operation.get_asm(enable_debug_info=True)
        resource = (
            "{-#\n  external_resources: {\n    mlir_reproducer: {\n"
            f"      pipeline: {json.dumps(self.pipeline)}\n"
            "    }\n  }\n#-}\n"
        )
        return f"// gc-opt --run-reproducer on this file fails\n{text}\n{resource}"

    def save(self, stem: str | Path) -> str:
        """Write ``stem.mlir``, or ``.mlirbc`` for large programs; returns the command to run it."""
        if constant_bytes(self.module) > TEXT_LIMIT:
            path = Path(f"{stem}.mlirbc")
            with path.open("wb") as file:
                self.module.operation.write_bytecode(file)
            return f"gc-opt --pass-pipeline={shlex.quote(self.pipeline)} {shlex.quote(str(path))}"
        path = Path(f"{stem}.mlir")
        path.write_text(str(self), encoding="utf-8")
        return f"gc-opt --run-reproducer {shlex.quote(str(path))}"


def pipeline_of(text: str) -> str | None:
    """The pipeline that a reproducer's text carries, or None when it is not one."""
    match = _PIPELINE.search(text)
    return json.loads(match.group(1)) if match else None


def constant_bytes(module: Any) -> int:
    """The size of the constants in `module`, which is most of its text or bytecode."""
    total = 0

    def visit(operation: Any) -> Any:
        nonlocal total
        type_ = graph.type_of(operation.results[0])
        total += math.prod(type_.shape) * type_.dtype.itemsize
        return ir.WalkResult.ADVANCE

    with module.context:
        module.operation.walk(visit, op_class=graph.ConstantOp)
    return total
