"""One module of several lowered programs, each an entry point of it.

The programs keep their functions, under other names. Kernels that several programs have are defined
once, and so are constants that are one attribute already (`graph.sharing_blobs`): the backend makes
one global of them.
"""

import re

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
        for op in list(module.body.operations):
            self._move(op.operation, module, prefix, entry)

    def _move(self, op: ir.Operation, module: ir.Module, prefix: str, entry: str) -> None:
        name = ir.StringAttr(op.attributes[_NAME]).value
        new = prefix + name.removeprefix(entry) if _is_of(name, entry) else f"{prefix}_{name}"
        if op.name == _EXECUTABLE:
            text = re.sub(
                rf"\b{re.escape(name)}\b",
                _ANY,
                op.get_asm(assume_verified=True, use_local_scope=True),
            )
            known = self._kernels.get(text)
            if known is not None:
                _redirect(module, name, known)
                ir.SymbolTable.replace_all_symbol_uses(name, known, module.operation)
                op.erase()
                return
            self._kernels[text] = new
            _rename_inner(op, name, new)
            _redirect(module, name, new)
        ir.SymbolTable.replace_all_symbol_uses(name, new, module.operation)
        ir.SymbolTable.set_symbol_name(op, new)
        self.module.body.append(op)


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


def _redirect(module: ir.Module, name: str, new: str) -> None:
    """Let the dispatches in `module` of the kernel `name` call the function `new` of it."""

    def redirect(op: ir.Operation) -> ir.WalkResult:
        if op.name == "flow.dispatch":
            entry = ir.SymbolRefAttr(ir.ArrayAttr(op.attributes["entry_points"])[0])
            if entry.value == [name, name]:
                entry = ir.SymbolRefAttr.get([name, new])
                op.attributes["entry_points"] = ir.ArrayAttr.get([entry])
        return ir.WalkResult.ADVANCE

    module.operation.walk(redirect)
