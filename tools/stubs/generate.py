"""Generation of the stubs, and detection of those that are not up to date."""

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ... import mlir
from .bindings import binding_stub
from .corrections import CORRECTIONS
from .declarations import correct
from .op_modules import op_stub

FOLDER = Path(__file__).resolve().parents[2] / "stubs"
COMPILED = ("ir", "passmanager", "rewrite")
DIALECTS = (*("arith", "cf", "func", "math", "memref", "nvgpu", "scf", "tensor", "vector"),)

_HEADER = '''"""Types of MLIR's `{name}`. Written by `make stubs`; edits here are lost."""

import enum
from array import array as _array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Final, Generic, Literal
from typing import Self, TypeAlias, TypedDict, Unpack, overload

import numpy as np
from typing_extensions import Buffer, CapsuleType, TypeVar

'''
_OF_OTHERS = """
from . import ir

_T = TypeVar("_T", bound=ir.Type)
"""


def main() -> int:
    """Write every stub that is not up to date."""
    for name, text in stale():
        (FOLDER / f"{name}.pyi").write_text(text, encoding="utf-8")
        print(f"wrote stubs/{name}.pyi")
    return 0


def stale() -> Iterator[tuple[str, str]]:
    """The names of the stubs that are not up to date, and their new contents."""
    for name in (*COMPILED, *DIALECTS):
        path, text = FOLDER / f"{name}.pyi", stub(name)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            yield name, text


def stub(name: str) -> str:
    """The stub of the module called `name` in `mlir`."""
    if name in COMPILED:
        bindings = importlib.import_module(f"{mlir.ir.__package__}._mlir_libs._mlir.{name}")
        body = binding_stub(bindings, name)
    else:
        body = op_stub(getattr(mlir, name))
    body = correct(body, CORRECTIONS.get(name, {}))
    code = "\n".join(map(ast.unparse, body))
    return _formatted(_HEADER.format(name=name) + ("" if name == "ir" else _OF_OTHERS) + code)


def _formatted(code: str) -> str:
    """`code` without unused imports, formatted by ruff."""
    steps = (["check", "--fix", "--select=F401"], ["check", "--fix", "--select=I"], ["format"])
    for step in steps:
        command = [
            sys.executable,
            "-m",
            "ruff",
            *step,
            "--quiet",
            f"--stdin-filename={FOLDER}/x.pyi",
        ]
        done = subprocess.run(
            [*command, "-"], input=code, capture_output=True, text=True, check=True
        )
        code = done.stdout
    return code
