"""A destination-passing entry for small programs: results in caller-allocated buffers."""

import math
from dataclasses import dataclass
from typing import Any

from ...dialects.iree.dispatches import Dispatch
from ...mlir import ir
from ..graph_to_linalg.aliasing import consumes_arguments, ops_within
from ..graph_to_linalg.buffer_views import bytes_of
from ..graph_to_linalg.dispatch import SAME_MEMORY, origin
from ..infra.base import MODULE, Pass, PassState
from ..infra.registry import register
from .abi_arguments import BUFFER, OUTPUT, TRANSIENTS, append_buffers
from .externalize_transients import POOL_BYTES
from .placed_results import place_results
from .workarounds.many_results import MOST_AWAITED

DESTINATION_ENTRY = "main_into"
"""The name that the runtime looks for (`runtime/metadata.py`)."""

_SMALL = 1 << 17
"""Bytes of results that the runtime copies anyway (`runtime/execution/preallocated_outputs.py`)."""
_MOST_OPS = 256
"""The most ops of a function that gets the entry: in larger ones, a microsecond does not matter."""


@register
@dataclass(frozen=True)
class DpsEntry(Pass):
    """Add an entry to a small program that writes results to buffers of the caller.

    func.func @main(%x: tensor<1x8xf32>) -> tensor<1x8xf32> { .. }
    -->
    func.func @main(%x: tensor<1x8xf32>) -> tensor<1x8xf32> { .. }
    func.func @main_into(%x: tensor<1x8xf32>, %0: !hal.buffer {iree.abi.output = 0})
        -> tensor<1x8xf32> { .. }

    A call of @main allocates each result, and the caller frees it when it has copied it: half the
    time of a call with little to compute. @main_into writes to buffers that live from call to call
    (destination-passing style). Kernels are those of @main; the backend merges equal ones.

    Results too large for the runtime to keep their memory go to buffers of the caller likewise, as
    do the intermediate results of such a program (`externalize-transients`).

    A buffer of an earlier call fits only where shapes of arguments decide the sizes of results. Of
    dynamic results that is known from the `graph` program, and said by `sized_by_shapes`.
    """

    name = "dps-entry"
    anchor = MODULE
    sized_by_shapes: bool = False
    """Shapes of arguments decide the sizes of all results; no value of an argument does."""

    def run(self, op: Any, state: PassState) -> None:
        statistics = state.statistics("dps-entry")
        for function in list(op.body.operations):
            if function.operation.name != "func.func" or function.sym_name.value != "main":
                continue
            if reason := self._reason_against(function):
                statistics.record_declined("main", reason)
            else:
                _add_entry(function)
                statistics.record_fired("main")

    def _reason_against(self, function: Any) -> str:
        """The reason why `function` gets no such entry; empty if it does."""
        if not function.type.results:
            return "there is no result"
        if len(function.type.results) > MOST_AWAITED:
            return f"there are more than {MOST_AWAITED} results, which no entry awaits together"
        if consumes_arguments(function.operation):
            return "results lie in memory of donated inputs"
        if _takes_buffer(function) and not any(map(_may_exceed_pool, function.type.results)):
            return "its intermediate results lie in memory of the caller's"
        if not self.sized_by_shapes and not all(map(_is_static, function.type.results)):
            return "the size of a result depends on values of inputs"
        if any(map(_is_large_update, _returned(function.operation))):
            return "the backend would copy a result that is an argument's update in place"
        if sum(1 for _ in ops_within(function.operation)) > _MOST_OPS:
            return f"there are more than {_MOST_OPS} ops"
        return ""


def _returned(function: ir.Operation) -> list[ir.Value]:
    (block, *_) = function.regions[0].blocks
    *_, end = block.operations
    return list(end.operands) if end.operation.name == "func.return" else []


def _is_large_update(value: ir.Value) -> bool:
    """Return whether a kernel updates memory in place to compute `value`, which a copy of takes
    longer than the runtime's own memory."""
    value = origin(value, SAME_MEMORY)
    if isinstance(value.owner, ir.Block) or value.owner.name != "flow.dispatch":
        return False
    type_ = ir.RankedTensorType(value.type)
    size = bytes_of(type_.element_type)
    is_small = type_.has_static_shape and math.prod(type_.shape) * size <= _SMALL
    return not is_small and Dispatch(value.owner.operation).updates(
        ir.OpResult(value).result_number
    )


def _is_static(type_: ir.Type) -> bool:
    return ir.RankedTensorType(type_).has_static_shape


def _takes_buffer(function: Any) -> bool:
    return any(str(type_) == BUFFER for type_ in function.type.inputs)


def _may_exceed_pool(type_: ir.Type) -> bool:
    """Return whether the runtime may have to allocate a result of `type_` in each call."""
    tensor = ir.RankedTensorType(type_)
    if not tensor.has_static_shape:
        return True
    return math.prod(tensor.shape) * bytes_of(tensor.element_type) > POOL_BYTES


def _add_entry(function: Any) -> None:
    index, results = ir.IndexType.get(), len(function.type.results)
    with ir.InsertionPoint.after(function.operation), function.location:
        entry = function.operation.clone()
        entry.attributes["sym_name"] = ir.StringAttr.get(DESTINATION_ENTRY)
        _drop_names(entry)
        append_buffers(
            entry,
            [{OUTPUT: ir.IntegerAttr.get(index, number)} for number in range(results)],
        )
        _place_results(entry, results)


def _place_results(entry: ir.Operation, results: int) -> None:
    if len(entry.regions[0].blocks) > 1:
        return
    buffers = list(entry.regions[0].blocks[0].arguments)[-results:]
    placed = place_results(entry, buffers)
    marks = list(ir.ArrayAttr(entry.attributes["arg_attrs"]))
    for number in placed:
        marks[number - results] = ir.DictAttr.get({})
    entry.attributes["arg_attrs"] = ir.ArrayAttr.get(marks)


def _drop_names(entry: Any) -> None:
    """Remove the names of inputs and results, which are for who reads the other function."""
    if "res_attrs" in entry.attributes:
        del entry.attributes["res_attrs"]
    if "arg_attrs" not in entry.attributes:
        return
    kept = [
        {each.name: each.attr for each in ir.DictAttr(given) if each.name == TRANSIENTS}
        for given in ir.ArrayAttr(entry.attributes["arg_attrs"])
    ]
    entry.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in kept])
