"""Instructions of the warpgroups of Hopper GPUs (PTX for sm_90a): ``wgmma`` and its fences.

A warpgroup is four warps. It multiplies 64 rows by operands in shared memory, whose rows of 128
bytes are swizzled: the vectors of 16 bytes of a row are permuted by XOR with its number, modulo 8.
The unit reads memory through a proxy of its own: what threads wrote needs a fence before it.
"""

from collections.abc import Sequence

from ...mlir import arith, ir, llvm
from .emitter import Registers

WGMMA_M = 64
"""Rows of the left operand."""
WGMMA_K = 16
"""K of one instruction, for elements of 16 bits."""
SWIZZLED_BYTES = 128
"""Bytes of a row of an operand in shared memory."""
ATOM_ROWS = 8
"""Rows after which the swizzle repeats."""

_SWIZZLE_128 = 1 << 62
_STRIDE = (ATOM_ROWS * SWIZZLED_BYTES // 16) << 32
_LEADING = 1 << 16  # ignored for swizzled operands with K innermost
DESCRIPTOR = _SWIZZLE_128 | _STRIDE | _LEADING
"""The descriptor of an operand with K innermost, but for its address: sixteenths of that are its
lowest 14 bits."""
FENCE_PROXY = "fence.proxy.async.shared::cta;"


def fence_proxy() -> None:
    """Let the unit see what this thread has written to shared memory, after the next barrier."""
    llvm.inline_asm(None, [], FENCE_PROXY, "~{memory}", has_side_effects=True)


def multiply_async(
    element: str, pairs: Sequence[tuple[ir.Value, ir.Value]], accumulators: Registers, pending: int
) -> Registers:
    """Start to add products to `accumulators`, f32 in fragments of 8 columns, four in a thread; and
    wait until at most `pending` of the groups that were started so are not done.

    `pairs` are descriptors of the operands, each K of 16 elements of type `element`.
    """
    count = len(accumulators)
    registers = ", ".join(f"${n}" for n in range(count))
    columns = 2 * count
    lines = ["wgmma.fence.sync.aligned;"]
    lines += [
        f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{element}.{element} {{{registers}}}, "
        f"${2 * count + 2 * n}, ${2 * count + 2 * n + 1}, 1, 1, 1, 0, 0;"
        for n in range(len(pairs))
    ]
    lines += ["wgmma.commit_group.sync.aligned;", f"wgmma.wait_group.sync.aligned {pending};"]
    operands = [*accumulators, *(descriptor for pair in pairs for descriptor in pair)]
    return _asm(lines, operands, count)


def wait_for_products(accumulators: Registers) -> Registers:
    """The `accumulators` once all that was started is done."""
    return _asm(["wgmma.wait_group.sync.aligned 0;"], accumulators, len(accumulators))


def _asm(lines: Sequence[str], operands: Registers, count: int) -> Registers:
    """Assembly whose results are `count` floats in the registers of its first operands."""
    f32 = ir.F32Type.get()
    struct = ir.Type.parse(f"!llvm.struct<({', '.join(['f32'] * count)})>")
    tied = [*["=f"] * count, *map(str, range(count)), *["l"] * (len(operands) - count)]
    constraints = ",".join([*tied, "~{memory}"])
    text = "\n".join(lines)
    found = llvm.inline_asm(struct, operands, text, constraints, has_side_effects=True)
    return [
        llvm.extractvalue(f32, found, ir.DenseI64ArrayAttr.get([number])) for number in range(count)
    ]


def descriptor(address: ir.Value, offset: int) -> ir.Value:
    """The descriptor of an operand at `address` (i32), plus `offset` bytes, in shared memory."""
    i64 = ir.IntegerType.get_signless(64)
    i32 = address.type
    sixteenths = arith.shrui(address, arith.constant(i32, 4))
    start = arith.extui(i64, sixteenths)
    return arith.addi(start, arith.constant(i64, DESCRIPTOR + offset // 16))
