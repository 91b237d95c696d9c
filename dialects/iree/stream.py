"""Kernels written by hand: the ops of IREE's ``stream`` and ``flow`` dialects that run them.

A kernel is a function on memory, one call of which does one piece of the work. The backend makes
machine code of it as it stands: no tiling, no vectorisation, no fusion.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...mlir import arith, func, ir
from .tensor_list import dynamic_sizes

Body = Callable[..., None]
FLOPS = "flops"
"""The attribute of a kernel that says how much it computes."""


@dataclass(frozen=True)
class Buffer:
    """Memory that a kernel is handed: so many elements, or so many for each of the rows, whose
    number run time decides."""

    element: ir.Type
    elements: int
    per_row: bool = False


def define_kernel(
    name: str, buffers: Sequence[Buffer], body: Body, flops: int | None = 0
) -> ir.Operation:
    """A kernel at the insertion point, which is in a module.

    `body` receives the number of the piece of work, an index, then, where buffers have elements
    `per_row`, the number of rows, and the `buffers` as flat memory: the operands and the result, in
    order. `flops` are the additions and multiplications of all pieces together, for profiles; None
    where the rows decide.
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
    pieces: int | ir.Value,
    operands: Sequence[ir.Value],
    result: ir.RankedTensorType,
    scratch: Sequence[ir.RankedTensorType] = (),
    rows: ir.Value | None = None,
    sizes: Sequence[ir.Value] = (),
) -> ir.Value:
    """The result of the kernel `name` on `operands`, done in so many `pieces`.

    `scratch` are buffers that the kernel writes and reads again: the last that it is given. `rows`
    is what the kernel's buffers count by, if they do; `sizes` are the dynamic ones of `result`.
    """
    ir.Context.current.allow_unregistered_dialects = True
    symbol = ir.SymbolRefAttr.get([name, name])
    untied = ir.IntegerAttr.get(ir.IndexType.get(), -1)
    given = [*([] if rows is None else [rows]), *operands]
    given_sizes = [size for operand in operands for size in dynamic_sizes(operand)]
    if isinstance(pieces, int):
        pieces = arith.constant(ir.IndexType.get(), pieces)
    segments = [1, len(given), len(given_sizes), len(sizes)]
    op = ir.Operation.create(
        "flow.dispatch",
        results=[result, *scratch],
        operands=[pieces, *given, *given_sizes, *sizes],
        attributes={
            "entry_points": ir.ArrayAttr.get([symbol]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments),
            "tied_operands": ir.ArrayAttr.get([untied] * (1 + len(scratch))),
        },
    )
    return op.results[0]


def _export(name: str, flops: int | None) -> None:
    """Say that the kernel is to be called once for each piece."""
    i64 = ir.IntegerType.get_signless(64)
    op = ir.Operation.create(
        "stream.executable.export",
        attributes={
            "sym_name": ir.StringAttr.get(name),
            "sym_visibility": ir.StringAttr.get("public"),
            "function_ref": ir.FlatSymbolRefAttr.get(name),
            FLOPS: ir.IntegerAttr.get(i64, -1 if flops is None else flops),
        },
        regions=1,
    )
    index = ir.IndexType.get()
    block = op.regions[0].blocks.append(index, arg_locs=[ir.Location.current])
    with ir.InsertionPoint(block):
        one = arith.constant(index, 1)
        ir.Operation.create("stream.return", operands=[block.arguments[0], one, one])


def _function(name: str, buffers: Sequence[Buffer], body: Body) -> None:
    index = ir.IndexType.get()
    scalars = [index] if any(buffer.per_row for buffer in buffers) else []
    binding = ir.Type.parse("!stream.binding")
    function = func.FuncOp(name, ([*scalars, *[binding] * len(buffers)], []))
    function.attributes["translation_info"] = ir.Attribute.parse(
        "#iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>"
    )
    block = function.add_entry_block()
    rows = list(block.arguments)[: len(scalars)]
    with ir.InsertionPoint(block):
        number = ir.Operation.create(
            "stream.dispatch.workgroup.id",
            results=[index],
            attributes={"dimension": ir.IntegerAttr.get(index, 0)},
        ).result
        bindings = list(block.arguments)[len(scalars) :]
        memory = [
            _subspan(argument, buffer, rows)
            for argument, buffer in zip(bindings, buffers, strict=True)
        ]
        body(number, *rows, *memory)
        func.ReturnOp([])


def _subspan(argument: ir.Value, buffer: Buffer, rows: Sequence[ir.Value]) -> ir.Value:
    """The memory of a binding."""
    index = ir.IndexType.get()
    operands, count = [argument, arith.constant(index, 0)], buffer.elements
    if buffer.per_row:
        operands.append(arith.muli(rows[0], arith.constant(index, count)))
        count = ir.ShapedType.get_dynamic_size()
    type_ = ir.MemRefType.get([count], buffer.element)
    return ir.Operation.create("stream.binding.subspan", results=[type_], operands=operands).result
