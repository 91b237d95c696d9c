"""One program of many, so that the per-module work of the backend is done once for all."""

import io
from collections.abc import Iterable

from graphc.compiler.bytecode import BYTECODE_VERSION
from graphc.dialects.iree.joint_module import JointModule
from graphc.mlir import ir
from graphc.tools.program_files import new_context


def joint_name(number: int) -> str:
    """The name in a joint program of the entry point of program `number`."""
    return f"case{number}"


def join(programs: Iterable[bytes]) -> bytes:
    """One program with all functions of the different `programs`."""
    with new_context(allow_unregistered=True), ir.Location.unknown():
        joint = JointModule()
        for number, program in enumerate(dict.fromkeys(programs)):
            joint.add(ir.Module.parse(program), joint_name(number))
        contents = io.BytesIO()
        joint.module.operation.write_bytecode(contents, BYTECODE_VERSION)
    return contents.getvalue()
