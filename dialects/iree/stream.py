"""Kernels written by hand: the ops of IREE's ``stream`` and ``flow`` dialects that run them.

A kernel is a function on memory, one call of which does one piece of the work. The backend makes
machine code of it as it stands: no tiling, no vectorisation, no fusion.
"""

from collections.abc import Callable, Sequence

from ...mlir import arith, func, ir

Body = Callable[..., None]


FLOPS = "flops"
"""The attribute of a kernel that says how much it computes."""


def define_kernel(
    name: str, buffers: Sequence[ir.MemRefType], body: Body, flops: int = 0
) -> ir.Operation:
    """A kernel at the insertion point, which is in a module.

    `body` receives the number of the piece of work, an index, and the `buffers`: the operands and
    the result, in order. `flops` are the additions and multiplications of all pieces together, for
    profiles.
    """
    ir.Context.current.allow_unregistered_dialects = True
    executable = ir.Operation.create(
        "stream.executable",
        attributes={
            "sym_name": ir.StringAttr.get(name),
            "sym_visibility": ir.StringAttr.get("private"),
        },
        regions=1,
    )
    block = executable.regions[0].blocks.append()
    with ir.InsertionPoint(block):
        _export(name, flops)
        module = ir.Operation.create("builtin.module", regions=1)
        ir.Operation.create("stream.executable.end")
    with ir.InsertionPoint(module.regions[0].blocks.append()):
        _function(name, buffers, body)
    return executable


def run_kernel(
    name: str,
    pieces: int,
    operands: Sequence[ir.Value],
    result: ir.RankedTensorType,
    scratch: Sequence[ir.RankedTensorType] = (),
) -> ir.Value:
    """The result of the kernel `name` on `operands`, done in so many `pieces`; static sizes.

    `scratch` are buffers that the kernel writes and reads again: the last that it is given.
    """
    ir.Context.current.allow_unregistered_dialects = True
    symbol = ir.SymbolRefAttr.get([name, name])
    untied = ir.IntegerAttr.get(ir.IndexType.get(), -1)
    op = ir.Operation.create(
        "flow.dispatch",
        results=[result, *scratch],
        operands=[arith.constant(ir.IndexType.get(), pieces), *operands],
        attributes={
            "entry_points": ir.ArrayAttr.get([symbol]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, len(operands), 0, 0]),
            "tied_operands": ir.ArrayAttr.get([untied] * (1 + len(scratch))),
        },
    )
    return op.results[0]


def _export(name: str, flops: int) -> None:
    """Say that the kernel is to be called once for each piece."""
    op = ir.Operation.create(
        "stream.executable.export",
        attributes={
            "sym_name": ir.StringAttr.get(name),
            "sym_visibility": ir.StringAttr.get("public"),
            "function_ref": ir.FlatSymbolRefAttr.get(name),
            FLOPS: ir.IntegerAttr.get(ir.IntegerType.get_signless(64), flops),
        },
        regions=1,
    )
    index = ir.IndexType.get()
    block = op.regions[0].blocks.append(index, arg_locs=[ir.Location.current])
    with ir.InsertionPoint(block):
        one = arith.constant(index, 1)
        ir.Operation.create("stream.return", operands=[block.arguments[0], one, one])


def _function(name: str, buffers: Sequence[ir.MemRefType], body: Body) -> None:
    binding = ir.Type.parse("!stream.binding")
    function = func.FuncOp(name, ([binding] * len(buffers), []))
    function.attributes["translation_info"] = ir.Attribute.parse(
        "#iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>"
    )
    block = function.add_entry_block()
    index = ir.IndexType.get()
    with ir.InsertionPoint(block):
        zero = arith.constant(index, 0)
        number = ir.Operation.create(
            "stream.dispatch.workgroup.id",
            results=[index],
            attributes={"dimension": ir.IntegerAttr.get(index, 0)},
        ).result
        memory = [
            ir.Operation.create(
                "stream.binding.subspan", results=[type_], operands=[argument, zero]
            ).result
            for type_, argument in zip(buffers, block.arguments, strict=True)
        ]
        body(number, *memory)
        func.ReturnOp([])
