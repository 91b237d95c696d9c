"""Hand-written kernels: the ops of IREE's ``stream`` and ``flow`` dialects that run them.

A kernel is a function on buffers; one call computes one workgroup. The backend translates it as it
stands: no tiling, no vectorization, no fusion.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...mlir import arith, func, ir
from .tensor_list import dynamic_sizes

Body = Callable[..., None]
FLOPS = "flops"
"""The attribute of a kernel that holds its number of floating-point operations."""
PLAIN = "#iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>"
"""How the backend translates a kernel: as it stands."""


@dataclass(frozen=True)
class Buffer:
    """A buffer that a kernel receives. Its size is `elements`, times the kernel's scalars whose
    indices `counts` lists."""

    element: ir.Type
    elements: int
    counts: tuple[int, ...] = ()


BUFFER_BYTES = (1 << 63) - 1
"""The size of the largest buffer: the backend's own limit for CPUs."""


def assume_alignment(module: ir.Module, start: int, step: int) -> None:
    """Let the code of `module` assume buffers that start at multiples of `start` bytes, no more.
    Those that share memory lie at multiples of `step` bytes in it.

    By its own option, the backend would place them at multiples of `start`, too.
    """
    with module.context as context:
        context.allow_unregistered_dialects = True
        module.operation.attributes["stream.resources"] = ir.Attribute.parse(
            f"#stream.resource_config<{{max_allocation_size = {BUFFER_BYTES}, "
            f"min_buffer_offset_alignment = {start}, max_buffer_range = {BUFFER_BYTES}, "
            f"min_buffer_range_alignment = {step}, index_bits = 64, memory_model = Unified}}>"
        )


def define_kernel(
    name: str,
    buffers: Sequence[Buffer],
    body: Body,
    flops: int | None = 0,
    scalars: int = 0,
    threads: int | None = None,
) -> ir.Operation:
    """A kernel at the insertion point, which is in a module.

    `body` receives the workgroup number (an index), then `scalars` indices, and the `buffers` as
    flat memory: the operands and the results, in order. `flops` counts the additions and
    multiplications of all workgroups, for profiles; None if it depends on scalars. On GPUs, the
    threads of a workgroup are `threads`, in warps of 32; the body is that of each thread.
    """
    executable = _executable(name)
    block = executable.regions[0].blocks.append()
    with ir.InsertionPoint(block):
        _export(name, flops)
        module = ir.Operation.create("builtin.module", regions=1)
        ir.Operation.create("stream.executable.end")
    with ir.InsertionPoint(module.regions[0].blocks.append()):
        _function(name, buffers, body, scalars, threads)
    return executable


def define_function(
    name: str, inputs: Sequence[ir.Type], body: Callable[[ir.Block], None], flops: int | None
) -> ir.Operation:
    """A kernel at the insertion point with arguments of the types `inputs`: scalars, then bindings.
    `body` emits all of its code in the block of these. For `flops`, see `define_kernel`."""
    executable = _executable(name)
    with ir.InsertionPoint(executable.regions[0].blocks.append()):
        _export(name, flops)
        module = ir.Operation.create("builtin.module", regions=1)
        ir.Operation.create("stream.executable.end")
    with ir.InsertionPoint(module.regions[0].blocks.append()):
        function = func.FuncOp(name, (list(inputs), []))
        function.attributes["translation_info"] = ir.Attribute.parse(PLAIN)
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        body(block)
        func.ReturnOp([])
    return executable


