"""Stubs of compiled modules, from the signatures that nanobind stores in them."""

import ast
import re
from contextlib import nullcontext
from types import ModuleType
from unittest import mock

from .declarations import Declarations, drop, has, replace
from .spelling import Spelling

_UNUSED = {"__repr__", "__str__", "dump", "typeid", "static_typeid", "_CAPIPtr", "_CAPICreate"}
"""Members to omit, inherited from `object` or unused: a third of the lines."""

_ELEMENTS = """
@overload
def __getitem__(self, index: int, /) -> {element}: ...
@overload
def __getitem__(self, index: slice, /) -> Self: ...
"""


def binding_stub(module: ModuleType, name: str) -> Declarations:
    """The declarations of a compiled `module`, called `name` in `mlir`."""
    tree = ast.parse(_with_short_names(_generated(module), name))
    body = [each for each in tree.body if not isinstance(each, ast.Import | ast.ImportFrom)]
    for each in body:
        if isinstance(each, ast.ClassDef):
            _tidy(each)
    return [Spelling(set()).visit(each) for each in body]


def _generated(module: ModuleType) -> str:
    from nanobind.stubgen import StubGen

    generator = StubGen(module, recursive=False, include_docstrings=False, include_private=True)
    own = getattr(module, "_Context", None)  # the wheel replaces it by a Python class
    with mock.patch.object(module, "Context", own) if own else nullcontext():
        generator.put(module)
    return generator.get()


def _with_short_names(text: str, name: str) -> str:
    """`text` with classes of `ir` named as in the stub of the module `name`.

    Arrays are buffers, but for type checkers only from Python 3.12 on.
    """
    prefix = "" if name == "ir" else "ir."
    text = re.sub(r"\b(?:torch_mlir\.)?(?:_mlir_libs\.)?(?:_mlir\.)?ir\.(?=[A-Z_])", prefix, text)
    return re.sub(r": Buffer\b", ": Buffer | np.ndarray", text)


def _tidy(cls: ast.ClassDef) -> None:
    drop(cls, _UNUSED)
    if has(cls, "__hash__"):
        drop(cls, {"__hash__", "__eq__"})  # as `object` has them
    element = _element(cls)
    if element is not None:
        cls.body = replace(cls.body, "__getitem__", _ELEMENTS.format(element=element))
        cls.body = replace(cls.body, "__len__", "def __len__(self) -> int: ...")


def _element(cls: ast.ClassDef) -> str | None:
    """``X`` if `cls` is a ``Sequence[X]``, or ``X[_T]`` if it is generic."""
    generic = any(ast.unparse(base) == "Generic[_T]" for base in cls.bases)
    for base in cls.bases:
        if isinstance(base, ast.Subscript) and ast.unparse(base.value) == "Sequence":
            element = ast.unparse(base.slice) + ("[_T]" if generic else "")
            cls.bases = [ast.Name(f"Sequence[{element}]")]
            return element
    return None
