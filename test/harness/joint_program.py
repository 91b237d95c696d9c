"""One program of many, so that the per-module work of the backend is done once for all."""

import io
from collections.abc import Iterable

from graphc.compiler.bytecode import BYTECODE_VERSION
from graphc.mlir import ir
from graphc.tools.program_files import new_context

_ASSUMED = "stream.resources"


def joint_name(number: int, name: str) -> str:
    """The name in a joint program of what is called `name` in program `number`."""
    return f"case{number}_{name}"


def join(programs: Iterable[bytes]) -> bytes:
    """One program with all functions of the different `programs`, whose symbols get a number as a
    prefix (`joint_name`)."""
    with new_context(allow_unregistered=True), ir.Location.unknown():
        joint = ir.Module.create()
        for number, program in enumerate(dict.fromkeys(programs)):
            module = ir.Module.parse(program)
            if _ASSUMED in module.operation.attributes:  # the least that one of them assumes
                joint.operation.attributes[_ASSUMED] = module.operation.attributes[_ASSUMED]
            for op in list(module.body.operations):
                _number(op.operation, number, module)
                joint.body.append(op)
        contents = io.BytesIO()
        joint.operation.write_bytecode(contents, BYTECODE_VERSION)
    return contents.getvalue()


def _number(op: ir.Operation, number: int, module: ir.Module) -> None:
    """Prefix the symbol that `op` of `module` defines, and its uses, with `number`."""
    name = ir.StringAttr(op.attributes["sym_name"]).value
    new = joint_name(number, name)
    if op.name == "stream.executable":
        _rename_kernel(op, name, new, module)
    ir.SymbolTable.replace_all_symbol_uses(name, new, module.operation)
    ir.SymbolTable.set_symbol_name(op, new)


def _rename_kernel(executable: ir.Operation, name: str, new: str, module: ir.Module) -> None:
    """Rename the entry point and the function of a kernel too: linking for CUDA crashes at two of
    one name."""

    def rename(op: ir.Operation) -> ir.WalkResult:
        if op.name == "stream.executable.export":
            op.attributes["function_ref"] = ir.FlatSymbolRefAttr.get(new)
        if op.name in ("stream.executable.export", "func.func"):
            op.attributes["sym_name"] = ir.StringAttr.get(new)
        return ir.WalkResult.ADVANCE

    def redirect(op: ir.Operation) -> ir.WalkResult:
        if op.name == "flow.dispatch":
            entry = ir.SymbolRefAttr(ir.ArrayAttr(op.attributes["entry_points"])[0])
            if entry.value == [name, name]:
                entry = ir.SymbolRefAttr.get([name, new])
                op.attributes["entry_points"] = ir.ArrayAttr.get([entry])
        return ir.WalkResult.ADVANCE

    executable.walk(rename)
    module.operation.walk(redirect)