def run_kernel(
    name: str,
    workgroups: int | ir.Value,
    operands: Sequence[ir.Value],
    results: Sequence[ir.RankedTensorType],
    scalars: Sequence[ir.Value] = (),
    sizes: Sequence[ir.Value] = (),
    in_place: int | None = None,
) -> list[ir.Value]:
    """The `results` of the kernel `name` on `operands`, run as `workgroups` workgroups.

    The results include scratch buffers, which the kernel writes and reads again. `sizes` are the
    dynamic sizes of all results, in order. The first result is computed in the memory of the
    operand numbered `in_place`, if that is given, of which the backend makes a copy where it is
    needed later; the kernel has one buffer for both.
    """
    ir.Context.current.allow_unregistered_dialects = True
    symbol = ir.SymbolRefAttr.get([name, name])
    index = ir.IndexType.get()
    given = [*scalars, *operands]
    tied = [ir.IntegerAttr.get(index, -1) for _ in results]
    if in_place is not None:
        tied[0] = ir.IntegerAttr.get(index, len(scalars) + in_place)
    given_sizes = [size for operand in operands for size in dynamic_sizes(operand)]
    if isinstance(workgroups, int):
        workgroups = arith.constant(ir.IndexType.get(), workgroups)
    segments = [1, len(given), len(given_sizes), len(sizes)]
    op = ir.Operation.create(
        "flow.dispatch",
        results=list(results),
        operands=[workgroups, *given, *given_sizes, *sizes],
        attributes={
            "entry_points": ir.ArrayAttr.get([symbol]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments),
            "tied_operands": ir.ArrayAttr.get(tied),
        },
    )
    return list(op.results)


def operand_in_place(dispatch: ir.Operation) -> int | None:
    """The number of the operand of a ``flow.dispatch`` in whose memory it computes its first
    result; None if it has a memory of its own."""
    (tie, *_) = ir.ArrayAttr(dispatch.attributes["tied_operands"])
    workloads = ir.DenseI32ArrayAttr(dispatch.attributes["operandSegmentSizes"])[0]
    number = ir.IntegerAttr(tie).value
    return None if number < 0 else workloads + number


def _executable(name: str) -> ir.Operation:
    ir.Context.current.allow_unregistered_dialects = True
    return ir.Operation.create(
        "stream.executable",
        attributes={
            "sym_name": ir.StringAttr.get(name),
            "sym_visibility": ir.StringAttr.get("private"),
        },
        regions=1,
    )


def _export(name: str, flops: int | None) -> None:
    """Export the kernel, to be called once for each workgroup."""
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


def _function(
    name: str, buffers: Sequence[Buffer], body: Body, scalars: int, threads: int | None
) -> None:
    index = ir.IndexType.get()
    binding = ir.Type.parse("!stream.binding")
    function = func.FuncOp(name, ([*[index] * scalars, *[binding] * len(buffers)], []))
    sizes = "" if threads is None else f" workgroup_size = [{threads}, 1, 1] subgroup_size = 32"
    function.attributes["translation_info"] = ir.Attribute.parse(
        f"#iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline{sizes}>"
    )
    block = function.add_entry_block()
    numbers = list(block.arguments)[:scalars]
    with ir.InsertionPoint(block):
        bindings = list(block.arguments)[scalars:]
        memory = [
            _subspan(argument, buffer, numbers, on_gpu=threads is not None)
            for argument, buffer in zip(bindings, buffers, strict=True)
        ]
        number = ir.Operation.create(
            "stream.dispatch.workgroup.id",
            results=[index],
            attributes={"dimension": ir.IntegerAttr.get(index, 0)},
        ).result
        body(number, *numbers, *memory)
        func.ReturnOp([])


def _subspan(
    argument: ir.Value, buffer: Buffer, numbers: Sequence[ir.Value], on_gpu: bool
) -> ir.Value:
    """The memory of a binding.

    The backend places several bindings in one allocation. On GPUs it then ignores the offset of a
    buffer unless its type has one (`ConvertToLLVM.cpp`: ``ConvertIREEBindingSubspanOp``).
    """
    index = ir.IndexType.get()
    operands, count = [argument, arith.constant(index, 0)], buffer.elements
    if buffer.counts:
        size = arith.constant(index, count)
        for number in buffer.counts:
            size = arith.muli(size, numbers[number])
        operands.append(size)
        count = ir.ShapedType.get_dynamic_size()
    layout = ir.StridedLayoutAttr.get(ir.ShapedType.get_dynamic_stride_or_offset(), [1])
    type_ = ir.MemRefType.get([count], buffer.element, layout if on_gpu else None)
    return ir.Operation.create("stream.binding.subspan", results=[type_], operands=operands).result
