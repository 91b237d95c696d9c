"""One module of several lowered programs, each an entry point of it.

The programs keep their functions, under other names. Kernels that several programs have are defined
once, and so are constants that are one attribute already (`graph.sharing_blobs`): the backend makes
one global of them.
"""

import re
from collections.abc import Mapping, Sequence

from ...mlir import ir

_EXECUTABLE, _EXPORT, _FUNCTION = "stream.executable", "stream.executable.export", "func.func"
_NAME = "sym_name"
_ANY = "kernel"
_ASSUMED = "stream.resources"
"""The attribute of what code may assume of buffers (`iree.assume_alignment`)."""


class JointModule:
    """Collects the programs of one context in `module`."""

    def __init__(self) -> None:
        self.module = ir.Module.create(ir.Location.unknown())
        self._kernels: dict[str, str] = {}
        """Names of the kernels of `module`, by their text without the name."""

    def add(self, module: ir.Module, prefix: str, entry: str = "main") -> None:
        """Move the ops of `module` here. Symbols get `prefix` and an underscore before their names;
        those that begin with `entry` have the prefix in place of that. Code may assume of buffers
        no more than in the program that assumes least.
        """
        if _ASSUMED in module.operation.attributes:
            self.module.operation.attributes[_ASSUMED] = module.operation.attributes[_ASSUMED]
        ops = [each.operation for each in module.body.operations]
        names = {op: ir.StringAttr(op.attributes[_NAME]).value for op in ops}
        kernels = [op for op in ops if op.name == _EXECUTABLE]
        others = [op for op in ops if op.name != _EXECUTABLE]
        _redirect(others, {names[op]: self._take_kernel(op, names[op], prefix) for op in kernels})
        for op in others:
            name = names[op]
            new = prefix + name.removeprefix(entry) if _is_of(name, entry) else f"{prefix}_{name}"
            ir.SymbolTable.replace_all_symbol_uses(name, new, module.operation)
            ir.SymbolTable.set_symbol_name(op, new)
        for op in others:
            self.module.body.append(op)

    def _take_kernel(self, op: ir.Operation, name: str, prefix: str) -> str:
        """The name of the kernel `op` here, which becomes one of this module unless that has it."""
        text = op.get_asm(assume_verified=True, use_local_scope=True)
        text = re.sub(rf"\b{re.escape(name)}\b", _ANY, text)
        known = self._kernels.get(text)
        if known is not None:
            op.erase()
            return known
        new = self._kernels[text] = f"{prefix}_{name}"
        _rename_inner(op, name, new)
        ir.SymbolTable.set_symbol_name(op, new)
        self.module.body.append(op)
        return new


def _is_of(name: str, entry: str) -> bool:
    """Return whether a symbol is an entry point, or another way to call it (``main_into``)."""
    return name == entry or name.startswith(f"{entry}_")


def _rename_inner(executable: ir.Operation, name: str, new: str) -> None:
    """Rename the entry point and the function of the kernel `name` too: linking for CUDA crashes at
    two of one name. A function that it calls (`iree.outlining`) keeps its own."""

    def rename(op: ir.Operation) -> ir.WalkResult:
        if op.name == _EXPORT:
            op.attributes["function_ref"] = ir.FlatSymbolRefAttr.get(new)
        if op.name in (_EXPORT, _FUNCTION) and ir.StringAttr(op.attributes[_NAME]).value == name:
            op.attributes[_NAME] = ir.StringAttr.get(new)
        return ir.WalkResult.ADVANCE

    executable.walk(rename)


def _redirect(ops: Sequence[ir.Operation], kernels: Mapping[str, str]) -> None:
    """Let the dispatches in `ops` call `kernels` by their new names."""

    def redirect(op: ir.Operation) -> ir.WalkResult:
        if op.name == "flow.dispatch":
            entry = ir.SymbolRefAttr(ir.ArrayAttr(op.attributes["entry_points"])[0])
            kernel, function = entry.value
            if (new := kernels.get(kernel)) is not None:
                entry = ir.SymbolRefAttr.get([new, new if function == kernel else function])
                op.attributes["entry_points"] = ir.ArrayAttr.get([entry])
        return ir.WalkResult.ADVANCE

    for each in ops:
        each.walk(redirect)
