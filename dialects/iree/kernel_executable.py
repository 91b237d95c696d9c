"""Outlined kernels as a program of their own, which the backend compiles to an object file."""

from collections.abc import Iterable, Sequence

from ...mlir import func, ir
from .outlining import OutlinedKernel
from .stream import PLAIN

_LAYOUT = "#hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>"
_NAME = "kernels"


def kernel_executable(kernels: Sequence[OutlinedKernel]) -> ir.Module:
    """A module with `kernels` as one executable (``--compile-mode=hal-executable``).

    Its entry point calls them all, since the backend drops functions that are not called. Nobody
    runs it.
    """
    context = kernels[0].context
    context.allow_unregistered_dialects = True
    with context, ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            executable = ir.Operation.create(
                "hal.executable.source",
                attributes={
                    "sym_name": ir.StringAttr.get(_NAME),
                    "sym_visibility": ir.StringAttr.get("public"),
                },
                regions=1,
            )
        with ir.InsertionPoint(executable.regions[0].blocks.append()):
            _export()
            inner = ir.Operation.create("builtin.module", regions=1)
            ir.Operation.create("hal.executable.source_end")
        with ir.InsertionPoint(inner.regions[0].blocks.append()):
            _entry(kernels)
            for kernel in kernels:
                kernel.copy()
    return module


def _export() -> None:
    index = ir.IndexType.get()
    ir.Operation.create(
        "hal.executable.export",
        attributes={
            "sym_name": ir.StringAttr.get(_NAME),
            "sym_visibility": ir.StringAttr.get("public"),
            "ordinal": ir.IntegerAttr.get(index, 0),
            "layout": ir.Attribute.parse(_LAYOUT),
        },
        regions=2,
    )


def _entry(kernels: Iterable[OutlinedKernel]) -> None:
    """A function that calls `kernels` with a number and with memory, the same for all."""
    entry = func.FuncOp(_NAME, ([], []))
    entry.attributes["translation_info"] = ir.Attribute.parse(PLAIN)
    given: dict[ir.Type, ir.Value] = {}
    with ir.InsertionPoint(entry.add_entry_block()):
        for kernel in kernels:
            for type_ in kernel.type.inputs:
                if type_ not in given:
                    given[type_] = _argument(type_)
            operands = [given[type_] for type_ in kernel.type.inputs]
            func.CallOp([], kernel.symbol, operands)
        func.ReturnOp([])


def _argument(type_: ir.Type) -> ir.Value:
    index = ir.IndexType.get()
    zero: dict[str, ir.Attribute] = {"dimension": ir.IntegerAttr.get(index, 0)}
    if type_ == index:
        return ir.Operation.create(
            "hal.interface.workgroup.id", results=[type_], attributes=zero
        ).result
    return ir.Operation.create(
        "hal.interface.binding.subspan",
        results=[type_],
        attributes={
            "binding": ir.IntegerAttr.get(index, 0),
            "layout": ir.Attribute.parse(_LAYOUT),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0]),
        },
    ).result
