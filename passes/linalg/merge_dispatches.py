"""Successive short kernels in one dispatch."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...dialects.iree.dispatches import Dispatch, KernelFunction, each_dispatch, is_dispatch, splat
from ...dialects.locations import fuse_locations, node_name
from ...mlir import arith, ir
from ..graph_to_linalg.buffer_views import bytes_of
from ..graph_to_linalg.dispatch import SAME_MEMORY, origin
from ..infra.base import MODULE, Pass, PassState
from ..infra.registry import register
from .merged_kernel import MAX_KERNELS, KernelUse, define_merged
from .work_claims import stages_type

_MOST_BYTES = 64 << 10
"""The largest result of a kernel that is merged: a few microseconds' work, if weights are not
read from memory. Results of one dispatch exist at the same time."""


_MOST_OPERANDS = 31
"""Scalars and tensors of a merged kernel, at most, beside its counters. The runtime binds 32
buffers (IREE's `IREE_HAL_MODULE_MAX_DESCRIPTOR_BINDING_COUNT`) and hands over 64 constants, of
which the value of a scalar and the place of a tensor in its buffer take two each."""


MERGED = "merged"
"""Begins the names of merged kernels."""
_MOST_NAMED = 8
"""Kinds of kernels in the name of a merged one, at most."""


@register
@dataclass(frozen=True)
class MergeDispatches(Pass):
    """Run successive kernels with small results in one dispatch, with barriers between them.

    %1 = flow.dispatch @a(%0) : (tensor<..>) -> tensor<..>
    %2 = flow.dispatch @b(%1) : (tensor<..>) -> tensor<..>
    -->
    %counters = flow.tensor.splat 0 : tensor<..xi64>
    %1:3 = flow.dispatch @merged_a_b_0[%threads](%0, %counters) : (..) -> (.., .., %counters)

    A dispatch takes microseconds, and a thread that has to be woken for its share of it some more:
    a step of a language model that computes one token has hundreds of them. In a merged kernel, a
    thread goes on as soon as the results that it reads are there, and waits for nobody who has not
    begun anything. With several threads it is for x86-64, where code can query its core.

    A dispatch ends before its first kernel comes again, so that layers that are alike share their
    code, before a large result, and before it has more operands than the runtime hands over.
    """

    name = "merge-dispatches"
    anchor = MODULE
    threads: int = 1
    """Threads of the program."""
    sharing: int = 1
    """Those that claim work themselves."""

    def run(self, op: Any, state: PassState) -> None:
        statistics = state.statistics("merge-dispatches")
        dispatches = each_dispatch(op)
        if self.threads > 1 and self.sharing == 1:
            for each in dispatches:
                statistics.record_declined(node_name(each.op), "threads do not know their cores")
            return
        merger = _Merger(op, self.threads)
        for block in _blocks(dispatches):
            for chain in merger.chains(block):
                for each in chain.dispatches:
                    statistics.record_fired(node_name(each.op))
                merger.merge(chain)
        for node, reason in merger.declined:
            statistics.record_declined(node, reason)


def _blocks(dispatches: Sequence[Dispatch]) -> list[ir.Block]:
    return list({each.op.block: each.op.block for each in dispatches}.values())


class _Chain:
    """Dispatches that become one, and the ops between that have to follow it."""

    def __init__(self) -> None:
        self.dispatches: list[Dispatch] = []
        self._deferred: list[ir.Operation] = []
        self.between: list[ir.Operation] = []
        """Ops before the last dispatch that depend on the others."""
        self.inside: set[ir.Value] = set()
        """Results of the dispatches, and what is the same memory."""
        self.behind: set[ir.Value] = set()
        """All that is computed from these otherwise."""
        self.overwritten: set[ir.Value] = set()
        """The memory, from outside, that the dispatches have written to."""
        self._initialized = False
        """True if a dispatch has written to memory that was initialized for it: the backend may
        take that of another one, of equal contents, for the same tensor."""
        self._operands: set[ir.Value] = set()
        """Scalars, tensors, and results with memory of their own."""

    def takes(self, dispatch: Dispatch) -> bool:
        """Return whether `dispatch` can be the next one."""
        if len(self.dispatches) == MAX_KERNELS:
            return False
        if self.dispatches and dispatch.kernel == self.dispatches[0].kernel:
            return False
        if self.behind & set(dispatch.op.operands):
            return False
        if len(self._operands_with(dispatch)) > _MOST_OPERANDS:
            return False
        tensors = dispatch.tensor_arguments
        if any(origin(x, SAME_MEMORY) in self.overwritten for x in tensors):
            return False
        ties = [tensors[tie] for tie in dispatch.ties if tie is not None]
        if self._initialized and any(map(_is_initialized, ties)):
            return False
        return not any(x in self.inside for x in ties)

    def append(self, dispatch: Dispatch) -> None:
        """Make `dispatch` the next one."""
        self._operands = self._operands_with(dispatch)
        self.dispatches.append(dispatch)
        self.between = [*self._deferred]
        self.inside |= set(dispatch.op.results)
        tensors = dispatch.tensor_arguments
        ties = [tensors[tie] for tie in dispatch.ties if tie is not None]
        self.overwritten |= {origin(x, SAME_MEMORY) for x in ties}
        self._initialized = self._initialized or any(map(_is_initialized, ties))

    def _operands_with(self, dispatch: Dispatch) -> set[ir.Value]:
        read = {x for x in dispatch.tensor_arguments if x not in self.inside}
        own = zip(dispatch.op.results, dispatch.ties, strict=True)
        made = {result for result, tie in own if tie is None}
        return self._operands | {*dispatch.scalar_arguments} | read | made

    def look_at(self, op: ir.Operation) -> None:
        """Note `op`, which is no dispatch that joins: it may have to follow."""
        used = set(_captured(op))
        if not used & (self.inside | self.behind):
            return
        self._deferred.append(op)
        is_view = op.name in SAME_MEMORY and op.operands[0] in self.inside
        (self.inside if is_view else self.behind).update(op.results)


class _Merger:
    """Finds chains in blocks, and merges them; equal ones share a kernel."""

    def __init__(self, module: Any, threads: int):
        self._module, self._threads = module, threads
        self._reasons: dict[str, str] = {}
        """By kernel, why it is not merged; empty if it is."""
        self._kernels: dict[tuple[object, ...], str] = {}
        self._counters: dict[ir.Block, ir.Value] = {}
        """The counters that the last merged dispatch of a block has handed on."""
        self.declined: list[tuple[str, str]] = []

    def chains(self, block: ir.Block) -> Iterator[_Chain]:
        """The chains of a block; each is to be merged before the next one is asked for."""
        chain = _Chain()
        for op in [each.operation for each in block.operations]:
            dispatch = Dispatch(op) if is_dispatch(op) else None
            if dispatch is not None and not self._may_join(dispatch):
                dispatch = None
            if dispatch is None and not _is_large(op):
                chain.look_at(op)
                continue
            if dispatch is None or not chain.takes(dispatch):
                if len(chain.dispatches) > 1:
                    yield chain
                chain = _Chain()
            if dispatch is not None:
                chain.append(dispatch)
        if len(chain.dispatches) > 1:
            yield chain

    def _may_join(self, dispatch: Dispatch) -> bool:
        reason = self._reason_against(dispatch)
        if reason:
            self.declined.append((node_name(dispatch.op), reason))
        return not reason

    def _reason_against(self, dispatch: Dispatch) -> str:
        if dispatch.workgroups is None:
            return "its workgroups are counted at run time"
        own = (
            result.type
            for result, tie in zip(dispatch.op.results, dispatch.ties, strict=True)
            if tie is None
        )
        if max(map(_least_bytes, own), default=0) > _MOST_BYTES:
            return "its result is large"
        if any(map(_is_large_result, dispatch.tensor_arguments)):
            return "it reads a large result"
        if dispatch.kernel not in self._reasons:
            self._reasons[dispatch.kernel] = _reason_against_kernel(
                KernelFunction(self._module, dispatch.kernel)
            )
        return self._reasons[dispatch.kernel]

    def merge(self, chain: _Chain) -> None:
        """Replace the dispatches of `chain` by one in the place of the last."""
        last = chain.dispatches[-1].op
        location = fuse_locations([each.op.location for each in chain.dispatches])
        with ir.InsertionPoint(last), location:
            merged = _Operands(chain.dispatches)
            results = self._run(merged, last.block)
        old = [result for each in chain.dispatches for result in each.op.results]
        made = results[0].owner
        assert not isinstance(made, ir.Block)
        for op in reversed(chain.between):
            op.move_after(made)
        for value, result in zip(old, results, strict=False):
            value.replace_all_uses_with(result)
        for each in reversed(chain.dispatches):
            each.op.erase()

    def _run(self, merged: "_Operands", block: ir.Block) -> list[ir.Value]:
        """The results of the merged dispatch at the insertion point."""
        threads = 1 if all(use.workgroups == 1 for use in merged.uses) else self._threads
        name = self._kernel(merged, threads)
        tensors, types, ties = [*merged.tensors], [*merged.types], [*merged.ties]
        if threads > 1:
            ties.append(len(tensors))
            tensors.append(self._counters_for(block))
            types.append(tensors[-1].type)
        results = _dispatch(name, threads, merged, (tensors, types, ties))
        if threads > 1:
            self._counters[block] = results[-1]
        return results

    def _counters_for(self, block: ir.Block) -> ir.Value:
        """The counters of the dispatch before, or new ones."""
        if (known := self._counters.get(block)) is not None:
            return known
        memory = stages_type(MAX_KERNELS, self._threads)
        zero = arith.constant(memory.element_type, 0)
        return splat(zero, ir.RankedTensorType.get(memory.shape, memory.element_type))

    def _kernel(self, merged: "_Operands", threads: int) -> str:
        key = (merged.counts, *merged.uses)
        if key not in self._kernels:
            name = _name(merged.uses, len(self._kernels))
            with ir.InsertionPoint(_top(ir.InsertionPoint.current.block)):
                define_merged(self._module, name, merged.uses, merged.counts, threads)
            self._kernels[key] = name
        return self._kernels[key]


def _name(uses: Sequence[KernelUse], number: int) -> str:
    """``merged_matmul_norm_3``: the kinds of kernels in it, as a profile shows them."""
    kinds = dict.fromkeys(use.kernel.rstrip("0123456789").rstrip("_") for use in uses)
    return "_".join([MERGED, *list(kinds)[:_MOST_NAMED], str(number)])


class _Operands:
    """The operands and results of dispatches together, each once."""

    def __init__(self, dispatches: Sequence[Dispatch]):
        self.scalars: list[ir.Value] = []
        self.tensors: list[ir.Value] = []
        self.types: list[ir.Type] = []
        """The types of the results of all dispatches, in order."""
        self.ties: list[int | None] = []
        """For each result, the number of the tensor in whose memory it is."""
        self.sizes: list[ir.Value] = []
        """The dynamic sizes of the tensors."""
        self.result_sizes: list[ir.Value] = []
        self._memory: dict[ir.Value, int] = {}
        """The number of the memory of each value: tensors first, then own results."""
        produced: set[ir.Value] = {result for each in dispatches for result in each.op.results}
        for each in dispatches:
            self._take_arguments(each, produced)
        own = len(self.tensors)
        for each in dispatches:
            for number, (result, tie) in enumerate(zip(each.op.results, each.ties, strict=True)):
                self.types.append(result.type)
                self.result_sizes += each.sizes_of(number)
                if tie is None:
                    self._memory[result] = own
                    self.ties.append(None)
                    own += 1
                else:
                    place = self._place(each.tensor_arguments[tie])
                    self._memory[result] = place
                    self.ties.append(place)
        self.counts = (len(self.scalars), len(self.tensors), own - len(self.tensors))
        self.uses = list(map(self._use, dispatches))

    def _take_arguments(self, dispatch: Dispatch, produced: set[ir.Value]) -> None:
        for scalar in dispatch.scalar_arguments:
            if scalar not in self.scalars:
                self.scalars.append(scalar)
        for number, x in enumerate(dispatch.tensor_arguments):
            if origin(x, SAME_MEMORY) not in produced and x not in self._memory:
                self._memory[x] = len(self.tensors)
                self.tensors.append(x)
                self.sizes += dispatch.sizes_of_argument(number)

    def _place(self, x: ir.Value) -> int:
        return self._memory[x] if x in self._memory else self._memory[origin(x, SAME_MEMORY)]

    def _use(self, dispatch: Dispatch) -> KernelUse:
        arguments = list(map(self._place, dispatch.tensor_arguments))
        results = list(zip(dispatch.op.results, dispatch.ties, strict=True))
        own = [self._memory[result] for result, tie in results if tie is None]
        written = [*own, *(arguments[tie] for _, tie in results if tie is not None)]
        workgroups = dispatch.workgroups
        assert workgroups is not None
        return KernelUse(
            dispatch.kernel,
            workgroups,
            tuple(map(self.scalars.index, dispatch.scalar_arguments)),
            (*arguments, *own),
            tuple(written),
        )


def _dispatch(
    name: str,
    workgroups: int,
    merged: _Operands,
    given: tuple[list[ir.Value], list[ir.Type], list[int | None]],
) -> list[ir.Value]:
    """The results of kernel `name`."""
    tensors, types, ties = given
    index, before = ir.IndexType.get(), len(merged.scalars)
    work = arith.constant(index, workgroups)
    sizes = [merged.sizes, merged.result_sizes]
    segments = [1, before + len(tensors), *map(len, sizes)]
    tied = [ir.IntegerAttr.get(index, -1 if tie is None else before + tie) for tie in ties]
    op = ir.Operation.create(
        "flow.dispatch",
        results=types,
        operands=[work, *merged.scalars, *tensors, *sizes[0], *sizes[1]],
        attributes={
            "entry_points": ir.ArrayAttr.get([ir.SymbolRefAttr.get([name, name])]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments),
            "tied_operands": ir.ArrayAttr.get(tied),
        },
    )
    return list(op.results)


def _captured(op: ir.Operation) -> Iterator[ir.Value]:
    """The operands of `op` and of the ops in its regions."""
    yield from op.operands
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _captured(inner.operation)


def _reason_against_kernel(kernel: KernelFunction) -> str:
    """The reason why calls of `kernel` are not merged; empty if they are."""
    if kernel.counts_calls:
        return "its threads share its work themselves"
    if kernel.has_counters:  # IREE would take equal counters of two kernels for one tensor
        return "its workgroups meet on counters of their own"
    return ""


def _is_initialized(x: ir.Value) -> bool:
    """Return whether the memory of `x` is a copy or a fill, and no argument or result of a
    dispatch."""
    owner = origin(x, SAME_MEMORY).owner
    return not isinstance(owner, ir.Block) and not is_dispatch(owner.operation)


def _is_large_result(x: ir.Value) -> bool:
    """Return whether the memory of `x` is large, and not that of an argument or a constant: all
    that one dispatch reads exists at the same time."""
    owner = origin(x, SAME_MEMORY).owner
    if isinstance(owner, ir.Block) or owner.name == "arith.constant":
        return False
    if is_dispatch(owner.operation):
        dispatch = Dispatch(owner.operation)
        tie = dispatch.ties[ir.OpResult(origin(x, SAME_MEMORY)).result_number]
        if tie is not None:
            return _is_large_result(dispatch.tensor_arguments[tie])
    return _least_bytes(x.type) > _MOST_BYTES


def _is_large(op: ir.Operation) -> bool:
    """Return whether `op` computes a tensor whose memory should not live longer than it has to, as
    it would if its readers waited for others behind it."""
    if op.name in (*SAME_MEMORY, "tensor.empty", "arith.constant"):
        return False
    types = (result.type for result in op.results)
    tensors = (type_ for type_ in types if isinstance(type_, ir.RankedTensorType))
    return max(map(_least_bytes, tensors), default=0) > _MOST_BYTES


def _least_bytes(type_: ir.Type) -> int:
    """The bytes of a tensor whose dynamic sizes are 1."""
    tensor = ir.RankedTensorType(type_)
    dynamic = ir.ShapedType.get_dynamic_size()
    elements = math.prod(size for size in tensor.shape if size != dynamic)
    return elements * bytes_of(tensor.element_type)


def _top(block: ir.Block) -> ir.Operation:
    """The op of the module that contains `block`."""
    op = block.owner.operation
    while (outer := op.parent) is not None and outer.name != "builtin.module":
        op = outer
    return op
