"""Imports of buffers as tensors, and waits for tensors, in IREE's ``hal`` dialect."""

from collections.abc import Sequence

from ...mlir import arith, ir


def import_tensor(buffer: ir.Value, type_: ir.Type, sizes: Sequence[ir.Value]) -> ir.Value:
    """The memory of `buffer`, a ``!hal.buffer`` that is handed over, as a tensor of `type_` with
    the dynamic `sizes`. Like ``flow.dispatch.region``, it is created without a definition."""
    ir.Context.current.allow_unregistered_dialects = True
    return ir.Operation.create(
        "hal.tensor.import",
        results=[type_],
        operands=[buffer, *sizes],
        attributes={
            "consume": ir.UnitAttr.get(),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, len(sizes), 0, 0]),
            "target_encoding": ir.TypeAttr.get(type_),
        },
    ).result


def wait_for(tensors: Sequence[ir.Value]) -> list[ir.Value]:
    """The `tensors`, after a wait of the host for all of them together."""
    ir.Context.current.allow_unregistered_dialects = True
    i32, fence = ir.IntegerType.get_signless(32), ir.Type.parse("!hal.fence")
    no_flags: dict[str, ir.Attribute] = {
        "flags": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
    }
    device = ir.Operation.create(
        "hal.devices.get",
        results=[ir.Type.parse("!hal.device")],
        operands=[arith.constant(ir.IndexType.get(), 0)],
    ).result
    done = ir.Operation.create(
        "hal.fence.create", results=[fence], operands=[device], attributes=no_flags
    ).result
    awaited = ir.Operation.create(
        "hal.tensor.barrier",
        results=[each.type for each in tensors],
        operands=[*tensors, done],
    )
    status = ir.Operation.create(
        "hal.fence.await",
        results=[i32],
        operands=[arith.constant(i32, -1), done],  # without a timeout
        attributes=no_flags,
    ).result
    ir.Operation.create(
        "util.status.check_ok",
        operands=[status],
        attributes={"message": ir.StringAttr.get("failed to wait for the results")},
    )
    return list(awaited.results)
