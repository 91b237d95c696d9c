"""Distribution of a kernel's workgroups among threads."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...dialects.iree.dispatches import Dispatch, KernelFunction, each_dispatch, splat
from ...dialects.locations import node_name
from ...mlir import arith, ir
from ..infra.base import MODULE, Pass, PassState
from ..infra.registry import register
from .work_claims import counters_type, each_claimed


@register
@dataclass(frozen=True)
class WorkStealingDispatch(Pass):
    """Give each thread a contiguous share of a kernel's workgroups, the same one every time.

    %1 = flow.dispatch @a[%n](%0) : (tensor<..>) -> tensor<..>
    -->
    %counters = flow.tensor.splat 0 : tensor<48xi64>
    %1:2 = flow.dispatch @a[%threads](%n, %0, %counters) : (..) -> (tensor<..>, %counters)

    The backend hands out workgroups in the order in which threads ask for them, and eight at a time
    if there are eight or more per thread: of 24 workgroups, one of two threads gets 16. Here the
    kernel is called once for each thread, and claims workgroups one by one through counters that
    kernels of a run pass on: from its core's share, and when that is empty, from another's
    (affinity scheduling, Markatos and LeBlanc, 1994). The operands of a kernel were then mostly
    computed on the same core, and are in its cache. For x86-64, where code can query the core that
    it runs on.
    """

    name = "work-stealing-dispatch"
    anchor = MODULE
    threads: int = 1

    def run(self, op: Any, state: PassState) -> None:
        dispatches = each_dispatch(op)
        if self.threads < 2 or not dispatches:
            return
        few = {each.kernel for each in dispatches if self._has_few(each)}
        names = dict.fromkeys(each.kernel for each in dispatches)
        kernels = {name: KernelFunction(op, name) for name in names}
        statistics, counters = state.statistics("share"), _Counters(self.threads)
        positions: dict[str, tuple[int, int]] = {}
        for each in dispatches:
            node = node_name(each.op)
            if kernels[each.kernel].counts_calls:
                statistics.record_declined(node, "its threads share its work themselves")
                continue
            if each.kernel in few:
                statistics.record_declined(node, "fewer workgroups than threads")
                continue
            called = each.call(self.threads)
            positions[each.kernel] = called.scalars - 1, called.given
            counters.hand_over(called)
            statistics.record_fired(node)
        for name, (scalar, buffer) in positions.items():
            self._share(kernels[name], scalar, buffer)

    def _has_few(self, dispatch: Dispatch) -> bool:
        return dispatch.workgroups is not None and dispatch.workgroups < self.threads

    def _share(self, kernel: KernelFunction, scalar: int, buffer: int) -> None:
        number = kernel.number
        kernel.keep_memory()
        with ir.InsertionPoint(number), number.location:
            workgroups = kernel.add_scalar(scalar)
            counters = kernel.add_buffer(buffer, counters_type(self.threads))
            each_claimed(
                counters, workgroups, self.threads, lambda workgroup: _move(kernel, workgroup)
            )
        number.erase()


def _move(kernel: KernelFunction, workgroup: ir.Value) -> None:
    """Move the body of the kernel here, for workgroup `workgroup`."""
    block = ir.InsertionPoint.current.block
    for op in kernel.body():
        block.append(op)
    kernel.number.results[0].replace_all_uses_with(workgroup)


class _Counters:
    """The counters of claims, passed from kernel to kernel.

    A kernel takes those of a producer unless another kernel already has: kernels that could run
    concurrently still can. Otherwise it gets new ones.
    """

    def __init__(self, threads: int):
        memory = counters_type(threads)
        self._type = ir.RankedTensorType.get(memory.shape, memory.element_type)
        self._free: dict[ir.Value, ir.Value] = {}
        """Counters that no kernel has taken yet, by the first result of the kernel that had
        them."""

    def hand_over(self, dispatch: Dispatch) -> None:
        counters = self._find(dispatch.op)
        if counters is None:
            with ir.InsertionPoint(dispatch.op), dispatch.op.location:
                zero = arith.constant(self._type.element_type, 0)
                counters = splat(zero, self._type)
        *results, counters = dispatch.hand_over(counters).op.results
        self._free[results[0]] = counters

    def _find(self, op: ir.Operation) -> ir.Value | None:
        for producer in _producers(op):
            counters = self._free.pop(producer.results[0], None)
            if counters is not None:
                return counters
        return None


def _producers(op: ir.Operation) -> Iterator[ir.Operation]:
    """The kernels whose results `op` reads, directly or through other ops."""
    seen: set[ir.Operation] = set()
    waiting = [op]
    while waiting:
        for operand in waiting.pop().operands:
            producer = operand.owner
            if isinstance(producer, ir.Block) or producer.operation in seen:
                continue
            seen.add(producer.operation)
            if producer.parent != op.parent:
                continue
            if producer.name == op.name:
                yield producer.operation
            else:
                waiting.append(producer.operation)
