"""Rules of ``wgmma``: products of warpgroups, whose operands are in shared memory."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from graphc.mlir import ir

from .assembly import assembly, shared_bytes
from .lock_step import rule
from .state import AsyncRead, UndefinedBehaviour, Values, Workgroup
from .tensor_cores import truncated

WARPGROUP = 128
_TYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
_WGMMA = re.compile(
    r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16\.f32\.(\w+)\.\2 "
    r"\{([^}]*)\}, \$(\d+), \$(\d+), 1, 1, 1, 0, 0;"
)
_SWIZZLE_128 = 1
ROW = 128
ATOM = 8 * ROW


@dataclass
class InFlight:
    """Registers that products in flight write."""

    values: Any

    def __array__(self, *_: Any, **__: Any) -> Values:
        raise UndefinedBehaviour("accumulators are used while products are in flight")


def swizzled(address: Values) -> Values:
    """Physical addresses of bytes whose rows of 128 are swizzled."""
    return address ^ ((address // ROW % 8) * 16)


@assembly(r"fence\.proxy\.async\.shared::cta;")
def _fence_proxy(state: Workgroup, op: ir.Operation, found: re.Match[str]) -> Sequence[Any]:
    del op, found
    for memory in state.shared:
        memory.fence(np.flatnonzero(state.active))
    return []


@rule("llvm.extractvalue")
def _extract(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    (position,) = ir.DenseI64ArrayAttr(op.attributes["position"])
    container = state.known[op.operands[0]]
    if isinstance(container, InFlight):
        return [InFlight(container.values[position])]
    return [container[position]]


@assembly(
    r"wgmma\.fence\.sync\.aligned;\n(wgmma\.mma_async.*;\n)"
    r"wgmma\.commit_group\.sync\.aligned;\nwgmma\.wait_group\.sync\.aligned (\d+);"
)
def _products(state: Workgroup, op: ir.Operation, found: re.Match[str]) -> Sequence[Any]:
    state.all_active("wgmma")
    count = str(op.results[0].type).count("f32")
    accumulators = np.stack([_register(state, v) for v in list(op.operands)[:count]], axis=1)
    group: list[AsyncRead] = []
    for line in found[1].splitlines():
        match = _WGMMA.fullmatch(line)
        if match is None:
            raise NotImplementedError(line)
        assert match[3] == ", ".join(f"${n}" for n in range(count))
        assert int(match[1]) == 2 * count
        a, b = (op.operands[int(match[n]) - count] for n in (4, 5))
        products, reads = _multiply(state, a, b, _TYPES[match[2]], 2 * count)
        accumulators = truncated(accumulators.astype(np.float64) + products)
        group += reads
    state.products.append(group)
    _wait(state, int(found[2]))
    return [InFlight(list(accumulators.T))]


@assembly(r"wgmma\.wait_group\.sync\.aligned 0;")
def _wait_for_all(state: Workgroup, op: ir.Operation, found: re.Match[str]) -> Sequence[Any]:
    del found
    _wait(state, 0)
    return [[_register(state, value) for value in op.operands]]


def _wait(state: Workgroup, pending: int) -> None:
    state.all_active("a wait for products")
    done = state.products[: len(state.products) - pending]
    state.products = state.products[len(done) :]
    for read in (read for group in done for read in group):
        read.done = True


def _register(state: Workgroup, value: ir.Value) -> Values:
    found = state.known[value]
    return found.values if isinstance(found, InFlight) else found


def _multiply(
    state: Workgroup, a: ir.Value, b: ir.Value, dtype: np.dtype, columns: int
) -> tuple[Values, list[AsyncRead]]:
    """Products of 64 rows and K of 16 by `columns`, for each thread; and what was read."""
    found: list[Values] = []
    reads: list[AsyncRead] = []
    for group in range(state.threads // WARPGROUP):
        operands: list[Values] = []
        for descriptor, rows in ((a, 64), (b, columns)):
            values = state.known[descriptor][group * WARPGROUP : (group + 1) * WARPGROUP]
            if len(set(values.tolist())) != 1:
                raise UndefinedBehaviour("the threads of a warpgroup name different operands")
            read, operand = _operand(state, int(values[0]), rows, dtype, group)
            reads.append(read)
            operands.append(operand)
        found.append(_of_threads(operands[0] @ operands[1].T))
    return np.concatenate(found), reads


def _operand(
    state: Workgroup, descriptor: int, rows: int, dtype: np.dtype, group: int
) -> tuple[AsyncRead, Values]:
    descriptor &= (1 << 64) - 1
    start, stride = (descriptor & 0x3FFF) * 16, (descriptor >> 32 & 0x3FFF) * 16
    base_offset, mode = descriptor >> 49 & 7, descriptor >> 62
    if mode != _SWIZZLE_128 or base_offset:
        raise NotImplementedError("operands but those swizzled over 128 bytes")
    row, byte = np.arange(rows)[:, None], np.arange(2 * 16)
    address = swizzled(start + row // 8 * stride + row % 8 * ROW + byte)
    read, values = state.shared[0].read_async(shared_bytes(state, address), group)
    return read, np.ascontiguousarray(values).view(dtype).astype(np.float64)


def _of_threads(result: Values) -> Values:
    """The elements of a warpgroup's result that each thread has."""
    warp, lane = np.divmod(np.arange(WARPGROUP), 32)
    row, column = 16 * warp + lane // 4, 2 * (lane % 4)
    register = np.arange(result.shape[1] // 2)
    rows = row[:, None] + register // 2 % 2 * 8
    columns = column[:, None] + register // 4 * 8 + register % 2
    return result[rows, columns]
