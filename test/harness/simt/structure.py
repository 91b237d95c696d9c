"""Rules of loops, branches, barriers, and what identifies a thread."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.mlir import ir

from .lock_step import element_dtype, rule, run_block
from .state import Workgroup


@rule("scf.for")
def _for(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    low, high, step = (state.uniform(value) for value in list(op.operands)[:3])
    carried = [state.known[value] for value in list(op.operands)[3:]]
    block = op.regions[0].blocks[0]
    for number in range(low, high, step):
        induction, *arguments = block.arguments
        state.known[induction] = np.full(state.threads, number, element_dtype(induction.type))
        state.known.update(zip(arguments, carried, strict=True))
        carried = run_block(state, block)
    return carried


@rule("scf.if")
def _if(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    if len(op.results):
        raise NotImplementedError("scf.if with results")
    condition = state.known[op.operands[0]].astype(bool)
    for region, chosen in zip(op.regions, (condition, ~condition), strict=True):
        active = state.active & chosen
        if len(region.blocks) and active.any():
            with state.only(active):
                run_block(state, region.blocks[0])
    return []


@rule("stream.binding.subspan")
def _subspan(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    memory = state.known[op.operands[0]]
    (count,) = ir.MemRefType(op.results[0].type).shape
    if len(memory.array) != count or memory.array.dtype != element_dtype(op.results[0].type):
        raise ValueError(f"a buffer of {memory.array.dtype} is {op.results[0].type}")
    return [memory]


@rule("stream.dispatch.workgroup.id")
def _workgroup_id(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    del op
    return [np.full(state.threads, state.number, np.int64)]


@rule("nvvm.read.ptx.sreg.tid.x")
def _thread_id(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    del op
    return [np.arange(state.threads, dtype=np.int32)]


@rule("gpu.barrier")
def _barrier(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    del op
    state.all_active("a barrier")
    for memory in state.shared:
        memory.barrier()
    return []
