"""One kernel that runs several, one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...dialects import iree
from ...dialects.iree.dispatches import KernelFunction, WorkgroupCode, workgroup_id
from ...mlir import arith, ir, scf
from .work_claims import Stages, stages_type

MAX_KERNELS = 24
"""Kernels in one, at most: more take the backend long, and save little."""


@dataclass(frozen=True)
class KernelUse:
    """A kernel in a merged one: its workgroups, and the numbers of the scalars and of the tensors
    of the merged one that it reads and writes, in the order of its arguments."""

    kernel: str
    workgroups: int
    scalars: tuple[int, ...]
    tensors: tuple[int, ...]
    written: tuple[int, ...]
    """Those of `tensors` that it may write."""


def define_merged(
    module: Any, name: str, uses: Sequence[KernelUse], counts: tuple[int, int, int], threads: int
) -> None:
    """Define the kernel `name` at the insertion point, which runs `uses`. `counts` are its scalars,
    the tensors that it is given, and those that it makes; with several threads, counters of
    `stages_type` are given, too, after the others."""
    index, binding = ir.IndexType.get(), ir.Type.parse("!stream.binding")
    has_counters = threads > 1
    inputs = [index] * counts[0] + [binding] * (counts[1] + has_counters + counts[2])
    kernels = [KernelFunction(module, use.kernel) for use in uses]
    known = [kernel.flops for kernel in kernels]
    flops = None if None in known else sum(each for each in known if each)

    def body(block: ir.Block) -> None:
        workgroup_id()
        scalars = list(block.arguments)[: counts[0]]
        tensors = list(block.arguments)[counts[0] :]
        counters = tensors.pop(counts[1]) if has_counters else None
        codes = [
            kernel.copy_to(
                block, [*(scalars[n] for n in use.scalars), *(tensors[n] for n in use.tensors)]
            )
            for kernel, use in zip(kernels, uses, strict=True)
        ]
        if counters is None:
            for use, code in zip(uses, codes, strict=True):
                _alone(use.workgroups, code)
            return
        _shared(counters, uses, codes, threads)

    iree.define_function(name, inputs, body, flops)


def _alone(workgroups: int, code: WorkgroupCode) -> None:
    """Emit all workgroups of a kernel."""
    zero, one = (arith.constant(ir.IndexType.get(), n) for n in (0, 1))
    if workgroups == 1:
        return code.place(zero)
    loop = scf.ForOp(zero, arith.constant(ir.IndexType.get(), workgroups), one)
    with ir.InsertionPoint(loop.body):
        code.place(loop.induction_variable)
        scf.YieldOp([])
    return None


def _shared(
    given: ir.Value, uses: Sequence[KernelUse], codes: Sequence[WorkgroupCode], threads: int
) -> None:
    """Emit the kernels in stages that `threads` calls share, with the counters `given`."""
    zero = arith.constant(ir.IndexType.get(), 0)
    memory = stages_type(MAX_KERNELS, threads)
    counters = ir.Operation.create(
        "stream.binding.subspan", results=[memory], operands=[given, zero]
    ).result
    stages = Stages(counters, threads)
    for first, end in _independent(uses):
        parts = zip(uses[first:end], codes[first:end], strict=True)
        stages.run([(use.workgroups, code.place) for use, code in parts])
    stages.end()


def _independent(uses: Sequence[KernelUse]) -> list[tuple[int, int]]:
    """Runs of `uses` in which no kernel reads or writes what another one writes."""
    found: list[tuple[int, int]] = []
    first, read, written = 0, set[int](), set[int]()
    for number, use in enumerate(uses):
        if written & set(use.tensors) or read & set(use.written):
            found.append((first, number))
            first, read, written = number, set(), set()
        read |= set(use.tensors)
        written |= set(use.written)
    return [*found, (first, len(uses))]
