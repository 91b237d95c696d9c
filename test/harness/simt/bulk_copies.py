"""Rules of the bulk copy engine: tensor maps, copies of boxes, and their barriers.

A copy is done when a thread waits for its barrier, and not earlier.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphc.mlir import ir

from .assembly import assembly, memory_at, one_thread, shared_bytes
from .state import AsyncRead, UndefinedBehaviour, Values, Workgroup
from .warpgroups import ATOM, ROW, WARPGROUP, swizzled

WARP = 32
_FIELD = re.compile(r"tensormap\.replace\.tile\.(\w+)\.shared::cta\.b1024\.b\d+ \[\$0\], ([^;]*);")
_TYPES = {"6": 2, "10": 2}


@dataclass
class TensorMap:
    pointer: int
    fields: dict[str, str]

    def sizes(self, name: str) -> tuple[int, int]:
        return int(self.fields[f"{name} 0"]), int(self.fields[f"{name} 1"])


@dataclass
class Barrier:
    """A barrier in shared memory: threads that have to arrive, bytes to be copied, and the copies;
    what arriving threads know to be done is known to those who wait."""

    count: int
    phase: int = 0
    arrived: int = 0
    expected: int = 0
    copies: list[tuple[Values, Values]] = field(default_factory=list)
    done: list[AsyncRead] = field(default_factory=list)
    known: list[AsyncRead] = field(default_factory=list)


@assembly(r"bar\.warp\.sync 0xffffffff;")
def _sync_warp(state: Workgroup, op: ir.Operation, found: re.Match[str]) -> Sequence[Any]:
    del op, found
    warps = state.active.reshape(-1, WARP)
    if (warps.any(1) != warps.all(1)).any():
        raise UndefinedBehaviour("a warp waits for threads that are not there")
    for memory in state.shared:
        for warp in np.flatnonzero(warps.all(1)):
            members = warp * WARP + np.arange(WARP)
            for users in (memory.writer, memory.reader):
                users[np.isin(users, members)] = members[0]
    return []


@assembly(r"(tensormap\.replace\.tile\.global_address.*)")
def _write_map(state: Workgroup, op: ir.Operation, found: re.Match[str]) -> Sequence[Any]:
    address, pointer = (one_thread(state, value) for value in op.operands)
    where = shared_bytes(state, address + np.arange(128))
    memory = state.shared[0]
    if address % 128 or not memory.known[where].all() or memory.bytes[where].any():
        raise UndefinedBehaviour("a tensor map is not zeros in 128 aligned bytes")
    fields = {}
    for name, value in _FIELD.findall(found[1]):
        ordinal, comma, last = value.rpartition(", ")
        fields[f"{name} {ordinal}" if comma else name] = last
    fields.pop("global_address")
    made = TensorMap(pointer, fields)
    box, stride = made.sizes("box_dim"), int(fields["global_stride 0"])
    size = _TYPES[fields["elemtype"]]
    fixed = {"rank": "1", "interleave_layout": "0", "swizzle_mode": "3", "fill_mode": "0"}
    if any(fields[name] != value for name, value in fixed.items()):
        raise NotImplementedError(f"a tensor map of {fields}")
    if max(box) > 256 or box[0] * size != ROW or stride % 16 or pointer % 16:
        raise UndefinedBehaviour("a tensor map of boxes or rows that are not allowed")
    state.maps[address] = made
    return []


@assembly(r"tensormap\.cp_fenceproxy.*128;\nfence\.proxy\.tensormap.*128;")
def _publish_map(state: Workgroup, op: ir.Operation, found: re.Match[str]) -> Sequence[Any]:
    del found
    if state.active.sum() != WARP:
        raise UndefinedBehaviour("a tensor map is copied by one warp")
    pointer, address = (state.uniform(value) for value in op.operands)
    memory, offset = memory_at(state, pointer)
    if pointer % 128:
        raise UndefinedBehaviour("a tensor map that is not aligned")
    memory.check(offset + np.arange(128))
    state.maps[pointer] = state.maps[address]
    return []


@assembly(r"mbarrier\.init\.shared::cta\.b64 \[\$0\], (\d+);")
def _init(state: Workgroup, op: ir.Operation, found: re.Match[str]) -> Sequence[Any]:
    state.barriers[one_thread(state, op.operands[0])] = Barrier(int(found[1]))
    return []


@assembly(r"fence\.mbarrier_init\.release\.cluster;\nfence\.proxy\.async\.shared::cta;")
def _fence_barriers(state: Workgroup, op: ir.Operation, found: re.Match[str]) -> Sequence[Any]:
    del state, op, found
    return []


@assembly(r"mbarrier\.arrive\.expect_tx\.shared::cta\.b64 _, \[\$0\], (\d+);")
def _expect(state: Workgroup, op: ir.Operation, found: re.Match[str]) -> Sequence[Any]:
    barrier = state.barriers[one_thread(state, op.operands[0])]
    if barrier.expected or barrier.copies:
        raise UndefinedBehaviour("copies to a barrier whose last phase nobody waited for")
    barrier.expected = int(found[1])
    barrier.arrived += 1
    return []


@assembly(r"mbarrier\.arrive\.shared::cta\.b64 _, \[\$0\];")
def _arrive(state: Workgroup, op: ir.Operation, found: re.Match[str]) -> Sequence[Any]:
    del found
    threads = np.flatnonzero(state.active)
    for address in np.unique(state.known[op.operands[0]][threads]):
        barrier = state.barriers[int(address)]
        here = threads[state.known[op.operands[0]][threads] == address]
        barrier.arrived += len(here)
        groups = set((here // WARPGROUP).tolist())
        reads = [read for memory in state.shared for read in memory.reads if read.done]
        barrier.done += [read for read in reads if read.warpgroup in groups]
        if barrier.arrived > barrier.count:
            raise UndefinedBehaviour("more threads arrive than a barrier waits for")
        if barrier.arrived == barrier.count:
            barrier.phase, barrier.arrived = barrier.phase + 1, 0
            barrier.known, barrier.done = barrier.done, []
    return []


@assembly(r"cp\.async\.bulk\.tensor\.2d\..* \[\$0\], \[\$1, \{\$2, \$3\}\], \[\$4\];")
def _copy_box(state: Workgroup, op: ir.Operation, found: re.Match[str]) -> Sequence[Any]:
    del found
    target, pointer, column, row, at = (one_thread(state, value) for value in op.operands)
    if pointer not in state.maps or pointer < 1 << 32:
        raise UndefinedBehaviour("a copy by a tensor map that is not in memory")
    if target % ATOM:
        raise UndefinedBehaviour("a box that is not aligned to the swizzle")
    map_ = state.maps[pointer]
    (columns, rows), (width, height) = map_.sizes("global_dim"), map_.sizes("box_dim")
    memory, start = memory_at(state, map_.pointer)
    r, c = row + np.arange(height)[:, None], column + np.arange(width)
    inside = (r >= 0) & (r < rows) & (c >= 0) & (c < columns)
    element = start // 2 + r * (int(map_.fields["global_stride 0"]) // 2) + c
    memory.check(element[inside])
    values = np.where(inside, memory.array.view(np.uint16)[np.where(inside, element, 0)], 0)
    offset = (np.arange(height)[:, None] * ROW + 2 * np.arange(width))[..., None] + np.arange(2)
    where = shared_bytes(state, swizzled(target + offset))
    shared = state.shared[0]
    shared.claim(where)
    shared.known[where], shared.in_flight[where] = True, True
    bytes_ = np.ascontiguousarray(values.astype(np.uint16))[..., None].view(np.uint8)
    barrier: Barrier = state.barriers[at]
    barrier.copies.append((where, bytes_))
    state.copied_bytes += bytes_.size
    return []


@assembly(r"\{\n\.reg \.pred p;\nWAIT:\nmbarrier\.try_wait\.parity.*\n\}")
def _wait(state: Workgroup, op: ir.Operation, found: re.Match[str]) -> Sequence[Any]:
    del found
    address, parity = (state.uniform(value) for value in op.operands)
    barrier: Barrier = state.barriers[address]
    if barrier.copies:
        state.all_active("a wait for copies")
        if barrier.arrived != barrier.count:
            raise UndefinedBehaviour("nobody has arrived on the barrier of copies")
        if sum(values.size for _, values in barrier.copies) != barrier.expected:
            raise UndefinedBehaviour("a barrier expects other bytes than are copied")
        for where, values in barrier.copies:
            state.shared[0].in_flight[where] = False
            state.shared[0].bytes[where] = values
        barrier.copies, barrier.expected = [], 0
        barrier.phase, barrier.arrived = barrier.phase + 1, 0
    if barrier.phase % 2 == parity:
        raise UndefinedBehaviour("a wait without an end")
    for memory in state.shared:
        memory.reads = [r for r in memory.reads if not any(r is each for each in barrier.known)]
    return []
