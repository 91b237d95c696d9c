"""Rules of loads, stores and asynchronous copies."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.mlir import ir

from .lock_step import element_dtype, lanes, rule
from .state import (
    AsyncCopy,
    GlobalMemory,
    Memory,
    SharedBytes,
    SharedMemory,
    UndefinedBehaviour,
    Workgroup,
)


@rule("memref.alloc")
def _alloc(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    (size,) = ir.MemRefType(op.results[0].type).shape
    state.shared.append(SharedBytes(size))
    return [state.shared[-1]]


@rule("memref.view")
def _view(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    type_ = ir.MemRefType(op.results[0].type)
    (count,) = type_.shape
    start, dtype = state.uniform(op.operands[1]), element_dtype(type_)
    memory = state.known[op.operands[0]]
    if start + count * dtype.itemsize > len(memory.bytes):
        raise UndefinedBehaviour("a view beyond the end of shared memory")
    return [SharedMemory(memory, start, count, dtype)]


@rule("vector.load")
def _load(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    type_ = ir.VectorType(op.results[0].type)
    (count,), dtype = type_.shape, element_dtype(type_)
    memory: Memory = state.known[op.operands[0]]
    values = np.zeros((state.threads, count), dtype)
    at = lanes(state, op.operands[1], count, dtype.itemsize)
    values[state.active] = memory.load(np.flatnonzero(state.active), at)
    return [values]


@rule("vector.store")
def _store(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    stored, target, index = op.operands
    (count,) = ir.VectorType(stored.type).shape
    memory: Memory = state.known[target]
    at = lanes(state, index, count, element_dtype(stored.type).itemsize)
    memory.store(np.flatnonzero(state.active), at, state.known[stored][state.active])
    return []


@rule("nvgpu.device_async_copy")
def _copy(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    target, target_at, source, source_at, *elements = op.operands
    count = ir.IntegerAttr(op.attributes["dstElements"]).value
    itemsize = element_dtype(target.type).itemsize
    to = lanes(state, target_at, count, itemsize)
    start = lanes(state, source_at, count, itemsize)
    valid = np.ones(start.shape, bool)
    if elements:
        valid = np.arange(count) < state.known[elements[0]][state.active][:, None]
    memory: GlobalMemory = state.known[source]
    memory.check(start[valid])
    values = np.zeros(start.shape, memory.array.dtype)
    values[valid] = memory.array[start[valid]]
    threads = np.flatnonzero(state.active)
    shared: SharedMemory = state.known[target]
    shared.start_copy(threads, to)
    state.copied_bytes += values.nbytes
    state.started.append(AsyncCopy(shared, threads, to, values))
    return [None]


@rule("nvgpu.device_async_create_group")
def _group(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    del op
    state.all_active("a group of copies")
    state.groups.append(state.started)
    state.started = []
    return [None]


@rule("nvgpu.device_async_wait")
def _wait(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    state.all_active("a wait")
    pending = ir.IntegerAttr(op.attributes["numGroups"]).value
    done = state.groups[: len(state.groups) - pending]
    state.groups = state.groups[len(done) :]
    for copy in (copy for group in done for copy in group):
        copy.target.finish_copy(copy.threads, copy.at, copy.values)
    return []
